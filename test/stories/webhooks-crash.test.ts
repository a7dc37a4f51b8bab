import { expect, test } from '@jest/globals'
import { createTestDatabase } from '../setup/database.js'
import { runWebhookScenario } from '../setup/webhook-scenario.js'

test('although all processes are killed in turn and the receiver refuses 30 percent, each acknowledged change has one event, each event is delivered, and duplicates have the same webhook-id', async () => {
  const database = await createTestDatabase()
  try {
    const result = await runWebhookScenario(database.url, {
      events: 90,
      kills: 3,
      settleTimeout: 60_000,
      skipWaiting: true,
    })
    expect(result).toMatchObject({
      withoutEvent: [],
      withoutChange: 0,
      withoutDelivery: 0,
      neverAccepted: [],
      inconsistent: 0,
      invalidSignatures: 0,
      kills: [1, 1, 1],
    })
    expect(result.acknowledged).toBeGreaterThanOrEqual(90)
    expect(Object.keys(result.statuses)).toEqual(['delivered'])
  } finally {
    await database.drop()
  }
}, 180_000)
