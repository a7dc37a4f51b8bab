/**
 * Tests of src/idp/hooks with the installed version of oidc-provider: each part that the hooks replace exists,
 * oidc-provider calls the replacement, and the replacement has the expected effect. A test fails if a new version of
 * oidc-provider has changed such a part.
 */
import { createHash, generateKeyPairSync } from 'node:crypto'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import Provider from 'oidc-provider'
import instance from 'oidc-provider/lib/helpers/weak_cache.js'
import { setParsedForm, setProvider } from '../../src/idp/hooks/contexts.js'
import { installHooks, libraryGrantHandler } from '../../src/idp/hooks/index.js'
import type { OpenIdContext } from '../../src/idp/provider-types.js'
import { createAdapter } from '../../src/idp/store/adapter.js'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import type { TestBrowser } from './browser.js'
import { jwtClaims, jwtHeader, REDIRECT_URI, Realm, type TestClient } from './realm.js'

type Methods = Record<string, (...args: unknown[]) => unknown>
const jwk = { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }), kid: 'k' }
const plain = () =>
  new Provider('http://localhost/iss_x', {
    adapter: createAdapter,
    jwks: { keys: [jwk] },
    cookies: { keys: ['k'], long: { path: '/' } },
    issueRefreshToken: () => true,
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    features: { devInteractions: { enabled: false }, clientCredentials: { enabled: true } },
  })

describe('the replaced parts exist', () => {
  const provider = plain()
  test.each<[string, object, string]>([
    ['Client.find', provider.Client, 'find'],
    ['Client#compareClientSecret', provider.Client.prototype, 'compareClientSecret'],
    ['Client#redirectUriAllowed', provider.Client.prototype, 'redirectUriAllowed'],
    ['Client#includeSid', provider.Client.prototype, 'includeSid'],
    [
      'Client.Schema#redirectUris',
      (provider.Client as unknown as { Schema: { prototype: object } }).Schema.prototype,
      'redirectUris',
    ],
    ['AccessToken.find', provider.AccessToken, 'find'],
    ['AccessToken#generateTokenId', provider.AccessToken.prototype, 'generateTokenId'],
    ['AccessToken#save', provider.AccessToken.prototype, 'save'],
    ['ClientCredentials.find', provider.ClientCredentials, 'find'],
    ['ClientCredentials#generateTokenId', provider.ClientCredentials.prototype, 'generateTokenId'],
    ['RefreshToken#save', provider.RefreshToken.prototype, 'save'],
    ['ReplayDetection.unique', provider.ReplayDetection, 'unique'],
    ['IdToken#issue', provider.IdToken.prototype, 'issue'],
    ['IdToken.validate', provider.IdToken, 'validate'],
  ])('%s', (_, target, name) => {
    expect(typeof (target as Methods)[name]).toBe('function')
  })

  test('response modes and built-in grants are where the hooks expect them', () => {
    expect([...instance(provider).responseModes.keys()]).toEqual(['query', 'fragment', 'form_post'])
    for (const grant of ['authorization_code', 'refresh_token', 'client_credentials'])
      expect(typeof libraryGrantHandler(provider, grant)).toBe('function')
    expect(() => libraryGrantHandler(provider, 'password')).toThrow(/no handler for the grant type/)
  })

  test('hooks of one provider do not change another', () => {
    const [hooked, other] = [plain(), plain()]
    installHooks(hooked, [])
    expect(hooked.Client.prototype.includeSid()).toBe(true)
    expect(other.Client.prototype.includeSid.call({})).toBeFalsy()
    expect(instance(hooked).responseModes.get('fragment')).toBe(instance(hooked).responseModes.get('query'))
    expect(instance(other).responseModes.get('fragment')).not.toBe(instance(other).responseModes.get('query'))
  })

  test('issuer state of oidc-provider is where the hooks expect it', () => {
    const provider = plain()
    expect(Object.keys(provider)).toEqual(expect.arrayContaining(['issuer', 'keys']))
    expect(instance(provider).configuration.cookies.long).toMatchObject({ path: '/' })
    Object.defineProperty(instance(provider), 'keystore', { configurable: true, value: undefined })
    delete (instance(provider) as { keystore?: unknown }).keystore
    expect(() => installHooks(provider, [])).toThrow(
      'oidc-provider has changed: it has no property keystore. Update hooks/issuers.ts.',
    )
  })

  test('a missing part is reported at startup', () => {
    const provider = plain()
    Object.defineProperty(provider.IdToken.prototype, 'issue', { value: undefined })
    expect(() => installHooks(provider, [])).toThrow(
      'oidc-provider has changed: it has no method issue. Update hooks/index.ts.',
    )
  })
})

test('setParsedForm: oidc-provider uses the parsed form and does not read the request body', async () => {
  const provider = plain()
  const send = async (form?: Record<string, string | string[]>) => {
    const req = Object.assign(new IncomingMessage(new Socket()), { method: 'POST', url: '/token' })
    req.headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '7' }
    req.push('from=it')
    req.push(null)
    const ctx = provider.createContext(req, new ServerResponse(req)) as OpenIdContext
    setProvider(ctx, provider)
    if (form !== undefined) setParsedForm(ctx, form)
    await provider.middleware[0]!(ctx as never, async () => undefined)
    return { ...ctx.oidc.body, read: req.readableEnded }
  }
  expect(await send({ a: '1', b: ['~', '2'] })).toEqual({ a: '1', b: ['~', '2'], read: false })
  expect(await send()).toEqual({ from: 'it', read: true })
})

test("setProvider: `ctx.oidc` is a plain property; without it, oidc-provider's getter stays", async () => {
  const provider = plain()
  const ofRequest = async (named: boolean) => {
    const req = Object.assign(new IncomingMessage(new Socket()), { method: 'GET', url: '/jwks' })
    const ctx = provider.createContext(req, new ServerResponse(req)) as OpenIdContext
    if (named) setProvider(ctx, provider)
    await provider.middleware[0]!(ctx as never, async () => undefined)
    expect(ctx.status).toBe(200)
    expect(ctx.oidc.provider).toBe(provider)
    return typeof Object.getOwnPropertyDescriptor(ctx, 'oidc')?.get
  }
  expect(await ofRequest(true)).toBe('undefined')
  expect(await ofRequest(false)).toBe('function')
})

describe('oidc-provider calls the replacements', () => {
  let app: TestApp
  let realm: Realm
  let web: TestClient
  beforeAll(async () => {
    app = await startApp()
    realm = await Realm.create(app)
    await realm.createUser('ada@example.com')
    web = await realm.createClient({}, { confidential: true })
  })
  afterAll(() => app.close())

  test('Client.find: the next request uses a new version of a client', async () => {
    const { refresh_token } = await realm.signInForTokens(web, 'ada@example.com')
    expectStatus(
      await realm.tenant.owner.patch(`${realm.tenant.I}/clients/${web.id}`, {
        settings: { default_access_token_age: 77 },
      }),
      200,
    )
    expect((await realm.refresh(web, refresh_token)).body.expires_in).toBe(77)
  })

  test("Client.find: works with more than 100 clients, which is the limit of oidc-provider's own cache", async () => {
    const clients = await Promise.all(Array.from({ length: 110 }, () => realm.createClient({}, { confidential: true })))
    const responses = await Promise.all(clients.map((client) => realm.postForm('/introspect', client, { token: 'x' })))
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
  }, 30_000)

  test('includeSid, generateTokenId, save and issue: sid, tok_ and at_hash are in all tokens, also after a refresh', async () => {
    const first = await realm.signInForTokens(web, 'ada@example.com')
    const again = (await realm.refresh(web, first.refresh_token)).body
    for (const { access_token, id_token } of [first, again]) {
      expect(jwtClaims(access_token).jti).toMatch(/^tok_/)
      expect(jwtClaims(id_token).sid).toBe(jwtClaims(access_token).sid)
      expect(jwtClaims(id_token).at_hash).toHaveLength(22)
    }
    expect(jwtClaims(again.id_token).at_hash).not.toBe(jwtClaims(first.id_token).at_hash)
  })

  test('IdToken.validate: an ID token is a hint at the authorization endpoint, an access token for the same audience is not', async () => {
    const { id_token, access_token, browser } = await realm.signInForTokens(web, 'ada@example.com')
    const ask = async (id_token_hint: string) =>
      (await realm.signIn(web, 'ada@example.com', { prompt: 'none', id_token_hint }, browser)).redirect
    expect((await ask(id_token))['code']).toBeDefined()
    expect((await ask(access_token))['error']).toBe('invalid_request')
  })

  test('authorization.success: additions of a listener are in the response', async () => {
    expect((await realm.signIn(web, 'ada@example.com')).redirect['session_state']).toMatch(/^[\w-]{43}\.[\w-]{16}$/)
  })

  test('Schema#redirectUris: a native client can register https on localhost, which oidc-provider would reject', async () => {
    const client = await realm.createClient({
      application_type: 'native',
      redirect_uris: ['https://localhost/cb', REDIRECT_URI],
    })
    expect((await realm.signIn(client, 'ada@example.com')).redirect['code']).toBeDefined()
  })

  test('one provider acts for the issuer of each request: identifiers, keys and cookies do not mix', async () => {
    const realms = [realm, await Realm.create(app, 'Second'), await Realm.create(app, 'Third')]
    const signIns = await Promise.all(
      realms.map(async (realm, at) => {
        if (at > 0) await realm.createUser('ada@example.com')
        const client = at > 0 ? await realm.createClient({}, { confidential: true }) : web
        const all = await Promise.all([1, 2, 3].map(() => realm.signInForTokens(client, 'ada@example.com')))
        const { keys } = (await (await fetch(`${realm.url}/jwks.json`)).json()) as { keys: { kid: string }[] }
        return { realm, client, all, kids: keys.map(({ kid }) => kid) }
      }),
    )
    for (const { realm, all, kids } of signIns) {
      for (const { access_token, id_token, browser } of all) {
        for (const token of [access_token, id_token]) {
          expect(jwtClaims(token).iss).toBe(realm.url)
          expect(kids).toContain(jwtHeader(token).kid)
        }
        const { pathname } = new URL(realm.url)
        const session = (browser as TestBrowser).cookies().find(({ name }) => name === 'gatehouse_session')
        expect(session?.path).toBe(pathname)
      }
    }
    // A cookie of one issuer is invalid at another issuer, because each issuer signs its cookies with a key of its own.
    const [first, second] = signIns
    const taken = first!.all[0]!.browser.clone()
    for (const cookie of taken.cookies()) cookie.path = '/'
    const silent = { prompt: 'none' }
    const there = await second!.realm.signIn(second!.client, 'ada@example.com', silent, taken)
    expect(there.redirect['error']).toBe('login_required')
    const own = second!.all[0]!.browser
    expect((await second!.realm.signIn(second!.client, 'ada@example.com', silent, own)).redirect['code']).toBeDefined()
  })

  test('concurrent sign-ins do not mix their at_hash', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => realm.signInForTokens(web, 'ada@example.com')))
    for (const { access_token, id_token } of all) {
      const half = createHash('sha256').update(access_token).digest().subarray(0, 16).toString('base64url')
      expect(jwtClaims(id_token).at_hash).toBe(half)
    }
  })
})
