/** Rate limits of the IdP (docs/contract.md#rate-limits). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { encodeAssertion, ethereumWallet } from '../setup/wallets.js'
import { errorMessageOf, TestBrowser } from './browser.js'
import { type IdpResponse, Realm, readResponse, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let spa: TestClient
let web: TestClient
const limits = {
  token_client: { quota: 3, window: 600 },
  token_ip: { quota: 4, window: 600 },
  authorize: { quota: 8, window: 600 },
  login: { quota: 4, window: 600 },
  userinfo: { quota: 2, window: 600 },
  metadata: { quota: 5, window: 600 },
}

beforeAll(async () => {
  app = await startApp({ env: { RATE_LIMITS: JSON.stringify(limits), TRUST_PROXY: '1' } })
  realm = await Realm.create(app)
  spa = await realm.createClient({ application_type: 'spa' })
  web = await realm.createClient({}, { confidential: true })
  await realm.createUser('ada@example.com')
})
afterAll(() => app.close())

/** Sends as many requests as the quota allows and one more, and checks that the last one is rejected. */
async function exhaustQuota(quota: number, send: () => Promise<{ status: number; headers: Headers; body?: unknown }>) {
  for (let i = 0; i < quota; i++) {
    const { status, headers } = await send()
    expect(status).not.toBe(429)
    expect(headers.get('ratelimit-policy')).toBe(`"default";q=${quota};w=600`)
    expect(headers.get('x-ratelimit-limit')).toBe(String(quota))
    expect(Number(headers.get('x-ratelimit-remaining'))).toBe(quota - 1 - i)
  }
  const refused = await send()
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(refused.headers.get('ratelimit')).toBe(`"default";r=0;t=${refused.headers.get('retry-after')}`)
  return refused
}

const from = (ip: string) => ({ 'x-forwarded-for': `6.6.6.6, ${ip}` })

test('token: per client for confidential clients, after authentication', async () => {
  const refused = await exhaustQuota(3, () => realm.refresh(web, 'x'))
  expect(refused.body).toMatchObject({ error: 'too_many_requests' })
  const wrong = await realm.refresh({ ...web, secret: 'x'.repeat(43) }, 'x')
  expect([wrong.status, wrong.body.error]).toEqual([401, 'invalid_client'])
})

test('token: per IP address for public clients; a forged X-Forwarded-For entry does not help', async () => {
  const send = async (ip: string) => {
    const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x', client_id: spa.id })
    return readResponse(await fetch(`${realm.url}/token`, { method: 'POST', body, headers: from(ip) }))
  }
  await exhaustQuota(4, () => send('10.0.0.1'))
  expect((await send('10.0.0.2')).status).toBe(400)
})

test('userinfo: per token', async () => {
  const { access_token, browser } = await realm.signInForTokens(spa, 'ada@example.com')
  await exhaustQuota(2, () => realm.userinfo(access_token))
  const other = await realm.signInForTokens(spa, 'ada@example.com', { prompt: 'none' }, browser)
  expect((await realm.userinfo(other.access_token)).status).toBe(200)
})

test('authorize: per IP address, with an error page', async () => {
  const url = realm.authorizeUrl(spa)
  const refused = await exhaustQuota(8, async () =>
    fetch(url, { redirect: 'manual', headers: { ...from('10.0.0.3'), accept: 'text/html' } }),
  )
  expect(await (refused as Response).text()).toContain('Too many attempts')
})

test('sign-in: per IP address, with a message on the page; the form stays', async () => {
  const browser = new TestBrowser('https://', from('10.0.0.4'))
  let { page } = await realm.openSignInPage(spa, {}, browser)
  for (let i = 0; i < 4; i++) page = await browser.submit(page, { username: `u${i}@example.com`, password: 'wrong' })
  expect(errorMessageOf(page)).toMatch(/do not match/)
  const refused = await browser.submit(page, { username: 'ada@example.com', password: 'wrong' })
  expect([refused.status, errorMessageOf(refused)]).toEqual([429, expect.stringMatching(/Too many attempts/)])
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
})

test('discovery and keys: per IP address', async () => {
  await exhaustQuota(5, async () => fetch(`${realm.url}/jwks.json`, { headers: from('10.0.0.5') }))
})

describe('failed client authentication is limited before the secret is compared', () => {
  let guarded: TestApp
  let there: Realm
  let second: Realm
  let own: TestClient
  let now = Date.now()
  const QUOTA = 10

  beforeAll(async () => {
    const clock = { now: () => now, advance: (by: number) => (now += by) }
    guarded = await startApp({ clock, env: { RATE_LIMITS: 'default', TRUST_PROXY: '1' } })
    there = await Realm.create(guarded)
    const other = await guarded.startSecondApp()
    second = new Realm(other, there.tenant, `${other.idpUrl}/${there.tenant.issuerId}`)
    own = await there.createClient({}, { confidential: true })
  })
  afterAll(() => guarded.close())

  let hosts = 0
  /** An IP address that no other test uses. */
  const fresh = () => `10.1.${Math.floor(++hosts / 250)}.${(hosts % 250) + 1}`
  const wrong = (client: TestClient) => ({ id: client.id, secret: 'w'.repeat(43) })

  async function send(path: string, form: Record<string, string>, ip: string, client?: TestClient, at = there) {
    const headers: Record<string, string> = { ...from(ip) }
    if (client) headers['authorization'] = `Basic ${btoa(`${client.id}:${encodeURIComponent(client.secret ?? '')}`)}`
    const body = new URLSearchParams(form)
    return readResponse(await fetch(`${at.url}${path}`, { method: 'POST', body, headers }))
  }
  const introspect = (client: TestClient, ip: string, at = there) => send('/introspect', { token: 'x' }, ip, client, at)

  async function exhaust(ask: () => Promise<IdpResponse>, quota = QUOTA): Promise<IdpResponse> {
    for (let left = quota; left > 0; left--) {
      const { status, body, headers } = await ask()
      expect([status, body.error]).toEqual([401, 'invalid_client'])
      expect(Number(headers.get('x-ratelimit-remaining'))).toBe(left - 1)
    }
    const refused = await ask()
    expect([refused.status, refused.body.error]).toEqual([429, 'too_many_requests'])
    expect(refused.headers.get('ratelimit')).toBe(`"default";r=0;t=${refused.headers.get('retry-after')}`)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    return refused
  }

  test.each(['/token', '/introspect', '/revoke'])(
    '%s: after 10 wrong secrets the right one is rejected too, from this IP address only, until the limit expires',
    async (path) => {
      const ip = fresh()
      const form: Record<string, string> =
        path === '/token' ? { grant_type: 'refresh_token', refresh_token: 'x' } : { token: 'x' }
      const refused = await exhaust(() => send(path, form, ip, wrong(own)))
      expect((await send(path, form, ip, own)).status).toBe(429)
      expect([200, 400]).toContain((await send(path, form, fresh(), own)).status)
      now += Number(refused.headers.get('retry-after')) * 1000
      expect([200, 400]).toContain((await send(path, form, ip, own)).status)
    },
  )

  test('concurrent requests get no more attempts than sequential ones', async () => {
    const ip = fresh()
    const responses = await Promise.all(Array.from({ length: 60 }, () => introspect(wrong(own), ip)))
    expect(responses.filter(({ status }) => status === 401)).toHaveLength(QUOTA)
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(60 - QUOTA)
  })

  test('two processes share the count of failures', async () => {
    const ip = fresh()
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, i) => introspect(wrong(own), ip, i % 2 === 0 ? there : second)),
    )
    expect(responses.filter(({ status }) => status === 401)).toHaveLength(QUOTA)
    for (const at of [there, second]) expect((await introspect(own, ip, at)).status).toBe(429)
  })

  test('failures from many IP addresses do not block the client at another IP address', async () => {
    const home = fresh()
    for (let count = 0; count < 12; count++) {
      const ip = fresh()
      await Promise.all(Array.from({ length: QUOTA + 1 }, () => introspect(wrong(own), ip)))
    }
    expect((await introspect(own, home)).status).toBe(200)
  })

  test('an unknown client id is limited with the same responses', async () => {
    const unknown = { id: `cli_${'0'.repeat(26)}`, secret: 'w'.repeat(43) }
    const walk = async (client: TestClient) => {
      const ip = fresh()
      const responses: unknown[] = []
      for (let count = 0; count < QUOTA + 2; count++) {
        const { status, body, headers } = await introspect(client, ip)
        const visibleHeaders = [...headers].filter(
          ([name]) => !['x-request-id', 'date', 'content-length'].includes(name),
        )
        responses.push([status, body, Object.fromEntries(visibleHeaders)])
      }
      return responses
    }
    expect(await walk(unknown)).toEqual(await walk(wrong(own)))
  })

  test('an IP address that fails for many clients is blocked for all confidential clients, not for public ones', async () => {
    const ip = fresh()
    const open = await there.createClient({ application_type: 'spa' })
    for (let count = 0; count < 60; count++) {
      const id = `cli_${String(count).padStart(26, '0')}`
      expect((await introspect({ id, secret: 'x' }, ip)).status).toBe(401)
    }
    expect((await introspect(own, ip)).status).toBe(429)
    expect((await introspect({ id: `cli_${'z'.repeat(26)}`, secret: 'x' }, ip)).status).toBe(429)
    const form = { grant_type: 'refresh_token', refresh_token: 'x', client_id: open.id }
    expect((await send('/token', form, ip)).body.error).toBe('invalid_grant')
  })

  test('an IPv6 address counts as its /64 network', async () => {
    const [one, two, three] = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::2', '2001:db8:1:3::1']
    await exhaust(() => introspect(wrong(own), one!))
    expect([(await introspect(own, two!)).status, (await introspect(own, three!)).status]).toEqual([429, 200])
  })

  const kinds: [string, () => Promise<(good: boolean, ip: string) => Promise<IdpResponse>>][] = [
    [
      'client_secret_post',
      async () => (good, ip) =>
        send('/introspect', { token: 'x', client_id: own.id, client_secret: good ? own.secret! : 'wrong' }, ip),
    ],
    [
      'an agent with a secret',
      async () => {
        const { id, secret } = await agentWith({ type: 'secret', name: null })
        return (good, ip) =>
          send('/token', { grant_type: 'client_credentials' }, ip, { id, secret: good ? secret : 'w'.repeat(43) })
      },
    ],
    [
      'an agent with a wallet',
      async () => {
        const wallet = ethereumWallet()
        const { network, address } = wallet
        const { id } = await agentWith({ type: 'wallet', name: null, network, address })
        return async (good, ip) => {
          const { body } = await send('/agents/challenge', { client_id: id, network, address }, ip)
          const signature = (good ? wallet : ethereumWallet()).sign(body.message)
          const client_assertion = encodeAssertion({ message: body.message, signature, type: wallet.type })
          const client_assertion_type = 'urn:gatehouse:params:oauth:client-assertion-type:caip-122'
          const form = { grant_type: 'client_credentials', client_id: id, client_assertion_type, client_assertion }
          return send('/token', form, ip)
        }
      },
    ],
    [
      'an actor of token exchange',
      async () => {
        const grant = 'urn:ietf:params:oauth:grant-type:token-exchange'
        const resource = { resource: 'https://orders.example', scopes: ['stock:read'] }
        const target = { resource: 'https://stock.example', scopes: ['stock:read'] }
        const token_exchange = { subject_resources: [resource], target_resources: [target] }
        const none = { redirect_uris: [], post_logout_redirect_uris: [] }
        const openid = { application_type: 'm2m', grant_types: [grant], token_exchange, ...none }
        const actor = await there.createClient(openid, { confidential: true })
        return (good, ip) => send('/token', { grant_type: grant, subject_token: 'x' }, ip, good ? actor : wrong(actor))
      },
    ],
  ]
  async function agentWith(verifier: object) {
    const { owner, I } = there.tenant
    const { id } = expectStatus(await owner.post(`${I}/agents`, { name: 'Scribe' }), 201).data
    const { data } = expectStatus(await owner.post(`${I}/agents/${id}/verifiers`, verifier), 201)
    return { id, secret: data.secret as string }
  }
  test.each(kinds)('failures of %s are limited in the same way', async (_, make) => {
    const show = await make()
    const ip = fresh()
    await exhaust(() => show(false, ip))
    expect((await show(true, ip)).status).toBe(429)
    expect([200, 400]).toContain((await show(true, fresh())).status)
  })

  test('successful authentications are not counted and not stored', async () => {
    const ip = fresh()
    for (let count = 0; count < 3 * QUOTA; count++) expect((await introspect(own, ip)).status).toBe(200)
    const key = { contains: `idp ${ip}` }
    expect(await guarded.gatehouse.database.prisma.rateLimit.count({ where: { key } })).toBe(0)
    // One failed authentication does not block the successful ones after it.
    await introspect(wrong(own), ip)
    for (let count = 0; count < 3 * QUOTA; count++) expect((await introspect(own, ip)).status).toBe(200)
  })

  test('a request that fails after client authentication is not counted', async () => {
    const ip = fresh()
    const form = { grant_type: 'refresh_token', refresh_token: 'x' }
    for (let count = 0; count < QUOTA + 2; count++)
      expect((await send('/token', form, ip, own)).body.error).toBe('invalid_grant')
  })
})
