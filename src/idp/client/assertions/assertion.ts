/**
 * Reads client assertions and checks what does not depend on the client (docs/contract.md#client-assertions, RFC 7523
 * section 3, RFC 8725).
 */
import { limits } from '../../../kernel/limits.js'
import { type ParsedJws, parseJws } from '../../../platform/crypto/jws.js'
import { publicKeyAlgorithms } from '../../../platform/crypto/public-keys.js'

export const JWT_BEARER_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** A client assertion whose header and claims are valid. Its signature is not verified. */
export interface ClientAssertion {
  readonly jws: ParsedJws
  /** `jti`, which may be used once. */
  readonly id: string
  /** Unix milliseconds. */
  readonly expiresAt: number
}

/** The client assertion of a request. */
export interface PresentedAssertion {
  /** A random text, which oidc-provider gets as the client secret of this request. */
  readonly secret: string
  /** Undefined if the assertion is refused whatever the client is. */
  readonly assertion: ClientAssertion | undefined
  /** Why the assertion is refused, for the error description; undefined for reasons that depend on the client. */
  problem?: string
}

/** What an assertion is checked against. */
export interface AssertionExpectation {
  /** `client_id` of the request; undefined if it has none. */
  readonly clientId: string | undefined
  /** Accepts an audience. */
  isAudience(audience: string): boolean
  /** Whether the issuer has the FAPI 2.0 profile. */
  readonly isFapi2: boolean
  /** Unix milliseconds. */
  readonly now: number
}

/** Returns the value of `sub`, which is the client id; undefined if the text is not a JWT with a `sub`. */
export function assertionSubject(text: string): string | undefined {
  // The signature may be missing or malformed here, so that failures of an unsigned assertion count for its client.
  const claims = text.length > limits.maxClientAssertionLength ? undefined : parseJws(toSignedForm(text))?.claims
  const subject = claims?.['sub']
  // Other text cannot be a client id, and must not reach the database.
  return typeof subject === 'string' && /^[\x21-\x7e]{1,2048}$/.test(subject) ? subject : undefined
}

const toSignedForm = (text: string): string => `${text.split('.').slice(0, 2).join('.')}.AA`

/**
 * Reads an assertion.
 * @returns the assertion, or the reason why it is refused, for the error description. The reason contains no value of
 *   the assertion.
 */
export function readAssertion(text: string, expected: AssertionExpectation): ClientAssertion | { problem: string } {
  const jws = text.length > limits.maxClientAssertionLength ? undefined : parseJws(text)
  if (!jws)
    return { problem: `client_assertion must be a signed JWT of at most ${limits.maxClientAssertionLength} characters` }
  const problem =
    headerProblem(jws, expected) ??
    identityProblem(jws, expected) ??
    audienceProblem(jws, expected) ??
    timeProblem(jws, expected)
  if (problem !== undefined) return { problem }
  const { jti, exp } = jws.claims
  if (typeof jti !== 'string' || jti === '' || jti.length > limits.maxClientAssertionIdLength)
    return {
      problem: `jti of the client assertion is required and must be a string of 1 to ${limits.maxClientAssertionIdLength} characters`,
    }
  return { jws, id: jti, expiresAt: Math.ceil((exp as number) * 1000) }
}

/** FAPI 2.0 Security Profile section 5.4.1 does not allow RSASSA-PKCS1-v1_5. */
export const assertionAlgorithms = (isFapi2: boolean): readonly string[] =>
  publicKeyAlgorithms.filter((alg) => !isFapi2 || alg !== 'RS256')

/** Explicit types keep other JWTs that the same key has signed from being used as assertions (RFC 8725 section 3.11). */
const assertionTypes = ['jwt', 'client-authentication+jwt', 'application/client-authentication+jwt']

function headerProblem({ header: { alg, typ } }: ParsedJws, { isFapi2 }: AssertionExpectation): string | undefined {
  const algorithms = assertionAlgorithms(isFapi2)
  if (!algorithms.includes(alg as string)) return `alg of the client assertion must be one of ${algorithms.join(', ')}`
  if (typ !== undefined && !assertionTypes.includes(String(typ).toLowerCase()))
    return 'typ of the client assertion must be JWT, client-authentication+jwt or absent'
  return undefined
}

function identityProblem({ claims: { iss, sub } }: ParsedJws, { clientId }: AssertionExpectation): string | undefined {
  if (typeof sub !== 'string' || sub === '' || iss !== sub)
    return 'iss and sub of the client assertion must both be the client id'
  return clientId === undefined || clientId === sub ? undefined : 'client_id differs from sub of the client assertion'
}

/**
 * Every audience must be this issuer. An assertion with another audience could be one that another server got from the
 * client and sends on.
 */
function audienceProblem(
  { claims: { aud } }: ParsedJws,
  { isAudience, isFapi2 }: AssertionExpectation,
): string | undefined {
  // FAPI 2.0 Security Profile section 5.3.2.1 allows only a string.
  const audiences: unknown[] = Array.isArray(aud) && !isFapi2 ? aud : [aud]
  const isValid = audiences.length > 0 && audiences.every((value) => typeof value === 'string' && isAudience(value))
  return isValid ? undefined : 'aud of the client assertion must be the issuer identifier'
}

function timeProblem({ claims: { exp, nbf, iat } }: ParsedJws, { now }: AssertionExpectation): string | undefined {
  if (typeof exp !== 'number') return 'exp of the client assertion is required, in Unix seconds'
  if (exp * 1000 <= now) return 'the client assertion has expired'
  if (exp * 1000 > now + limits.maxClientAssertionLifetimeSeconds * 1000)
    return `exp of the client assertion must be at most ${limits.maxClientAssertionLifetimeSeconds} seconds in the future`
  const latest = now + limits.clientAssertionClockToleranceSeconds * 1000
  for (const [name, value] of Object.entries({ nbf, iat })) {
    if (value !== undefined && typeof value !== 'number')
      return `${name} of the client assertion must be in Unix seconds`
    if (typeof value === 'number' && value * 1000 > latest) return `${name} of the client assertion is in the future`
  }
  return undefined
}
