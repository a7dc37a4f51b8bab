import { expect, test } from '@jest/globals'
import { runOutageScenario } from '../setup/outage-scenario.js'

test('while the database is killed, stopped or frozen, errors are 503 with Retry-After; no acknowledged write is lost, all webhooks are delivered, and no process exits', async () => {
  const result = await runOutageScenario(['killed', 'crashed', { stopped: 2000 }, { frozen: 1000 }], 20)
  const { responses, longestResponseMs: _, acknowledged, statuses, ...rest } = result
  expect(rest).toEqual({
    withoutRetryAfter: 0,
    unanswered: [],
    lost: [],
    withoutEvent: [],
    neverAccepted: [],
    ended: [],
  })
  expect(Object.keys(responses).sort()).toEqual(['200', '201', '503'])
  expect(acknowledged).toBeGreaterThanOrEqual(100)
  expect(Object.keys(statuses)).toEqual(['delivered'])
}, 180_000)
