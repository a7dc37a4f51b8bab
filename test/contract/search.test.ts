/** Search in lists by the prefix of a name, through GraphQL (docs/decisions/0041). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { publicClient, uniqueName } from './tenant-fixture.js'

let app: TestApp
let tenant: Tenant
let other: Tenant
let operator: ApiClient
const orgs: Record<string, string> = {}
const groups: Record<string, string> = {}
const firstKey = { id: `ak_${'1'.repeat(26)}`, secret: 'y'.repeat(40) }

const create = async ({ owner }: Tenant, path: string, body: object): Promise<string> =>
  expectStatus(await owner.post(path, body), 201).data.id

beforeAll(async () => {
  app = await startApp({ roles: ['core'], env: { BOOTSTRAP_API_KEY: `${firstKey.id}:${firstKey.secret}` } })
  operator = createApiClient(app.baseUrl, firstKey)
  tenant = await createTenant(app)
  other = await createTenant(app, 'Other')
  for (const one of [tenant, other]) {
    const orgId = await create(one, `${one.I}/organizations`, { name: uniqueName('Org'), invitation_enabled: true })
    orgs[one.issuerId] = orgId
    groups[one.issuerId] = await create(one, `${one.I}/organizations/${orgId}/groups`, { name: uniqueName('Group') })
  }
})
afterAll(() => app.close())

interface Searched {
  /** The table whose index the search reads. */
  table: string
  /**
   * Creates a resource with this name.
   * @returns its id
   */
  add(one: Tenant, name: string): Promise<string>
  /** Returns the GraphQL arguments that select the list, for example `accountId: "acc_x"`. */
  place(one: Tenant): string
  /** The field of a row that the test selects besides `id`. */
  field: string
  /** Returns the name of a resource for a word; by default the word. */
  nameOf?: (word: string) => string
  /** The caller; by default the owner of the tenant. */
  as?: () => ApiClient
}

const inIssuer = ({ accountId, issuerId }: Tenant) => `accountId: "${accountId}", issuerId: "${issuerId}"`
const inOrg = (one: Tenant) => `${inIssuer(one)}, orgId: "${orgs[one.issuerId]}"`
const O = (one: Tenant) => `${one.I}/organizations/${orgs[one.issuerId]}`
const person = (one: Tenant, name: string, more: object = {}) =>
  create(one, `${one.I}/users`, { username_type: 'unique', username: uniqueName('person'), profile: { name }, ...more })

const named: Record<string, Searched> = {
  issuers: {
    table: 'issuers',
    add: (one, name) => create(one, `${one.A}/issuers`, { name }),
    place: ({ accountId }) => `accountId: "${accountId}"`,
    field: 'name',
  },
  clients: {
    table: 'clients',
    add: (one, name) => create(one, `${one.I}/clients`, publicClient({ name })),
    place: inIssuer,
    field: 'name',
  },
  organizations: {
    table: 'organizations',
    add: (one, name) => create(one, `${one.I}/organizations`, { name }),
    place: inIssuer,
    field: 'name',
  },
  agents: {
    table: 'agents',
    add: (one, name) => create(one, `${one.I}/agents`, { name }),
    place: inIssuer,
    field: 'name',
  },
  organizationGroups: {
    table: 'organization_groups',
    add: (one, name) => create(one, `${O(one)}/groups`, { name }),
    place: inOrg,
    field: 'name',
  },
  organizationInvitations: {
    table: 'organization_invitations',
    add: (one, email) => create(one, `${O(one)}/invitations`, { email }),
    place: inOrg,
    field: 'email',
    nameOf: (word) => `${word.replaceAll(' ', 'z')}@example.com`,
  },
  notes: {
    table: 'notes',
    add: (one, content) => create(one, `${one.A}/notes`, { subject_type: 'issuer', subject_id: one.issuerId, content }),
    place: ({ accountId }) => `accountId: "${accountId}"`,
    field: 'content',
  },
  accounts: {
    table: 'accounts',
    async add(_, name) {
      const query = 'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } } }'
      return (await operator.graphql(query, { input: { name } })).body.data.createAccount.account.id
    },
    place: () => '',
    field: 'name',
    as: () => operator,
  },
}

/** Lists of users and members. Their search results have the order of the list, not the order of the names. */
const byUser: Record<string, Searched> = {
  approvals: {
    table: 'users',
    add: (one, name) => person(one, name, { requires_approval: true }),
    place: inIssuer,
    field: 'profile',
  },
  organizationMembers: {
    table: 'organization_members',
    async add(one, name) {
      const id = await person(one, name)
      expectStatus(await one.owner.post(`${O(one)}/members`, { member_id: id }), 201)
      return id
    },
    place: inOrg,
    field: 'memberId',
  },
  organizationGroupMembers: {
    table: 'organization_members',
    async add(one, name) {
      const id = await person(one, name)
      expectStatus(await one.owner.post(`${O(one)}/members`, { member_id: id, groups: [groups[one.issuerId]] }), 201)
      return id
    },
    place: (one) => `${inOrg(one)}, groupId: "${groups[one.issuerId]}"`,
    field: 'memberId',
  },
}

async function searchList(
  list: string,
  { place, field, as }: Searched,
  one: Tenant,
  more: string,
  api?: ApiClient,
): Promise<AnyJson> {
  const args = [place(one), more].filter(Boolean).join(', ')
  const { body } = await (api ?? as?.() ?? one.owner).graphql(
    `{ ${list}(${args}) { data { id ${field} } nextCursor hasMore } }`,
  )
  return body
}

describe('the search finds prefixes in any case, ordered by name, page by page', () => {
  test.each(Object.entries(named))('%s', async (list, searched) => {
    const { add, nameOf = (text: string) => text, field } = searched
    const word = uniqueName('needle').replaceAll('-', '')
    const names = [`${word} Beta`, `${word.toUpperCase()} alpha`, `${word} alpha two`, `not ${word}`].map(nameOf)
    const ids: string[] = []
    for (const name of names) ids.push(await add(tenant, name))
    if (list !== 'accounts') await add(other, nameOf(`${word} of others`))
    const wanted = [names[1], names[2], names[0]]
    const whole = await searchList(list, searched, tenant, `search: "${word.toUpperCase()}"`)
    expect(whole.errors).toBeUndefined()
    expect(whole.data[list].data.map((item: AnyJson) => item[field])).toEqual(wanted)
    expect(whole.data[list]).toMatchObject({ hasMore: false, nextCursor: null })
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const from: string = cursor && `, cursor: "${cursor}"`
      const { data } = await searchList(list, searched, tenant, `search: "${word}", limit: 1${from}`)
      seen.push(...data[list].data.map((item: AnyJson) => item[field]))
      cursor = data[list].nextCursor
    }
    expect(seen).toEqual(wanted)
    const byId = await searchList(list, searched, tenant, `search: "${ids[3]}"`)
    expect(byId.data[list].data.map(({ id }: AnyJson) => id)).toEqual([ids[3]])
  })
})

describe('approvals and members are found by the name, username or email of the user, in the order of their lists', () => {
  test.each(Object.entries(byUser))('%s', async (list, searched) => {
    const word = uniqueName('needle').replaceAll('-', '')
    const ids: string[] = []
    for (const name of [`${word} One`, `${word.toUpperCase()} Two`, `not ${word}`])
      ids.push(await searched.add(tenant, name))
    await searched.add(other, `${word} of others`)
    await person(tenant, `${word} who is neither waiting nor a member`)
    const wanted = list === 'approvals' ? [ids[0], ids[1]] : [ids[1], ids[0]]
    const idOf = (item: AnyJson) => (searched.field === 'memberId' ? item.memberId : item.id)
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const from: string = cursor && `, cursor: "${cursor}"`
      const { data } = await searchList(list, searched, tenant, `search: "${word}", limit: 1${from}`)
      seen.push(...data[list].data.map(idOf))
      cursor = data[list].nextCursor
    }
    expect(seen).toEqual(wanted)
  })
})

describe('wildcards are literal, and a cursor of another list is refused', () => {
  test.each(Object.entries({ ...named, ...byUser }))('%s', async (list, searched) => {
    for (const text of ['%', '_', '\\\\', `%needle`]) {
      const { data } = await searchList(list, searched, tenant, `search: "${text}"`)
      expect({ text, found: data[list].data }).toEqual({ text, found: [] })
    }
    const strange = [`["a"]`, `["a",1]`, `["a","${tenant.accountId}","more"]`, 'nonsense'].map((text) =>
      Buffer.from(text).toString('base64url'),
    )
    for (const cursor of ['x', ...strange]) {
      const { errors } = await searchList(list, searched, tenant, `search: "a", cursor: "${cursor}"`)
      expect(errors?.[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
    }
  })
})

test('a search combines with the other filters', async () => {
  const word = uniqueName('needle')
  const [one, two] = [
    await named['clients']!.add(tenant, `${word} 1`),
    await named['clients']!.add(tenant, `${word} 2`),
  ]
  expectStatus(await tenant.owner.patch(`${tenant.I}/clients/${one}`, { status: 'disabled' }, { 'if-match': '*' }), 200)
  const found = async (more: string) =>
    (await searchList('clients', named['clients']!, tenant, `search: "${word}", ${more}`)).data.clients.data.map(
      ({ id }: AnyJson) => id,
    )
  expect(await found('status: disabled')).toEqual([one])
  expect(await found('status: active')).toEqual([two])
  expectStatus(await tenant.owner.delete(`${tenant.I}/clients/${two}`, { 'if-match': '*' }), 204)
  expect(await found('limit: 5')).toEqual([one])
  expect(await found('status: deleted')).toEqual([two])
})

test('a note is found by the first words after Markdown at the start of its text, and together with every other filter', async () => {
  const word = uniqueName('needle')
  const user = `usr_${'1'.repeat(26)}`
  const add = async (content: string, more: object = {}): Promise<string> => {
    const about = { subject_type: 'issuer', subject_id: tenant.issuerId }
    return create(tenant, `${tenant.A}/notes`, { ...about, content, ...more })
  }
  const heading = await add(`## ${word} heading`, { pinned: true })
  const mention = await add(`@[${word} user](${user}) should know`)
  const item = await add(`- ${word} item`)
  const found = async (more: string, sought = word) =>
    (await searchList('notes', named['notes']!, tenant, `search: "${sought}", ${more}`)).data.notes.data.map(
      ({ id }: AnyJson) => id,
    )
  // The search matches the stored Markdown and the displayed text.
  for (const sought of [word, `## ${word}`, `@${word}`, `- ${word}`.toUpperCase()])
    expect(await found('limit: 5', sought)).toEqual([heading, item, mention])
  expect(await found('pinned: true')).toEqual([heading])
  expect(await found(`mentionsUserId: "${user}", limit: 1`)).toEqual([mention])
  expect(await found(`subjectType: issuer, subjectId: "${tenant.issuerId}"`)).toHaveLength(3)
  expect(await found('subjectType: user')).toEqual([])
})

test('a search of members combines with a scope: each page but the last is full', async () => {
  const word = uniqueName('mill').replace(/\W/g, '')
  const { owner } = tenant
  const groupId = await create(tenant, `${O(tenant)}/groups`, { name: uniqueName('Group'), scopes: ['mill:grind'] })
  const ids: string[] = []
  for (const [at, more] of [
    { scopes: ['mill:grind'] },
    { groups: [groupId] },
    { scopes: ['mill:other'] },
    { scopes: ['mill:grind'], status: 'suspended' },
    {},
  ].entries()) {
    const id = await person(tenant, `${word} ${at}`)
    const { status, ...body } = more as { status?: string }
    expectStatus(await owner.post(`${O(tenant)}/members`, { member_id: id, ...body }), 201)
    if (status) expectStatus(await owner.patch(`${O(tenant)}/members/${id}`, { status }), 200)
    ids.push(id)
  }
  const page = async (more: string) =>
    (await searchList('organizationMembers', byUser['organizationMembers']!, tenant, `search: "${word}", ${more}`)).data
      .organizationMembers
  const memberIds = ({ data }: AnyJson) => data.map(({ memberId }: AnyJson) => memberId)
  const first = await page('scope: "mill:grind", limit: 1')
  expect([memberIds(first), first.hasMore]).toEqual([[ids[1]], true])
  const second = await page(`scope: "mill:grind", limit: 1, cursor: "${first.nextCursor}"`)
  expect([memberIds(second), second.hasMore]).toEqual([[ids[0]], false])
  expect(memberIds(await page('scope: "mill:grind", status: suspended'))).toEqual([])
  expectStatus(await owner.patch(O(tenant), { default_member_scopes: ['mill:grind'] }), 200)
  expect(memberIds(await page('scope: "mill:grind"'))).toEqual([ids[4], ids[2], ids[1], ids[0]])
  expectStatus(await owner.patch(O(tenant), { default_member_scopes: [] }), 200)
})

test('searching members requires access to users, because results reveal their names', async () => {
  const stem = 'issuers.organizations'
  const blind = await createRestrictedKey(tenant, { scopes: [`${stem}.members:read`, `${stem}.groups:read`] })
  for (const list of ['organizationMembers', 'organizationGroupMembers']) {
    expect((await searchList(list, byUser[list]!, tenant, 'limit: 1', blind)).errors).toBeUndefined()
    const { errors } = await searchList(list, byUser[list]!, tenant, 'search: "a"', blind)
    expect(errors?.[0].extensions).toMatchObject({ code: 'INSUFFICIENT_SCOPE', status: 403 })
  }
})

test('accounts that the caller cannot access are not found', async () => {
  const word = uniqueName('needle')
  await named['accounts']!.add(tenant, word)
  const { data } = await searchList('accounts', named['accounts']!, tenant, `search: "${word}"`, tenant.owner)
  expect(data.accounts.data).toEqual([])
})

describe('a result page is a range of one index without a sort', () => {
  test.each(Object.entries(named))('%s', async (list, searched) => {
    const sent: [string, unknown[]][] = []
    const query = pg.Client.prototype.query
    pg.Client.prototype.query = function (this: pg.Client, ...given: AnyJson[]) {
      const text: string = given[0]?.text ?? given[0]
      if (text.includes('chr(1114111)')) sent.push([text, given[0].values ?? given[1] ?? []])
      return (query as AnyJson).apply(this, given)
    } as typeof query
    const cursor = Buffer.from(JSON.stringify(['nee', `${idPrefix[list]}_${'0'.repeat(26)}`])).toString('base64url')
    try {
      await searchList(list, searched, tenant, `search: "nee", cursor: "${cursor}"`)
    } finally {
      pg.Client.prototype.query = query
    }
    expect(sent).toHaveLength(1)
    const client = await app.gatehouse.database.pool.connect()
    try {
      // Without these settings, PostgreSQL would scan and sort a table of this size.
      await client.query('SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off')
      const { rows } = await client.query(`EXPLAIN ${sent[0]![0]}`, sent[0]![1])
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      expect(plan).toMatch(new RegExp(`Index.* using ${searched.table}_by_(name|email|text) on`))
      expect(plan).not.toContain('Sort')
      // The index condition contains the lower bound, the upper bound and the cursor.
      expect(/Index Cond: .*/.exec(plan)?.[0]).toMatch(/>= .*< .*ROW\(/)
    } finally {
      client.release(true)
    }
  })
})

const idPrefix: Record<string, string> = {
  issuers: 'iss',
  clients: 'cli',
  organizations: 'org',
  agents: 'agt',
  organizationGroups: 'grp',
  organizationInvitations: 'inv',
  notes: 'note',
  accounts: 'acc',
}
