import { expect, test } from '@jest/globals'
import { createTestDatabase } from '../setup/database.js'
import { tellTale } from '../setup/webhook-tale.js'

test('kill -9 of servers and workers while a receiver refuses 30 %: every acknowledged change has its event, every event arrives, none stays delivering, duplicates carry the same id', async () => {
  const database = await createTestDatabase()
  try {
    const result = await tellTale(database.url, { events: 90, kills: 3, patience: 60_000 })
    expect(result).toMatchObject({ withoutEvent: [], neverAccepted: [], different: 0, kills: 3 })
    expect(result.acknowledged).toBeGreaterThanOrEqual(90)
    expect(Object.keys(result.statuses)).toEqual(['delivered'])
  } finally {
    await database.drop()
  }
}, 180_000)
