import { expect, test } from '@jest/globals'
import { tellOutages } from '../setup/outage-tale.js'

test('the database is killed, loses a process, is stopped and frozen under writes, reads and webhooks: 503 with Retry-After and nothing else, no acknowledged write lost, deliveries go on, nobody needs a restart', async () => {
  const result = await tellOutages(['killed', 'crashed', { stopped: 2000 }, { frozen: 1000 }], 20)
  const { answers, longest: _, acknowledged, statuses, ...rest } = result
  expect(rest).toEqual({
    withoutRetryAfter: 0,
    unanswered: [],
    lost: [],
    withoutEvent: [],
    neverAccepted: [],
    ended: [],
  })
  expect(Object.keys(answers).sort()).toEqual(['200', '201', '503'])
  expect(acknowledged).toBeGreaterThanOrEqual(100)
  expect(Object.keys(statuses)).toEqual(['delivered'])
}, 180_000)
