/**
 * Creation of signing keys. Key pairs are generated in advance and stored in a pool (the table `spare_keys`), so that
 * requests do not wait for key generation. Private keys are stored encrypted, also in the pool.
 */
import { generateKeyPair, type KeyObject, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { newId } from '../../kernel/ids.js'
import type { Context, Gatehouse } from '../../platform/context.js'
import { systemContext } from '../../platform/jobs/periodic-jobs.js'
import { listen, notify } from '../../platform/postgres/notifications.js'
import { externalCall } from '../../platform/postgres/transaction.js'
import { type PublicJwk, type SigningAlgorithm, type SigningKey, signingAlgorithms } from '../issuer-keys.js'
import { nextSignsFrom } from './key-schedule.js'

/**
 * Number of keys per algorithm of a new issuer: the current and the next one
 * (docs/contract.md#signing-key-publication).
 */
const KEYS_PER_ALGORITHM = 2

/** A key pair that is not assigned to an issuer. */
export interface KeyPair {
  kid: string
  alg: SigningAlgorithm
  publicJwk: PublicJwk
  /** The private key as a JWK, encrypted with SECRET_KEY. */
  privateJwk: string
  /** Time of generation (Unix milliseconds); undefined for pairs from the pool. */
  createdAt?: number
}

const generate = promisify(generateKeyPair)

let keyGeneration: Promise<unknown> = Promise.resolve()

/**
 * Generates a key pair after all key pairs that were requested before it. The queue keeps most threads of libuv's
 * thread pool free, because generating an RSA key takes 100 ms or more of CPU time.
 */
function createQueuedKeyPair(context: Context, alg: SigningAlgorithm): Promise<Required<KeyPair>> {
  const next = keyGeneration.then(() => createKeyPair(context, alg))
  keyGeneration = next.catch(() => {})
  return next
}

/** Generates a key pair immediately. @param context encrypts the private key and provides the time */
export async function createKeyPair(
  context: Pick<Context, 'encryptor' | 'now'>,
  alg: SigningAlgorithm,
): Promise<Required<KeyPair>> {
  const generators: Record<SigningAlgorithm, () => Promise<{ publicKey: KeyObject; privateKey: KeyObject }>> = {
    ES256: () => generate('ec', { namedCurve: 'P-256' }),
    EdDSA: () => generate('ed25519'),
    RS256: () => generate('rsa', { modulusLength: 2048 }),
  }
  const { publicKey, privateKey } = await generators[alg]()
  const kid = randomUUID()
  return {
    kid,
    alg,
    publicJwk: { ...publicKey.export({ format: 'jwk' }), use: 'sig', alg, kid } as PublicJwk,
    privateJwk: context.encryptor.encrypt(JSON.stringify(privateKey.export({ format: 'jwk' }))),
    createdAt: context.now(),
  }
}

/** Takes up to $2 pairs of each algorithm in $1 from the pool. With SKIP LOCKED, concurrent callers do not wait. */
const claimSpareKeysText = `
  WITH claimed AS MATERIALIZED (
    SELECT spare.kid FROM unnest($1::text[]) AS wanted(alg)
    CROSS JOIN LATERAL (
      SELECT kid FROM spare_keys WHERE spare_keys.alg = wanted.alg
      ORDER BY created_at LIMIT $2::int FOR UPDATE SKIP LOCKED
    ) AS spare
  )
  DELETE FROM spare_keys USING claimed WHERE spare_keys.kid = claimed.kid
  RETURNING spare_keys.kid::text, alg, public_jwk AS "publicJwk", private_jwk AS "privateJwk"`

/**
 * Takes key pairs of each algorithm out of the pool and generates missing ones, outside of the caller's transaction.
 * Pairs that the caller does not use are not returned to the pool.
 * @param generations number of pairs per algorithm
 */
export async function claimKeyPairs(context: Context, generations = KEYS_PER_ALGORITHM): Promise<KeyPair[]> {
  const { query } = context.database
  const claimNumber = (claimCounts.get(context.loaders) ?? 0) + 1
  claimCounts.set(context.loaders, claimNumber)
  return externalCall(context, `key pairs ${claimNumber}`, () => claimPairs({ ...context, query }, generations))
}

/**
 * Number of `claimKeyPairs` calls in each transaction attempt, which is identified by its loaders. The number is part
 * of the key of the external call, so that each call in an attempt gets different pairs, and a retried transaction gets
 * the same pairs again.
 */
const claimCounts = new WeakMap<Context['loaders'], number>()

async function claimPairs(context: Context, generations: number): Promise<KeyPair[]> {
  const claimed = await context.query<KeyPair & Record<string, unknown>>('spare-keys-claim', claimSpareKeysText, [
    [...signingAlgorithms],
    generations,
  ])
  const pairs: KeyPair[] = []
  for (const alg of signingAlgorithms) {
    const found = claimed.filter((pair) => pair.alg === alg)
    while (found.length < generations) found.push(await createQueuedKeyPair(context, alg))
    pairs.push(...found)
  }
  return pairs
}

/** Generates key pairs that were never in the pool, for an issuer whose keys are compromised. */
export async function createUnpooledKeyPairs(context: Context, generations = KEYS_PER_ALGORITHM): Promise<KeyPair[]> {
  const algorithms = Array.from({ length: generations }, () => signingAlgorithms).flat()
  return Promise.all(algorithms.map((alg) => createQueuedKeyPair(context, alg)))
}

/**
 * Empties the pool, because an attacker who read the keys of an issuer may have read the pool. Workers refill the pool
 * with new key pairs.
 */
export async function discardSpareKeys(context: Context): Promise<void> {
  await context.db.spareKey.deleteMany()
  await notify(context, 'spare_keys', '')
}

/**
 * Publishes the first keys of an issuer. Call it in the transaction that creates the issuer or removes its old keys.
 * The first pair of each algorithm signs immediately, the second one from the time that `nextSignsFrom` returns.
 */
export async function publishInitialKeys(
  context: Context,
  issuerPath: { accountId: string; issuerId: string },
  pairs: readonly KeyPair[],
): Promise<SigningKey[]> {
  const now = context.now()
  const isFirst = (pair: KeyPair) => pair === pairs.find(({ alg }) => alg === pair.alg)
  const keys = pairs.map((pair) => ({ ...pair, signsFrom: isFirst(pair) ? now : nextSignsFrom(now, now) }))
  return publishKeys(context, issuerPath, keys, now)
}

/**
 * Publishes keys of an issuer. Call it in the transaction that has created or locked the issuer.
 * @param keys the key pairs with their start times (Unix milliseconds)
 * @param createdAt Unix milliseconds
 */
export async function publishKeys(
  context: Context,
  { accountId, issuerId }: { accountId: string; issuerId: string },
  keys: readonly (KeyPair & { signsFrom: number })[],
  createdAt = context.now(),
): Promise<SigningKey[]> {
  const published = keys.map((key) => ({ ...key, createdAt }))
  const rows = published.map((key) => ({ ...key, publicJwk: { ...key.publicJwk }, accountId, issuerId }))
  await context.db.signingKey.createMany({ data: rows.map((row) => ({ ...row, id: newId('key', createdAt) })) })
  await notify(context, 'spare_keys', issuerId)
  return published
}

/**
 * Fills the pool with enough key pairs for `issuers` new issuers, one pair at a time. Can be called in several
 * processes at the same time: the process that gets an advisory lock fills the pool, and the others return immediately.
 */
export async function refillSpareKeys(context: Context, issuers = 8): Promise<void> {
  const target = issuers * KEYS_PER_ALGORITHM
  const connection = await context.database.pool.connect()
  try {
    const lock = "hashtext('gatehouse spare keys')"
    const { rows } = await connection.query<{ locked: boolean }>(`SELECT pg_try_advisory_lock(${lock}) AS locked`)
    if (!rows[0]?.locked) return
    try {
      for (const alg of signingAlgorithms) {
        for (let pooled = await context.db.spareKey.count({ where: { alg } }); pooled < target; pooled++) {
          if (context.stopSignal?.aborted) return
          const pair = await createQueuedKeyPair(context, alg)
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
 * Refills the pool after each notification that keys were published or the pool was emptied, without waiting for the
 * periodic job.
 * @returns a function that stops this and waits for a refill in progress
 */
export function startSpareKeyRefill(gatehouse: Gatehouse): () => Promise<void> {
  let work: Promise<void> = Promise.resolve()
  const subscription = listen(gatehouse.database, gatehouse.log, {
    onNotification(channel) {
      if (channel !== 'spare_keys') return
      work = work
        .then(() => refillSpareKeys(systemContext(gatehouse)))
        .catch((error) => gatehouse.log.warn({ err: error }, 'creating spare keys failed; the periodic job retries'))
    },
    onReconnect() {},
  })
  return async () => {
    await subscription.close()
    await work
  }
}
