/** The running process: read config, open the database, make the deployment, listen; close in reverse order. */
import { type App, createApp, makeGatehouse } from './app.js'
import { bootstrap } from './bootstrap.js'
import type { Config, Role } from './config.js'
import type { Gatehouse } from './platform/context.js'
import { systemContext } from './platform/jobs.js'
import { announceMail } from './platform/mail-transport.js'
import { openStore } from './store.js'

/** How long readiness says 503 before listening ends, when a supervisor asks us to stop (milliseconds). */
const LAME_DUCK = 1500

/** Starts the product with these roles and stops it on SIGTERM and SIGINT. */
export async function start(config: Config, roles: readonly Role[]): Promise<void> {
  let gatehouse: Gatehouse | undefined
  const store = await openStore(config, (message) => (gatehouse ? gatehouse.log.info(message) : undefined))
  let app: App
  try {
    gatehouse = makeGatehouse(config, store.url)
    const { setupLink } = await bootstrap(systemContext(gatehouse))
    app = await createApp(gatehouse, roles)
    announceStart(gatehouse, app, setupLink)
  } catch (error) {
    await gatehouse?.tools.close()
    await store.close()
    throw error
  }
  const { log, tools } = gatehouse
  let stopping = false
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) return
    stopping = true
    log.info(`stopping (${signal})`)
    await app.close({ lameDuck: signal === 'SIGTERM' ? LAME_DUCK : 0 })
    await tools.close()
    await store.close()
    log.info('stopped')
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal))
}

function announceStart({ config, log }: Gatehouse, { core, idp, worker }: App, setupLink: string | undefined): void {
  if (core) log.info(`Core API on ${core} as ${config.baseUrl}`)
  if (idp) log.info(`IdP API on ${idp} as ${config.idpUrl}`)
  if (worker) log.info(`probes and metrics of the worker on ${worker}`)
  announceMail(config, log)
  log.info('ready')
  if (!setupLink) return
  const lines = ['Open this to set Gatehouse up (once, within 30 minutes):', setupLink]
  const width = Math.max(...lines.map((line) => line.length))
  const rule = '─'.repeat(width + 2)
  process.stdout.write(`\n┌${rule}┐\n${lines.map((line) => `│ ${line.padEnd(width)} │\n`).join('')}└${rule}┘\n\n`)
}
