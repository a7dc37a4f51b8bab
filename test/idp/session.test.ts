/**
 * `/session`, `session_state` and the session check (docs/contract.md#session-fields, docs/contract.md#session-check).
 */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { TestBrowser } from './browser.js'
import { type IdpResponse, jwtClaims, PASSWORD, REDIRECT_URI, Realm, readResponse, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let web: TestClient
let spa: TestClient
const ORIGIN = new URL(REDIRECT_URI).origin

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  web = await realm.createClient({ allowed_audiences: ['https://api.example.com'] }, { confidential: true })
  spa = await realm.createClient()
})
afterAll(() => app.close())

let people = 0
const createUser = async (): Promise<string> => {
  const username = `person${people++}@example.com`
  await realm.createUser(username)
  return username
}

describe('/session', () => {
  const ask = async (token: string | undefined, init: RequestInit = {}): Promise<IdpResponse> =>
    readResponse(
      await fetch(`${realm.url}/session`, {
        ...init,
        headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...(init.headers as object) },
      }),
    )

  test.each(['GET', 'POST'])('%s returns the session, without ids and tokens', async (method) => {
    const tokens = await realm.signInForTokens(
      web,
      await createUser(),
      {},
      new TestBrowser('https://', { 'user-agent': 'Test/1' }),
    )
    const { status, body, headers } = await ask(tokens.access_token, { method })
    expect(status).toBe(200)
    const now = app.clock.now()
    expect(body).toEqual({
      status: 'active',
      auth_time: jwtClaims(tokens.access_token).auth_time,
      acr: 'urn:svc:assurance:loa1',
      amr: ['pwd'],
      created_at: expect.any(Number),
      last_activity_at: expect.any(Number),
      expires_at: expect.any(Number),
      device: { user_agent: 'Test/1' },
    })
    expect(Math.abs(body.created_at - now)).toBeLessThan(60_000)
    expect(body.expires_at).toBeGreaterThan(now)
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test('the token can be in a form (RFC 6750 section 2.2), but not repeated', async () => {
    const { access_token } = await realm.signInForTokens(web, await createUser())
    const body = () => new URLSearchParams({ access_token })
    expect((await ask(undefined, { method: 'POST', body: body() })).status).toBe(200)
    const twice = await ask(access_token, { method: 'POST', body: body() })
    expect([twice.status, twice.body.error]).toEqual([400, 'invalid_request'])
  })

  test('no token is 401 without an error code, an invalid token is invalid_token', async () => {
    const none = await ask(undefined)
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer realm="${realm.url}", DPoP realm="${realm.url}", algs="ES256 PS256 EdDSA Ed25519"`,
    ])
    const bad = await ask('not.a.token')
    expect([bad.status, bad.body.error]).toEqual([401, 'invalid_token'])
    expect(bad.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  test.each<[string, () => Promise<string>]>([
    [
      'of another audience',
      async () =>
        (await realm.signInForTokens(web, await createUser(), { audience: 'https://api.example.com' })).access_token,
    ],
    ['an ID token', async () => (await realm.signInForTokens(web, await createUser())).id_token],
    ['a refresh token', async () => (await realm.signInForTokens(web, await createUser())).refresh_token],
    [
      'of a client without a session',
      async () => {
        const m2m = await realm.createClient(
          { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] },
          { confidential: true },
        )
        return (await realm.postForm('/token', m2m, { grant_type: 'client_credentials' })).body.access_token
      },
    ],
    [
      'of another issuer',
      async () => {
        const other = await Realm.create(app, 'Elsewhere')
        await other.createUser('ada@example.com')
        return (await other.signInForTokens(await other.createClient(), 'ada@example.com')).access_token
      },
    ],
    [
      'of a session that was revoked',
      async () => {
        const { access_token } = await realm.signInForTokens(web, await createUser())
        const { owner, I } = realm.tenant
        expectStatus(await owner.post(`${I}/sessions/${jwtClaims(access_token).sid}/revoke`, { reason: 'other' }), 200)
        return access_token
      },
    ],
    [
      'of a session that is suspended',
      async () => {
        const { access_token } = await realm.signInForTokens(web, await createUser())
        const { owner, I } = realm.tenant
        expectStatus(await owner.post(`${I}/sessions/${jwtClaims(access_token).sid}/suspend`, { reason: 'other' }), 200)
        return access_token
      },
    ],
  ])('a token %s: 401 invalid_token', async (_, make) => {
    const { status, body } = await ask(await make())
    expect([status, body.error]).toEqual([401, 'invalid_token'])
  })

  test('scripts can read the response only from an allowed origin of the client', async () => {
    const { access_token } = await realm.signInForTokens(spa, await createUser())
    const from = (origin: string) => ask(access_token, { headers: { origin } })
    const good = await from(ORIGIN)
    expect([good.status, good.headers.get('access-control-allow-origin')]).toEqual([200, ORIGIN])
    const evil = await from('https://evil.example.net')
    expect([evil.status, evil.headers.get('access-control-allow-origin')]).toEqual([400, null])
    const response = await ask(undefined, { method: 'OPTIONS', headers: { origin: ORIGIN } })
    const allowed = response.headers.get('access-control-allow-headers')
    expect([response.status, allowed]).toEqual([204, 'Authorization, DPoP'])
  })

  test('PUT is 405', async () => expect((await ask(undefined, { method: 'PUT' })).status).toBe(405))
})

describe('session_state and /check-session', () => {
  interface Question {
    client_id?: unknown
    session_state?: unknown
    origin?: unknown
  }
  const check = async (browser: TestBrowser, question: Question | string, type = 'application/json') =>
    readResponse(
      await browser.request(`${realm.url}/check-session`, {
        method: 'POST',
        headers: { 'content-type': type },
        body: typeof question === 'string' ? question : JSON.stringify(question),
      }),
    )
  const signedIn = async (client = spa, browser = new TestBrowser(), username?: string) => {
    const { redirect } = await realm.signIn(client, username ?? (await createUser()), {}, browser)
    return { browser, question: { client_id: client.id, session_state: redirect['session_state']!, origin: ORIGIN } }
  }

  test('session_state is the salted hash of client, origin and browser state', async () => {
    const { browser, question } = await signedIn()
    const [hash, salt] = question.session_state.split('.')
    const state = browser.cookies().find(({ name }) => name === 'gatehouse_state')!.value
    const text = `${spa.id} ${ORIGIN} ${state} ${salt}`
    expect(hash).toBe(createHash('sha256').update(text).digest('base64url'))
    expect(question.session_state).not.toContain(' ')
  })

  test('valid is true for the client and browser of the session_state, and false otherwise', async () => {
    const { browser, question } = await signedIn()
    expect(await check(browser, question)).toMatchObject({ status: 200, body: { valid: true } })
    const { question: others } = await signedIn()
    expect((await check(browser, others)).body).toEqual({ valid: false })
    expect((await check(new TestBrowser(), question)).body).toEqual({ valid: false })
    for (const session_state of ['x', 'x.y', `${question.session_state}x`, '.', 'ä.ö']) {
      expect((await check(browser, { ...question, session_state })).body).toEqual({ valid: false })
    }
    const { redirect } = await realm.signIn(web, 'x', {}, browser)
    expect((await check(browser, { ...question, session_state: redirect['session_state']! })).body.valid).toBe(false)
    expect(
      (await check(browser, { ...question, client_id: web.id, session_state: redirect['session_state'] })).body.valid,
    ).toBe(true)
  })

  test.each<[string, (now: { browser: TestBrowser; sid: string; hint: string }) => Promise<unknown>]>([
    ['a logout', ({ browser, hint }) => browser.open(`${realm.url}/logout?id_token_hint=${hint}`)],
    [
      'revocation by an administrator',
      ({ sid }) => realm.tenant.owner.post(`${realm.tenant.I}/sessions/${sid}/revoke`, { reason: 'admin_action' }),
    ],
    [
      'a suspension',
      ({ sid }) => realm.tenant.owner.post(`${realm.tenant.I}/sessions/${sid}/suspend`, { reason: 'risk_review' }),
    ],
    [
      'a sign-in of another user',
      async ({ browser }) => realm.signIn(spa, await createUser(), { prompt: 'login' }, browser),
    ],
  ])('after %s the session_state is no longer valid', async (_, end) => {
    const browser = new TestBrowser()
    const username = await createUser()
    const tokens = await realm.signInForTokens(spa, username, {}, browser)
    const { question } = await signedIn(spa, browser, username)
    expect((await check(browser, question)).body).toEqual({ valid: true })
    await end({ browser, sid: jwtClaims(tokens.access_token).sid, hint: tokens.id_token })
    expect((await check(browser, question)).body).toEqual({ valid: false })
  })

  const json = 'application/json'
  test.each<[string, Question | string, string]>([
    ['no client_id', { session_state: 'x.y', origin: ORIGIN }, json],
    ['no session_state', { client_id: 'c', origin: ORIGIN }, json],
    ['no origin', { client_id: 'c', session_state: 'x.y' }, json],
    ['a number', { client_id: 1, session_state: 'x.y', origin: ORIGIN }, json],
    ['a list', { client_id: ['c'], session_state: 'x.y', origin: ORIGIN }, json],
    ['an unknown client', { client_id: 'cli_unknown', session_state: 'x.y', origin: ORIGIN }, json],
    ['not an object', 'null', json],
    ['no JSON', '{', json],
    ['a form', 'client_id=x', 'application/x-www-form-urlencoded'],
    ['plain text', '{}', 'text/plain'],
    ['a NUL', { client_id: 'c\0', session_state: 'x.y', origin: ORIGIN }, json],
  ])('%s: 400 invalid_request', async (_, question, type) => {
    const { status, body } = await check(new TestBrowser(), question, type)
    expect([status, body.error]).toEqual([400, 'invalid_request'])
  })

  test.each(['https://evil.example.net', `${ORIGIN}.evil.example.net`, REDIRECT_URI, 'null', ORIGIN.toUpperCase()])(
    'the origin %s is not that of a registered redirect URI: 400',
    async (origin) => {
      const { browser, question } = await signedIn()
      const { status, body } = await check(browser, { ...question, origin })
      expect([status, body.error]).toEqual([400, 'invalid_request'])
    },
  )

  test('a redirect URI with a private-use scheme gets no session_state, because it has no origin', async () => {
    const scheme = 'com.example.app:/callback'
    const native = await realm.createClient({ application_type: 'native', redirect_uris: [scheme] })
    const browser = new TestBrowser('com.example')
    const { page } = await realm.openSignInPage(native, { redirect_uri: scheme }, browser)
    const username = await createUser()
    const back = await browser.submit(page, { username, password: PASSWORD })
    expect(new URL(back.url).searchParams.has('code')).toBe(true)
    expect(new URL(back.url).searchParams.has('session_state')).toBe(false)
    const question = { client_id: native.id, session_state: 'x.y', origin: 'null' }
    expect((await check(browser, question)).status).toBe(400)
  })

  test('any site can embed check-session.html, and its CSP allows only its own script', async () => {
    const { status, headers, body } = await readResponse(await fetch(`${realm.url}/check-session.html`))
    expect(status).toBe(200)
    const policy = headers.get('content-security-policy')!
    const script = /<script>([\s\S]*)<\/script>/.exec(body)![1]!
    expect(policy).toContain(`script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`)
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain('frame-ancestors *')
    expect(headers.get('x-frame-options')).toBeNull()
    const elsewhere = await fetch(`${app.idpUrl}/iss_${'0'.repeat(26)}/check-session.html`)
    expect(elsewhere.status).toBe(404)
  })

  test('over https browsers send the cookie from iframes, and scripts cannot read it', async () => {
    const secure = await startApp({ databaseUrl: app.databaseUrl, env: { IDP_URL: 'https://id.example.com' } })
    const there = new Realm(app, realm.tenant, `https://id.example.com/${realm.tenant.issuerId}`)
    const cookies: string[] = []
    const send = (async (url: string, init: RequestInit) => {
      const response = await fetch(url.replace('https://id.example.com', secure.idpUrl), init)
      cookies.push(...response.headers.getSetCookie())
      return response
    }) as typeof fetch
    await there.signIn(spa, await createUser(), {}, new TestBrowser('https://app.', {}, send))
    const [cookie] = cookies.filter((line) => line.startsWith('gatehouse_state='))
    expect(cookie).toMatch(/; path=\/iss_\w+; samesite=none; secure; httponly$/i)
    await secure.close()
  })
})
