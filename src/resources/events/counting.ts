/**
 * Counts of events kept ready for the aggregate: by the hour for all seven dimensions, by hours and days for those with
 * few values. Events are counted in the order of their places, each once, in the transaction that moves `counted_to`
 * over it: which hour an event belongs to does not matter, so an event that commits late is counted like any other.
 */

import { DAY, HOUR } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sql, transaction } from '../../platform/database.js'

/** The dimensions of spec 4.14, by their column. */
export const dimensions = ['type', 'auth_type', 'issuer_id', 'user_id', 'client_id', 'org_id', 'agent_id'] as const
export type Dimension = (typeof dimensions)[number]

/** Those with few values, which the table event_counts has. */
export const fewDimensions: readonly Dimension[] = ['type', 'auth_type', 'issuer_id']

/** Events counted by one statement. */
const PORTION = 10_000

interface Progress {
  from: number
  horizon: number
  /** The first place of the portion after this one; null for the last. */
  next: number | null
}

const progressText = `
  SELECT p.counted_to AS "from", event_horizon() AS horizon, (
    SELECT place FROM events WHERE place >= p.counted_to AND place < event_horizon()
    ORDER BY place OFFSET $1::int LIMIT 1) AS next
  FROM event_progress p FOR UPDATE OF p`

const startOf = (unit: number): string => `created_at / ${unit} * ${unit}`
const some = dimensions.map((dimension) => `coalesce(${dimension}, '') AS ${dimension}`).join(', ')

/** Counts the events from place $1 up to $2. */
export const countText = `
  WITH fresh AS (SELECT account_id, created_at, ${some} FROM events WHERE place >= $1::bigint AND place < $2::bigint),
  hours AS (
    INSERT INTO event_hours AS kept (account_id, starts_at, ${dimensions.join(', ')}, key, count)
    SELECT account_id, ${startOf(HOUR)} AS starts_at, ${dimensions.join(', ')},
      md5(concat_ws(' ', ${dimensions.join(', ')}))::uuid AS key, count(*)
    FROM fresh GROUP BY account_id, 2, ${dimensions.join(', ')} ORDER BY account_id, 2, key
    ON CONFLICT (account_id, starts_at, key) DO UPDATE SET count = kept.count + excluded.count),
  counts AS (
    INSERT INTO event_counts AS kept (account_id, unit, starts_at, ${fewDimensions.join(', ')}, count)
    SELECT account_id, unit, starts_at, ${fewDimensions.join(', ')}, count(*)
    FROM fresh, LATERAL (VALUES ('hour', ${startOf(HOUR)}), ('day', ${startOf(DAY)})) AS u(unit, starts_at)
    GROUP BY account_id, unit, starts_at, ${fewDimensions.join(', ')}
    ON CONFLICT (account_id, unit, starts_at, ${fewDimensions.join(', ')})
    DO UPDATE SET count = kept.count + excluded.count)
  UPDATE event_progress SET counted_to = $2::bigint`

/** Counts what has committed since the last run. A periodic job; several at once take turns. */
export async function countEvents(context: Context): Promise<void> {
  while (!context.stop?.aborted && (await countPortion(context)));
}

/** @returns whether there is more */
function countPortion(context: Context): Promise<boolean> {
  return transaction(context, async ({ db }) => {
    const [progress] = await sql<Progress>(db, progressText, PORTION)
    const [from, horizon] = [Number(progress!.from), Number(progress!.horizon)]
    if (from >= horizon) return false
    // One transaction may have made more events than a portion holds: it is counted as a whole.
    const to = progress!.next === null ? horizon : Math.max(Number(progress!.next), from + 1)
    await db.$executeRawUnsafe(countText, from, to)
    return to < horizon
  })
}

/**
 * A database restored from a dump into another cluster meets transaction numbers from the beginning again. Places go on
 * above the old ones: a new generation begins when the cluster's numbers lie below those that were counted already.
 * Called at start, before this process writes events.
 */
export async function keepPlacesRising(context: Context): Promise<void> {
  await context.db.$executeRawUnsafe(`
    UPDATE event_progress SET generation = generation + 1
    WHERE counted_to > (generation::bigint << 44) + pg_snapshot_xmax(pg_current_snapshot())::text::bigint`)
}
