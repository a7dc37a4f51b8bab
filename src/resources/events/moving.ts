/**
 * Events that lie aside, because no worker had made the table of their month, move into it. Ten million of them may: so
 * they are copied in portions while everybody goes on reading and writing the old place, and one short transaction puts
 * the new tables in its stead. A run that is cut off goes on with the next one: how far it came says the largest place
 * that is copied, as the events of one transaction have one place and are copied together. Events change by erasure
 * alone (erasing.ts), which waits until a move is over.
 */
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sql, transaction } from '../../platform/database.js'

/** Events of one portion, or some more: those of one place stay together. */
const PORTION = 5000
/** What is left for the short transaction at most. */
const REST = 2 * PORTION
/** Others wait while that one waits for its lock; without it in this time it is tried at the next turn (milliseconds). */
const LOCK_TIMEOUT = 2 * SECOND

/** A month whose table is missing, in Unix milliseconds. */
export interface Month {
  name: string
  startsAt: number
  endsAt: number
}

/** The table being filled for a month, or for what still has none. */
const making = (name: string): string => name.replace(/^events_/, 'events_making_')
const OTHER = 'events_other'

/** When the first of what lies aside happened, by the order of commits (Unix milliseconds); undefined when nothing does. */
export async function firstAside(context: Context): Promise<number | undefined> {
  const [row] = await sql<{ at: bigint }>(context.db, `SELECT created_at AS at FROM ${OTHER} ORDER BY place LIMIT 1`)
  return row && Number(row.at)
}

/**
 * Makes the tables of these months, with what lies aside of them.
 * @returns false when it was told to stop, or when something has been going on for so long that too much is not copied
 *   yet: then the next turn goes on
 */
export async function moveAside(context: Context, months: readonly Month[]): Promise<boolean> {
  await prepare(context, months)
  while (!context.stop?.aborted) {
    if (await copyPortion(context, months)) continue
    if ((await leftOf(context, months)) > REST) return false
    await putInPlace(context, months)
    return true
  }
  return false
}

/** Held by who begins to move events, and shared by transactions that change some. */
const CHANGE_LOCK = 72707371

const unfinishedText =
  "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname ~ '^events_making_' ORDER BY 1"

/** Whether a move has begun and is not over. While the answer is no, none begins before the transaction in progress ends. */
export async function isMoving({ query }: Context): Promise<boolean> {
  await query('events-change', 'SELECT pg_advisory_xact_lock_shared($1)', [CHANGE_LOCK])
  return (await query('events-unfinished', unfinishedText, [])).length > 0
}

/** Drops what a move that was cut off has left, when there is nothing to move any more. */
export async function forgetUnfinished({ db }: Context): Promise<void> {
  for (const { name } of await sql<{ name: string }>(db, unfinishedText))
    await db.$executeRawUnsafe(`DROP TABLE ${name}`)
}

/** Tables to fill. Those of another set of months, left by a run that was cut off, are of no use. */
async function prepare(context: Context, months: readonly Month[]): Promise<void> {
  const wanted = [OTHER, ...months.map(({ name }) => name)].map(making).sort()
  const found = await sql<{ name: string }>(context.db, unfinishedText)
  if (found.map(({ name }) => name).join() === wanted.join()) return
  await transaction(context, async ({ db }) => {
    await db.$executeRawUnsafe(`SELECT pg_advisory_xact_lock(${CHANGE_LOCK})`)
    for (const { name } of found) await db.$executeRawUnsafe(`DROP TABLE ${name}`)
    for (const table of wanted) await db.$executeRawUnsafe(`CREATE TABLE ${table} (LIKE events INCLUDING ALL)`)
    // So that nobody has to look through the table when it gets its place.
    for (const { name, startsAt, endsAt } of months)
      await db.$executeRawUnsafe(
        `ALTER TABLE ${making(name)} ADD CONSTRAINT in_month CHECK (created_at >= ${startsAt} AND created_at < ${endsAt})`,
      )
  })
}

const tablesOf = (months: readonly Month[]): string[] => [OTHER, ...months.map(({ name }) => name)].map(making)

/** The first place that is not copied yet. */
const copiedTo = (months: readonly Month[]): string =>
  `coalesce(greatest(${tablesOf(months).map((table) => `(SELECT max(place) FROM ${table})`)}) + 1, ${Number.MIN_SAFE_INTEGER})`

/** Where a row goes: the months one after the other, then the rest. */
function copyTexts(months: readonly Month[], range: string): string[] {
  const within = ({ startsAt, endsAt }: Month): string => `(created_at >= ${startsAt} AND created_at < ${endsAt})`
  const into = (table: string, where: string): string =>
    `INSERT INTO ${making(table)} SELECT * FROM ${OTHER} WHERE ${range} AND ${where}`
  return [
    ...months.map((month) => into(month.name, within(month))),
    into(OTHER, `NOT (${months.map(within).join(' OR ')})`),
  ]
}

/** @returns false when everything that is certain to be there has been copied */
async function copyPortion(context: Context, months: readonly Month[]): Promise<boolean> {
  return transaction(context, async ({ db }) => {
    const [range] = await sql<{ from: bigint; to: bigint | null }>(
      db,
      `SELECT first AS from, (SELECT max(place) + 1 FROM (
         SELECT place FROM ${OTHER} WHERE place >= first AND place < event_horizon() ORDER BY place LIMIT ${PORTION}) p) AS to
       FROM (SELECT ${copiedTo(months)} AS first) f`,
    )
    if (range?.to == null) return false
    for (const text of copyTexts(months, `place >= ${range.from} AND place < ${range.to}`))
      await db.$executeRawUnsafe(text)
    return true
  })
}

async function leftOf(context: Context, months: readonly Month[]): Promise<number> {
  const text = `SELECT 1 FROM ${OTHER} WHERE place >= ${copiedTo(months)} LIMIT ${REST + 1}`
  return (await sql(context.db, text)).length
}

/** In one short transaction: the rest, and the new tables instead of the old one. */
async function putInPlace(context: Context, months: readonly Month[]): Promise<void> {
  await transaction(context, async ({ db }) => {
    const run = (text: string) => db.$executeRawUnsafe(text)
    await run(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT}`)
    await run('LOCK TABLE events IN ACCESS EXCLUSIVE MODE')
    const [rest] = await sql<{ from: bigint }>(db, `SELECT ${copiedTo(months)} AS from`)
    for (const text of copyTexts(months, `place >= ${rest!.from}`)) await run(text)
    await run(`ALTER TABLE events DETACH PARTITION ${OTHER}`)
    await run(`DROP TABLE ${OTHER}`)
    for (const { name, startsAt, endsAt } of months) {
      await run(`ALTER TABLE ${making(name)} RENAME TO ${name}`)
      await run(`ALTER TABLE events ATTACH PARTITION ${name} FOR VALUES FROM (${startsAt}) TO (${endsAt})`)
      await run(`ALTER TABLE ${name} DROP CONSTRAINT in_month`)
    }
    await run(`ALTER TABLE ${making(OTHER)} RENAME TO ${OTHER}`)
    await run(`ALTER TABLE events ATTACH PARTITION ${OTHER} DEFAULT`)
  })
}
