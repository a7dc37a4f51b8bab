import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Realm } from '../idp/setup.js'
import { must } from '../setup/actors.js'
import { apiAs } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const ADMIN = 'root@example.com'
const PASSWORD = 'correct horse battery staple'
let app: TestApp
let realm: Realm
let console: Realm

beforeAll(async () => {
  app = await startApp({ env: { BOOTSTRAP_ADMIN_EMAIL: ADMIN, BOOTSTRAP_ADMIN_PASSWORD: PASSWORD } })
  realm = await Realm.make(app, 'Acme')
  const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${system.id}`
  const [issuer] = must(await app.operator.get(`${A}/issuers`), 200).data
  const I = `${A}/issuers/${issuer.id}`
  console = new Realm(app, { accountId: system.id, issuerId: issuer.id, A, I, owner: app.operator })
})
afterAll(() => app.close())

/** Signs the administrator in as the console does and answers the token response. */
async function consoleTokens(params: Record<string, string> = {}) {
  const [client] = must(await app.operator.get(`${console.tenant.I}/clients`), 200).data
  const redirect_uri = `${app.gatehouse.config.baseUrl}/console/callback`
  return console.tokens({ id: client.id, secret: undefined }, ADMIN, { redirect_uri, ...params })
}

const forCoreApi = () => ({ resource: app.gatehouse.config.baseUrl })

/** A client of the tenant whose tokens may be meant for the Core API. */
const apiClient = (scopes: string[]) =>
  realm.client({ allowed_resources: [app.gatehouse.config.baseUrl] }, { settings: { scopes } })

test('D6: a console-issuer user has all authority on accounts that it owns; the system account makes it an operator', async () => {
  const { access_token } = await consoleTokens({ scope: 'openid svc:all', ...forCoreApi() })
  const admin = apiAs(app.baseUrl, access_token)
  const me = await admin.graphql('{ me { type issuerId scopes } }')
  expect(me.body.data.me).toEqual({ type: 'user', issuerId: null, scopes: ['svc:all'] })
  const reached = must(await admin.get('/v1/accounts'), 200).data.map((account: { id: string }) => account.id)
  expect(reached).toEqual(expect.arrayContaining([realm.tenant.accountId, console.tenant.accountId]))
  must(await admin.patch(realm.tenant.A, { description: 'seen by an operator' }), 200)
  const event = await app.gatehouse.tools.prisma.event.findFirstOrThrow({
    where: { type: 'account.updated', accountId: realm.tenant.accountId },
    orderBy: { id: 'desc' },
  })
  expect(event.actor).toMatchObject({ type: 'user', operator: true })
})

test("D6: authority is always intersected with the token's own scope", async () => {
  const { access_token } = await consoleTokens({ scope: 'openid accounts:read', ...forCoreApi() })
  const admin = apiAs(app.baseUrl, access_token)
  must(await admin.get(console.tenant.A), 200)
  const refused = await admin.patch(console.tenant.A, { name: 'Renamed' })
  expect(refused.status).toBe(403)
  expect(refused.body.error).toBe('insufficient_scope')
  expect(refused.headers.get('www-authenticate')).toContain('scope="accounts:write"')
})

test('D6: a token counts only when its audience holds the Core API', async () => {
  const { access_token, id_token } = await consoleTokens({ scope: 'openid' })
  for (const token of [access_token, id_token]) {
    const answer = await apiAs(app.baseUrl, token).get('/v1/accounts')
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"')
  }
})

test('D6: a user of an ordinary issuer has its own granted scopes, on paths under its issuer only', async () => {
  const id = await realm.user('helper@example.com')
  must(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { scopes: ['issuers.users:read'] }), 200)
  const client = await apiClient(['issuers.users:read', 'issuers.users:write'])
  const scope = 'openid issuers.users:read issuers.users:write'
  const { access_token } = await realm.tokens(client, 'helper@example.com', { scope, ...forCoreApi() })
  const helper = apiAs(app.baseUrl, access_token)
  must(await helper.get(`${realm.tenant.I}/users`), 200)
  must(await helper.post(`${realm.tenant.I}/users`, { username_type: 'unique', username: 'x' }), 403)
  must(await helper.get(`${realm.tenant.A}/api-keys`), 404)
  must(await helper.get(realm.tenant.A), 404)
  const other = await Realm.make(app, 'Other')
  must(await helper.get(`${other.tenant.I}/users`), 404)
})

test('D6: a tenant that names a scope like one of the platform opens nothing with it', async () => {
  await realm.user('nobody@example.com')
  const client = await apiClient(['issuers.users:read', 'svc:all'])
  const scope = 'openid issuers.users:read svc:all'
  const { access_token } = await realm.tokens(client, 'nobody@example.com', { scope, ...forCoreApi() })
  must(await apiAs(app.baseUrl, access_token).get(`${realm.tenant.I}/users`), 403)
})

test('a suspended user is refused at the Core API at once, its tokens included', async () => {
  const id = await realm.user('leaving@example.com')
  must(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { scopes: ['issuers.users:read'] }), 200)
  const client = await apiClient(['issuers.users:read'])
  const params = { scope: 'openid issuers.users:read', ...forCoreApi() }
  const { access_token } = await realm.tokens(client, 'leaving@example.com', params)
  const leaving = apiAs(app.baseUrl, access_token)
  must(await leaving.get(`${realm.tenant.I}/users`), 200)
  must(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { status: 'suspended' }), 200)
  must(await leaving.get(`${realm.tenant.I}/users`), 401)
})

test('RFC 9728: the Core API says where its tokens come from', async () => {
  const answer = await fetch(`${app.baseUrl}/.well-known/oauth-protected-resource`)
  expect(await answer.json()).toMatchObject({
    resource: app.gatehouse.config.baseUrl,
    authorization_servers: [`${app.gatehouse.config.idpUrl}/${console.tenant.issuerId}`],
    bearer_methods_supported: ['header'],
  })
})
