import { expect, test } from '@jest/globals'
import { createTestDatabase } from '../setup/database.js'
import { runTopupScenario } from '../setup/topup-scenario.js'

test('each payment that is sent several times concurrently is credited once, although all processes are killed in turn', async () => {
  const database = await createTestDatabase()
  try {
    const { answers, transfers, states, ...rest } = await runTopupScenario(database.url, {
      payments: 30,
      concurrentSends: 5,
      kills: 3,
    })
    expect(rest).toEqual({ notCreditedOnce: [], withoutTransfer: [], lost: [], wrongBalances: 0, kills: [1, 1, 1] })
    expect(answers['200']).toBeGreaterThan(0)
    expect(answers['500']).toBeUndefined()
    expect(transfers).toBeGreaterThan(0)
    expect(states).toEqual({ credited: transfers })
  } finally {
    await database.drop()
  }
}, 180_000)
