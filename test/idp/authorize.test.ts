/**
 * Tests the authorization endpoint: redirects, error pages and their parameters
 * (docs/contract.md#authorization-requests, docs/contract.md#grant-and-client-rules).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startApp, type TestApp } from '../setup/start-app.js'
import { headingOf, TestBrowser } from './browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let spa: TestClient
let web: TestClient
let native: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  await realm.createUser('ada@example.com')
  spa = await realm.createClient({ application_type: 'spa' })
  web = await realm.createClient({ application_type: 'web' }, { confidential: true })
  native = await realm.createClient({
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1:3000/cb', 'com.example.app:/cb'],
  })
})
afterAll(() => app.close())

const challenge = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }

describe('an invalid client or redirect_uri shows an error page and never redirects', () => {
  const none = () => spa
  test.each<[string, () => TestClient, Record<string, string | undefined>]>([
    ['unknown client', none, { client_id: `cli_${'0'.repeat(26)}` }],
    ['client id that PostgreSQL cannot store', none, { client_id: 'cli_\u0000' }],
    ['missing client_id', none, { client_id: undefined }],
    ['another redirect URI', none, { redirect_uri: 'https://evil.example/callback' }],
    ['a longer path', none, { redirect_uri: `${REDIRECT_URI}/x` }],
    ['another port on loopback, confidential client', () => web, { redirect_uri: 'http://127.0.0.1:4711/cb' }],
    ['missing redirect_uri', none, { redirect_uri: undefined }],
    ['markup', none, { redirect_uri: '"><script>alert(1)</script>' }],
  ])('%s', async (_, client, params) => {
    const page = await new TestBrowser('nowhere').open(realm.authorizeUrl(client(), { ...challenge, ...params }))
    expect(page.status).toBe(400)
    expect(page.html).toContain('<h1>')
    expect(page.html).not.toContain('<script')
    expect(page.headers.get('location')).toBeNull()
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
    expect(page.headers.get('cache-control')).toBe('no-store')
  })
})

describe('other errors redirect to the client with state and iss', () => {
  test.each<[string, () => TestClient, Record<string, string | undefined>, string]>([
    ['a public client without PKCE', () => spa, {}, 'invalid_request'],
    ['code_challenge_method plain', () => spa, { ...challenge, code_challenge_method: 'plain' }, 'invalid_request'],
    [
      'a code_challenge without code_challenge_method, which means plain',
      () => spa,
      { code_challenge: challenge.code_challenge },
      'invalid_request',
    ],
    ['a code_challenge that is too short', () => spa, { ...challenge, code_challenge: 'short' }, 'invalid_request'],
    ['the implicit flow', () => spa, { ...challenge, response_type: 'token' }, 'unsupported_response_type'],
    ['hybrid', () => spa, { ...challenge, response_type: 'code id_token', nonce: 'n' }, 'unsupported_response_type'],
    ['missing response_type', () => spa, { ...challenge, response_type: undefined }, 'invalid_request'],
    ['response_mode fragment', () => spa, { ...challenge, response_mode: 'fragment' }, 'unsupported_response_mode'],
    [
      'an unknown response mode',
      () => spa,
      { ...challenge, response_mode: 'web_message' },
      'unsupported_response_mode',
    ],
    ['no scope', () => spa, { ...challenge, scope: undefined }, 'invalid_scope'],
    ['only unknown scopes', () => spa, { ...challenge, scope: 'orders:read' }, 'invalid_scope'],
    ['prompt=none without a session', () => spa, { ...challenge, prompt: 'none' }, 'login_required'],
    ['an unknown prompt', () => spa, { ...challenge, prompt: 'register' }, 'invalid_request'],
    [
      'an audience that is not allowed',
      () => spa,
      { ...challenge, audience: 'https://api.example.com' },
      'invalid_target',
    ],
    [
      'a resource that is not allowed',
      () => spa,
      { ...challenge, resource: 'https://api.example.com' },
      'invalid_target',
    ],
    ['a resource that is not a URI', () => spa, { ...challenge, resource: 'api' }, 'invalid_target'],
    ['request objects', () => spa, { ...challenge, request: 'x.y.z' }, 'request_not_supported'],
    [
      'request_uri, which is never fetched',
      () => spa,
      { ...challenge, request_uri: 'https://evil.example/' },
      'request_uri_not_supported',
    ],
    ['a malformed id_token_hint', () => spa, { ...challenge, id_token_hint: 'x.y.z' }, 'invalid_request'],
  ])('%s', async (_, client, params, error) => {
    const back = redirectParametersOf(await new TestBrowser().open(realm.authorizeUrl(client(), params)))
    expect(back).toMatchObject({ error, state: 'st', iss: realm.url })
    expect(back['code']).toBeUndefined()
  })

  test('org is invalid_request with the policy none, and outside the allowlist', async () => {
    const closed = await realm.createClient({}, { settings: { restrictions: { organizations: { policy: 'none' } } } })
    const listed = await realm.createClient(
      {},
      { settings: { restrictions: { organizations: { policy: 'allowlist' } } } },
    )
    for (const client of [closed, listed]) {
      const url = realm.authorizeUrl(client, { ...challenge, org: `org_${'0'.repeat(26)}` })
      expect(redirectParametersOf(await new TestBrowser().open(url))['error']).toBe('invalid_request')
    }
  })

  test('a user who is not a member of the selected organization gets a code, and invalid_grant when it is exchanged', async () => {
    const { redirect, verifier } = await realm.signIn(spa, 'ada@example.com', { org: `org_${'0'.repeat(26)}` })
    expect(redirect['code']).toBeDefined()
    const response = await realm.exchangeCode(spa, {
      code: redirect['code']!,
      code_verifier: verifier,
      redirect_uri: REDIRECT_URI,
    })
    expect([response.status, response.body.error]).toEqual([400, 'invalid_grant'])
  })
})

describe('redirect_uri and PKCE at the exchange', () => {
  test('a native client on another loopback port must repeat that port at the exchange', async () => {
    const requested = 'http://127.0.0.1:4711/cb'
    const browser = new TestBrowser('http://127.0.0.1:4711/')
    const { redirect, verifier } = await realm.signIn(native, 'ada@example.com', { redirect_uri: requested }, browser)
    const exchange = (redirect_uri: string) =>
      realm.exchangeCode(native, { code: redirect['code']!, code_verifier: verifier, redirect_uri })
    expect((await exchange('http://127.0.0.1:3000/cb')).body.error).toBe('invalid_grant')
    expect((await exchange(requested)).status).toBe(200)
  })

  test.each<[string, (verifier: string) => Record<string, string>]>([
    ['wrong', () => ({ code_verifier: 'x'.repeat(43) })],
    ['missing', () => ({})],
    ['too short', () => ({ code_verifier: 'short' })],
    ['too long', () => ({ code_verifier: 'x'.repeat(129) })],
    ['not base64url', (verifier) => ({ code_verifier: `${verifier}+` })],
  ])(
    'a code_verifier that is %s is invalid_grant, and the code stays valid for the correct code_verifier',
    async (_, params) => {
      const { redirect, verifier } = await realm.signIn(spa, 'ada@example.com')
      const code = redirect['code']!
      const wrong = await realm.exchangeCode(spa, { code, redirect_uri: REDIRECT_URI, ...params(verifier) })
      expect([wrong.status, wrong.body.error]).toEqual([400, 'invalid_grant'])
      expect(
        (await realm.exchangeCode(spa, { code, redirect_uri: REDIRECT_URI, code_verifier: verifier })).status,
      ).toBe(200)
    },
  )

  test('PKCE is optional for a confidential client; a verifier without a challenge is invalid_grant', async () => {
    const plain = await new TestBrowser().open(realm.authorizeUrl(web))
    expect(headingOf(plain)).toBe('Sign in')
    const code = async () => {
      const browser = new TestBrowser()
      const page = await browser.open(realm.authorizeUrl(web))
      return redirectParametersOf(await browser.submit(page, { username: 'ada@example.com', password: PASSWORD }))[
        'code'
      ]!
    }
    const downgraded = await realm.exchangeCode(web, {
      code: await code(),
      redirect_uri: REDIRECT_URI,
      code_verifier: 'x'.repeat(43),
    })
    expect(downgraded.body.error).toBe('invalid_grant')
    expect((await realm.exchangeCode(web, { code: await code(), redirect_uri: REDIRECT_URI })).status).toBe(200)
  })

  test('a code that another client exchanges is invalid_grant', async () => {
    const { redirect, verifier } = await realm.signIn(spa, 'ada@example.com')
    const stolen = await realm.exchangeCode(web, {
      code: redirect['code']!,
      code_verifier: verifier,
      redirect_uri: REDIRECT_URI,
    })
    expect([stolen.status, stolen.body.error]).toEqual([400, 'invalid_grant'])
  })

  test('a code expires after 60 seconds', async () => {
    const { redirect, verifier } = await realm.signIn(spa, 'ada@example.com')
    app.clock.advance(61_000)
    const late = await realm.exchangeCode(spa, {
      code: redirect['code']!,
      code_verifier: verifier,
      redirect_uri: REDIRECT_URI,
    })
    expect(late.body.error).toBe('invalid_grant')
    app.clock.advance(-61_000)
  })
})

describe('single sign-on', () => {
  test('a second client needs no password and gets a session of its own', async () => {
    const first = await realm.signInForTokens(spa, 'ada@example.com')
    const second = await realm.signInForTokens(web, 'ada@example.com', { prompt: 'none' }, first.browser)
    expect(jwtClaims(second.access_token).sid).not.toBe(jwtClaims(first.access_token).sid)
    const again = await realm.signInForTokens(spa, 'ada@example.com', { prompt: 'none' }, first.browser)
    expect(jwtClaims(again.access_token).sid).toBe(jwtClaims(first.access_token).sid)
  })

  test.each([{ prompt: 'login' }, { max_age: '0' }])('%j requires a new sign-in', async (params) => {
    const first = await realm.signInForTokens(spa, 'ada@example.com')
    const { page } = await realm.openSignInPage(spa, params, first.browser)
    expect(headingOf(page)).toBe('Sign in')
    const back = redirectParametersOf(
      await first.browser.submit(page, { username: 'ada@example.com', password: PASSWORD }),
    )
    expect(back['code']).toBeDefined()
  })

  test('prompt=select_account offers the signed-in user or another account', async () => {
    const first = await realm.signInForTokens(spa, 'ada@example.com')
    const same = await realm.openSignInPage(spa, { prompt: 'select_account' }, first.browser)
    expect(headingOf(same.page)).toBe('Choose an account')
    expect(same.page.html).toContain('Continue as ada@example.com')
    expect(redirectParametersOf(await first.browser.submit(same.page, { method: 'same' }))['code']).toBeDefined()
    const other = await realm.openSignInPage(spa, { prompt: 'select_account' }, first.browser)
    const page = await first.browser.submit(other.page, { method: 'other' })
    expect(headingOf(page)).toBe('Sign in')
    const back = redirectParametersOf(
      await first.browser.submit(page, { username: 'ada@example.com', password: PASSWORD }),
    )
    expect(back['code']).toBeDefined()
  })

  test('prompt=consent has no effect for a registered client', async () => {
    const first = await realm.signInForTokens(spa, 'ada@example.com')
    expect(
      redirectParametersOf((await realm.openSignInPage(spa, { prompt: 'consent' }, first.browser)).page)['code'],
    ).toBeDefined()
  })

  test('a sign-in of another user in the same browser signs out the first user, even if a deadlock repeats the transaction', async () => {
    const bobId = await realm.createUser('bob@example.com')
    const { prisma } = app.gatehouse.database
    await prisma.$executeRawUnsafe('CREATE SEQUENCE deadlocks')
    await prisma.$executeRawUnsafe(
      `CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF nextval('deadlocks') = 1 THEN RAISE EXCEPTION 'once' USING ERRCODE = 'deadlock_detected'; END IF;
         RETURN NEW; END $$`,
    )
    await prisma.$executeRawUnsafe(
      `CREATE TRIGGER deadlock BEFORE INSERT ON events FOR EACH ROW
         WHEN (NEW.type = 'user.login.succeeded' AND NEW.user_id = '${bobId}') EXECUTE FUNCTION deadlock()`,
    )
    const ada = await realm.signInForTokens(spa, 'ada@example.com')
    const { page, verifier } = await realm.openSignInPage(spa, { prompt: 'login' }, ada.browser)
    const back = redirectParametersOf(
      await ada.browser.submit(page, { username: 'bob@example.com', password: PASSWORD }),
    )
    const bob = await realm.exchangeCode(spa, {
      code: back['code']!,
      code_verifier: verifier,
      redirect_uri: REDIRECT_URI,
    })
    expect((await realm.userinfo(bob.body.access_token)).body).toEqual({ sub: bobId })
    expect((await realm.userinfo(ada.access_token)).status).toBe(401)
  })
})

test('the public URL comes from the configuration, not from Host and X-Forwarded-*', async () => {
  const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', forwarded: 'host=evil.example' }
  const { page, browser } = await realm.openSignInPage(spa, {}, new TestBrowser('https://', headers))
  expect(page.url.startsWith(`${realm.url}/interaction/`)).toBe(true)
  const back = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
  expect(redirectParametersOf(back)['iss']).toBe(realm.url)
})

test('cookies are signed, httpOnly, SameSite=Lax and limited to the path of the issuer', async () => {
  const response = await fetch(realm.authorizeUrl(spa, challenge), { redirect: 'manual' })
  const lines = response.headers.getSetCookie()
  expect(lines.map((line) => line.split('=')[0]).sort()).toEqual([
    'gatehouse_resume',
    'gatehouse_resume.sig',
    'gatehouse_sign_in',
    'gatehouse_sign_in.sig',
  ])
  for (const line of lines) {
    expect(line).toMatch(/; httponly/i)
    expect(line).toMatch(/; samesite=lax/i)
    expect(line).toContain(`path=/${realm.tenant.issuerId}/`)
  }
})

test('behind a proxy with a path prefix, all URLs and cookies use IDP_URL', async () => {
  const proxied = await startApp({ env: { IDP_URL: 'https://id.example.com/auth', TRUST_PROXY: '1' } })
  try {
    const realm = await Realm.create(proxied)
    await realm.createUser('ada@example.com')
    const client = await realm.createClient({ application_type: 'spa' })
    const { issuerId } = realm.tenant
    const origin = `http://127.0.0.1:${proxied.gatehouse.config.idpPort}`
    const here = (url: string) => url.replace('https://id.example.com', origin)
    // A proxy may forward the path with the prefix or without it.
    for (const path of [
      `/auth/${issuerId}/jwks.json`,
      `/${issuerId}/jwks.json`,
      `/.well-known/openid-configuration/auth/${issuerId}`,
    ]) {
      expect((await fetch(`${origin}${path}`)).status).toBe(200)
    }
    const first = await fetch(here(realm.authorizeUrl(client, challenge)), {
      redirect: 'manual',
      headers: { host: 'evil.example' },
    })
    const page = first.headers.get('location')!
    expect(page).toMatch(new RegExp(`^/auth/${issuerId}/interaction/`))
    const cookies = first.headers.getSetCookie()
    for (const line of cookies) {
      expect(line).toMatch(/; secure/)
      expect(line).toContain(`path=/auth/${issuerId}/`)
    }
    const cookie = cookies.map((line) => line.split(';')[0]).join('; ')
    const html = await (await fetch(`${origin}${page}`, { headers: { cookie } })).text()
    const csrf = /name="csrf" value="([^"]+)"/.exec(html)![1]!
    const body = new URLSearchParams({ csrf, username: 'ada@example.com', password: PASSWORD })
    const response = await fetch(`${origin}${page}`, { method: 'POST', body, headers: { cookie }, redirect: 'manual' })
    const resume = response.headers.get('location')!
    expect(resume.startsWith(`https://id.example.com/auth/${issuerId}/authorize/`)).toBe(true)
    const back = await fetch(here(resume), { headers: { cookie }, redirect: 'manual' })
    expect(back.headers.get('location')).toContain(
      `iss=${encodeURIComponent(`https://id.example.com/auth/${issuerId}`)}`,
    )
    const session = back.headers.getSetCookie().find((line) => line.startsWith('gatehouse_session='))
    expect(session).toMatch(new RegExp(`path=/auth/${issuerId};.*secure`))
  } finally {
    await proxied.close()
  }
})
