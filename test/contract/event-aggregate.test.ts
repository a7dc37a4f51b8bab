/**
 * Counts of events (docs/contract.md#event-endpoints): the shape of the response, and that the precomputed counts plus
 * the counts of newer events equal the number of events.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import pg from 'pg'
import { lowestIdAt } from '../../src/kernel/ids.js'
import { DAY, HOUR } from '../../src/kernel/time.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { advanceGenerationAfterRestore, countEvents } from '../../src/resources/events/event-counts.js'
import { maintainEventPartitions } from '../../src/resources/events/event-partitions.js'
import { createAccount, expectStatus } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app.close())

/** A Monday. */
const MONDAY = Date.UTC(2026, 10, 2)
const dimensions = ['type', 'auth_type', 'issuer_id', 'user_id', 'client_id', 'org_id', 'agent_id'] as const
type Dimension = (typeof dimensions)[number]
type Row = { at: number } & Record<Dimension, string | null>

const values: Record<Dimension, (string | null)[]> = {
  type: ['user.created', 'user.updated', 'session.created'],
  auth_type: ['api_key', 'user'],
  issuer_id: ['iss_a', 'iss_b', null],
  user_id: ['usr_a', 'usr_b', 'usr_c', null, null],
  client_id: ['cli_a', 'https://client.example/metadata.json', null],
  org_id: ['org_a', null],
  agent_id: ['agt_a', null],
}

let serial = 0
const newRow = (accountId: string, row: Row): unknown[] => {
  const id = lowestIdAt('evt', row.at).slice(0, -10) + (serial++).toString(8).padStart(10, '0')
  return [id, accountId, row.at, ...dimensions.map((name) => row[name])]
}
const insertText = `INSERT INTO events (id, account_id, created_at, ${dimensions.join(', ')}, actor, target, context)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '{}', '{}', '{}')`

/** Creates an account without events, and returns its owner and a function that requests its event counts. */
async function emptyAccount(): Promise<{
  owner: ApiClient
  accountId: string
  aggregate: (query?: AnyJson) => Promise<AnyJson>
}> {
  const { owner, accountId } = await createAccount(app)
  await app.gatehouse.database.pool.query('DELETE FROM events WHERE account_id = $1', [accountId])
  const aggregate = async (query: AnyJson = {}) => {
    const search = new URLSearchParams(
      Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])) as [
        string,
        string,
      ][],
    )
    return expectStatus(await owner.get(`/v1/accounts/${accountId}/events/aggregate?${search}`), 200)
  }
  return { owner, accountId, aggregate }
}
const insert = async (accountId: string, rows: Row[], client: pg.Pool | pg.Client = app.gatehouse.database.pool) => {
  for (const row of rows) await client.query(insertText, newRow(accountId, row))
}
const count = () => countEvents(systemContext(app.gatehouse))

const MONTH = Date.UTC(2026, 10, 1)
/**
 * Runs the job that drops the events before MONTH.
 * @param countingMeanwhile whether the counting job runs before each partition is dropped
 */
async function retain(countingMeanwhile: boolean): Promise<void> {
  const context = systemContext(app.gatehouse)
  await context.db.$executeRawUnsafe('SELECT create_event_partition($1::bigint)', Date.UTC(2026, 9, 1))
  const execute = async (text: string, ...given: unknown[]) => {
    if (countingMeanwhile && text.startsWith('DROP')) await count()
    return context.db.$executeRawUnsafe(text, ...given)
  }
  const prisma = new Proxy(context.database.prisma, {
    get: (own, name) => (name === '$executeRawUnsafe' ? execute : Reflect.get(own, name)),
  })
  const tools = { ...context.database, prisma }
  const now = () => MONTH + app.gatehouse.config.eventRetentionDays * DAY
  await maintainEventPartitions({ ...context, db: prisma, database: tools, now })
}

const row = (at: number, more: Partial<Row> = {}): Row => ({
  at,
  type: 'user.created',
  auth_type: 'api_key',
  issuer_id: null,
  user_id: null,
  client_id: null,
  org_id: null,
  agent_id: null,
  ...more,
})

describe('the response', () => {
  test('without events: one bucket without rows, or no bucket with an interval', async () => {
    const { aggregate } = await emptyAccount()
    expect(await aggregate()).toEqual({ interval: null, group_by: null, buckets: [{ rows: [] }] })
    expect(await aggregate({ group_by: 'type', count_unique: 'user_id' })).toEqual({
      interval: null,
      group_by: 'type',
      buckets: [{ rows: [] }],
    })
    expect(await aggregate({ interval: 'day' })).toEqual({ interval: 'day', group_by: null, buckets: [] })
  })

  test.each([false, true])('key, ts and uniques are present when requested (precomputed: %s)', async (counted) => {
    const { accountId, aggregate } = await emptyAccount()
    await insert(accountId, [
      row(MONDAY - 1, { user_id: 'usr_a' }),
      row(MONDAY, { user_id: 'usr_a', type: 'user.updated' }),
      row(MONDAY + HOUR, { user_id: 'usr_b', issuer_id: 'iss_a' }),
      row(MONDAY + HOUR + 1, { user_id: null }),
    ])
    if (counted) await count()
    expect(await aggregate()).toEqual({ interval: null, group_by: null, buckets: [{ rows: [{ count: 4 }] }] })
    expect(await aggregate({ group_by: 'type' })).toEqual({
      interval: null,
      group_by: 'type',
      buckets: [
        {
          rows: [
            { key: 'user.created', count: 3 },
            { key: 'user.updated', count: 1 },
          ],
        },
      ],
    })
    expect(await aggregate({ group_by: 'user_id' })).toEqual({
      interval: null,
      group_by: 'user_id',
      buckets: [
        {
          rows: [
            { key: 'usr_a', count: 2 },
            { key: 'usr_b', count: 1 },
          ],
        },
      ],
    })
    // A row without a key is omitted. A bucket without rows is omitted as well.
    expect(await aggregate({ group_by: 'issuer_id', interval: 'hour' })).toEqual({
      interval: 'hour',
      group_by: 'issuer_id',
      buckets: [{ ts: MONDAY + HOUR, rows: [{ key: 'iss_a', count: 1 }] }],
    })
    expect((await aggregate({ interval: 'hour' })).buckets).toEqual([
      { ts: MONDAY - HOUR, rows: [{ count: 1 }] },
      { ts: MONDAY, rows: [{ count: 1 }] },
      { ts: MONDAY + HOUR, rows: [{ count: 2 }] },
    ])
    expect((await aggregate({ interval: 'week', count_unique: 'user_id,issuer_id' })).buckets).toEqual([
      { ts: MONDAY - 7 * DAY, rows: [{ count: 1, uniques: { user_id: 1, issuer_id: 0 } }] },
      { ts: MONDAY, rows: [{ count: 3, uniques: { user_id: 2, issuer_id: 1 } }] },
    ])
    expect((await aggregate({ interval: 'day', event_types: 'user.updated,session.created' })).buckets).toEqual([
      { ts: MONDAY, rows: [{ count: 1 }] },
    ])
    expect((await aggregate({ after: MONDAY, before: MONDAY + HOUR })).buckets).toEqual([{ rows: [{ count: 1 }] }])
  })

  test.each([
    ['interval', 'month'],
    ['group_by', 'session_id'],
    ['count_unique', 'type,nothing'],
    ['event_types', 'user.created,user.eaten'],
    ['event_types', ''],
    ['after', 'yesterday'],
    ['before', '1e3'],
    ['limit', '5'],
    ['cursor', 'evt_00000000000000000000000000'],
  ])('%s=%s is 400', async (name, value) => {
    const { owner, accountId } = await emptyAccount()
    const response = await owner.get(`/v1/accounts/${accountId}/events/aggregate?${name}=${value}`)
    expect({ status: response.status, error: response.body.error }).toEqual({ status: 400, error: 'invalid_request' })
    expect(response.body.details[0].field).toContain(name)
  })

  test('an empty count_unique counts none; times out of range find nothing', async () => {
    const { accountId, aggregate } = await emptyAccount()
    await insert(accountId, [row(MONDAY)])
    expect((await aggregate({ count_unique: '' })).buckets).toEqual([{ rows: [{ count: 1 }] }])
    const edge = Number.MAX_SAFE_INTEGER
    for (const query of [{ after: edge }, { before: -edge }, { after: MONDAY + 1, before: MONDAY }])
      expect((await aggregate(query)).buckets).toEqual([{ rows: [] }])
    expect((await aggregate({ after: -edge, before: edge })).buckets).toEqual([{ rows: [{ count: 1 }] }])
  })

  test.each([false, true])(
    'filters with an empty value find nothing, not even rows without a value (precomputed: %s)',
    async (counted) => {
      const { accountId, aggregate } = await emptyAccount()
      await insert(accountId, [row(MONDAY)])
      if (counted) await count()
      for (const name of ['issuer_id', 'user_id', 'client_id'])
        expect((await aggregate({ [name]: '' })).buckets).toEqual([{ rows: [] }])
    },
  )

  test('GraphQL returns the same counts', async () => {
    const { owner, accountId } = await emptyAccount()
    await insert(accountId, [row(MONDAY, { user_id: 'usr_a' })])
    const query = `query ($a: ID!) { eventAggregate(accountId: $a, groupBy: type, countUnique: [user_id]) {
      interval groupBy buckets { ts rows { key count uniques } } } }`
    const { body } = await owner.graphql(query, { a: accountId })
    expect(body.data.eventAggregate).toEqual({
      interval: null,
      groupBy: 'type',
      buckets: [{ ts: null, rows: [{ key: 'user.created', count: 1, uniques: { user_id: 1 } }] }],
    })
  })
})

/** Computes the expected response to a query from the events. */
function counted(rows: Row[], query: AnyJson): AnyJson {
  const { interval = null, group_by = null, count_unique = '', after, before, event_types } = query
  const unique = count_unique === '' ? [] : (count_unique.split(',') as Dimension[])
  const beginning = (at: number) => {
    if (interval === 'hour') return at - (at % HOUR)
    const day = at - (at % DAY)
    return interval === 'day' ? day : day - ((new Date(day).getUTCDay() + 6) % 7) * DAY
  }
  const found = rows.filter(
    (one) =>
      (after === undefined || one.at >= after) &&
      (before === undefined || one.at < before) &&
      (event_types === undefined || event_types.split(',').includes(one.type)) &&
      (['issuer_id', 'user_id', 'client_id'] as const).every(
        (name) => query[name] === undefined || one[name] === query[name],
      ) &&
      (group_by === null || one[group_by as Dimension] !== null),
  )
  const groups = new Map<string, Row[]>()
  for (const one of found) {
    const group = JSON.stringify([interval && beginning(one.at), group_by && one[group_by as Dimension]])
    groups.set(group, [...(groups.get(group) ?? []), one])
  }
  const lines = [...groups].map(([key, list]) => {
    const [ts, name] = JSON.parse(key)
    const uniques = Object.fromEntries(
      unique.map((of) => [of, new Set(list.map((one) => one[of]).filter((value) => value !== null)).size]),
    )
    return {
      ts,
      row: { ...(group_by && { key: name }), count: list.length, ...(unique.length > 0 && { uniques }) },
    }
  })
  const inOrder = lines.sort((a, b) => b.row.count - a.row.count || (a.row.key < b.row.key ? -1 : 1))
  const times = [...new Set(inOrder.map(({ ts }) => ts))].sort((a, b) => a - b)
  const buckets = times.map((ts) => ({
    ...(interval && { ts }),
    rows: inOrder.filter((line) => line.ts === ts).map((line) => line.row),
  }))
  return { interval, group_by, buckets: interval === null && buckets.length === 0 ? [{ rows: [] }] : buckets }
}

/** Timestamps at the boundaries of hours, days, weeks and months. */
const moment = fc
  .tuple(
    fc.constantFrom(-800, -25, -24, -1, 0, 1, 2, 23, 24, 25, 167, 168, 169),
    fc.constantFrom(0, 1, HOUR / 2, HOUR - 1),
  )
  .map(([hours, rest]) => MONDAY + hours * HOUR + rest)
const event: fc.Arbitrary<Row> = fc.record({
  at: moment,
  ...(Object.fromEntries(dimensions.map((name) => [name, fc.constantFrom(...values[name])])) as unknown as Record<
    Dimension,
    fc.Arbitrary<string | null>
  >),
})
/** A filter that is usually absent, because a query with many filters matches few events and finds few errors. */
const seldom = (...given: string[]) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(...given) })
const often = <T>(given: fc.Arbitrary<T>) => fc.option(given, { nil: undefined, freq: 3 })
const query = fc.record({
  after: often(moment),
  before: often(moment),
  interval: fc.constantFrom(undefined, 'hour', 'day', 'week'),
  group_by: fc.constantFrom(undefined, undefined, undefined, ...dimensions),
  count_unique: fc
    .subarray([...dimensions], { maxLength: 3 })
    .map((list) => (list.length > 0 ? list.join(',') : undefined)),
  event_types: seldom('user.created', 'user.created,session.created'),
  issuer_id: seldom('iss_a', 'iss_b', 'iss_none', ''),
  user_id: seldom('usr_a', 'usr_b', ''),
  client_id: seldom('cli_a', 'https://client.example/metadata.json', ''),
})
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('write' as const), events: fc.array(event, { maxLength: 20 }) }),
  },
  // `begin` writes events in a transaction, which a later `commit` commits.
  { weight: 2, arbitrary: fc.record({ do: fc.constant('begin' as const), events: fc.array(event, { maxLength: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('commit' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('count' as const) }) },
  // `retain` drops the months before the one of MONDAY; with `meanwhile`, the counting job runs at the same time.
  { weight: 1, arbitrary: fc.record({ do: fc.constant('retain' as const), meanwhile: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('ask' as const), query }) },
)

test('the response equals the count of the events, in any order of writing, committing and counting', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 30 }), async (steps) => {
      const { accountId, aggregate } = await emptyAccount()
      const rows: Row[] = []
      const open: { client: pg.Client; events: Row[] }[] = []
      try {
        for (const one of [...steps, { do: 'ask' as const, query: { interval: 'hour', group_by: 'type' } }]) {
          if (one.do === 'write') {
            await insert(accountId, one.events)
            rows.push(...one.events)
          } else if (one.do === 'begin') {
            const client = new pg.Client(app.databaseUrl)
            await client.connect()
            open.push({ client, events: one.events })
            await client.query('BEGIN')
            await insert(accountId, one.events, client)
          } else if (one.do === 'commit') {
            const oldest = open.shift()
            if (!oldest) continue
            await oldest.client.query('COMMIT')
            await oldest.client.end()
            rows.push(...oldest.events)
          } else if (one.do === 'count') {
            await count()
          } else if (one.do === 'retain') {
            // A partition cannot be dropped while an open transaction uses it.
            if (open.length > 0) continue
            await retain(one.meanwhile)
            rows.splice(0, rows.length, ...rows.filter(({ at }) => at >= MONTH))
          } else {
            expect(await aggregate(one.query)).toEqual(counted(rows, one.query))
          }
        }
      } finally {
        for (const { client } of open) await client.end()
      }
    }),
    { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 60), endOnFailure: true },
  )
}, 120_000)

test('while several processes write and count events, no response counts an event twice or misses one', async () => {
  const { accountId, aggregate } = await emptyAccount()
  let written = 0
  let running = true
  const writer = async () => {
    for (let n = 0; n < 60; n++) {
      await insert(accountId, [row(MONDAY + n * HOUR, { user_id: `usr_${n % 7}` })])
      written += 1
    }
  }
  const counter = async () => {
    while (running) await count()
  }
  const reader = async () => {
    while (running) {
      const before = written
      // While the counters run without a pause, a query can fail with 503. It must never return a wrong count.
      const total = async (query?: AnyJson): Promise<number | undefined> => {
        const response = await aggregate(query).catch((error: Error) => {
          if (!error.message.includes('got 503')) throw error
        })
        return response && (response.buckets[0].rows[0]?.count ?? 0)
      }
      for (const found of [await total(), await total({ count_unique: 'user_id' })]) {
        if (found === undefined) continue
        expect(found).toBeGreaterThanOrEqual(before)
        expect(found).toBeLessThanOrEqual(written + 4)
      }
    }
  }
  const others = [counter(), counter(), reader(), reader()]
  await Promise.all([writer(), writer(), writer(), writer()])
  running = false
  await Promise.all(others)
  expect((await aggregate()).buckets[0].rows[0].count).toBe(240)
})

test('in a cluster with new transaction ids, event positions continue above the stored ones', async () => {
  const { accountId, aggregate } = await emptyAccount()
  const { pool } = app.gatehouse.database
  await insert(accountId, [row(MONDAY)])
  await count()
  // After a restore into another cluster, the stored positions can be far above the transaction ids of that cluster.
  await pool.query('UPDATE events SET commit_position = commit_position + 1000000000')
  await pool.query('UPDATE event_progress SET counted_up_to = counted_up_to + 1000000000')
  await advanceGenerationAfterRestore(systemContext(app.gatehouse))
  await advanceGenerationAfterRestore(systemContext(app.gatehouse))
  await insert(accountId, [row(MONDAY + 1)])
  const { rows } = await pool.query('SELECT generation FROM event_progress')
  expect(rows).toEqual([{ generation: 1 }])
  expect((await aggregate()).buckets).toEqual([{ rows: [{ count: 2 }] }])
  await count()
  expect((await aggregate()).buckets).toEqual([{ rows: [{ count: 2 }] }])
})
