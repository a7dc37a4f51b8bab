/** What becomes of money when everything is killed all the time. The long form of test/stories/topup-race. */
import { readConfig } from '../src/config.js'
import { openStore } from '../src/store.js'
import { tellTopups } from '../test/setup/topup-tale.js'
import { makeFolder, removeFolder } from './server.js'

/** @param options how many payments (500), how often each is sent at once (20), and how many kills (30) */
export async function bench([payments = '500', racers = '20', kills = '30']: string[]): Promise<
  Record<string, unknown>[]
> {
  const folder = makeFolder()
  const store = await openStore(readConfig({ DATA_DIR: folder }), () => {})
  const long = { payments: Number(payments), racers: Number(racers), kills: Number(kills) }
  const { answers, transfers, notOnce, withoutTransfer, lost, wrongBalances, states, ...rest } = await tellTopups(
    store.url,
    long,
  )
  await store.close()
  removeFolder(folder)
  const figures = {
    ...Object.fromEntries(Object.entries(answers).map(([status, count]) => [`answers ${status}`, count])),
    transfers,
    'transfers not credited once': notOnce.length,
    'credits without a transfer': withoutTransfer.length,
    'acknowledged without a credit': lost.length,
    'wrong balances': wrongBalances,
    ...states,
    'kills of servers and worker': rest.kills.join(' + '),
  }
  return Object.entries(figures).map(([figure, value]) => ({ figure, value }))
}
