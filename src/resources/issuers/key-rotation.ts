/**
 * Signing key rotation (docs/contract.md#signing-keys, docs/decisions/0019): monthly, on request, and after a
 * compromise. Each rotation of the keys of an issuer is one transaction that locks the issuer and computes the change
 * from the current rows of its keys, so concurrent, repeated and late runs are safe.
 */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { runInBatches } from '../../platform/jobs/batch-delete.js'
import { sql } from '../../platform/postgres/database.js'
import { notify } from '../../platform/postgres/notifications.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'
import {
  type SigningAlgorithm,
  type SigningKey,
  signingAlgorithms,
  signingKeyAt,
  signingKeysOf,
} from '../issuer-keys.js'
import { revokeTokensOfIssuer } from '../keys/personal-tokens.js'
import { type KeyState, keyStatesOf, periodOf, planMonthlyRotation, planRequestedRotation } from './key-schedule.js'
import { claimKeyPairs, createUnpooledKeyPairs, type KeyPair, publishInitialKeys, publishKeys } from './signing-keys.js'

/** A key in an event or in the output of a command. */
export interface ChangedKey {
  alg: string
  kid: string
  /** When the key starts to sign (Unix milliseconds). */
  signsFrom: number
}

/** What a rotation changed in an issuer's signing keys. */
export interface KeyChange {
  /** Keys that were added to the JWKS. */
  published: ChangedKey[]
  /** Keys that became the signing key, or that a requested rotation lets sign earlier than scheduled. */
  promoted: ChangedKey[]
  /** Keys that were removed from the JWKS, so that tokens signed by them are invalid. */
  removed: ChangedKey[]
}

type RotationReason = 'monthly' | 'requested' | 'compromise'

interface IssuerPath {
  accountId: string
  issuerId: string
}

const lockText = `SELECT account_id AS "accountId" FROM issuers WHERE id = $1 AND status <> 'deleted' FOR NO KEY UPDATE`

/**
 * Changes the keys of an issuer and records the event. If nothing changes, no event is recorded.
 * @returns undefined if the issuer does not exist or is deleted
 */
async function changeKeys(
  context: Context,
  issuerId: string,
  reason: RotationReason,
  change: (tx: Context, issuerPath: IssuerPath, keys: SigningKey[]) => Promise<KeyChange>,
): Promise<KeyChange | undefined> {
  return transaction(context, async (tx) => {
    const [issuer] = await sql<{ accountId: string }>(tx.db, lockText, issuerId)
    if (!issuer) return undefined
    const issuerPath = { accountId: issuer.accountId, issuerId }
    const keyChange = await change(tx, issuerPath, await signingKeysOf(tx, issuerId))
    if (Object.values(keyChange).every((keys) => keys.length === 0)) return keyChange
    const promotedAt = keyChange.promoted.at(-1)?.signsFrom
    await recordEvent(tx, 'issuer.signing_key.rotated', {
      ...issuerPath,
      target: { type: 'issuer', id: issuerId },
      data: {
        reason,
        period: reason === 'monthly' && promotedAt !== undefined ? periodOf(promotedAt) : null,
        published: keyChange.published.map(toEventKey),
        promoted: keyChange.promoted.map(toEventKey),
        removed: keyChange.removed.map(toEventKey),
      },
    })
    await notify(tx, 'issuer', issuerId)
    return keyChange
  })
}

const toEventKey = ({ alg, kid }: ChangedKey) => ({ alg, kid })

/** Returns the first key pair of each algorithm in `times` with its start time. */
const withSignsFrom = (pairs: readonly KeyPair[], times: ReadonlyMap<SigningAlgorithm, number>) =>
  [...times].map(([alg, signsFrom]) => ({ ...pairs.find((pair) => pair.alg === alg)!, signsFrom }))

/**
 * Selects issuers without a next key for some algorithm. The order is random, so that issuers whose rotation fails do
 * not block the others at every run.
 */
const dueText = `
  SELECT i.id FROM issuers i
  WHERE i.status <> 'deleted' AND ${signingAlgorithms.length} >
    (SELECT count(DISTINCT k.alg) FROM signing_keys k WHERE k.issuer_id = i.id AND k.signs_from > $1::bigint)
  ORDER BY random() LIMIT ${limits.keyRotationBatchSize}`

/**
 * Monthly rotation: publishes a new next key for each algorithm of an issuer whose previous next key has become the
 * signing key. Also publishes next keys of issuers that an earlier version created without them. Periodic job.
 */
export async function rotateDueKeys(context: Context): Promise<void> {
  await runInBatches(context, limits.keyRotationBatchSize, async () => {
    const rows = await sql<{ id: string }>(context.db, dueText, context.now())
    for (const { id } of rows) {
      if (context.stopSignal?.aborted) return 0
      await publishNextKeys(context, id)
    }
    return rows.length
  })
}

async function publishNextKeys(context: Context, issuerId: string): Promise<void> {
  const pairs = await claimKeyPairs(context, 1)
  await changeKeys(context, issuerId, 'monthly', async (tx, issuerPath, keys) => {
    const now = tx.now()
    const times = new Map<SigningAlgorithm, number>()
    const promoted: SigningKey[] = []
    for (const alg of signingAlgorithms) {
      const { publish } = planMonthlyRotation(keys, alg, now)
      if (publish === undefined) continue
      times.set(alg, publish)
      const current = signingKeyAt(keys, alg, now)
      // A key that has signed since its creation was published by `publishInitialKeys` and was not promoted.
      if (current && current.signsFrom > current.createdAt) promoted.push(current)
    }
    return { published: await publishKeys(tx, issuerPath, withSignsFrom(pairs, times)), promoted, removed: [] }
  })
}

/**
 * Rotates the keys of an issuer on request: the next keys become the signing keys as soon as they have been published
 * for `limits.signingKeyPublicationLead`, and new next keys are published.
 * @returns undefined if the issuer does not exist; an empty change while an earlier request is pending
 */
export async function rotateKeys(context: Context, issuerId: string): Promise<KeyChange | undefined> {
  const pairs = await claimKeyPairs(context, 1)
  return changeKeys(context, issuerId, 'requested', async (tx, issuerPath, keys) => {
    const now = tx.now()
    const times = new Map<SigningAlgorithm, number>()
    const promoted: ChangedKey[] = []
    for (const alg of signingAlgorithms) {
      const { promote, publish } = planRequestedRotation(keys, alg, now)
      if (publish !== undefined) times.set(alg, publish)
      if (!promote) continue
      const { kid } = promote.key
      await tx.db.signingKey.update({ where: { kid }, data: { signsFrom: promote.signsFrom } })
      promoted.push({ alg, kid, signsFrom: promote.signsFrom })
    }
    return { published: await publishKeys(tx, issuerPath, withSignsFrom(pairs, times)), promoted, removed: [] }
  })
}

/**
 * Replaces all keys of an issuer after a compromise: new keys sign immediately, all old keys are removed from the JWKS,
 * and tokens signed by them become invalid. Sessions and refresh tokens stay valid. Personal tokens are signed with
 * these keys, so they are revoked. Call `discardSpareKeys` first, because an attacker who read the keys of an issuer
 * may have read the pool of spare keys.
 * @returns the change and the number of revoked personal tokens; undefined if the issuer does not exist
 */
export async function replaceKeys(
  context: Context,
  issuerId: string,
): Promise<(KeyChange & { personalTokens: number }) | undefined> {
  const pairs = await createUnpooledKeyPairs(context)
  const change = await changeKeys(context, issuerId, 'compromise', async (tx, issuerPath, keys) => {
    await tx.db.signingKey.deleteMany({ where: { issuerId } })
    const published = await publishInitialKeys(tx, issuerPath, pairs)
    const promoted = published.filter((key) => key === signingKeyAt(published, key.alg, tx.now()))
    return { published, promoted, removed: keys }
  })
  return change && { ...change, personalTokens: await revokeTokensOfIssuer(context, issuerId) }
}

/** Iterates over the ids of all issuers that are not deleted. */
export async function* listIssuerIds(context: Context): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const rows = await context.db.issuer.findMany({
      where: { id: { gt: after }, status: { not: 'deleted' } },
      orderBy: { id: 'asc' },
      take: limits.keyRotationBatchSize,
      select: { id: true },
    })
    for (const { id } of rows) yield id
    if (rows.length < limits.keyRotationBatchSize) return
    after = rows.at(-1)!.id
  }
}

/** Deletes the keys whose successor started to sign before $1, of a batch of issuers with ids after $2. */
const removeRetiredKeysText = `
  WITH batch AS (SELECT id FROM issuers WHERE id > $2 ORDER BY id LIMIT ${limits.keyRotationBatchSize}),
  succeeded AS (
    SELECT k.id, lead(k.signs_from) OVER (PARTITION BY k.issuer_id, k.alg ORDER BY k.signs_from, k.kid) AS retired_at
    FROM batch JOIN signing_keys k ON k.issuer_id = batch.id
  ),
  gone AS (
    DELETE FROM signing_keys WHERE id IN (SELECT id FROM succeeded WHERE retired_at < $1::bigint) RETURNING issuer_id)
  SELECT max(batch.id) AS last, count(*)::int AS count,
    (SELECT coalesce(array_agg(DISTINCT issuer_id), '{}') FROM gone) AS changed
  FROM batch`

/** Removes keys that stopped signing more than `limits.signingKeyRetention` ago. Periodic job. */
export async function removeRetiredKeys(context: Context): Promise<void> {
  const before = context.now() - limits.signingKeyRetention
  let after = ''
  await runInBatches(context, limits.keyRotationBatchSize, () =>
    transaction(context, async (tx) => {
      const [batch] = await sql<RemovalBatch>(tx.db, removeRetiredKeysText, before, after)
      for (const issuerId of batch!.changed) await notify(tx, 'issuer', issuerId)
      after = batch!.last ?? after
      return batch!.count
    }),
  )
}

interface RemovalBatch {
  /** Last id of the batch; null for an empty batch. */
  last: string | null
  /** Number of issuers in the batch. */
  count: number
  /** Ids of the issuers that lost a key. */
  changed: string[]
}

/** A key as shown by `gatehouse keys list`. Times in Unix milliseconds. */
export interface KeyInfo {
  issuerId: string
  kid: string
  alg: string
  createdAt: number
  signsFrom: number
  state: KeyState
  /** End of the retention period, after which the key is removed from the JWKS; null for keys that are not retired. */
  leavesAt: number | null
}

/** Lists the keys of an issuer by algorithm, in the order in which they sign. */
export async function listKeys(context: Context, issuerId: string): Promise<KeyInfo[]> {
  const keys = keyStatesOf(await signingKeysOf(context, issuerId), context.now())
  return signingAlgorithms.flatMap((alg) =>
    keys
      .filter((key) => key.alg === alg)
      .map(({ kid, createdAt, signsFrom, state, removedAt }) => {
        return { issuerId, kid, alg, createdAt, signsFrom, state, leavesAt: removedAt }
      }),
  )
}
