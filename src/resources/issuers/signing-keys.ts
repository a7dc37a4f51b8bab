/**
 * New signing keys of issuers. Pairs are generated in advance into a pool, so that no request waits for one. Private
 * keys are stored encrypted, those in the pool too.
 */
import { generateKeyPair, type KeyObject, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { newId } from '../../kernel/ids.js'
import type { Context, Gatehouse } from '../../platform/context.js'
import { outside } from '../../platform/database.js'
import { systemContext } from '../../platform/jobs.js'
import { announce, listen } from '../../platform/notify.js'
import { type PublicJwk, type SigningAlgorithm, type SigningKey, signingAlgorithms } from '../issuer-keys.js'
import { nextSignsFrom } from './key-schedule.js'

/** How many keys of each algorithm a new issuer has: the current and the next one (decision D32). */
const GENERATIONS = 2

/** A pair that belongs to no issuer yet. */
export interface KeyPair {
  kid: string
  alg: SigningAlgorithm
  publicJwk: PublicJwk
  /** Encrypted. */
  privateJwk: string
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
 * Pairs of each algorithm, two for a new issuer. They come from the pool; what the pool lacks is generated now, and no
 * transaction waits for that. Pairs that are not used are lost.
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

/** Pairs of each algorithm that have never been in the pool, for an issuer whose keys are compromised. */
export async function freshKeyPairs(context: Context, generations = GENERATIONS): Promise<KeyPair[]> {
  const algorithms = Array.from({ length: generations }, () => signingAlgorithms).flat()
  return Promise.all(algorithms.map((alg) => makePair(context, alg)))
}

/** Empties the pool: whoever could read the keys of an issuer could read these, too. Workers fill it again. */
export async function discardSpareKeys(context: Context): Promise<void> {
  await context.db.spareKey.deleteMany()
  await announce(context, 'spare_keys', '')
}

/**
 * Gives an issuer that has no keys its first ones, in the transaction that creates it or removes the old ones. The first
 * pair of each algorithm signs at once, the second one from the next rotation on.
 */
export async function giveSigningKeys(
  context: Context,
  place: { accountId: string; issuerId: string },
  pairs: readonly KeyPair[],
): Promise<SigningKey[]> {
  const now = context.now()
  const isFirst = (pair: KeyPair) => pair === pairs.find(({ alg }) => alg === pair.alg)
  const keys = pairs.map((pair) => ({ ...pair, signsFrom: isFirst(pair) ? now : nextSignsFrom(now, now) }))
  return publishKeys(context, place, keys)
}

/** Adds keys to those of an issuer, in the transaction that changes it. */
export async function publishKeys(
  context: Context,
  { accountId, issuerId }: { accountId: string; issuerId: string },
  keys: readonly (KeyPair & { signsFrom: number })[],
): Promise<SigningKey[]> {
  const createdAt = context.now()
  const published = keys.map((key) => ({ ...key, createdAt }))
  const rows = published.map((key) => ({ ...key, publicJwk: { ...key.publicJwk }, accountId, issuerId }))
  await context.db.signingKey.createMany({ data: rows.map((row) => ({ ...row, id: newId('key', createdAt) })) })
  await announce(context, 'spare_keys', issuerId)
  return published
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
