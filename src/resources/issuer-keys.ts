/**
 * The signing keys of an issuer: how they are stored, published and selected
 * (docs/contract.md#signing-key-publication). Each row has the time from which its key signs, so that every process
 * selects the same key (docs/decisions/0047). issuers/key-rotation.ts creates and removes keys.
 */
import type { Context } from '../platform/context.js'
import type { JwtKey } from '../platform/crypto/jws.js'

export const signingAlgorithms = ['ES256', 'EdDSA', 'RS256'] as const
export type SigningAlgorithm = (typeof signingAlgorithms)[number]

/** The public key as published: RFC 7517 members, including `use` and `alg`. */
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

/** Determines when a key signs. Times in Unix milliseconds. */
export interface SigningSchedule {
  alg: string
  /** Time of publication. */
  createdAt: number
  /** The key does not sign before this time. */
  signsFrom: number
}

export interface SigningKey extends SigningSchedule {
  kid: string
  alg: SigningAlgorithm
  publicJwk: PublicJwk
  /** JSON Web Key, encrypted with SECRET_KEY. */
  privateJwk: string
}

/**
 * Returns the key that signs at `now`: the one with the latest `signsFrom` that has been reached. If none has been
 * reached, because the clock is behind that of the process that created the issuer, the first key signs.
 * @param keys sorted by `signsFrom`
 * @param now Unix milliseconds
 */
export const signingKeyAt = <Key extends SigningSchedule>(
  keys: readonly Key[],
  alg: string,
  now: number,
): Key | undefined =>
  keys.findLast((key) => key.alg === alg && key.signsFrom <= now) ?? keys.find((key) => key.alg === alg)

/** Returns the keys of an issuer sorted by `signsFrom`, which is also the order of the published key set. */
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
 * Returns the key that an issuer signs with now, with its private key decrypted. For tokens that are issued outside of
 * the IdP's endpoints.
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
