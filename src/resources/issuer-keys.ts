/**
 * The signing keys of an issuer as they are stored, published and used (spec 5.3). How they come and go is the business
 * of issuers/key-rotation.ts; when each one signs is in its row, so that every process reaches the same answer (decision
 * D32, docs/decisions/0060).
 */
import type { Context } from '../platform/context.js'
import type { JwtKey } from '../platform/jwt.js'

export const signingAlgorithms = ['ES256', 'EdDSA', 'RS256'] as const
export type SigningAlgorithm = (typeof signingAlgorithms)[number]

/** The public half as it is published: RFC 7517 members, `use` and `alg` included. */
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

/** What decides when a key signs. Unix milliseconds. */
export interface KeyTimes {
  alg: string
  /** When it was published. */
  createdAt: number
  /** From when on it may sign. */
  signsFrom: number
}

/** A key of an issuer. */
export interface SigningKey extends KeyTimes {
  kid: string
  alg: SigningAlgorithm
  publicJwk: PublicJwk
  /** Encrypted. */
  privateJwk: string
}

/**
 * The key that signs at this moment: of those whose time has come the one with the latest `signsFrom`. While none has
 * come (a clock behind that of the process that created the issuer), the first one.
 * @param keys in the order of `signsFrom`
 */
export const signingKeyAt = <Key extends KeyTimes>(keys: readonly Key[], alg: string, now: number): Key | undefined =>
  keys.findLast((key) => key.alg === alg && key.signsFrom <= now) ?? keys.find((key) => key.alg === alg)

/** The keys of an issuer in the order in which they sign, which is also that of the published key set. */
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
 * The key that an issuer signs with now, with its private half decrypted, for tokens made outside of the IdP's requests.
 * @throws Error when there is none
 */
export async function currentKey(context: Context, issuerId: string, alg: string): Promise<JwtKey> {
  const key = signingKeyAt(await signingKeysOf(context, issuerId), alg, context.now())
  if (!key) throw new Error(`The issuer ${issuerId} has no ${alg} key to sign with.`)
  return { kid: key.kid, alg, jwk: JSON.parse(context.sealer.open(key.privateJwk)) }
}

/** The key set as published (RFC 7517 section 5): public parameters only. */
export const publicKeySet = (keys: readonly SigningKey[]): { keys: PublicJwk[] } => ({
  keys: keys.map(({ publicJwk: { kty, use, alg, kid, crv, x, y, n, e } }) =>
    // JSON leaves out what is undefined, so each kind of key shows its own members only.
    JSON.parse(JSON.stringify({ kty, use, alg, kid, crv, x, y, n, e })),
  ),
})
