/**
 * Monthly partitions of the audit log: they are created in advance and dropped after the retention. An event without a
 * partition is stored in the default partition.
 */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { lowestIdAt } from '../../src/kernel/ids.js'
import { DAY } from '../../src/kernel/time.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { migrate } from '../../src/platform/postgres/migrate.js'
import { countEvents } from '../../src/resources/events/event-counts.js'
import { maintainEventPartitions } from '../../src/resources/events/event-partitions.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { createTestDatabase } from '../setup/database.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let tenant: Tenant
beforeAll(async () => {
  app = await startApp({ env: { EVENT_RETENTION_DAYS: '60' } })
  tenant = await createTenant(app)
})
afterAll(() => app.close())

const rowsOf = async (text: string, values: unknown[] = []): Promise<AnyJson[]> =>
  (await app.gatehouse.database.pool.query(text, values)).rows
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
const keep = (at = app.clock.now()) => maintainEventPartitions({ ...systemContext(app.gatehouse), now: () => at })
const insert = (at: number, table = 'events') =>
  rowsOf(
    `INSERT INTO ${table} (id, type, created_at, account_id, auth_type, actor, target, context)
     VALUES ($1, 'account.updated', $2, $3, 'system', '{"type":"system"}', '{"type":"account","id":"x"}', '{}')`,
    [lowestIdAt('evt', at), at, tenant.accountId],
  )
const placeOf = async (at: number) =>
  (await rowsOf('SELECT tableoid::regclass::text AS name FROM events WHERE id = $1', [lowestIdAt('evt', at)]))[0]?.name
const listed = async (at: number): Promise<boolean> => {
  const { status, text } = await tenant.owner.get(`${tenant.A}/events/${lowestIdAt('evt', at)}`)
  if (status !== 200 && status !== 404) throw new Error(text)
  return status === 200
}

test('partitions for this month and the next three exist before any job runs', async () => {
  expect(await months()).toEqual([...[0, 1, 2, 3].map((count) => nameOf(monthsLater(count))), 'events_default'])
  const [event] = expectStatus(await tenant.owner.get(`${tenant.A}/events?limit=1`), 200).data
  const [{ name }] = await rowsOf('SELECT tableoid::regclass::text AS name FROM events WHERE id = $1', [event.id])
  expect(name).toBe(nameOf(event.created_at))
})

test('an event without a partition goes to the default partition and moves when its month is created', async () => {
  const far = monthsLater(6)
  await insert(far)
  expect(await placeOf(far)).toBe('events_default')
  expect(await listed(far)).toBe(true)
  const [before] = await rowsOf('SELECT commit_position FROM events WHERE id = $1', [lowestIdAt('evt', far)])
  app.clock.advance(monthsLater(4) - app.clock.now())
  await keep()
  await keep()
  expect(await placeOf(far)).toBe(nameOf(far))
  expect(await listed(far)).toBe(true)
  expect(await rowsOf('SELECT commit_position FROM events WHERE id = $1', [lowestIdAt('evt', far)])).toEqual([before])
})

describe('many events in the default partition', () => {
  const MANY = 23_000
  /** A time in a month that is some months after the last partition, in Unix ms. */
  let far: number
  const many = (from: number, count: number) =>
    rowsOf(
      `INSERT INTO events (id, type, created_at, account_id, auth_type, actor, target, context, commit_position)
       SELECT 'evt_many_' || $1 || '_' || n, 'account.updated', $1::bigint + n, $2, 'system', '{"type":"system"}',
         '{"type":"account","id":"x"}', '{}', -1000000 + n / 3
       FROM generate_series(1, $3::int) n`,
      [from, tenant.accountId, count],
    )
  const where = () =>
    rowsOf(
      `SELECT tableoid::regclass::text AS name, count(*)::int AS count, count(DISTINCT id)::int AS ids,
         sum(commit_position)::text AS places FROM events WHERE created_at >= $1 GROUP BY 1 ORDER BY 1`,
      [far],
    )
  /** Runs the job with a stop signal that is aborted after the given number of checks. */
  const runBatches = (count: number) => {
    let looks = 0
    const stop = {
      get aborted() {
        return looks++ >= count
      },
    } as AbortSignal
    return maintainEventPartitions({ ...systemContext(app.gatehouse), now: () => far, stopSignal: stop })
  }

  beforeAll(async () => {
    far = monthsLater(9)
    await many(far, MANY)
    // These events are later than every month for which the job creates a partition.
    await many(Date.UTC(new Date(far).getUTCFullYear() + 2, 0), 10)
  })

  test('moves in batches; an interrupted run leaves the events visible, and the next run continues', async () => {
    const before = await where()
    expect(before.map(({ name, count }) => [name, count])).toEqual([['events_default', MANY + 10]])
    await runBatches(3)
    const making = `events_staging_${nameOf(far).slice(7)}`
    const copied = async () => (await rowsOf(`SELECT count(*)::int AS count FROM ${making}`))[0]!.count
    const part = await copied()
    expect(part).toBeGreaterThan(0)
    expect(part).toBeLessThan(MANY)
    expect(await where()).toEqual(before)
    await runBatches(2)
    expect(await copied()).toBeGreaterThan(part)
    expect(await where()).toEqual(before)
  })

  test('concurrent writes during the move are neither lost nor duplicated', async () => {
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
    expect(after.map(({ name }) => name)).toEqual([nameOf(far), 'events_default'])
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
    expect(await rowsOf("SELECT 1 FROM pg_class WHERE relkind = 'r' AND relname ~ '^events_staging'")).toEqual([])
    const [constraint] = await rowsOf("SELECT count(*)::int AS count FROM pg_constraint WHERE conname = 'in_month'")
    expect(constraint!.count).toBe(0)
  })

  test('a long-running reader does not block the other queries: the next run attaches the partition', async () => {
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

test('a month is dropped with its counts when its last day is past the retention, and not a day earlier', async () => {
  const month = Date.UTC(new Date(app.clock.now()).getUTCFullYear(), new Date(app.clock.now()).getUTCMonth())
  const [old, next, ancient] = [month + DAY, monthsLater(1), monthsLater(-70)]
  for (const at of [old, next, ancient]) await insert(at)
  expect(await placeOf(ancient)).toBe('events_default')
  const count = async () =>
    expectStatus(
      await tenant.owner.get(`${tenant.A}/events/aggregate?event_types=account.updated&interval=day`),
      200,
    ).buckets.map(({ ts }: AnyJson) => ts)
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

test('events in the default partition are removed after the retention, even if no month is dropped', async () => {
  const ancient = monthsLater(-60)
  await insert(ancient)
  await keep()
  expect(await listed(ancient)).toBe(false)
})

test('the migration moves existing events into their months and keeps their order', async () => {
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
        [lowestIdAt('evt', at), at],
      )
    await migrate(database.url)
    const { rows } = await client.query(
      'SELECT tableoid::regclass::text AS name, created_at AS at, commit_position FROM events ORDER BY commit_position',
    )
    expect(rows.map(({ name, at }) => [name, Number(at)])).toEqual([
      ['events_2026_08', moments[0]],
      ['events_2026_09', moments[1]],
      ['events_2026_11', moments[2]],
    ])
    expect(rows.map(({ commit_position }) => Number(commit_position))).toEqual([-3, -2, -1])
    expect((await client.query('SELECT counted_up_to FROM event_progress')).rows).toEqual([{ counted_up_to: -3 }])
  } finally {
    await client.end()
    await database.drop()
    rmSync(folder, { recursive: true })
  }
})
