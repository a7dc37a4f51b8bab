/**
 * Reading the audit log (docs/contract.md#event-endpoints, docs/contract.md#event-records): the record, filters, pages
 * and access.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { system } from '../../src/kernel/context.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { transaction } from '../../src/platform/postgres/transaction.js'
import { recordEvent } from '../../src/resources/events/record-event.js'
import { recordEventsOfUsers } from '../../src/resources/events/record-user-events.js'
import { createAccount, createRestrictedKey, expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { confidentialClient, createTenantFixture, type TenantFixture, uniqueName } from './tenant-fixture.js'

let app: TestApp
let fixture: TenantFixture
let theirs: TenantFixture
let list: (query?: AnyJson, api?: ApiClient) => Promise<AnyJson>
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  theirs = await createTenantFixture(app)
  list = async (query = {}, api = fixture.owner) =>
    expectStatus(await api.get(`${fixture.A}/events?${new URLSearchParams(query)}`), 200)
})
afterAll(() => app.close())

const user = async () =>
  expectStatus(
    await fixture.owner.post(`${fixture.I}/users`, { username_type: 'unique', username: uniqueName('u') }),
    201,
  ).data

/** Reads all events that match a filter, page by page. */
async function all(query: AnyJson = {}): Promise<AnyJson[]> {
  const found: AnyJson[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await list({ limit: 100, ...query, ...(cursor !== '' && { cursor }) })
    found.push(...page.data)
    cursor = page.next_cursor
  }
  return found
}

test('an event has the documented record shape in lists, alone and in GraphQL', async () => {
  const { id } = await user()
  const sent = { 'user-agent': 'Script/2' }
  expectStatus(await fixture.owner.patch(`${fixture.I}/users/${id}`, { profile: { name: 'N' } }, sent), 200)
  const [event] = (await list({ user_id: id, limit: 1 })).data
  const [keyId] = Buffer.from(fixture.owner.authorization!.slice(6), 'base64').toString().split(':')
  expect(event).toEqual({
    id: expect.stringMatching(/^evt_[0-9a-z]{26}$/),
    type: 'user.updated',
    created_at: expect.any(Number),
    updated_at: event.created_at,
    account_id: fixture.accountId,
    issuer_id: fixture.issuerId,
    org_id: null,
    user_id: id,
    client_id: null,
    agent_id: null,
    session_id: null,
    auth_type: 'api_key',
    actor: { type: 'api_key', id: keyId, name: 'First key', operator: false },
    target: { type: 'user', id },
    context: {
      ip_address: '127.0.0.1',
      user_agent: 'Script/2',
      request_id: expect.stringMatching(/^req_/),
      method: 'PATCH',
      path: `${fixture.I}/users/${id}`,
    },
    data: {},
    changes: { profile: { old: {}, new: { name: 'N' } } },
  })
  const one = await fixture.owner.get(`${fixture.A}/events/${event.id}`)
  expect(expectStatus(one, 200)).toEqual({ data: event })
  expect(one.headers.get('etag')).toBe(`"${event.created_at}"`)
  const query =
    'query ($a: ID!, $e: ID!) { event(accountId: $a, eventId: $e) { id updatedAt actor { operator } data } }'
  expect((await fixture.owner.graphql(query, { a: fixture.accountId, e: event.id })).body.data.event).toEqual({
    id: event.id,
    updatedAt: event.created_at,
    actor: { operator: false },
    data: {},
  })
})

test('an event that does not exist or belongs to another tenant is 404', async () => {
  const [event] = expectStatus(await theirs.owner.get(`${theirs.A}/events?limit=1`), 200).data
  for (const id of [
    event.id,
    `evt_${'0'.repeat(26)}`,
    `evt_${'7'.repeat(26)}`,
    'evt_',
    'x',
    fixture.ids.user_id,
    '..%2f',
  ])
    expect({ id, status: (await fixture.owner.get(`${fixture.A}/events/${id}`)).status }).toEqual({ id, status: 404 })
  expect((await fixture.owner.get(`${theirs.A}/events`)).status).toBe(404)
  expect((await app.operator.get(`/v1/accounts/acc_${'0'.repeat(26)}/events`)).status).toBe(404)
})

describe('filters', () => {
  const names = ['issuer_id', 'user_id', 'client_id'] as const

  test.each(names)('%s returns exactly the matching events', async (name) => {
    const every = await all()
    for (const value of [fixture.ids[name], theirs.ids[name], 'nothing']) {
      const found = (await all({ [name]: value })).map(({ id }) => id)
      expect(found).toEqual(every.filter((event) => event[name] === value).map(({ id }) => id))
      expect(found.length > 0).toBe(value === fixture.ids[name])
    }
  })

  test('event_types accepts several types and combines with the other filters', async () => {
    const every = await all()
    const types = ['user.created', 'client.created', 'agent.created', 'user.created', 'note.deleted']
    expect(await all({ event_types: types.join(',') })).toEqual(every.filter(({ type }) => types.includes(type)))
    expect(await all({ event_types: 'user.created' })).toEqual(every.filter(({ type }) => type === 'user.created'))
    for (const name of names) {
      const query = { [name]: fixture.ids[name], event_types: types.join(','), issuer_id: fixture.issuerId }
      expect(await all(query)).toEqual(
        every.filter((event) => event[name] === fixture.ids[name] && types.includes(event.type)),
      )
    }
    expect(await all({ user_id: fixture.ids.user_id, client_id: fixture.ids.client_id })).toEqual([])
  })

  test('after is inclusive, before is exclusive', async () => {
    const every = await all()
    const middle = every[Math.floor(every.length / 2)]!.created_at
    const [late, early] = [await all({ after: middle }), await all({ before: middle })]
    expect(late.every(({ created_at }) => created_at >= middle)).toBe(true)
    expect(late.length).toBeGreaterThan(0)
    expect([...late, ...early]).toEqual(every)
    expect(await all({ after: middle, before: middle + 1, event_types: late.at(-1)!.type })).toContainEqual(late.at(-1))
    expect(await all({ after: middle, before: middle })).toEqual([])
    for (const far of [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 2 ** 48, 0]) {
      expect(await all({ after: far })).toEqual(far > 0 ? [] : every)
      expect(await all({ before: far })).toEqual(far > 0 ? every : [])
    }
  })

  test.each([
    [{ event_types: 'user.created,user.eaten' }, 'event_types[1]'],
    [{ event_types: 'constructor' }, 'event_types[0]'],
    [{ event_types: 'user.created,' }, 'event_types[1]'],
    [{ event_types: '' }, 'event_types'],
    [{ after: 'now' }, 'after'],
    [{ before: '1.5' }, 'before'],
    [{ org_id: 'x' }, 'org_id'],
    [{ cursor: 'x' }, 'cursor'],
    [{ cursor: `usr_${'0'.repeat(26)}` }, 'cursor'],
    [{ limit: '0' }, 'limit'],
    [{ limit: '101' }, 'limit'],
  ])('%j is 400', async (query, field) => {
    const response = await fixture.owner.get(`${fixture.A}/events?${new URLSearchParams(query as AnyJson)}`)
    expect(response.status).toBe(400)
    expect(response.body.details).toEqual([expect.objectContaining({ field })])
  })
})

test('paging by cursor returns each event once, newest first, while new events are recorded', async () => {
  const { owner, accountId } = await createAccount(app)
  const A = `/v1/accounts/${accountId}`
  const add = async () => expectStatus(await owner.patch(A, { description: uniqueName('d') }), 200)
  for (let i = 0; i < 6; i++) await add()
  for (const query of [
    '',
    '&event_types=account.updated,account.created',
    '&event_types=account.updated',
    '&after=0',
  ]) {
    const before = expectStatus(await owner.get(`${A}/events?limit=100${query}`), 200).data.map(({ id }: AnyJson) => id)
    expect(before).toEqual([...before].sort().reverse())
    const seen: string[] = []
    let cursor = ''
    do {
      const page: AnyJson = expectStatus(await owner.get(`${A}/events?limit=2${query}${cursor}`), 200)
      expect(page.has_more).toBe(page.next_cursor !== null)
      seen.push(...page.data.map(({ id }: AnyJson) => id))
      cursor = page.next_cursor ? `&cursor=${page.next_cursor}` : ''
      await add()
    } while (cursor !== '')
    expect(seen).toEqual(before)
  }
})

describe('access', () => {
  const paths = () => ['', '/aggregate', `/${fixture.ids.event_id}`].map((end) => `${fixture.A}/events${end}`)

  test('events:read is sufficient and necessary, and events cannot be written', async () => {
    const reader = await createRestrictedKey(fixture, { scopes: ['events:read'] })
    const other = await createRestrictedKey(fixture, { scopes: ['accounts:manage', 'issuers.users:manage'] })
    for (const path of paths()) {
      expect((await reader.get(path)).status).toBe(200)
      expect((await other.get(path)).body).toMatchObject({ error: 'insufficient_scope' })
      expect((await fixture.owner.post(path)).status).toBe(405)
      expect((await fixture.owner.delete(path)).status).toBe(405)
    }
  })

  test('an organization key cannot read the audit log of the account', async () => {
    const O = `${fixture.I}/organizations/${fixture.ids.org_id}`
    const response = await fixture.owner.post(`${O}/api-keys`, { type: 'api_key', name: 'org', restrictions: {} })
    const { id, secret_plain: secret } = expectStatus(response, 201).data
    const key = createApiClient(app.baseUrl, { id, secret })
    expect((await key.get(O)).status).toBe(200)
    for (const path of paths()) expect((await key.get(path)).status).toBe(404)
    const query = 'query ($a: ID!) { events(accountId: $a) { data { id } } }'
    expect((await key.graphql(query, { a: fixture.accountId })).body.errors[0].extensions.status).toBe(404)
  })

  test('relations return the newest events of a resource and require events:read as well', async () => {
    const query = `query ($a: ID!, $i: ID!, $u: ID!, $c: ID!) {
      account(accountId: $a) { events(limit: 2) { data { id } hasMore } }
      issuer(accountId: $a, issuerId: $i) { events(limit: 2) { data { id } } }
      user(accountId: $a, issuerId: $i, userId: $u) { events { data { id } } }
      client(accountId: $a, issuerId: $i, clientId: $c) { events { data { id } } }
    }`
    const variables = { a: fixture.accountId, i: fixture.issuerId, u: fixture.ids.user_id, c: fixture.ids.client_id }
    const { body } = await fixture.owner.graphql(query, variables)
    const ids = async (filter: AnyJson) => (await list(filter)).data.map(({ id }: AnyJson) => ({ id }))
    expect(body.errors).toBeUndefined()
    expect(body.data.account.events.data).toEqual(await ids({ limit: 2 }))
    expect(body.data.issuer.events.data).toEqual(await ids({ limit: 2, issuer_id: fixture.issuerId }))
    expect(body.data.user.events.data).toEqual(await ids({ user_id: fixture.ids.user_id }))
    expect(body.data.client.events.data).toEqual(await ids({ client_id: fixture.ids.client_id }))
    expect(body.data.client.events.data.length).toBeGreaterThan(0)
    const blind = await createRestrictedKey(fixture, {
      scopes: ['accounts:read', 'issuers:read', 'issuers.users:read', 'issuers.clients:read'],
    })
    const fields = query.split('\n').filter((line) => line.includes('events'))
    expect(fields).toHaveLength(4)
    for (const field of fields) {
      const used = Object.entries(variables).filter(([name]) => field.includes(`$${name}`))
      const declared = used.map(([name]) => `$${name}: ID!`).join(', ')
      const { body } = await blind.graphql(`query (${declared}) { ${field} }`, Object.fromEntries(used))
      expect(body.errors[0].extensions).toMatchObject({ code: 'INSUFFICIENT_SCOPE', status: 403 })
    }
  })
})

describe('`actor.operator`, recorded by `recordEvent` and by `recordEventsOfUsers`', () => {
  const principal = { ...system, type: 'api_key', authType: 'api_key', id: 'ak_one' } as const
  test.each([
    ['Gatehouse itself is not an operator', false, () => system],
    [
      'a principal of the system account in another account is an operator',
      true,
      () => ({ ...principal, accountId: 'acc_system' }),
    ],
    [
      'a principal of the system account in its own account is not an operator',
      false,
      () => ({ ...principal, accountId: fixture.accountId }),
    ],
  ])('%s', async (_, operator, actor) => {
    const { accountId, issuerId } = fixture
    const person = await user()
    await transaction({ ...systemContext(app.gatehouse), actor: actor() }, async (tx) => {
      const target = { type: 'user', id: person.id }
      await recordEvent(tx, 'user.updated', { accountId, issuerId, userId: person.id, target })
      await recordEventsOfUsers(tx, 'user.updated', { accountId, issuerId }, [{ userId: person.id, data: {} }])
    })
    const { data } = await list({ user_id: person.id, event_types: 'user.updated' })
    expect(data.map((event: AnyJson) => event.actor.operator)).toEqual([operator, operator])
    expect(data[0].actor).toEqual(data[1].actor)
    expect(data[0].context).toEqual(data[1].context)
  })
})

test('auth_type and actor identify the kind of caller', async () => {
  const settings = {
    openid: { application_type: 'm2m', grant_types: ['client_credentials'], allowed_resources: [app.baseUrl] },
    scopes: ['issuers.users:write'],
  }
  const client = expectStatus(
    await fixture.owner.post(`${fixture.I}/clients`, confidentialClient({ settings })),
    201,
  ).data
  const token = await fetch(`${app.idpUrl}/${fixture.issuerId}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: app.baseUrl }),
  }).then((response) => response.json() as AnyJson)
  const person = await user()
  expectStatus(await fixture.owner.patch(`${fixture.I}/users/${person.id}`, { scopes: ['issuers.users:write'] }), 200)
  const personal = expectStatus(
    await fixture.owner.post(`${fixture.I}/users/${person.id}/tokens`, {
      type: 'personal_token',
      name: 'script',
      restrictions: {},
    }),
    201,
  ).data
  const callers: [ApiClient, AnyJson][] = [
    [fixture.owner, { auth_type: 'api_key', actor: { type: 'api_key', operator: false } }],
    [app.operator, { auth_type: 'api_key', actor: { type: 'api_key', operator: true } }],
    [
      createApiClient(app.baseUrl, token.access_token),
      { auth_type: 'client', actor: { type: 'client', id: client.id } },
    ],
    [
      createApiClient(app.baseUrl, personal.token_plain),
      { auth_type: 'token', actor: { type: 'personal_token', id: personal.id, name: 'script' } },
    ],
  ]
  for (const [api, expected] of callers) {
    const { id } = await user()
    expectStatus(await api.patch(`${fixture.I}/users/${id}`, { metadata: { by: 'x' } }), 200)
    expect((await list({ user_id: id, limit: 1 })).data[0]).toMatchObject(expected)
  }
})
