/**
 * Checks that no webhook delivery is lost while the processes are killed repeatedly. The long form of
 * test/stories/webhooks-crash.test.ts.
 */
import { readConfig } from '../src/config.js'
import { startDatabaseServer } from '../src/platform/postgres/database-server.js'
import { runWebhookScenario } from '../test/setup/webhook-scenario.js'
import { createFolder, removeFolder } from './server.js'

/** @param options the number of events (20,000), and the number of times that a process is killed (30) */
export async function bench([events = '20000', kills = '30']: string[]): Promise<Record<string, unknown>[]> {
  const folder = createFolder()
  const store = await startDatabaseServer(readConfig({ DATA_DIR: folder }), () => {})
  const options = { events: Number(events), kills: Number(kills), settleTimeout: 10 * 60_000 }
  const {
    withoutEvent,
    neverAccepted,
    statuses,
    kills: killed,
    ...result
  } = await runWebhookScenario(store.url, options)
  await store.close()
  removeFolder(folder)
  const figures = {
    ...result,
    'without event': withoutEvent.length,
    'never accepted': neverAccepted.length,
    'kills of servers and worker': killed.join(' + '),
  }
  return [...Object.entries(figures), ...Object.entries(statuses)].map(([figure, value]) => ({ figure, value }))
}
