/**
 * The relations `issuer` and `client`, and the pages of the relations of accounts and issuers. The scopes of the
 * relations are tested in test/security/relations.test.ts.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { DAY } from '../../src/kernel/time.js'
import { createTenantFixture, publicClient, type TenantFixture, uniqueName } from '../contract/tenant-fixture.js'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { createSession } from '../setup/sessions.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let fixture: TenantFixture
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
})
afterAll(() => app.close())

async function query(api: ApiClient, document: string, more: object = {}): Promise<AnyJson> {
  const { account_id: a, issuer_id: i, org_id: o, user_id: u, client_id: c, agent_id: g } = fixture.ids
  return (await api.graphql(document, { a, i, o, u, c, g, ...more })).body
}

test('a client, a user, an agent, an organization and an event have an issuer', async () => {
  const { data, errors } = await query(
    fixture.owner,
    `query ($a: ID!, $i: ID!, $o: ID!, $u: ID!, $c: ID!, $g: ID!) {
      client(accountId: $a, issuerId: $i, clientId: $c) { issuer { id accountId } }
      user(accountId: $a, issuerId: $i, userId: $u) { issuer { id accountId } }
      agent(accountId: $a, issuerId: $i, agentId: $g) { issuer { id accountId } }
      organization(accountId: $a, issuerId: $i, orgId: $o) { issuer { id accountId } }
      events(accountId: $a, eventTypes: ["client.created"]) { data { issuer { id accountId } } }
    }`,
  )
  expect(errors).toBeUndefined()
  const parents = [data.client, data.user, data.agent, data.organization, ...data.events.data]
  const issuer = { id: fixture.issuerId, accountId: fixture.accountId }
  expect(parents).toEqual(parents.map(() => ({ issuer })))
})

test('an event without an issuer and a client has none, and an event of a deleted issuer has none', async () => {
  const { id } = expectStatus(
    await fixture.owner.post(`${fixture.A}/issuers`, { name: uniqueName('Doomed') }),
    201,
  ).data
  expectStatus(await fixture.owner.delete(`${fixture.A}/issuers/${id}`), 204)
  expectStatus(await fixture.owner.patch(fixture.A, { description: uniqueName('d') }), 200)
  const document = `query ($a: ID!) {
    events(accountId: $a, eventTypes: ["issuer.deleted", "account.updated"], limit: 2) {
      data { issuerId issuer { id } client { id } } } }`
  const { data, errors } = await query(fixture.owner, document)
  expect(errors).toBeUndefined()
  expect(data.events.data).toEqual([
    { issuerId: null, issuer: null, client: null },
    { issuerId: id, issuer: null, client: null },
  ])
})

test('a session and an event show their client, also for 31 days after it was deleted', async () => {
  const client = expectStatus(await fixture.owner.post(`${fixture.I}/clients`, publicClient()), 201).data
  const sessionId = await createSession(app, fixture, fixture.ids.user_id, {
    clientId: client.id,
    lives: 60 * DAY,
  })
  const document = `query ($a: ID!, $i: ID!, $s: ID!, $c: ID) {
    session(accountId: $a, issuerId: $i, sessionId: $s) { clientId client { id name status } }
    events(accountId: $a, clientId: $c, limit: 1) { data { clientId client { id name status } } } }`
  const read = async () => {
    const { data, errors } = await query(fixture.owner, document, { s: sessionId, c: client.id })
    expect(errors).toBeUndefined()
    return [data.session, data.events.data[0]]
  }
  const shown = (status: string) => ({ clientId: client.id, client: { id: client.id, name: client.name, status } })
  expect(await read()).toEqual([shown('active'), shown('active')])
  expectStatus(await fixture.owner.delete(`${fixture.I}/clients/${client.id}`), 204)
  expect(await read()).toEqual([shown('deleted'), shown('deleted')])
  app.clock.advance(31 * DAY + 1)
  expect(await read()).toEqual([
    { clientId: client.id, client: null },
    { clientId: client.id, client: null },
  ])
})

test('a client of another issuer or tenant is not shown', async () => {
  const other = await createTenantFixture(app, 'Other')
  const { id } = expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name: uniqueName('I') }), 201).data
  const sibling = expectStatus(await fixture.owner.post(`${fixture.A}/issuers/${id}/clients`, publicClient()), 201).data
  const document = `query ($a: ID!, $i: ID!, $s: ID!) {
    session(accountId: $a, issuerId: $i, sessionId: $s) { clientId client { id } } }`
  for (const clientId of [other.ids.client_id, sibling.id, 'https://app.example.com/client.json']) {
    const s = await createSession(app, fixture, fixture.ids.user_id, { clientId })
    const { data, errors } = await query(fixture.owner, document, { s })
    expect({ data, errors }).toEqual({ data: { session: { clientId, client: null } }, errors: undefined })
  }
})

test('a caller that is restricted to an organization cannot read its issuer', async () => {
  const body = { type: 'api_key', name: uniqueName('key'), restrictions: {} }
  const key = expectStatus(
    await fixture.owner.post(`${fixture.I}/organizations/${fixture.ids.org_id}/api-keys`, body),
    201,
  )
  const ofOrganization = createApiClient(app.baseUrl, { id: key.data.id, secret: key.data.secret_plain })
  const restricted = await createRestrictedKey(fixture, {
    issuer_ids: [fixture.issuerId],
    org_ids: [fixture.ids.org_id],
  })
  const document = `query ($a: ID!, $i: ID!, $o: ID!) {
    organization(accountId: $a, issuerId: $i, orgId: $o) { id issuer { id } } }`
  for (const api of [ofOrganization, restricted]) {
    const { data, errors } = await query(api, document)
    expect(data).toEqual({ organization: { id: fixture.ids.org_id, issuer: null } })
    expect(errors).toMatchObject([{ path: ['organization', 'issuer'], extensions: { code: 'NOT_FOUND', status: 404 } }])
  }
})

test('a caller that lacks the scope gets the parent and an error for the relation', async () => {
  const key = await createRestrictedKey(fixture, { scopes: ['issuers.clients:read'] })
  const document = `query ($a: ID!, $i: ID!, $c: ID!) {
    client(accountId: $a, issuerId: $i, clientId: $c) { id issuer { id } } }`
  const { data, errors } = await query(key, document)
  expect(data).toEqual({ client: { id: fixture.ids.client_id, issuer: null } })
  expect(errors).toMatchObject([{ path: ['client', 'issuer'], extensions: { code: 'INSUFFICIENT_SCOPE' } }])
})

const paginated = [
  ['account', 'issuers'],
  ['account', 'apiKeys'],
  ['account', 'notes'],
  ['account', 'webhooks'],
  ['account', 'events'],
  ['issuer', 'clients'],
  ['issuer', 'organizations'],
  ['issuer', 'agents'],
  ['issuer', 'users'],
  ['issuer', 'authMethods'],
  ['issuer', 'events'],
] as const

test.each(paginated)('%s.%s can be read page by page', async (root, field) => {
  const path = root === 'account' ? 'accountId: $a' : 'accountId: $a, issuerId: $i'
  const page = async (limit: number, cursor: string | null): Promise<AnyJson> => {
    const document = `query ($a: ID!${root === 'account' ? '' : ', $i: ID!'}, $limit: Int, $cursor: String) {
      ${root}(${path}) { page: ${field}(limit: $limit, cursor: $cursor) { data { id } nextCursor hasMore } } }`
    const { data, errors } = await query(fixture.owner, document, { limit, cursor })
    expect(errors).toBeUndefined()
    return data[root].page
  }
  await createMore[field]?.()
  const all = await page(100, null)
  expect(all.data.length).toBeGreaterThan(1)
  const first = await page(1, null)
  expect(first).toEqual({ data: [all.data[0]], hasMore: true, nextCursor: expect.any(String) })
  const second = await page(100, first.nextCursor)
  expect([...first.data, ...second.data].slice(0, all.data.length)).toEqual(all.data)
})

/** Creates a second row in lists in which the fixture has only one. */
const createMore: Partial<Record<(typeof paginated)[number][1], () => Promise<unknown>>> = {
  issuers: () => fixture.owner.post(`${fixture.A}/issuers`, { name: uniqueName('Issuer') }),
  apiKeys: () => createRestrictedKey(fixture, { scopes: [] }),
  notes: () =>
    fixture.owner.post(`${fixture.A}/notes`, { subject_type: 'issuer', subject_id: fixture.issuerId, content: 'A' }),
  webhooks: () =>
    fixture.owner.post(`${fixture.A}/webhooks`, {
      url: 'https://hooks.example.com/more',
      event_types: ['webhook.failing'],
    }),
  clients: () => fixture.owner.post(`${fixture.I}/clients`, publicClient()),
  organizations: () => fixture.owner.post(`${fixture.I}/organizations`, { name: uniqueName('Organization') }),
  agents: () => fixture.owner.post(`${fixture.I}/agents`, { name: uniqueName('agent') }),
  authMethods: () => fixture.owner.post(`${fixture.I}/auth-methods`, { name: 'Passkey', method: 'passkey' }),
}
