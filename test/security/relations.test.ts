/**
 * Each GraphQL relation requires the scope of its REST list, returns the rows of the list, and needs a fixed number of
 * SQL statements for any number of parents. The scopes (docs/contract.md#scopes-and-authorization) are repeated in this
 * file instead of imported from src/. A test fails if the table lacks a relation of the schema.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  createTenantFixture,
  createTenantResources,
  type TenantFixture,
  uniqueName,
} from '../contract/tenant-fixture.js'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { createSession } from '../setup/sessions.js'
import { startApp, type TestApp } from '../setup/start-app.js'

/** By parent type: the root field that lists the type, and the scope of the root field. */
const parents = {
  Account: ['accounts', 'accounts:read'],
  Webhook: ['webhooks', 'webhooks:read'],
  Client: ['clients', 'issuers.clients:read'],
  Issuer: ['issuers', 'issuers:read'],
  User: ['users', 'issuers.users:read'],
  Approval: ['approvals', 'issuers.approvals:read'],
  Agent: ['agents', 'issuers.agents:read'],
  Organization: ['organizations', 'issuers.organizations:read'],
  OrganizationGroup: ['organizationGroups', 'issuers.organizations.groups:read'],
  OrganizationMember: ['organizationMembers', 'issuers.organizations.members:read'],
  OrganizationInvitation: ['organizationInvitations', 'issuers.organizations.members:read'],
  ApiKey: ['organizationApiKeys', 'issuers.organizations.api_keys:read'],
  Session: ['sessions', 'issuers.sessions:read'],
  PersonalToken: ['personalTokens', 'issuers.users.tokens:read'],
  Event: ['events', 'events:read'],
} as const

/** Parent, field, scope, and the root field whose first page the relation returns; null if there is none. */
const relations: [keyof typeof parents, string, string, string | null][] = [
  ['Account', 'issuers', 'issuers:read', 'issuers'],
  ['Account', 'apiKeys', 'api_keys:read', 'apiKeys'],
  ['Account', 'notes', 'notes:read', 'notes'],
  ['Account', 'webhooks', 'webhooks:read', 'webhooks'],
  ['Account', 'events', 'events:read', 'events'],
  ['Issuer', 'events', 'events:read', null],
  ['Client', 'events', 'events:read', null],
  ['User', 'events', 'events:read', null],
  ['Approval', 'events', 'events:read', null],
  ['Webhook', 'deliveries', 'webhooks:read', 'webhookDeliveries'],
  ['Issuer', 'clients', 'issuers.clients:read', 'clients'],
  ['Issuer', 'users', 'issuers.users:read', 'users'],
  ['Issuer', 'authMethods', 'issuers.auth_methods:read', 'authMethods'],
  ['Issuer', 'organizations', 'issuers.organizations:read', 'organizations'],
  ['Issuer', 'agents', 'issuers.agents:read', 'agents'],
  ['User', 'sessions', 'issuers.sessions:read', 'sessions'],
  ['User', 'verifiers', 'issuers.users.verifiers:read', 'verifiers'],
  ['User', 'tokens', 'issuers.users.tokens:read', 'personalTokens'],
  ['User', 'organizations', 'issuers.organizations:read', null],
  // An approval is a user who waits for approval, so it has the relations of a user.
  ['Approval', 'sessions', 'issuers.sessions:read', null],
  ['Approval', 'verifiers', 'issuers.users.verifiers:read', null],
  ['Approval', 'tokens', 'issuers.users.tokens:read', null],
  ['Approval', 'organizations', 'issuers.organizations:read', null],
  ['Agent', 'verifiers', 'issuers.agents.verifiers:read', 'agentVerifiers'],
  ['Organization', 'members', 'issuers.organizations.members:read', 'organizationMembers'],
  ['Organization', 'groups', 'issuers.organizations.groups:read', 'organizationGroups'],
  ['Organization', 'invitations', 'issuers.organizations.members:read', 'organizationInvitations'],
  ['Organization', 'apiKeys', 'issuers.organizations.api_keys:read', 'organizationApiKeys'],
  ['OrganizationGroup', 'members', 'issuers.organizations.groups:read', 'organizationGroupMembers'],
  ['OrganizationMember', 'user', 'issuers.users:read', null],
  ['OrganizationMember', 'organization', 'issuers.organizations:read', null],
  ['OrganizationMember', 'groupObjects', 'issuers.organizations.groups:read', null],
  ['OrganizationInvitation', 'organization', 'issuers.organizations:read', null],
  ['ApiKey', 'organization', 'issuers.organizations:read', null],
  ['Client', 'issuer', 'issuers:read', null],
  ['User', 'issuer', 'issuers:read', null],
  ['Approval', 'issuer', 'issuers:read', null],
  ['Agent', 'issuer', 'issuers:read', null],
  ['Organization', 'issuer', 'issuers:read', null],
  ['Event', 'issuer', 'issuers:read', null],
  ['Event', 'client', 'issuers.clients:read', null],
  ['Session', 'client', 'issuers.clients:read', null],
  ['Session', 'user', 'issuers.users:read', null],
  ['PersonalToken', 'user', 'issuers.users:read', null],
  ['Event', 'user', 'issuers.users:read', null],
  ['Event', 'session', 'issuers.sessions:read', null],
]
const named = relations.map((relation) => [relation.slice(0, 2).join('.'), ...relation] as const)

/** Fields that return objects with an id but require no further scope, with the reason. */
const exempt: Record<string, string> = {
  'Account.domains': 'a field of the account itself (docs/contract.md#accounts), read under the scope of the account',
  'CreateAccountPayload.account': 'the payload of a mutation',
  'CreateAccountPayload.apiKey': 'the payload of a mutation',
  'Event.actor': 'a part of the event',
  'Event.target': 'a part of the event',
  'Note.author': 'a part of the note (test/graphql/note-and-delivery-relations.test.ts)',
  'NoteAuthor.apiKey': 'tested in test/graphql/note-and-delivery-relations.test.ts',
  'NoteAuthor.user': 'tested in test/graphql/note-and-delivery-relations.test.ts',
  'WebhookDelivery.event': 'tested in test/graphql/note-and-delivery-relations.test.ts',
  'WebhookDelivery.webhook': 'tested in test/graphql/note-and-delivery-relations.test.ts',
  'Note.references': 'ids and texts from the content of the note, not resources',
}

let app: TestApp
let fixture: TenantFixture
const everything = [...new Set([...Object.values(parents).map(([, scope]) => scope), ...relations.map(([, , s]) => s)])]

beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  await createTenantResources(fixture)
  const { owner, ids } = fixture
  const O = `${fixture.I}/organizations/${ids.org_id}`
  expectStatus(await owner.post(`${O}/invitations`, { email: 'second@example.com' }), 201)
  expectStatus(await owner.post(`${O}/api-keys`, { type: 'api_key', name: 'second', restrictions: {} }), 201)
  await createSession(app, fixture, fixture.ids.user_id)
  const token = { type: 'personal_token', name: 'second', restrictions: { scopes: [] } }
  expectStatus(await owner.post(`${fixture.I}/users/${ids.user_id}/tokens`, token), 201)
  for (const name of ['One', 'Two']) expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name }), 201)
})
afterAll(() => app.close())

/** Queries a root field that returns a list, with the ids of the fixture as arguments. */
async function list(api: ApiClient, root: string, selection: string, more: Record<string, string> = {}) {
  const { ids } = fixture
  const known = {
    accountId: ids.account_id,
    issuerId: ids.issuer_id,
    orgId: ids.org_id,
    userId: ids.user_id,
    groupId: ids.group_id,
    ...more,
  }
  const { data } = await typesOf()
  const field = data.__schema.queryType.fields.find(({ name }: AnyJson) => name === root)
  const args = field.args.flatMap(({ name, type }: AnyJson) =>
    type.kind === 'NON_NULL' ? [`${name}: ${JSON.stringify(known[name as keyof typeof known])}`] : [],
  )
  const { body } = await api.graphql(`{ ${root}${args.length > 0 ? `(${args})` : ''} { data { ${selection} } } }`)
  return body
}

let types: Promise<AnyJson> | undefined
function typesOf(): Promise<AnyJson> {
  const type = 'type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }'
  types ??= fixture.owner
    .graphql(
      `{ __schema { queryType { fields { name args { name ${type} } } } types { kind name fields { name ${type} } } } }`,
    )
    .then(({ body }) => body)
  return types
}

const selectionOf = (field: string) =>
  ['user', 'organization', 'issuer', 'client', 'session'].includes(field)
    ? `${field} { id }`
    : `${field}(limit: 50) { data { id } }`

test('every field that returns related resources is in the table', async () => {
  const { data } = await typesOf()
  const innermost = (type: AnyJson): AnyJson => (type.ofType ? innermost(type.ofType) : type)
  const all: AnyJson[] = data.__schema.types
  const resourceTypes = new Set(
    all
      .filter(({ fields }) => fields?.some(({ name }: AnyJson) => name === 'id' || name === 'data'))
      .map(({ name }) => name),
  )
  const found = all
    .filter(({ kind, name }) => kind === 'OBJECT' && !['Query', 'Mutation', 'Subscription'].includes(name))
    .flatMap(({ name, fields }) =>
      fields
        .filter((field: AnyJson) => field.name !== 'data' && resourceTypes.has(innermost(field.type).name))
        .map((field: AnyJson) => `${name}.${field.name}`),
    )
  expect(found.sort()).toEqual([...named.map(([name]) => name), ...Object.keys(exempt)].sort())
})

test.each(named)(
  '%s requires the scopes of its parent and of its REST list, and no other',
  async (_, parent, field, scope) => {
    const [root, own] = parents[parent]
    const enough = await createRestrictedKey(fixture, { scopes: [own, scope] })
    const response = await list(enough, root, `id ${selectionOf(field)}`)
    expect(response.errors).toBeUndefined()
    expect(response.data[root].data.length).toBeGreaterThan(0)
    if (own === scope) return
    const short = await createRestrictedKey(fixture, { scopes: everything.filter((other) => other !== scope) })
    const [error] = (await list(short, root, `id ${selectionOf(field)}`)).errors
    expect(error).toMatchObject({
      message: `This requires the scope ${scope}.`,
      extensions: { code: 'INSUFFICIENT_SCOPE', status: 403 },
    })
  },
)

test.each(named)('%s needs a fixed number of statements for all parents', async (_, parent, field) => {
  const [root] = parents[parent]
  // The newest events are about API keys, because the other tests create them.
  if (parent === 'Event') {
    const { I, ids, owner } = fixture
    expectStatus(await owner.patch(`${I}/clients/${ids.client_id}`, { description: uniqueName('d') }), 200)
    expectStatus(await owner.post(`${I}/sessions/${ids.session_id}/suspend`, { reason: 'other' }), 200)
    expectStatus(await owner.post(`${I}/sessions/${ids.session_id}/reactivate`), 200)
  }
  const api = parent === 'Account' ? app.operator : fixture.owner
  const count = async (selection: string) => {
    const { pool } = app.gatehouse.database
    const sent: string[] = []
    const query = pool.query
    Object.assign(pool, {
      query: (...given: AnyJson[]) => {
        const text = given[0].text ?? given[0]
        // Ignores the notifications of earlier changes, which may be sent at the same time.
        if (!text.includes('pg_notify')) sent.push(text)
        return (query as AnyJson).apply(pool, given)
      },
    })
    const body = await list(api, root, selection)
    Object.assign(pool, { query })
    expect(body.errors).toBeUndefined()
    expect(body.data[root].data.length).toBeGreaterThan(parent === 'OrganizationGroup' ? 0 : 1)
    return sent
  }
  const without = await count('id')
  const [texts, more] = [await count(`id ${selectionOf(field)}`), statementCounts.get(`${parent}.${field}`) ?? 1]
  expect({ more: texts.length - without.length, texts }).toEqual({ more, texts })
})

/** Number of statements of a relation, if not one: a query for ids, then a query for the rows with their relations. */
const statementCounts = new Map([
  ['Account.notes', 2],
  ['Organization.apiKeys', 2],
  ['OrganizationGroup.members', 2],
])

test.each(named.filter(([, , , , restList]) => restList !== null))(
  '%s returns the rows of its list',
  async (_, parent, field, __, restList) => {
    const { data } = await list(fixture.owner, parents[parent][0], `id ${selectionOf(field)}`)
    const rows: AnyJson[] = data[parents[parent][0]].data
    const filled = rows.filter((row) => row[field].data.length > 0)
    expect(filled.length).toBeGreaterThan(0)
    const idArgument = { Account: 'accountId', Issuer: 'issuerId', Organization: 'orgId' }[parent as string]
    const name = idArgument ?? `${parent === 'OrganizationGroup' ? 'group' : parent.toLowerCase()}Id`
    for (const row of rows) {
      const same = await list(fixture.owner, restList!, 'id', { [name]: row.id })
      expect(row[field]).toEqual({ data: same.data[restList!].data })
    }
  },
)
