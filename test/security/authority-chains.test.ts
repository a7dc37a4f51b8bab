/**
 * Privilege escalation by sequences of operations that are permitted individually, and by other spellings of the same
 * value (docs/security.md, "Authority"). authority.test.ts tests the scopes that single operations require.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { uniqueName } from '../contract/tenant-fixture.js'
import { Realm } from '../idp/realm.js'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, type ApiClient, type ApiResponse, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

/** A scope that the attackers in this file lack and their targets have. */
const LACKED = 'issuers.agents:read'

let app: TestApp
let tenant: Tenant
/** The system account with the console issuer, whose users administer accounts. */
let system: Tenant

beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app)
  const [{ id: accountId }] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${accountId}`
  const [{ id: issuerId }] = expectStatus(await app.operator.get(`${A}/issuers`), 200).data.slice(-1)
  system = { app, accountId, issuerId, A, I: `${A}/issuers/${issuerId}`, owner: app.operator }
})
afterAll(() => app.close())

const keyWithScopes = (...scopes: string[]): Promise<ApiClient> => createRestrictedKey(tenant, { scopes })

/** Expects a 403 whose WWW-Authenticate (RFC 6750 section 3) names the scope. */
function expectRefused(response: ApiResponse<AnyJson>, scope: string): void {
  expect({ status: response.status, error: response.body.error, text: response.text }).toMatchObject({
    status: 403,
    error: 'insufficient_scope',
  })
  expect(response.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${scope}"`)
}

test.each(['me@evil.example.', 'me@ävil.example', '<me@evil.example>', 'me@evil.example '])(
  'an email address that mail servers accept cannot be set for a user with more authority: %j',
  async (email) => {
    const body = { username_type: 'unique', username: uniqueName('boss'), scopes: [LACKED] }
    const { id } = expectStatus(await tenant.owner.post(`${tenant.I}/users`, body), 201).data
    const desk = await keyWithScopes('issuers.users:write')
    expectRefused(await desk.patch(`${tenant.I}/users/${id}`, { profile: { email } }), LACKED)
    expectStatus(await desk.patch(`${tenant.I}/users/${id}`, { profile: { name: 'A new name' } }), 200)
  },
)

test('a key with svc:manage, which any caller can grant, cannot grant svc:all or create a key without limits', async () => {
  const weak = await keyWithScopes('api_keys:write')
  const restrictions = { scopes: ['api_keys:write', 'svc:manage'] }
  const body = { name: uniqueName('key'), restrictions }
  const { id, secret_plain } = expectStatus(await weak.post(`${tenant.A}/api-keys`, body), 201).data
  const strong = createApiClient(app.baseUrl, { id, secret: secret_plain })
  for (const scopes of [['svc:all'], undefined]) {
    const attempt = { name: uniqueName('key'), restrictions: scopes ? { scopes } : {} }
    expectRefused(await strong.post(`${tenant.A}/api-keys`, attempt), 'svc:all')
  }
})

describe('a caller that knows the secret of a client with platform scopes', () => {
  const WEB = { application_type: 'web', redirect_uris: ['https://app.example.com/cb'] }
  const MACHINE = { application_type: 'm2m', grant_types: ['client_credentials'], redirect_uris: [] }

  /** Creates a client as a caller without LACKED; then the owner of the account grants LACKED to the client. */
  async function createClientWithGrantedScope(openid: object) {
    const deployer = await keyWithScopes('issuers.clients:write')
    const body = { name: uniqueName('App'), type: 'internal', confidential: true, settings: { openid } }
    const { id, secret } = expectStatus(await deployer.post(`${tenant.I}/clients`, body), 201).data
    expectStatus(await tenant.owner.patch(`${tenant.I}/clients/${id}`, { settings: { scopes: [LACKED] } }), 200)
    return { id, secret, patch: (change: object) => deployer.patch(`${tenant.I}/clients/${id}`, change) }
  }
  const core = () => app.baseUrl
  const changes: [string, object, () => object][] = [
    ['a change to a machine client', WEB, () => ({ ...MACHINE, allowed_resources: [core()] })],
    ['a change to allowed_resources', MACHINE, () => ({ allowed_resources: [core()] })],
    ['a change to allowed_audiences', MACHINE, () => ({ allowed_audiences: [core()] })],
  ]
  test.each(changes)('%s is refused if the caller lacks a scope of the client', async (_, before, change) => {
    const client = await createClientWithGrantedScope(before)
    expectRefused(await client.patch({ settings: { openid: change() } }), LACKED)
    expectStatus(
      await client.patch({ settings: { openid: { default_access_token_age: 60 } }, description: 'A new description' }),
      200,
    )
    expectStatus(await client.patch({ settings: { openid: { redirect_uris: [] } } }), 200)
  })

  test('the same changes are allowed for a client that has only scopes of applications', async () => {
    const weak = await keyWithScopes('issuers.clients:write')
    const body = {
      name: 'App',
      type: 'internal',
      confidential: true,
      settings: { openid: WEB, scopes: ['orders:read'] },
    }
    const path = `${tenant.I}/clients/${expectStatus(await weak.post(`${tenant.I}/clients`, body), 201).data.id}`
    expectStatus(await weak.patch(path, { settings: { openid: { ...MACHINE, allowed_resources: [core()] } } }), 200)
  })
})

describe('tokens of a client of the console issuer are valid on the accounts of every user who signs in there', () => {
  const spa = (callback: string) => ({ redirect_uris: [callback], allowed_resources: [app.baseUrl] })

  test('so granting the client platform scopes requires svc:all without restrictions', async () => {
    const body = { name: 'App', type: 'internal', confidential: false }
    const settings = { openid: spa('https://evil.example/cb'), scopes: ['issuers:read'] }
    for (const restrictions of [
      { scopes: ['issuers.clients:write', 'issuers:read'] },
      { issuer_ids: [system.issuerId] },
    ]) {
      const weak = await createRestrictedKey(system, restrictions)
      expectRefused(await weak.post(`${system.I}/clients`, { ...body, settings }), 'svc:all')
      expectStatus(await weak.post(`${system.I}/clients`, { ...body, settings: { openid: settings.openid } }), 201)
    }
  })

  test('so a new redirect URI or client secret also requires svc:all without restrictions', async () => {
    const clients = expectStatus(await app.operator.get(`${system.I}/clients`), 200).data
    const consoleClient = clients.find(({ name }: AnyJson) => name === 'Console')
    const bound = await createRestrictedKey(system, { issuer_ids: [system.issuerId] })
    const redirect_uris = [...consoleClient.settings.openid.redirect_uris, 'https://evil.example/cb']
    expectRefused(
      await bound.patch(`${system.I}/clients/${consoleClient.id}`, { settings: { openid: { redirect_uris } } }),
      'svc:all',
    )
    const body = { name: 'M', type: 'internal', confidential: true, settings: { scopes: ['issuers:read'] } }
    const { id } = expectStatus(await app.operator.post(`${system.I}/clients`, body), 201).data
    expectRefused(await bound.post(`${system.I}/clients/${id}/secret/rotate`), 'svc:all')
  })
})

test.each(['clients', 'agents'])('enabling a disabled issuer requires the scopes of its %s', async (kind) => {
  const issuer = expectStatus(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Other' }), 201).data.id
  const I = `${tenant.A}/issuers/${issuer}`
  const client = { name: 'Machine', type: 'internal', confidential: true, settings: { scopes: [LACKED] } }
  const body = kind === 'clients' ? client : { name: 'Agent', scopes: [LACKED] }
  const weak = await keyWithScopes('issuers:write')
  for (const status of ['disabled', 'active']) expectStatus(await weak.patch(I, { status }), 200)
  expectStatus(await tenant.owner.post(`${I}/${kind}`, body), 201)
  expectStatus(await weak.patch(I, { status: 'disabled' }), 200)
  expectRefused(await weak.patch(I, { status: 'active' }), LACKED)
  expectStatus(await tenant.owner.patch(I, { status: 'active' }), 200)
})

describe('enabling a sign-in method requires the platform scopes of all users of the issuer', () => {
  const provider = { issuer_url: 'https://idp.example.com', client_id: 'c', client_secret: 's', link_by_email: false }
  const oidc = () => ({ name: uniqueName('IdP'), method: 'oidc', first_factor_only: true, settings: provider })

  /**
   * Creates an issuer without authentication methods and a caller who manages its methods.
   * @param strong true creates a user of the issuer with a scope that the caller lacks
   */
  async function issuerOf(strong: boolean) {
    const issuer = expectStatus(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Other' }), 201).data.id
    const I = `${tenant.A}/issuers/${issuer}`
    const boss = { username_type: 'email', username: `${uniqueName('boss')}@corp.example`, scopes: [LACKED] }
    if (strong) expectStatus(await tenant.owner.post(`${I}/users`, boss), 201)
    return { methods: `${I}/auth-methods`, weak: await keyWithScopes('issuers.auth_methods:manage') }
  }

  test.each(['password', 'email_otp', 'email_link', 'passkey'])(
    '%s: creating or enabling the method is refused for a caller who lacks a scope of a user',
    async (method) => {
      const { methods, weak } = await issuerOf(true)
      const body = { name: 'Method', method }
      expectRefused(await weak.post(methods, body), LACKED)
      const path = `${methods}/${expectStatus(await tenant.owner.post(methods, body), 201).data.id}`
      expectStatus(await tenant.owner.patch(path, { enabled_login: false }), 200)
      expectRefused(await weak.patch(path, { enabled_login: true }), LACKED)
      expectStatus(await weak.patch(path, { featured: true }), 200)
      expectStatus(await tenant.owner.patch(path, { enabled_login: true }), 200)
    },
  )

  test('oidc: enabling a disabled method is refused also without linking by email, because linked users could sign in', async () => {
    const { methods, weak } = await issuerOf(true)
    const path = `${methods}/${expectStatus(await weak.post(methods, oidc()), 201).data.id}`
    expectStatus(await weak.patch(path, { enabled_login: false }), 200)
    expectRefused(await weak.patch(path, { enabled_login: true }), LACKED)
  })

  test('a second factor requires no further scope, and neither does a method if no user has a scope that the caller lacks', async () => {
    const { methods, weak } = await issuerOf(true)
    for (const method of ['totp', 'backup_codes']) expectStatus(await weak.post(methods, { name: method, method }), 201)
    const free = await issuerOf(false)
    for (const method of ['password', 'email_otp', 'passkey']) {
      const path = `${free.methods}/${expectStatus(await free.weak.post(free.methods, { name: method, method }), 201).data.id}`
      for (const enabled_login of [false, true]) expectStatus(await free.weak.patch(path, { enabled_login }), 200)
    }
  })
})

test.each([
  ['enabling the invitations of an organization', { invitation_enabled: false }, { invitation_enabled: true }],
  ['reactivating an organization with invitations', { status: 'suspended' }, { status: 'active' }],
])('%s requires the scopes that pending invitations grant', async (_, stop, start) => {
  const body = { name: 'Org', invitation_enabled: true }
  const O = `${tenant.I}/organizations/${expectStatus(await tenant.owner.post(`${tenant.I}/organizations`, body), 201).data.id}`
  const weak = await keyWithScopes('issuers.organizations:write')
  for (const change of [stop, start]) expectStatus(await weak.patch(O, change), 200)
  const group = expectStatus(await tenant.owner.post(`${O}/groups`, { name: 'Group', scopes: [LACKED] }), 201).data.id
  const invitation = { email: `${uniqueName('invited')}@evil.example`, groups: [group] }
  expectStatus(await tenant.owner.post(`${O}/invitations`, invitation), 201)
  expectStatus(await weak.patch(O, stop), 200)
  expectRefused(await weak.patch(O, start), LACKED)
  expectStatus(await tenant.owner.patch(O, start), 200)
})

test('deleting a disabled client requires the scopes of the client, and its tokens stay invalid', async () => {
  const realm = new Realm(app, tenant)
  const username = `${uniqueName('boss')}@corp.example`
  const user = await realm.createUser(username)
  expectStatus(await tenant.owner.patch(`${tenant.I}/users/${user}`, { scopes: [LACKED] }), 200)
  const client = await realm.createClient({ allowed_resources: [app.baseUrl] }, { settings: { scopes: [LACKED] } })
  const params = { resource: app.baseUrl, scope: `openid ${LACKED}` }
  const boss = createApiClient(app.baseUrl, (await realm.signInForTokens(client, username, params)).access_token)
  expectStatus(await boss.get(`${tenant.I}/agents`), 200)
  expectStatus(await tenant.owner.patch(`${tenant.I}/clients/${client.id}`, { status: 'disabled' }), 200)
  expectStatus(await boss.get(`${tenant.I}/agents`), 401)
  const weak = await keyWithScopes('issuers.clients:delete')
  const response = await weak.delete(`${tenant.I}/clients/${client.id}`)
  expectStatus(await boss.get(`${tenant.I}/agents`), 401)
  expectRefused(response, LACKED)
  const other = await realm.createClient({}, { settings: { scopes: [LACKED] } })
  expectStatus(await weak.delete(`${tenant.I}/clients/${other.id}`), 204)
})

test('reducing a scope from manage to read requires no further authority', async () => {
  const manage = ['issuers.agents:manage']
  const user = { username_type: 'unique', username: uniqueName('boss'), scopes: manage }
  const U = `${tenant.I}/users/${expectStatus(await tenant.owner.post(`${tenant.I}/users`, user), 201).data.id}`
  const weak = await keyWithScopes('issuers.users:write')
  expectStatus(await weak.patch(U, { scopes: [LACKED] }), 200)
  expectRefused(await weak.patch(U, { scopes: manage }), 'issuers.agents:manage')
})
