/**
 * Checks that no payment is lost or credited twice while the two servers and the worker are killed in turn. The long
 * form of test/stories/topup-race.test.ts.
 */
import { readConfig } from '../src/config.js'
import { startDatabaseServer } from '../src/platform/postgres/database-server.js'
import { runTopupScenario } from '../test/setup/topup-scenario.js'
import { createFolder, removeFolder } from './server.js'

/**
 * @param options the number of payments (500), the number of concurrent requests for each payment (20), and the number
 *   of times that a process is killed (30)
 */
export async function bench([payments = '500', racers = '20', kills = '30']: string[]): Promise<
  Record<string, unknown>[]
> {
  const folder = createFolder()
  const store = await startDatabaseServer(readConfig({ DATA_DIR: folder }), () => {})
  const options = { payments: Number(payments), concurrentSends: Number(racers), kills: Number(kills) }
  const { answers, transfers, notCreditedOnce, withoutTransfer, lost, wrongBalances, states, ...rest } =
    await runTopupScenario(store.url, options)
  await store.close()
  removeFolder(folder)
  const figures = {
    ...Object.fromEntries(Object.entries(answers).map(([status, count]) => [`answers ${status}`, count])),
    transfers,
    'transfers not credited once': notCreditedOnce.length,
    'credits without a transfer': withoutTransfer.length,
    'acknowledged without a credit': lost.length,
    'wrong balances': wrongBalances,
    ...states,
    'kills of servers and worker': rest.kills.join(' + '),
  }
  return Object.entries(figures).map(([figure, value]) => ({ figure, value }))
}
