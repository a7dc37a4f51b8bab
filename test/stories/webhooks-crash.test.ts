import { expect, test } from '@jest/globals'
import { createTestDatabase } from '../setup/database.js'
import { runWebhookScenario } from '../setup/webhook-scenario.js'

test('kill -9 of two servers and a worker while a receiver refuses 30 %: every acknowledged change has its event, every event arrives, none stays delivering, duplicates carry the same webhook-id', async () => {
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
