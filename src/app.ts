/** The only wiring place: makes the two servers out of the rooms. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa, { type Middleware } from 'koa'
import type { Role } from './config.js'
import { mountEdge } from './edge.js'
import type { Gatehouse } from './platform/context.js'
import { deferContinue } from './platform/early-answers.js'
import { type Jobs, startJobs } from './platform/jobs.js'
import { watchWork } from './platform/overview.js'
import { startWorker } from './platform/queue.js'
import { mountProbes } from './probes.js'
import { keepSpareKeys } from './resources/issuers/signing-keys.js'
import { startSending } from './resources/webhooks/sending.js'
import { watchSending } from './resources/webhooks/watching.js'
import { schedule } from './schedule.js'
import { tasks } from './tasks.js'

export { makeGatehouse } from './gatehouse.js'

/** A running product, or the roles of it that this process has. */
export interface App {
  /** Where the servers listen; undefined without the role. */
  readonly core: string | undefined
  readonly idp: string | undefined
  /** Of a worker alone, for its probes. */
  readonly worker: string | undefined
  /**
   * Stops in reverse order: readiness turns 503, listening ends after `lameDuck`, accepted requests finish, jobs stop.
   * Both times in milliseconds; after `limit` what is left is cut off.
   */
  close(times?: { lameDuck?: number; limit?: number }): Promise<void>
}

/** Builds the servers of these roles and listens. */
export async function createApp(gatehouse: Gatehouse, roles: readonly Role[]): Promise<App> {
  const { config, log } = gatehouse
  const state = { draining: false }
  watchWork(gatehouse, schedule, tasks)
  watchSending(gatehouse)
  const probes = mountProbes(gatehouse, state)
  const servers: Server[] = []
  let endStreams = (): void => {}
  const closers: (() => Promise<void>)[] = [
    () => gatehouse.outbound.close(),
    () => gatehouse.rateLimiter.close(),
    async () => gatehouse.postman.close(),
  ]
  let core: string | undefined
  let idp: string | undefined

  const open = async (name: Role, port: number, rooms?: Middleware): Promise<string> => {
    const app = new Koa()
    app.silent = true
    // The IdP writes these headers itself before anybody reads them, whatever was sent.
    app.proxy = name === 'idp'
    app.use(mountEdge(gatehouse, name, state))
    app.use(probes)
    if (rooms) app.use(rooms)
    const server = await listen(app.callback(), config.host, port, portSettings[name])
    servers.push(server)
    return addressOf(server)
  }

  // Each role is loaded by whoever has it: a worker does without GraphQL and the library of the IdP. All of them are there
  // before anything listens: the first that answers says that the process is ready.
  // Where this process has both roles, the one talks to the other without going around by the public address.
  const room = roles.includes('core') ? await (await import('./core.js')).mountCore(gatehouse, () => idp) : undefined
  const provider = roles.includes('idp') ? (await import('./idp/index.js')).createIdp(gatehouse) : undefined
  if (room) {
    closers.push(...room.closers)
    endStreams = room.endStreams
    core = await open('core', config.port, room.middleware)
  }
  if (provider) {
    closers.push(provider.close)
    idp = await open('idp', config.idpPort, provider.middleware)
  }
  const jobs: Jobs[] = []
  if (roles.includes('worker')) {
    jobs.push(startJobs(gatehouse, schedule), startWorker(gatehouse, tasks), startSending(gatehouse))
    closers.push(keepSpareKeys(gatehouse))
  }
  // A worker beside a server is seen through that one.
  const worker = core === undefined && idp === undefined ? await open('worker', config.workerPort) : undefined

  return {
    core,
    idp,
    worker,
    async close({ lameDuck = 0, limit = 25_000 } = {}) {
      state.draining = true
      const deadline = setTimeout(() => {
        log.warn('some requests did not finish in time and are cut off')
        for (const server of servers) server.closeAllConnections()
      }, limit)
      await new Promise((done) => setTimeout(done, lameDuck))
      endStreams()
      await Promise.all([...servers.map(closed), ...jobs.map((job) => job.stop())])
      clearTimeout(deadline)
      for (const close of closers.reverse()) await close()
    },
  }
}

const portSettings = { core: 'PORT', idp: 'IDP_PORT', worker: 'WORKER_PORT' } as const

function listen(
  handler: (req: IncomingMessage, res: ServerResponse) => void,
  host: string,
  port: number,
  setting: string,
): Promise<Server> {
  // Every wait has a limit (security rule 24): slow headers, slow requests.
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 15_000, keepAliveTimeout: 65_000 }, handler)
  server.on('checkContinue', (req, res) => {
    deferContinue(req, res)
    handler(req, res)
  })
  return new Promise((done, fail) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      fail(
        error.code === 'EADDRINUSE'
          ? new Error(
              `Port ${port} on ${host} is taken by another program; end that one or set ${setting} to a free port.`,
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

const closed = (server: Server): Promise<void> =>
  new Promise((done) => {
    server.close(() => done())
    server.closeIdleConnections()
  })
