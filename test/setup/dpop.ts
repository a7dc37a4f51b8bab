/** DPoP proofs (RFC 9449) as a client creates them, with no code of src/. */
import { createHash, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

/** The request of a proof, and members of the proof that replace the usual ones; undefined removes a member. */
export interface ProofOptions {
  accessToken?: string | undefined
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
}

export interface ProofKey {
  readonly jwk: JWK
  readonly privateJwk: JWK
  readonly thumbprint: string
  /** Creates a proof for a request. */
  prove(method: string, url: string, options?: ProofOptions): Promise<string>
}

export async function createProofKey(alg = 'ES256'): Promise<ProofKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return {
    jwk,
    privateJwk: await exportJWK(privateKey),
    thumbprint: await calculateJwkThumbprint(jwk),
    prove: (htm, htu, { accessToken, claims = {}, header = {} } = {}) => {
      const ath = accessToken && createHash('sha256').update(accessToken).digest('base64url')
      const iat = Math.floor(Date.now() / 1000)
      const payload = { htm, htu, iat, jti: randomUUID(), ...(ath && { ath }), ...claims }
      return new SignJWT(withoutUndefined(payload))
        .setProtectedHeader({ alg, ...withoutUndefined({ typ: 'dpop+jwt', jwk, ...header }) })
        .sign(privateKey)
    },
  }
}

const withoutUndefined = (members: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** Creates a JWT without checking whether its parts make sense. */
export const unsignedJwt = (header: object, claims: object, signature = 'AAAA'): string =>
  [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.') + `.${signature}`
