/**
 * Token exchange (docs/contract.md#token-exchange) at the token endpoint: every rule, the rejections, and when exchanged
 * tokens become invalid.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createUser, expectStatus } from '../../setup/actors.js'
import { type AnyJson, createApiClient } from '../../setup/api.js'
import { eventsRecordedFromNow } from '../../setup/recorded-events.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { type IdpResponse, jwtClaims, jwtHeader, Realm, type TestClient } from '../realm.js'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const ORDERS = 'https://orders.example'
const STOCK = 'https://stock.example'
const scopes = ['stock:read', 'stock:write', 'orders:read', 'stock:manage', 'svc:all']
const SCOPE = 'openid email stock:read stock:write orders:read stock:manage'

let app: TestApp
let second: TestApp
let realm: Realm
let user: string
let shop: TestClient
let actor: TestClient
let tulips: string
let roses: string
/** The token response whose access token the tests exchange. Tests that make a token or session invalid sign in again. */
let subject: AnyJson

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  user = await realm.createUser('ada@example.com')
  shop = await realm.createClient(
    { allowed_resources: [ORDERS, app.baseUrl] },
    { confidential: true, settings: { scopes } },
  )
  tulips = await organization('Tulips', ['stock:read', 'orders:read', 'stock:manage'])
  roses = await organization('Roses', scopes)
  actor = await createActor()
  second = await app.startSecondApp()
  subject = await signIn()
})
afterAll(() => app.close())

const owner = () => realm.tenant.owner
async function organization(name: string, given: string[]): Promise<string> {
  const list = `${realm.tenant.I}/organizations`
  const { id } = expectStatus(await owner().post(list, { name, default_member_scopes: given }), 201).data
  expectStatus(await owner().post(`${list}/${id}/members`, { member_id: user }), 201)
  return id
}
const exchangeSettings = (more: object = {}) => ({
  subject_resources: [{ resource: ORDERS, scopes: ['stock:read', 'stock:write', 'stock:manage', 'svc:all'] }],
  target_resources: [
    { resource: STOCK, scopes: ['stock:read', 'stock:write', 'orders:read', 'svc:all'] },
    { resource: app.baseUrl, scopes: ['stock:read'] },
  ],
  ...more,
})
const createActor = (more: object = {}, settings: object = {}, at = realm): Promise<TestClient> =>
  at.createClient(
    {
      application_type: 'm2m',
      grant_types: [EXCHANGE],
      redirect_uris: [],
      post_logout_redirect_uris: [],
      token_exchange: exchangeSettings(),
      ...more,
    },
    { confidential: true, settings },
  )
const signIn = (params: Record<string, string> = {}, client = shop) =>
  realm.signInForTokens(client, 'ada@example.com', { resource: ORDERS, scope: SCOPE, ...params })

/** Form parameters that replace or complement those of a valid request. The value undefined removes a parameter. */
type Params = Record<string, string | undefined>
const paramsOf = (params: Params): Record<string, string> =>
  Object.fromEntries(
    Object.entries({
      grant_type: EXCHANGE,
      subject_token: subject.access_token,
      subject_token_type: ACCESS_TOKEN,
      resource: STOCK,
      scope: 'stock:read',
      org: tulips,
      ...params,
    }).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
const exchange = (params: Params = {}, client: TestClient | undefined = actor, at = realm): Promise<IdpResponse> =>
  at.postForm('/token', client, paramsOf(params))
const given = async (params: Params = {}, client = actor): Promise<string> => {
  const { status, body } = await exchange(params, client)
  expect([status, body.error]).toEqual([200, undefined])
  return body.access_token
}
const refused = async (response: Promise<IdpResponse>, status: number, error: string) => {
  const { status: got, body, headers } = await response
  expect([got, body]).toEqual([status, { error, error_description: expect.any(String) }])
  expect(headers.get('cache-control')).toBe('no-store')
}

describe('the response and the token', () => {
  test('have exactly these members and claims; `sub` and `sid` are those of the subject token', async () => {
    const { status, body, headers } = await exchange({ scope: 'stock:read', requested_token_type: ACCESS_TOKEN })
    expect(status).toBe(200)
    expect(body).toEqual({
      access_token: expect.any(String),
      issued_token_type: ACCESS_TOKEN,
      token_type: 'Bearer',
      expires_in: 300,
      scope: 'stock:read',
    })
    expect([headers.get('cache-control'), headers.get('pragma')]).toContain('no-store')
    const [before, claims] = [jwtClaims(subject.access_token), jwtClaims(body.access_token)]
    expect(jwtHeader(body.access_token)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
    expect(claims).toEqual({
      iss: realm.url,
      sub: user,
      aud: STOCK,
      exp: claims.iat + 300,
      iat: expect.any(Number),
      nbf: claims.iat,
      jti: expect.stringMatching(/^tok_/),
      client_id: actor.id,
      sid: before.sid,
      scope: 'stock:read',
      auth_time: before.auth_time,
      acr: before.acr,
      act: { sub: actor.id },
      organizations: [{ id: tulips, name: 'Tulips', scopes: ['stock:read'], groups: [] }],
      org_id: tulips,
    })
    expect(claims.jti).not.toBe(before.jti)
  })

  test('a client_id in the body in addition to Basic, which many libraries send, is accepted', async () => {
    expect((await exchange({ scope: 'stock:read', client_id: actor.id })).status).toBe(200)
  })

  test('several scopes, in the order of the request; the organization has exactly those', async () => {
    const { body } = await exchange({ scope: 'stock:write stock:read', org: roses })
    expect(body.scope).toBe('stock:write stock:read')
    expect(jwtClaims(body.access_token)).toMatchObject({
      org_id: roses,
      organizations: [{ id: roses, scopes: ['stock:write', 'stock:read'] }],
    })
  })

  test("signed with the actor's own algorithm", async () => {
    const own = await createActor({ response_signature_alg: 'EdDSA' })
    expect(jwtHeader(await given({}, own))).toMatchObject({ alg: 'EdDSA', typ: 'at+jwt' })
  })

  test('token.exchanged has actor, user and source, and no token', async () => {
    const readEvents = await eventsRecordedFromNow(app, realm.tenant.accountId)
    const token = await given()
    const [event, ...more] = await readEvents()
    expect(more).toEqual([])
    expect(event).toMatchObject({
      type: 'token.exchanged',
      userId: user,
      clientId: actor.id,
      orgId: tulips,
      sessionId: jwtClaims(token).sid,
      authType: 'client',
      actor: { type: 'client', id: actor.id },
      target: { type: 'token', id: jwtClaims(token).jti },
      data: {
        resource: STOCK,
        scopes: ['stock:read'],
        subject_client_id: shop.id,
        subject_jti: jwtClaims(subject.access_token).jti,
      },
    })
    const text = JSON.stringify(event)
    for (const secret of [token, subject.access_token, actor.secret!]) expect(text).not.toContain(secret)
  })

  test('a rejected exchange records no token.exchanged, and the subject token stays valid', async () => {
    const readEvents = await eventsRecordedFromNow(app, realm.tenant.accountId)
    expect((await exchange({ scope: 'nonsense' })).status).toBe(400)
    expect((await readEvents()).filter(({ type }) => type !== 'token.denied')).toEqual([])
    expect((await realm.userinfo(subject.access_token)).status).toBe(200)
  })
})

describe('lifetime', () => {
  test.each([
    [30, 30],
    [300, 300],
  ])('max_access_token_age %s', async (max_access_token_age, lifetime) => {
    const own = await createActor({ token_exchange: exchangeSettings({ max_access_token_age }) })
    const { body } = await exchange({}, own)
    const { exp, iat } = jwtClaims(body.access_token)
    expect([body.expires_in, exp - iat]).toEqual([lifetime, lifetime])
  })

  test('is at most the remaining lifetime of the subject token, even if that is below 30 seconds', async () => {
    const { exp } = jwtClaims(subject.access_token)
    app.clock.advance(exp * 1000 - 20_000 - app.clock.now())
    const { body } = await exchange()
    expect(body.expires_in).toBeGreaterThanOrEqual(18)
    expect(body.expires_in).toBeLessThanOrEqual(20)
    expect(jwtClaims(body.access_token).exp).toBe(exp)
    app.clock.advance(exp * 1000 - app.clock.now())
    await refused(exchange(), 400, 'invalid_request')
    app.clock.advance(Date.now() - app.clock.now())
  })
})

describe('the actor authenticates with Basic', () => {
  const send = async (params: Params | [string, string][], authorization?: string) => {
    const body = new URLSearchParams(Array.isArray(params) ? params : paramsOf(params))
    const response = await fetch(`${realm.url}/token`, {
      method: 'POST',
      body,
      headers: authorization ? { authorization } : {},
    })
    return { status: response.status, headers: response.headers, body: await response.json() } as IdpResponse
  }
  const basic = (client = actor) => `Basic ${btoa(`${client.id}:${client.secret}`)}`

  test.each<[string, number, string, () => Promise<IdpResponse>]>([
    [
      'credentials in the body',
      401,
      'invalid_client',
      () => send({ client_id: actor.id, client_secret: actor.secret }),
    ],
    ['both', 400, 'invalid_request', () => send({ client_id: actor.id, client_secret: actor.secret }, basic())],
    ['a different client_id in the body', 400, 'invalid_request', () => send({ client_id: shop.id }, basic())],
    ['only client_id', 401, 'invalid_client', () => send({ client_id: actor.id })],
    ['none', 401, 'invalid_client', () => send({})],
    ['a wrong secret', 401, 'invalid_client', () => send({}, basic({ ...actor, secret: 'x'.repeat(43) }))],
    ['another client', 400, 'unauthorized_client', () => send({}, basic(shop))],
    ['a Bearer token', 400, 'invalid_request', () => send({}, `Bearer ${subject.access_token}`)],
    [
      'an additional assertion',
      400,
      'invalid_request',
      () => send({ client_assertion: 'x', client_assertion_type: 'y' }, basic()),
    ],
  ])('%s: %s %s', (_, status, error, ask) => refused(ask(), status, error))

  test.each(['subject_token', 'subject_token_type', 'requested_token_type', 'resource', 'scope', 'org', 'grant_type'])(
    '%s repeated is invalid_request',
    (name) => {
      const params = Object.entries(paramsOf({ requested_token_type: ACCESS_TOKEN }))
      return refused(
        send([...params, [name, paramsOf({ requested_token_type: ACCESS_TOKEN })[name]!]], basic()),
        400,
        'invalid_request',
      )
    },
  )

  test('two resources are rejected, even if the actor may have both', () =>
    refused(send([...Object.entries(paramsOf({})), ['resource', app.baseUrl]], basic()), 400, 'invalid_request'))
})

describe('parameters', () => {
  test.each<[string, string, () => Params]>([
    ['no subject_token', 'invalid_request', () => ({ subject_token: undefined })],
    ['an empty subject_token', 'invalid_request', () => ({ subject_token: '' })],
    ['no subject_token_type', 'invalid_request', () => ({ subject_token_type: undefined })],
    ...['id_token', 'refresh_token', 'jwt', 'saml2'].map((type): [string, string, () => Params] => [
      `subject_token_type ${type}`,
      'invalid_request',
      () => ({ subject_token_type: `urn:ietf:params:oauth:token-type:${type}` }),
    ]),
    ['subject_token_type access_token', 'invalid_request', () => ({ subject_token_type: 'access_token' })],
    [
      'another requested_token_type',
      'invalid_request',
      () => ({ requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }),
    ],
    ['no resource', 'invalid_request', () => ({ resource: undefined })],
    ['another resource', 'invalid_target', () => ({ resource: 'https://bank.example' })],
    ['the source as resource', 'invalid_target', () => ({ resource: ORDERS })],
    ['a resource with a slash', 'invalid_target', () => ({ resource: `${STOCK}/` })],
    ['a resource that is no URI', 'invalid_target', () => ({ resource: 'stock' })],
    ['the actor as resource', 'invalid_target', () => ({ resource: actor.id })],
    ['no scope', 'invalid_scope', () => ({ scope: undefined })],
    ['an empty scope', 'invalid_scope', () => ({ scope: '' })],
    ['a blank scope', 'invalid_scope', () => ({ scope: ' ' })],
    ['a scope twice', 'invalid_scope', () => ({ scope: 'stock:read stock:read' })],
    ['scopes with a comma', 'invalid_scope', () => ({ scope: 'stock:read,stock:write' })],
    ['scopes with a tab', 'invalid_scope', () => ({ scope: 'stock:read\tstock:write' })],
    ['no org', 'invalid_request', () => ({ org: undefined })],
    ['an unknown org', 'invalid_request', () => ({ org: `org_${'0'.repeat(26)}` })],
    ['org by name', 'invalid_request', () => ({ org: 'Tulips' })],
    ['a long org', 'invalid_request', () => ({ org: 'x'.repeat(5000) })],
    ['audience', 'invalid_request', () => ({ audience: STOCK })],
    ['actor_token', 'invalid_request', () => ({ actor_token: subject.access_token })],
    ['actor_token_type', 'invalid_request', () => ({ actor_token_type: ACCESS_TOKEN })],
  ])('%s: %s', (_, error, params) => refused(exchange(params()), 400, error))
})

describe('invalid subject tokens', () => {
  test.each<[string, () => Promise<string>]>([
    ['an ID token', async () => subject.id_token],
    ['a refresh token', async () => subject.refresh_token],
    ['nonsense', async () => 'x'],
    ['a.b.c', async () => 'a.b.c'],
    ['a very long text', async () => 'x'.repeat(20_000)],
    ['a secret', async () => actor.secret!],
    ['an exchanged token', () => given()],
    [
      'an exchanged token for the requested resource',
      async () => {
        const target_resources = [{ resource: ORDERS, scopes: ['stock:read'] }]
        const other = await createActor({ token_exchange: exchangeSettings({ target_resources }) })
        return given({ resource: ORDERS }, other)
      },
    ],
    [
      'the token of an M2M client',
      async () => {
        const settings = { scopes }
        const none = { redirect_uris: [], post_logout_redirect_uris: [] }
        const openid = { application_type: 'm2m', allowed_resources: [ORDERS], ...none }
        const machine = await realm.createClient(openid, { confidential: true, settings })
        const params = { grant_type: 'client_credentials', resource: ORDERS }
        return (await realm.postForm('/token', machine, params)).body.access_token
      },
    ],
    [
      'the token of an agent',
      async () => {
        const { id } = expectStatus(await owner().post(`${realm.tenant.I}/agents`, { name: 'A', scopes }), 201).data
        const response = await owner().post(`${realm.tenant.I}/agents/${id}/verifiers`, { type: 'secret', name: null })
        const params = { grant_type: 'client_credentials', resource: ORDERS }
        const { body } = await realm.postForm('/token', { id, secret: expectStatus(response, 201).data.secret }, params)
        expect(body.access_token).toBeDefined()
        return body.access_token
      },
    ],
    [
      'a personal token',
      async () => {
        const body = { type: 'personal_token', name: 'T', restrictions: {}, audience: ORDERS }
        return expectStatus(await owner().post(`${realm.tenant.I}/users/${user}/tokens`, body), 201).data.token_plain
      },
    ],
    [
      'a token of another issuer',
      async () => {
        const foreign = await Realm.create(app, 'Foreign')
        await createUser(foreign.tenant, 'eve@example.com')
        const client = await foreign.createClient({ allowed_resources: [ORDERS] }, { settings: { scopes } })
        return (await foreign.signInForTokens(client, 'eve@example.com', { resource: ORDERS, scope: SCOPE }))
          .access_token
      },
    ],
    [
      'a token with an altered claim',
      async () => {
        const [head, , signature] = subject.access_token.split('.')
        const body = Buffer.from(JSON.stringify({ ...jwtClaims(subject.access_token), scope: 'svc:all' }))
        return `${head}.${body.toString('base64url')}.${signature}`
      },
    ],
    [
      'a token without a signature',
      async () => {
        const head = Buffer.from(JSON.stringify({ alg: 'none', typ: 'at+jwt' })).toString('base64url')
        return `${head}.${subject.access_token.split('.')[1]}.`
      },
    ],
    ['a token for the client itself', async () => (await signIn({ resource: undefined as never })).access_token],
    ['a token for another resource', async () => (await signIn({ resource: app.baseUrl })).access_token],
  ])('%s: invalid_request', async (_, make) =>
    refused(exchange({ subject_token: await make() }), 400, 'invalid_request'),
  )
})

describe('invalid actors', () => {
  test('a client without the policy, a public client, an agent, a client that lost the policy, a disabled and a deleted client', async () => {
    const none = { redirect_uris: [], post_logout_redirect_uris: [] }
    const bare = { application_type: 'm2m', grant_types: [EXCHANGE], ...none }
    for (const client of [
      await realm.createClient(bare, { confidential: true }),
      await realm.createClient({ ...bare, grant_types: [EXCHANGE, 'client_credentials'] }, { confidential: true }),
      await realm.createClient(
        { application_type: 'web', grant_types: ['authorization_code', EXCHANGE] },
        { confidential: true },
      ),
      await realm.createClient({ application_type: 'spa' }),
    ])
      expect([400, 401]).toContain((await exchange({}, client)).status)
    const own = await createActor()
    expect((await exchange({}, own)).status).toBe(200)
    const path = `${realm.tenant.I}/clients/${own.id}`
    expectStatus(await owner().patch(path, { settings: { openid: { token_exchange: null } } }), 200)
    for (const at of [realm, new Realm(second, realm.tenant)]) {
      await refused(exchange({}, own, at), 400, 'unauthorized_client')
    }
    expectStatus(await owner().patch(path, { settings: { openid: { token_exchange: exchangeSettings() } } }), 200)
    expect((await exchange({}, own)).status).toBe(200)
    expectStatus(await owner().patch(path, { status: 'disabled' }), 200)
    await refused(exchange({}, own), 401, 'invalid_client')
    expectStatus(await owner().patch(path, { status: 'active' }), 200)
    expect((await owner().delete(path)).status).toBe(204)
    await refused(exchange({}, own), 401, 'invalid_client')
  })

  test('client settings that the API would reject do not make an invalid actor valid', async () => {
    const own = await createActor()
    const { prisma } = app.gatehouse.database
    const row = await prisma.client.findUniqueOrThrow({ where: { id: own.id } })
    const store = async (openid: object) => {
      const settings = { ...(row.settings as object), openid: { ...(row.settings as AnyJson).openid, ...openid } }
      const { updatedAt } = await prisma.client.findUniqueOrThrow({ where: { id: own.id } })
      await prisma.client.update({ where: { id: own.id }, data: { settings, updatedAt: updatedAt + 1n } })
    }
    for (const openid of [
      { response_types: ['code'] },
      { redirect_uris: ['https://a.example/cb'] },
      { application_type: 'web' },
      { grant_types: [EXCHANGE, 'client_credentials'] },
    ]) {
      await store(openid)
      await refused(exchange({}, own), 400, 'unauthorized_client')
    }
    await store({ token_exchange: { ...exchangeSettings(), subject_resources: [] } })
    await refused(exchange({}, own), 400, 'unauthorized_client')
    await store({})
    expect((await exchange({}, own)).status).toBe(200)
  })

  test('an actor has no other grant', async () => {
    const credentials = realm.postForm('/token', actor, { grant_type: 'client_credentials' })
    await refused(credentials, 400, 'unauthorized_client')
    expect((await fetch(realm.authorizeUrl(actor), { redirect: 'manual' })).status).toBe(400)
  })
})

describe('each scope must be in the token, the source policy, the target policy and the membership', () => {
  test.each<[string, string]>([
    ['not in the membership', 'stock:write'],
    ['not in the source policy', 'orders:read'],
    ['not in the target policy', 'stock:manage'],
    ['nowhere', 'bank:read'],
    ['svc:all', 'svc:all'],
    ['of OpenID', 'openid'],
    ['of OpenID, granted', 'email'],
    ['a role', 'admin'],
    ['a wildcard', 'stock:*'],
    ['another action', 'stock:list'],
  ])('%s: %s, alone or with a valid scope', async (_, name) => {
    await refused(exchange({ scope: name }), 400, 'invalid_scope')
    await refused(exchange({ scope: `stock:read ${name}` }), 400, 'invalid_scope')
  })

  test('not in the token, but in all others', async () => {
    const { access_token } = await signIn({ scope: 'openid stock:write' })
    await refused(exchange({ subject_token: access_token, org: roses }), 400, 'invalid_scope')
    await given({ subject_token: access_token, org: roses, scope: 'stock:write' })
  })
})

describe('org', () => {
  test('must be the org_id of the subject token if an organization was selected', async () => {
    const { access_token } = await signIn({ org: tulips })
    await given({ subject_token: access_token })
    await refused(exchange({ subject_token: access_token, org: roses }), 400, 'invalid_request')
  })

  test.each<[string, () => object, number]>([
    ['none', () => ({ policy: 'none' }), 400],
    ['allowlist without it', () => ({ policy: 'allowlist', allowed_org_ids: [roses] }), 400],
    ['allowlist', () => ({ policy: 'allowlist', allowed_org_ids: [tulips] }), 200],
  ])("the actor's organization restrictions: %s", async (_, organizations, status) => {
    const own = await createActor({}, { restrictions: { organizations: organizations() } })
    const response = await exchange({}, own)
    expect([response.status, response.body.error]).toEqual([status, status === 200 ? undefined : 'invalid_request'])
  })

  test.each<[string, () => object | null, number]>([
    ['none', () => ({ policy: 'none' }), 400],
    ['allowlist without it', () => ({ policy: 'allowlist', allowed_org_ids: [roses] }), 400],
    ['allowlist', () => ({ policy: 'allowlist', allowed_org_ids: [tulips] }), 200],
    ['absent', () => null, 200],
  ])('the current organization restriction of the subject token’s client: %s', async (_, organizations, status) => {
    const source = await realm.createClient({ allowed_resources: [ORDERS] }, { settings: { scopes } })
    const { access_token } = await signIn({}, source)
    const settings = { restrictions: { organizations: organizations() } }
    expectStatus(await owner().patch(`${realm.tenant.I}/clients/${source.id}`, { settings }), 200)
    const twin = new Realm(second, realm.tenant)
    const response = await exchange({ subject_token: access_token }, actor, twin)
    expect([response.status, response.body.error]).toEqual([status, status === 200 ? undefined : 'invalid_request'])
  })

  describe('the membership is read again', () => {
    const O = () => `${realm.tenant.I}/organizations/${tulips}`
    test.each<[string, string, () => Promise<AnyJson>, () => Promise<AnyJson>]>([
      [
        'suspended member',
        'invalid_grant',
        () => owner().patch(`${O()}/members/${user}`, { status: 'suspended' }),
        () => owner().patch(`${O()}/members/${user}`, { status: 'active' }),
      ],
      [
        'removed member',
        'invalid_grant',
        () => owner().delete(`${O()}/members/${user}`),
        () => owner().post(`${O()}/members`, { member_id: user }),
      ],
      [
        'suspended organization',
        'invalid_grant',
        () => owner().patch(O(), { status: 'suspended' }),
        () => owner().patch(O(), { status: 'active' }),
      ],
      [
        'fewer scopes',
        'invalid_scope',
        () => owner().patch(O(), { default_member_scopes: ['orders:read'] }),
        () => owner().patch(O(), { default_member_scopes: ['stock:read', 'orders:read', 'stock:manage'] }),
      ],
    ])('%s: %s', async (_, error, end, restore) => {
      expect((await end()).status).toBeLessThan(300)
      await refused(exchange(), 400, error)
      expect((await restore()).status).toBeLessThan(300)
      await given()
    })

    test('scopes of a group count, until the member leaves it', async () => {
      const group = expectStatus(await owner().post(`${O()}/groups`, { name: 'G', scopes: ['stock:write'] }), 201).data
        .id
      expectStatus(await owner().patch(`${O()}/members/${user}`, { groups: [group] }), 200)
      const { body } = await exchange({ scope: 'stock:write' })
      expect(jwtClaims(body.access_token).organizations[0]).toMatchObject({ scopes: ['stock:write'], groups: [group] })
      expectStatus(await owner().patch(`${O()}/members/${user}`, { groups: [] }), 200)
      await refused(exchange({ scope: 'stock:write' }), 400, 'invalid_scope')
    })
  })
})

describe('the subject token is active', () => {
  let own: AnyJson
  beforeEach(async () => {
    own = await signIn()
  })
  const revokeSession = () =>
    owner().post(`${realm.tenant.I}/sessions/${jwtClaims(own.access_token).sid}/revoke`, { reason: 'admin_action' })
  const moveSession = (move: string, body?: object) =>
    owner().post(`${realm.tenant.I}/sessions/${jwtClaims(own.access_token).sid}/${move}`, body)

  test.each<[string, () => Promise<{ status: number }>]>([
    ['the token revoked', () => realm.postForm('/revoke', shop, { token: own.access_token })],
    ['its session revoked', revokeSession],
    ['its session suspended', () => moveSession('suspend', { reason: 'risk_review' })],
  ])('%s: invalid_request', async (_, end) => {
    await given({ subject_token: own.access_token })
    expect((await end()).status).toBe(200)
    await refused(exchange({ subject_token: own.access_token }), 400, 'invalid_request')
  })

  test('when the user is suspended, the subject token is rejected and the exchanged token is invalid', async () => {
    const id = await realm.createUser('bob@example.com')
    expectStatus(await owner().post(`${realm.tenant.I}/organizations/${roses}/members`, { member_id: id }), 201)
    const { access_token: token } = await realm.signInForTokens(shop, 'bob@example.com', {
      resource: ORDERS,
      scope: SCOPE,
    })
    const mine = { subject_token: token, org: roses }
    const before = await given(mine)
    const path = `${realm.tenant.I}/users/${id}`
    expectStatus(await owner().patch(path, { status: 'suspended', status_reason: 'x' }), 200)
    await refused(exchange(mine), 400, 'invalid_request')
    expect((await realm.postForm('/introspect', actor, { token: before })).body).toEqual({ active: false })
  })

  test('when the client of the subject token is disabled, its tokens and the tokens exchanged for them are invalid', async () => {
    const client = await realm.createClient({ allowed_resources: [ORDERS] }, { settings: { scopes } })
    const { access_token: token } = await signIn({}, client)
    const exchanged = await given({ subject_token: token })
    const alive = async () => (await realm.postForm('/introspect', actor, { token: exchanged })).body.active
    expect(await alive()).toBe(true)
    const path = `${realm.tenant.I}/clients/${client.id}`
    expectStatus(await owner().patch(path, { status: 'disabled' }), 200)
    await refused(exchange({ subject_token: token }), 400, 'invalid_request')
    expect(await alive()).toBe(false)
  })
})

describe('the exchanged token', () => {
  const introspect = async (token: string, client = actor, at = realm): Promise<AnyJson> =>
    (await at.postForm('/introspect', client, { token })).body

  test('introspection by the actor includes act; by the client of the subject token it is inactive', async () => {
    const token = await given()
    const { iat, exp, jti, sid } = jwtClaims(token)
    expect(await introspect(token)).toEqual({
      active: true,
      scope: 'stock:read',
      client_id: actor.id,
      token_type: 'Bearer',
      sub: user,
      aud: STOCK,
      iat,
      exp,
      iss: realm.url,
      jti,
      sid,
      username: 'ada@example.com',
      act: { sub: actor.id },
    })
    expect(await introspect(token, shop)).toEqual({ active: false })
    expect(await introspect(subject.access_token)).toEqual({ active: false })
  })

  test('has no claims at userinfo', async () => {
    expect([401, 403]).toContain((await realm.userinfo(await given())).status)
  })

  test('can be revoked by the actor only; the subject token stays valid', async () => {
    const token = await given()
    expect((await realm.postForm('/revoke', shop, { token })).status).toBe(200)
    expect((await introspect(token)).active).toBe(true)
    expect((await realm.postForm('/revoke', actor, { token })).status).toBe(200)
    expect(await introspect(token)).toEqual({ active: false })
    expect((await realm.userinfo(subject.access_token)).status).toBe(200)
  })

  test('does not count as session activity, nor remove token ids of the session', async () => {
    const own = await signIn()
    const { sid, jti } = jwtClaims(own.access_token)
    const read = () => app.gatehouse.database.prisma.session.findUniqueOrThrow({ where: { id: sid } })
    const before = await read()
    for (let count = 0; count < 12; count++) await given({ subject_token: own.access_token })
    expect(await read()).toEqual(before)
    expect(before.accessTokenJti).toContain(jti)
  })

  test.each<[string, (own: AnyJson, client: TestClient) => Promise<{ status: number }>]>([
    [
      "the subject's session revoked",
      (own) =>
        owner().post(`${realm.tenant.I}/sessions/${jwtClaims(own.access_token).sid}/revoke`, {
          reason: 'admin_action',
        }),
    ],
    [
      "the subject's session suspended",
      (own) =>
        owner().post(`${realm.tenant.I}/sessions/${jwtClaims(own.access_token).sid}/suspend`, {
          reason: 'risk_review',
        }),
    ],
    ["the subject's refresh token revoked", (own) => realm.postForm('/revoke', shop, { token: own.refresh_token })],
    [
      'the actor disabled',
      (_, client) => owner().patch(`${realm.tenant.I}/clients/${client.id}`, { status: 'disabled' }),
    ],
  ])('becomes invalid, immediately and in every process: %s', async (_, end) => {
    const client = await createActor()
    const own = await signIn()
    const token = await given({ subject_token: own.access_token, resource: app.baseUrl }, client)
    const core = [createApiClient(app.baseUrl, token), createApiClient(second.baseUrl, token)]
    const status = async (api: (typeof core)[number]) => (await api.get(`${realm.tenant.I}/users`)).status
    for (const api of core) expect(await status(api)).toBe(403)
    expect((await end(own, client)).status).toBe(200)
    for (const api of core) expect(await status(api)).toBe(401)
  })

  test("at the Core API it acts as the user, with no more than the user's permissions", async () => {
    const token = await given({ resource: app.baseUrl })
    const me = await createApiClient(app.baseUrl, token).graphql('{ me { type id scopes } }')
    expect(me.body.data.me).toEqual({ type: 'user', id: user, scopes: [] })
    expect((await createApiClient(app.baseUrl, await given()).get(`${realm.tenant.I}/users`)).status).toBe(401)
  })

  test('20 concurrent exchanges of one token give 20 tokens', async () => {
    const tokens = await Promise.all(Array.from({ length: 20 }, () => given()))
    expect(new Set(tokens.map((token) => jwtClaims(token).jti)).size).toBe(20)
  })
})

test('the discovery document is unchanged', async () => {
  const document = (await (await fetch(`${realm.url}/.well-known/openid-configuration`)).json()) as AnyJson
  expect(document.grant_types_supported).toEqual(['authorization_code', 'refresh_token'])
})
