/** Creates the servers and the background workers of a process. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa, { type Middleware } from 'koa'
import type { Role } from './config.js'
import { limits } from './kernel/limits.js'
import type { Gatehouse } from './platform/context.js'
import { deferContinue } from './platform/http/early-responses.js'
import { registerJobMetrics } from './platform/jobs/job-status.js'
import { type BackgroundWorker, startPeriodicJobs } from './platform/jobs/periodic-jobs.js'
import { startQueueWorker } from './platform/jobs/queue.js'
import { startSpareKeyRefill } from './resources/issuers/signing-keys.js'
import { setTokenPreviewer, type TokenPreviewer } from './resources/issuers/token-preview.js'
import { registerDeliveryMetrics } from './resources/webhooks/delivery-metrics.js'
import { startWebhookDelivery } from './resources/webhooks/delivery-worker.js'
import { schedule, tasks } from './schedule.js'
import { createBaseMiddleware } from './server/base-middleware.js'
import { mountProbes } from './server/health-probes.js'

export { createGatehouse } from './server/root-context.js'

/** The running servers and workers of this process. */
export interface App {
  /** The URL on which the server of the Core API listens; undefined if the process does not have the role `core`. */
  readonly core: string | undefined
  /** The URL on which the server of the IdP listens; undefined if the process does not have the role `idp`. */
  readonly idp: string | undefined
  /** The URL of the health probes and metrics if the process has only the role `worker`; otherwise undefined. */
  readonly worker: string | undefined
  /**
   * Shuts down the servers and workers. Readiness returns 503 immediately. After `lameDuck` milliseconds the servers
   * stop listening and finish the requests in progress, and the workers stop. After `limit` milliseconds, connections
   * that are still open are closed.
   */
  close(times?: { lameDuck?: number; limit?: number }): Promise<void>
}

/** Creates the servers and workers of the roles and starts them. */
export async function createApp(gatehouse: Gatehouse, roles: readonly Role[]): Promise<App> {
  const { config, log } = gatehouse
  const state = { draining: false }
  registerJobMetrics(gatehouse, schedule, tasks)
  registerDeliveryMetrics(gatehouse)
  const probes = mountProbes(gatehouse, state)
  const servers: Server[] = []
  let endStreams = (): void => {}
  const closeHandlers: (() => Promise<void>)[] = [
    () => gatehouse.outbound.close(),
    () => gatehouse.rateLimiter.close(),
    async () => gatehouse.mailer.close(),
  ]
  let core: string | undefined
  let idp: string | undefined

  const openServer = async (name: Role, port: number, middleware?: Middleware): Promise<string> => {
    const app = new Koa()
    app.silent = true
    // Koa trusts the X-Forwarded-* headers of the IdP server, because the IdP replaces them with its own values first.
    app.proxy = name === 'idp'
    app.use(createBaseMiddleware(gatehouse, name, state))
    app.use(probes)
    if (middleware) app.use(middleware)
    const server = await listen(app.callback(), config.host, port, portSettingNames[name])
    servers.push(server)
    return addressOf(server)
  }

  // The modules of a role are imported only if the process has the role, so that a worker does not load GraphQL and
  // oidc-provider. All imports complete before the first server listens, because a server that listens can report that
  // it is ready. If the process has the roles `core` and `idp`, the console calls the server of the IdP directly
  // instead of its public URL.
  const coreApi = roles.includes('core')
    ? await (await import('./server/core-api.js')).mountCoreApi(gatehouse, () => idp)
    : undefined
  if (coreApi) setTokenPreviewer(gatehouse, loadTokenPreviewer(gatehouse))
  const idpApi = roles.includes('idp') ? (await import('./idp/index.js')).createIdp(gatehouse) : undefined
  if (coreApi) {
    closeHandlers.push(...coreApi.closeHandlers)
    endStreams = coreApi.endStreams
    core = await openServer('core', config.port, coreApi.middleware)
  }
  if (idpApi) {
    closeHandlers.push(idpApi.close)
    idp = await openServer('idp', config.idpPort, idpApi.middleware)
  }
  const backgroundWorkers: BackgroundWorker[] = []
  if (roles.includes('worker')) {
    backgroundWorkers.push(
      startPeriodicJobs(gatehouse, schedule),
      startQueueWorker(gatehouse, tasks),
      startWebhookDelivery(gatehouse),
    )
    closeHandlers.push(startSpareKeyRefill(gatehouse))
  }
  // The server of another role also serves the health probes.
  const worker = core === undefined && idp === undefined ? await openServer('worker', config.workerPort) : undefined

  return {
    core,
    idp,
    worker,
    async close({ lameDuck = 0, limit = limits.shutdownTimeout } = {}) {
      state.draining = true
      const deadline = setTimeout(() => {
        log.warn('the shutdown timeout has expired; closing all connections that are still open')
        for (const server of servers) server.closeAllConnections()
      }, limit)
      await new Promise((done) => setTimeout(done, lameDuck))
      endStreams()
      await Promise.all([...servers.map(closeServer), ...backgroundWorkers.map((job) => job.stop())])
      clearTimeout(deadline)
      for (const close of closeHandlers.reverse()) await close()
    },
  }
}

/**
 * Returns a function that previews tokens. It imports oidc-provider on its first call, because a process without the
 * role `idp` seldom needs it.
 */
function loadTokenPreviewer(gatehouse: Gatehouse): TokenPreviewer {
  let loading: Promise<TokenPreviewer> | undefined
  return async (...args) => {
    loading ??= import('./idp/token/preview.js').then(({ createTokenPreviewer }) => createTokenPreviewer(gatehouse))
    return (await loading)(...args)
  }
}

const portSettingNames = { core: 'PORT', idp: 'IDP_PORT', worker: 'WORKER_PORT' } as const

function listen(
  handler: (req: IncomingMessage, res: ServerResponse) => void,
  host: string,
  port: number,
  setting: string,
): Promise<Server> {
  // Timeouts for slow requests and slow headers (docs/contract.md#timeouts-and-unavailability).
  const timeouts = {
    requestTimeout: limits.serverRequestTimeout,
    headersTimeout: limits.serverHeadersTimeout,
    keepAliveTimeout: limits.serverKeepAliveTimeout,
  }
  const server = createServer(timeouts, handler)
  server.on('checkContinue', (req, res) => {
    deferContinue(req, res)
    handler(req, res)
  })
  return new Promise((done, fail) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      fail(
        error.code === 'EADDRINUSE'
          ? new Error(
              `Port ${port} on ${host} is already in use; stop the other program or set ${setting} to a free port.`,
            )
          : error,
      ),
    )
    server.listen(port, host, () => done(server))
  })
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

const closeServer = (server: Server): Promise<void> =>
  new Promise((done) => {
    server.close(() => done())
    server.closeIdleConnections()
  })
