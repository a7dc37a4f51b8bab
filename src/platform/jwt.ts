/** Writes signed JWTs (RFC 7515 compact form). Reading and judging them is the business of who accepts them. */
import { createPrivateKey, sign } from 'node:crypto'

export interface JwtKey {
  kid: string
  /** ES256, RS256 or EdDSA. */
  alg: string
  /** The private key as JWK members. */
  jwk: Record<string, unknown>
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/**
 * Signs in the calling thread: it takes microseconds, and the pool of threads may be busy with passwords.
 * @param typ the header's type, such as `at+jwt`
 */
export function signJwt({ kid, alg, jwk }: JwtKey, typ: string, claims: object): string {
  const content = `${part({ alg, typ, kid })}.${part(claims)}`
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
  // JWS wants the two numbers of an ECDSA signature side by side, not in DER (RFC 7518 3.4).
  const key = { key: privateKey, ...(alg === 'ES256' ? { dsaEncoding: 'ieee-p1363' as const } : {}) }
  return `${content}.${sign(alg === 'EdDSA' ? null : 'sha256', Buffer.from(content), key).toString('base64url')}`
}
