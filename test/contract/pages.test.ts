/** Lists (spec section 8, decisions D1): limit, cursor, order, for every list there is. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { makeAccount, must } from '../setup/actors.js'
import type { Api, Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { bodies, makeWorld, PASSWORD, publicClient, type World } from './world.js'

let app: TestApp
let world: World
beforeAll(async () => {
  app = await startApp()
  world = await makeWorld(app)
})
afterAll(() => app.close())

interface List {
  path(): string
  add(): Promise<unknown>
  as(): Api
  foreign: string
}
const post = (path: () => string, body: () => object) => async () => must(await world.owner.post(path(), body()), 201)
const own = () => world.owner
const below = () => `${world.I}/organizations/${world.ids.org_id}`
const verifiers = () => `${world.I}/users/${world.ids.user_id}/verifiers`

const lists: [string, List][] = [
  ['accounts', { path: () => '/v1/accounts', add: () => makeAccount(app), as: () => app.operator, foreign: 'iss' }],
  [
    'issuers',
    {
      path: () => `${world.A}/issuers`,
      add: post(() => `${world.A}/issuers`, bodies['createIssuer']!),
      as: own,
      foreign: 'acc',
    },
  ],
  [
    'auth methods',
    {
      path: () => `${world.I}/auth-methods`,
      add: post(() => `${world.I}/auth-methods`, bodies['createAuthMethod']!),
      as: own,
      foreign: 'iss',
    },
  ],
  [
    'clients',
    { path: () => `${world.I}/clients`, add: post(() => `${world.I}/clients`, publicClient), as: own, foreign: 'usr' },
  ],
  [
    'users',
    {
      path: () => `${world.I}/users`,
      add: post(() => `${world.I}/users`, bodies['createUser']!),
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
      path: () => `${world.I}/organizations`,
      add: post(() => `${world.I}/organizations`, bodies['createOrganization']!),
      as: own,
      foreign: 'usr',
    },
  ],
  [
    'groups',
    {
      path: () => `${below()}/groups`,
      add: post(() => `${below()}/groups`, bodies['createOrganizationGroup']!),
      as: own,
      foreign: 'org',
    },
  ],
  [
    'invitations',
    {
      path: () => `${below()}/invitations`,
      add: post(() => `${below()}/invitations`, bodies['createOrganizationInvitation']!),
      as: own,
      foreign: 'org',
    },
  ],
  [
    'API keys of an organization',
    {
      path: () => `${below()}/api-keys`,
      add: post(() => `${below()}/api-keys`, bodies['createOrganizationApiKey']!),
      as: own,
      foreign: 'org',
    },
  ],
  [
    'API keys',
    {
      path: () => `${world.A}/api-keys`,
      add: post(() => `${world.A}/api-keys`, bodies['createApiKey']!),
      as: own,
      foreign: 'cli',
    },
  ],
]

describe.each(lists)('%s', (_, { path, add, as, foreign }) => {
  const get = (query = '') => as().get(`${path()}${query}`)

  test('walking by cursor sees each row once, newest first, while others are added', async () => {
    for (let i = 0; i < 6; i++) await add()
    const before = must(await get('?limit=100'), 200).data.map(({ id }: Loose) => id)
    expect(before).toEqual([...before].sort().reverse())
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: Loose = must(await get(`?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`), 200)
      expect(page.data.length).toBeLessThanOrEqual(2)
      expect(page.has_more).toBe(page.next_cursor !== null)
      expect(Object.keys(page).sort()).toEqual(['data', 'has_more', 'next_cursor'])
      seen.push(...page.data.map(({ id }: Loose) => id))
      cursor = page.next_cursor
      if (seen.length < 5) await add()
    } while (cursor !== null)
    expect(seen).toEqual(before)
  })

  test('a page that the last rows just fill is the last one', async () => {
    const all = must(await get('?limit=100'), 200).data
    const page = must(await get(`?limit=${all.length}`), 200)
    expect({ count: page.data.length, next: page.next_cursor, more: page.has_more }).toEqual({
      count: all.length,
      next: null,
      more: false,
    })
    const past = must(await get(`?cursor=${all.at(-1).id}`), 200)
    expect(past).toEqual({ data: [], next_cursor: null, has_more: false })
  })

  test('limit is 1 to 100, without a silent clamp', async () => {
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
      const answer = await get(`?limit=${encodeURIComponent(limit)}`)
      expect({ limit, status: answer.status, field: answer.body.details?.[0].field }).toEqual({
        limit,
        status: 400,
        field: 'limit',
      })
    }
  })

  test('a cursor that this list never gave out is 400', async () => {
    for (const cursor of [
      '',
      'x',
      '0',
      `${foreign}_${'0'.repeat(26)}`,
      `${world.ids.client_id}x`,
      "' OR 1=1 --",
      '../..',
    ]) {
      const answer = await get(`?cursor=${encodeURIComponent(cursor)}`)
      expect({ cursor, status: answer.status, field: answer.body.details?.[0].field }).toEqual({
        cursor,
        status: 400,
        field: 'cursor',
      })
    }
  })
})

test('50 rows are a page when nobody says otherwise', async () => {
  await Promise.all(Array.from({ length: 52 }, () => world.owner.post(`${world.I}/clients`, publicClient())))
  const page = must(await world.owner.get(`${world.I}/clients`), 200)
  expect({ count: page.data.length, more: page.has_more }).toEqual({ count: 50, more: true })
})

test('lists of a parent that is not there are 404, empty lists of one that is are 200', async () => {
  const none = '0'.repeat(26)
  for (const path of [
    `/v1/accounts/acc_${none}/issuers`,
    `/v1/accounts/acc_${none}/api-keys`,
    `${world.A}/issuers/iss_${none}/clients`,
    `${world.A}/issuers/iss_${none}/users`,
    `${world.A}/issuers/iss_${none}/auth-methods`,
    `${world.I}/users/usr_${none}/verifiers`,
  ]) {
    for (const api of [world.owner, app.operator])
      expect({ path, status: (await api.get(path)).status }).toEqual({ path, status: 404 })
  }
  const empty = must(await world.owner.post(`${world.A}/issuers`, { name: 'Empty' }), 201).data.id
  for (const list of ['clients', 'users', 'auth-methods']) {
    expect(must(await world.owner.get(`${world.A}/issuers/${empty}/${list}`), 200)).toEqual({
      data: [],
      next_cursor: null,
      has_more: false,
    })
  }
})

test('a cursor leads into no other tenant', async () => {
  const other = await makeWorld(app, 'Other')
  const { data } = must(await other.owner.get(`${other.I}/clients`), 200)
  const page = must(await world.owner.get(`${world.I}/clients?cursor=${data[0].id}&limit=100`), 200)
  for (const { account_id } of page.data) expect(account_id).toBe(world.accountId)
})

test('GraphQL lists are the same pages', async () => {
  const query =
    'query ($a: ID!, $i: ID!, $n: Int, $c: String) { clients(accountId: $a, issuerId: $i, limit: $n, cursor: $c) { data { id } nextCursor hasMore } }'
  const ask = async (n: number | null, c: string | null) =>
    (await world.owner.graphql(query, { a: world.accountId, i: world.issuerId, n, c })).body
  const first = await ask(3, null)
  const rest = must(await world.owner.get(`${world.I}/clients?limit=3`), 200)
  expect(first.data.clients).toEqual({
    data: rest.data.map(({ id }: Loose) => ({ id })),
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
  const relation = await world.owner.graphql(
    'query ($a: ID!) { account(accountId: $a) { issuers(limit: 0) { data { id } } } }',
    { a: world.accountId },
  )
  expect(relation.body.errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
})
