/** Rules of spec 4.17, 5.2 and 5.3 that hold for every grant: who, for which audience, how long, signed how. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { must } from '../../setup/actors.js'
import type { Loose } from '../../setup/api.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { TestBrowser } from '../browser.js'
import { type Answer, answerOf, CALLBACK, claimsOf, PASSWORD, Realm, redirectOf, type TestClient } from '../setup.js'

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
  realm = await Realm.make(app)
  user = await realm.user('ada@example.com')
  web = await realm.client(
    { allowed_audiences: ['https://api.example.com', 'reports'], allowed_resources: [A, B] },
    { confidential: true, settings: { scopes: ['orders:read', 'orders:write'] } },
  )
})
afterAll(() => app.close())

const owner = () => realm.tenant.owner
const change = (client: TestClient, settings: object) =>
  owner().patch(`${realm.tenant.I}/clients/${client.id}`, { settings })
/** Changes what is stored, past the checks of the interface. */
async function store(client: TestClient, edit: (settings: Loose) => void): Promise<void> {
  const { prisma } = app.gatehouse.tools
  const { settings, updatedAt } = await prisma.client.findUniqueOrThrow({ where: { id: client.id } })
  edit(settings)
  await prisma.client.update({
    where: { id: client.id },
    data: { settings: settings as object, updatedAt: updatedAt + 1n },
  })
}
const failed = ({ status, body }: Answer) => [status, body.error]
const sending = async (path: string, body: Record<string, string>, authorization?: string) =>
  answerOf(
    await fetch(`${realm.url}${path}`, {
      method: 'POST',
      body: new URLSearchParams(body),
      headers: authorization ? { authorization } : {},
    }),
  )

describe.each(['/token', '/introspect', '/revoke'])('5.2 rule 1: client authentication at %s', (path) => {
  const form = { token: 'x', grant_type: 'refresh_token', refresh_token: 'x' }
  const basic = (id: string, secret: string) => `Basic ${btoa(`${id}:${secret}`)}`
  const good = path === '/token' ? [400, 'invalid_grant'] : [200, undefined]
  const no = [401, 'invalid_client']
  const invalid = [400, 'invalid_request']
  test.each<[string, (string | number | undefined)[], () => Promise<Answer>]>([
    ['Basic', good, () => sending(path, form, basic(web.id, web.secret!))],
    ['post', good, () => sending(path, { ...form, client_id: web.id, client_secret: web.secret! })],
    ['Basic with client_id', good, () => sending(path, { ...form, client_id: web.id }, basic(web.id, web.secret!))],
    ['a wrong secret', no, () => sending(path, form, basic(web.id, 'x'.repeat(43)))],
    ['a secret in part', no, () => sending(path, form, basic(web.id, web.secret!.slice(0, -1)))],
    [
      'the hash of the secret',
      no,
      () => sending(path, form, basic(web.id, createHash('sha256').update(web.secret!).digest('hex'))),
    ],
    ['no secret', no, () => sending(path, { ...form, client_id: web.id })],
    ['an unknown client', no, () => sending(path, form, basic(`cli_${'0'.repeat(26)}`, web.secret!))],
    ['an API key', no, () => sending(path, form, owner().authorization)],
    ['a user', no, () => sending(path, form, basic('ada@example.com', PASSWORD))],
    ['nothing', no, () => sending(path, form)],
    ['a secret without a client', no, () => sending(path, { ...form, client_secret: web.secret! })],
    ['two ways', invalid, () => sending(path, { ...form, client_secret: web.secret! }, basic(web.id, web.secret!))],
    ['two clients', invalid, () => sending(path, { ...form, client_id: 'cli_x' }, basic(web.id, web.secret!))],
    ['Bearer', invalid, () => sending(path, form, `Bearer ${web.secret}`)],
    ['no secret in Basic', invalid, () => sending(path, form, basic(web.id, ''))],
  ])('%s: %j', async (_, verdict, send) => {
    expect(failed(await send())).toEqual(verdict)
  })
})

describe('5.2 rule 2: client_credentials is for machines', () => {
  const ask = (client: TestClient) => realm.post('/token', client, { grant_type: 'client_credentials' })
  test('an M2M client with the grant, by default too', async () => {
    for (const grants of [
      {},
      { grant_types: ['client_credentials'] },
      { grant_types: ['client_credentials', EXCHANGE] },
    ]) {
      const client = await realm.client({ ...machine, ...grants }, { confidential: true })
      expect((await ask(client)).status).toBe(200)
    }
  })
  test('every other client is unauthorized_client', async () => {
    const grant_types = ['authorization_code', 'client_credentials']
    for (const client of [
      web,
      await realm.client(),
      await realm.client({ grant_types }, { confidential: true }),
      await realm.client({ application_type: 'native', grant_types }, { confidential: true }),
      await realm.client({ ...machine, grant_types: [EXCHANGE] }, { confidential: true }),
      await realm.client({ ...machine, grant_types: [] }, { confidential: true }),
    ])
      expect(failed(await ask(client))).toEqual([400, 'unauthorized_client'])
  })
  test('a public client that was given it behind the back of the interface is unauthorized_client', async () => {
    const client = await realm.client()
    await store(client, ({ openid }) =>
      Object.assign(openid, { application_type: 'm2m', grant_types: ['client_credentials'] }),
    )
    expect(failed(await ask(client))).toEqual([400, 'unauthorized_client'])
  })
})

describe('5.2 rule 5 and 4.17: audience and resource', () => {
  /** What the application is told: at its callback, or by the token endpoint. */
  async function outcome(params: Record<string, string | undefined>): Promise<string> {
    const { redirect, verifier } = await realm.signIn(web, 'ada@example.com', params)
    if (redirect['error']) return redirect['error']
    const exchange = { code: redirect['code']!, code_verifier: verifier, redirect_uri: CALLBACK }
    const { body } = await realm.exchange(web, exchange)
    const refreshed = (await realm.refresh(web, body.refresh_token)).body
    const introspected = (await realm.post('/introspect', web, { token: refreshed.refresh_token })).body
    const auds = [body.access_token, refreshed.access_token].map((token) => claimsOf(token).aud)
    expect(auds[1]).toEqual(auds[0])
    // Refresh tokens always carry the client id, and so does the ID token.
    expect([introspected.aud, claimsOf(body.id_token).aud]).toEqual([web.id, web.id])
    return auds[0]
  }
  test.each<[string, Record<string, string>, () => string]>([
    ['nothing', {}, () => web.id],
    ['a listed audience', { audience: 'https://api.example.com' }, () => 'https://api.example.com'],
    ['a listed audience that is no URI', { audience: 'reports' }, () => 'reports'],
    ['a listed resource', { resource: A }, () => A],
    ['an audience in another spelling', { audience: 'Reports' }, () => 'invalid_target'],
    ['a longer audience', { audience: 'https://api.example.com/' }, () => 'invalid_target'],
    ['an unlisted audience', { audience: 'https://bank.example' }, () => 'invalid_target'],
    ['a resource as audience', { audience: A }, () => 'invalid_target'],
    ['an audience as resource', { resource: 'https://api.example.com' }, () => 'invalid_target'],
    ['an unlisted resource', { resource: 'https://bank.example' }, () => 'invalid_target'],
    ['a resource with a fragment', { resource: `${A}#x` }, () => 'invalid_target'],
    ['a resource that is none', { resource: 'x' }, () => 'invalid_target'],
    ['both', { resource: A, audience: 'reports' }, () => 'invalid_target'],
    ['the Core API, which is not listed', { resource: 'http://127.0.0.1:1' }, () => 'invalid_target'],
  ])('%s: %j', async (_, params, expected) => {
    expect(await outcome(params)).toBe(expected())
  })
  test("the client's own id, said aloud; not another client's", async () => {
    expect(await outcome({ audience: web.id })).toBe(web.id)
    const other = await realm.client()
    expect(await outcome({ audience: other.id })).toBe('invalid_target')
    expect(await outcome({ resource: `urn:gatehouse:audience:${other.id}` })).toBe('invalid_target')
  })

  async function granted(...resources: string[]) {
    const url = new URL(realm.authorizeUrl(web))
    for (const resource of resources) url.searchParams.append('resource', resource)
    const browser = new TestBrowser()
    const page = await browser.submit(await browser.open(url.href), { username: 'ada@example.com', password: PASSWORD })
    return { code: redirectOf(page)['code']!, redirect_uri: CALLBACK }
  }
  test.each<[string, string[], string | undefined, string]>([
    ['one of two', [A, B], B, B],
    ['none named: the first', [A, B], undefined, A],
    ['one that was not authorised', [A], B, 'invalid_target'],
    ['one that is unlisted', [A], 'https://bank.example', 'invalid_target'],
  ])(
    'the exchange and each refresh take one of the granted resources: %s',
    async (_, resources, resource, expected) => {
      const more = resource === undefined ? {} : { resource }
      const code = await realm.exchange(web, { ...(await granted(...resources)), ...more })
      expect(code.body.error ?? claimsOf(code.body.access_token).aud).toBe(expected)
      const first = await realm.exchange(web, await granted(...resources))
      const { body } = await realm.refresh(web, first.body.refresh_token, more)
      expect(body.error ?? claimsOf(body.access_token).aud).toBe(expected)
    },
  )

  test('a resource that is taken from the client is gone with the next refresh', async () => {
    const { body } = await realm.exchange(web, await granted(A))
    must(await change(web, { openid: { allowed_resources: [B] } }), 200)
    expect(failed(await realm.refresh(web, body.refresh_token))).toEqual([400, 'invalid_target'])
    must(await change(web, { openid: { allowed_resources: [A, B] } }), 200)
    const again = await realm.refresh(web, body.refresh_token)
    expect(claimsOf(again.body.access_token).aud).toBe(A)
  })

  test.each<[string, Record<string, string>, string]>([
    ['nothing: the client id', {}, ''],
    ['a listed resource', { resource: A }, A],
    ['an unlisted one', { resource: 'https://bank.example' }, 'invalid_target'],
    ['an empty one', { resource: '' }, ''],
  ])('a machine: %s', async (_, params, expected) => {
    const client = await realm.client({ ...machine, allowed_resources: [A] }, { confidential: true })
    const { body } = await realm.post('/token', client, { grant_type: 'client_credentials', ...params })
    expect(body.error ?? claimsOf(body.access_token).aud).toBe(expected || client.id)
  })
})

describe('5.2 rule 6: org by policy', () => {
  let tulips: string
  let roses: string
  let strange: string
  beforeAll(async () => {
    const list = `${realm.tenant.I}/organizations`
    const make = async (name: string) => must(await owner().post(list, { name }), 201).data.id
    ;[tulips, roses, strange] = [await make('Tulips'), await make('Roses'), await make('Strange')]
    for (const id of [tulips, roses]) must(await owner().post(`${list}/${id}/members`, { member_id: user }), 201)
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
    const client = await realm.client({}, { settings: { restrictions: { organizations: policies[policy]() } } })
    const params = org() === undefined ? {} : { org: org()! }
    const { redirect, verifier } = await realm.signIn(client, 'ada@example.com', params)
    if (redirect['error']) return expect(redirect['error']).toBe(expected)
    const exchange = { code: redirect['code']!, code_verifier: verifier, redirect_uri: CALLBACK }
    const { body } = await realm.exchange(client, exchange)
    expect(body.error ?? 'granted').toBe(expected)
    if (body.error) return
    // Refresh keeps the restriction.
    const refreshed = (await realm.refresh(client, body.refresh_token)).body
    for (const token of [body.access_token, refreshed.access_token]) {
      expect(claimsOf(token).org_id).toBe(org())
      // D33: without org, tokens name what the client may know of.
      const known = { all: [tulips, roses], none: undefined, allowlist: [tulips], 'an empty allowlist': undefined }
      const expectedIds = org() === undefined ? known[policy] : [org()]
      const ids = claimsOf(token).organizations?.map(({ id }: { id: string }) => id)
      expect(ids?.sort()).toEqual(expectedIds?.sort())
    }
  })
  test.each(['authorization_code', 'refresh_token', 'client_credentials'])(
    '/token does not accept org: %s',
    async (grant_type) => {
      const client = grant_type === 'client_credentials' ? await realm.client(machine, { confidential: true }) : web
      const answer = await realm.post('/token', client, { grant_type, org: tulips, code: 'x', refresh_token: 'x' })
      expect(failed(answer)).toEqual([400, 'invalid_request'])
    },
  )
})

describe('5.2 rule 7: unsupported', () => {
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
    expect(failed(await realm.post('/token', web, params))).toEqual([400, 'unsupported_grant_type'])
  })
  test.each(['token', 'id_token', 'id_token token', 'code token', 'code id_token', 'none'])(
    'the response type %s',
    async (response_type) => {
      const page = await new TestBrowser().open(realm.authorizeUrl(web, { response_type, nonce: 'n' }))
      expect(new URL(page.url).hash).toBe('')
      expect(redirectOf({ ...page, html: '' })['error']).toMatch(/^(unsupported_response_type|invalid_request)$/)
    },
  )
  test.each(['/device_authorization', '/device', '/par', '/register', '/request', '/ciba', '/backchannel'])(
    'there is no %s',
    async (path) => {
      expect((await sending(path, { client_id: web.id })).status).toBe(404)
    },
  )
})

describe('5.3: signing, per client', () => {
  test.each(['ES256', 'RS256', 'EdDSA', undefined])('%s, by the published keys', async (alg) => {
    const openid = { allowed_resources: [A], ...(alg && { response_signature_alg: alg }) }
    const people = await realm.client(openid)
    const machines = await realm.client({ ...machine, ...openid }, { confidential: true })
    const { access_token, id_token } = await realm.tokens(people, 'ada@example.com')
    const { body } = await realm.post('/token', machines, { grant_type: 'client_credentials', resource: A })
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

describe('5.3 and D16: lifetimes in seconds', () => {
  const agesOf = async (client: TestClient) => {
    const { access_token, id_token, refresh_token, expires_in } = await realm.tokens(client, 'ada@example.com')
    const refresh = (await realm.post('/introspect', client, { token: refresh_token })).body
    const age = ({ exp, iat }: Loose) => exp - iat
    expect(expires_in).toBe(age(claimsOf(access_token)))
    return [age(claimsOf(access_token)), age(claimsOf(id_token)), age(refresh)]
  }
  const confidential = (openid: object, settings: object) => realm.client(openid, { confidential: true, settings })
  const names = ['default_access_token_age', 'default_id_token_age', 'default_refresh_token_age']
  const all = (age: number) => Object.fromEntries(names.map((name) => [name, age]))

  test('defaults: 30 minutes, 1 hour, 7 days', async () => {
    expect(await agesOf(await confidential({}, {}))).toEqual([1800, 3600, 604_800])
  })
  test('at the top of the settings or under openid', async () => {
    expect(await agesOf(await confidential({}, all(77)))).toEqual([77, 77, 77])
    expect(await agesOf(await confidential(all(77), {}))).toEqual([77, 77, 77])
  })
  test('21 days are the most; the clamp holds whatever is stored', async () => {
    const client = await confidential({}, all(MAX_AGE))
    // The session lasts as long, and began a moment earlier.
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
    const { body } = await realm.post('/token', machines, { grant_type: 'client_credentials' })
    expect(claimsOf(body.access_token).exp - claimsOf(body.access_token).iat).toBe(MAX_AGE)
  })
  test('a machine: 30 minutes, or its own', async () => {
    for (const [settings, age] of [
      [{}, 1800],
      [{ default_access_token_age: 60 }, 60],
    ] as const) {
      const client = await confidential(machine, settings)
      expect((await realm.post('/token', client, { grant_type: 'client_credentials' })).body.expires_in).toBe(age)
    }
  })
})

describe('4.17: a refresh', () => {
  test.each<[string, Record<string, string>, string]>([
    ['no scope: all of it', {}, 'openid email orders:read orders:write'],
    ['a part', { scope: 'orders:read' }, 'orders:read'],
    ['in another order', { scope: 'orders:read openid' }, 'orders:read openid'],
    ['more', { scope: 'openid profile' }, 'invalid_scope'],
    ['everything', { scope: 'svc:all' }, 'invalid_scope'],
    ['blank', { scope: ' ' }, 'invalid_scope'],
    ['empty, which is none (RFC 6749 3.2)', { scope: '' }, 'openid email orders:read orders:write'],
  ])('scope: %s', async (_, params, expected) => {
    const first = await realm.tokens(web, 'ada@example.com', { scope: 'openid email orders:read orders:write' })
    const { body } = await realm.refresh(web, first.refresh_token, params)
    const sorted = (text: string) => text.split(' ').sort()
    expect(sorted(body.error ?? body.scope)).toEqual(sorted(expected))
    if (body.error) return
    expect(sorted(claimsOf(body.access_token).scope)).toEqual(sorted(expected))
    expect('id_token' in body).toBe(expected.includes('openid'))
    expect(body.refresh_token).not.toBe(first.refresh_token)
    // The new one keeps the full grant; the old one is used up.
    expect(sorted((await realm.refresh(web, body.refresh_token)).body.scope)).toHaveLength(4)
  })

  test('scopes are re-applied from the grant: what the client lost meanwhile is not given out, and said so', async () => {
    const client = await realm.client({}, { confidential: true, settings: { scopes: ['orders:read', 'orders:write'] } })
    const first = await realm.tokens(client, 'ada@example.com', { scope: 'openid orders:read orders:write' })
    must(await change(client, { scopes: ['orders:read'] }), 200)
    const { body } = await realm.refresh(client, first.refresh_token)
    expect([body.scope, claimsOf(body.access_token).scope]).toEqual(['openid orders:read', 'openid orders:read'])
    must(await change(client, { scopes: ['orders:read', 'orders:write'] }), 200)
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
])('5.3: userinfo of %s', async (scope, names) => {
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
  must(await owner().patch(`${realm.tenant.I}/users/${user}`, { profile }), 200)
  const { access_token } = await realm.tokens(web, 'ada@example.com', { scope })
  expect(Object.keys((await realm.userinfo(access_token)).body).sort()).toEqual(names)
})
