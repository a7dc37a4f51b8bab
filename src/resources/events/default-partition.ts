/**
 * Moves events from the default partition into monthly partitions that no worker had created in time. The default
 * partition may contain millions of events. They are copied in batches to staging tables while reads and writes
 * continue, and one short transaction replaces the default partition by the staging tables. An interrupted run resumes
 * after the largest copied commit position, because the events of one transaction share a commit position and are
 * copied together. Only erasure (event-erasure.ts) updates events, and erasure stops while staging tables exist.
 */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'

/** A monthly partition; times in Unix milliseconds. */
export interface EventPartition {
  name: string
  startsAt: number
  endsAt: number
}

/** Returns the name of the staging table of a partition. */
const stagingTable = (name: string): string => name.replace(/^events_/, 'events_staging_')
const DEFAULT_PARTITION = 'events_default'

/**
 * Returns `created_at` (Unix milliseconds) of the first event of the default partition in commit order; undefined if
 * the default partition is empty.
 */
export async function firstEventInDefaultPartition(context: Context): Promise<number | undefined> {
  const [row] = await sql<{ at: bigint }>(
    context.db,
    `SELECT created_at AS at FROM ${DEFAULT_PARTITION} ORDER BY commit_position LIMIT 1`,
  )
  return row && Number(row.at)
}

/**
 * Creates the partitions of these months and moves their events from the default partition into them.
 * @returns false if the job must stop, or if a long transaction keeps too many events from being copied in batches; the
 *   next run continues
 */
export async function splitDefaultPartition(context: Context, months: readonly EventPartition[]): Promise<boolean> {
  await createStagingTables(context, months)
  while (!context.stopSignal?.aborted) {
    if (await copyBatch(context, months)) continue
    if ((await countUncopied(context, months)) > limits.maxEventsInRepartitionTransaction) return false
    await attachPartitions(context, months)
    return true
  }
  return false
}

/** Advisory lock: exclusive when repartitioning starts, shared in transactions that update events. */
const REPARTITION_LOCK = 72707371

const stagingTablesText =
  "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname ~ '^events_staging_' ORDER BY 1"

/**
 * Returns whether repartitioning is in progress. If it is not, it does not start before the current transaction ends.
 */
export async function isRepartitioning({ query }: Context): Promise<boolean> {
  await query('events-change', 'SELECT pg_advisory_xact_lock_shared($1)', [REPARTITION_LOCK])
  return (await query('events-unfinished', stagingTablesText, [])).length > 0
}

/** Drops the staging tables that an interrupted run left. Call it when no events have to be moved. */
export async function dropStagingTables({ db }: Context): Promise<void> {
  for (const { name } of await sql<{ name: string }>(db, stagingTablesText))
    await db.$executeRawUnsafe(`DROP TABLE ${name}`)
}

/** Creates the staging tables. Drops those that an interrupted run left for a different set of months. */
async function createStagingTables(context: Context, months: readonly EventPartition[]): Promise<void> {
  const expectedTables = [DEFAULT_PARTITION, ...months.map(({ name }) => name)].map(stagingTable).sort()
  const existingTables = await sql<{ name: string }>(context.db, stagingTablesText)
  if (existingTables.map(({ name }) => name).join() === expectedTables.join()) return
  await transaction(context, async ({ db }) => {
    await db.$executeRawUnsafe(`SELECT pg_advisory_xact_lock(${REPARTITION_LOCK})`)
    for (const { name } of existingTables) await db.$executeRawUnsafe(`DROP TABLE ${name}`)
    for (const table of expectedTables) await db.$executeRawUnsafe(`CREATE TABLE ${table} (LIKE events INCLUDING ALL)`)
    // With this constraint, ATTACH PARTITION does not scan the table.
    for (const { name, startsAt, endsAt } of months)
      await db.$executeRawUnsafe(
        `ALTER TABLE ${stagingTable(name)} ADD CONSTRAINT in_month CHECK (created_at >= ${startsAt} AND created_at < ${endsAt})`,
      )
  })
}

const stagingTablesOf = (months: readonly EventPartition[]): string[] =>
  [DEFAULT_PARTITION, ...months.map(({ name }) => name)].map(stagingTable)

/** SQL for the first commit position that is not copied yet. */
const nextUncopiedPosition = (months: readonly EventPartition[]): string =>
  `coalesce(greatest(${stagingTablesOf(months).map((table) => `(SELECT max(commit_position) FROM ${table})`)}) + 1, ${Number.MIN_SAFE_INTEGER})`

/** Returns the statements that copy a range of commit positions: one per month, then one for the remaining rows. */
function copyTexts(months: readonly EventPartition[], range: string): string[] {
  const inMonth = ({ startsAt, endsAt }: EventPartition): string =>
    `(created_at >= ${startsAt} AND created_at < ${endsAt})`
  const copyInto = (table: string, where: string): string =>
    `INSERT INTO ${stagingTable(table)} SELECT * FROM ${DEFAULT_PARTITION} WHERE ${range} AND ${where}`
  return [
    ...months.map((month) => copyInto(month.name, inMonth(month))),
    copyInto(DEFAULT_PARTITION, `NOT (${months.map(inMonth).join(' OR ')})`),
  ]
}

/** @returns false when all events below the commit horizon are copied */
async function copyBatch(context: Context, months: readonly EventPartition[]): Promise<boolean> {
  return transaction(context, async ({ db }) => {
    const [range] = await sql<{ from: bigint; to: bigint | null }>(
      db,
      `SELECT first AS from, (SELECT max(commit_position) + 1 FROM (
         SELECT commit_position FROM ${DEFAULT_PARTITION} WHERE commit_position >= first AND commit_position < event_commit_horizon() ORDER BY commit_position LIMIT ${limits.eventRepartitionBatchSize}) p) AS to
       FROM (SELECT ${nextUncopiedPosition(months)} AS first) f`,
    )
    if (range?.to == null) return false
    for (const text of copyTexts(months, `commit_position >= ${range.from} AND commit_position < ${range.to}`))
      await db.$executeRawUnsafe(text)
    return true
  })
}

async function countUncopied(context: Context, months: readonly EventPartition[]): Promise<number> {
  const text = `SELECT 1 FROM ${DEFAULT_PARTITION} WHERE commit_position >= ${nextUncopiedPosition(months)} LIMIT ${limits.maxEventsInRepartitionTransaction + 1}`
  return (await sql(context.db, text)).length
}

/** In one short transaction, copies the remaining events and replaces the default partition by the staging tables. */
async function attachPartitions(context: Context, months: readonly EventPartition[]): Promise<void> {
  await transaction(context, async ({ db }) => {
    const run = (text: string) => db.$executeRawUnsafe(text)
    await run(`SET LOCAL lock_timeout = ${limits.eventRepartitionLockTimeout}`)
    await run('LOCK TABLE events IN ACCESS EXCLUSIVE MODE')
    const [uncopied] = await sql<{ from: bigint }>(db, `SELECT ${nextUncopiedPosition(months)} AS from`)
    for (const text of copyTexts(months, `commit_position >= ${uncopied!.from}`)) await run(text)
    await run(`ALTER TABLE events DETACH PARTITION ${DEFAULT_PARTITION}`)
    await run(`DROP TABLE ${DEFAULT_PARTITION}`)
    for (const { name, startsAt, endsAt } of months) {
      await run(`ALTER TABLE ${stagingTable(name)} RENAME TO ${name}`)
      await run(`ALTER TABLE events ATTACH PARTITION ${name} FOR VALUES FROM (${startsAt}) TO (${endsAt})`)
      await run(`ALTER TABLE ${name} DROP CONSTRAINT in_month`)
    }
    await run(`ALTER TABLE ${stagingTable(DEFAULT_PARTITION)} RENAME TO ${DEFAULT_PARTITION}`)
    await run(`ALTER TABLE events ATTACH PARTITION ${DEFAULT_PARTITION} DEFAULT`)
  })
}
