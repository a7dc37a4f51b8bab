/** Query coalescing: each request gets its own rows, which are never older than the request. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type DatabaseHandle, openDatabase } from '../../src/platform/postgres/database.js'
import { type BatchQuery, batchSql, coalesce, inBatches } from '../../src/platform/postgres/query-coalescing.js'
import { createTestDatabase } from '../setup/database.js'
import { waitForLockWaiters } from '../setup/wait-until.js'

let handle: DatabaseHandle
let drop: () => Promise<void>
let sent: string[]

beforeAll(async () => {
  const database = await createTestDatabase()
  handle = openDatabase(database.url)
  drop = database.drop
  await handle.pool.query('CREATE TABLE words (id text PRIMARY KEY, word text)')
})
afterAll(async () => {
  await handle.close()
  await drop()
})
beforeEach(() => {
  sent = []
})

/**
 * Acquires an advisory lock. `waitedFor` resolves when a statement waits for the lock, and `release` releases the lock.
 */
async function holdAdvisoryLock(): Promise<{ waitedFor(): Promise<void>; release(): Promise<void> }> {
  const lockConnection = await handle.pool.connect()
  await lockConnection.query('SELECT pg_advisory_lock(1)')
  return {
    waitedFor: () => waitForLockWaiters(lockConnection, 1),
    async release() {
      await lockConnection.query('SELECT pg_advisory_unlock(1)')
      lockConnection.release()
    },
  }
}

let names = 0
const createBatchQuery = (batchQuery: Omit<BatchQuery, 'name'>) =>
  coalesce({ name: `test-${++names}`, ...batchQuery }, (name, text, values) => {
    sent.push(name)
    return handle.query(name, text, values)
  })

test('250 concurrent requests share three statements, and each request gets its own rows in order', async () => {
  const query = createBatchQuery({
    types: ['bigint', 'text'],
    text: 'SELECT n, $2 AS word FROM generate_series(1, $1) AS n ORDER BY n DESC',
  })
  const results = await Promise.all(Array.from({ length: 250 }, (_, at) => query([at % 4, `w${at}`])))
  for (const [at, rows] of results.entries()) {
    const expected = Array.from({ length: at % 4 }, (_, n) => ({ n: (at % 4) - n, word: `w${at}` }))
    expect(rows).toEqual(expected)
  }
  expect(sent).toHaveLength(3)
})

test('a request does not join a statement that was sent before, so its result is not older than the request', async () => {
  const query = createBatchQuery({
    types: ['text'],
    shared: true,
    text: 'SELECT w.word, pg_advisory_xact_lock(1) FROM words w WHERE w.id = $1',
  })
  for (let round = 0; round < 5; round++) {
    await handle.pool.query(`INSERT INTO words VALUES ('a', 'before') ON CONFLICT (id) DO UPDATE SET word = 'before'`)
    const lock = await holdAdvisoryLock()
    const early = query(['a'])
    await lock.waitedFor()
    await handle.pool.query(`UPDATE words SET word = 'after'`)
    const late = query(['a'])
    await lock.release()
    expect((await late)[0]?.['word']).toBe('after')
    expect((await early)[0]?.['word']).toBe('before')
  }
})

test('a slow statement does not block later requests', async () => {
  const text = `SELECT CASE WHEN $1 = 'slow' THEN pg_advisory_xact_lock(1) END, $1 AS word`
  const query = createBatchQuery({ types: ['text'], text })
  const lock = await holdAdvisoryLock()
  const slow = query(['slow'])
  await lock.waitedFor()
  expect(await query(['quick'])).toMatchObject([{ word: 'quick' }])
  await lock.release()
  expect(await slow).toMatchObject([{ word: 'slow' }])
})

test('requests that do not fit in a slow batch are sent without another request', async () => {
  const sizes: number[] = []
  let finishFirst = () => {}
  const isFinished = new Promise<void>((done) => {
    finishFirst = done
  })
  const query = inBatches<number, number>({
    runBatch: async (batch) => {
      sizes.push(batch.length)
      if (sizes.length === 1) await isFinished
      return batch
    },
  })
  const results = Array.from({ length: 250 }, (_, at) => query(at))
  expect(await results[249]).toBe(249)
  expect(sizes).toEqual([100, 100, 50])
  finishFirst()
  expect(await Promise.all(results)).toHaveLength(250)
})

test('a lock timeout of one request does not fail the other requests of its batch', async () => {
  const query = inBatches<string, string>({
    runBatch: async (batch) => {
      if (batch.includes('locked')) throw Object.assign(new Error('lock timeout'), { code: '55P03' })
      return batch
    },
  })
  const results = await Promise.allSettled(['a', 'locked', 'b'].map(query))
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('an invalid request does not fail the other requests of its batch', async () => {
  const query = createBatchQuery({ types: ['text'], text: 'SELECT $1::int AS number' })
  const results = await Promise.allSettled([query(['1']), query(['no number']), query(['3'])])
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'refused'))).toEqual([
    [{ number: 1 }],
    'refused',
    [{ number: 3 }],
  ])
})

test('with `shared`, concurrent requests with the same values share one result', async () => {
  for (const shared of [true, false]) {
    const query = createBatchQuery({ types: ['text'], shared, text: 'SELECT $1 AS word' })
    const [one, other, third] = await Promise.all([query(['x']), query(['x']), query(['y'])])
    expect(one === other).toBe(shared)
    expect([one, other, third]).toEqual([[{ word: 'x' }], [{ word: 'x' }], [{ word: 'y' }]])
    // A later request runs a new statement.
    expect(await query(['x'])).not.toBe(one)
  }
})

test('null and the types of values are preserved', async () => {
  const query = createBatchQuery({
    types: ['text', 'boolean', 'bigint'],
    text: 'SELECT $1 IS NULL AS "isNull", NOT $2 AS "not", $3 + 1 AS "more"',
  })
  const results = await Promise.all([query([null, true, 9_007_199_254_740_000]), query(['', false, 1])])
  expect(results).toEqual([
    [{ isNull: true, not: false, more: 9_007_199_254_740_001 }],
    [{ isNull: false, not: true, more: 2 }],
  ])
})

test('requests with the same exclusive key are in different batches', async () => {
  const batches: string[][] = []
  const write = inBatches<string, number>({
    exclusiveKeysOf: (word) => [word],
    runBatch: async (batch) => {
      batches.push(batch)
      await handle.query('test-noop', 'SELECT 1 AS one', [])
      return batch.map((_, at) => at)
    },
  })
  await Promise.all(['a', 'b', 'a', 'c', 'a', 'b'].map(write))
  expect(batches).toEqual([['a', 'b', 'c'], ['a', 'b'], ['a']])
})

test.each([
  [
    'requests of a batch that failed with a deadlock are retried one by one',
    '40P01',
    ['x', 'y'],
    [['x', 'y'], ['x'], ['y']],
  ],
  ['a single request that failed with a deadlock is retried', '40P01', ['x'], [['x'], ['x']]],
  ['requests are not retried when the database is unavailable', '57P01', ['x', 'y'], [['x', 'y']]],
  ['requests are not retried when the connection breaks', 'EPIPE', ['x', 'y'], [['x', 'y']]],
])('%s', async (_, code, words, expected) => {
  const batches: string[][] = []
  const query = inBatches<string, string>({
    runBatch: async (batch) => {
      batches.push(batch)
      if (batches.length === 1) throw Object.assign(new Error('refused'), { code })
      return batch
    },
  })
  const results = await Promise.allSettled(words.map(query))
  expect(batches).toEqual(expected)
  const isUnavailable = expected.length === 1
  expect(results.map(({ status }) => status)).toEqual(words.map(() => (isUnavailable ? 'rejected' : 'fulfilled')))
})

test('batchSql returns the statement for many requests', () => {
  const text = batchSql({ name: 'x', types: ['text', 'bigint'], text: 'SELECT $1, $2, $1' })
  expect(text.replace(/\s+/g, ' ')).toBe(
    'SELECT requests.request_number, result.* FROM unnest((SELECT $1::text[]), (SELECT $2::bigint[])) WITH ORDINALITY AS requests(p1, p2, request_number) CROSS JOIN LATERAL (SELECT requests.p1, requests.p2, requests.p1) AS result',
  )
})

test('PostgreSQL uses a generic plan for coalesced queries', async () => {
  const database = await createTestDatabase()
  const handle = openDatabase(database.url, { connections: 1 })
  const batchQuery: BatchQuery = { name: 'often', types: ['text'], text: 'SELECT id FROM clients WHERE id = $1' }
  for (let n = 0; n < 10; n++) await handle.queryCoalesced(batchQuery, ['x'])
  const text =
    'SELECT generic_plans::int AS generic, custom_plans::int AS custom FROM pg_prepared_statements WHERE name = $1'
  expect(await handle.query('plans', text, ['often'])).toEqual([{ generic: 5, custom: 5 }])
  await handle.close()
  await database.drop()
})
