/** REDIS_URL: rate-limit counters shared by several processes (decisions part 0, D19). */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { makeTenant, type Tenant } from '../setup/actors.js'
import { type Api, apiAs } from '../setup/api.js'
import { secretKey } from '../setup/database.js'
import { runCli } from '../setup/process.js'
import { startRedis, type TestRedis } from '../setup/redis.js'
import { startApp, type TestApp, testClock } from '../setup/start-app.js'

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
  const clock = { ...testClock(), now: () => now }
  const limits = { core_read: { quota: QUOTA, window: 60 } }
  env = { RATE_LIMITS: JSON.stringify(limits), REDIS_URL: redis.url, LOG_LEVEL: 'silent' }
  app = await startApp({ clock, env, roles: ['core'] })
  other = await app.second()
})
afterAll(async () => {
  await app.close()
  await redis.stop()
})
beforeEach(async () => {
  tenant = await makeTenant(app, 'Limited')
})

/** The same caller at the other application. */
const there = (): Api => {
  const [id = '', ...rest] = Buffer.from(tenant.owner.authorization!.slice(6), 'base64').toString().split(':')
  return apiAs(other.baseUrl, { id, secret: rest.join(':') })
}
/** How many of so many requests, to the two in turn, are answered. */
async function both(count: number): Promise<number> {
  let answered = 0
  for (let at = 0; at < count; at++) {
    const { status } = await (at % 2 === 0 ? tenant.owner : there()).get(tenant.A)
    if (status === 200) answered++
    else expect(status).toBe(429)
  }
  return answered
}
const rows = () => app.gatehouse.tools.prisma.rateLimit.count({ where: { key: { startsWith: 'core_read:' } } })

test('two processes share one bucket there, exactly, and PostgreSQL counts nothing', async () => {
  expect(await both(2 * QUOTA)).toBe(QUOTA)
  expect(await redis.taken()).toBeGreaterThan(0)
  expect(await rows()).toBe(0)
})

test('wrong secrets of two processes share one count there as well', async () => {
  const [id = ''] = Buffer.from(tenant.owner.authorization!.slice(6), 'base64').toString().split(':')
  const wrong = [app, other].map(({ baseUrl }) => apiAs(baseUrl, { id, secret: 'x'.repeat(40) }))
  const answers = await Promise.all(Array.from({ length: 30 }, (_, at) => wrong[at % 2]!.get(tenant.A)))
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(10)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(20)
  expect(await app.gatehouse.tools.prisma.rateLimit.count({ where: { key: { startsWith: 'auth_failures' } } })).toBe(0)
  now += 120_000
})

test('another deployment on the same Redis has buckets of its own', async () => {
  const stranger = await startApp({ clock: app.clock, env, roles: [] })
  const at = async ({ gatehouse }: TestApp) => (await gatehouse.rateLimiter.spend('core_read', 'one'))!.allowed
  for (let spent = 0; spent < QUOTA; spent++) expect(await at(app)).toBe(true)
  expect([await at(app), await at(other), await at(stranger)]).toEqual([false, false, true])
  await stranger.close()
})

test('it refills with the time: half a window is half a bucket', async () => {
  expect(await both(2 * QUOTA)).toBe(QUOTA)
  now += 30_000
  expect(await both(2 * QUOTA)).toBe(QUOTA / 2)
})

test('while it is away PostgreSQL counts, with no error and the same limit; when it is back, it does again', async () => {
  await redis.stop()
  expect(await both(2 * QUOTA)).toBe(QUOTA)
  expect(await rows()).toBeGreaterThan(0)
  await redis.start()
  const before = await redis.taken()
  for (let tries = 0; tries < 200 && (await redis.taken()) === before; tries++) {
    now += 10_000
    await both(2)
    await new Promise((done) => setTimeout(done, 50))
  }
  expect(await redis.taken()).toBeGreaterThan(before)
})

test('the doctor says whether it answers', async () => {
  const doctor = async (url: string) => {
    const env = { DATABASE_URL: app.databaseUrl, SECRET_KEY: secretKey, REDIS_URL: url }
    const { stdout } = await runCli(['doctor', '--json'], { ...env, DATA_DIR: app.gatehouse.config.dataDir })
    return (JSON.parse(stdout).checks as { check: string; state: string }[]).find(({ check }) => check === 'redis')
  }
  expect(await doctor(redis.url)).toMatchObject({ state: 'ok' })
  expect(await doctor('redis://127.0.0.1:1')).toMatchObject({ state: 'warn' })
})
