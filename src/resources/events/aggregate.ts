/**
 * Counting events (spec 4.14): whole hours and days come from the counts kept ready (counting.ts), the rest from the
 * events themselves: the parts of an hour at either end, and what is not counted yet. The sum is always the exact one.
 */
import { ApiError, badRequest } from '../../kernel/errors.js'
import { DAY, HOUR } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type InAccount, requireAccount } from '../place.js'
import { type Dimension, dimensions, fewDimensions } from './counting.js'
import { Conditions, checkTypes, type EventFilter, isGiven, matching, within } from './listing.js'

export const intervals = ['hour', 'day', 'week'] as const
export type Interval = (typeof intervals)[number]

export interface AggregateRequest extends EventFilter {
  groupBy?: Dimension | null
  interval?: Interval | null
  countUnique?: readonly Dimension[] | null
}

/** `key`, `uniques` and `ts` are null where they were not asked for. */
export interface AggregateRow {
  key: string | null
  count: number
  uniques: Record<string, number> | null
}

export interface Aggregate {
  interval: Interval | null
  groupBy: Dimension | null
  buckets: { ts: number | null; rows: AggregateRow[] }[]
}

/** More rows than that would take more memory than one answer may. */
const MAX_ROWS = 100_000

/** The counts move on once a minute: to meet that moment several times in a row is not chance. */
const ATTEMPTS = 10

/** Beginnings of intervals in UTC; weeks begin on Monday, and the epoch was a Thursday. */
const beginning: Record<Interval, string> = {
  hour: `at / ${HOUR} * ${HOUR}`,
  day: `at / ${DAY} * ${DAY}`,
  week: `(at / ${DAY} - (at / ${DAY} + 3) % 7) * ${DAY}`,
}

/**
 * Counts the events that a filter lets through, by interval and group.
 * @throws invalid_request for an unknown type or more than 100,000 rows; not_found for the account
 */
export async function aggregateEvents(
  context: Context,
  { accountId }: InAccount,
  request: AggregateRequest,
): Promise<Aggregate> {
  checkTypes(request.eventTypes)
  const { groupBy = null, interval = null } = request
  const unique = [...new Set(request.countUnique ?? [])]
  // The counts have empty text where an event names nobody, and nobody's events are asked for by a filter.
  const nobody = [request.issuerId, request.userId, request.clientId].includes('')
  const rows = nobody ? [] : await countedRows(context, accountId, { ...request, countUnique: unique })
  if (rows.length > MAX_ROWS) {
    throw badRequest(`The answer would have more than ${MAX_ROWS} rows: ask for a shorter time, or group by less.`)
  }
  if (rows.length === 0) await requireAccount(context, { accountId })
  const buckets = new Map<number | null, AggregateRow[]>(interval ? [] : [[null, []]])
  for (const row of rows) {
    const ts = interval && Number(row.ts)
    const told = {
      key: groupBy && row.key,
      count: Number(row.count),
      uniques: unique.length === 0 ? null : Object.fromEntries(unique.map((name) => [name, Number(row[`of_${name}`])])),
    }
    buckets.set(ts, [...(buckets.get(ts) ?? []), told])
  }
  return { interval, groupBy, buckets: [...buckets].map(([ts, list]) => ({ ts, rows: list })) }
}

interface CountedRow extends Record<string, unknown> {
  ts: number | null
  key: string | null
  count: number | null
  countedTo: number
}

/** The rows as they are while nothing is counted meanwhile: else some events would be missing or there twice. */
async function countedRows(context: Context, accountId: string, request: AggregateRequest): Promise<CountedRow[]> {
  const progress = 'SELECT counted_to AS "countedTo" FROM event_progress'
  let [seen] = await context.query<{ countedTo: number }>('event-progress', progress, [])
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { text, values } = statement(accountId, request, seen!.countedTo)
    const rows = await context.query<CountedRow>('', text, values)
    const countedTo = Number(rows[0]!.countedTo)
    if (countedTo === seen!.countedTo) return rows.filter(({ count }) => count !== null)
    seen = { countedTo }
  }
  throw new ApiError('unavailable', 'The counts are being moved on; try again shortly.')
}

/** Where some of the events are counted: those from one moment up to another, which is the first that does not count. */
interface Part {
  /** Events one by one, all or those that no count has yet, or counts of hours by all dimensions or of a unit by few. */
  source: 'events' | 'uncounted' | 'hours' | 'few hours' | 'few days'
  from: number
  to: number | null
}

function statement(
  accountId: string,
  request: AggregateRequest,
  countedTo: number,
): { text: string; values: unknown[] } {
  const { groupBy, interval, countUnique } = request
  const needed = dimensions.filter((name) => name === groupBy || countUnique?.includes(name) === true)
  const values: unknown[] = []
  const parts = partsOf(request, needed).map((part) => {
    const conditions = matching(new Conditions(values).where('e.account_id = ?', accountId), request)
    return rowsOf(part, needed, conditions, countedTo)
  })
  const groups = [interval && `${beginning[interval]} AS ts`, groupBy && `${groupBy} AS key`].filter(Boolean)
  const uniques = (countUnique ?? []).map((name) => `count(DISTINCT nullif(${name}, '')) AS of_${name}`)
  const text = `
    SELECT p.counted_to AS "countedTo", r.* FROM (SELECT counted_to FROM event_progress LIMIT 1) p LEFT JOIN (
      SELECT ${[...groups, 'sum(n)::bigint AS count', ...uniques].join(', ')} FROM (${parts.join(' UNION ALL ')}) counted
      ${groupBy ? `WHERE ${groupBy} <> ''` : ''}
      ${groups.length > 0 ? `GROUP BY ${groups.map((_, at) => at + 1).join(', ')}` : ''}
      HAVING sum(n) > 0 LIMIT ${MAX_ROWS + 1}) r ON true
    ORDER BY ${[interval && 'r.ts', 'r.count DESC', groupBy && 'r.key COLLATE "C"'].filter(Boolean).join(', ')}`
  return { text, values }
}

/** A part's rows, each with the moment `at`, the dimensions and how many events it stands for. */
function rowsOf(
  { source, from, to }: Part,
  needed: readonly Dimension[],
  conditions: Conditions,
  countedTo: number,
): string {
  const select = (table: string, at: string, names: string[], n: string): string =>
    `SELECT ${[`${at} AS at`, ...names, `${n} AS n`].join(', ')} FROM ${table} e WHERE ${conditions.text}`
  if (source === 'events' || source === 'uncounted') {
    const names = needed.map((name) => `coalesce(e.${name}, '') AS ${name}`)
    within(conditions, from, to).where('e.place >= ?::bigint', source === 'uncounted' ? countedTo : null)
    return select('events', 'e.created_at', names, '1')
  }
  const unit = { hours: null, 'few hours': 'hour', 'few days': 'day' }[source]
  conditions.where('e.unit = ?', unit).where('e.starts_at >= ?::bigint', from).where('e.starts_at < ?::bigint', to)
  const names = needed.map((name) => `e.${name}`)
  return select(unit ? 'event_counts' : 'event_hours', 'e.starts_at', names, 'e.count')
}

/** Which parts give the whole of a filter's time, without gaps and without overlaps. */
function partsOf(request: AggregateRequest, needed: readonly Dimension[]): Part[] {
  const { after, before, interval, userId, clientId } = request
  const [first, last] = [after ?? 0, before ?? null]
  const from = ceiling(first, HOUR)
  const to = last === null ? null : floor(last, HOUR)
  // One user has few events and an index of their own; a part of one hour has no whole one.
  if (isGiven(userId) || (to !== null && to <= from)) return [{ source: 'events', from: first, to: last }]
  const parts: Part[] = [
    { source: 'events', from: first, to: from },
    { source: 'uncounted', from, to },
    { source: 'events', from: to ?? 0, to: last ?? 0 },
  ]
  const [firstDay, lastDay] = [ceiling(from, DAY), to === null ? null : floor(to, DAY)]
  if (isGiven(clientId) || !needed.every((name) => fewDimensions.includes(name)))
    parts.push({ source: 'hours', from, to })
  else if (interval === 'hour' || (lastDay !== null && lastDay <= firstDay))
    parts.push({ source: 'few hours', from, to })
  else
    parts.push(
      { source: 'few hours', from, to: firstDay },
      { source: 'few days', from: firstDay, to: lastDay },
      { source: 'few hours', from: lastDay ?? 0, to: to ?? 0 },
    )
  return parts.filter((part) => part.to === null || part.from < part.to)
}

const ceiling = (time: number, unit: number): number => Math.ceil(time / unit) * unit
const floor = (time: number, unit: number): number => Math.floor(time / unit) * unit
