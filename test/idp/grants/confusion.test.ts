/**
 * Token confusion (security rule 8, RFC 9068 section 5, RFC 8725 3.11): every kind of token at every endpoint that takes
 * one. Each is what it is, at its own endpoint, and nothing anywhere else.
 */
import { createHmac, createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { signJwt } from '../../../src/platform/jwt.js'
import { must } from '../../setup/actors.js'
import { apiAs, type Loose } from '../../setup/api.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { TestBrowser } from '../browser.js'
import { AFTER_LOGOUT, CALLBACK, claimsOf, headerOf, Realm, type TestClient } from '../setup.js'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const ORDERS = 'https://orders.example'
const SCOPE = 'issuers.users:read'
const none = { redirect_uris: [], post_logout_redirect_uris: [] }

/** One issuer with one of everything. */
interface World {
  realm: Realm
  user: string
  web: TestClient
  other: TestClient
  machine: TestClient
  actor: TestClient
  agent: TestClient
  org: string
  browser: TestBrowser
}

let app: TestApp
let own: World
let foreign: World
let held: Record<string, string>

beforeAll(async () => {
  app = await startApp()
  own = await world('Own')
  foreign = await world('Foreign')
  held = {}
  for (const [name, make] of Object.entries(kinds)) if (!fresh.has(name)) held[name] = await make()
})
afterAll(() => app.close())

async function world(name: string): Promise<World> {
  const realm = await Realm.make(app, name)
  const { owner, I } = realm.tenant
  const user = await realm.user('ada@example.com')
  must(await owner.patch(`${I}/users/${user}`, { scopes: [SCOPE] }), 200)
  const confidential = { confidential: true, settings: { scopes: [SCOPE] } }
  const web = await realm.client({ allowed_resources: [ORDERS, app.baseUrl] }, confidential)
  const machine = await realm.client(
    { application_type: 'm2m', allowed_resources: [app.baseUrl], ...none },
    confidential,
  )
  const entries = (resource: string) => [{ resource, scopes: [SCOPE] }]
  const token_exchange = { subject_resources: entries(ORDERS), target_resources: entries(app.baseUrl) }
  const actor = await realm.client(
    { application_type: 'm2m', grant_types: [EXCHANGE], token_exchange, ...none },
    confidential,
  )
  const { id } = must(await owner.post(`${I}/agents`, { name: 'A', scopes: [SCOPE] }), 201).data
  const { secret } = must(await owner.post(`${I}/agents/${id}/verifiers`, { type: 'secret', name: null }), 201).data
  const org = must(await owner.post(`${I}/organizations`, { default_member_scopes: [SCOPE] }), 201).data.id
  must(await owner.post(`${I}/organizations/${org}/members`, { member_id: user }), 201)
  const { browser } = await realm.signIn(web, 'ada@example.com')
  return {
    realm,
    user,
    web,
    other: await realm.client({}, confidential),
    machine,
    actor,
    agent: { id, secret },
    org,
    browser,
  }
}

const signIn = ({ realm, web }: World, params: Record<string, string> = {}): Promise<Loose> =>
  realm.tokens(web, 'ada@example.com', { scope: `openid ${SCOPE}`, ...params })
const given = async (answer: Promise<{ status: number; body: Loose }>): Promise<string> => {
  const { status, body } = await answer
  expect([status, body]).toEqual([200, expect.anything()])
  return body.access_token
}
const credentials = ({ realm }: World, client: TestClient) =>
  given(realm.post('/token', client, { grant_type: 'client_credentials', resource: app.baseUrl }))
const exchangeOf = ({ realm, actor, org }: World, subject_token: string) =>
  realm.post('/token', actor, {
    grant_type: EXCHANGE,
    subject_token,
    subject_token_type: ACCESS_TOKEN,
    resource: app.baseUrl,
    scope: SCOPE,
    org,
  })
const personal = async ({ realm, user }: World): Promise<string> => {
  const body = { type: 'personal_token', name: 'T', restrictions: {} }
  return must(await realm.tenant.owner.post(`${realm.tenant.I}/users/${user}/tokens`, body), 201).data.token_plain
}
/** A code, with the verifier that belongs to it. */
const codes = new Map<string, string>()
const code = async ({ realm, web }: World): Promise<string> => {
  const { redirect, verifier } = await realm.signIn(web, 'ada@example.com')
  codes.set(redirect['code']!, verifier)
  return redirect['code']!
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const sealed = (token: string, head: object, key: string | Buffer) => {
  const content = `${part({ ...headerOf(token), ...head })}.${token.split('.')[1]}`
  return `${content}.${createHmac('sha256', key).update(content).digest('base64url')}`
}
/** The claims of a token for the Core API, signed once more by an issuer's own key. */
async function resigned(
  signer: World,
  typ: string,
  edit: (claims: Loose) => object = (claims) => claims,
): Promise<string> {
  const { prisma } = app.gatehouse.tools
  const where = { issuerId: signer.realm.tenant.issuerId, alg: 'ES256' }
  const row = await prisma.signingKey.findFirstOrThrow({ where, orderBy: { createdAt: 'desc' } })
  const key = { kid: row.kid, alg: row.alg, jwk: JSON.parse(app.gatehouse.sealer.open(row.privateJwk)) }
  return signJwt(key, typ, edit(claimsOf(held['user, for the Core API']!)))
}
const without = (name: string) => (claims: Loose) => {
  const { [name]: _, ...rest } = claims
  return rest
}
const publicKey = async (form: 'pem' | 'der') => {
  const { kid } = headerOf(held['user']!)
  const { keys } = (await (await fetch(`${own.realm.url}/jwks.json`)).json()) as Loose
  const jwk = keys.find((key: Loose) => key.kid === kid)
  return createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: form as 'pem' })
}
const core = () => held['user, for the Core API']!

/** How to get one of each; those that are used up, or end something where they fit, are made for each use. */
const fresh = new Set(['ID token', 'refresh token', 'code'])
const kinds: Record<string, () => Promise<string>> = {
  user: async () => (await signIn(own)).access_token,
  'user, for a service': async () => (await signIn(own, { resource: ORDERS })).access_token,
  'user, for the Core API': async () => (await signIn(own, { resource: app.baseUrl })).access_token,
  machine: () => credentials(own, own.machine),
  agent: () => credentials(own, own.agent),
  exchanged: () => given(exchangeOf(own, held['user, for a service']!)),
  'personal token': () => personal(own),
  'ID token': async () => (await signIn(own)).id_token,
  'refresh token': async () => (await signIn(own)).refresh_token,
  code: () => code(own),
  'API key': async () => Buffer.from(own.realm.tenant.owner.authorization!.slice(6), 'base64').toString(),
  'secret of an API key': async () => (await kinds['API key']!()).split(':')[1]!,
  'client secret': async () => own.web.secret!,
  'agent secret': async () => own.agent.secret!,
  'client id': async () => own.web.id,
  'session id': async () => claimsOf(held['user']!).sid,
  'token id': async () => claimsOf(held['user']!).jti,
  'foreign user': async () => (await signIn(foreign)).access_token,
  'foreign user, for a service': async () => (await signIn(foreign, { resource: ORDERS })).access_token,
  'foreign user, for the Core API': async () => (await signIn(foreign, { resource: app.baseUrl })).access_token,
  'foreign machine': () => credentials(foreign, foreign.machine),
  'foreign agent': () => credentials(foreign, foreign.agent),
  'foreign exchanged': async () => given(exchangeOf(foreign, held['foreign user, for a service']!)),
  'foreign personal token': () => personal(foreign),
  'foreign ID token': async () => (await signIn(foreign)).id_token,
  'foreign refresh token': async () => (await signIn(foreign)).refresh_token,
  'foreign code': () => code(foreign),
  'alg none': async () => `${part({ ...headerOf(core()), alg: 'none' })}.${core().split('.')[1]}.`,
  'alg None': async () =>
    `${part({ ...headerOf(core()), alg: 'None' })}.${core().split('.')[1]}.${core().split('.')[2]}`,
  'no signature': async () => core().replace(/\.[^.]*$/, ''),
  'empty signature': async () => core().replace(/[^.]*$/, ''),
  'HS256 with the public key in PEM': async () => sealed(core(), { alg: 'HS256' }, await publicKey('pem')),
  'HS256 with the public key in DER': async () => sealed(core(), { alg: 'HS256' }, await publicKey('der')),
  'HS256 with the client secret': async () => sealed(core(), { alg: 'HS256', kid: undefined }, own.web.secret!),
  'HS256 with nothing': async () => sealed(core(), { alg: 'HS256' }, ''),
  'another algorithm of ours': async () =>
    `${part({ ...headerOf(core()), alg: 'EdDSA' })}.${core().split('.').slice(1).join('.')}`,
  'a key in the header': async () =>
    `${part({ ...headerOf(core()), jwk: { kty: 'oct', k: 'AA' }, jku: 'https://evil.example' })}.${core().split('.').slice(1).join('.')}`,
  'altered claims': async () => {
    const [head, , signature] = core().split('.')
    return `${head}.${part({ ...claimsOf(core()), scope: 'svc:all' })}.${signature}`
  },
  'altered signature': async () => core().replace(/.{4}$/, (end) => (end === 'AAAA' ? 'BBBB' : 'AAAA')),
  'another spelling of the signature': async () => `${core()}=`,
  'four parts': async () => `${core()}.${core().split('.')[2]}`,
  'a mark in front': async () => `~${core()}`,
  'typ JWT, our own signature': () => resigned(own, 'JWT'),
  'typ logout+jwt, our own signature': () => resigned(own, 'logout+jwt'),
  'foreign signature for our issuer': () => resigned(foreign, 'at+jwt'),
  'our signature for a foreign issuer': () =>
    resigned(own, 'at+jwt', (claims) => ({ ...claims, iss: foreign.realm.url })),
  'no jti': () => resigned(own, 'at+jwt', without('jti')),
  'no exp': () => resigned(own, 'at+jwt', without('exp')),
  'no client_id': () => resigned(own, 'at+jwt', without('client_id')),
  'exp as text': () => resigned(own, 'at+jwt', (claims) => ({ ...claims, exp: String(claims.exp) })),
  'not yet': () => resigned(own, 'at+jwt', (claims) => ({ ...claims, nbf: claims.exp - 1 })),
  'a user that is nobody': () => resigned(own, 'at+jwt', (claims) => ({ ...claims, sub: `usr_${'0'.repeat(26)}` })),
  "another client's session": () => resigned(own, 'at+jwt', (claims) => ({ ...claims, client_id: own.other.id })),
  'a client that acts as an agent': () => resigned(own, 'at+jwt', (claims) => ({ ...claims, sub: own.agent.id })),
  nonsense: async () => 'nonsense',
  dots: async () => '..',
}

/** The endpoints, each with what it says to a token. */
const endpoints = {
  code: async (token: string) => {
    const code_verifier = codes.get(token) ?? 'x'.repeat(43)
    const { status, body } = await own.realm.exchange(own.web, { code: token, code_verifier, redirect_uri: CALLBACK })
    return body.error ?? status
  },
  refresh: async (token: string) => {
    const { status, body } = await own.realm.refresh(own.web, token)
    return body.error ?? status
  },
  subject: async (token: string) => {
    const { status, body } = await exchangeOf(own, token)
    return body.error ?? status
  },
  introspect: async (token: string) => {
    const { status, body } = await own.realm.post('/introspect', own.web, { token })
    expect(body.active || Object.keys(body).length === 1).toBe(true)
    return status === 200 ? body.active : status
  },
  userinfo: async (token: string) => (await own.realm.userinfo(token)).status,
  core: async (token: string) => (await apiAs(app.baseUrl, token).get(`${own.realm.tenant.I}/users`)).status,
  logout: async (id_token_hint: string) => {
    const params = new URLSearchParams({ id_token_hint, post_logout_redirect_uri: AFTER_LOGOUT })
    return (await new TestBrowser().request(`${own.realm.url}/logout?${params}`)).status
  },
  authorize: async (id_token_hint: string) => {
    const { redirect } = await own.realm.signIn(own.web, '', { prompt: 'none', id_token_hint }, own.browser.copy())
    return redirect['error'] ?? 'code'
  },
}
type Verdicts = Record<keyof typeof endpoints, unknown>

/** What a token is told where it does not belong. */
const nothing: Verdicts = {
  code: 'invalid_grant',
  refresh: 'invalid_grant',
  subject: 'invalid_request',
  introspect: false,
  userinfo: 401,
  core: 401,
  logout: 400,
  authorize: 'invalid_request',
}
const exceptions: Record<string, Partial<Verdicts>> = {
  user: { introspect: true, userinfo: 200 },
  'user, for a service': { introspect: true, userinfo: 200, subject: 200 },
  'user, for the Core API': { introspect: true, userinfo: 200, core: 200 },
  machine: { core: 200, userinfo: 403 },
  agent: { core: 200, userinfo: 403 },
  exchanged: { core: 200, userinfo: 403 },
  'personal token': { core: 200, userinfo: 403 },
  'ID token': { logout: 303, authorize: 'code' },
  'refresh token': { refresh: 200, introspect: true },
  code: { code: 200 },
  // Principals of another issuer are known at the Core API, and see nothing of this one.
  'foreign user, for the Core API': { core: 404 },
  'foreign machine': { core: 404 },
  'foreign agent': { core: 404 },
  'foreign exchanged': { core: 404 },
  'foreign personal token': { core: 404 },
}

test.each(Object.keys(kinds))('%s', async (name) => {
  const verdicts: Partial<Verdicts> = {}
  for (const [endpoint, ask] of Object.entries(endpoints) as [keyof Verdicts, (token: string) => Promise<unknown>][]) {
    verdicts[endpoint] = await ask(held[name] ?? (await kinds[name]!()))
  }
  expect(verdicts).toEqual({ ...nothing, ...exceptions[name] })
})

test('revocation answers 200 to all of them, and whoever is not the owner ends nothing', async () => {
  const all = { ...held }
  for (const name of fresh) all[name] = await kinds[name]!()
  for (const client of [own.other, own.machine, own.actor, own.agent, own.web]) {
    for (const [name, token] of Object.entries(all)) {
      const owner = { machine: own.machine, agent: own.agent, exchanged: own.actor }[name] ?? own.web
      if (client.id === owner.id) continue
      for (const token_type_hint of ['access_token', 'refresh_token']) {
        const { status, body } = await own.realm.post('/revoke', client, { token, token_type_hint })
        expect({ name, status, body }).toEqual({ name, status: 200, body: '' })
      }
    }
  }
  for (const name of ['user, for the Core API', 'machine', 'agent', 'exchanged', 'personal token']) {
    expect({ name, status: await endpoints.core(all[name]!) }).toEqual({ name, status: 200 })
  }
  expect(await endpoints.userinfo(all['user']!)).toBe(200)
  expect(await endpoints.refresh(all['refresh token']!)).toBe(200)
  expect(await endpoints.code(all['code']!)).toBe(200)
  expect((await foreign.realm.userinfo(all['foreign user']!)).status).toBe(200)
})

test('where a client proves who it is, no token stands for its secret', async () => {
  for (const [name, secret] of Object.entries(held)) {
    if (name === 'client secret' || !/^[!-~]+$/.test(secret)) continue
    for (const id of [own.web.id, own.agent.id]) {
      if (name === 'agent secret' && id === own.agent.id) continue
      const params = { grant_type: 'refresh_token', refresh_token: 'x' }
      const { status, body } = await own.realm.post('/token', { id, secret }, params)
      expect({ name, status, error: body.error }).toEqual({ name, status: 401, error: 'invalid_client' })
    }
  }
})
