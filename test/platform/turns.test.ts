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

/** @returns how many rounds of the event loop ten of them took to come behind their statement */
async function roundsOf(step: () => Promise<unknown>): Promise<number> {
  const behind = async (): Promise<number> => {
    await step()
    return round
  }
  return new Set(await Promise.all(Array.from({ length: 10 }, behind))).size
}

const answered = Promise.resolve()

test('patient work goes on in a round of its own, other work at once', async () => {
  expect(await roundsOf(() => inTurn(answered))).toBe(1)
  expect(await roundsOf(() => patiently(() => inTurn(answered)))).toBe(10)
})

test.each<[string, () => Promise<unknown>]>([
  ['statements', () => app.gatehouse.tools.query('one', 'SELECT 1', [])],
  ['what many ask', () => app.gatehouse.tools.ask({ name: 'two', types: ['text'], text: 'SELECT $1 AS word' }, ['x'])],
])('so after %s', async (_, statement) => {
  expect(await roundsOf(() => patiently(statement))).toBe(10)
})

test('so after the statements of a transaction', async () => {
  const seen = new Set<number>()
  const change = () =>
    transaction(systemContext(app.gatehouse), async ({ query }) => {
      await query('one', 'SELECT 1', [])
      seen.add(round)
    })
  await Promise.all(Array.from({ length: 10 }, () => patiently(change)))
  expect(seen.size).toBe(10)
})
