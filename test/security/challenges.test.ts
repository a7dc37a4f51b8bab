/**
 * Every refusal for authority names the scope that is missing (decisions D30, RFC 6750 section 3): `/v1` in
 * `WWW-Authenticate`, GraphQL in `extensions.scope`. That routes ask for their own scope is in matrix.test.ts; this is
 * what operations ask for besides. Nothing but one function makes this error (test/kernel/rooms).
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { routes } from '../../src/rest/routes.js'
import { callRoot, type Root, rootsOf } from '../contract/roots.js'
import { confidentialClient, type Ids, makeWorld, populate, publicClient, send, type World } from '../contract/world.js'
import { keyWith, must } from '../setup/actors.js'
import { apiAs, type Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let world: World
let roots: Root[]
beforeAll(async () => {
  app = await startApp()
  world = await makeWorld(app)
  roots = await rootsOf(world.owner)
})
afterAll(() => app.close())

const LACKED = 'webhooks:write'
const resources = [{ resource: 'https://api.example.com', scopes: ['orders:read'] }]
const exchange = {
  settings: {
    openid: {
      application_type: 'm2m',
      grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange'],
      token_exchange: { subject_resources: resources, target_resources: resources },
    },
  },
}
const upstream = {
  name: 'Corp',
  method: 'oidc',
  first_factor_only: true,
  settings: { issuer_url: 'https://idp.example.com', client_id: 'c', client_secret: 's' },
}

/** One refusal: who asks for what, of things made for it, and which scope is missing. */
interface Row {
  operation: string
  /** Of the caller's key. */
  scopes?: string[]
  restrictions?: (ids: Ids) => object
  body?: object
  missing: string
  /** What must be so before. */
  given?: (ids: Ids) => Promise<unknown>
}

const patch = (path: (ids: Ids) => string, body: object) => async (ids: Ids) =>
  must(await world.owner.patch(path(ids), body), 200)
const strong = { scopes: [LACKED] }
const client = ({ client_id }: Ids) => `${world.I}/clients/${client_id}`
const user = ({ user_id }: Ids) => `${world.I}/users/${user_id}`
const agent = ({ agent_id }: Ids) => `${world.I}/agents/${agent_id}`
const organization = ({ org_id }: Ids) => `${world.I}/organizations/${org_id}`
const key = ({ key_id }: Ids) => `${world.A}/api-keys/${key_id}`
const orgKey = (ids: Ids) => `${organization(ids)}/api-keys/${ids.org_key_id}`
/** A token with the scope, of a user who has it. */
const strongToken = async (ids: Ids) => {
  await patch(user, strong)(ids)
  const body = { type: 'personal_token', name: 'strong', restrictions: {} }
  ids.token_id = must(await world.owner.post(`${user(ids)}/tokens`, body), 201).data.id
}

const rows: Row[] = [
  { operation: 'updateAccount', scopes: ['accounts:write'], body: { owner_user_id: 'OWNER' }, missing: 'svc:all' },
  {
    operation: 'updateAccount',
    scopes: ['accounts:write'],
    body: { domains: [{ host: 'a.example' }] },
    missing: 'domains:write',
  },
  {
    operation: 'updateAccount',
    scopes: ['accounts:write', 'domains:write'],
    body: { domains: [] },
    missing: 'domains:delete',
  },
  { operation: 'createWebhook', scopes: ['webhooks:write'], missing: 'events:read' },
  {
    operation: 'updateWebhook',
    scopes: ['webhooks:write'],
    body: { url: 'https://b.example/in' },
    missing: 'events:read',
  },
  { operation: 'createApiKey', scopes: ['api_keys:write'], body: { name: 'k', restrictions: strong }, missing: LACKED },
  { operation: 'updateApiKey', scopes: ['api_keys:write'], body: { scopes: [LACKED] }, missing: LACKED },
  { operation: 'updateApiKey', scopes: ['api_keys:write'], given: patch(key, strong), missing: LACKED },
  { operation: 'rotateApiKey', scopes: ['api_keys:write'], given: patch(key, strong), missing: LACKED },
  { operation: 'revokeApiKey', scopes: ['api_keys:delete'], given: patch(key, strong), missing: LACKED },
  { operation: 'deleteApiKey', scopes: ['api_keys:delete'], given: patch(key, strong), missing: LACKED },
  {
    operation: 'createOrganizationApiKey',
    scopes: ['issuers.organizations.api_keys:write'],
    body: { type: 'api_key', name: 'k', restrictions: {} },
    missing: 'svc:all',
  },
  {
    operation: 'rotateOrganizationApiKey',
    scopes: ['issuers.organizations.api_keys:write'],
    given: patch(orgKey, strong),
    missing: LACKED,
  },
  {
    operation: 'createPersonalToken',
    scopes: ['issuers.users.tokens:write'],
    body: { type: 'personal_token', name: 't', restrictions: {} },
    given: patch(user, strong),
    missing: LACKED,
  },
  { operation: 'revokePersonalToken', scopes: ['issuers.users.tokens:delete'], given: strongToken, missing: LACKED },
  { operation: 'deletePersonalToken', scopes: ['issuers.users.tokens:delete'], given: strongToken, missing: LACKED },
  {
    operation: 'updateIssuer',
    scopes: ['issuers:write'],
    body: { settings: { security: { password_policy: { min_length: 8, disallow_common: false } } } },
    given: patch(user, strong),
    missing: LACKED,
  },
  {
    operation: 'createAuthMethod',
    scopes: ['issuers.auth_methods:write'],
    body: upstream,
    given: patch(user, strong),
    missing: LACKED,
  },
  {
    operation: 'createClient',
    scopes: ['issuers.clients:write'],
    body: publicClient({ settings: strong }),
    missing: LACKED,
  },
  {
    operation: 'createClient',
    scopes: ['issuers.clients:write'],
    body: confidentialClient(exchange),
    missing: 'issuers.clients:manage',
  },
  {
    operation: 'createClient',
    scopes: ['issuers.clients:manage'],
    restrictions: ({ issuer_id }) => ({ issuer_ids: [issuer_id] }),
    body: confidentialClient(exchange),
    missing: 'issuers.clients:manage',
  },
  { operation: 'updateClient', scopes: ['issuers.clients:write'], body: { settings: strong }, missing: LACKED },
  {
    operation: 'rotateClientSecret',
    scopes: ['issuers.clients:write'],
    given: patch(client, { settings: strong }),
    missing: LACKED,
  },
  {
    operation: 'createUser',
    scopes: ['issuers.users:write'],
    body: { username_type: 'unique', username: 'zq-strong', ...strong },
    missing: LACKED,
  },
  { operation: 'updateUser', scopes: ['issuers.users:write'], body: strong, missing: LACKED },
  {
    operation: 'updateUser',
    scopes: ['issuers.users:write'],
    body: { email_verified: true },
    missing: 'issuers.users.verifiers:write',
  },
  {
    operation: 'updateUser',
    scopes: ['issuers.users:write', 'issuers.users.verifiers:write'],
    body: { username: 'zq-other' },
    given: patch(user, strong),
    missing: LACKED,
  },
  {
    operation: 'createVerifier',
    scopes: ['issuers.users.verifiers:write'],
    given: patch(user, strong),
    missing: LACKED,
  },
  {
    operation: 'deleteVerifier',
    scopes: ['issuers.users.verifiers:delete'],
    given: patch(user, strong),
    missing: LACKED,
  },
  {
    operation: 'decideApproval',
    scopes: ['issuers.approvals:manage'],
    given: ({ pending_user_id }) =>
      app.gatehouse.tools.prisma.user.update({ where: { id: pending_user_id }, data: strong }),
    missing: LACKED,
  },
  {
    operation: 'reactivateSession',
    scopes: ['issuers.sessions:write'],
    given: async (ids) => {
      must(await world.owner.post(`${world.I}/sessions/${ids.session_id}/suspend`, { reason: 'other' }), 200)
      await patch(user, strong)(ids)
    },
    missing: LACKED,
  },
  { operation: 'createAgent', scopes: ['issuers.agents:write'], body: { name: 'a', ...strong }, missing: LACKED },
  {
    operation: 'createAgentVerifier',
    scopes: ['issuers.agents.verifiers:write'],
    given: patch(agent, strong),
    missing: LACKED,
  },
  {
    operation: 'createOrganization',
    scopes: ['issuers.organizations:write'],
    body: { name: 'o', creator_scopes: [LACKED] },
    missing: LACKED,
  },
  {
    operation: 'updateOrganization',
    scopes: ['issuers.organizations:write'],
    body: { default_member_scopes: [LACKED] },
    missing: LACKED,
  },
  {
    operation: 'updateOrganization',
    scopes: ['issuers.organizations:write'],
    body: { status: 'active' },
    given: patch(organization, { default_member_scopes: [LACKED], status: 'suspended', status_reason: 'r' }),
    missing: LACKED,
  },
  {
    operation: 'addOrganizationMember',
    scopes: ['issuers.organizations.members:write'],
    given: patch(organization, { default_member_scopes: [LACKED] }),
    missing: LACKED,
  },
  {
    operation: 'updateOrganizationMember',
    scopes: ['issuers.organizations.members:write'],
    body: { scopes: [LACKED] },
    missing: LACKED,
  },
  {
    operation: 'createOrganizationInvitation',
    scopes: ['issuers.organizations.members:write'],
    given: patch(organization, { default_member_scopes: [LACKED] }),
    missing: LACKED,
  },
  {
    operation: 'createOrganizationGroup',
    scopes: ['issuers.organizations.groups:write'],
    body: { name: 'g', ...strong },
    missing: LACKED,
  },
]

const camel = (text: string) => text.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

test.each(rows.map((row) => [`${row.operation} with ${row.scopes} lacks ${row.missing}`, row] as const))(
  '%s',
  async (_, row) => {
    const { ids } = await populate(world)
    await row.given?.(ids)
    const api = await keyWith(world, { scopes: row.scopes, ...row.restrictions?.(ids) })
    const body = (row.body as Loose)?.['owner_user_id'] ? { owner_user_id: await consoleUser() } : row.body
    const route = routes.find(({ operation }) => operation === row.operation)!
    const root = roots.find(({ name }) => name === row.operation)!

    const answer = await send(api, route, ids, {}, body)
    expect([answer.status, answer.body.error, answer.text]).toEqual([403, 'insufficient_scope', answer.text])
    expect(answer.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${row.missing}"`)

    const input = body && Object.fromEntries(Object.entries(body).map(([name, value]) => [camel(name), value]))
    const asked = await callRoot(api, root, ids, input && { input })
    expect(asked.answer.body.errors).toHaveLength(1)
    expect(asked.answer.body.errors[0].extensions).toMatchObject({
      code: 'INSUFFICIENT_SCOPE',
      status: 403,
      scope: row.missing,
    })
    must(await world.owner.delete(`${world.A}/api-keys/${api.keyId}`), 204)
  },
)

/** A user of the console issuer. */
async function consoleUser(): Promise<string> {
  const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const [issuer] = must(await app.operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
  const users = `/v1/accounts/${system.id}/issuers/${issuer.id}/users`
  return must(await app.operator.post(users, { username_type: 'unique', username: `o-${Date.now()}` }), 201).data.id
}

test('the scope of the route itself, in GraphQL: for a root field and for a relation', async () => {
  const api = await keyWith(world, { scopes: ['issuers:read'] })
  const { issuerId: i, accountId: a } = world
  const text = 'query ($a: ID!, $i: ID!) { issuer(accountId: $a, issuerId: $i) { clients { data { id } } } }'
  const relation = (await api.graphql(text, { a, i })).body.errors
  expect(relation[0].extensions).toMatchObject({ code: 'INSUFFICIENT_SCOPE', scope: 'issuers.clients:read' })
  const field = (await api.graphql('query ($a: ID!) { account(accountId: $a) { id } }', { a })).body.errors
  expect(field[0].extensions).toMatchObject({ code: 'INSUFFICIENT_SCOPE', scope: 'accounts:read' })
})

test('a repeated POST with an Idempotency-Key that asks to give what the caller lacks', async () => {
  const headers = { 'idempotency-key': 'once' }
  const body = { username_type: 'unique', username: 'zq-repeated', ...strong }
  must(await world.owner.post(`${world.I}/users`, body, headers), 201)
  const weak = await keyWith(world, { scopes: ['issuers.users:write'] })
  const answer = await weak.post(`${world.I}/users`, body, headers)
  expect(answer.status).toBe(403)
  expect(answer.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${LACKED}"`)
})

test('a 403 that no scope would lift has no challenge', async () => {
  const api = await keyWith(world, { ip_allowlist: ['192.0.2.1'] })
  const answer = await api.get(world.A)
  expect([answer.status, answer.body.error, answer.headers.get('www-authenticate')]).toEqual([403, 'forbidden', null])
  const text = 'mutation { createAccount(input: { name: "x" }) { account { id } } }'
  const [error] = (await world.owner.graphql(text)).body.errors
  expect(error.extensions).toMatchObject({ code: 'FORBIDDEN', status: 403 })
  expect('scope' in error.extensions).toBe(false)
  expect((await apiAs(app.baseUrl).get(world.A)).status).toBe(401)
})
