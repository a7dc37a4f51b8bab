/** The trail by months: their tables are made ahead and dropped as a whole when all of it is older than the retention. */
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/database.js'
import { sweep } from '../../platform/sweep.js'
import { firstAside, forgetUnfinished, type Month, moveAside } from './moving.js'

/** How many months after this one have their table already: so long may there be no worker. */
const MONTHS_AHEAD = 3

const partitionsText = `
  SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_\\d{4}_\\d{2}$' ORDER BY 1`

/** Makes the months to come and drops those gone by. A periodic job; running twice does no harm. */
export async function keepEventPartitions(context: Context): Promise<void> {
  const oldest = new Date(context.now() - context.config.eventRetentionDays * DAY)
  const kept = Date.UTC(oldest.getUTCFullYear(), oldest.getUTCMonth())
  await makeMonths(context, kept)
  if (context.stop?.aborted) return
  const gone = (await sql<{ name: string }>(context.db, partitionsText)).filter(({ name }) => endOf(name) <= kept)
  const from = gone[0] ? startOf(gone[0].name) : kept
  // The counts first, for they are never more than the events; and once more, with what was counted meanwhile.
  await forgetCounts(context, from, kept)
  if (context.stop?.aborted) return
  for (const { name } of gone) await context.db.$executeRawUnsafe(`DROP TABLE ${name}`)
  await sweep(context, 'events_other', 'created_at < $1::bigint', kept)
  await forgetCounts(context, from, kept)
}

/** The tables of this month and the next ones, and of months gone by of which something lies aside. */
async function makeMonths(context: Context, kept: number): Promise<void> {
  const now = new Date(context.now())
  const ahead = Array.from({ length: MONTHS_AHEAD + 1 }, (_, at) =>
    Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + at),
  )
  const there = new Set((await sql<{ name: string }>(context.db, partitionsText)).map(({ name }) => name))
  const missing = (moments: readonly number[]): Month[] => moments.map(monthAt).filter(({ name }) => !there.has(name))
  if (missing(ahead).length === 0) return forgetUnfinished(context)
  const first = await firstAside(context)
  if (first === undefined) {
    await forgetUnfinished(context)
    // Nothing has to move, so it takes no time.
    for (const { startsAt } of missing(ahead))
      await sql(context.db, 'SELECT make_event_partition($1::bigint)', startsAt)
    return
  }
  const before: number[] = []
  for (let at = monthAt(Math.max(first, kept)).startsAt; at < ahead[0]!; at = monthAt(at).endsAt) before.push(at)
  await moveAside(context, missing([...before, ...ahead]))
}

/** The month (UTC) that a moment lies in. */
function monthAt(moment: number): Month {
  const date = new Date(moment)
  const name = `events_${date.toISOString().slice(0, 7).replace('-', '_')}`
  return { name, startsAt: monthOf(name, 0), endsAt: monthOf(name, 1) }
}

/**
 * Day by day, as each look begins where the table does, at what was just deleted; the index by time knows which part of
 * the table a day lies in. What lies before `from` is one look.
 */
async function forgetCounts(context: Context, from: number, kept: number): Promise<void> {
  for (const table of ['event_hours', 'event_counts']) {
    for (let [start, end] = [0, from]; start < kept; [start, end] = [end, end + DAY]) {
      await sweep(context, table, 'starts_at >= $1::bigint AND starts_at < $2::bigint', start, end)
    }
  }
}

/** The first moment of a month, and the first one after it, from the name of its table. */
const startOf = (name: string): number => monthOf(name, 0)
const endOf = (name: string): number => monthOf(name, 1)

function monthOf(name: string, ahead: number): number {
  const [, year, month] = name.split('_')
  return Date.UTC(Number(year), Number(month) - 1 + ahead)
}
