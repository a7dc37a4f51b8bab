/**
 * Each insufficient_scope error names the missing scope (docs/contract.md#authority-for-changes, RFC 6750 section 3):
 * in `WWW-Authenticate` for `/v1`, in `extensions.scope` for GraphQL. access-matrix.test.ts tests the scopes of routes.
 * This file tests the scopes that operations require in addition.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { routes } from '../../src/rest/routes.js'
import { callRootField, type RootField, readRootFields } from '../contract/root-fields.js'
import {
  confidentialClient,
  createTenantFixture,
  createTenantResources,
  type FixtureIds,
  publicClient,
  sendRouteRequest,
  type TenantFixture,
} from '../contract/tenant-fixture.js'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import { type AnyJson, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let fixture: TenantFixture
let roots: RootField[]
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  roots = await readRootFields(fixture.owner)
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

/** A request that is refused. */
interface Row {
  operation: string
  /** Scopes of the caller's key. */
  scopes?: string[]
  /** Further restrictions of the caller's key. */
  restrictions?: (ids: FixtureIds) => object
  /** Body of the request; by default a valid one. */
  body?: object
  /** The scope that the error must name. */
  missing: string
  /** Prepares the resources before the request. */
  given?: (ids: FixtureIds) => Promise<unknown>
}

const patch = (path: (ids: FixtureIds) => string, body: object) => async (ids: FixtureIds) =>
  expectStatus(await fixture.owner.patch(path(ids), body), 200)
const strong = { scopes: [LACKED] }
const client = ({ client_id }: FixtureIds) => `${fixture.I}/clients/${client_id}`
const user = ({ user_id }: FixtureIds) => `${fixture.I}/users/${user_id}`
const agent = ({ agent_id }: FixtureIds) => `${fixture.I}/agents/${agent_id}`
const organization = ({ org_id }: FixtureIds) => `${fixture.I}/organizations/${org_id}`
const key = ({ key_id }: FixtureIds) => `${fixture.A}/api-keys/${key_id}`
const orgKey = (ids: FixtureIds) => `${organization(ids)}/api-keys/${ids.org_key_id}`
/** Grants LACKED to the user of the fixture and creates a personal token of the user. */
const strongToken = async (ids: FixtureIds) => {
  await patch(user, strong)(ids)
  const body = { type: 'personal_token', name: 'strong', restrictions: {} }
  ids.token_id = expectStatus(await fixture.owner.post(`${user(ids)}/tokens`, body), 201).data.id
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
    operation: 'updateClient',
    scopes: ['issuers.clients:write'],
    given: patch(client, { settings: strong }),
    body: { settings: { openid: { token_endpoint_auth_method: 'client_secret_post' } } },
    missing: LACKED,
  },
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
      app.gatehouse.database.prisma.user.update({ where: { id: pending_user_id }, data: strong }),
    missing: LACKED,
  },
  {
    operation: 'reactivateSession',
    scopes: ['issuers.sessions:write'],
    given: async (ids) => {
      expectStatus(
        await fixture.owner.post(`${fixture.I}/sessions/${ids.session_id}/suspend`, { reason: 'other' }),
        200,
      )
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
    const { ids } = await createTenantResources(fixture)
    await row.given?.(ids)
    const api = await createRestrictedKey(fixture, { scopes: row.scopes, ...row.restrictions?.(ids) })
    const body = (row.body as AnyJson)?.['owner_user_id'] ? { owner_user_id: await consoleUser() } : row.body
    const route = routes.find(({ operation }) => operation === row.operation)!
    const root = roots.find(({ name }) => name === row.operation)!

    const response = await sendRouteRequest(api, route, ids, {}, body)
    expect([response.status, response.body.error, response.text]).toEqual([403, 'insufficient_scope', response.text])
    expect(response.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${row.missing}"`)

    const input = body && Object.fromEntries(Object.entries(body).map(([name, value]) => [camel(name), value]))
    const { answer: graphqlResponse } = await callRootField(api, root, ids, input && { input })
    expect(graphqlResponse.body.errors).toHaveLength(1)
    expect(graphqlResponse.body.errors[0].extensions).toMatchObject({
      code: 'INSUFFICIENT_SCOPE',
      status: 403,
      scope: row.missing,
    })
    expectStatus(await fixture.owner.delete(`${fixture.A}/api-keys/${api.keyId}`), 204)
  },
)

/** Creates a user of the console issuer and returns the user id. */
async function consoleUser(): Promise<string> {
  const [system] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const [issuer] = expectStatus(await app.operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
  const users = `/v1/accounts/${system.id}/issuers/${issuer.id}/users`
  return expectStatus(await app.operator.post(users, { username_type: 'unique', username: `o-${Date.now()}` }), 201)
    .data.id
}

test('GraphQL names the missing scope of a root field and of a relation', async () => {
  const api = await createRestrictedKey(fixture, { scopes: ['issuers:read'] })
  const { issuerId: i, accountId: a } = fixture
  const text = 'query ($a: ID!, $i: ID!) { issuer(accountId: $a, issuerId: $i) { clients { data { id } } } }'
  const relation = (await api.graphql(text, { a, i })).body.errors
  expect(relation[0].extensions).toMatchObject({ code: 'INSUFFICIENT_SCOPE', scope: 'issuers.clients:read' })
  const field = (await api.graphql('query ($a: ID!) { account(accountId: $a) { id } }', { a })).body.errors
  expect(field[0].extensions).toMatchObject({ code: 'INSUFFICIENT_SCOPE', scope: 'accounts:read' })
})

test('a repeated POST with an Idempotency-Key is 403 if the caller lacks a scope that the request grants', async () => {
  const headers = { 'idempotency-key': 'once' }
  const body = { username_type: 'unique', username: 'zq-repeated', ...strong }
  expectStatus(await fixture.owner.post(`${fixture.I}/users`, body, headers), 201)
  const weak = await createRestrictedKey(fixture, { scopes: ['issuers.users:write'] })
  const response = await weak.post(`${fixture.I}/users`, body, headers)
  expect(response.status).toBe(403)
  expect(response.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${LACKED}"`)
})

test('a 403 for another reason than a missing scope has no WWW-Authenticate', async () => {
  const api = await createRestrictedKey(fixture, { ip_allowlist: ['192.0.2.1'] })
  const response = await api.get(fixture.A)
  expect([response.status, response.body.error, response.headers.get('www-authenticate')]).toEqual([
    403,
    'forbidden',
    null,
  ])
  const text = 'mutation { createAccount(input: { name: "x" }) { account { id } } }'
  const [error] = (await fixture.owner.graphql(text)).body.errors
  expect(error.extensions).toMatchObject({ code: 'FORBIDDEN', status: 403 })
  expect('scope' in error.extensions).toBe(false)
  expect((await createApiClient(app.baseUrl).get(fixture.A)).status).toBe(401)
})
