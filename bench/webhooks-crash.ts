/** What gets lost when everything is killed all the time: nothing. The long form of test/stories/webhooks-crash. */
import { readConfig } from '../src/config.js'
import { openStore } from '../src/store.js'
import { tellTale } from '../test/setup/webhook-tale.js'
import { makeFolder, removeFolder } from './server.js'

/** @param options how many events (20,000) and kills (30) */
export async function bench([events = '20000', kills = '30']: string[]): Promise<Record<string, unknown>[]> {
  const folder = makeFolder()
  const store = await openStore(readConfig({ DATA_DIR: folder }), () => {})
  const long = { events: Number(events), kills: Number(kills), patience: 10 * 60_000 }
  const { withoutEvent, neverAccepted, statuses, ...result } = await tellTale(store.url, long)
  await store.close()
  removeFolder(folder)
  const figures = { ...result, 'without event': withoutEvent.length, 'never accepted': neverAccepted.length }
  return [...Object.entries(figures), ...Object.entries(statuses)].map(([figure, value]) => ({ figure, value }))
}
