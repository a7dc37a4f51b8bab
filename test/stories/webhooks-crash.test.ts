import { expect, test } from '@jest/globals'
import { createTestDatabase } from '../setup/database.js'
import { tellTale } from '../setup/webhook-tale.js'

test('kill -9 of servers and workers while a receiver refuses 30 %: every acknowledged change has its event, every event arrives, none stays delivering, duplicates carry the same id', async () => {
  const database = await createTestDatabase()
  try {
    const result = await tellTale(database.url, { events: 160, kills: 4, patience: 60_000 })
    expect(result).toMatchObject({ withoutEvent: [], neverAccepted: [], different: 0, kills: 4 })
    expect(result.acknowledged).toBeGreaterThanOrEqual(160)
    expect(Object.keys(result.statuses)).toEqual(['delivered'])
  } finally {
    await database.drop()
  }
}, 180_000)
