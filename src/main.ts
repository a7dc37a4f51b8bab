/**
 * Starts a process: opens the database, creates the system account on the first start, and starts the servers and
 * workers. Stops in reverse order.
 */
import { type App, createApp, createGatehouse } from './app.js'
import type { Config, Role } from './config.js'
import { limits } from './kernel/limits.js'
import type { Gatehouse } from './platform/context.js'
import { systemContext } from './platform/jobs/periodic-jobs.js'
import { logMailDelivery } from './platform/mail/transport.js'
import { startDatabaseServer } from './platform/postgres/database-server.js'
import { bootstrap } from './setup/bootstrap.js'

/** Starts the servers and workers of the roles and stops them on SIGTERM and SIGINT. */
export async function start(config: Config, roles: readonly Role[]): Promise<void> {
  let gatehouse: Gatehouse | undefined
  const databaseServer = await startDatabaseServer(config, (message) =>
    gatehouse ? gatehouse.log.info(message) : undefined,
  )
  let app: App
  try {
    gatehouse = createGatehouse(config, databaseServer.url)
    const { setupLink } = await bootstrap(systemContext(gatehouse))
    app = await createApp(gatehouse, roles)
    logStartup(gatehouse, app, setupLink)
  } catch (error) {
    await gatehouse?.database.close()
    await databaseServer.close()
    throw error
  }
  const { log, database } = gatehouse
  let stopping = false
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) return
    stopping = true
    log.info(`stopping (${signal})`)
    await app.close({ lameDuck: signal === 'SIGTERM' ? limits.readinessDrainDelay : 0 })
    await database.close()
    await databaseServer.close()
    log.info('stopped')
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal))
}

function logStartup({ config, log }: Gatehouse, { core, idp, worker }: App, setupLink: string | undefined): void {
  if (core) log.info(`Core API listening on ${core} (public URL ${config.baseUrl})`)
  if (idp) log.info(`IdP API listening on ${idp} (public URL ${config.idpUrl})`)
  if (worker) log.info(`worker health and metrics listening on ${worker}`)
  logMailDelivery(config, log)
  log.info('ready')
  if (!setupLink) return
  const lines = ['Open this link to set up Gatehouse (works once, within 30 minutes):', setupLink]
  const width = Math.max(...lines.map((line) => line.length))
  const rule = '─'.repeat(width + 2)
  process.stdout.write(`\n┌${rule}┐\n${lines.map((line) => `│ ${line.padEnd(width)} │\n`).join('')}└${rule}┘\n\n`)
}
