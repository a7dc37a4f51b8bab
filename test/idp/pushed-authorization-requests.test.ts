/** Pushed authorization requests (RFC 9126, docs/contract.md#pushed-authorization-requests). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startApp, type TestApp } from '../setup/start-app.js'
import { headingOf, TestBrowser } from './browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let web: TestClient
let spa: TestClient

const ADA = 'ada@example.com'

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  await realm.createUser(ADA)
  web = await realm.createClient({ application_type: 'web' }, { confidential: true })
  spa = await realm.createClient({ application_type: 'spa' })
})
afterAll(() => app.close())

const request = { response_type: 'code', redirect_uri: REDIRECT_URI, scope: 'openid email offline_access', state: 'st' }
const push = (client: TestClient | undefined, params: Record<string, string> = {}) =>
  realm.postForm('/par', client, { ...request, ...params })

/** Returns the URL of the authorization request with a pushed request. */
const pushedUrl = (client: TestClient, request_uri: string, params: Record<string, string> = {}) =>
  `${realm.url}/authorize?${new URLSearchParams({ client_id: client.id, request_uri, ...params })}`

test('a pushed request signs the user in with all its parameters', async () => {
  const pushed = await push(web, { claims: '{"id_token":{"email":null}}', nonce: 'n', ui_locales: 'de' })
  expect(pushed).toMatchObject({ status: 201, body: { expires_in: 60 } })
  expect(pushed.headers.get('cache-control')).toBe('no-store')
  expect(pushed.body).toEqual({
    request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:/),
    expires_in: 60,
  })
  const browser = realm.newBrowser()
  const page = await browser.open(pushedUrl(web, pushed.body.request_uri))
  expect(headingOf(page)).toBe('Anmelden')
  const { code, state } = redirectParametersOf(await browser.submit(page, { username: ADA, password: PASSWORD }))
  expect(state).toBe('st')
  const { body } = await realm.exchangeCode(web, { code: code!, redirect_uri: REDIRECT_URI })
  expect(body.scope.split(' ').sort()).toEqual(['email', 'offline_access', 'openid'])
  expect(jwtClaims(body.id_token)).toMatchObject({ nonce: 'n', email: ADA })
})

test('parameters of the authorization request do not change the pushed request', async () => {
  const { body } = await push(web)
  const { browser } = await realm.signIn(web, ADA)
  const url = pushedUrl(web, body.request_uri, {
    state: 'other',
    redirect_uri: 'https://evil.example/',
    scope: 'openid',
  })
  const back = await browser.open(url)
  expect(back.url).toContain(REDIRECT_URI)
  expect(redirectParametersOf(back)).toMatchObject({ state: 'st' })
})

describe('a request_uri is for one sign-in of one client at one issuer', () => {
  test('a used request_uri is refused', async () => {
    const { body } = await push(web)
    const { browser } = await realm.signIn(web, ADA)
    expect(redirectParametersOf(await browser.open(pushedUrl(web, body.request_uri)))['code']).toBeDefined()
    const again = await browser.open(pushedUrl(web, body.request_uri))
    expect([again.status, again.html]).toEqual([400, expect.stringContaining('already used')])
  })

  test('of two sign-ins with one request_uri, which run at the same time, one succeeds', async () => {
    const { body } = await push(web)
    const browsers = await Promise.all([1, 2, 3, 4].map(async () => (await realm.signIn(web, ADA)).browser))
    const pages = await Promise.all(browsers.map((browser) => browser.open(pushedUrl(web, body.request_uri))))
    expect(pages.map(({ html }) => html === '').sort()).toEqual([false, false, false, true])
    for (const { html, status } of pages) expect(html === '' || status === 400).toBe(true)
  })

  test('it is refused after 60 seconds, but not while the user signs in', async () => {
    const [late, open] = [(await push(web)).body.request_uri, (await push(web)).body.request_uri]
    const browser = realm.newBrowser()
    const page = await browser.open(pushedUrl(web, open))
    app.clock.advance(61_000)
    expect((await realm.newBrowser().open(pushedUrl(web, late))).html).toContain('request_uri is invalid, expired')
    const result = await browser.submit(page, { username: ADA, password: PASSWORD })
    expect(redirectParametersOf(result)['code']).toBeDefined()
    expect((await browser.open(pushedUrl(web, open))).html).toContain('invalid_request_uri')
  })

  test('another client and another issuer refuse it', async () => {
    const { body } = await push(web)
    const page = await new TestBrowser('nowhere').open(pushedUrl(spa, body.request_uri))
    expect([page.status, page.html]).toEqual([400, expect.stringContaining('invalid_request_object')])
    const other = await Realm.create(app)
    const client = await other.createClient()
    const url = `${other.url}/authorize?${new URLSearchParams({ client_id: client.id, request_uri: body.request_uri })}`
    expect((await new TestBrowser('nowhere').open(url)).html).toContain('invalid_request_uri')
  })
})

describe('a pushed request is checked like an authorization request', () => {
  test.each<[string, () => TestClient | undefined, Record<string, string>, number, string]>([
    ['a wrong secret', () => ({ ...web, secret: 'x'.repeat(32) }), {}, 401, 'invalid_client'],
    ['a confidential client without secret', () => ({ id: web.id, secret: undefined }), {}, 401, 'invalid_client'],
    ['no client', () => undefined, {}, 401, 'invalid_client'],
    ['another redirect URI', () => web, { redirect_uri: 'https://evil.example/' }, 400, 'invalid_request'],
    ['no redirect URI', () => web, { redirect_uri: '' }, 400, 'invalid_request'],
    ['a public client without PKCE', () => spa, {}, 400, 'invalid_request'],
    ['the implicit flow', () => web, { response_type: 'token' }, 400, 'unsupported_response_type'],
    ['response_mode fragment', () => web, { response_mode: 'fragment' }, 400, 'unsupported_response_mode'],
    [
      'a request_uri',
      () => web,
      { request_uri: 'urn:ietf:params:oauth:request_uri:x' },
      400,
      'request_uri_not_supported',
    ],
    ['a request object', () => web, { request: 'x.y.z' }, 400, 'request_not_supported'],
    ['no known scope', () => web, { scope: 'orders:read' }, 400, 'invalid_scope'],
    ['audience and resource', () => web, { audience: 'a', resource: 'https://a.example' }, 400, 'invalid_target'],
    ['an organization that is not an id', () => web, { org: '\u0001'.repeat(200) }, 400, 'invalid_request'],
    ['claims that are not JSON', () => web, { claims: '{' }, 400, 'invalid_request'],
  ])('%s', async (_, client, params, status, error) => {
    const response = await push(client(), params)
    expect([response.status, response.body.error]).toEqual([status, error])
    expect(Object.keys(response.body).sort()).toEqual(['error', 'error_description'])
  })

  test('GET is 405', async () => {
    expect((await fetch(`${realm.url}/par`)).status).toBe(405)
  })
})

test('a client with require_pushed_authorization_requests cannot use the authorization endpoint directly', async () => {
  const client = await realm.createClient({ require_pushed_authorization_requests: true }, { confidential: true })
  const direct = redirectParametersOf(await new TestBrowser().open(realm.authorizeUrl(client)))
  expect(direct).toMatchObject({ error: 'invalid_request', state: 'st' })
  const { body } = await push(client)
  expect(headingOf(await realm.newBrowser().open(pushedUrl(client, body.request_uri)))).toBe('Sign in')
})

test('require_pushed_authorization_requests must be a boolean', async () => {
  const settings = { openid: { redirect_uris: [REDIRECT_URI], require_pushed_authorization_requests: 'yes' } }
  const body = { name: 'x', type: 'external', confidential: true, settings }
  const response = await realm.tenant.owner.post(`${realm.tenant.I}/clients`, body)
  expect(response.status).toBe(400)
  expect(response.text).toContain('settings.openid.require_pushed_authorization_requests')
})
