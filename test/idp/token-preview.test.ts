/** The token preview (docs/contract.md#token-preview): the claims of real tokens, without a sign-in. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRestrictedKey, createTenant, expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { jwtClaims, Realm, type TestClient } from './realm.js'

const API = 'https://api.example'
const everywhere = ['id_token', 'access_token', 'userinfo']
const claim = (name: string, source: string, places = everywhere) => ({ name, source, in: places })

let app: TestApp
let realm: Realm
let ada: string
let tulips: string
let client: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  ada = await realm.createUser('ada@example.com')
  const fields = {
    profile: { name: 'Ada Lovelace', locale: 'en-GB', phone_number: '+442079460000' },
    metadata: { department: 'R&D' },
    custom_fields: { large: 'x'.repeat(7000), larger: 'y'.repeat(3000) },
  }
  expectStatus(await owner().patch(`${realm.tenant.I}/users/${ada}`, fields), 200)
  tulips = await createOrganization('Tulips', { metadata: { plan: 'gold' }, default_member_scopes: ['orders:read'] })
  await createOrganization('Roses', { security: { mfa_required: false } })
  const settings = { openid: { claims: [claim('plan', 'organization.metadata.plan')] } }
  expectStatus(await owner().patch(realm.tenant.I, { settings }), 200)
  const claims = [
    claim('department', 'user.metadata.department'),
    claim('roles', 'scopes', ['access_token']),
    claim('mail', 'user.profile.email', ['userinfo']),
    claim('absent', 'user.metadata.absent', ['id_token', 'userinfo']),
    claim('large', 'user.custom_fields.large', ['userinfo']),
    claim('larger', 'user.custom_fields.larger', ['userinfo']),
  ]
  client = await realm.createClient(
    { claims, allowed_resources: [API] },
    { confidential: true, settings: { scopes: ['orders:read', 'orders:write'] } },
  )
})
afterAll(() => app.close())

const owner = () => realm.tenant.owner
async function createOrganization(name: string, fields: object, userId = ada): Promise<string> {
  const list = `${realm.tenant.I}/organizations`
  const { id } = expectStatus(await owner().post(list, { name, ...fields }), 201).data
  expectStatus(await owner().post(`${list}/${id}/members`, { member_id: userId }), 201)
  return id
}

const document = `query ($accountId: ID!, $issuerId: ID!, $clientId: ID!, $userId: ID!, $scope: String, $resource: String, $orgId: ID) {
  previewToken(accountId: $accountId, issuerId: $issuerId, clientId: $clientId, userId: $userId, scope: $scope, resource: $resource, orgId: $orgId) {
    accessToken idToken userinfo dropped { name reason }
  }
}`
function requestPreview(args: Record<string, unknown> = {}, caller: ApiClient = owner()): Promise<AnyJson> {
  const { accountId, issuerId } = realm.tenant
  return caller.graphql(document, { accountId, issuerId, clientId: client.id, userId: ada, ...args })
}
async function preview(args: Record<string, unknown> = {}): Promise<AnyJson> {
  const { body } = await requestPreview(args)
  expect(body.errors).toBeUndefined()
  return body.data.previewToken
}
const errorOf = async (args: Record<string, unknown>): Promise<AnyJson> => (await requestPreview(args)).body.errors[0]

/** Claims of the sign-in and of the token itself: times, ids, and how the user signed in. */
const signInClaims = ['exp', 'iat', 'nbf', 'jti', 'sid', 'auth_time', 'acr', 'amr', 'nonce', 'at_hash']
const comparable = (claims: AnyJson): AnyJson =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => !signInClaims.includes(name)))

describe('the preview has the claims of the real tokens of the same user and client', () => {
  const rows: [string, () => Record<string, string>][] = [
    ['openid alone', () => ({ scope: 'openid' })],
    ['all scopes of OpenID Connect', () => ({ scope: 'openid profile email phone address' })],
    ['a selected organization', () => ({ scope: 'openid email', org: tulips })],
    ['a resource', () => ({ scope: 'openid orders:read orders:write', resource: API })],
    ['a scope that the client may not request', () => ({ scope: 'openid stock:read orders:write' })],
    ['the scope offline_access', () => ({ scope: 'openid offline_access' })],
    ['no scope openid', () => ({ scope: 'orders:read' })],
  ]
  test.each(rows)('%s', async (_, paramsOf) => {
    const { org, ...params } = paramsOf()
    const tokens = await realm.signInForTokens(client, 'ada@example.com', paramsOf())
    const previewed = await preview({ ...params, orgId: org })
    const access = jwtClaims(tokens.access_token)
    expect(comparable(previewed.accessToken)).toEqual(comparable(access))
    expect(previewed.accessToken.exp - previewed.accessToken.iat).toBe(access.exp - access.iat)
    if (!tokens.id_token) {
      expect([previewed.idToken, previewed.userinfo]).toEqual([null, null])
      return
    }
    expect(comparable(previewed.idToken)).toEqual(comparable(jwtClaims(tokens.id_token)))
    expect(previewed.userinfo).toEqual((await realm.userinfo(tokens.access_token)).body)
  })

  test('a client that may not see the organizations', async () => {
    const settings = { restrictions: { organizations: { policy: 'none' } } }
    const blind = await realm.createClient({ claims: [claim('groups', 'groups')] }, { settings })
    const tokens = await realm.signInForTokens(blind, 'ada@example.com')
    const previewed = await preview({ clientId: blind.id })
    expect(comparable(previewed.accessToken)).toEqual(comparable(jwtClaims(tokens.access_token)))
    expect(previewed.accessToken).not.toHaveProperty('organizations')
  })

  test('an RS256 client with other lifetimes', async () => {
    const settings = { default_access_token_age: 60, default_id_token_age: 90 }
    const other = await realm.createClient({ response_signature_alg: 'RS256' }, { settings })
    const tokens = await realm.signInForTokens(other, 'ada@example.com')
    const previewed = await preview({ clientId: other.id })
    expect(comparable(previewed.idToken)).toEqual(comparable(jwtClaims(tokens.id_token)))
    expect(previewed.accessToken.exp - previewed.accessToken.iat).toBe(60)
    expect(previewed.idToken.exp - previewed.idToken.iat).toBe(90)
  })
})

test('the scope offline_access is dropped for a client without refresh tokens, as at a sign-in', async () => {
  const online = await realm.createClient({ grant_types: ['authorization_code'] })
  const tokens = await realm.signInForTokens(online, 'ada@example.com', { scope: 'openid offline_access' })
  const { accessToken, dropped } = await preview({ clientId: online.id, scope: 'openid offline_access' })
  expect(accessToken.scope).toBe(jwtClaims(tokens.access_token).scope)
  expect(dropped).toContainEqual({
    name: 'offline_access',
    reason: 'The client may not use refresh tokens: add refresh_token to its grant types.',
  })
})

test('organizations that require a second factor are in the preview, as after a sign-in with one', async () => {
  const grace = await realm.createUser('grace@example.com')
  const vault = await createOrganization('Vault', { security: { mfa_required: true } }, grace)
  const { accessToken } = await preview({ userId: grace })
  expect(accessToken.organizations).toMatchObject([{ id: vault, name: 'Vault' }])
})

test('dropped says which claims and scopes are missing, where and why', async () => {
  const { dropped, userinfo } = await preview({ scope: 'openid stock:read' })
  expect(dropped).toEqual([
    { name: 'stock:read', reason: 'The client may not request this scope: add it to settings.scopes of the client.' },
    {
      name: 'plan',
      reason:
        'Left out of access_token, id_token, userinfo. The source needs a selected organization that the client may see.',
    },
    {
      name: 'roles',
      reason: 'Left out of access_token. The source needs a selected organization that the client may see.',
    },
    { name: 'absent', reason: 'Left out of id_token, userinfo. The source has no value for this user.' },
    { name: 'larger', reason: 'Left out of userinfo. The custom claims would be larger than 8 KiB.' },
  ])
  expect(userinfo).toHaveProperty('large')
})

test('a process with the role core alone has the preview too', async () => {
  const { databaseUrl, gatehouse } = app
  const env = { BASE_URL: gatehouse.config.baseUrl, IDP_URL: gatehouse.config.idpUrl }
  const core = await startApp({ databaseUrl, env, roles: ['core'] })
  try {
    const { data: key } = expectStatus(
      await owner().post(`${realm.tenant.A}/api-keys`, { name: 'preview', restrictions: {} }),
      201,
    )
    const api = createApiClient(core.baseUrl, { id: key.id, secret: key.secret_plain })
    const { accountId, issuerId } = realm.tenant
    const ids = { accountId, issuerId, clientId: client.id, userId: ada }
    const { body } = await api.graphql(document, ids)
    expect(comparable(body.data.previewToken.accessToken)).toEqual(comparable((await preview()).accessToken))
  } finally {
    await core.close()
  }
})

test('the preview works at an issuer with the profile fapi2, whose requests need a proof and an assertion', async () => {
  const bank = await Realm.create(app)
  const userId = await bank.createUser('ada@example.com')
  const { id: clientId } = await bank.createClient({}, { confidential: true })
  const settings = { security: { openid_policy: { profile: 'fapi2', client_assertions: { enabled: true } } } }
  expectStatus(await bank.tenant.owner.patch(bank.tenant.I, { settings }), 200)
  const { accountId, issuerId } = bank.tenant
  const { body } = await bank.tenant.owner.graphql(document, { accountId, issuerId, clientId, userId })
  expect(body.errors).toBeUndefined()
  expect(body.data.previewToken.idToken).toMatchObject({ sub: userId, aud: clientId })
})

test('a preview does not suppress the event of a real token without a claim', async () => {
  const claims = [
    claim('large', 'user.custom_fields.large', ['access_token']),
    claim('larger', 'user.custom_fields.larger', ['access_token']),
  ]
  const { id, ...rest } = await realm.createClient({ claims })
  const recorded = await eventsRecordedFromNow(app, realm.tenant.accountId)
  expect((await preview({ clientId: id })).dropped).toContainEqual(expect.objectContaining({ name: 'larger' }))
  expect(await recorded('token.claim_omitted')).toEqual([])
  await realm.signInForTokens({ id, ...rest }, 'ada@example.com')
  expect(await recorded('token.claim_omitted')).toMatchObject([{ clientId: id, data: { claim: 'larger' } }])
})

test('nothing is signed, stored or recorded', async () => {
  const { issuerId, accountId } = realm.tenant
  const { prisma } = app.gatehouse.database
  const count = () =>
    Promise.all([
      prisma.session.count({ where: { issuerId } }),
      app.gatehouse.database.pool.query('SELECT count(*) FROM idp_artifacts WHERE issuer_id = $1', [issuerId]),
    ]).then(([sessions, { rows }]) => [sessions, rows])
  const before = await count()
  const recorded = await eventsRecordedFromNow(app, accountId)
  const { accessToken, idToken } = await preview()
  for (const name of ['jti', 'sid', 'at_hash'])
    for (const claims of [accessToken, idToken]) expect(claims).not.toHaveProperty(name)
  expect(await count()).toEqual(before)
  expect(await recorded()).toEqual([])
})

describe('a sign-in that would fail is an error that names the argument', () => {
  const rows: [string, () => Promise<Record<string, unknown>>, string, RegExp][] = [
    ['an unknown scope alone', async () => ({ scope: 'stock:read' }), 'scope', /no known scope/],
    ['an empty scope', async () => ({ scope: '' }), 'scope', /invalid characters/],
    [
      'a resource that is not allowed',
      async () => ({ resource: 'https://other.example' }),
      'resource',
      /allowed_resources/,
    ],
    ['a resource that is no URI', async () => ({ resource: 'x' }), 'resource', /absolute URI/],
    [
      'an organization without this member',
      async () => ({
        orgId: await createOrganization('Other', {}, await realm.createUser(`${Math.random()}@example.com`)),
      }),
      'orgId',
      /active membership/,
    ],
    [
      'an organization that the client may not select',
      async () => ({
        orgId: tulips,
        clientId: (await realm.createClient({}, { settings: { restrictions: { organizations: { policy: 'none' } } } }))
          .id,
      }),
      'orgId',
      /cannot select/,
    ],
    ['a suspended user', suspendedUser, 'userId', /not an active user/],
    ['a disabled client', disabledClient, 'clientId', /disabled/],
    [
      'a client that signs in no users',
      async () => ({ clientId: (await realm.createClient({ redirect_uris: [] })).id }),
      'clientId',
      /signs in no users/,
    ],
  ]
  test.each(rows)('%s', async (_, argsOf, field, message) => {
    const error = await errorOf(await argsOf())
    expect(error.extensions).toMatchObject({ status: 400, details: [{ field }] })
    expect(error.message).toMatch(message)
  })

  async function suspendedUser() {
    const userId = await realm.createUser('eve@example.com')
    expectStatus(await owner().patch(`${realm.tenant.I}/users/${userId}`, { status: 'suspended' }), 200)
    return { userId }
  }
  async function disabledClient() {
    const { id } = await realm.createClient()
    expectStatus(await owner().patch(`${realm.tenant.I}/clients/${id}`, { status: 'disabled' }), 200)
    return { clientId: id }
  }
})

test('unknown ids and ids of another tenant are 404', async () => {
  const other = await createTenant(app)
  const foreign = new Realm(app, other)
  const ids = {
    clientId: (await foreign.createClient()).id,
    userId: await foreign.createUser('ada@example.com'),
    orgId: expectStatus(await other.owner.post(`${other.I}/organizations`, { name: 'X' }), 201).data.id,
    issuerId: other.issuerId,
  }
  for (const [name, id] of Object.entries(ids)) {
    for (const value of [id, `${id.slice(0, 4)}01kb3w8hxv6k8y1f4sn0q3a7pd`, 'x'])
      expect([name, (await errorOf({ [name]: value })).extensions.status]).toEqual([name, 404])
  }
})

test('the preview requires issuers.users:read, issuers.clients:read and events:read', async () => {
  const scopes = ['issuers.users:read', 'issuers.clients:read', 'events:read']
  const key = (list: string[]) => createRestrictedKey(realm.tenant, { scopes: list })
  expect((await requestPreview({}, await key(scopes))).body.errors).toBeUndefined()
  for (const missing of scopes) {
    const { body } = await requestPreview({}, await key(scopes.filter((scope) => scope !== missing)))
    expect(body.errors[0].extensions).toMatchObject({ status: 403, scope: missing })
  }
})

test('without issuers.organizations:read, the preview has no data of organizations and refuses orgId', async () => {
  const base = ['issuers.users:read', 'issuers.clients:read', 'events:read']
  const scope = 'issuers.organizations:read'
  const claims = [
    claim('teams', 'groups'),
    claim('roles', 'scopes'),
    claim('tenant', 'organization.name'),
    claim('department', 'user.metadata.department'),
  ]
  const { id: clientId } = await realm.createClient({ claims })
  const restricted = await createRestrictedKey(realm.tenant, { scopes: base })
  const { body } = await requestPreview({ clientId }, restricted)
  expect(body.errors).toBeUndefined()
  const { accessToken, idToken, userinfo, dropped } = body.data.previewToken
  for (const shown of [accessToken, idToken, userinfo]) {
    expect(shown).toMatchObject({ department: 'R&D' })
    for (const name of ['organizations', 'org_id', 'teams', 'roles', 'tenant', 'plan'])
      expect(shown).not.toHaveProperty(name)
  }
  expect(JSON.stringify(body)).not.toContain('Tulips')
  const reason = `Reading it requires the scope ${scope}.`
  const names = ['organizations', 'org_id', 'plan', 'teams', 'roles', 'tenant']
  expect(dropped).toEqual(names.map((name) => ({ name, reason })))
  const refused = await requestPreview({ clientId, orgId: tulips }, restricted)
  expect(refused.body.errors[0].extensions).toMatchObject({ status: 403, scope })
  const reader = await createRestrictedKey(realm.tenant, { scopes: [...base, scope] })
  const { body: complete } = await requestPreview({ clientId, orgId: tulips }, reader)
  expect(complete.data.previewToken.accessToken).toMatchObject({ org_id: tulips, tenant: 'Tulips' })
})
