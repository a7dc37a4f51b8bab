/** The kinds of upstream methods, each against a server that speaks as the real one does (spec 2.4). */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { exportJWK, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import Provider from 'oidc-provider'
import { must } from '../../setup/actors.js'
import type { Loose } from '../../setup/api.js'
import { freePorts, startApp, type TestApp } from '../../setup/start-app.js'
import { headingOf, problemOf, TestBrowser } from '../browser.js'
import { Realm } from '../setup.js'
import { Codes, FakeOidc, FakeServer, pairOf, type Said, SECRET } from './providers.js'
import { DENIED, FAILED, isIn, type Method, refused, WaysIn } from './ways-in.js'

let app: TestApp
let ways: WaysIn
beforeAll(async () => {
  app = await startApp({ env: { ALLOW_PRIVATE_NETWORKS: 'true', LOG_LEVEL: 'silent' } })
  ways = await WaysIn.open(app)
}, 60_000)
afterAll(() => app?.close())

const newest = async (): Promise<Loose> => (await ways.users()).at(-1)!

describe('oidc: a stock oidc-provider', () => {
  let server: Server
  let method: Method
  afterAll(() => new Promise((done) => server.close(done)))
  beforeAll(async () => {
    const [port] = await freePorts(1)
    const url = `http://127.0.0.1:${port}`
    method = await ways.oidc(url)
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

  test('sign-in and consent there, an account here; the second time the same one', async () => {
    for (let times = 1; times <= 2; times++) {
      const browser = new TestBrowser()
      const login = await ways.through(method, browser)
      expect(login.url).toContain('/interaction/')
      const consent = await browser.submit(login, { login: 'grace', password: 'any' })
      expect(isIn(await browser.submit(consent, {}))).toBe(true)
    }
    // The stock provider tells claims at userinfo only.
    const theirs = (await ways.users()).filter(({ profile }) => profile['name'] === 'Grace')
    expect(theirs).toMatchObject([{ username: 'grace@stock.example', emailVerified: true }])
  })

  test('who turns back there is told so here', async () => {
    const browser = new TestBrowser()
    const login = await ways.through(method, browser)
    const abort = /href="([^"]+abort)"/.exec(login.html)?.[1]
    refused(await browser.open(new URL(abort!, login.url).href), DENIED)
  })
})

describe('oidc: how the secret is sent', () => {
  test.each([
    ['Basic, where the provider says nothing', undefined, {}, 'basic'],
    ['Basic, where it takes both', ['client_secret_post', 'client_secret_basic'], {}, 'basic'],
    ['in the form, where it takes that only', ['client_secret_post'], {}, 'post'],
    ['as the settings say', undefined, { token_endpoint_auth_method: 'client_secret_post' }, 'post'],
  ])('%s', async (_, methods, settings, expected) => {
    const provider = await new FakeOidc().open()
    try {
      provider.mischief = { metadata: (m) => ({ ...m, token_endpoint_auth_methods_supported: methods }) }
      expect(isIn(await ways.through(await ways.oidc(provider.url, {}, settings)))).toBe(true)
      const { headers, params } = provider.last('/token')
      expect([headers.authorization?.slice(0, 6), params.get('client_secret')]).toEqual(
        expected === 'basic' ? ['Basic ', null] : [undefined, SECRET],
      )
    } finally {
      await provider.close()
    }
  })
})

describe('github', () => {
  const codes = new Codes()
  let user: Loose = {}
  let emails: Said = {}
  const github = new FakeServer({
    '/login/oauth/authorize': (asked) => codes.issue(asked),
    '/login/oauth/access_token': ({ params }) => {
      const fits = params.get('client_id') === 'us' && params.get('client_secret') === SECRET && codes.redeem(params)
      // GitHub's errors come with status 200.
      if (!fits) return { json: { error: 'bad_verification_code', error_description: 'secret-of-upstream' } }
      return { json: { access_token: 'gho', token_type: 'bearer', scope: 'read:user,user:email' } }
    },
    '/api/v3/user': ({ headers }) => (headers.authorization === 'Bearer gho' ? { json: user } : { status: 401 }),
    '/api/v3/user/emails': () => emails,
  })
  let method: Method
  beforeAll(async () => {
    await github.open()
    method = await ways.add('github', { client_id: 'us', client_secret: SECRET, base_url: github.url })
  })
  afterAll(() => github.close())
  afterEach(() => {
    emails = {}
  })

  const list = (...rows: [email: string, primary: boolean, verified: boolean][]): Said => ({
    json: rows.map(([email, primary, verified]) => ({ email, primary, verified })),
  })

  test('by number, with the primary confirmed address; a name that changes hands takes nobody along', async () => {
    user = {
      id: 583231,
      login: 'octocat',
      name: 'Mona',
      avatar_url: 'https://avatars.example/1',
      email: 'public@x.example',
    }
    emails = list(['other@x.example', false, true], ['mona@x.example', true, true])
    expect(isIn(await ways.through(method))).toBe(true)
    const mona = await newest()
    expect(mona).toMatchObject({
      username: 'mona@x.example',
      profile: { name: 'Mona', picture: 'https://avatars.example/1' },
      verifiers: [{ type: 'oauth', upstreamSubject: '583231', upstreamIssuer: github.url }],
    })
    const asked = github.last('/login/oauth/authorize').params
    expect([asked.get('scope'), asked.get('code_challenge_method')]).toEqual(['read:user user:email', 'S256'])

    user = { id: 2, login: 'octocat', name: 'Somebody else' }
    emails = list(['else@x.example', true, true])
    expect(isIn(await ways.through(method))).toBe(true)
    expect((await newest())['id']).not.toBe(mona['id'])
  })

  test.each([
    ['not confirmed', list(['g1@x.example', true, false], ['g2@x.example', false, true])],
    ['hidden', { status: 404, json: { message: 'Not Found' } }],
    ['no list', { json: { message: 'x' } }],
  ])('without an address of their own: %s', async (name, said) => {
    user = { id: 1000 + name.length, email: 'public@x.example' }
    emails = said
    expect(isIn(await ways.through(method))).toBe(true)
    expect(await newest()).toMatchObject({ usernameType: 'unique', emailVerified: false, profile: {} })
  })

  test.each([
    ['no number', { login: 'octocat' }],
    ['null', { id: null }],
    ['text', { id: '583231' }],
    ['nothing', { id: 0 }],
    ['beyond all numbers', { id: 1e300 }],
    ['an answer that is a list', []],
  ])('nobody: %s', async (_, answer) => {
    user = answer
    refused(await ways.through(method), FAILED)
  })

  test('an error that comes with status 200', async () => {
    const other = await ways.add('github', { client_id: 'them', client_secret: SECRET, base_url: github.url })
    const page = await ways.through(other)
    refused(page, FAILED)
    expect(page.html).not.toContain('secret-of-upstream')
  })
})

describe('apple', () => {
  const codes = new Codes()
  const signing = pairOf('rsa')
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  let person: Loose = {}
  let lie: (claims: Loose) => Loose = (claims) => claims
  const apple: FakeServer = new FakeServer({
    '/auth/authorize': (asked) => codes.issue(asked),
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
    await apple.open()
    const private_key = key.privateKey.export({ type: 'pkcs8', format: 'pem' })
    const settings = { client_id: 'com.example.us', team_id: 'TEAM', key_id: 'KEY', private_key, issuer_url: apple.url }
    method = await ways.add('apple', settings)
  })
  afterAll(() => apple.close())

  /** Apple's page sends a form from its own site: without the cookies of ours. */
  async function through(form: Record<string, string> = {}) {
    const { address, browser } = await ways.out(method)
    expect(address.searchParams.get('response_mode')).toBe('form_post')
    const body = new URLSearchParams([...(await ways.at(address)).searchParams, ...Object.entries(form)])
    const answer = await fetch(method.callback_url, { method: 'POST', body, redirect: 'manual' })
    expect([answer.status, answer.headers.getSetCookie(), answer.headers.get('referrer-policy')]).toEqual([
      303,
      [],
      'no-referrer',
    ])
    const location = answer.headers.get('location')!
    expect(location).not.toContain(body.get('code'))
    expect((await new TestBrowser().open(location)).status).toBe(400)
    return { browser, page: await browser.open(location) }
  }
  const named = {
    user: JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' }, email: 'lie@evil.example' }),
  }

  test('the answer comes as a form without cookies; the name comes once; the address from the signed token only', async () => {
    person = { sub: '001.a', email: 'ada@private.example', email_verified: 'true', is_private_email: 'true' }
    expect(isIn((await through(named)).page)).toBe(true)
    const ada = await newest()
    expect(ada).toMatchObject({
      username: 'ada@private.example',
      profile: { name: 'Ada Lovelace', given_name: 'Ada', family_name: 'Lovelace' },
    })
    expect(isIn((await through({ user: '{"name":{"firstName":"Eve"}}' })).page)).toBe(true)
    expect(await newest()).toMatchObject({ id: ada['id'], profile: { name: 'Ada Lovelace' } })
  })

  test.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['numbers', '{"name":{"firstName":1,"lastName":{}}}'],
    ['what the input gate refuses', '{"name":{"__proto__":{"firstName":"x"}}}'],
    ['too much', JSON.stringify({ name: { firstName: 'x'.repeat(3000) } })],
  ])('a name that is none is left out: %s', async (name, user) => {
    person = { sub: `001.${name}` }
    expect(isIn((await through({ user })).page)).toBe(true)
    expect((await newest())['profile']).toEqual({})
  })

  test.each<[string, (claims: Loose) => Loose]>([
    ['the nonce of another sign-in', (claims) => ({ ...claims, nonce: 'x' })],
    ['the token of another application', (claims) => ({ ...claims, aud: 'com.example.them' })],
    ['another issuer', (claims) => ({ ...claims, iss: 'https://appleid.apple.com' })],
    ['no subject', ({ sub: _, ...claims }) => claims],
  ])('refused: %s', async (_, liar) => {
    person = { sub: '001.b' }
    lie = liar
    const { page } = await through()
    lie = (claims) => claims
    refused(page, FAILED)
  })

  test('who turns back there', async () => {
    const { address, browser } = await ways.out(method)
    const body = new URLSearchParams({ state: address.searchParams.get('state')!, error: 'user_cancelled_authorize' })
    const answer = await fetch(method.callback_url, { method: 'POST', body, redirect: 'manual' })
    refused(await browser.open(answer.headers.get('location')!), DENIED)
  })
})

describe('oauth2', () => {
  const codes = new Codes()
  let person: Said = {}
  const server: FakeServer = new FakeServer({
    '/go': (asked) => codes.issue(asked, { iss: 'https://whoever.example' }),
    '/token': ({ params, headers }) => {
      const known = headers.authorization || params.get('client_secret')
      if (!known || !codes.redeem(params)) return { status: 401, json: { error: 'invalid_client' } }
      return { json: { access_token: 'x', token_type: 'bearer', id_token: 'not.for.us' } }
    },
    '/me': () => person,
  })
  beforeAll(() => server.open())
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
  /** The address to come back to is known once there is a method. */
  async function make(more: object = {}): Promise<Method> {
    const made = await ways.add('oauth2', settings(more))
    const { I, owner } = ways.realm.tenant
    must(await owner.patch(`${I}/auth-methods/${made.id}`, { settings: { redirect_uri: made.callback_url } }), 200)
    return made
  }

  test('redirect_uri is sent as it stands', async () => {
    const made = await ways.add('oauth2', settings())
    const { address } = await ways.out(made)
    expect(address.searchParams.get('redirect_uri')).toBe('https://placeholder.example/callback')
  })

  test('claims by the names that the settings give, dots included', async () => {
    const made = await make({
      subject_claim: 'data.id',
      email_claim: 'data.mail',
      email_verified_claim: 'data.ok',
      scopes: ['who', 'mail'],
      token_endpoint_auth_method: 'client_secret_post',
    })
    person = { json: { id: 'wrong', sub: 'wrong', name: 'Lin', data: { id: 77, mail: 'lin@x.example', ok: true } } }
    expect(isIn(await ways.through(made))).toBe(true)
    expect(await newest()).toMatchObject({
      username: 'lin@x.example',
      profile: { name: 'Lin' },
      verifiers: [{ upstreamSubject: '77', upstreamIssuer: `${server.url}/me` }],
    })
    expect(server.last('/go').params.get('scope')).toBe('who mail')
    expect(server.last('/go').params.get('code_challenge_method')).toBe('S256')
    expect(server.last('/token').params.get('client_secret')).toBe(SECRET)
  })

  test('pkce: false for servers that know no challenge', async () => {
    person = { json: { sub: 'plain' } }
    expect(isIn(await ways.through(await make({ pkce: false })))).toBe(true)
    expect(server.last('/go').params.has('code_challenge')).toBe(false)
    expect(server.last('/token').params.has('code_verifier')).toBe(false)
  })

  test.each<[string, Said]>([
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
    ['what the input gate refuses', { text: '{"sub":"x","__proto__":{"a":1}}' }],
    ['a challenge', { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' }, json: {} }],
  ])('nobody: %s', async (_, said) => {
    const made = await make()
    person = said
    refused(await ways.through(made), FAILED)
  })

  test('several methods of a kind stand side by side', async () => {
    const realm = await WaysIn.open(app)
    await realm.add('oauth2', settings(), { name: 'First' })
    await realm.add('oauth2', settings(), { name: 'Second', featured: true })
    const { page } = await realm.realm.begin(realm.client)
    expect([...page.html.matchAll(/Continue with (\w+)/g)].map(([, name]) => name)).toEqual(['Second', 'First'])
    expect([headingOf(page), problemOf(page)]).toEqual(['Sign in', undefined])
  })
})

describe('D35: a method that cannot work yet', () => {
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
    second = await app.second()
  })

  test.each(cases)(
    '%s: not offered, not started, not among the ways in; once complete it is, in every process',
    async (_, kind, settings, completion, target) => {
      const own = await WaysIn.open(app)
      const { owner, I } = own.realm.tenant
      const method = await own.add(kind, settings)
      const twin = new WaysIn(new Realm(second, own.realm.tenant), own.client)
      for (const at of [own, twin]) {
        const browser = new TestBrowser()
        const { page } = await at.realm.begin(at.client, {}, browser)
        expect(page.html).not.toContain('Upstream')
        // By its id, and by its kind.
        for (const name of [method.id, kind]) {
          const answered = await browser.submit(page, { method: name })
          expect([answered.status, headingOf(answered)]).toEqual([200, 'Sign in'])
        }
      }
      must(await owner.patch(`${I}/auth-methods/${method.id}`, { settings: completion }), 200)
      for (const at of [own, twin]) {
        const { address } = await at.out(method)
        expect(`${address.origin}${address.pathname}`).toBe(target)
      }
    },
  )

  test('one that stops working while the person is with the provider signs nobody in', async () => {
    const provider = await new FakeOidc().open()
    try {
      const own = await WaysIn.open(app)
      const { owner, I } = own.realm.tenant
      await own.oidc(provider.url)
      const method = await own.add('oauth2', {
        ...oauth2,
        provider: 'acme-corp',
        authorization_endpoint: `${provider.url}/authorize`,
        token_endpoint: `${provider.url}/token`,
        userinfo_endpoint: `${provider.url}/me`,
      })
      const { address, browser } = await own.out(method)
      must(await owner.patch(`${I}/auth-methods/${method.id}`, { settings: { userinfo_endpoint: null } }), 200)
      const back = new URL(method.callback_url)
      back.searchParams.set('state', address.searchParams.get('state')!)
      back.searchParams.set('code', 'any')
      const page = await browser.open(back.href)
      expect([page.status, headingOf(page), problemOf(page)]).toEqual([200, 'Sign in', expect.any(String)])
      expect(await own.events('user.login.failed')).toEqual([])
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
  ])('%s: the browser is sent to %s with the scopes that say who somebody is', async (provider, target, scope) => {
    const own = await WaysIn.open(app)
    const redirect_uri = 'https://placeholder.example/callback'
    const method = await own.add('oauth2', { provider, client_id: 'us', client_secret: SECRET, redirect_uri })
    const { address } = await own.out(method)
    expect(`${address.origin}${address.pathname}`).toBe(target)
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      client_id: 'us',
      redirect_uri,
      response_type: 'code',
      scope,
    })
  })

  test('scopes of the settings take the place of those of the provider', async () => {
    const own = await WaysIn.open(app)
    const method = await own.add('oauth2', {
      provider: 'google',
      client_id: 'us',
      client_secret: SECRET,
      redirect_uri: 'https://placeholder.example/callback',
      scopes: ['openid'],
    })
    expect((await own.out(method)).address.searchParams.get('scope')).toBe('openid')
  })
})
