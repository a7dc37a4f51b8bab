/**
 * The kinds of upstream methods, each with a local server that behaves like the real provider
 * (docs/contract.md#authentication-methods).
 */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { exportJWK, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import Provider from 'oidc-provider'
import { expectStatus } from '../../setup/actors.js'
import type { AnyJson } from '../../setup/api.js'
import { freePorts, startApp, type TestApp } from '../../setup/start-app.js'
import { errorMessageOf, headingOf, TestBrowser } from '../browser.js'
import { Realm } from '../realm.js'
import {
  DENIED_MESSAGE,
  expectRefusal,
  FAILED_MESSAGE,
  isSignedIn,
  type Method,
  UpstreamFixture,
} from './upstream-fixture.js'
import {
  AuthorizationCodes,
  type CannedResponse,
  createKeyPair,
  FakeOidc,
  FakeServer,
  SECRET,
} from './upstream-providers.js'

let app: TestApp
let fixture: UpstreamFixture
beforeAll(async () => {
  app = await startApp({ env: { ALLOW_PRIVATE_NETWORKS: 'true', LOG_LEVEL: 'silent' } })
  fixture = await UpstreamFixture.create(app)
}, 60_000)
afterAll(() => app?.close())

const newest = async (): Promise<AnyJson> => (await fixture.listUsers()).at(-1)!

describe('oidc: a standard oidc-provider', () => {
  let server: Server
  let method: Method
  afterAll(() => new Promise((done) => server.close(done)))
  beforeAll(async () => {
    const [port] = await freePorts(1)
    const url = `http://127.0.0.1:${port}`
    method = await fixture.addOidcMethod(url)
    const provider = new Provider(url, {
      clients: [{ client_id: 'us', client_secret: SECRET, redirect_uris: [method.callback_url] }],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      findAccount: (_, id) => ({
        accountId: id,
        claims: () => ({ sub: id, name: 'Grace', email: `${id}@stock.example`, email_verified: true }),
      }),
      pkce: { required: () => true },
      cookies: { keys: ['some key of the upstream'] },
    })
    server = createServer(provider.callback())
    await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  })

  test('the first sign-in creates a user, and the second one signs in the same user', async () => {
    for (let times = 1; times <= 2; times++) {
      const browser = new TestBrowser()
      const login = await fixture.signInThrough(method, browser)
      expect(login.url).toContain('/interaction/')
      const consent = await browser.submit(login, { login: 'grace', password: 'any' })
      expect(isSignedIn(await browser.submit(consent, {}))).toBe(true)
    }
    // oidc-provider returns the profile claims only at userinfo, not in the ID token.
    const theirs = (await fixture.listUsers()).filter(({ profile }) => profile['name'] === 'Grace')
    expect(theirs).toMatchObject([{ username: 'grace@stock.example', emailVerified: true }])
  })

  test('a user who cancels at the provider sees a message', async () => {
    const browser = new TestBrowser()
    const login = await fixture.signInThrough(method, browser)
    const abort = /href="([^"]+abort)"/.exec(login.html)?.[1]
    expectRefusal(await browser.open(new URL(abort!, login.url).href), DENIED_MESSAGE)
  })
})

describe('oidc: how the secret is sent', () => {
  test.each([
    ['Basic, if the provider says nothing', undefined, {}, 'basic'],
    ['Basic, if it supports both', ['client_secret_post', 'client_secret_basic'], {}, 'basic'],
    ['in the form, if it supports only that', ['client_secret_post'], {}, 'post'],
    ['as the settings say', undefined, { token_endpoint_auth_method: 'client_secret_post' }, 'post'],
  ])('%s', async (_, methods, settings, expected) => {
    const provider = await new FakeOidc().pending()
    try {
      provider.overrides = { metadata: (m) => ({ ...m, token_endpoint_auth_methods_supported: methods }) }
      expect(isSignedIn(await fixture.signInThrough(await fixture.addOidcMethod(provider.url, {}, settings)))).toBe(
        true,
      )
      const { headers, params } = provider.lastRequestTo('/token')
      expect([headers.authorization?.slice(0, 6), params.get('client_secret')]).toEqual(
        expected === 'basic' ? ['Basic ', null] : [undefined, SECRET],
      )
    } finally {
      await provider.close()
    }
  })
})

describe('github', () => {
  const codes = new AuthorizationCodes()
  let user: AnyJson = {}
  let emails: CannedResponse = {}
  const github = new FakeServer({
    '/login/oauth/authorize': (request) => codes.issue(request),
    '/login/oauth/access_token': ({ params }) => {
      const fits = params.get('client_id') === 'us' && params.get('client_secret') === SECRET && codes.redeem(params)
      // GitHub sends token errors with status 200.
      if (!fits) return { json: { error: 'bad_verification_code', error_description: 'secret-of-upstream' } }
      return { json: { access_token: 'gho', token_type: 'bearer', scope: 'read:user,user:email' } }
    },
    '/api/v3/user': ({ headers }) => (headers.authorization === 'Bearer gho' ? { json: user } : { status: 401 }),
    '/api/v3/user/emails': () => emails,
  })
  let method: Method
  beforeAll(async () => {
    await github.pending()
    method = await fixture.addMethod('github', { client_id: 'us', client_secret: SECRET, base_url: github.url })
  })
  afterAll(() => github.close())
  afterEach(() => {
    emails = {}
  })

  const list = (...rows: [email: string, primary: boolean, verified: boolean][]): CannedResponse => ({
    json: rows.map(([email, primary, verified]) => ({ email, primary, verified })),
  })

  test('by user id, with the primary verified address; a renamed and reused login name is another user', async () => {
    user = {
      id: 583231,
      login: 'octocat',
      name: 'Mona',
      avatar_url: 'https://avatars.example/1',
      email: 'public@x.example',
    }
    emails = list(['other@x.example', false, true], ['mona@x.example', true, true])
    expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
    const mona = await newest()
    expect(mona).toMatchObject({
      username: 'mona@x.example',
      profile: { name: 'Mona', picture: 'https://avatars.example/1' },
      verifiers: [{ type: 'oauth', upstreamSubject: '583231', upstreamIssuer: github.url }],
    })
    const params = github.lastRequestTo('/login/oauth/authorize').params
    expect([params.get('scope'), params.get('code_challenge_method')]).toEqual(['read:user user:email', 'S256'])

    user = { id: 2, login: 'octocat', name: 'Another user' }
    emails = list(['else@x.example', true, true])
    expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
    expect((await newest())['id']).not.toBe(mona['id'])
  })

  test.each([
    ['not verified', list(['g1@x.example', true, false], ['g2@x.example', false, true])],
    ['hidden', { status: 404, json: { message: 'Not Found' } }],
    ['not a list', { json: { message: 'x' } }],
  ])('no verified primary address: %s', async (name, said) => {
    user = { id: 1000 + name.length, email: 'public@x.example' }
    emails = said
    expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
    expect(await newest()).toMatchObject({ usernameType: 'unique', emailVerified: false, profile: {} })
  })

  test.each([
    ['no user id', { login: 'octocat' }],
    ['null', { id: null }],
    ['text', { id: '583231' }],
    ['nothing', { id: 0 }],
    ['a user id that is too large', { id: 1e300 }],
    ['a response that is a list', []],
  ])('no user: %s', async (_, response) => {
    user = response
    expectRefusal(await fixture.signInThrough(method), FAILED_MESSAGE)
  })

  test('an error with status 200', async () => {
    const other = await fixture.addMethod('github', { client_id: 'them', client_secret: SECRET, base_url: github.url })
    const page = await fixture.signInThrough(other)
    expectRefusal(page, FAILED_MESSAGE)
    expect(page.html).not.toContain('secret-of-upstream')
  })
})

describe('apple', () => {
  const codes = new AuthorizationCodes()
  const signing = createKeyPair('rsa')
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  let person: AnyJson = {}
  let lie: (claims: AnyJson) => AnyJson = (claims) => claims
  const apple: FakeServer = new FakeServer({
    '/auth/authorize': (request) => codes.issue(request),
    '/auth/keys': async () => ({
      json: { keys: [{ ...(await exportJWK(signing.publicKey)), kid: 'a', alg: 'RS256' }] },
    }),
    '/auth/token': async ({ params }) => {
      const { payload, protectedHeader } = await jwtVerify(
        params.get('client_secret')!,
        createPublicKey(key.privateKey),
      )
      const code = codes.redeem(params)
      const right = { iss: 'TEAM', sub: 'com.example.us', aud: apple.url }
      const fits = Object.entries(right).every(([name, value]) => payload[name] === value)
      const brief = payload.exp! - payload.iat! <= 600
      if (!fits || !brief || protectedHeader.kid !== 'KEY' || protectedHeader.alg !== 'ES256' || !code)
        return { status: 400, json: { error: 'invalid_client' } }
      const now = Math.floor(Date.now() / 1000)
      const claims = lie({
        iss: apple.url,
        aud: 'com.example.us',
        iat: now,
        exp: now + 60,
        nonce: code.nonce,
        ...person,
      })
      const token = new SignJWT(claims as JWTPayload).setProtectedHeader({ alg: 'RS256', kid: 'a' })
      const id_token = await token.sign(signing.privateKey)
      return { json: { access_token: 'a', token_type: 'Bearer', expires_in: 3600, refresh_token: 'r', id_token } }
    },
  })
  let method: Method
  beforeAll(async () => {
    await apple.pending()
    const private_key = key.privateKey.export({ type: 'pkcs8', format: 'pem' })
    const settings = { client_id: 'com.example.us', team_id: 'TEAM', key_id: 'KEY', private_key, issuer_url: apple.url }
    method = await fixture.addMethod('apple', settings)
  })
  afterAll(() => apple.close())

  /** Signs in and posts the response as Apple's page does: a cross-site form, without the cookies of the issuer. */
  async function through(form: Record<string, string> = {}) {
    const { address, browser } = await fixture.startUpstreamSignIn(method)
    expect(address.searchParams.get('response_mode')).toBe('form_post')
    const body = new URLSearchParams([
      ...(await fixture.redirectFromProvider(address)).searchParams,
      ...Object.entries(form),
    ])
    const response = await fetch(method.callback_url, { method: 'POST', body, redirect: 'manual' })
    expect([response.status, response.headers.getSetCookie(), response.headers.get('referrer-policy')]).toEqual([
      303,
      [],
      'no-referrer',
    ])
    const location = response.headers.get('location')!
    expect(location).not.toContain(body.get('code'))
    expect((await new TestBrowser().open(location)).status).toBe(400)
    return { browser, page: await browser.open(location) }
  }
  const named = {
    user: JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' }, email: 'lie@evil.example' }),
  }

  test('the name is taken from the form of the first sign-in, and the address only from the signed ID token', async () => {
    person = { sub: '001.a', email: 'ada@private.example', email_verified: 'true', is_private_email: 'true' }
    expect(isSignedIn((await through(named)).page)).toBe(true)
    const ada = await newest()
    expect(ada).toMatchObject({
      username: 'ada@private.example',
      profile: { name: 'Ada Lovelace', given_name: 'Ada', family_name: 'Lovelace' },
    })
    expect(isSignedIn((await through({ user: '{"name":{"firstName":"Eve"}}' })).page)).toBe(true)
    expect(await newest()).toMatchObject({ id: ada['id'], profile: { name: 'Ada Lovelace' } })
  })

  test.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['numbers', '{"name":{"firstName":1,"lastName":{}}}'],
    ['a __proto__ key', '{"name":{"__proto__":{"firstName":"x"}}}'],
    ['a name that is too long', JSON.stringify({ name: { firstName: 'x'.repeat(3000) } })],
  ])('an invalid name is dropped: %s', async (name, user) => {
    person = { sub: `001.${name}` }
    expect(isSignedIn((await through({ user })).page)).toBe(true)
    expect((await newest())['profile']).toEqual({})
  })

  test.each<[string, (claims: AnyJson) => AnyJson]>([
    ['the nonce of another sign-in', (claims) => ({ ...claims, nonce: 'x' })],
    ['the token of another application', (claims) => ({ ...claims, aud: 'com.example.them' })],
    ['another issuer', (claims) => ({ ...claims, iss: 'https://appleid.apple.com' })],
    ['no subject', ({ sub: _, ...claims }) => claims],
  ])('refused: %s', async (_, liar) => {
    person = { sub: '001.b' }
    lie = liar
    const { page } = await through()
    lie = (claims) => claims
    expectRefusal(page, FAILED_MESSAGE)
  })

  test('a user who cancels there', async () => {
    const { address, browser } = await fixture.startUpstreamSignIn(method)
    const body = new URLSearchParams({ state: address.searchParams.get('state')!, error: 'user_cancelled_authorize' })
    const response = await fetch(method.callback_url, { method: 'POST', body, redirect: 'manual' })
    expectRefusal(await browser.open(response.headers.get('location')!), DENIED_MESSAGE)
  })
})

describe('oauth2', () => {
  const codes = new AuthorizationCodes()
  let person: CannedResponse = {}
  const server: FakeServer = new FakeServer({
    '/go': (request) => codes.issue(request, { iss: 'https://other.example' }),
    '/token': ({ params, headers }) => {
      const known = headers.authorization || params.get('client_secret')
      if (!known || !codes.redeem(params)) return { status: 401, json: { error: 'invalid_client' } }
      return { json: { access_token: 'x', token_type: 'bearer', id_token: 'not.for.us' } }
    },
    '/me': () => person,
  })
  beforeAll(() => server.pending())
  afterAll(() => server.close())

  const settings = (more: object = {}) => ({
    provider: 'intranet',
    client_id: 'us',
    client_secret: SECRET,
    redirect_uri: 'https://placeholder.example/callback',
    authorization_endpoint: `${server.url}/go`,
    token_endpoint: `${server.url}/token`,
    userinfo_endpoint: `${server.url}/me`,
    ...more,
  })
  /** Creates a method and then sets its redirect_uri, which contains the id of the method. */
  async function make(more: object = {}): Promise<Method> {
    const created = await fixture.addMethod('oauth2', settings(more))
    const { I, owner } = fixture.realm.tenant
    expectStatus(
      await owner.patch(`${I}/auth-methods/${created.id}`, { settings: { redirect_uri: created.callback_url } }),
      200,
    )
    return created
  }

  test('redirect_uri is sent unchanged', async () => {
    const created = await fixture.addMethod('oauth2', settings())
    const { address } = await fixture.startUpstreamSignIn(created)
    expect(address.searchParams.get('redirect_uri')).toBe('https://placeholder.example/callback')
  })

  test('claims are read by the names in the settings, where a dot selects a nested member', async () => {
    const created = await make({
      subject_claim: 'data.id',
      email_claim: 'data.mail',
      email_verified_claim: 'data.ok',
      scopes: ['who', 'mail'],
      token_endpoint_auth_method: 'client_secret_post',
    })
    person = { json: { id: 'wrong', sub: 'wrong', name: 'Lin', data: { id: 77, mail: 'lin@x.example', ok: true } } }
    expect(isSignedIn(await fixture.signInThrough(created))).toBe(true)
    expect(await newest()).toMatchObject({
      username: 'lin@x.example',
      profile: { name: 'Lin' },
      verifiers: [{ upstreamSubject: '77', upstreamIssuer: `${server.url}/me` }],
    })
    expect(server.lastRequestTo('/go').params.get('scope')).toBe('who mail')
    expect(server.lastRequestTo('/go').params.get('code_challenge_method')).toBe('S256')
    expect(server.lastRequestTo('/token').params.get('client_secret')).toBe(SECRET)
  })

  test('pkce: false for servers that do not support it', async () => {
    person = { json: { sub: 'plain' } }
    expect(isSignedIn(await fixture.signInThrough(await make({ pkce: false })))).toBe(true)
    expect(server.lastRequestTo('/go').params.has('code_challenge')).toBe(false)
    expect(server.lastRequestTo('/token').params.has('code_verifier')).toBe(false)
  })

  test.each<[string, CannedResponse]>([
    ['no subject', { json: { email: 'x@x.example' } }],
    ['null', { json: { sub: null } }],
    ['empty', { json: { sub: '' } }],
    ['an object', { json: { sub: {} } }],
    ['true', { json: { sub: true } }],
    ['a fraction', { json: { sub: 1.5 } }],
    ['a list', { json: [{ sub: 'x' }] }],
    ['no JSON', { text: 'sub=x' }],
    ['a redirect', { location: '/elsewhere' }],
    ['an error', { status: 500, json: { sub: 'x' } }],
    ['a __proto__ key', { text: '{"sub":"x","__proto__":{"a":1}}' }],
    ['a challenge', { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' }, json: {} }],
  ])('no user: %s', async (_, said) => {
    const created = await make()
    person = said
    expectRefusal(await fixture.signInThrough(created), FAILED_MESSAGE)
  })

  test('several methods of a kind can coexist', async () => {
    const realm = await UpstreamFixture.create(app)
    await realm.addMethod('oauth2', settings(), { name: 'First' })
    await realm.addMethod('oauth2', settings(), { name: 'Second', featured: true })
    const { page } = await realm.realm.openSignInPage(realm.client)
    expect([...page.html.matchAll(/Continue with (\w+)/g)].map(([, name]) => name)).toEqual(['Second', 'First'])
    expect([headingOf(page), errorMessageOf(page)]).toEqual(['Sign in', undefined])
  })
})

describe('a method that is not completely configured', () => {
  const oauth2 = { client_id: 'us', client_secret: SECRET, redirect_uri: 'https://placeholder.example/callback' }
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  const endpoints = {
    authorization_endpoint: 'https://acme.example/authorize',
    token_endpoint: 'https://acme.example/token',
    userinfo_endpoint: 'https://acme.example/me',
  }
  const cases: [string, string, object, object, string][] = [
    [
      'an unknown provider without addresses',
      'oauth2',
      { ...oauth2, provider: 'acme-corp' },
      { ...endpoints, client_secret: SECRET },
      'https://acme.example/authorize',
    ],
    [
      'an unknown provider without one of its addresses',
      'oauth2',
      { ...oauth2, provider: 'acme-corp', ...endpoints, userinfo_endpoint: undefined },
      { userinfo_endpoint: endpoints.userinfo_endpoint },
      'https://acme.example/authorize',
    ],
    [
      'a key that does not parse',
      'apple',
      { client_id: 'us', team_id: 't', key_id: 'k', private_key: 'not a key' },
      { private_key: key },
      'https://appleid.apple.com/auth/authorize',
    ],
  ]
  let second: TestApp
  beforeAll(async () => {
    second = await app.startSecondApp()
  })

  test.each(cases)(
    '%s: the method is not on the page and cannot be started; when it is complete, it works in every process',
    async (_, kind, settings, completion, target) => {
      const own = await UpstreamFixture.create(app)
      const { owner, I } = own.realm.tenant
      const method = await own.addMethod(kind, settings)
      const twin = new UpstreamFixture(new Realm(second, own.realm.tenant), own.client)
      for (const at of [own, twin]) {
        const browser = new TestBrowser()
        const { page } = await at.realm.openSignInPage(at.client, {}, browser)
        expect(page.html).not.toContain('Upstream')
        // Neither the id of the method nor its kind starts a sign-in.
        for (const name of [method.id, kind]) {
          const nextPage = await browser.submit(page, { method: name })
          expect([nextPage.status, headingOf(nextPage)]).toEqual([200, 'Sign in'])
        }
      }
      expectStatus(await owner.patch(`${I}/auth-methods/${method.id}`, { settings: completion }), 200)
      for (const at of [own, twin]) {
        const { address } = await at.startUpstreamSignIn(method)
        expect(`${address.origin}${address.pathname}`).toBe(target)
      }
    },
  )

  test('a method that becomes incomplete while the user is at the provider does not sign in', async () => {
    const provider = await new FakeOidc().pending()
    try {
      const own = await UpstreamFixture.create(app)
      const { owner, I } = own.realm.tenant
      await own.addOidcMethod(provider.url)
      const method = await own.addMethod('oauth2', {
        ...oauth2,
        provider: 'acme-corp',
        authorization_endpoint: `${provider.url}/authorize`,
        token_endpoint: `${provider.url}/token`,
        userinfo_endpoint: `${provider.url}/me`,
      })
      const { address, browser } = await own.startUpstreamSignIn(method)
      expectStatus(await owner.patch(`${I}/auth-methods/${method.id}`, { settings: { userinfo_endpoint: null } }), 200)
      const back = new URL(method.callback_url)
      back.searchParams.set('state', address.searchParams.get('state')!)
      back.searchParams.set('code', 'any')
      const page = await browser.open(back.href)
      expect([page.status, headingOf(page), errorMessageOf(page)]).toEqual([200, 'Sign in', expect.any(String)])
      expect(await own.listEvents('user.login.failed')).toEqual([])
    } finally {
      await provider.close()
    }
  })
})

describe('oauth2: providers by name', () => {
  test.each([
    ['google', 'https://accounts.google.com/o/oauth2/v2/auth', 'openid email profile'],
    ['Google', 'https://accounts.google.com/o/oauth2/v2/auth', 'openid email profile'],
    ['microsoft', 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize', 'openid email profile'],
    ['gitlab', 'https://gitlab.com/oauth/authorize', 'openid email profile'],
    ['discord', 'https://discord.com/oauth2/authorize', 'identify email'],
  ])('%s: the browser is sent to %s with the scopes for user information', async (provider, target, scope) => {
    const own = await UpstreamFixture.create(app)
    const redirect_uri = 'https://placeholder.example/callback'
    const method = await own.addMethod('oauth2', { provider, client_id: 'us', client_secret: SECRET, redirect_uri })
    const { address } = await own.startUpstreamSignIn(method)
    expect(`${address.origin}${address.pathname}`).toBe(target)
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      client_id: 'us',
      redirect_uri,
      response_type: 'code',
      scope,
    })
  })

  test('scopes of the settings replace those of the provider', async () => {
    const own = await UpstreamFixture.create(app)
    const method = await own.addMethod('oauth2', {
      provider: 'google',
      client_id: 'us',
      client_secret: SECRET,
      redirect_uri: 'https://placeholder.example/callback',
      scopes: ['openid'],
    })
    expect((await own.startUpstreamSignIn(method)).address.searchParams.get('scope')).toBe('openid')
  })
})
