/** DPoP proofs (RFC 9449) for the load generator, which sends each proof once. */
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import type { FormRequest, LoadClient } from './load.js'

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/**
 * Returns a caller with a key of its own that sends a request with a new proof each time.
 * @param url the URL that the proofs name
 */
export function provingClient(request: FormRequest, url: string): LoadClient {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const header = encode({ typ: 'dpop+jwt', alg: 'ES256', jwk: publicKey.export({ format: 'jwk' }) })
  return {
    next() {
      const claims = { htm: 'POST', htu: url, iat: Math.floor(Date.now() / 1000), jti: randomUUID() }
      const input = `${header}.${encode(claims)}`
      const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
      return { ...request, headers: { ...request.headers, dpop: `${input}.${signature.toString('base64url')}` } }
    },
  }
}
