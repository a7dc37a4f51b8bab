/** The trail by months: made ahead, dropped when past the retention, and nothing is lost when nobody made a month. */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { firstIdOf } from '../../src/kernel/ids.js'
import { DAY } from '../../src/kernel/time.js'
import { systemContext } from '../../src/platform/jobs.js'
import { migrate } from '../../src/platform/migrate.js'
import { packageRoot } from '../../src/platform/package-root.js'
import { countEvents } from '../../src/resources/events/counting.js'
import { keepEventPartitions } from '../../src/resources/events/partitions.js'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { createTestDatabase } from '../setup/database.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let tenant: Tenant
beforeAll(async () => {
  app = await startApp({ env: { EVENT_RETENTION_DAYS: '60' } })
  tenant = await makeTenant(app)
})
afterAll(() => app.close())

const rowsOf = async (text: string, values: unknown[] = []): Promise<Loose[]> =>
  (await app.gatehouse.tools.pool.query(text, values)).rows
const months = async (): Promise<string[]> =>
  (
    await rowsOf(
      "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'events'::regclass ORDER BY 1",
    )
  ).map(({ name }) => name)
const nameOf = (at: number) => `events_${new Date(at).toISOString().slice(0, 7).replace('-', '_')}`
const monthsLater = (count: number): number => {
  const now = new Date(app.clock.now())
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + count, 15)
}
const keep = (at = app.clock.now()) => keepEventPartitions({ ...systemContext(app.gatehouse), now: () => at })
const insert = (at: number, table = 'events') =>
  rowsOf(
    `INSERT INTO ${table} (id, type, created_at, account_id, auth_type, actor, target, context)
     VALUES ($1, 'account.updated', $2, $3, 'system', '{"type":"system"}', '{"type":"account","id":"x"}', '{}')`,
    [firstIdOf('evt', at), at, tenant.accountId],
  )
const placeOf = async (at: number) =>
  (await rowsOf('SELECT tableoid::regclass::text AS name FROM events WHERE id = $1', [firstIdOf('evt', at)]))[0]?.name
const listed = async (at: number): Promise<boolean> => {
  const { status, text } = await tenant.owner.get(`${tenant.A}/events/${firstIdOf('evt', at)}`)
  if (status !== 200 && status !== 404) throw new Error(text)
  return status === 200
}

test('this month and the next three have their table, before any job ran', async () => {
  expect(await months()).toEqual([...[0, 1, 2, 3].map((count) => nameOf(monthsLater(count))), 'events_other'])
  const [event] = must(await tenant.owner.get(`${tenant.A}/events?limit=1`), 200).data
  const [{ name }] = await rowsOf('SELECT tableoid::regclass::text AS name FROM events WHERE id = $1', [event.id])
  expect(name).toBe(nameOf(event.created_at))
})

test('an event of a month that nobody made is kept aside and moves into its month when that is made', async () => {
  const far = monthsLater(6)
  await insert(far)
  expect(await placeOf(far)).toBe('events_other')
  expect(await listed(far)).toBe(true)
  const [before] = await rowsOf('SELECT place FROM events WHERE id = $1', [firstIdOf('evt', far)])
  app.clock.advance(monthsLater(4) - app.clock.now())
  await keep()
  await keep()
  expect(await placeOf(far)).toBe(nameOf(far))
  expect(await listed(far)).toBe(true)
  expect(await rowsOf('SELECT place FROM events WHERE id = $1', [firstIdOf('evt', far)])).toEqual([before])
})

describe('a great deal that lies aside', () => {
  const MANY = 23_000
  /** Some months after those that there are, in the middle of it. */
  let far: number
  const many = (from: number, count: number) =>
    rowsOf(
      `INSERT INTO events (id, type, created_at, account_id, auth_type, actor, target, context, place)
       SELECT 'evt_many_' || $1 || '_' || n, 'account.updated', $1::bigint + n, $2, 'system', '{"type":"system"}',
         '{"type":"account","id":"x"}', '{}', -1000000 + n / 3
       FROM generate_series(1, $3::int) n`,
      [from, tenant.accountId, count],
    )
  const where = () =>
    rowsOf(
      `SELECT tableoid::regclass::text AS name, count(*)::int AS count, count(DISTINCT id)::int AS ids,
         sum(place)::text AS places FROM events WHERE created_at >= $1 GROUP BY 1 ORDER BY 1`,
      [far],
    )
  /** As if the process were told to stop after some portions. */
  const portions = (count: number) => {
    let looks = 0
    const stop = {
      get aborted() {
        return looks++ >= count
      },
    } as AbortSignal
    return keepEventPartitions({ ...systemContext(app.gatehouse), now: () => far, stop })
  }

  beforeAll(async () => {
    far = monthsLater(9)
    await many(far, MANY)
    // Further than any month that is made.
    await many(Date.UTC(new Date(far).getUTCFullYear() + 2, 0), 10)
  })

  test('moves in portions; a run that is cut off leaves it where everybody finds it, and the next one goes on', async () => {
    const before = await where()
    expect(before.map(({ name, count }) => [name, count])).toEqual([['events_other', MANY + 10]])
    await portions(3)
    const making = `events_making_${nameOf(far).slice(7)}`
    const copied = async () => (await rowsOf(`SELECT count(*)::int AS count FROM ${making}`))[0]!.count
    const part = await copied()
    expect(part).toBeGreaterThan(0)
    expect(part).toBeLessThan(MANY)
    expect(await where()).toEqual(before)
    await portions(2)
    expect(await copied()).toBeGreaterThan(part)
    expect(await where()).toEqual(before)
  })

  test('while it moves, others write: nothing gets lost, nothing comes twice', async () => {
    const [before] = await where()
    let done = false
    let written = 0
    const writer = async (): Promise<void> => {
      while (!done) {
        await insert(far + 1_000_000 + written++)
      }
    }
    const writers = [writer(), writer()]
    await keep(far)
    done = true
    await Promise.all(writers)
    const after = await where()
    expect(after.map(({ name }) => name)).toEqual([nameOf(far), 'events_other'])
    const sum = (key: string) => after.reduce((total, row) => total + Number(row[key]), 0)
    expect([sum('count'), sum('ids')]).toEqual([Number(before!.count) + written, Number(before!.ids) + written])
    expect(after[1]!.count).toBe(10)
    expect(await months()).toEqual(
      expect.arrayContaining(
        [0, 1, 2, 3].map((ahead) =>
          nameOf(Date.UTC(new Date(far).getUTCFullYear(), new Date(far).getUTCMonth() + ahead)),
        ),
      ),
    )
    expect(await rowsOf("SELECT 1 FROM pg_class WHERE relkind = 'r' AND relname ~ '^events_making'")).toEqual([])
    const [constraint] = await rowsOf("SELECT count(*)::int AS count FROM pg_constraint WHERE conname = 'in_month'")
    expect(constraint!.count).toBe(0)
  })

  test('whoever reads for long is not waited for with everybody else in line: the next turn does it', async () => {
    const next = Date.UTC(new Date(far).getUTCFullYear(), new Date(far).getUTCMonth() + 5, 15)
    await many(next, 10)
    const reader = new pg.Client(app.databaseUrl)
    await reader.connect()
    await reader.query('BEGIN; SELECT 1 FROM events LIMIT 1')
    await expect(keep(next)).rejects.toThrow()
    const [lost] = await rowsOf('SELECT count(*)::int AS count FROM events WHERE id LIKE $1', [`evt_many_${next}%`])
    expect(lost!.count).toBe(10)
    await reader.end()
    await keep(next)
    expect((await where()).map(({ name }) => name)).toContain(nameOf(next))
  })
})

test('a month goes when its last day is past the retention, with its counts; a day before, it stays', async () => {
  const month = Date.UTC(new Date(app.clock.now()).getUTCFullYear(), new Date(app.clock.now()).getUTCMonth())
  const [old, next, ancient] = [month + DAY, monthsLater(1), monthsLater(-70)]
  for (const at of [old, next, ancient]) await insert(at)
  expect(await placeOf(ancient)).toBe('events_other')
  const count = async () =>
    must(
      await tenant.owner.get(`${tenant.A}/events/aggregate?event_types=account.updated&interval=day`),
      200,
    ).buckets.map(({ ts }: Loose) => ts)
  const days = (list: number[]) => list.map((at) => at - (at % DAY))
  await countEvents(systemContext(app.gatehouse))
  expect(await count()).toEqual(expect.arrayContaining(days([ancient, old, next])))

  const end = Date.UTC(new Date(old).getUTCFullYear(), new Date(old).getUTCMonth() + 1)
  await keep(end + 60 * DAY - 1)
  expect(await listed(old)).toBe(true)
  await keep(end + 60 * DAY)
  expect([await listed(old), await listed(next), await listed(ancient)]).toEqual([false, true, false])
  expect(await months()).not.toContain(nameOf(old))
  expect(await count()).toEqual(expect.arrayContaining(days([next])))
  expect((await count()).filter((at: number) => at < end)).toEqual([])
  expect(await rowsOf('SELECT 1 FROM event_hours WHERE starts_at < $1', [end])).toEqual([])
  expect(await rowsOf('SELECT 1 FROM event_counts WHERE starts_at < $1', [end])).toEqual([])
})

test('what lies aside and is too old leaves also when no month does', async () => {
  const ancient = monthsLater(-60)
  await insert(ancient)
  await keep()
  expect(await listed(ancient)).toBe(false)
})

test('the migration takes the events that are there along, each into its month, in their order', async () => {
  const database = await createTestDatabase({ empty: true })
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-migrations-'))
  const client = new pg.Client(database.url)
  try {
    const all = join(packageRoot, 'prisma', 'migrations')
    const names = readdirSync(all).sort()
    const before = names.slice(
      0,
      names.findIndex((name) => name.endsWith('_events_by_month')),
    )
    for (const name of before) cpSync(join(all, name), join(folder, name), { recursive: true })
    await migrate(database.url, { folder })
    await client.connect()
    const moments = [Date.UTC(2026, 7, 31, 23, 59, 59, 999), Date.UTC(2026, 8, 1), Date.UTC(2026, 10, 2)]
    for (const at of moments)
      await client.query(
        `INSERT INTO events (id, type, created_at, account_id, auth_type, actor, target, context)
         VALUES ($1, 'account.updated', $2, 'acc_x', 'system', '{}', '{}', '{}')`,
        [firstIdOf('evt', at), at],
      )
    await migrate(database.url)
    const { rows } = await client.query(
      'SELECT tableoid::regclass::text AS name, created_at AS at, place FROM events ORDER BY place',
    )
    expect(rows.map(({ name, at }) => [name, Number(at)])).toEqual([
      ['events_2026_08', moments[0]],
      ['events_2026_09', moments[1]],
      ['events_2026_11', moments[2]],
    ])
    expect(rows.map(({ place }) => Number(place))).toEqual([-3, -2, -1])
    expect((await client.query('SELECT counted_to FROM event_progress')).rows).toEqual([{ counted_to: -3 }])
  } finally {
    await client.end()
    await database.drop()
    rmSync(folder, { recursive: true })
  }
})
