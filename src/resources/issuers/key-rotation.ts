/**
 * New signing keys, monthly (spec 5.3): at 01:00 UTC of the last day of each month, one of each algorithm per issuer. A
 * row for each issuer and month says that it is promised, and then that it is done, so that it happens once however
 * many processes there are, and whenever one of them runs again. The key before signs no more, but stays published for
 * as long as tokens signed with it may live, and longer.
 */
import { DAY, MINUTE, SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sql, transaction } from '../../platform/database.js'
import { announce } from '../../platform/notify.js'
import { enqueue, type Task } from '../../platform/queue.js'
import { inPortions, sweep } from '../../platform/sweep.js'
import { emit } from '../events/events.js'
import { giveSigningKeys, KEY_RETENTION, signingAlgorithms, takeKeyPairs } from './signing-keys.js'

const TASK = 'rotate_keys'
/** Issuers planned in one transaction, and looked at by one statement. */
const BATCH = 500
/** How long it is known that a rotation was done; only the latest one is asked for. */
const ROTATION_RETENTION = 400 * DAY

interface Planned {
  issuerId: string
  period: string
}

/** The last moment of rotation that has come, and the month that it belongs to. Unix milliseconds. */
export function lastRotation(now: number): { period: string; at: number } {
  const date = new Date(now)
  for (let back = 0; ; back++) {
    // Day 0 of a month is the last day of the month before.
    const at = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1 - back, 0, 1)
    if (at <= now) return { period: new Date(at).toISOString().slice(0, 7), at }
  }
}

/** Issuers that lived when the moment came and of which nobody has promised it yet. */
const planText = `
  INSERT INTO key_rotations (issuer_id, period)
  SELECT i.id, $1::text FROM issuers i
  WHERE i.status <> 'deleted' AND i.created_at < $2::bigint
    AND NOT EXISTS (SELECT 1 FROM key_rotations r WHERE r.issuer_id = i.id AND r.period = $1::text)
  ORDER BY i.id LIMIT $3::int
  ON CONFLICT DO NOTHING
  RETURNING issuer_id AS "issuerId", period`

/** Promises the rotations that are due: a job each, so that every worker takes its share. A periodic job. */
export async function planRotations(context: Context): Promise<void> {
  const { period, at } = lastRotation(context.now())
  await inPortions(context, BATCH, () =>
    transaction(context, async (inside) => {
      const rows = await sql<Planned>(inside.db, planText, period, at, BATCH)
      await enqueue(
        inside,
        TASK,
        rows.map((row) => ({ ...row })),
      )
      return rows.length
    }),
  )
}

/** One issuer's turn. Making keys takes time on another thread; one after the other leaves room for everything else. */
export const rotateKeysTask: Task = {
  name: TASK,
  attempts: 20,
  delay: (failed) => Math.min(10 * MINUTE, 2 ** failed * SECOND),
  lease: MINUTE,
  parallel: 1,
  async run(context, payload) {
    const { issuerId, period } = payload as Planned
    await rotateKeys(context, issuerId, period)
    return 'done'
  },
}

const doneText = `
  UPDATE key_rotations SET done_at = $3::bigint WHERE issuer_id = $1 AND period = $2 AND done_at IS NULL
  RETURNING issuer_id`
/** Locked, so that no issuer is deleted meanwhile, and so that of two rotations one comes after the other. */
const issuerText = `
  SELECT i.account_id AS "accountId", (SELECT max(created_at) FROM signing_keys WHERE issuer_id = i.id) AS newest
  FROM issuers i WHERE i.id = $1 AND i.status <> 'deleted' FOR UPDATE`

/**
 * Gives an issuer one new key of each algorithm, which signs from now on.
 * @param period of a promised rotation, which happens once; none: now, because somebody says so
 * @returns false when the issuer does not live, or its turn was over already
 */
export async function rotateKeys(context: Context, issuerId: string, period?: string): Promise<boolean> {
  const pairs = await takeKeyPairs(context, 1)
  return transaction(context, async (inside) => {
    if (period !== undefined) {
      const [due] = await sql(inside.db, doneText, issuerId, period, inside.now())
      if (!due) return false
    }
    const [issuer] = await sql<{ accountId: string; newest: number }>(inside.db, issuerText, issuerId)
    if (!issuer) return false
    const place = { accountId: issuer.accountId, issuerId }
    // The newest key signs: this one, even if another process's clock is ahead.
    await giveSigningKeys(inside, place, pairs, Math.max(inside.now(), Number(issuer.newest) + 1))
    const kids = Object.fromEntries(pairs.map(({ alg, kid }) => [alg, kid]))
    const target = { type: 'issuer', id: issuerId }
    await emit(inside, 'issuer.signing_key.rotated', { ...place, target, data: { kids, period: period ?? null } })
    await announce(inside, 'issuer', issuerId)
    return true
  })
}

/** Every living issuer, one after the other, for the command line. */
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

/**
 * A key goes when the one after it has signed for as long as the retention: until then tokens of the old one may live.
 * The newest two of each algorithm stay, whatever their age.
 */
const removeText = `
  WITH looked AS (SELECT id FROM issuers WHERE id > $2 ORDER BY id LIMIT ${BATCH}),
  ranked AS (
    SELECT k.id, row_number() OVER newest AS rank, lag(k.created_at) OVER newest AS replaced_at
    FROM looked JOIN signing_keys k ON k.issuer_id = looked.id
    WINDOW newest AS (PARTITION BY k.issuer_id, k.alg ORDER BY k.created_at DESC, k.kid)
  ),
  gone AS (
    DELETE FROM signing_keys WHERE id IN (SELECT id FROM ranked WHERE rank > 2 AND replaced_at < $1::bigint)
    RETURNING issuer_id)
  SELECT max(looked.id) AS last, count(*)::int AS count,
    (SELECT coalesce(array_agg(DISTINCT issuer_id), '{}') FROM gone) AS changed
  FROM looked`

/** Removes keys whose retention is over, issuer by issuer, and what is known of rotations long ago. A periodic job. */
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
  await sweep(context, 'key_rotations', 'done_at < $1::bigint', context.now() - ROTATION_RETENTION)
}

interface Looked {
  last: string | null
  count: number
  changed: string[]
}

export interface KeyFacts {
  issuerId: string
  kid: string
  alg: string
  createdAt: number
  /** Signs new tokens; the others are published only. */
  signing: boolean
}

const listText = `
  SELECT k.issuer_id AS "issuerId", k.kid::text, k.alg, k.created_at AS "createdAt",
    row_number() OVER (PARTITION BY k.issuer_id, k.alg ORDER BY k.created_at DESC, k.kid) = 1 AS signing
  FROM signing_keys k JOIN issuers i ON i.id = k.issuer_id AND i.status <> 'deleted'
  WHERE $1::text IS NULL OR i.id = $1::text
  ORDER BY k.issuer_id, array_position($2::text[], k.alg), k.created_at DESC, k.kid`

/** The keys of one issuer or of all: public facts only. */
export const listKeys = (context: Context, issuerId?: string): Promise<KeyFacts[]> =>
  sql<KeyFacts>(context.db, listText, issuerId ?? null, [...signingAlgorithms])
