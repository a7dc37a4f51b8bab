/**
 * Creates the monthly partitions of `events` ahead of time, and deletes events that are older than the retention
 * period, with their counts.
 */
import { limits } from '../../kernel/limits.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { deleteInBatches } from '../../platform/jobs/batch-delete.js'
import { sql } from '../../platform/postgres/database.js'
import {
  dropStagingTables,
  type EventPartition,
  firstEventInDefaultPartition,
  splitDefaultPartition,
} from './default-partition.js'

const partitionsText = `
  SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_\\d{4}_\\d{2}$' ORDER BY 1`

/**
 * Creates the partitions of this month and the next months, drops the expired ones, and deletes expired events of the
 * default partition and the counts of expired events. Periodic job; concurrent runs are safe.
 */
export async function maintainEventPartitions(context: Context): Promise<void> {
  const oldest = new Date(context.now() - context.config.eventRetentionDays * DAY)
  const retainedFrom = Date.UTC(oldest.getUTCFullYear(), oldest.getUTCMonth())
  await createPartitions(context, retainedFrom)
  if (context.stopSignal?.aborted) return
  const expired = (await sql<{ name: string }>(context.db, partitionsText)).filter(
    ({ name }) => partitionEnd(name) <= retainedFrom,
  )
  const from = expired[0] ? partitionStart(expired[0].name) : retainedFrom
  // The counts are deleted before the events, so that counts never exceed events. They are deleted again afterwards,
  // because `countEvents` may have counted some of the events in between.
  await deleteCounts(context, from, retainedFrom)
  if (context.stopSignal?.aborted) return
  for (const { name } of expired) await context.db.$executeRawUnsafe(`DROP TABLE ${name}`)
  await deleteInBatches(context, 'events_default', 'created_at < $1::bigint', retainedFrom)
  await deleteCounts(context, from, retainedFrom)
}

/**
 * Creates the missing partitions of this month and the next months. If one is missing and the default partition
 * contains events, also creates the missing partitions of the past months since the first of these events, but not
 * before `retainedFrom`, and moves the events of all these months.
 */
async function createPartitions(context: Context, retainedFrom: number): Promise<void> {
  const now = new Date(context.now())
  const ahead = Array.from({ length: limits.eventPartitionMonthsAhead + 1 }, (_, at) =>
    Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + at),
  )
  const existing = new Set((await sql<{ name: string }>(context.db, partitionsText)).map(({ name }) => name))
  const missing = (moments: readonly number[]): EventPartition[] =>
    moments.map(partitionAt).filter(({ name }) => !existing.has(name))
  if (missing(ahead).length === 0) return dropStagingTables(context)
  const first = await firstEventInDefaultPartition(context)
  if (first === undefined) {
    await dropStagingTables(context)
    // The default partition is empty, so no rows have to be checked or moved.
    for (const { startsAt } of missing(ahead))
      await sql(context.db, 'SELECT create_event_partition($1::bigint)', startsAt)
    return
  }
  const pastMonths: number[] = []
  for (let at = partitionAt(Math.max(first, retainedFrom)).startsAt; at < ahead[0]!; at = partitionAt(at).endsAt)
    pastMonths.push(at)
  await splitDefaultPartition(context, missing([...pastMonths, ...ahead]))
}

/** Returns the partition of the month (UTC) that contains a time in Unix milliseconds. */
function partitionAt(moment: number): EventPartition {
  const date = new Date(moment)
  const name = `events_${date.toISOString().slice(0, 7).replace('-', '_')}`
  return { name, startsAt: partitionBoundary(name, 0), endsAt: partitionBoundary(name, 1) }
}

/**
 * Deletes the counts of all times before `retainedFrom`. The counts since `from` are deleted one day at a time, because
 * with a single range each batch would scan the dead rows of the previous batches again.
 */
async function deleteCounts(context: Context, from: number, retainedFrom: number): Promise<void> {
  for (const table of ['event_hours', 'event_counts']) {
    for (let [start, end] = [0, from]; start < retainedFrom; [start, end] = [end, end + DAY]) {
      await deleteInBatches(context, table, 'starts_at >= $1::bigint AND starts_at < $2::bigint', start, end)
    }
  }
}

/** Returns the inclusive start of the month of a partition (Unix milliseconds). */
const partitionStart = (name: string): number => partitionBoundary(name, 0)
/** Returns the exclusive end of the month of a partition (Unix milliseconds). */
const partitionEnd = (name: string): number => partitionBoundary(name, 1)

function partitionBoundary(name: string, ahead: number): number {
  const [, year, month] = name.split('_')
  return Date.UTC(Number(year), Number(month) - 1 + ahead)
}
