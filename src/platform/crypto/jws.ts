/** JSON Web Signatures in compact serialization (RFC 7515, RFC 7518, RFC 8037, RFC 9864). */
import { constants, createPrivateKey, type KeyObject, sign, verify } from 'node:crypto'

export interface JwtKey {
  kid: string
  /** ES256, RS256 or EdDSA. */
  alg: string
  /** The private key as a JWK. */
  jwk: Record<string, unknown>
}

export interface ParsedJws {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  readonly signingInput: string
  readonly signature: Buffer
}

const encodeSegment = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const digestOf = (alg: string): string | null => (alg === 'EdDSA' || alg === 'Ed25519' ? null : 'sha256')
function signatureOptions(alg: string, key: KeyObject) {
  // JWS encodes an ECDSA signature as R || S, not as DER (RFC 7518, section 3.4).
  if (alg === 'ES256') return { key, dsaEncoding: 'ieee-p1363' as const }
  // The salt of PS256 has the length of the digest (RFC 7518, section 3.5).
  if (alg === 'PS256')
    return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
  return { key }
}

/**
 * Signs data synchronously, because signing takes microseconds and the thread pool may be busy with password hashes.
 */
export const signJws = (alg: string, privateKey: KeyObject, data: Uint8Array): Buffer =>
  sign(digestOf(alg), data, signatureOptions(alg, privateKey))

/**
 * Creates a signed JWT.
 * @param typ the header parameter `typ`, such as `at+jwt`
 */
export function signJwt({ kid, alg, jwk }: JwtKey, typ: string, claims: object): string {
  const signingInput = `${encodeSegment({ alg, typ, kid })}.${encodeSegment(claims)}`
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
  return `${signingInput}.${signJws(alg, privateKey, Buffer.from(signingInput)).toString('base64url')}`
}

function decodeSegment(segment: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(segment, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/**
 * Parses a JWT without verifying its signature.
 * @returns undefined for text that is not a JWT, for a token with critical header parameters (`crit`, RFC 7515, section
 *   4.1.11), and for a signature in a non-canonical base64url encoding, which would be another text for the same token
 */
export function parseJws(token: string): ParsedJws | undefined {
  const [encodedHeader, encodedClaims, encodedSignature, ...rest] = token.split('.')
  if (!encodedHeader || !encodedClaims || !encodedSignature || rest.length > 0) return undefined
  const header = decodeSegment(encodedHeader)
  const claims = decodeSegment(encodedClaims)
  const signature = Buffer.from(encodedSignature, 'base64url')
  if (!header || !claims || header['crit'] !== undefined) return undefined
  if (signature.toString('base64url') !== encodedSignature) return undefined
  return { header, claims, signingInput: `${encodedHeader}.${encodedClaims}`, signature }
}

/**
 * Verifies the signature of a JWT. The `alg` header must equal the algorithm of the key, so that the token cannot
 * choose the algorithm (RFC 8725, section 3.1).
 * @param alg the algorithm of `publicKey`
 */
export const isSignatureValid = (jws: ParsedJws, alg: string, publicKey: KeyObject): boolean =>
  jws.header['alg'] === alg &&
  verify(digestOf(alg), Buffer.from(jws.signingInput), signatureOptions(alg, publicKey), jws.signature)
