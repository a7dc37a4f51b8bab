/**
 * Precomputed event counts for aggregates: per hour by all seven dimensions (table `event_hours`), and per hour and per
 * day by the low-cardinality dimensions (table `event_counts`). Events are counted in commit order (column
 * `commit_position`), in the transaction that advances `counted_up_to`, so that each event is counted exactly once,
 * even if its transaction commits late.
 */

import { limits } from '../../kernel/limits.js'
import { DAY, HOUR } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'

/** The dimensions of an aggregate (docs/contract.md#event-endpoints), by column name. */
export const dimensions = ['type', 'auth_type', 'issuer_id', 'user_id', 'client_id', 'org_id', 'agent_id'] as const
export type Dimension = (typeof dimensions)[number]

/** The low-cardinality dimensions, which are the columns of `event_counts`. */
export const lowCardinalityDimensions: readonly Dimension[] = ['type', 'auth_type', 'issuer_id']

interface CountProgress {
  from: number
  horizon: number
  /** The first commit position of the next batch; null for the last batch. */
  next: number | null
}

const progressText = `
  SELECT p.counted_up_to AS "from", event_commit_horizon() AS horizon, (
    SELECT commit_position FROM events WHERE commit_position >= p.counted_up_to AND commit_position < event_commit_horizon()
    ORDER BY commit_position OFFSET $1::int LIMIT 1) AS next
  FROM event_progress p FOR UPDATE OF p`

const intervalStartSql = (unit: number): string => `created_at / ${unit} * ${unit}`
const dimensionColumns = dimensions.map((dimension) => `coalesce(${dimension}, '') AS ${dimension}`).join(', ')

/** Counts the events with $1 <= commit_position < $2. */
export const countText = `
  WITH batch AS (SELECT account_id, created_at, ${dimensionColumns} FROM events WHERE commit_position >= $1::bigint AND commit_position < $2::bigint),
  hours AS (
    INSERT INTO event_hours AS existing (account_id, starts_at, ${dimensions.join(', ')}, key, count)
    SELECT account_id, ${intervalStartSql(HOUR)} AS starts_at, ${dimensions.join(', ')},
      md5(concat_ws(' ', ${dimensions.join(', ')}))::uuid AS key, count(*)
    FROM batch GROUP BY account_id, 2, ${dimensions.join(', ')} ORDER BY account_id, 2, key
    ON CONFLICT (account_id, starts_at, key) DO UPDATE SET count = existing.count + excluded.count),
  counts AS (
    INSERT INTO event_counts AS existing (account_id, unit, starts_at, ${lowCardinalityDimensions.join(', ')}, count)
    SELECT account_id, unit, starts_at, ${lowCardinalityDimensions.join(', ')}, count(*)
    FROM batch, LATERAL (VALUES ('hour', ${intervalStartSql(HOUR)}), ('day', ${intervalStartSql(DAY)})) AS u(unit, starts_at)
    GROUP BY account_id, unit, starts_at, ${lowCardinalityDimensions.join(', ')}
    ON CONFLICT (account_id, unit, starts_at, ${lowCardinalityDimensions.join(', ')})
    DO UPDATE SET count = existing.count + excluded.count)
  UPDATE event_progress SET counted_up_to = $2::bigint`

/**
 * Counts the events below the commit horizon that are not counted yet. Periodic job; the lock of the row of
 * `event_progress` serializes concurrent runs.
 */
export async function countEvents(context: Context): Promise<void> {
  while (!context.stopSignal?.aborted && (await countBatch(context)));
}

/** @returns whether there are more events to count */
function countBatch(context: Context): Promise<boolean> {
  return transaction(context, async ({ db }) => {
    const [progress] = await sql<CountProgress>(db, progressText, limits.eventCountBatchSize)
    const [from, horizon] = [Number(progress!.from), Number(progress!.horizon)]
    if (from >= horizon) return false
    // Events of one transaction share a commit position. They are counted in one batch, even if they exceed the batch
    // size.
    const to = progress!.next === null ? horizon : Math.max(Number(progress!.next), from + 1)
    await db.$executeRawUnsafe(countText, from, to)
    return to < horizon
  })
}

/**
 * Starts a new generation of commit positions if the transaction ids of the database cluster are below the positions
 * that are already counted. This is the case after a dump was restored into another cluster with smaller transaction
 * ids. Call it at startup, before the process writes events.
 */
export async function advanceGenerationAfterRestore(context: Context): Promise<void> {
  await context.db.$executeRawUnsafe(`
    UPDATE event_progress SET generation = generation + 1
    WHERE counted_up_to > (generation::bigint << 44) + pg_snapshot_xmax(pg_current_snapshot())::text::bigint`)
}
