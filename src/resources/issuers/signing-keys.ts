/**
 * Signing keys of issuers (spec 5.3). Each issuer holds generations of three algorithms; the newest of each signs, the
 * others stay published for tokens signed before. Pairs are made ahead of need into a pool, so that no request waits
 * for one, and private keys never lie in the database in the clear.
 */
import { generateKeyPair, type KeyObject, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { newId } from '../../kernel/ids.js'
import { DAY } from '../../kernel/time.js'
import type { Context, Gatehouse } from '../../platform/context.js'
import { outside } from '../../platform/database.js'
import { systemContext } from '../../platform/jobs.js'
import { announce, listen } from '../../platform/notify.js'

export const signingAlgorithms = ['ES256', 'EdDSA', 'RS256'] as const
export type SigningAlgorithm = (typeof signingAlgorithms)[number]

/** How many keys of each algorithm an issuer begins with: the one that signs and the one before it. */
const GENERATIONS = 2
/** Keys that no longer sign stay published this long (milliseconds): longer than any token lives (spec section 8). */
export const KEY_RETENTION = 45 * DAY

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

/** A key of an issuer; `privateJwk` is sealed and opened only by who signs. */
export interface SigningKey {
  kid: string
  alg: SigningAlgorithm
  publicJwk: PublicJwk
  privateJwk: string
}

/** A pair that belongs to no issuer yet. */
export interface KeyPair extends SigningKey {
  createdAt?: number
}

const generate = promisify(generateKeyPair)

let making: Promise<unknown> = Promise.resolve()

/** A fresh pair, made on libuv's threads, one after the other: an RSA key takes a tenth of a second and more. */
function makePair(context: Context, alg: SigningAlgorithm): Promise<Required<KeyPair>> {
  const next = making.then(() => newKeyPair(context, alg))
  making = next.catch(() => {})
  return next
}

/** A fresh pair, made at once. @param context what seals it and tells the time */
export async function newKeyPair(
  context: Pick<Context, 'sealer' | 'now'>,
  alg: SigningAlgorithm,
): Promise<Required<KeyPair>> {
  const pairs: Record<SigningAlgorithm, () => Promise<{ publicKey: KeyObject; privateKey: KeyObject }>> = {
    ES256: () => generate('ec', { namedCurve: 'P-256' }),
    EdDSA: () => generate('ed25519'),
    RS256: () => generate('rsa', { modulusLength: 2048 }),
  }
  const { publicKey, privateKey } = await pairs[alg]()
  const kid = randomUUID()
  return {
    kid,
    alg,
    publicJwk: { ...publicKey.export({ format: 'jwk' }), use: 'sig', alg, kid } as PublicJwk,
    privateJwk: context.sealer.seal(JSON.stringify(privateKey.export({ format: 'jwk' }))),
    createdAt: context.now(),
  }
}

/** Takes up to $2 pairs of each algorithm out of the pool; parallel takers pass over each other's rows. */
const drawText = `
  WITH drawn AS MATERIALIZED (
    SELECT spare.kid FROM unnest($1::text[]) AS wanted(alg)
    CROSS JOIN LATERAL (
      SELECT kid FROM spare_keys WHERE spare_keys.alg = wanted.alg
      ORDER BY created_at LIMIT $2::int FOR UPDATE SKIP LOCKED
    ) AS spare
  )
  DELETE FROM spare_keys USING drawn WHERE spare_keys.kid = drawn.kid
  RETURNING spare_keys.kid::text, alg, public_jwk AS "publicJwk", private_jwk AS "privateJwk"`

/**
 * Generations of each algorithm, two for a new issuer, the signing one first. They come from the pool; what the pool
 * lacks is made now, and no transaction waits for that. If the one that gives them away fails, the pairs are lost, which
 * harms nobody.
 */
export async function takeKeyPairs(context: Context, generations = GENERATIONS): Promise<KeyPair[]> {
  const { query } = context.tools
  const turn = (turns.get(context.loaders) ?? 0) + 1
  turns.set(context.loaders, turn)
  return outside(context, `key pairs ${turn}`, () => drawPairs({ ...context, query }, generations))
}

/** How often one try of a transaction has asked: its issuers get different pairs, and the next try the same. */
const turns = new WeakMap<Context['loaders'], number>()

async function drawPairs(context: Context, generations: number): Promise<KeyPair[]> {
  const drawn = await context.query<KeyPair & Record<string, unknown>>('spare-keys-draw', drawText, [
    [...signingAlgorithms],
    generations,
  ])
  const pairs: KeyPair[] = []
  for (const alg of signingAlgorithms) {
    const found = drawn.filter((pair) => pair.alg === alg)
    while (found.length < generations) found.push(await makePair(context, alg))
    pairs.push(...found)
  }
  return pairs
}

/** Gives an issuer these keys, in the transaction that makes or changes it. The first pair of an algorithm signs. */
export async function giveSigningKeys(
  context: Context,
  { accountId, issuerId }: { accountId: string; issuerId: string },
  pairs: readonly KeyPair[],
  now = context.now(),
): Promise<void> {
  const ages = new Map<string, number>()
  const rows = pairs.map(({ kid, alg, publicJwk, privateJwk }) => {
    // The newest of an algorithm signs: each further pair is older by a millisecond.
    const age = ages.get(alg) ?? 0
    ages.set(alg, age + 1)
    const id = newId('key', now)
    return { id, accountId, issuerId, kid, alg, publicJwk: { ...publicJwk }, privateJwk, createdAt: now - age }
  })
  await context.db.signingKey.createMany({ data: rows })
  await announce(context, 'spare_keys', issuerId)
}

/**
 * Fills the pool up to what a number of new issuers takes, one pair at a time. Safe to call from every process at any
 * time: one of them works, the others return at once.
 */
export async function refillSpareKeys(context: Context, issuers = 8): Promise<void> {
  const target = issuers * GENERATIONS
  const connection = await context.tools.pool.connect()
  try {
    const lock = "hashtext('gatehouse spare keys')"
    const { rows } = await connection.query<{ locked: boolean }>(`SELECT pg_try_advisory_lock(${lock}) AS locked`)
    if (!rows[0]?.locked) return
    try {
      for (const alg of signingAlgorithms) {
        for (let have = await context.db.spareKey.count({ where: { alg } }); have < target; have++) {
          if (context.stop?.aborted) return
          const pair = await makePair(context, alg)
          await context.db.spareKey.create({ data: { ...pair, publicJwk: { ...pair.publicJwk } } })
        }
      }
    } finally {
      await connection.query(`SELECT pg_advisory_unlock(${lock})`)
    }
  } finally {
    connection.release()
  }
}

/**
 * Fills the pool again whenever a new issuer has drawn from it, sooner than the job's next turn.
 * @returns how to stop, which waits for the pair being made
 */
export function keepSpareKeys(gatehouse: Gatehouse): () => Promise<void> {
  let work: Promise<void> = Promise.resolve()
  const subscription = listen(gatehouse.tools, gatehouse.log, {
    onNotice(topic) {
      if (topic !== 'spare_keys') return
      work = work
        .then(() => refillSpareKeys(systemContext(gatehouse)))
        .catch((error) => gatehouse.log.warn({ err: error }, 'making spare keys failed; the job does it again'))
    },
    onReconnect() {},
  })
  return async () => {
    await subscription.close()
    await work
  }
}

/** The keys of an issuer, the signing one of each algorithm before the older ones. */
export async function signingKeysOf(context: Context, issuerId: string): Promise<SigningKey[]> {
  return context.query<SigningKey & Record<string, unknown>>(
    'signing-keys-of-issuer',
    `SELECT kid::text, alg, public_jwk AS "publicJwk", private_jwk AS "privateJwk"
     FROM signing_keys WHERE issuer_id = $1 ORDER BY created_at DESC, kid`,
    [issuerId],
  )
}

/** The key set as published (RFC 7517 section 5): public parameters only. */
export const publicKeySet = (keys: readonly SigningKey[]): { keys: PublicJwk[] } => ({
  keys: keys.map(({ publicJwk: { kty, use, alg, kid, crv, x, y, n, e } }) =>
    // JSON leaves out what is undefined, so each kind of key shows its own members only.
    JSON.parse(JSON.stringify({ kty, use, alg, kid, crv, x, y, n, e })),
  ),
})
