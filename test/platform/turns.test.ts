/** What is done for people gives way: one step of it in each round of the event loop. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { transaction } from '../../src/platform/database.js'
import { systemContext } from '../../src/platform/jobs.js'
import { inTurn, patiently } from '../../src/platform/turns.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let round = 0
let counting: NodeJS.Immediate
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app.close())
beforeEach(() => count())
afterEach(() => clearImmediate(counting))

function count(): void {
  round++
  counting = setImmediate(count)
}

/** @returns how many rounds of the event loop ten of them took to come behind their step */
async function roundsOf(step: () => Promise<unknown>): Promise<number> {
  const behind = async (): Promise<number> => {
    await step()
    return round
  }
  return new Set(await Promise.all(Array.from({ length: 10 }, behind))).size
}

/** While the test runs, the database answers at once: what rounds there are do not come from it. */
function answerAtOnce(): () => void {
  const { pool } = app.gatehouse.tools
  const { query } = pool
  pool.query = (() => Promise.resolve({ rows: [] })) as never
  return () => {
    pool.query = query
  }
}

const statement = () => app.gatehouse.tools.query('one', 'SELECT 1', [])
const ask = () => app.gatehouse.tools.ask({ name: 'two', types: ['text'], text: 'SELECT $1 AS word' }, ['x'])

test.each<[string, () => Promise<unknown>]>([
  ['an answer', () => inTurn(Promise.resolve())],
  ['a statement', statement],
  ['what many ask', ask],
])('behind %s patient work goes on in a round of its own, other work at once', async (_, step) => {
  const restore = answerAtOnce()
  try {
    expect(await roundsOf(step)).toBe(1)
    expect(await roundsOf(() => patiently(step))).toBe(10)
  } finally {
    restore()
  }
})

test('a transaction gives no way, for it holds what others may wait for', async () => {
  const rounds = await patiently(() =>
    transaction(systemContext(app.gatehouse), async ({ query }) => {
      await query('one', 'SELECT 1', [])
      const restore = answerAtOnce()
      try {
        return await roundsOf(statement)
      } finally {
        restore()
      }
    }),
  )
  expect(rounds).toBe(1)
})
