/** Rate limits of the IdP (decisions D19), each reached on purpose. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startApp, type TestApp } from '../setup/start-app.js'
import { problemOf, TestBrowser } from './browser.js'
import { answerOf, Realm, type TestClient } from './setup.js'

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
  realm = await Realm.make(app)
  spa = await realm.client({ application_type: 'spa' })
  web = await realm.client({}, { confidential: true })
  await realm.user('ada@example.com')
})
afterAll(() => app.close())

/** As often as the quota says, then once more: that one is refused with the headers of D19. */
async function reach(quota: number, send: () => Promise<{ status: number; headers: Headers; body?: unknown }>) {
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

test('token: per client for a confidential one, once it has authenticated', async () => {
  const refused = await reach(3, () => realm.refresh(web, 'x'))
  expect(refused.body).toMatchObject({ error: 'too_many_requests' })
  const wrong = await realm.refresh({ ...web, secret: 'x'.repeat(43) }, 'x')
  expect([wrong.status, wrong.body.error]).toEqual([401, 'invalid_client'])
})

test('token: per address for public clients; a made-up X-Forwarded-For entry does not help', async () => {
  const send = async (ip: string) => {
    const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x', client_id: spa.id })
    return answerOf(await fetch(`${realm.url}/token`, { method: 'POST', body, headers: from(ip) }))
  }
  await reach(4, () => send('10.0.0.1'))
  expect((await send('10.0.0.2')).status).toBe(400)
})

test('userinfo: per token', async () => {
  const { access_token, browser } = await realm.tokens(spa, 'ada@example.com')
  await reach(2, () => realm.userinfo(access_token))
  const other = await realm.tokens(spa, 'ada@example.com', { prompt: 'none' }, browser)
  expect((await realm.userinfo(other.access_token)).status).toBe(200)
})

test('authorize: per address, told on a page', async () => {
  const url = realm.authorizeUrl(spa)
  const refused = await reach(8, async () =>
    fetch(url, { redirect: 'manual', headers: { ...from('10.0.0.3'), accept: 'text/html' } }),
  )
  expect(await (refused as Response).text()).toContain('Too many attempts')
})

test('signing in: per address, told on the page; the form stays', async () => {
  const browser = new TestBrowser('https://', from('10.0.0.4'))
  let { page } = await realm.begin(spa, {}, browser)
  for (let i = 0; i < 4; i++) page = await browser.submit(page, { username: `u${i}@example.com`, password: 'wrong' })
  expect(problemOf(page)).toMatch(/do not match/)
  const refused = await browser.submit(page, { username: 'ada@example.com', password: 'wrong' })
  expect([refused.status, problemOf(refused)]).toEqual([429, expect.stringMatching(/Too many attempts/)])
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
})

test('discovery and keys: per address', async () => {
  await reach(5, async () => fetch(`${realm.url}/jwks.json`, { headers: from('10.0.0.5') }))
})
