/** The trail by months: their tables are made ahead and dropped as a whole when all of it is older than the retention. */
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/database.js'

/** How many months after this one have their table already: so long may there be no worker. */
const MONTHS_AHEAD = 3
/** Counts removed by one statement. */
const PORTION = 20_000

const partitionsText = `
  SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_\\d{4}_\\d{2}$' ORDER BY 1`

/** Makes the months to come and drops those gone by. A periodic job; running twice does no harm. */
export async function keepEventPartitions(context: Context): Promise<void> {
  const now = new Date(context.now())
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead++) {
    await sql(context.db, 'SELECT make_event_partition($1::bigint)', Date.UTC(year, month + ahead))
  }
  const end = context.now() - context.config.eventRetentionDays * DAY
  const rows = await sql<{ name: string }>(context.db, partitionsText)
  const gone = rows.filter(({ name }) => endOf(name) <= end)
  const kept = Math.max(...gone.map(({ name }) => endOf(name)), 0)
  if (kept === 0) return
  // The counts first: they are never more than the events.
  for (const table of ['event_hours', 'event_counts']) await forget(context, table, kept)
  for (const { name } of gone) await context.db.$executeRawUnsafe(`DROP TABLE ${name}`)
  await context.db.$executeRawUnsafe('DELETE FROM events_other WHERE created_at < $1::bigint', kept)
}

/** The first moment after a month, from the name of its table. */
function endOf(name: string): number {
  const [, year, month] = name.split('_')
  return Date.UTC(Number(year), Number(month))
}

async function forget(context: Context, table: string, before: number): Promise<void> {
  const text = `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${table} WHERE starts_at < $1::bigint LIMIT ${PORTION}))`
  while ((await context.db.$executeRawUnsafe(text, before)) > 0);
}
