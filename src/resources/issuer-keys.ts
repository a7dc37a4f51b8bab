/**
 * Reads, publishes and selects the signing keys of an issuer (docs/contract.md#signing-key-publication). Each row of
 * `signing_keys` has the time from which its key signs, so that every process selects the same key
 * (docs/decisions/0047). issuers/signing-keys.ts creates keys, and issuers/key-rotation.ts removes them.
 */
import type { Context } from '../platform/context.js'
import type { JwtKey } from '../platform/crypto/jws.js'

export const signingAlgorithms = ['ES256', 'EdDSA', 'RS256'] as const
export type SigningAlgorithm = (typeof signingAlgorithms)[number]

/** A public key as published: the members of a JSON Web Key (RFC 7517), including `use` and `alg`. */
export interface PublicJwk {
  kty: string
  use: 'sig'
  alg: SigningAlgorithm
  kid: string
  crv?: string
  x?: string
  y?: string
  n?: string
  e?: string
}

/** The properties of a key that determine when it signs. */
export interface SigningSchedule {
  alg: string
  /** Time of publication (Unix milliseconds). */
  createdAt: number
  /** The key does not sign before this time (Unix milliseconds). */
  signsFrom: number
}

export interface SigningKey extends SigningSchedule {
  kid: string
  alg: SigningAlgorithm
  publicJwk: PublicJwk
  /** The private key as a JSON Web Key, encrypted with SECRET_KEY. */
  privateJwk: string
}

/**
 * Returns the key of an algorithm that signs at `now`: the one with the latest `signsFrom` that is not in the future.
 * If `signsFrom` of all keys of the algorithm is in the future, because the clock of this process is behind the clock
 * of the process that created the issuer, the first key signs. Returns undefined if there is no key of the algorithm.
 * @param keys keys of an issuer, sorted by `signsFrom`
 * @param now Unix milliseconds
 */
export const signingKeyAt = <Key extends SigningSchedule>(
  keys: readonly Key[],
  alg: string,
  now: number,
): Key | undefined =>
  keys.findLast((key) => key.alg === alg && key.signsFrom <= now) ?? keys.find((key) => key.alg === alg)

/** Returns the keys of an issuer, sorted by `signsFrom`. The published key set has this order. */
export async function signingKeysOf(context: Context, issuerId: string): Promise<SigningKey[]> {
  return context.query<SigningKey & Record<string, unknown>>(
    'signing-keys-of-issuer',
    `SELECT kid::text, alg, public_jwk AS "publicJwk", private_jwk AS "privateJwk", created_at AS "createdAt",
       signs_from AS "signsFrom"
     FROM signing_keys WHERE issuer_id = $1 ORDER BY signs_from, kid`,
    [issuerId],
  )
}

/**
 * Returns the current signing key of an issuer with the private key decrypted. For tokens that are issued outside of
 * the endpoints of the IdP.
 * @throws Error if the issuer has no key of this algorithm
 */
export async function currentSigningKey(context: Context, issuerId: string, alg: string): Promise<JwtKey> {
  const key = signingKeyAt(await signingKeysOf(context, issuerId), alg, context.now())
  if (!key) throw new Error(`The issuer ${issuerId} has no ${alg} signing key.`)
  return { kid: key.kid, alg, jwk: JSON.parse(context.encryptor.decrypt(key.privateJwk)) }
}

/** The published key set (RFC 7517 section 5), without private parameters. */
export const publicJwkSet = (keys: readonly SigningKey[]): { keys: PublicJwk[] } => ({
  keys: keys.map(({ publicJwk: { kty, use, alg, kid, crv, x, y, n, e } }) =>
    // JSON omits undefined members, so each key type has only its own members.
    JSON.parse(JSON.stringify({ kty, use, alg, kid, crv, x, y, n, e })),
  ),
})
