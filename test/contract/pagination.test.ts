/** Lists (docs/contract.md#limits, docs/contract.md#pagination): limit, cursor and order of every list. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createAccount, expectStatus } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { createTenantFixture, PASSWORD, publicClient, requestBodies, type TenantFixture } from './tenant-fixture.js'

let app: TestApp
let fixture: TenantFixture
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
})
afterAll(() => app.close())

interface List {
  path(): string
  add(): Promise<unknown>
  as(): ApiClient
  foreign: string
}
const post = (path: () => string, body: () => object) => async () =>
  expectStatus(await fixture.owner.post(path(), body()), 201)
const own = () => fixture.owner
const below = () => `${fixture.I}/organizations/${fixture.ids.org_id}`
const verifiers = () => `${fixture.I}/users/${fixture.ids.user_id}/verifiers`

const lists: [string, List][] = [
  ['accounts', { path: () => '/v1/accounts', add: () => createAccount(app), as: () => app.operator, foreign: 'iss' }],
  [
    'issuers',
    {
      path: () => `${fixture.A}/issuers`,
      add: post(() => `${fixture.A}/issuers`, requestBodies['createIssuer']!),
      as: own,
      foreign: 'acc',
    },
  ],
  [
    'auth methods',
    {
      path: () => `${fixture.I}/auth-methods`,
      add: post(() => `${fixture.I}/auth-methods`, requestBodies['createAuthMethod']!),
      as: own,
      foreign: 'iss',
    },
  ],
  [
    'clients',
    {
      path: () => `${fixture.I}/clients`,
      add: post(() => `${fixture.I}/clients`, publicClient),
      as: own,
      foreign: 'usr',
    },
  ],
  [
    'users',
    {
      path: () => `${fixture.I}/users`,
      add: post(() => `${fixture.I}/users`, requestBodies['createUser']!),
      as: own,
      foreign: 'cli',
    },
  ],
  [
    'verifiers',
    {
      path: verifiers,
      add: post(verifiers, () => ({
        type: 'temporary_password',
        name: 'T',
        password: PASSWORD,
        expires_at: app.clock.now() + 60_000,
      })),
      as: own,
      foreign: 'usr',
    },
  ],
  [
    'organizations',
    {
      path: () => `${fixture.I}/organizations`,
      add: post(() => `${fixture.I}/organizations`, requestBodies['createOrganization']!),
      as: own,
      foreign: 'usr',
    },
  ],
  [
    'groups',
    {
      path: () => `${below()}/groups`,
      add: post(() => `${below()}/groups`, requestBodies['createOrganizationGroup']!),
      as: own,
      foreign: 'org',
    },
  ],
  [
    'invitations',
    {
      path: () => `${below()}/invitations`,
      add: post(() => `${below()}/invitations`, requestBodies['createOrganizationInvitation']!),
      as: own,
      foreign: 'org',
    },
  ],
  [
    'API keys of an organization',
    {
      path: () => `${below()}/api-keys`,
      add: post(() => `${below()}/api-keys`, requestBodies['createOrganizationApiKey']!),
      as: own,
      foreign: 'org',
    },
  ],
  [
    'API keys',
    {
      path: () => `${fixture.A}/api-keys`,
      add: post(() => `${fixture.A}/api-keys`, requestBodies['createApiKey']!),
      as: own,
      foreign: 'cli',
    },
  ],
]

describe.each(lists)('%s', (_, { path, add, as, foreign }) => {
  const get = (query = '') => as().get(`${path()}${query}`)

  test('paging by cursor returns each row once, newest first, while rows are added', async () => {
    for (let i = 0; i < 6; i++) await add()
    const before = expectStatus(await get('?limit=100'), 200).data.map(({ id }: AnyJson) => id)
    expect(before).toEqual([...before].sort().reverse())
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: AnyJson = expectStatus(await get(`?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`), 200)
      expect(page.data.length).toBeLessThanOrEqual(2)
      expect(page.has_more).toBe(page.next_cursor !== null)
      expect(Object.keys(page).sort()).toEqual(['data', 'has_more', 'next_cursor'])
      seen.push(...page.data.map(({ id }: AnyJson) => id))
      cursor = page.next_cursor
      if (seen.length < 5) await add()
    } while (cursor !== null)
    expect(seen).toEqual(before)
  })

  test('a page that the last rows fill exactly is the last page', async () => {
    const all = expectStatus(await get('?limit=100'), 200).data
    const page = expectStatus(await get(`?limit=${all.length}`), 200)
    expect({ count: page.data.length, next: page.next_cursor, more: page.has_more }).toEqual({
      count: all.length,
      next: null,
      more: false,
    })
    const past = expectStatus(await get(`?cursor=${all.at(-1).id}`), 200)
    expect(past).toEqual({ data: [], next_cursor: null, has_more: false })
  })

  test('limit is 1 to 100; other values are refused, not clamped', async () => {
    for (const limit of ['1', '100']) expect((await get(`?limit=${limit}`)).status).toBe(200)
    for (const limit of [
      '0',
      '-1',
      '101',
      '1.5',
      '1e1',
      '0x10',
      '',
      ' 5',
      '５',
      'abc',
      '99999999999999999999',
      'null',
      'NaN',
      '+5',
    ]) {
      const response = await get(`?limit=${encodeURIComponent(limit)}`)
      expect({ limit, status: response.status, field: response.body.details?.[0].field }).toEqual({
        limit,
        status: 400,
        field: 'limit',
      })
    }
  })

  test('a cursor that this list never returned is 400', async () => {
    for (const cursor of [
      '',
      'x',
      '0',
      `${foreign}_${'0'.repeat(26)}`,
      `${fixture.ids.client_id}x`,
      "' OR 1=1 --",
      '../..',
    ]) {
      const response = await get(`?cursor=${encodeURIComponent(cursor)}`)
      expect({ cursor, status: response.status, field: response.body.details?.[0].field }).toEqual({
        cursor,
        status: 400,
        field: 'cursor',
      })
    }
  })
})

test('the default page size is 50', async () => {
  await Promise.all(Array.from({ length: 52 }, () => fixture.owner.post(`${fixture.I}/clients`, publicClient())))
  const page = expectStatus(await fixture.owner.get(`${fixture.I}/clients`), 200)
  expect({ count: page.data.length, more: page.has_more }).toEqual({ count: 50, more: true })
})

test('lists of a missing parent are 404, empty lists of an existing parent are 200', async () => {
  const none = '0'.repeat(26)
  for (const path of [
    `/v1/accounts/acc_${none}/issuers`,
    `/v1/accounts/acc_${none}/api-keys`,
    `${fixture.A}/issuers/iss_${none}/clients`,
    `${fixture.A}/issuers/iss_${none}/users`,
    `${fixture.A}/issuers/iss_${none}/auth-methods`,
    `${fixture.I}/users/usr_${none}/verifiers`,
  ]) {
    for (const api of [fixture.owner, app.operator])
      expect({ path, status: (await api.get(path)).status }).toEqual({ path, status: 404 })
  }
  const empty = expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name: 'Empty' }), 201).data.id
  for (const list of ['clients', 'users', 'auth-methods']) {
    expect(expectStatus(await fixture.owner.get(`${fixture.A}/issuers/${empty}/${list}`), 200)).toEqual({
      data: [],
      next_cursor: null,
      has_more: false,
    })
  }
})

test('a cursor gives no access to another tenant', async () => {
  const other = await createTenantFixture(app, 'Other')
  const { data } = expectStatus(await other.owner.get(`${other.I}/clients`), 200)
  const page = expectStatus(await fixture.owner.get(`${fixture.I}/clients?cursor=${data[0].id}&limit=100`), 200)
  for (const { account_id } of page.data) expect(account_id).toBe(fixture.accountId)
})

test('GraphQL lists have the same pages', async () => {
  const query =
    'query ($a: ID!, $i: ID!, $n: Int, $c: String) { clients(accountId: $a, issuerId: $i, limit: $n, cursor: $c) { data { id } nextCursor hasMore } }'
  const ask = async (n: number | null, c: string | null) =>
    (await fixture.owner.graphql(query, { a: fixture.accountId, i: fixture.issuerId, n, c })).body
  const first = await ask(3, null)
  const rest = expectStatus(await fixture.owner.get(`${fixture.I}/clients?limit=3`), 200)
  expect(first.data.clients).toEqual({
    data: rest.data.map(({ id }: AnyJson) => ({ id })),
    nextCursor: rest.next_cursor,
    hasMore: true,
  })
  expect((await ask(3, first.data.clients.nextCursor)).data.clients.data).toHaveLength(3)
  for (const [n, c] of [
    [0, null],
    [101, null],
    [1, 'x'],
  ] as const)
    expect((await ask(n, c)).errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
  const relation = await fixture.owner.graphql(
    'query ($a: ID!) { account(accountId: $a) { issuers(limit: 0) { data { id } } } }',
    { a: fixture.accountId },
  )
  expect(relation.body.errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
})
