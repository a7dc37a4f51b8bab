/** Rate limits (docs/contract.md#rate-limits, docs/contract.md#graphql-limits). */
import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, test } from '@jest/globals'
import { HOUR } from '../../src/kernel/time.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { schedule } from '../../src/schedule.js'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, type ApiClient, type ApiResponse, createApiClient } from '../setup/api.js'
import { createTestClock, startApp, type TestApp } from '../setup/start-app.js'

const open: TestApp[] = []
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

/** Starts an application whose clock changes only by `advance`, so that no bucket refills by itself. */
async function limited(
  limits: object,
  env: Record<string, string> = {},
): Promise<{ app: TestApp; tenant: Tenant; advance(by: number): void }> {
  let now = Date.now()
  const clock = {
    ...createTestClock(),
    now: () => now,
    advance(by: number) {
      now += by
    },
  }
  const app = await startApp({ clock, env: { RATE_LIMITS: JSON.stringify(limits), ...env } })
  open.push(app)
  return { app, tenant: await createTenant(app), advance: clock.advance }
}

const limitHeaders = (response: ApiResponse<AnyJson>) => {
  const [, policy] =
    /^"default";q=(\d+);w=(\d+)$/.exec(response.headers.get('ratelimit-policy') ?? '')?.map(Number) ?? []
  const [, r, t] = /^"default";r=(\d+);t=(\d+)$/.exec(response.headers.get('ratelimit') ?? '')?.map(Number) ?? []
  const trio = ['limit', 'remaining', 'reset'].map((name) => Number(response.headers.get(`x-ratelimit-${name}`)))
  expect(trio).toEqual([policy, r, t])
  return { q: policy, r, t }
}

/** Sends requests until one is 429, but at most `most`. Returns all responses. */
async function exhaustLimit(send: () => Promise<ApiResponse<AnyJson>>, most = 100): Promise<ApiResponse<AnyJson>[]> {
  const responses: ApiResponse<AnyJson>[] = []
  for (let i = 0; i < most; i++) {
    responses.push(await send())
    if (responses.at(-1)!.status === 429) return responses
  }
  return responses
}

test('each limited response has the remaining quota; over the limit it is 429 with Retry-After equal to t', async () => {
  const { tenant, advance } = await limited({ core_read: { quota: 5, window: 60 } })
  const responses = await exhaustLimit(() => tenant.owner.get(tenant.A))
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429])
  expect(responses.map((response) => limitHeaders(response).r)).toEqual([4, 3, 2, 1, 0, 0])
  const refused = responses.at(-1)!
  expect(refused.body).toMatchObject({ error: 'too_many_requests', request_id: expect.stringMatching(/^req_/) })
  const { t, q } = limitHeaders(refused)
  expect({ q, retry: refused.headers.get('retry-after') }).toEqual({ q: 5, retry: String(t) })
  // After the time in Retry-After the next request is allowed, but not one second earlier.
  advance(t! * 1000 - 1000)
  expect((await tenant.owner.get(tenant.A)).status).toBe(429)
  advance(1000)
  expect((await tenant.owner.get(tenant.A)).status).toBe(200)
})

test('a rate limit with a long window keeps its bucket when unused buckets are deleted', async () => {
  const { app, tenant, advance } = await limited({ core_read: { quota: 2, window: 86_400 } })
  await exhaustLimit(() => tenant.owner.get(tenant.A))
  advance(3 * HOUR)
  await schedule.find(({ name }) => name === 'purge-rate-limits')!.run(systemContext(app.gatehouse))
  expect((await tenant.owner.get(tenant.A)).status).toBe(429)
})

test('error responses count and have the rate limit headers', async () => {
  const { tenant } = await limited({ core_read: { quota: 3, window: 60 } })
  for (const path of ['/v1/nothing', `${tenant.A}/api-keys/x`, `${tenant.A}?x=1`]) {
    const response = await tenant.owner.get(path)
    expect(response.status).toBeGreaterThanOrEqual(400)
    limitHeaders(response)
  }
  expect((await tenant.owner.get('/v1/nothing')).status).toBe(429)
})

test('reads and writes are counted separately, per credential', async () => {
  const { tenant } = await limited({ core_read: { quota: 4, window: 60 }, core_write: { quota: 8, window: 60 } })
  const other = await createRestrictedKey(tenant, {})
  expect((await exhaustLimit(() => tenant.owner.get(tenant.A))).filter(({ status }) => status === 200)).toHaveLength(4)
  expect((await tenant.owner.patch(tenant.A, {})).status).toBe(200)
  expect((await other.get(tenant.A)).status).toBe(200)
})

test('requests without a valid credential are counted by IP address and do not consume the quota of a credential', async () => {
  const { app, tenant } = await limited({ unauthenticated: { quota: 4, window: 60 } })
  const anonymous = createApiClient(app.baseUrl)
  const [id] = Buffer.from(tenant.owner.authorization!.slice(6), 'base64').toString().split(':') as [string]
  const wrong = createApiClient(app.baseUrl, { id, secret: 'x'.repeat(40) })
  const requests: (() => Promise<ApiResponse<AnyJson>>)[] = [
    () => anonymous.get(tenant.A),
    () => wrong.get(tenant.A),
    () => anonymous.graphql('{ me { id } }'),
    () => wrong.post(`${tenant.A}/issuers`, {}),
  ]
  for (const send of requests) {
    const response = await send()
    expect(response.status).toBe(401)
    limitHeaders(response)
  }
  for (const send of requests) {
    const response = await send()
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect((await tenant.owner.get(tenant.A)).status).toBe(200)
})

test('X-Forwarded-For counts only behind a trusted proxy, and an invalid value causes no 5xx', async () => {
  const { app } = await limited({ unauthenticated: { quota: 2, window: 60 } })
  const direct = await exhaustLimit(() =>
    createApiClient(app.baseUrl).get('/v1/accounts', { 'x-forwarded-for': String(Math.random()) }),
  )
  expect(direct.map(({ status }) => status)).toEqual([401, 401, 429])

  const { app: behind } = await limited({ unauthenticated: { quota: 2, window: 60 } }, { TRUST_PROXY: '1' })
  const from = (value: string) => createApiClient(behind.baseUrl).get('/v1/accounts', { 'x-forwarded-for': value })
  for (const address of ['198.51.100.1', '198.51.100.2']) {
    const responses = await exhaustLimit(() => from(`203.0.113.9, ${address}`))
    expect(responses.map(({ status }) => status)).toEqual([401, 401, 429])
    // The IPv6 form of the same address.
    expect((await from(`203.0.113.9, ::ffff:${address}`)).status).toBe(429)
  }
  const random = randomBytes(4000).toString('hex')
  for (const value of [
    random,
    'x'.repeat(8000),
    "'",
    '\u00ff',
    ',',
    ' ',
    'unknown',
    '_hidden',
    '1.2.3.4:5678',
    '[2001:db8::1]:80',
  ]) {
    const response = await from(value)
    expect({ value: value.slice(0, 20), fine: response.status === 401 || response.status === 429 }).toEqual({
      value: value.slice(0, 20),
      fine: true,
    })
  }
})

test.each([1, 2, 4, 10, 60])('a burst gets all of a quota of %i, and no more', async (quota) => {
  const { app } = await limited({ core_read: { quota, window: 60 } })
  const burst = (count: number) =>
    Promise.all(Array.from({ length: count }, () => app.gatehouse.rateLimiter.consume('core_read', 'one')))
  const decisions = [...(await burst(quota)), ...(await burst(5))]
  expect(decisions.map((decision) => decision!.allowed)).toEqual([...Array(quota).fill(true), ...Array(5).fill(false)])
})

test('two processes share one bucket, exactly for small limits', async () => {
  const { app, tenant } = await limited({ core_read: { quota: 10, window: 60 } })
  const second = await app.startSecondApp()
  const bases = [app.baseUrl, second.baseUrl]
  const responses = await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      fetch(`${bases[i % 2]}${tenant.A}`, { headers: { authorization: tenant.owner.authorization! } }),
    ),
  )
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(10)
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(20)
  for (const response of responses) await response.text()
})

describe('failed API key secrets are limited before the comparison', () => {
  const [here, elsewhere] = [{ 'x-forwarded-for': '198.51.100.1' }, { 'x-forwarded-for': '198.51.100.2' }]
  const idOf = (api: ApiClient) => Buffer.from(api.authorization!.slice(6), 'base64').toString().split(':')[0]!
  const guessing = (at: { baseUrl: string }, id: string) => createApiClient(at.baseUrl, { id, secret: 'x'.repeat(40) })
  const limits = { auth_failures: { quota: 5, window: 60 }, unauthenticated: { quota: 1000, window: 60 } }

  test('after too many failures the correct secret is refused from this IP address only, and accepted again later', async () => {
    const { app, tenant, advance } = await limited(limits, { TRUST_PROXY: '1' })
    const wrong = guessing(app, idOf(tenant.owner))
    const responses = await exhaustLimit(() => wrong.get(tenant.A, here))
    expect(responses.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429])
    const refused = await tenant.owner.get(tenant.A, here)
    expect(refused).toMatchObject({ status: 429, body: { error: 'too_many_requests' } })
    expect(refused.headers.get('retry-after')).toBe(String(limitHeaders(refused).t))
    expect((await tenant.owner.get(tenant.A, elsewhere)).status).toBe(200)
    const other = await createRestrictedKey(tenant, {})
    expect((await other.get(tenant.A, here)).status).toBe(200)
    advance(limitHeaders(refused).t! * 1000)
    expect((await tenant.owner.get(tenant.A, here)).status).toBe(200)
  })

  test('parallel requests to two processes get no additional attempts; the owner is not affected', async () => {
    const { app, tenant } = await limited(limits, { TRUST_PROXY: '1' })
    const second = await app.startSecondApp()
    const id = idOf(tenant.owner)
    const burst = Array.from({ length: 40 }, (_, i) => guessing(i % 2 === 0 ? app : second, id).get(tenant.A, here))
    const own = Array.from({ length: 20 }, () => tenant.owner.get(tenant.A, elsewhere))
    expect((await Promise.all(burst)).filter(({ status }) => status === 401)).toHaveLength(5)
    expect((await Promise.all(own)).map(({ status }) => status)).toEqual(Array(20).fill(200))
  })

  test('unknown key ids get the same responses and are also counted by IP address', async () => {
    const { app, tenant } = await limited(
      { ...limits, auth_failures_ip: { quota: 8, window: 60 } },
      { TRUST_PROXY: '1' },
    )
    const walk = async (id: string, ip: string) =>
      (await exhaustLimit(() => guessing(app, id).get(tenant.A, { 'x-forwarded-for': ip }))).map(({ status, body }) => [
        status,
        body.error,
        body.error_description,
      ])
    expect(await walk(`ak_${'0'.repeat(26)}`, '203.0.113.1')).toEqual(await walk(idOf(tenant.owner), '203.0.113.2'))
    for (let i = 0; i < 8; i++)
      expect((await guessing(app, `ak_${String(i).padStart(26, '0')}`).get(tenant.A, here)).status).toBe(401)
    expect((await tenant.owner.get(tenant.A, here)).status).toBe(429)
    expect((await tenant.owner.get(tenant.A, elsewhere)).status).toBe(200)
  })
})

describe('GraphQL', () => {
  test('each mutation of a document counts, even inside a fragment; refused mutations change nothing', async () => {
    const { tenant } = await limited({ core_write: { quota: 12, window: 60 } })
    const left = async () => limitHeaders(await tenant.owner.patch(tenant.A, {})).r
    const before = (await left())!
    const calls = (count: number) =>
      Array.from(
        { length: count },
        (_, i) => `m${i}: createIssuer(accountId: "${tenant.accountId}", input: {name: "G"}) { id }`,
      ).join(' ')
    const inFragment = `mutation { ...F } fragment F on Mutation { ${calls(3)} }`
    expect((await tenant.owner.graphql(inFragment)).body.errors).toBeUndefined()
    expect(await left()).toBe(before - 4)
    const over = await tenant.owner.graphql(`mutation { ${calls(10)} }`)
    expect(over.body.errors[0].extensions).toMatchObject({ code: 'TOO_MANY_REQUESTS', status: 429 })
    expect({ status: over.status, retry: over.headers.get('retry-after') }).toEqual({
      status: 429,
      retry: String(limitHeaders(over).t),
    })
    expect(over.body.data ?? null).toBeNull()
    expect(
      expectStatus(await tenant.owner.get(`${tenant.A}/issuers`), 200).data.filter(
        (issuer: AnyJson) => issuer.name === 'G',
      ),
    ).toHaveLength(3)
  })

  test('queries count as reads and have the headers', async () => {
    const { tenant } = await limited({ core_read: { quota: 2, window: 60 } })
    const responses = await exhaustLimit(() => tenant.owner.graphql('{ me { id } }'))
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(responses.at(-1)!.body.errors[0].extensions).toMatchObject({ code: 'TOO_MANY_REQUESTS', status: 429 })
    expect(responses.at(-1)!.headers.get('retry-after')).toBe(String(limitHeaders(responses.at(-1)!).t))
  })
})

test('the default limits are the documented ones; disabled limits send no headers', async () => {
  const app = await startApp({ env: { RATE_LIMITS: 'default' } })
  open.push(app)
  const read: ApiClient['get'] = (path) => app.operator.get(path)
  expect(limitHeaders(await read('/v1/accounts')).q).toBe(1000)
  expect(limitHeaders(await app.operator.post('/v1/accounts')).q).toBe(300)
  expect(limitHeaders(await createApiClient(app.baseUrl).get('/v1/accounts')).q).toBe(60)
  const off = await startApp()
  open.push(off)
  expect((await off.operator.get('/v1/accounts')).headers.get('ratelimit')).toBeNull()
})
