/** REDIS_URL: rate-limit counters shared by several processes (docs/contract.md#rate-limits). */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { createTenant, type Tenant } from '../setup/actors.js'
import { type ApiClient, createApiClient } from '../setup/api.js'
import { testSecretKey } from '../setup/database.js'
import { runCli } from '../setup/process.js'
import { startRedis, type TestRedis } from '../setup/redis.js'
import { createTestClock, startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

const QUOTA = 10
let redis: TestRedis
let app: TestApp
let other: TestApp
let tenant: Tenant
let now: number
let env: Record<string, string>

beforeAll(async () => {
  redis = await startRedis()
  now = Date.now()
  const clock = { ...createTestClock(), now: () => now }
  const limits = { core_read: { quota: QUOTA, window: 60 } }
  env = { RATE_LIMITS: JSON.stringify(limits), REDIS_URL: redis.url, LOG_LEVEL: 'silent' }
  app = await startApp({ clock, env, roles: ['core'] })
  other = await app.startSecondApp()
})
afterAll(async () => {
  await app.close()
  await redis.stop()
})
beforeEach(async () => {
  tenant = await createTenant(app, 'Limited')
})

/** Returns a client with the API key of the owner at the other process. */
const secondProcessClient = (): ApiClient => {
  const [id = '', ...rest] = Buffer.from(tenant.owner.authorization!.slice(6), 'base64').toString().split(':')
  return createApiClient(other.baseUrl, { id, secret: rest.join(':') })
}
/** Sends requests to both processes in turn and returns the number of allowed requests. */
async function sendToBothProcesses(count: number): Promise<number> {
  let allowed = 0
  for (let at = 0; at < count; at++) {
    const { status } = await (at % 2 === 0 ? tenant.owner : secondProcessClient()).get(tenant.A)
    if (status === 200) allowed++
    else expect(status).toBe(429)
  }
  return allowed
}
const rows = () => app.gatehouse.database.prisma.rateLimit.count({ where: { key: { startsWith: 'core_read:' } } })

test('two processes share one bucket in Redis exactly, and nothing is counted in PostgreSQL', async () => {
  expect(await sendToBothProcesses(2 * QUOTA)).toBe(QUOTA)
  expect(await redis.batchCount()).toBeGreaterThan(0)
  expect(await rows()).toBe(0)
})

test('attempts with a wrong secret at two processes share one counter', async () => {
  const [id = ''] = Buffer.from(tenant.owner.authorization!.slice(6), 'base64').toString().split(':')
  const wrong = [app, other].map(({ baseUrl }) => createApiClient(baseUrl, { id, secret: 'x'.repeat(40) }))
  const responses = await Promise.all(Array.from({ length: 30 }, (_, at) => wrong[at % 2]!.get(tenant.A)))
  expect(responses.filter(({ status }) => status === 401)).toHaveLength(10)
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(20)
  expect(await app.gatehouse.database.prisma.rateLimit.count({ where: { key: { startsWith: 'auth_failures' } } })).toBe(
    0,
  )
  now += 120_000
})

test('another deployment on the same Redis has separate buckets', async () => {
  const otherDeployment = await startApp({ clock: app.clock, env, roles: [] })
  const at = async ({ gatehouse }: TestApp) => (await gatehouse.rateLimiter.consume('core_read', 'one'))!.allowed
  for (let spent = 0; spent < QUOTA; spent++) expect(await at(app)).toBe(true)
  expect([await at(app), await at(other), await at(otherDeployment)]).toEqual([false, false, true])
  await otherDeployment.close()
})

test('a bucket refills with time: half a window is half a bucket', async () => {
  expect(await sendToBothProcesses(2 * QUOTA)).toBe(QUOTA)
  now += 30_000
  expect(await sendToBothProcesses(2 * QUOTA)).toBe(QUOTA / 2)
})

test('while Redis is unavailable requests are counted in PostgreSQL with the same limit; afterwards in Redis again', async () => {
  await redis.stop()
  expect(await sendToBothProcesses(2 * QUOTA)).toBe(QUOTA)
  expect(await rows()).toBeGreaterThan(0)
  await redis.start()
  const before = await redis.batchCount()
  await waitUntil(
    'Redis counts again',
    async () => {
      now += 10_000
      await sendToBothProcesses(2)
      return (await redis.batchCount()) > before
    },
    { interval: 50 },
  )
})

test('the doctor command reports whether Redis responds', async () => {
  const doctor = async (url: string) => {
    const env = { DATABASE_URL: app.databaseUrl, SECRET_KEY: testSecretKey, REDIS_URL: url }
    const { stdout } = await runCli(['doctor', '--json'], { ...env, DATA_DIR: app.gatehouse.config.dataDir })
    return (JSON.parse(stdout).checks as { check: string; state: string }[]).find(({ check }) => check === 'redis')
  }
  expect(await doctor(redis.url)).toMatchObject({ state: 'ok' })
  expect(await doctor('redis://127.0.0.1:1')).toMatchObject({ state: 'warn' })
})
