/** Rate limits (decisions D19, security rule 26). */
import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, test } from '@jest/globals'
import { keyWith, makeTenant, must, type Tenant } from '../setup/actors.js'
import { type Answer, type Api, apiAs, type Loose } from '../setup/api.js'
import { startApp, type TestApp, testClock } from '../setup/start-app.js'

const open: TestApp[] = []
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

/** The clock stands still, so that no bucket refills behind the test's back. */
async function limited(
  limits: object,
  env: Record<string, string> = {},
): Promise<{ app: TestApp; tenant: Tenant; advance(by: number): void }> {
  let now = Date.now()
  const clock = {
    ...testClock(),
    now: () => now,
    advance(by: number) {
      now += by
    },
  }
  const app = await startApp({ clock, env: { RATE_LIMITS: JSON.stringify(limits), ...env } })
  open.push(app)
  return { app, tenant: await makeTenant(app), advance: clock.advance }
}

const limitHeaders = (answer: Answer<Loose>) => {
  const [, policy] = /^"default";q=(\d+);w=(\d+)$/.exec(answer.headers.get('ratelimit-policy') ?? '')?.map(Number) ?? []
  const [, r, t] = /^"default";r=(\d+);t=(\d+)$/.exec(answer.headers.get('ratelimit') ?? '')?.map(Number) ?? []
  const trio = ['limit', 'remaining', 'reset'].map((name) => Number(answer.headers.get(`x-ratelimit-${name}`)))
  expect(trio).toEqual([policy, r, t])
  return { q: policy, r, t }
}

async function spendAll(ask: () => Promise<Answer<Loose>>, most = 100): Promise<Answer<Loose>[]> {
  const answers: Answer<Loose>[] = []
  for (let i = 0; i < most; i++) {
    answers.push(await ask())
    if (answers.at(-1)!.status === 429) return answers
  }
  return answers
}

test('each limited answer says how much is left; one too many is 429 with Retry-After equal to t', async () => {
  const { tenant, advance } = await limited({ core_read: { quota: 5, window: 60 } })
  const answers = await spendAll(() => tenant.owner.get(tenant.A))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429])
  expect(answers.map((answer) => limitHeaders(answer).r)).toEqual([4, 3, 2, 1, 0, 0])
  const refused = answers.at(-1)!
  expect(refused.body).toMatchObject({ error: 'too_many_requests', request_id: expect.stringMatching(/^req_/) })
  const { t, q } = limitHeaders(refused)
  expect({ q, retry: refused.headers.get('retry-after') }).toEqual({ q: 5, retry: String(t) })
  // Waiting as long as told is enough, waiting less is not.
  advance(t! * 1000 - 1000)
  expect((await tenant.owner.get(tenant.A)).status).toBe(429)
  advance(1000)
  expect((await tenant.owner.get(tenant.A)).status).toBe(200)
})

test('errors are limited and carry the headers too', async () => {
  const { tenant } = await limited({ core_read: { quota: 3, window: 60 } })
  for (const path of ['/v1/nothing', `${tenant.A}/api-keys/x`, `${tenant.A}?x=1`]) {
    const answer = await tenant.owner.get(path)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    limitHeaders(answer)
  }
  expect((await tenant.owner.get('/v1/nothing')).status).toBe(429)
})

test('reads and writes are counted apart, per credential', async () => {
  const { tenant } = await limited({ core_read: { quota: 4, window: 60 }, core_write: { quota: 8, window: 60 } })
  const other = await keyWith(tenant, {})
  expect((await spendAll(() => tenant.owner.get(tenant.A))).filter(({ status }) => status === 200)).toHaveLength(4)
  expect((await tenant.owner.patch(tenant.A, {})).status).toBe(200)
  expect((await other.get(tenant.A)).status).toBe(200)
})

test('strangers and wrong credentials are counted by address, and cannot spend what a credential has', async () => {
  const { app, tenant } = await limited({ unauthenticated: { quota: 4, window: 60 } })
  const nobody = apiAs(app.baseUrl)
  const [id] = Buffer.from(tenant.owner.authorization!.slice(6), 'base64').toString().split(':') as [string]
  const wrong = apiAs(app.baseUrl, { id, secret: 'x'.repeat(40) })
  const asks: (() => Promise<Answer<Loose>>)[] = [
    () => nobody.get(tenant.A),
    () => wrong.get(tenant.A),
    () => nobody.graphql('{ me { id } }'),
    () => wrong.post(`${tenant.A}/issuers`, {}),
  ]
  for (const ask of asks) {
    const answer = await ask()
    expect(answer.status).toBe(401)
    limitHeaders(answer)
  }
  for (const ask of asks) {
    const answer = await ask()
    expect(answer.status).toBe(429)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect((await tenant.owner.get(tenant.A)).status).toBe(200)
})

test('X-Forwarded-For counts only behind a trusted proxy, and garbage in it makes no 5xx', async () => {
  const { app } = await limited({ unauthenticated: { quota: 2, window: 60 } })
  const direct = await spendAll(() =>
    apiAs(app.baseUrl).get('/v1/accounts', { 'x-forwarded-for': String(Math.random()) }),
  )
  expect(direct.map(({ status }) => status)).toEqual([401, 401, 429])

  const { app: behind } = await limited({ unauthenticated: { quota: 2, window: 60 } }, { TRUST_PROXY: '1' })
  const from = (value: string) => apiAs(behind.baseUrl).get('/v1/accounts', { 'x-forwarded-for': value })
  for (const address of ['198.51.100.1', '198.51.100.2']) {
    const answers = await spendAll(() => from(`203.0.113.9, ${address}`))
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 429])
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
    const answer = await from(value)
    expect({ value: value.slice(0, 20), fine: answer.status === 401 || answer.status === 429 }).toEqual({
      value: value.slice(0, 20),
      fine: true,
    })
  }
})

test.each([1, 2, 4, 10, 60])('a burst at one moment gets all of a quota of %i, and no more', async (quota) => {
  const { app } = await limited({ core_read: { quota, window: 60 } })
  const burst = (count: number) =>
    Promise.all(Array.from({ length: count }, () => app.gatehouse.rateLimiter.spend('core_read', 'one')))
  const verdicts = [...(await burst(quota)), ...(await burst(5))]
  expect(verdicts.map((verdict) => verdict!.allowed)).toEqual([...Array(quota).fill(true), ...Array(5).fill(false)])
})

test('two applications share one bucket, exactly for small limits', async () => {
  const { app, tenant } = await limited({ core_read: { quota: 10, window: 60 } })
  const second = await app.second()
  const bases = [app.baseUrl, second.baseUrl]
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      fetch(`${bases[i % 2]}${tenant.A}`, { headers: { authorization: tenant.owner.authorization! } }),
    ),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(20)
  for (const answer of answers) await answer.text()
})

describe('wrong secrets of API keys are limited before they are compared (security rule 34)', () => {
  const [here, elsewhere] = [{ 'x-forwarded-for': '198.51.100.1' }, { 'x-forwarded-for': '198.51.100.2' }]
  const idOf = (api: Api) => Buffer.from(api.authorization!.slice(6), 'base64').toString().split(':')[0]!
  const guessing = (at: { baseUrl: string }, id: string) => apiAs(at.baseUrl, { id, secret: 'x'.repeat(40) })
  const limits = { auth_failures: { quota: 5, window: 60 }, unauthenticated: { quota: 1000, window: 60 } }

  test('then the right one is refused from this address and no other, and good again in time', async () => {
    const { app, tenant, advance } = await limited(limits, { TRUST_PROXY: '1' })
    const wrong = guessing(app, idOf(tenant.owner))
    const answers = await spendAll(() => wrong.get(tenant.A, here))
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429])
    const refused = await tenant.owner.get(tenant.A, here)
    expect(refused).toMatchObject({ status: 429, body: { error: 'too_many_requests' } })
    expect(refused.headers.get('retry-after')).toBe(String(limitHeaders(refused).t))
    expect((await tenant.owner.get(tenant.A, elsewhere)).status).toBe(200)
    const other = await keyWith(tenant, {})
    expect((await other.get(tenant.A, here)).status).toBe(200)
    advance(limitHeaders(refused).t! * 1000)
    expect((await tenant.owner.get(tenant.A, here)).status).toBe(200)
  })

  test('a parallel burst, at two applications, buys no more; the owner works on', async () => {
    const { app, tenant } = await limited(limits, { TRUST_PROXY: '1' })
    const second = await app.second()
    const id = idOf(tenant.owner)
    const burst = Array.from({ length: 40 }, (_, i) => guessing(i % 2 === 0 ? app : second, id).get(tenant.A, here))
    const own = Array.from({ length: 20 }, () => tenant.owner.get(tenant.A, elsewhere))
    expect((await Promise.all(burst)).filter(({ status }) => status === 401)).toHaveLength(5)
    expect((await Promise.all(own)).map(({ status }) => status)).toEqual(Array(20).fill(200))
  })

  test('ids of keys that do not exist cannot be told apart, and count by address as well', async () => {
    const { app, tenant } = await limited(
      { ...limits, auth_failures_ip: { quota: 8, window: 60 } },
      { TRUST_PROXY: '1' },
    )
    const walk = async (id: string, ip: string) =>
      (await spendAll(() => guessing(app, id).get(tenant.A, { 'x-forwarded-for': ip }))).map(({ status, body }) => [
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
  test('each mutation of a document counts, also inside of a fragment; refused ones change nothing', async () => {
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
      must(await tenant.owner.get(`${tenant.A}/issuers`), 200).data.filter((issuer: Loose) => issuer.name === 'G'),
    ).toHaveLength(3)
  })

  test('queries count as reads and carry the headers', async () => {
    const { tenant } = await limited({ core_read: { quota: 2, window: 60 } })
    const answers = await spendAll(() => tenant.owner.graphql('{ me { id } }'))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(answers.at(-1)!.body.errors[0].extensions).toMatchObject({ code: 'TOO_MANY_REQUESTS', status: 429 })
    expect(answers.at(-1)!.headers.get('retry-after')).toBe(String(limitHeaders(answers.at(-1)!).t))
  })
})

test('the defaults are those of D19; off sends no headers', async () => {
  const app = await startApp({ env: { RATE_LIMITS: 'default' } })
  open.push(app)
  const read: Api['get'] = (path) => app.operator.get(path)
  expect(limitHeaders(await read('/v1/accounts')).q).toBe(1000)
  expect(limitHeaders(await app.operator.post('/v1/accounts')).q).toBe(300)
  expect(limitHeaders(await apiAs(app.baseUrl).get('/v1/accounts')).q).toBe(60)
  const off = await startApp()
  open.push(off)
  expect((await off.operator.get('/v1/accounts')).headers.get('ratelimit')).toBeNull()
})
