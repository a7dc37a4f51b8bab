/**
 * Token confusion (docs/contract.md#token-checks-at-the-core-api, RFC 9068 section 5, RFC 8725 section 3.11): every
 * kind of token or secret is sent to every endpoint that accepts a token, and is accepted only where it belongs.
 */
import { createHmac, createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { signJwt } from '../../../src/platform/crypto/jws.js'
import { expectStatus } from '../../setup/actors.js'
import { type AnyJson, createApiClient } from '../../setup/api.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { TestBrowser } from '../browser.js'
import { jwtClaims, jwtHeader, POST_LOGOUT_REDIRECT_URI, REDIRECT_URI, Realm, type TestClient } from '../realm.js'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const ORDERS = 'https://orders.example'
const SCOPE = 'issuers.users:read'
const none = { redirect_uris: [], post_logout_redirect_uris: [] }

/** An issuer with a user, an agent and clients of each kind. */
interface IssuerFixture {
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
let ownIssuer: IssuerFixture
let foreignIssuer: IssuerFixture
let issuedTokens: Record<string, string>

beforeAll(async () => {
  app = await startApp()
  ownIssuer = await createIssuerFixture('Own')
  foreignIssuer = await createIssuerFixture('Foreign')
  issuedTokens = {}
  for (const [name, make] of Object.entries(kinds)) if (!fresh.has(name)) issuedTokens[name] = await make()
})
afterAll(() => app.close())

async function createIssuerFixture(name: string): Promise<IssuerFixture> {
  const realm = await Realm.create(app, name)
  const { owner, I } = realm.tenant
  const user = await realm.createUser('ada@example.com')
  expectStatus(await owner.patch(`${I}/users/${user}`, { scopes: [SCOPE] }), 200)
  const confidential = { confidential: true, settings: { scopes: [SCOPE] } }
  const web = await realm.createClient({ allowed_resources: [ORDERS, app.baseUrl] }, confidential)
  const machine = await realm.createClient(
    { application_type: 'm2m', allowed_resources: [app.baseUrl], ...none },
    confidential,
  )
  const entries = (resource: string) => [{ resource, scopes: [SCOPE] }]
  const token_exchange = { subject_resources: entries(ORDERS), target_resources: entries(app.baseUrl) }
  const actor = await realm.createClient(
    { application_type: 'm2m', grant_types: [EXCHANGE], token_exchange, ...none },
    confidential,
  )
  const { id } = expectStatus(await owner.post(`${I}/agents`, { name: 'A', scopes: [SCOPE] }), 201).data
  const { secret } = expectStatus(
    await owner.post(`${I}/agents/${id}/verifiers`, { type: 'secret', name: null }),
    201,
  ).data
  const org = expectStatus(await owner.post(`${I}/organizations`, { default_member_scopes: [SCOPE] }), 201).data.id
  expectStatus(await owner.post(`${I}/organizations/${org}/members`, { member_id: user }), 201)
  const { browser } = await realm.signIn(web, 'ada@example.com')
  return {
    realm,
    user,
    web,
    other: await realm.createClient({}, confidential),
    machine,
    actor,
    agent: { id, secret },
    org,
    browser,
  }
}

const signIn = ({ realm, web }: IssuerFixture, params: Record<string, string> = {}): Promise<AnyJson> =>
  realm.signInForTokens(web, 'ada@example.com', { scope: `openid ${SCOPE}`, ...params })
const given = async (response: Promise<{ status: number; body: AnyJson }>): Promise<string> => {
  const { status, body } = await response
  expect([status, body]).toEqual([200, expect.anything()])
  return body.access_token
}
const credentials = ({ realm }: IssuerFixture, client: TestClient) =>
  given(realm.postForm('/token', client, { grant_type: 'client_credentials', resource: app.baseUrl }))
const exchangeOf = ({ realm, actor, org }: IssuerFixture, subject_token: string) =>
  realm.postForm('/token', actor, {
    grant_type: EXCHANGE,
    subject_token,
    subject_token_type: ACCESS_TOKEN,
    resource: app.baseUrl,
    scope: SCOPE,
    org,
  })
const personal = async ({ realm, user }: IssuerFixture): Promise<string> => {
  const body = { type: 'personal_token', name: 'T', restrictions: {} }
  return expectStatus(await realm.tenant.owner.post(`${realm.tenant.I}/users/${user}/tokens`, body), 201).data
    .token_plain
}
/** The PKCE code_verifiers of the codes. */
const codes = new Map<string, string>()
const code = async ({ realm, web }: IssuerFixture): Promise<string> => {
  const { redirect, verifier } = await realm.signIn(web, 'ada@example.com')
  codes.set(redirect['code']!, verifier)
  return redirect['code']!
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const signWithHmac = (token: string, head: object, key: string | Buffer) => {
  const content = `${part({ ...jwtHeader(token), ...head })}.${token.split('.')[1]}`
  return `${content}.${createHmac('sha256', key).update(content).digest('base64url')}`
}
/** Returns a JWT with the claims of a token for the Core API, after `edit`, signed with the current key of an issuer. */
async function signAgain(
  signer: IssuerFixture,
  typ: string,
  edit: (claims: AnyJson) => object = (claims) => claims,
): Promise<string> {
  const { prisma } = app.gatehouse.database
  const where = { issuerId: signer.realm.tenant.issuerId, alg: 'ES256' }
  const row = await prisma.signingKey.findFirstOrThrow({ where, orderBy: { createdAt: 'desc' } })
  const key = { kid: row.kid, alg: row.alg, jwk: JSON.parse(app.gatehouse.encryptor.decrypt(row.privateJwk)) }
  return signJwt(key, typ, edit(jwtClaims(issuedTokens['user, for the Core API']!)))
}
const without = (name: string) => (claims: AnyJson) => {
  const { [name]: _, ...rest } = claims
  return rest
}
const publicKey = async (form: 'pem' | 'der') => {
  const { kid } = jwtHeader(issuedTokens['user']!)
  const { keys } = (await (await fetch(`${ownIssuer.realm.url}/jwks.json`)).json()) as AnyJson
  const jwk = keys.find((key: AnyJson) => key.kid === kid)
  return createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: form as 'pem' })
}
const core = () => issuedTokens['user, for the Core API']!

/** The kinds that are created again for each use, because a use can consume them or end the session. */
const fresh = new Set(['ID token', 'refresh token', 'code'])
/** Creates a token or secret of each kind. */
const kinds: Record<string, () => Promise<string>> = {
  user: async () => (await signIn(ownIssuer)).access_token,
  'user, for a service': async () => (await signIn(ownIssuer, { resource: ORDERS })).access_token,
  'user, for the Core API': async () => (await signIn(ownIssuer, { resource: app.baseUrl })).access_token,
  machine: () => credentials(ownIssuer, ownIssuer.machine),
  agent: () => credentials(ownIssuer, ownIssuer.agent),
  exchanged: () => given(exchangeOf(ownIssuer, issuedTokens['user, for a service']!)),
  'personal token': () => personal(ownIssuer),
  'ID token': async () => (await signIn(ownIssuer)).id_token,
  'refresh token': async () => (await signIn(ownIssuer)).refresh_token,
  code: () => code(ownIssuer),
  'API key': async () => Buffer.from(ownIssuer.realm.tenant.owner.authorization!.slice(6), 'base64').toString(),
  'secret of an API key': async () => (await kinds['API key']!()).split(':')[1]!,
  'client secret': async () => ownIssuer.web.secret!,
  'agent secret': async () => ownIssuer.agent.secret!,
  'client id': async () => ownIssuer.web.id,
  'session id': async () => jwtClaims(issuedTokens['user']!).sid,
  'token id': async () => jwtClaims(issuedTokens['user']!).jti,
  'foreign user': async () => (await signIn(foreignIssuer)).access_token,
  'foreign user, for a service': async () => (await signIn(foreignIssuer, { resource: ORDERS })).access_token,
  'foreign user, for the Core API': async () => (await signIn(foreignIssuer, { resource: app.baseUrl })).access_token,
  'foreign machine': () => credentials(foreignIssuer, foreignIssuer.machine),
  'foreign agent': () => credentials(foreignIssuer, foreignIssuer.agent),
  'foreign exchanged': async () => given(exchangeOf(foreignIssuer, issuedTokens['foreign user, for a service']!)),
  'foreign personal token': () => personal(foreignIssuer),
  'foreign ID token': async () => (await signIn(foreignIssuer)).id_token,
  'foreign refresh token': async () => (await signIn(foreignIssuer)).refresh_token,
  'foreign code': () => code(foreignIssuer),
  'alg none': async () => `${part({ ...jwtHeader(core()), alg: 'none' })}.${core().split('.')[1]}.`,
  'alg None': async () =>
    `${part({ ...jwtHeader(core()), alg: 'None' })}.${core().split('.')[1]}.${core().split('.')[2]}`,
  'no signature': async () => core().replace(/\.[^.]*$/, ''),
  'empty signature': async () => core().replace(/[^.]*$/, ''),
  'HS256 with the public key in PEM': async () => signWithHmac(core(), { alg: 'HS256' }, await publicKey('pem')),
  'HS256 with the public key in DER': async () => signWithHmac(core(), { alg: 'HS256' }, await publicKey('der')),
  'HS256 with the client secret': async () =>
    signWithHmac(core(), { alg: 'HS256', kid: undefined }, ownIssuer.web.secret!),
  'HS256 with nothing': async () => signWithHmac(core(), { alg: 'HS256' }, ''),
  'another algorithm of ours': async () =>
    `${part({ ...jwtHeader(core()), alg: 'EdDSA' })}.${core().split('.').slice(1).join('.')}`,
  'a key in the header': async () =>
    `${part({ ...jwtHeader(core()), jwk: { kty: 'oct', k: 'AA' }, jku: 'https://evil.example' })}.${core().split('.').slice(1).join('.')}`,
  'altered claims': async () => {
    const [head, , signature] = core().split('.')
    return `${head}.${part({ ...jwtClaims(core()), scope: 'svc:all' })}.${signature}`
  },
  'altered signature': async () => core().replace(/.{4}$/, (end) => (end === 'AAAA' ? 'BBBB' : 'AAAA')),
  'another spelling of the signature': async () => `${core()}=`,
  'four parts': async () => `${core()}.${core().split('.')[2]}`,
  'a mark in front': async () => `~${core()}`,
  'typ JWT, our own signature': () => signAgain(ownIssuer, 'JWT'),
  'typ logout+jwt, our own signature': () => signAgain(ownIssuer, 'logout+jwt'),
  'foreign signature for our issuer': () => signAgain(foreignIssuer, 'at+jwt'),
  'our signature for a foreign issuer': () =>
    signAgain(ownIssuer, 'at+jwt', (claims) => ({ ...claims, iss: foreignIssuer.realm.url })),
  'no jti': () => signAgain(ownIssuer, 'at+jwt', without('jti')),
  'no exp': () => signAgain(ownIssuer, 'at+jwt', without('exp')),
  'no client_id': () => signAgain(ownIssuer, 'at+jwt', without('client_id')),
  'exp as text': () => signAgain(ownIssuer, 'at+jwt', (claims) => ({ ...claims, exp: String(claims.exp) })),
  'not yet': () => signAgain(ownIssuer, 'at+jwt', (claims) => ({ ...claims, nbf: claims.exp - 1 })),
  'an unknown user': () => signAgain(ownIssuer, 'at+jwt', (claims) => ({ ...claims, sub: `usr_${'0'.repeat(26)}` })),
  "another client's session": () =>
    signAgain(ownIssuer, 'at+jwt', (claims) => ({ ...claims, client_id: ownIssuer.other.id })),
  'a client that acts as an agent': () =>
    signAgain(ownIssuer, 'at+jwt', (claims) => ({ ...claims, sub: ownIssuer.agent.id })),
  nonsense: async () => 'nonsense',
  dots: async () => '..',
}

/** Sends a token to each endpoint and returns the status or error of the response. */
const endpoints = {
  code: async (token: string) => {
    const code_verifier = codes.get(token) ?? 'x'.repeat(43)
    const { status, body } = await ownIssuer.realm.exchangeCode(ownIssuer.web, {
      code: token,
      code_verifier,
      redirect_uri: REDIRECT_URI,
    })
    return body.error ?? status
  },
  refresh: async (token: string) => {
    const { status, body } = await ownIssuer.realm.refresh(ownIssuer.web, token)
    return body.error ?? status
  },
  subject: async (token: string) => {
    const { status, body } = await exchangeOf(ownIssuer, token)
    return body.error ?? status
  },
  introspect: async (token: string) => {
    const { status, body } = await ownIssuer.realm.postForm('/introspect', ownIssuer.web, { token })
    expect(body.active || Object.keys(body).length === 1).toBe(true)
    return status === 200 ? body.active : status
  },
  userinfo: async (token: string) => (await ownIssuer.realm.userinfo(token)).status,
  core: async (token: string) =>
    (await createApiClient(app.baseUrl, token).get(`${ownIssuer.realm.tenant.I}/users`)).status,
  logout: async (id_token_hint: string) => {
    const params = new URLSearchParams({ id_token_hint, post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI })
    return (await new TestBrowser().request(`${ownIssuer.realm.url}/logout?${params}`)).status
  },
  authorize: async (id_token_hint: string) => {
    const { redirect } = await ownIssuer.realm.signIn(
      ownIssuer.web,
      '',
      { prompt: 'none', id_token_hint },
      ownIssuer.browser.clone(),
    )
    return redirect['error'] ?? 'code'
  },
}
type ExpectedResults = Record<keyof typeof endpoints, unknown>

/** The responses of the endpoints to a token that they do not accept. */
const nothing: ExpectedResults = {
  code: 'invalid_grant',
  refresh: 'invalid_grant',
  subject: 'invalid_request',
  introspect: false,
  userinfo: 401,
  core: 401,
  logout: 400,
  authorize: 'invalid_request',
}
/** The responses that differ, by the kind of token. */
const exceptions: Record<string, Partial<ExpectedResults>> = {
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
  // The Core API accepts tokens of another issuer, but their principals cannot see this issuer, so the result is 404.
  'foreign user, for the Core API': { core: 404 },
  'foreign machine': { core: 404 },
  'foreign agent': { core: 404 },
  'foreign exchanged': { core: 404 },
  'foreign personal token': { core: 404 },
}

test.each(Object.keys(kinds))('%s is accepted only at its own endpoints', async (name) => {
  const results: Partial<ExpectedResults> = {}
  for (const [endpoint, ask] of Object.entries(endpoints) as [
    keyof ExpectedResults,
    (token: string) => Promise<unknown>,
  ][]) {
    results[endpoint] = await ask(issuedTokens[name] ?? (await kinds[name]!()))
  }
  expect(results).toEqual({ ...nothing, ...exceptions[name] })
})

test('the revocation endpoint returns 200 for every token, and revokes nothing that belongs to another client', async () => {
  const all = { ...issuedTokens }
  for (const name of fresh) all[name] = await kinds[name]!()
  for (const client of [ownIssuer.other, ownIssuer.machine, ownIssuer.actor, ownIssuer.agent, ownIssuer.web]) {
    for (const [name, token] of Object.entries(all)) {
      // A token belongs to the client in its claims, so `other` owns the token of another client's session.
      const owners = {
        machine: ownIssuer.machine,
        agent: ownIssuer.agent,
        exchanged: ownIssuer.actor,
        "another client's session": ownIssuer.other,
      }
      const owner = owners[name as keyof typeof owners] ?? ownIssuer.web
      if (client.id === owner.id) continue
      for (const token_type_hint of ['access_token', 'refresh_token']) {
        const { status, body } = await ownIssuer.realm.postForm('/revoke', client, { token, token_type_hint })
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
  expect((await foreignIssuer.realm.userinfo(all['foreign user']!)).status).toBe(200)
})

test('no token is accepted as the secret of a client', async () => {
  for (const [name, secret] of Object.entries(issuedTokens)) {
    if (name === 'client secret' || !/^[!-~]+$/.test(secret)) continue
    for (const id of [ownIssuer.web.id, ownIssuer.agent.id]) {
      if (name === 'agent secret' && id === ownIssuer.agent.id) continue
      const params = { grant_type: 'refresh_token', refresh_token: 'x' }
      const { status, body } = await ownIssuer.realm.postForm('/token', { id, secret }, params)
      expect({ name, status, error: body.error }).toEqual({ name, status: 401, error: 'invalid_client' })
    }
  }
})
