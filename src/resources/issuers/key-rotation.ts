/**
 * Rotation of signing keys (spec 5.3, decision D32, docs/decisions/0019): monthly by a periodic job, on request, and
 * after a compromise. A change of one issuer's keys is one transaction that locks the issuer and computes the change
 * from the rows it finds, so it does not matter how many processes do it, how often, or how late.
 */
import type { Context } from '../../platform/context.js'
import { sql, transaction } from '../../platform/database.js'
import { announce } from '../../platform/notify.js'
import { inPortions } from '../../platform/sweep.js'
import { emit } from '../events/events.js'
import {
  type SigningAlgorithm,
  type SigningKey,
  signingAlgorithms,
  signingKeyAt,
  signingKeysOf,
} from '../issuer-keys.js'
import { revokeTokensOfIssuer } from '../keys/personal-tokens.js'
import { KEY_RETENTION, type KeyState, periodOf, planMonthly, planRequested, statesOf } from './key-schedule.js'
import { freshKeyPairs, giveSigningKeys, type KeyPair, publishKeys, takeKeyPairs } from './signing-keys.js'

/** Issuers looked at by one statement. */
const BATCH = 500

/** A key in an event and in the answer of a command. `signsFrom` in milliseconds. */
export interface ChangedKey {
  alg: string
  kid: string
  signsFrom: number
}

/** What a rotation did to the keys of an issuer. */
export interface KeyChange {
  /** New in the key set. */
  published: ChangedKey[]
  /** Became, or will become, the signing key. */
  promoted: ChangedKey[]
  /** No longer in the key set; their tokens are no longer valid. */
  removed: ChangedKey[]
}

type Reason = 'monthly' | 'requested' | 'compromise'

interface Place {
  accountId: string
  issuerId: string
}

const lockText = `SELECT account_id AS "accountId" FROM issuers WHERE id = $1 AND status <> 'deleted' FOR NO KEY UPDATE`

/** Changes the keys of an issuer. @returns undefined when there is no such issuer, or it is deleted */
async function changeKeys(
  context: Context,
  issuerId: string,
  reason: Reason,
  change: (inside: Context, place: Place, keys: SigningKey[]) => Promise<KeyChange>,
): Promise<KeyChange | undefined> {
  return transaction(context, async (inside) => {
    const [issuer] = await sql<{ accountId: string }>(inside.db, lockText, issuerId)
    if (!issuer) return undefined
    const place = { accountId: issuer.accountId, issuerId }
    const done = await change(inside, place, await signingKeysOf(inside, issuerId))
    if (Object.values(done).every((keys) => keys.length === 0)) return done
    const promotedAt = done.promoted.at(-1)?.signsFrom
    await emit(inside, 'issuer.signing_key.rotated', {
      ...place,
      target: { type: 'issuer', id: issuerId },
      data: {
        reason,
        period: reason === 'monthly' && promotedAt !== undefined ? periodOf(promotedAt) : null,
        published: done.published.map(inEvent),
        promoted: done.promoted.map(inEvent),
        removed: done.removed.map(inEvent),
      },
    })
    await announce(inside, 'issuer', issuerId)
    return done
  })
}

const inEvent = ({ alg, kid }: ChangedKey) => ({ alg, kid })

/** The first of these pairs for each algorithm that has a time from which its new key is to sign. */
const scheduled = (pairs: readonly KeyPair[], times: ReadonlyMap<SigningAlgorithm, number>) =>
  [...times].map(([alg, signsFrom]) => ({ ...pairs.find((pair) => pair.alg === alg)!, signsFrom }))

/**
 * Issuers without a next key for some algorithm. In random order, so that one whose rotation fails does not keep the
 * same others waiting at every run.
 */
const dueText = `
  SELECT i.id FROM issuers i
  WHERE i.status <> 'deleted' AND ${signingAlgorithms.length} >
    (SELECT count(DISTINCT k.alg) FROM signing_keys k WHERE k.issuer_id = i.id AND k.signs_from > $1::bigint)
  ORDER BY random() LIMIT ${BATCH}`

/**
 * The monthly rotation: where the next key has become the signing key, publishes the one after it. Also gives a next key
 * to issuers of a version that published none in advance. A periodic job.
 */
export async function rotateDueKeys(context: Context): Promise<void> {
  await inPortions(context, BATCH, async () => {
    const rows = await sql<{ id: string }>(context.db, dueText, context.now())
    for (const { id } of rows) {
      if (context.stop?.aborted) return 0
      await publishNextKeys(context, id)
    }
    return rows.length
  })
}

async function publishNextKeys(context: Context, issuerId: string): Promise<void> {
  const pairs = await takeKeyPairs(context, 1)
  await changeKeys(context, issuerId, 'monthly', async (inside, place, keys) => {
    const now = inside.now()
    const times = new Map<SigningAlgorithm, number>()
    const promoted: SigningKey[] = []
    for (const alg of signingAlgorithms) {
      const { publish } = planMonthly(keys, alg, now)
      if (publish === undefined) continue
      times.set(alg, publish)
      const current = signingKeyAt(keys, alg, now)
      // A key that signed from its publication on was never the next one.
      if (current && current.signsFrom > current.createdAt) promoted.push(current)
    }
    return { published: await publishKeys(inside, place, scheduled(pairs, times)), promoted, removed: [] }
  })
}

/**
 * Rotates the keys of an issuer on request: the next keys sign as soon as they have been published for long enough, and
 * new next keys are published.
 * @returns undefined when there is no such issuer; a change without keys while an earlier request is waiting
 */
export async function rotateKeys(context: Context, issuerId: string): Promise<KeyChange | undefined> {
  const pairs = await takeKeyPairs(context, 1)
  return changeKeys(context, issuerId, 'requested', async (inside, place, keys) => {
    const now = inside.now()
    const times = new Map<SigningAlgorithm, number>()
    const promoted: ChangedKey[] = []
    for (const alg of signingAlgorithms) {
      const { promote, publish } = planRequested(keys, alg, now)
      if (publish !== undefined) times.set(alg, publish)
      if (!promote) continue
      const { kid } = promote.key
      await inside.db.signingKey.update({ where: { kid }, data: { signsFrom: promote.signsFrom } })
      promoted.push({ alg, kid, signsFrom: promote.signsFrom })
    }
    return { published: await publishKeys(inside, place, scheduled(pairs, times)), promoted, removed: [] }
  })
}

/**
 * Replaces all keys of an issuer after a compromise: new ones sign at once, every old one leaves the key set, and no
 * token that an old one signed is valid at any endpoint. Sessions and refresh tokens go on. Personal tokens are such
 * tokens, so they are revoked. Call `discardSpareKeys` first.
 * @returns undefined when there is no such issuer
 */
export async function replaceKeys(
  context: Context,
  issuerId: string,
): Promise<(KeyChange & { personalTokens: number }) | undefined> {
  const pairs = await freshKeyPairs(context)
  const change = await changeKeys(context, issuerId, 'compromise', async (inside, place, keys) => {
    await inside.db.signingKey.deleteMany({ where: { issuerId } })
    const published = await giveSigningKeys(inside, place, pairs)
    const promoted = published.filter((key) => key === signingKeyAt(published, key.alg, inside.now()))
    return { published, promoted, removed: keys }
  })
  return change && { ...change, personalTokens: await revokeTokensOfIssuer(context, issuerId) }
}

/** All issuers that are not deleted, in batches, for the command line. */
export async function* livingIssuers(context: Context): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const rows = await context.db.issuer.findMany({
      where: { id: { gt: after }, status: { not: 'deleted' } },
      orderBy: { id: 'asc' },
      take: BATCH,
      select: { id: true },
    })
    for (const { id } of rows) yield id
    if (rows.length < BATCH) return
    after = rows.at(-1)!.id
  }
}

/** A retired key leaves when the one after it has been signing for as long as the retention. */
const removeText = `
  WITH looked AS (SELECT id FROM issuers WHERE id > $2 ORDER BY id LIMIT ${BATCH}),
  succeeded AS (
    SELECT k.id, lead(k.signs_from) OVER (PARTITION BY k.issuer_id, k.alg ORDER BY k.signs_from, k.kid) AS retired_at
    FROM looked JOIN signing_keys k ON k.issuer_id = looked.id
  ),
  gone AS (
    DELETE FROM signing_keys WHERE id IN (SELECT id FROM succeeded WHERE retired_at < $1::bigint) RETURNING issuer_id)
  SELECT max(looked.id) AS last, count(*)::int AS count,
    (SELECT coalesce(array_agg(DISTINCT issuer_id), '{}') FROM gone) AS changed
  FROM looked`

/** Removes keys whose retention is over. A periodic job. */
export async function removeOldKeys(context: Context): Promise<void> {
  const before = context.now() - KEY_RETENTION
  let after = ''
  await inPortions(context, BATCH, () =>
    transaction(context, async (inside) => {
      const [looked] = await sql<Looked>(inside.db, removeText, before, after)
      for (const issuerId of looked!.changed) await announce(inside, 'issuer', issuerId)
      after = looked!.last ?? after
      return looked!.count
    }),
  )
}

interface Looked {
  last: string | null
  count: number
  changed: string[]
}

/** A key as `gatehouse keys list` shows it: public facts only. Times in milliseconds. */
export interface KeyFacts {
  issuerId: string
  kid: string
  alg: string
  createdAt: number
  signsFrom: number
  state: KeyState
  /** When a retired key leaves the key set. */
  leavesAt: number | null
}

/** The keys of an issuer, in the order in which they sign. */
export async function listKeys(context: Context, issuerId: string): Promise<KeyFacts[]> {
  const keys = statesOf(await signingKeysOf(context, issuerId), context.now())
  return signingAlgorithms.flatMap((alg) =>
    keys
      .filter((key) => key.alg === alg)
      .map(({ kid, createdAt, signsFrom, state, leavesAt }) => {
        return { issuerId, kid, alg, createdAt, signsFrom, state, leavesAt }
      }),
  )
}
