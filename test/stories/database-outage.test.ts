import { expect, test } from '@jest/globals'
import { runOutageScenario } from '../setup/outage-scenario.js'

test('the database is killed, loses a process, is stopped and frozen under writes, reads and webhooks: 503 with Retry-After and nothing else, no acknowledged write lost, deliveries continue, no process needs a restart', async () => {
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
