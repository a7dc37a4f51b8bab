import { randomBytes, randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, createApp, createGatehouse } from '../../src/app.js'
import { type Role, readConfig } from '../../src/config.js'
import { newId, resetIdGenerator } from '../../src/kernel/ids.js'
import type { Gatehouse } from '../../src/platform/context.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import type { Log } from '../../src/platform/log.js'
import type { Outbound } from '../../src/platform/outbound/outbound.js'
import { bootstrap } from '../../src/setup/bootstrap.js'
import { type ApiClient, createApiClient } from './api.js'
import { createTestDatabase, testSecretKey } from './database.js'

// A file before this one may have moved its clock years ahead, and identifiers of one process never go back.
resetIdGenerator()

/** A clock that follows the system clock until a test advances it. */
export interface TestClock {
  now(): number
  /** Milliseconds. */
  advance(by: number): void
}

export function createTestClock(): TestClock {
  let offset = 0
  return {
    now: () => Date.now() + offset,
    advance: (by) => {
      offset += by
    },
  }
}

export interface TestApp {
  gatehouse: Gatehouse
  clock: TestClock
  databaseUrl: string
  /** Addresses that the servers listen on; a second application shares the public addresses of the first. */
  baseUrl: string
  idpUrl: string
  setupLink: string | undefined
  /** Calls the API as an operator, with the bootstrap key of the system account. */
  operator: ApiClient
  /** Another application on the same database, as a second process would be. */
  startSecondApp(): Promise<TestApp>
  close(): Promise<void>
}

interface Options {
  env?: Record<string, string>
  roles?: Role[]
  databaseUrl?: string
  clock?: TestClock
  /** Micro-USD by operation. */
  prices?: Record<string, number>
  /** Destination of the log, standard output by default. */
  log?: Log
  /** Replaces outbound requests to external servers. */
  outbound?: (defaultOutbound: Outbound) => Outbound
}

/**
 * Free ports below the ephemeral range: an outgoing connection could take an ephemeral port between this check and the
 * server's start.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(12_000, 32_000)
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(false))
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)))
  })

/**
 * Starts the whole product on a new database (or the given one), with limits off unless `env` says otherwise.
 * Close it in afterAll; closing the first one drops the database.
 */
export async function startApp(options: Options = {}): Promise<TestApp> {
  const database = options.databaseUrl === undefined ? await createTestDatabase() : undefined
  const databaseUrl = options.databaseUrl ?? database!.url
  const [port, idpPort] = await freePorts(2)
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-test-'))
  const clock = options.clock ?? createTestClock()
  const key = { id: newId('ak', clock.now()), secret: randomBytes(32).toString('hex') }
  const env = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    SECRET_KEY: testSecretKey,
    PORT: String(port),
    IDP_PORT: String(idpPort),
    WORKER_PORT: '0',
    BASE_URL: `http://127.0.0.1:${port}`,
    IDP_URL: `http://127.0.0.1:${idpPort}`,
    BOOTSTRAP_API_KEY: `${key.id}:${key.secret}`,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
    ...options.env,
  }
  const config = readConfig(env)
  const createdGatehouse = createGatehouse(config, databaseUrl, {
    now: clock.now,
    ...(options.prices && { prices: options.prices }),
    ...(options.log && { log: options.log }),
  })
  const gatehouse: Gatehouse = options.outbound
    ? { ...createdGatehouse, outbound: options.outbound(createdGatehouse.outbound) }
    : createdGatehouse
  const { setupLink } = await bootstrap(systemContext(gatehouse))
  const app: App = await createApp(gatehouse, options.roles ?? ['core', 'idp'])
  const secondApps: TestApp[] = []
  let closed = false
  const testApp: TestApp = {
    gatehouse,
    clock,
    databaseUrl,
    baseUrl: app.core ?? config.baseUrl,
    idpUrl: app.idp ?? config.idpUrl,
    setupLink,
    operator: createApiClient(app.core ?? config.baseUrl, config.bootstrap.apiKey ?? key),
    async startSecondApp() {
      const { BASE_URL, IDP_URL, BOOTSTRAP_API_KEY } = env
      const shared = { BASE_URL, IDP_URL, BOOTSTRAP_API_KEY, ...options.env }
      const secondApp = await startApp({ ...options, env: shared, databaseUrl, clock })
      secondApps.push(secondApp)
      return secondApp
    },
    async close() {
      if (closed) return
      closed = true
      for (const secondApp of secondApps) await secondApp.close()
      await app.close({ limit: 2000 })
      await gatehouse.database.close()
      await database?.drop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
  return testApp
}
