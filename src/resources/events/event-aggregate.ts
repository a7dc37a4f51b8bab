/**
 * Event aggregates (docs/contract.md#event-endpoints). Whole hours and days come from precomputed counts
 * (event-counts.ts). The table `events` is read for the partial hours at both ends of the time range, for events that
 * are not counted yet, and for aggregates of one user. The result is always exact.
 */
import { ApiError, badRequest } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import { DAY, HOUR } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type InAccount, requireAccount } from '../resource-path.js'
import type { AggregateArgs, Interval } from './event.js'
import { type Dimension, dimensions, lowCardinalityDimensions } from './event-counts.js'
import { addFilterConditions, addTimeRangeConditions, checkEventTypes, isGiven, SqlConditions } from './event-list.js'

export interface AggregateRow {
  /** The value of the dimension `groupBy`; null without `groupBy`. */
  key: string | null
  count: number
  /** The number of distinct values of each dimension in `countUnique`; null without `countUnique`. */
  uniques: Record<string, number> | null
}

export interface Aggregate {
  interval: Interval | null
  groupBy: Dimension | null
  /**
   * `ts` is the start of the interval (Unix milliseconds); null without `interval`, which leads to exactly one bucket.
   */
  buckets: { ts: number | null; rows: AggregateRow[] }[]
}

/** SQL for the start of an interval in UTC. Weeks start on Monday; the Unix epoch was a Thursday. */
const intervalStartSql: Record<Interval, string> = {
  hour: `at / ${HOUR} * ${HOUR}`,
  day: `at / ${DAY} * ${DAY}`,
  week: `(at / ${DAY} - (at / ${DAY} + 3) % 7) * ${DAY}`,
}

/**
 * Counts the events that match a filter, by interval and group. With `groupBy`, events without a value of this
 * dimension are not counted.
 * @throws invalid_request for an unknown event type, an empty list of event types or more than `maxEventAggregateRows`
 *   rows, not_found for the account, unavailable if the counts keep changing while they are read
 */
export async function aggregateEvents(
  context: Context,
  { accountId }: InAccount,
  request: AggregateArgs,
): Promise<Aggregate> {
  checkEventTypes(request.eventTypes)
  const { groupBy = null, interval = null } = request
  const unique = [...new Set(request.countUnique ?? [])]
  // The count tables store '' for NULL, so a filter for '' would match events without the dimension.
  const matchesNothing = [request.issuerId, request.userId, request.clientId].includes('')
  const rows = matchesNothing
    ? []
    : await queryConsistentCounts(context, accountId, { ...request, countUnique: unique })
  if (rows.length > limits.maxEventAggregateRows) {
    throw badRequest(
      `The result has more than ${limits.maxEventAggregateRows} rows. Request a shorter time range, a longer interval or fewer groups.`,
    )
  }
  if (rows.length === 0) await requireAccount(context, { accountId })
  const buckets = new Map<number | null, AggregateRow[]>(interval ? [] : [[null, []]])
  for (const row of rows) {
    const ts = interval && Number(row.ts)
    const aggregateRow = {
      key: groupBy && row.key,
      count: Number(row.count),
      uniques: unique.length === 0 ? null : Object.fromEntries(unique.map((name) => [name, Number(row[`of_${name}`])])),
    }
    buckets.set(ts, [...(buckets.get(ts) ?? []), aggregateRow])
  }
  return { interval, groupBy, buckets: [...buckets].map(([ts, list]) => ({ ts, rows: list })) }
}

interface CountedRow extends Record<string, unknown> {
  ts: number | null
  key: string | null
  count: number | null
  countedUpTo: number
}

/**
 * Repeats the query until `counted_up_to` is the same before and during the query. If it differed, the events that were
 * counted in the meantime would be missing or included twice.
 * @throws unavailable after `maxEventAggregateAttempts` attempts
 */
async function queryConsistentCounts(
  context: Context,
  accountId: string,
  request: AggregateArgs,
): Promise<CountedRow[]> {
  const progress = 'SELECT counted_up_to AS "countedUpTo" FROM event_progress'
  let [progressSeen] = await context.query<{ countedUpTo: number }>('event-progress', progress, [])
  for (let attempt = 0; attempt < limits.maxEventAggregateAttempts; attempt++) {
    const { text, values } = aggregateStatement(accountId, request, progressSeen!.countedUpTo)
    const rows = await context.query<CountedRow>('', text, values)
    const countedUpTo = Number(rows[0]!.countedUpTo)
    if (countedUpTo === progressSeen!.countedUpTo) return rows.filter(({ count }) => count !== null)
    progressSeen = { countedUpTo }
  }
  throw new ApiError('unavailable', 'The event counts are being updated. Try again in a few seconds.')
}

/** A source of counts for a time range. */
interface CountSource {
  /**
   * `events` reads all individual events, `uncounted` only those that are not counted yet. `hours` reads hourly counts
   * with all dimensions; `few hours` and `few days` read hourly and daily counts with only the low-cardinality
   * dimensions.
   */
  source: 'events' | 'uncounted' | 'hours' | 'few hours' | 'few days'
  /** Inclusive start (Unix milliseconds). */
  from: number
  /** Exclusive end (Unix milliseconds); null for no end. */
  to: number | null
}

function aggregateStatement(
  accountId: string,
  request: AggregateArgs,
  countedUpTo: number,
): { text: string; values: unknown[] } {
  const { groupBy, interval, countUnique } = request
  const needed = dimensions.filter((name) => name === groupBy || countUnique?.includes(name) === true)
  const values: unknown[] = []
  const selects = countSourcesFor(request, needed).map((part) => {
    const conditions = addFilterConditions(new SqlConditions(values).where('e.account_id = ?', accountId), request)
    return selectFromSource(part, needed, conditions, countedUpTo)
  })
  const groups = [interval && `${intervalStartSql[interval]} AS ts`, groupBy && `${groupBy} AS key`].filter(Boolean)
  const uniques = (countUnique ?? []).map((name) => `count(DISTINCT nullif(${name}, '')) AS of_${name}`)
  const text = `
    SELECT p.counted_up_to AS "countedUpTo", r.* FROM (SELECT counted_up_to FROM event_progress LIMIT 1) p LEFT JOIN (
      SELECT ${[...groups, 'sum(n)::bigint AS count', ...uniques].join(', ')} FROM (${selects.join(' UNION ALL ')}) counted
      ${groupBy ? `WHERE ${groupBy} <> ''` : ''}
      ${groups.length > 0 ? `GROUP BY ${groups.map((_, at) => at + 1).join(', ')}` : ''}
      HAVING sum(n) > 0 LIMIT ${limits.maxEventAggregateRows + 1}) r ON true
    ORDER BY ${[interval && 'r.ts', 'r.count DESC', groupBy && 'r.key COLLATE "C"'].filter(Boolean).join(', ')}`
  return { text, values }
}

/** Selects the rows of a source with their time `at`, the needed dimensions and the number `n` of events per row. */
function selectFromSource(
  { source, from, to }: CountSource,
  needed: readonly Dimension[],
  conditions: SqlConditions,
  countedUpTo: number,
): string {
  const select = (table: string, at: string, names: string[], n: string): string =>
    `SELECT ${[`${at} AS at`, ...names, `${n} AS n`].join(', ')} FROM ${table} e WHERE ${conditions.text}`
  if (source === 'events' || source === 'uncounted') {
    const names = needed.map((name) => `coalesce(e.${name}, '') AS ${name}`)
    addTimeRangeConditions(conditions, from, to).where(
      'e.commit_position >= ?::bigint',
      source === 'uncounted' ? countedUpTo : null,
    )
    return select('events', 'e.created_at', names, '1')
  }
  const unit = { hours: null, 'few hours': 'hour', 'few days': 'day' }[source]
  conditions.where('e.unit = ?', unit).where('e.starts_at >= ?::bigint', from).where('e.starts_at < ?::bigint', to)
  const names = needed.map((name) => `e.${name}`)
  return select(unit ? 'event_counts' : 'event_hours', 'e.starts_at', names, 'e.count')
}

/** Splits the time range of a request into sources, so that each event is counted exactly once. */
function countSourcesFor(request: AggregateArgs, needed: readonly Dimension[]): CountSource[] {
  const { after, before, interval, userId, clientId } = request
  const [first, last] = [after ?? 0, before ?? null]
  const from = ceilTo(first, HOUR)
  const to = last === null ? null : floorTo(last, HOUR)
  // A user has few events, which an index finds. A time range without a whole hour has no precomputed counts.
  if (isGiven(userId) || (to !== null && to <= from)) return [{ source: 'events', from: first, to: last }]
  const sources: CountSource[] = [
    { source: 'events', from: first, to: from },
    { source: 'uncounted', from, to },
    { source: 'events', from: to ?? 0, to: last ?? 0 },
  ]
  const [firstDay, lastDay] = [ceilTo(from, DAY), to === null ? null : floorTo(to, DAY)]
  if (isGiven(clientId) || !needed.every((name) => lowCardinalityDimensions.includes(name)))
    sources.push({ source: 'hours', from, to })
  else if (interval === 'hour' || (lastDay !== null && lastDay <= firstDay))
    sources.push({ source: 'few hours', from, to })
  else
    sources.push(
      { source: 'few hours', from, to: firstDay },
      { source: 'few days', from: firstDay, to: lastDay },
      { source: 'few hours', from: lastDay ?? 0, to: to ?? 0 },
    )
  return sources.filter((part) => part.to === null || part.from < part.to)
}

const ceilTo = (time: number, unit: number): number => Math.ceil(time / unit) * unit
const floorTo = (time: number, unit: number): number => Math.floor(time / unit) * unit
