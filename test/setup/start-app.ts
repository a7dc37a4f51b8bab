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

// The ID generator never goes back in time, even if the clock does. A previous test file in this process may have
// advanced its clock by years, so the ids of this file would contain that future time.
resetIdGenerator()

/** A clock that follows the system clock, plus the time by which a test has advanced it. */
export interface TestClock {
  now(): number
  /** @param by milliseconds */
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
  /** URL where the Core API of this application listens. The BASE_URL of a second application is that of the first. */
  baseUrl: string
  /** URL where the IdP of this application listens. The IDP_URL of a second application is that of the first. */
  idpUrl: string
  /** Undefined if the deployment has an administrator. */
  setupLink: string | undefined
  /** Calls the Core API as an operator, with the bootstrap API key of the system account. */
  operator: ApiClient
  /** Starts another application with the same database, as a second process of the deployment would be. */
  startSecondApp(): Promise<TestApp>
  /** Closes the application and its second applications, and drops the database if `startApp` created it. */
  close(): Promise<void>
}

interface Options {
  /** Environment variables that replace or extend the defaults. */
  env?: Record<string, string>
  /** Default: `core` and `idp`. */
  roles?: Role[]
  /** Default: a new database, which `close` drops. */
  databaseUrl?: string
  clock?: TestClock
  /** Prices in micro-USD, by GraphQL operation. */
  prices?: Record<string, number>
  /** Default: standard output. */
  log?: Log
  /** Returns the replacement of the HTTP client for external URLs. */
  outbound?: (defaultOutbound: Outbound) => Outbound
}

/**
 * Returns free ports below the ephemeral port range. An outgoing connection could take an ephemeral port before the
 * server of the test listens on it.
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
 * Starts Gatehouse in this process. Rate limits are off unless `env` contains RATE_LIMITS. The test must call `close`
 * in `afterAll`.
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
