/**
 * Counting events (spec 4.14): whole hours and days come from the counts kept ready (counting.ts), the rest from the
 * events themselves: the parts of an hour at either end, and what is not counted yet. The sum is always the exact one.
 */
import { ApiError, badRequest } from '../../kernel/errors.js'
import { DAY, HOUR } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type InAccount, requireAccount } from '../place.js'
import { type Dimension, dimensions, fewDimensions } from './counting.js'
import { Conditions, checkTypes, type EventFilter, matching, within } from './listing.js'

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
  const rows = await countedRows(context, accountId, { ...request, countUnique: unique })
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
  let [seen] = await context.tools.query<{ countedTo: number }>('event-progress', progress, [])
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { text, values } = statement(accountId, request, seen!.countedTo)
    const rows = await context.tools.query<CountedRow>('', text, values)
    const countedTo = Number(rows[0]!.countedTo)
    if (countedTo === seen!.countedTo) return rows.filter(({ count }) => count !== null)
    seen = { countedTo }
  }
  throw new ApiError('unavailable', 'The counts are being moved on; try again shortly.')
}

/** Some part of the events, each with the moment `at`, the dimensions and how many it stands for. */
type Part = (conditions: Conditions) => string

function statement(
  accountId: string,
  request: AggregateRequest,
  countedTo: number,
): { text: string; values: unknown[] } {
  const { groupBy, interval, countUnique } = request
  const needed = dimensions.filter((name) => name === groupBy || countUnique?.includes(name) === true)
  const values: unknown[] = []
  const parts = partsOf(request, needed, countedTo).map((part) => {
    return part(matching(new Conditions(values).where('e.account_id = ?', accountId), request))
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

/** Which parts give the whole of a filter's time, without gaps and without overlaps. */
function partsOf(request: AggregateRequest, needed: readonly Dimension[], countedTo: number): Part[] {
  const { after, before, interval, userId, clientId } = request
  const raw =
    (from: number | null, to: number | null, uncounted = false): Part =>
    (conditions) => {
      within(conditions, from, to).where('e.place >= ?::bigint', uncounted ? countedTo : null)
      return select(
        'events',
        'e.created_at',
        needed.map((name) => `coalesce(e.${name}, '') AS ${name}`),
        '1',
        conditions,
      )
    }
  const kept =
    (unit: 'hour' | 'day' | null, from: number, to: number | null): Part =>
    (conditions) => {
      conditions.where('e.unit = ?', unit).where('e.starts_at >= ?::bigint', from).where('e.starts_at < ?::bigint', to)
      const table = unit === null ? 'event_hours' : 'event_counts'
      return select(
        table,
        'e.starts_at',
        needed.map((name) => `e.${name}`),
        'e.count',
        conditions,
      )
    }

  const [first, last] = [after ?? 0, before ?? null]
  const from = ceiling(first, HOUR)
  const to = last === null ? null : floor(last, HOUR)
  // One user has few events and an index of their own; a part of one hour has no whole one.
  if (isGiven(userId) || (to !== null && to <= from)) return [raw(after ?? null, last)]
  const edges = [...(first < from ? [raw(first, from)] : []), ...(to !== null && to < last! ? [raw(to, last)] : [])]
  const rest = [raw(from, to, true), ...edges]
  const few = !isGiven(clientId) && needed.every((name) => fewDimensions.includes(name))
  if (!few) return [kept(null, from, to), ...rest]
  const [firstDay, lastDay] = [ceiling(from, DAY), to === null ? null : floor(to, DAY)]
  if (interval === 'hour' || (lastDay !== null && lastDay <= firstDay)) return [kept('hour', from, to), ...rest]
  const ends = lastDay === null ? [] : [kept('hour', lastDay, to)]
  return [kept('day', firstDay, lastDay), kept('hour', from, firstDay), ...ends, ...rest]
}

const select = (table: string, at: string, names: string[], count: string, conditions: Conditions): string =>
  `SELECT ${[`${at} AS at`, ...names, `${count} AS n`].join(', ')} FROM ${table} e WHERE ${conditions.text}`

const isGiven = (value: unknown): boolean => value !== undefined && value !== null
const ceiling = (time: number, unit: number): number => Math.ceil(time / unit) * unit
const floor = (time: number, unit: number): number => Math.floor(time / unit) * unit
