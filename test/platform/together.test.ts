/** Questions that share a statement: each asker gets its own answer, and none that is older than its question. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { openDatabase, type Tools } from '../../src/platform/database.js'
import { batchText, inBatches, type Question, together } from '../../src/platform/together.js'
import { createTestDatabase } from '../setup/database.js'

let tools: Tools
let drop: () => Promise<void>
let sent: string[]

beforeAll(async () => {
  const database = await createTestDatabase()
  tools = openDatabase(database.url)
  drop = database.drop
  await tools.pool.query('CREATE TABLE words (id text PRIMARY KEY, word text)')
})
afterAll(async () => {
  await tools.close()
  await drop()
})
beforeEach(() => {
  sent = []
})

/** Holds the lock that statements wait for, and answers what lets it go when one of them waits. */
async function hold(): Promise<{ waitedFor(): Promise<void>; letGo(): Promise<void> }> {
  const holder = await tools.pool.connect()
  await holder.query('SELECT pg_advisory_lock(1)')
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`
  return {
    async waitedFor() {
      while ((await holder.query(waiting)).rowCount === 0) await new Promise((done) => setTimeout(done, 5))
    },
    async letGo() {
      await holder.query('SELECT pg_advisory_unlock(1)')
      holder.release()
    },
  }
}

let names = 0
const asker = (question: Omit<Question, 'name'>) =>
  together({ name: `test-${++names}`, ...question }, (name, text, values) => {
    sent.push(name)
    return tools.query(name, text, values)
  })

test('many askers, few statements: each gets its own rows, in order, or none', async () => {
  const ask = asker({
    types: ['bigint', 'text'],
    text: 'SELECT n, $2 AS word FROM generate_series(1, $1) AS n ORDER BY n DESC',
  })
  const answers = await Promise.all(Array.from({ length: 250 }, (_, at) => ask([at % 4, `w${at}`])))
  for (const [at, rows] of answers.entries()) {
    const expected = Array.from({ length: at % 4 }, (_, n) => ({ n: (at % 4) - n, word: `w${at}` }))
    expect(rows).toEqual(expected)
  }
  expect(sent).toHaveLength(3)
})

test('an answer is never older than its question: who asks while a statement is under way gets the next one', async () => {
  const ask = asker({
    types: ['text'],
    shared: true,
    text: 'SELECT w.word, pg_advisory_xact_lock(1) FROM words w WHERE w.id = $1',
  })
  for (let round = 0; round < 5; round++) {
    await tools.pool.query(`INSERT INTO words VALUES ('a', 'before') ON CONFLICT (id) DO UPDATE SET word = 'before'`)
    const lock = await hold()
    const early = ask(['a'])
    await lock.waitedFor()
    await tools.pool.query(`UPDATE words SET word = 'after'`)
    const late = ask(['a'])
    await lock.letGo()
    expect((await late)[0]?.['word']).toBe('after')
    expect((await early)[0]?.['word']).toBe('before')
  }
})

test('a statement that takes long holds nobody up who asks about something else, even if nobody asks after them', async () => {
  const text = `SELECT CASE WHEN $1 = 'slow' THEN pg_advisory_xact_lock(1) END, $1 AS word`
  const ask = asker({ types: ['text'], text })
  const lock = await hold()
  const slow = ask(['slow'])
  await lock.waitedFor()
  expect(await ask(['quick'])).toMatchObject([{ word: 'quick' }])
  await lock.letGo()
  expect(await slow).toMatchObject([{ word: 'slow' }])
})

test('what the database refuses to one asker is not refused to the others', async () => {
  const ask = asker({ types: ['text'], text: 'SELECT $1::int AS number' })
  const answers = await Promise.allSettled([ask(['1']), ask(['no number']), ask(['3'])])
  expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : 'refused'))).toEqual([
    [{ number: 1 }],
    'refused',
    [{ number: 3 }],
  ])
})

test('shared: the same values at the same moment are one question; without it each gets rows of its own', async () => {
  for (const shared of [true, false]) {
    const ask = asker({ types: ['text'], shared, text: 'SELECT $1 AS word' })
    const [one, other, third] = await Promise.all([ask(['x']), ask(['x']), ask(['y'])])
    expect(one === other).toBe(shared)
    expect([one, other, third]).toEqual([[{ word: 'x' }], [{ word: 'x' }], [{ word: 'y' }]])
    // A later asker asks anew.
    expect(await ask(['x'])).not.toBe(one)
  }
})

test('null is a value, and types stay what they are', async () => {
  const ask = asker({
    types: ['text', 'boolean', 'bigint'],
    text: 'SELECT $1 IS NULL AS "isNull", NOT $2 AS "not", $3 + 1 AS "more"',
  })
  const answers = await Promise.all([ask([null, true, 9_007_199_254_740_000]), ask(['', false, 1])])
  expect(answers).toEqual([
    [{ isNull: true, not: false, more: 9_007_199_254_740_001 }],
    [{ isNull: false, not: true, more: 2 }],
  ])
})

test('what a statement may hold only once goes one after the other', async () => {
  const held: string[][] = []
  const write = inBatches<string, number>({
    thingsOf: (word) => [word],
    answer: async (batch) => {
      held.push(batch)
      await tools.query('test-noop', 'SELECT 1 AS one', [])
      return batch.map((_, at) => at)
    },
  })
  await Promise.all(['a', 'b', 'a', 'c', 'a', 'b'].map(write))
  expect(held).toEqual([['a', 'b', 'c'], ['a', 'b'], ['a']])
})

test.each([
  ['who loses a deadlock is asked again', '40P01', ['x', 'y'], [['x', 'y'], ['x'], ['y']]],
  ['alone too', '40P01', ['x'], [['x'], ['x']]],
  ['while the database is away nobody asks again', '57P01', ['x', 'y'], [['x', 'y']]],
  ['nor when the connection breaks', 'EPIPE', ['x', 'y'], [['x', 'y']]],
])('%s', async (_, code, words, expected) => {
  const held: string[][] = []
  const ask = inBatches<string, string>({
    answer: async (batch) => {
      held.push(batch)
      if (held.length === 1) throw Object.assign(new Error('refused'), { code })
      return batch
    },
  })
  const answers = await Promise.allSettled(words.map(ask))
  expect(held).toEqual(expected)
  const away = expected.length === 1
  expect(answers.map(({ status }) => status)).toEqual(words.map(() => (away ? 'rejected' : 'fulfilled')))
})

test('the statement of many is made of the statement of one', () => {
  const text = batchText({ name: 'x', types: ['text', 'bigint'], text: 'SELECT $1, $2, $1' })
  expect(text.replace(/\s+/g, ' ')).toBe(
    'SELECT asked.asker, answer.* FROM unnest((SELECT $1::text[]), (SELECT $2::bigint[])) WITH ORDINALITY AS asked(p1, p2, asker) CROSS JOIN LATERAL (SELECT asked.p1, asked.p2, asked.p1) AS answer',
  )
})

test('what is asked often is planned once: planning would cost more than the answer', async () => {
  const database = await createTestDatabase()
  const tools = openDatabase(database.url, { connections: 1 })
  const question: Question = { name: 'often', types: ['text'], text: 'SELECT id FROM clients WHERE id = $1' }
  for (let n = 0; n < 10; n++) await tools.ask(question, ['x'])
  const text =
    'SELECT generic_plans::int AS generic, custom_plans::int AS custom FROM pg_prepared_statements WHERE name = $1'
  expect(await tools.query('plans', text, ['often'])).toEqual([{ generic: 5, custom: 5 }])
  await tools.close()
  await database.drop()
})
