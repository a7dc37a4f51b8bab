/**
 * Rules for every grant: client authentication, audience, lifetime and signature
 * (docs/contract.md#grant-and-client-rules, docs/contract.md#tokens-and-claims).
 */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { expectStatus } from '../../setup/actors.js'
import type { AnyJson } from '../../setup/api.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { TestBrowser } from '../browser.js'
import {
  type IdpResponse,
  jwtClaims,
  PASSWORD,
  REDIRECT_URI,
  Realm,
  readResponse,
  redirectParametersOf,
  type TestClient,
} from '../realm.js'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const MAX_AGE = 1_814_400
const A = 'https://r.example.com/a'
const B = 'https://r.example.com/b'
const machine = { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] }

let app: TestApp
let realm: Realm
let web: TestClient
let user: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  user = await realm.createUser('ada@example.com')
  web = await realm.createClient(
    { allowed_audiences: ['https://api.example.com', 'reports'], allowed_resources: [A, B] },
    { confidential: true, settings: { scopes: ['orders:read', 'orders:write'] } },
  )
})
afterAll(() => app.close())

const owner = () => realm.tenant.owner
const change = (client: TestClient, settings: object) =>
  owner().patch(`${realm.tenant.I}/clients/${client.id}`, { settings })
/** Changes the settings of a client directly in the database, so that the API does not validate them. */
async function store(client: TestClient, edit: (settings: AnyJson) => void): Promise<void> {
  const { prisma } = app.gatehouse.database
  const { settings, updatedAt } = await prisma.client.findUniqueOrThrow({ where: { id: client.id } })
  edit(settings)
  await prisma.client.update({
    where: { id: client.id },
    data: { settings: settings as object, updatedAt: updatedAt + 1n },
  })
}
const failed = ({ status, body }: IdpResponse) => [status, body.error]
const statusOfPost = async (path: string, body: Record<string, string>, authorization?: string) =>
  readResponse(
    await fetch(`${realm.url}${path}`, {
      method: 'POST',
      body: new URLSearchParams(body),
      headers: authorization ? { authorization } : {},
    }),
  )

describe.each(['/token', '/introspect', '/revoke'])('client authentication at %s', (path) => {
  const form = { token: 'x', grant_type: 'refresh_token', refresh_token: 'x' }
  const basic = (id: string, secret: string) => `Basic ${btoa(`${id}:${secret}`)}`
  const good = path === '/token' ? [400, 'invalid_grant'] : [200, undefined]
  const no = [401, 'invalid_client']
  const invalid = [400, 'invalid_request']
  test.each<[string, (string | number | undefined)[], () => Promise<IdpResponse>]>([
    ['Basic', good, () => statusOfPost(path, form, basic(web.id, web.secret!))],
    ['post', good, () => statusOfPost(path, { ...form, client_id: web.id, client_secret: web.secret! })],
    [
      'Basic with client_id',
      good,
      () => statusOfPost(path, { ...form, client_id: web.id }, basic(web.id, web.secret!)),
    ],
    ['a wrong secret', no, () => statusOfPost(path, form, basic(web.id, 'x'.repeat(43)))],
    ['a part of the secret', no, () => statusOfPost(path, form, basic(web.id, web.secret!.slice(0, -1)))],
    [
      'the hash of the secret',
      no,
      () => statusOfPost(path, form, basic(web.id, createHash('sha256').update(web.secret!).digest('hex'))),
    ],
    ['no secret', no, () => statusOfPost(path, { ...form, client_id: web.id })],
    ['an unknown client', no, () => statusOfPost(path, form, basic(`cli_${'0'.repeat(26)}`, web.secret!))],
    ['an API key', no, () => statusOfPost(path, form, owner().authorization)],
    ['a user', no, () => statusOfPost(path, form, basic('ada@example.com', PASSWORD))],
    ['nothing', no, () => statusOfPost(path, form)],
    ['a secret without a client', no, () => statusOfPost(path, { ...form, client_secret: web.secret! })],
    [
      'two authentication methods',
      invalid,
      () => statusOfPost(path, { ...form, client_secret: web.secret! }, basic(web.id, web.secret!)),
    ],
    ['two clients', invalid, () => statusOfPost(path, { ...form, client_id: 'cli_x' }, basic(web.id, web.secret!))],
    ['Bearer', invalid, () => statusOfPost(path, form, `Bearer ${web.secret}`)],
    ['no secret in Basic', invalid, () => statusOfPost(path, form, basic(web.id, ''))],
  ])('%s: %j', async (_, expected, send) => {
    expect(failed(await send())).toEqual(expected)
  })
})

describe('client_credentials is for M2M clients', () => {
  const ask = (client: TestClient) => realm.postForm('/token', client, { grant_type: 'client_credentials' })
  test('an M2M client can use it, also by default', async () => {
    for (const grants of [
      {},
      { grant_types: ['client_credentials'] },
      { grant_types: ['client_credentials', EXCHANGE] },
    ]) {
      const client = await realm.createClient({ ...machine, ...grants }, { confidential: true })
      expect((await ask(client)).status).toBe(200)
    }
  })
  test('any other client is unauthorized_client', async () => {
    const grant_types = ['authorization_code', 'client_credentials']
    for (const client of [
      web,
      await realm.createClient(),
      await realm.createClient({ grant_types }, { confidential: true }),
      await realm.createClient({ application_type: 'native', grant_types }, { confidential: true }),
      await realm.createClient({ ...machine, grant_types: [EXCHANGE] }, { confidential: true }),
      await realm.createClient({ ...machine, grant_types: [] }, { confidential: true }),
    ])
      expect(failed(await ask(client))).toEqual([400, 'unauthorized_client'])
  })
  test('a public client whose row has the grant is unauthorized_client', async () => {
    const client = await realm.createClient()
    await store(client, ({ openid }) =>
      Object.assign(openid, { application_type: 'm2m', grant_types: ['client_credentials'] }),
    )
    expect(failed(await ask(client))).toEqual([400, 'unauthorized_client'])
  })
})

describe('audience and resource', () => {
  /** Returns the error at the redirect URI, or the `aud` of the access tokens of the code and of a refresh. */
  async function outcome(params: Record<string, string | undefined>): Promise<string> {
    const { redirect, verifier } = await realm.signIn(web, 'ada@example.com', params)
    if (redirect['error']) return redirect['error']
    const exchange = { code: redirect['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
    const { body } = await realm.exchangeCode(web, exchange)
    const refreshed = (await realm.refresh(web, body.refresh_token)).body
    const introspected = (await realm.postForm('/introspect', web, { token: refreshed.refresh_token })).body
    const auds = [body.access_token, refreshed.access_token].map((token) => jwtClaims(token).aud)
    expect(auds[1]).toEqual(auds[0])
    // The audience of the refresh token and of the ID token is always the client.
    expect([introspected.aud, jwtClaims(body.id_token).aud]).toEqual([web.id, web.id])
    return auds[0]
  }
  test.each<[string, Record<string, string>, () => string]>([
    ['nothing', {}, () => web.id],
    ['a listed audience', { audience: 'https://api.example.com' }, () => 'https://api.example.com'],
    ['a listed audience that is not a URI', { audience: 'reports' }, () => 'reports'],
    ['a listed resource', { resource: A }, () => A],
    ['an audience in another spelling', { audience: 'Reports' }, () => 'invalid_target'],
    ['a longer audience', { audience: 'https://api.example.com/' }, () => 'invalid_target'],
    ['an unlisted audience', { audience: 'https://bank.example' }, () => 'invalid_target'],
    ['a resource as audience', { audience: A }, () => 'invalid_target'],
    ['an audience as resource', { resource: 'https://api.example.com' }, () => 'invalid_target'],
    ['an unlisted resource', { resource: 'https://bank.example' }, () => 'invalid_target'],
    ['a resource with a fragment', { resource: `${A}#x` }, () => 'invalid_target'],
    ['a resource that is not a URI', { resource: 'x' }, () => 'invalid_target'],
    ['both', { resource: A, audience: 'reports' }, () => 'invalid_target'],
    ['the Core API, which is not listed', { resource: 'http://127.0.0.1:1' }, () => 'invalid_target'],
  ])('%s: %j', async (_, params, expected) => {
    expect(await outcome(params)).toBe(expected())
  })
  test("the client's own id, requested explicitly; not that of another client", async () => {
    expect(await outcome({ audience: web.id })).toBe(web.id)
    const other = await realm.createClient()
    expect(await outcome({ audience: other.id })).toBe('invalid_target')
    expect(await outcome({ resource: `urn:gatehouse:audience:${other.id}` })).toBe('invalid_target')
  })

  async function granted(...resources: string[]) {
    const url = new URL(realm.authorizeUrl(web))
    for (const resource of resources) url.searchParams.append('resource', resource)
    const browser = new TestBrowser()
    const page = await browser.submit(await browser.open(url.href), { username: 'ada@example.com', password: PASSWORD })
    return { code: redirectParametersOf(page)['code']!, redirect_uri: REDIRECT_URI }
  }
  test.each<[string, string[], string | undefined, string]>([
    ['one of two', [A, B], B, B],
    ['none requested: the first', [A, B], undefined, A],
    ['one that was not authorized', [A], B, 'invalid_target'],
    ['one that is unlisted', [A], 'https://bank.example', 'invalid_target'],
  ])(
    'the exchange and each refresh take one of the granted resources: %s',
    async (_, resources, resource, expected) => {
      const more = resource === undefined ? {} : { resource }
      const code = await realm.exchangeCode(web, { ...(await granted(...resources)), ...more })
      expect(code.body.error ?? jwtClaims(code.body.access_token).aud).toBe(expected)
      const first = await realm.exchangeCode(web, await granted(...resources))
      const { body } = await realm.refresh(web, first.body.refresh_token, more)
      expect(body.error ?? jwtClaims(body.access_token).aud).toBe(expected)
    },
  )

  test('a resource that is removed from the client is rejected at the next refresh', async () => {
    const { body } = await realm.exchangeCode(web, await granted(A))
    expectStatus(await change(web, { openid: { allowed_resources: [B] } }), 200)
    expect(failed(await realm.refresh(web, body.refresh_token))).toEqual([400, 'invalid_target'])
    expectStatus(await change(web, { openid: { allowed_resources: [A, B] } }), 200)
    const again = await realm.refresh(web, body.refresh_token)
    expect(jwtClaims(again.body.access_token).aud).toBe(A)
  })

  test.each<[string, Record<string, string>, string]>([
    ['none: the client id', {}, ''],
    ['a listed resource', { resource: A }, A],
    ['an unlisted one', { resource: 'https://bank.example' }, 'invalid_target'],
    ['an empty one', { resource: '' }, ''],
  ])('an M2M client: %s', async (_, params, expected) => {
    const client = await realm.createClient({ ...machine, allowed_resources: [A] }, { confidential: true })
    const { body } = await realm.postForm('/token', client, { grant_type: 'client_credentials', ...params })
    expect(body.error ?? jwtClaims(body.access_token).aud).toBe(expected || client.id)
  })
})

describe('org by policy', () => {
  let tulips: string
  let roses: string
  let strange: string
  beforeAll(async () => {
    const list = `${realm.tenant.I}/organizations`
    const make = async (name: string) => expectStatus(await owner().post(list, { name }), 201).data.id
    ;[tulips, roses, strange] = [await make('Tulips'), await make('Roses'), await make('Strange')]
    for (const id of [tulips, roses])
      expectStatus(await owner().post(`${list}/${id}/members`, { member_id: user }), 201)
  })
  const policies = {
    all: () => ({}),
    none: () => ({ policy: 'none' }),
    allowlist: () => ({ policy: 'allowlist', allowed_org_ids: [tulips, strange] }),
    'an empty allowlist': () => ({ policy: 'allowlist' }),
  }
  test.each<[keyof typeof policies, string, () => string | undefined, string]>([
    ['all', 'no org', () => undefined, 'granted'],
    ['all', 'a membership', () => tulips, 'granted'],
    ['all', 'another one', () => roses, 'granted'],
    ['all', 'no membership', () => strange, 'invalid_grant'],
    ['all', 'an unknown one', () => `org_${'0'.repeat(26)}`, 'invalid_grant'],
    ['all', 'text', () => 'Tulips', 'invalid_grant'],
    ['none', 'no org', () => undefined, 'granted'],
    ['none', 'a membership', () => tulips, 'invalid_request'],
    ['none', 'no membership', () => strange, 'invalid_request'],
    ['allowlist', 'no org', () => undefined, 'granted'],
    ['allowlist', 'a listed membership', () => tulips, 'granted'],
    ['allowlist', 'an unlisted membership', () => roses, 'invalid_request'],
    ['allowlist', 'listed, but no membership', () => strange, 'invalid_grant'],
    ['an empty allowlist', 'a membership', () => tulips, 'invalid_request'],
  ])('policy %s, %s', async (policy, _, org, expected) => {
    const client = await realm.createClient({}, { settings: { restrictions: { organizations: policies[policy]() } } })
    const params = org() === undefined ? {} : { org: org()! }
    const { redirect, verifier } = await realm.signIn(client, 'ada@example.com', params)
    if (redirect['error']) return expect(redirect['error']).toBe(expected)
    const exchange = { code: redirect['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
    const { body } = await realm.exchangeCode(client, exchange)
    expect(body.error ?? 'granted').toBe(expected)
    if (body.error) return
    // The tokens of a refresh have the same organizations.
    const refreshed = (await realm.refresh(client, body.refresh_token)).body
    for (const token of [body.access_token, refreshed.access_token]) {
      expect(jwtClaims(token).org_id).toBe(org())
      // Without `org` in the request, tokens contain all organizations that the client may see.
      const known = { all: [tulips, roses], none: undefined, allowlist: [tulips], 'an empty allowlist': undefined }
      const expectedIds = org() === undefined ? known[policy] : [org()]
      const ids = jwtClaims(token).organizations?.map(({ id }: { id: string }) => id)
      expect(ids?.sort()).toEqual(expectedIds?.sort())
    }
  })
  test.each(['authorization_code', 'refresh_token', 'client_credentials'])(
    '/token rejects org: %s',
    async (grant_type) => {
      const client =
        grant_type === 'client_credentials' ? await realm.createClient(machine, { confidential: true }) : web
      const response = await realm.postForm('/token', client, {
        grant_type,
        org: tulips,
        code: 'x',
        refresh_token: 'x',
      })
      expect(failed(response)).toEqual([400, 'invalid_request'])
    },
  )
})

describe('unsupported grants, response types and endpoints', () => {
  test.each([
    'password',
    'urn:ietf:params:oauth:grant-type:device_code',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    'urn:ietf:params:oauth:grant-type:saml2-bearer',
    'urn:openid:params:grant-type:ciba',
    'implicit',
    'constructor',
  ])('the grant %s', async (grant_type) => {
    const params = { grant_type, username: 'ada@example.com', password: PASSWORD, device_code: 'x', assertion: 'x' }
    expect(failed(await realm.postForm('/token', web, params))).toEqual([400, 'unsupported_grant_type'])
  })
  test.each(['token', 'id_token', 'id_token token', 'code token', 'code id_token', 'none'])(
    'the response type %s',
    async (response_type) => {
      const page = await new TestBrowser().open(realm.authorizeUrl(web, { response_type, nonce: 'n' }))
      expect(new URL(page.url).hash).toBe('')
      expect(redirectParametersOf({ ...page, html: '' })['error']).toMatch(
        /^(unsupported_response_type|invalid_request)$/,
      )
    },
  )
  test.each(['/device_authorization', '/device', '/register', '/request', '/ciba', '/backchannel'])(
    'there is no %s',
    async (path) => {
      expect((await statusOfPost(path, { client_id: web.id })).status).toBe(404)
    },
  )
})

describe('signature algorithm of the client', () => {
  test.each(['ES256', 'RS256', 'EdDSA', undefined])('%s, with the published keys', async (alg) => {
    const openid = { allowed_resources: [A], ...(alg && { response_signature_alg: alg }) }
    const people = await realm.createClient(openid)
    const machines = await realm.createClient({ ...machine, ...openid }, { confidential: true })
    const { access_token, id_token } = await realm.signInForTokens(people, 'ada@example.com')
    const { body } = await realm.postForm('/token', machines, { grant_type: 'client_credentials', resource: A })
    const keys = createRemoteJWKSet(new URL(`${realm.url}/jwks.json`))
    for (const [token, audience, typ] of [
      [access_token, people.id, 'at+jwt'],
      [body.access_token, A, 'at+jwt'],
      [id_token, people.id, undefined],
    ]) {
      const { protectedHeader } = await jwtVerify(token, keys, { issuer: realm.url, audience })
      expect(protectedHeader.alg).toBe(alg ?? 'ES256')
      if (typ) expect(protectedHeader.typ).toBe(typ)
      else expect(protectedHeader.typ).not.toBe('at+jwt')
    }
  })
})

describe('lifetimes in seconds', () => {
  const agesOf = async (client: TestClient) => {
    const { access_token, id_token, refresh_token, expires_in } = await realm.signInForTokens(client, 'ada@example.com')
    const refresh = (await realm.postForm('/introspect', client, { token: refresh_token })).body
    const age = ({ exp, iat }: AnyJson) => exp - iat
    expect(expires_in).toBe(age(jwtClaims(access_token)))
    return [age(jwtClaims(access_token)), age(jwtClaims(id_token)), age(refresh)]
  }
  const confidential = (openid: object, settings: object) =>
    realm.createClient(openid, { confidential: true, settings })
  const names = ['default_access_token_age', 'default_id_token_age', 'default_refresh_token_age']
  const all = (age: number) => Object.fromEntries(names.map((name) => [name, age]))

  test('defaults: 30 minutes, 1 hour, 7 days', async () => {
    expect(await agesOf(await confidential({}, {}))).toEqual([1800, 3600, 604_800])
  })
  test('lifetimes can be set in `settings` or in `settings.openid`', async () => {
    expect(await agesOf(await confidential({}, all(77)))).toEqual([77, 77, 77])
    expect(await agesOf(await confidential(all(77), {}))).toEqual([77, 77, 77])
  })
  test('at most 21 days, whatever is stored', async () => {
    const client = await confidential({}, all(MAX_AGE))
    // The tokens end with the session, which has the same lifetime and started a moment earlier.
    for (const seen of await agesOf(client)) expect(MAX_AGE - seen).toBeLessThan(60)
    for (const age of [1e9, 0, -5]) {
      await store(client, (settings) => Object.assign(settings, all(age)))
      for (const seen of await agesOf(client)) {
        expect(seen).toBeGreaterThanOrEqual(1)
        expect(seen).toBeLessThanOrEqual(MAX_AGE)
      }
    }
    const machines = await confidential(machine, {})
    await store(machines, (settings) => Object.assign(settings, all(1e9)))
    const { body } = await realm.postForm('/token', machines, { grant_type: 'client_credentials' })
    expect(jwtClaims(body.access_token).exp - jwtClaims(body.access_token).iat).toBe(MAX_AGE)
  })
  test('an M2M client: 30 minutes, or its own setting', async () => {
    for (const [settings, age] of [
      [{}, 1800],
      [{ default_access_token_age: 60 }, 60],
    ] as const) {
      const client = await confidential(machine, settings)
      expect((await realm.postForm('/token', client, { grant_type: 'client_credentials' })).body.expires_in).toBe(age)
    }
  })
})

describe('refresh', () => {
  test.each<[string, Record<string, string>, string]>([
    ['no scope: the full set', {}, 'openid email orders:read orders:write'],
    ['a part', { scope: 'orders:read' }, 'orders:read'],
    ['in another order', { scope: 'orders:read openid' }, 'orders:read openid'],
    ['more', { scope: 'openid profile' }, 'invalid_scope'],
    ['everything', { scope: 'svc:all' }, 'invalid_scope'],
    ['blank', { scope: ' ' }, 'invalid_scope'],
    ['empty, which counts as absent (RFC 6749 section 3.2)', { scope: '' }, 'openid email orders:read orders:write'],
  ])('scope: %s', async (_, params, expected) => {
    const first = await realm.signInForTokens(web, 'ada@example.com', {
      scope: 'openid email orders:read orders:write',
    })
    const { body } = await realm.refresh(web, first.refresh_token, params)
    const sorted = (text: string) => text.split(' ').sort()
    expect(sorted(body.error ?? body.scope)).toEqual(sorted(expected))
    if (body.error) return
    expect(sorted(jwtClaims(body.access_token).scope)).toEqual(sorted(expected))
    expect('id_token' in body).toBe(expected.includes('openid'))
    expect(body.refresh_token).not.toBe(first.refresh_token)
    // The new refresh token keeps all granted scopes.
    expect(sorted((await realm.refresh(web, body.refresh_token)).body.scope)).toHaveLength(4)
  })

  test('scopes that the client has lost since are not granted at a refresh, and the response says so', async () => {
    const client = await realm.createClient(
      {},
      { confidential: true, settings: { scopes: ['orders:read', 'orders:write'] } },
    )
    const first = await realm.signInForTokens(client, 'ada@example.com', { scope: 'openid orders:read orders:write' })
    expectStatus(await change(client, { scopes: ['orders:read'] }), 200)
    const { body } = await realm.refresh(client, first.refresh_token)
    expect([body.scope, jwtClaims(body.access_token).scope]).toEqual(['openid orders:read', 'openid orders:read'])
    expectStatus(await change(client, { scopes: ['orders:read', 'orders:write'] }), 200)
    const again = (await realm.refresh(client, body.refresh_token)).body
    expect(again.scope.split(' ').sort()).toEqual(['openid', 'orders:read', 'orders:write'])
  })
})

test.each([
  ['openid', ['sub']],
  ['openid profile', ['family_name', 'given_name', 'locale', 'name', 'picture', 'sub']],
  ['openid email', ['email', 'email_verified', 'sub']],
  ['openid phone', ['phone_number', 'phone_number_verified', 'sub']],
  ['openid address', ['address', 'sub']],
])('userinfo with %s', async (scope, names) => {
  const profile = {
    name: 'Ada Lovelace',
    given_name: 'Ada',
    family_name: 'Lovelace',
    picture: 'https://example.com/ada.png',
    locale: 'en',
    phone_number: '+441234567',
    address: { country: 'GB' },
    secret_note: 'x',
  }
  expectStatus(await owner().patch(`${realm.tenant.I}/users/${user}`, { profile }), 200)
  const { access_token } = await realm.signInForTokens(web, 'ada@example.com', { scope })
  expect(Object.keys((await realm.userinfo(access_token)).body).sort()).toEqual(names)
})
