/**
 * Public keys that clients and agents register as a JSON Web Key Set (RFC 7517, RFC 7518 section 6, RFC 8037), and with
 * which their signatures are verified.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { limits } from '../../kernel/limits.js'
import { isObject } from '../../kernel/merge-patch.js'
import { isSignatureValid, type ParsedJws } from './jws.js'

/** A public key, with the signature algorithms for which it may be used. */
export interface PublicKey {
  readonly kid: string | undefined
  readonly algorithms: readonly string[]
  readonly key: KeyObject
}

/** Algorithms by key type and curve. `EdDSA` and `Ed25519` are two names of one algorithm (RFC 9864 section 2.2). */
const algorithmsByType: Readonly<Record<string, readonly string[]>> = {
  'EC P-256': ['ES256'],
  'OKP Ed25519': ['EdDSA', 'Ed25519'],
  RSA: ['RS256', 'PS256'],
}

/** The algorithms of signatures of clients and agents. */
export const publicKeyAlgorithms: readonly string[] = Object.values(algorithmsByType).flat()

/** Members of private and symmetric keys (RFC 7518 sections 6.2.2, 6.3.2 and 6.4, RFC 8037 section 2). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** Why a JWK cannot be used. `member` is undefined if the error is about the key as a whole. */
export interface PublicKeyError {
  member?: string
  message: string
}

/** Reads a JWK. Returns an error whose message follows the name of the member or of the key. */
export function readPublicKey(jwk: unknown): PublicKey | PublicKeyError {
  if (!isObject(jwk)) return { message: 'must be a JSON Web Key object.' }
  const privateMember = privateMembers.find((member) => Object.hasOwn(jwk, member))
  if (privateMember !== undefined)
    return { member: privateMember, message: 'is a member of a private key. Register only the public key.' }
  const { kty, crv, kid, use, alg, key_ops } = jwk
  const type = kty === 'RSA' ? 'RSA' : `${String(kty)} ${String(crv)}`
  const supported = Object.hasOwn(algorithmsByType, type) ? algorithmsByType[type] : undefined
  if (!supported) return { message: 'must be an EC key on P-256, an OKP key on Ed25519 or an RSA key.' }
  if (kid !== undefined && (typeof kid !== 'string' || kid === '' || kid.length > limits.maxPublicKeyIdLength))
    return { member: 'kid', message: `must be a string of 1 to ${limits.maxPublicKeyIdLength} characters.` }
  if (use !== undefined && use !== 'sig') return { member: 'use', message: 'must be sig or absent.' }
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify')))
    return { member: 'key_ops', message: 'must contain verify or be absent.' }
  if (alg !== undefined && !supported.includes(alg as string))
    return { member: 'alg', message: `must be ${supported.join(' or ')} or absent.` }
  const key = toKeyObject(jwk)
  if (!key) return { message: 'is not a valid key; check its members.' }
  if (kty === 'RSA' && !hasAllowedRsaSize(key))
    return { member: 'n', message: `must have ${limits.minRsaPublicKeyBits} to ${limits.maxRsaPublicKeyBits} bits.` }
  // The key of an RSA algorithm is only for that algorithm; both names of EdDSA mean the same algorithm.
  return { kid, algorithms: kty === 'RSA' && typeof alg === 'string' ? [alg] : supported, key }
}

function toKeyObject(jwk: Record<string, unknown>): KeyObject | undefined {
  const { kty, crv, x, y, n, e } = jwk
  try {
    const key = createPublicKey({ key: { kty, crv, x, y, n, e } as never, format: 'jwk' })
    // An exponent of 1 would make every text a valid signature of itself, and a large one makes verification slow.
    const { publicExponent = 65_537n } = key.asymmetricKeyDetails ?? {}
    return publicExponent >= 3n && publicExponent <= 65_537n ? key : undefined
  } catch {
    return undefined
  }
}

function hasAllowedRsaSize({ asymmetricKeyDetails }: KeyObject): boolean {
  const { modulusLength = 0 } = asymmetricKeyDetails ?? {}
  return modulusLength >= limits.minRsaPublicKeyBits && modulusLength <= limits.maxRsaPublicKeyBits
}

/**
 * Returns the usable keys of a key set. Other keys are ignored (RFC 7517 section 5), also private keys.
 * @returns undefined if the value is not a key set, or has more than `maxPublicKeys` keys
 */
export function readPublicKeys(jwks: unknown): PublicKey[] | undefined {
  const keys = isObject(jwks) ? jwks['keys'] : undefined
  if (!Array.isArray(keys) || keys.length > limits.maxPublicKeys) return undefined
  return keys.map(readPublicKey).filter((key): key is PublicKey => 'key' in key)
}

/**
 * Returns whether one of the keys verifies the signature. If the JWT has a `kid`, only keys with this `kid` are used.
 */
export function isSignedByOneOf(keys: readonly PublicKey[], jws: ParsedJws): boolean {
  const { alg, kid } = jws.header
  return keys.some(
    (key) =>
      (kid === undefined || key.kid === kid) &&
      key.algorithms.includes(alg as string) &&
      isSignatureValid(jws, alg as string, key.key),
  )
}
