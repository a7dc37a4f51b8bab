/**
 * DPoP proofs (RFC 9449): JWTs in the header `DPoP`, with which a client proves that it has the key to which its access
 * token is bound (docs/contract.md#sender-constrained-tokens).
 */
import { createHash } from 'node:crypto'
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, jwtVerify } from 'jose'
import { limits } from '../../kernel/limits.js'
import { SECOND } from '../../kernel/time.js'
import { parseJws } from './jws.js'

/**
 * The algorithms of proofs, which are those of FAPI 2.0 (FAPI 2.0 Security Profile section 5.4.1). `Ed25519` is the
 * name of RFC 9864 for `EdDSA` with the curve Ed25519.
 */
export const dpopAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const

/** A proof was refused. The message names the member of the proof, and never quotes the proof. */
export class InvalidProofError extends Error {}

/** The request for which a proof must have been created. */
export interface ProvedRequest {
  method: string
  /** The public URL. Its query and fragment are ignored. */
  url: string
  /** The access token of the request, whose hash the proof must contain as `ath`; undefined at the token endpoint. */
  accessToken?: string | undefined
  /** The current time in Unix milliseconds. */
  now: number
}

export interface DpopProof {
  /** The SHA-256 thumbprint of the public key (RFC 7638). */
  thumbprint: string
  jti: string
  /** Unix milliseconds. From then on the proof is refused for its age. */
  expiresAt: number
}

/**
 * Verifies a proof (RFC 9449 section 4.3), except that it was not used before.
 * @param header the value of the header `DPoP`
 * @throws InvalidProofError
 */
export async function verifyDpopProof(header: string, request: ProvedRequest): Promise<DpopProof> {
  checkUnverifiedProof(header, request)
  const { protectedHeader, payload } = await jwtVerify(header, EmbeddedJWK, {
    algorithms: [...dpopAlgorithms],
    typ: 'dpop+jwt',
    currentDate: new Date(request.now),
  }).catch(() => {
    throw new InvalidProofError('the DPoP proof must have a valid signature of the key in its jwk')
  })
  return { thumbprint: await thumbprintOf(protectedHeader), ...checkProofAge(payload, request.now) }
}

/**
 * Checks everything of a proof except its signature, and that it was not used before.
 * @throws InvalidProofError with the member that is wrong
 */
export function checkUnverifiedProof(header: string, { method, url, accessToken, now }: ProvedRequest): void {
  // Node.js joins the values of a repeated header with a comma.
  if (header.includes(',')) throw new InvalidProofError('the header DPoP must be sent once, with one proof')
  const proof = parseJws(header)
  if (!proof) throw new InvalidProofError('the header DPoP must be a signed JWT')
  const { typ, alg, jwk } = proof.header
  if (typ !== 'dpop+jwt') throw new InvalidProofError('the DPoP proof must have the typ dpop+jwt')
  if (!(dpopAlgorithms as readonly unknown[]).includes(alg))
    throw new InvalidProofError(`the DPoP proof must have one of the algs ${dpopAlgorithms.join(', ')}`)
  if (!isPublicKey(jwk))
    throw new InvalidProofError('the DPoP proof must have the public key as jwk, without private members')
  const { htm, htu, ath } = proof.claims
  if (htm !== method)
    throw new InvalidProofError(`the DPoP proof must have the method of the request, ${method}, as htm`)
  const expectedUrl = normalizedUrl(url)
  if (expectedUrl === undefined || normalizedUrl(htu) !== expectedUrl)
    throw new InvalidProofError(
      `the DPoP proof must have the URL of the request without query, ${expectedUrl ?? 'which is not valid'}, as htu`,
    )
  checkProofAge(proof.claims, now)
  if (accessToken !== undefined && ath !== createHash('sha256').update(accessToken).digest('base64url'))
    throw new InvalidProofError(
      'the DPoP proof must have the base64url-encoded SHA-256 hash of the access token as ath',
    )
}

/**
 * Checks `jti` and `iat` of a proof.
 * @param now Unix milliseconds
 * @throws InvalidProofError
 */
export function checkProofAge(claims: Record<string, unknown>, now: number): Pick<DpopProof, 'jti' | 'expiresAt'> {
  const { jti, iat } = claims
  if (typeof jti !== 'string' || jti === '' || jti.length > limits.maxDpopProofIdLength)
    throw new InvalidProofError(`the DPoP proof must have a jti of 1 to ${limits.maxDpopProofIdLength} characters`)
  const lifetime = limits.dpopProofLifetimeSeconds
  const clockSkew = limits.dpopProofClockSkewSeconds
  const age = typeof iat === 'number' ? now / SECOND - iat : undefined
  if (age === undefined || age > lifetime || age < -clockSkew) {
    throw new InvalidProofError(
      `the DPoP proof must have an iat of at most ${lifetime} seconds in the past and ${clockSkew} seconds in the future`,
    )
  }
  // The clock of another server may be behind, so a proof is remembered longer than it is valid.
  return { jti, expiresAt: now + Math.ceil((lifetime + clockSkew - age) * SECOND) }
}

/** Returns the thumbprint of the public key in the header of a verified proof (RFC 7638). */
export const thumbprintOf = (verifiedHeader: object): Promise<string> =>
  calculateJwkThumbprint((verifiedHeader as { jwk: JWK }).jwk, 'sha256')

/** Returns whether the header parameter `jwk` is an asymmetric key without private members. */
function isPublicKey(jwk: unknown): boolean {
  if (typeof jwk !== 'object' || jwk === null) return false
  const { kty, n, e } = jwk as JWK
  if ('d' in jwk) return false
  // The size of RSA keys is limited, because their sender is not authenticated yet.
  if (kty === 'RSA') return typeof n === 'string' && n.length <= limits.maxRsaPublicKeyBits / 5.9 && e === 'AQAB'
  return kty === 'EC' || kty === 'OKP'
}

/**
 * Returns a URL without query and fragment, after the normalization that RFC 9449 section 4.3 recommends.
 * @returns undefined for text that is not a URL
 */
function normalizedUrl(text: unknown): string | undefined {
  if (typeof text !== 'string' || !URL.canParse(text)) return undefined
  const url = new URL(text)
  url.search = ''
  url.hash = ''
  return url.href
}
