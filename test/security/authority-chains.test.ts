/**
 * Ways to more reach that the single operations do not show (docs/security.md, "Authority"): values that mean the same
 * in another form, and several permitted steps. What each operation asks for is held by authority.test.ts.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { fresh } from '../contract/world.js'
import { Realm } from '../idp/setup.js'
import { keyWith, makeTenant, must, type Tenant } from '../setup/actors.js'
import { type Answer, type Api, apiAs, type Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

/** What no caller here holds, and each target does. */
const LACKED = 'issuers.agents:read'

let app: TestApp
let tenant: Tenant
/** The console issuer, whose users own and administer accounts. */
let system: Tenant

beforeAll(async () => {
  app = await startApp()
  tenant = await makeTenant(app)
  const [{ id: accountId }] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${accountId}`
  const [{ id: issuerId }] = must(await app.operator.get(`${A}/issuers`), 200).data.slice(-1)
  system = { app, accountId, issuerId, A, I: `${A}/issuers/${issuerId}`, owner: app.operator }
})
afterAll(() => app.close())

const withScopes = (...scopes: string[]): Promise<Api> => keyWith(tenant, { scopes })

/** 403 with the challenge of RFC 6750 that names the scope. */
function expectRefused(answer: Answer<Loose>, scope: string): void {
  expect({ status: answer.status, error: answer.body.error, text: answer.text }).toMatchObject({
    status: 403,
    error: 'insufficient_scope',
  })
  expect(answer.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${scope}"`)
}

test.each(['me@evil.example.', 'me@ävil.example', '<me@evil.example>', 'me@evil.example '])(
  'a mail address is a credential in any form that a mail server takes: %j',
  async (email) => {
    const body = { username_type: 'unique', username: fresh('boss'), scopes: [LACKED] }
    const { id } = must(await tenant.owner.post(`${tenant.I}/users`, body), 201).data
    const desk = await withScopes('issuers.users:write')
    expectRefused(await desk.patch(`${tenant.I}/users/${id}`, { profile: { email } }), LACKED)
    must(await desk.patch(`${tenant.I}/users/${id}`, { profile: { name: 'A new name' } }), 200)
  },
)

describe('a client with platform scopes whose secret somebody knows', () => {
  const WEB = { application_type: 'web', redirect_uris: ['https://app.example.com/cb'] }
  const MACHINE = { application_type: 'm2m', grant_types: ['client_credentials'], redirect_uris: [] }

  /** A client that a weak caller has made, and that an administrator has given a scope since. */
  async function givenScopes(openid: object) {
    const deployer = await withScopes('issuers.clients:write')
    const body = { name: fresh('App'), type: 'internal', confidential: true, settings: { openid } }
    const { id, secret } = must(await deployer.post(`${tenant.I}/clients`, body), 201).data
    must(await tenant.owner.patch(`${tenant.I}/clients/${id}`, { settings: { scopes: [LACKED] } }), 200)
    return { id, secret, patch: (change: object) => deployer.patch(`${tenant.I}/clients/${id}`, change) }
  }
  const core = () => app.baseUrl
  const changes: [string, object, () => object][] = [
    ['becomes no machine', WEB, () => ({ ...MACHINE, allowed_resources: [core()] })],
    ['gets no tokens for another resource', MACHINE, () => ({ allowed_resources: [core()] })],
    ['gets no tokens for another audience', MACHINE, () => ({ allowed_audiences: [core()] })],
  ]
  test.each(changes)('%s by a caller who lacks the scopes', async (_, before, change) => {
    const client = await givenScopes(before)
    expectRefused(await client.patch({ settings: { openid: change() } }), LACKED)
    must(await client.patch({ settings: { openid: { default_access_token_age: 60 } }, description: 'Words' }), 200)
    must(await client.patch({ settings: { openid: { redirect_uris: [] } } }), 200)
  })

  test('a client without platform scopes is free to change', async () => {
    const weak = await withScopes('issuers.clients:write')
    const body = {
      name: 'App',
      type: 'internal',
      confidential: true,
      settings: { openid: WEB, scopes: ['orders:read'] },
    }
    const path = `${tenant.I}/clients/${must(await weak.post(`${tenant.I}/clients`, body), 201).data.id}`
    must(await weak.patch(path, { settings: { openid: { ...MACHINE, allowed_resources: [core()] } } }), 200)
  })
})

describe('tokens of a client of the console issuer are good on the accounts of whoever signs in there', () => {
  const spa = (callback: string) => ({ redirect_uris: [callback], allowed_resources: [app.baseUrl] })

  test('so giving one platform scopes asks for svc:all, without restrictions', async () => {
    const body = { name: 'App', type: 'internal', confidential: false }
    const settings = { openid: spa('https://evil.example/cb'), scopes: ['issuers:read'] }
    for (const restrictions of [
      { scopes: ['issuers.clients:write', 'issuers:read'] },
      { issuer_ids: [system.issuerId] },
    ]) {
      const weak = await keyWith(system, restrictions)
      expectRefused(await weak.post(`${system.I}/clients`, { ...body, settings }), 'svc:all')
      must(await weak.post(`${system.I}/clients`, { ...body, settings: { openid: settings.openid } }), 201)
    }
  })

  test("and so does a new address of the console's own client, or a new secret of a client", async () => {
    const clients = must(await app.operator.get(`${system.I}/clients`), 200).data
    const own = clients.find(({ name }: Loose) => name === 'Console')
    const bound = await keyWith(system, { issuer_ids: [system.issuerId] })
    const redirect_uris = [...own.settings.openid.redirect_uris, 'https://evil.example/cb']
    expectRefused(
      await bound.patch(`${system.I}/clients/${own.id}`, { settings: { openid: { redirect_uris } } }),
      'svc:all',
    )
    const body = { name: 'M', type: 'internal', confidential: true, settings: { scopes: ['issuers:read'] } }
    const { id } = must(await app.operator.post(`${system.I}/clients`, body), 201).data
    expectRefused(await bound.post(`${system.I}/clients/${id}/secret/rotate`), 'svc:all')
  })
})

test.each(['clients', 'agents'])(
  'enabling an issuer again asks for the scopes of its %s, who act again',
  async (kind) => {
    const issuer = must(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Other' }), 201).data.id
    const I = `${tenant.A}/issuers/${issuer}`
    const client = { name: 'Machine', type: 'internal', confidential: true, settings: { scopes: [LACKED] } }
    const body = kind === 'clients' ? client : { name: 'Agent', scopes: [LACKED] }
    const weak = await withScopes('issuers:write')
    for (const status of ['disabled', 'active']) must(await weak.patch(I, { status }), 200)
    must(await tenant.owner.post(`${I}/${kind}`, body), 201)
    must(await weak.patch(I, { status: 'disabled' }), 200)
    expectRefused(await weak.patch(I, { status: 'active' }), LACKED)
    must(await tenant.owner.patch(I, { status: 'active' }), 200)
  },
)

describe('a way of signing in that opens, or opens again, asks for the authority of all users', () => {
  const provider = { issuer_url: 'https://idp.example.com', client_id: 'c', client_secret: 's', link_by_email: false }
  const oidc = () => ({ name: fresh('IdP'), method: 'oidc', first_factor_only: true, settings: provider })

  /** An issuer without methods, where a user holds what the caller lacks, and a caller who keeps its methods. */
  async function issuerOf(strong: boolean) {
    const issuer = must(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Other' }), 201).data.id
    const I = `${tenant.A}/issuers/${issuer}`
    const boss = { username_type: 'email', username: `${fresh('boss')}@corp.example`, scopes: [LACKED] }
    if (strong) must(await tenant.owner.post(`${I}/users`, boss), 201)
    return { methods: `${I}/auth-methods`, weak: await withScopes('issuers.auth_methods:manage') }
  }

  test.each(['password', 'email_otp', 'email_link', 'passkey'])(
    '%s: whoever knows that much comes in',
    async (method) => {
      const { methods, weak } = await issuerOf(true)
      const body = { name: 'Method', method }
      expectRefused(await weak.post(methods, body), LACKED)
      const path = `${methods}/${must(await tenant.owner.post(methods, body), 201).data.id}`
      must(await tenant.owner.patch(path, { enabled_login: false }), 200)
      expectRefused(await weak.patch(path, { enabled_login: true }), LACKED)
      must(await weak.patch(path, { featured: true }), 200)
      must(await tenant.owner.patch(path, { enabled_login: true }), 200)
    },
  )

  test('a provider that is enabled again lets its former people in, also without linking by address', async () => {
    const { methods, weak } = await issuerOf(true)
    const path = `${methods}/${must(await weak.post(methods, oidc()), 201).data.id}`
    must(await weak.patch(path, { enabled_login: false }), 200)
    expectRefused(await weak.patch(path, { enabled_login: true }), LACKED)
  })

  test('a second factor lets nobody in, and where nobody holds more than the caller, all are free to open', async () => {
    const { methods, weak } = await issuerOf(true)
    for (const method of ['totp', 'backup_codes']) must(await weak.post(methods, { name: method, method }), 201)
    const free = await issuerOf(false)
    for (const method of ['password', 'email_otp', 'passkey']) {
      const path = `${free.methods}/${must(await free.weak.post(free.methods, { name: method, method }), 201).data.id}`
      for (const enabled_login of [false, true]) must(await free.weak.patch(path, { enabled_login }), 200)
    }
  })
})

test.each([
  ['enabled', { invitation_enabled: false }, { invitation_enabled: true }],
  ['those of an active organization', { status: 'suspended' }, { status: 'active' }],
])('invitations that are %s again give again what they gave', async (_, stop, start) => {
  const body = { name: 'Org', invitation_enabled: true }
  const O = `${tenant.I}/organizations/${must(await tenant.owner.post(`${tenant.I}/organizations`, body), 201).data.id}`
  const weak = await withScopes('issuers.organizations:write')
  for (const change of [stop, start]) must(await weak.patch(O, change), 200)
  const group = must(await tenant.owner.post(`${O}/groups`, { name: 'Group', scopes: [LACKED] }), 201).data.id
  const invitation = { email: `${fresh('invited')}@evil.example`, groups: [group] }
  must(await tenant.owner.post(`${O}/invitations`, invitation), 201)
  must(await weak.patch(O, stop), 200)
  expectRefused(await weak.patch(O, start), LACKED)
  must(await tenant.owner.patch(O, start), 200)
})

test('tokens of a disabled client, which its deletion brings back, ask for its scopes', async () => {
  const realm = new Realm(app, tenant)
  const username = `${fresh('boss')}@corp.example`
  const user = await realm.user(username)
  must(await tenant.owner.patch(`${tenant.I}/users/${user}`, { scopes: [LACKED] }), 200)
  const client = await realm.client({ allowed_resources: [app.baseUrl] }, { settings: { scopes: [LACKED] } })
  const params = { resource: app.baseUrl, scope: `openid ${LACKED}` }
  const boss = apiAs(app.baseUrl, (await realm.tokens(client, username, params)).access_token)
  must(await boss.get(`${tenant.I}/agents`), 200)
  must(await tenant.owner.patch(`${tenant.I}/clients/${client.id}`, { status: 'disabled' }), 200)
  must(await boss.get(`${tenant.I}/agents`), 401)
  const weak = await withScopes('issuers.clients:delete')
  const answer = await weak.delete(`${tenant.I}/clients/${client.id}`)
  must(await boss.get(`${tenant.I}/agents`), 401)
  expectRefused(answer, LACKED)
  const other = await realm.client({}, { settings: { scopes: [LACKED] } })
  must(await weak.delete(`${tenant.I}/clients/${other.id}`), 204)
})

test('less than before is for everybody to give: manage becomes read', async () => {
  const manage = ['issuers.agents:manage']
  const user = { username_type: 'unique', username: fresh('boss'), scopes: manage }
  const U = `${tenant.I}/users/${must(await tenant.owner.post(`${tenant.I}/users`, user), 201).data.id}`
  const weak = await withScopes('issuers.users:write')
  must(await weak.patch(U, { scopes: [LACKED] }), 200)
  expectRefused(await weak.patch(U, { scopes: manage }), 'issuers.agents:manage')
})
