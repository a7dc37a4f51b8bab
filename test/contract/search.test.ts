/**
 * Searching lists (docs/decisions/0050): by the beginning of a name, by GraphQL, page by page along one index.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { keyWith, makeTenant, must, type Tenant } from '../setup/actors.js'
import { type Api, apiAs, type Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { fresh, publicClient } from './world.js'

let app: TestApp
let tenant: Tenant
let other: Tenant
let operator: Api
const orgs: Record<string, string> = {}
const groups: Record<string, string> = {}
const firstKey = { id: `ak_${'1'.repeat(26)}`, secret: 'y'.repeat(40) }

const make = async ({ owner }: Tenant, path: string, body: object): Promise<string> =>
  must(await owner.post(path, body), 201).data.id

beforeAll(async () => {
  app = await startApp({ roles: ['core'], env: { BOOTSTRAP_API_KEY: `${firstKey.id}:${firstKey.secret}` } })
  operator = apiAs(app.baseUrl, firstKey)
  tenant = await makeTenant(app)
  other = await makeTenant(app, 'Other')
  for (const one of [tenant, other]) {
    const orgId = await make(one, `${one.I}/organizations`, { name: fresh('Org'), invitation_enabled: true })
    orgs[one.issuerId] = orgId
    groups[one.issuerId] = await make(one, `${one.I}/organizations/${orgId}/groups`, { name: fresh('Group') })
  }
})
afterAll(() => app.close())

interface Searched {
  table: string
  /** Makes one of this name. @returns its id */
  add(one: Tenant, name: string): Promise<string>
  /** Where it is listed, as GraphQL says it. */
  place(one: Tenant): string
  /** Of the item: what the search looks at. */
  field: string
  nameOf?: (word: string) => string
  as?: () => Api
}

const inIssuer = ({ accountId, issuerId }: Tenant) => `accountId: "${accountId}", issuerId: "${issuerId}"`
const inOrg = (one: Tenant) => `${inIssuer(one)}, orgId: "${orgs[one.issuerId]}"`
const O = (one: Tenant) => `${one.I}/organizations/${orgs[one.issuerId]}`
const person = (one: Tenant, name: string, more: object = {}) =>
  make(one, `${one.I}/users`, { username_type: 'unique', username: fresh('person'), profile: { name }, ...more })

const named: Record<string, Searched> = {
  issuers: {
    table: 'issuers',
    add: (one, name) => make(one, `${one.A}/issuers`, { name }),
    place: ({ accountId }) => `accountId: "${accountId}"`,
    field: 'name',
  },
  clients: {
    table: 'clients',
    add: (one, name) => make(one, `${one.I}/clients`, publicClient({ name })),
    place: inIssuer,
    field: 'name',
  },
  organizations: {
    table: 'organizations',
    add: (one, name) => make(one, `${one.I}/organizations`, { name }),
    place: inIssuer,
    field: 'name',
  },
  agents: {
    table: 'agents',
    add: (one, name) => make(one, `${one.I}/agents`, { name }),
    place: inIssuer,
    field: 'name',
  },
  organizationGroups: {
    table: 'organization_groups',
    add: (one, name) => make(one, `${O(one)}/groups`, { name }),
    place: inOrg,
    field: 'name',
  },
  organizationInvitations: {
    table: 'organization_invitations',
    add: (one, email) => make(one, `${O(one)}/invitations`, { email }),
    place: inOrg,
    field: 'email',
    nameOf: (word) => `${word.replaceAll(' ', 'z')}@example.com`,
  },
  notes: {
    table: 'notes',
    add: (one, content) => make(one, `${one.A}/notes`, { subject_type: 'issuer', subject_id: one.issuerId, content }),
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

/** Of users: in the order of their own list. */
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
      must(await one.owner.post(`${O(one)}/members`, { member_id: id }), 201)
      return id
    },
    place: inOrg,
    field: 'memberId',
  },
  organizationGroupMembers: {
    table: 'organization_members',
    async add(one, name) {
      const id = await person(one, name)
      must(await one.owner.post(`${O(one)}/members`, { member_id: id, groups: [groups[one.issuerId]] }), 201)
      return id
    },
    place: (one) => `${inOrg(one)}, groupId: "${groups[one.issuerId]}"`,
    field: 'memberId',
  },
}

async function ask(list: string, { place, field, as }: Searched, one: Tenant, more: string, api?: Api): Promise<Loose> {
  const asked = [place(one), more].filter(Boolean).join(', ')
  const { body } = await (api ?? as?.() ?? one.owner).graphql(
    `{ ${list}(${asked}) { data { id ${field} } nextCursor hasMore } }`,
  )
  return body
}

describe('what begins with the text is found, in any case, in the order of names, page by page', () => {
  test.each(Object.entries(named))('%s', async (list, searched) => {
    const { add, nameOf = (text: string) => text, field } = searched
    const word = fresh('needle').replaceAll('-', '')
    const names = [`${word} Beta`, `${word.toUpperCase()} alpha`, `${word} alpha two`, `not ${word}`].map(nameOf)
    const ids: string[] = []
    for (const name of names) ids.push(await add(tenant, name))
    if (list !== 'accounts') await add(other, nameOf(`${word} of others`))
    const wanted = [names[1], names[2], names[0]]
    const whole = await ask(list, searched, tenant, `search: "${word.toUpperCase()}"`)
    expect(whole.errors).toBeUndefined()
    expect(whole.data[list].data.map((item: Loose) => item[field])).toEqual(wanted)
    expect(whole.data[list]).toMatchObject({ hasMore: false, nextCursor: null })
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const from: string = cursor && `, cursor: "${cursor}"`
      const { data } = await ask(list, searched, tenant, `search: "${word}", limit: 1${from}`)
      seen.push(...data[list].data.map((item: Loose) => item[field]))
      cursor = data[list].nextCursor
    }
    expect(seen).toEqual(wanted)
    const byId = await ask(list, searched, tenant, `search: "${ids[3]}"`)
    expect(byId.data[list].data.map(({ id }: Loose) => id)).toEqual([ids[3]])
  })
})

describe('approvals and members are found by the name, username or email of the user, in their own order', () => {
  test.each(Object.entries(byUser))('%s', async (list, searched) => {
    const word = fresh('needle').replaceAll('-', '')
    const ids: string[] = []
    for (const name of [`${word} One`, `${word.toUpperCase()} Two`, `not ${word}`])
      ids.push(await searched.add(tenant, name))
    await searched.add(other, `${word} of others`)
    await person(tenant, `${word} who is neither waiting nor a member`)
    const wanted = list === 'approvals' ? [ids[0], ids[1]] : [ids[1], ids[0]]
    const idOf = (item: Loose) => (searched.field === 'memberId' ? item.memberId : item.id)
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const from: string = cursor && `, cursor: "${cursor}"`
      const { data } = await ask(list, searched, tenant, `search: "${word}", limit: 1${from}`)
      seen.push(...data[list].data.map(idOf))
      cursor = data[list].nextCursor
    }
    expect(seen).toEqual(wanted)
  })
})

describe('wildcards stand for themselves, and a cursor of another list is refused', () => {
  test.each(Object.entries({ ...named, ...byUser }))('%s', async (list, searched) => {
    for (const text of ['%', '_', '\\\\', `%needle`]) {
      const { data } = await ask(list, searched, tenant, `search: "${text}"`)
      expect({ text, found: data[list].data }).toEqual({ text, found: [] })
    }
    const strange = [`["a"]`, `["a",1]`, `["a","${tenant.accountId}","more"]`, 'nonsense'].map((text) =>
      Buffer.from(text).toString('base64url'),
    )
    for (const cursor of ['x', ...strange]) {
      const { errors } = await ask(list, searched, tenant, `search: "a", cursor: "${cursor}"`)
      expect(errors?.[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
    }
  })
})

test('a search goes together with the other filters', async () => {
  const word = fresh('needle')
  const [one, two] = [
    await named['clients']!.add(tenant, `${word} 1`),
    await named['clients']!.add(tenant, `${word} 2`),
  ]
  must(await tenant.owner.patch(`${tenant.I}/clients/${one}`, { status: 'disabled' }, { 'if-match': '*' }), 200)
  const found = async (more: string) =>
    (await ask('clients', named['clients']!, tenant, `search: "${word}", ${more}`)).data.clients.data.map(
      ({ id }: Loose) => id,
    )
  expect(await found('status: disabled')).toEqual([one])
  expect(await found('status: active')).toEqual([two])
  must(await tenant.owner.delete(`${tenant.I}/clients/${two}`, { 'if-match': '*' }), 204)
  expect(await found('limit: 5')).toEqual([one])
  expect(await found('status: deleted')).toEqual([two])
})

test('a note is found behind the marks that its text begins with, together with every other filter', async () => {
  const word = fresh('needle')
  const user = `usr_${'1'.repeat(26)}`
  const add = async (content: string, more: object = {}): Promise<string> => {
    const about = { subject_type: 'issuer', subject_id: tenant.issuerId }
    return make(tenant, `${tenant.A}/notes`, { ...about, content, ...more })
  }
  const heading = await add(`## ${word} heading`, { pinned: true })
  const mention = await add(`@[${word} somebody](${user}) should know`)
  const item = await add(`- ${word} item`)
  const found = async (more: string, sought = word) =>
    (await ask('notes', named['notes']!, tenant, `search: "${sought}", ${more}`)).data.notes.data.map(
      ({ id }: Loose) => id,
    )
  // As it is written, and as it is shown, which is with some of the marks.
  for (const sought of [word, `## ${word}`, `@${word}`, `- ${word}`.toUpperCase()])
    expect(await found('limit: 5', sought)).toEqual([heading, item, mention])
  expect(await found('pinned: true')).toEqual([heading])
  expect(await found(`mentionsUserId: "${user}", limit: 1`)).toEqual([mention])
  expect(await found(`subjectType: issuer, subjectId: "${tenant.issuerId}"`)).toHaveLength(3)
  expect(await found('subjectType: user')).toEqual([])
})

test('members are searched by who may see users only: what is found would tell their names', async () => {
  const stem = 'issuers.organizations'
  const blind = await keyWith(tenant, { scopes: [`${stem}.members:read`, `${stem}.groups:read`] })
  for (const list of ['organizationMembers', 'organizationGroupMembers']) {
    expect((await ask(list, byUser[list]!, tenant, 'limit: 1', blind)).errors).toBeUndefined()
    const { errors } = await ask(list, byUser[list]!, tenant, 'search: "a"', blind)
    expect(errors?.[0].extensions).toMatchObject({ code: 'INSUFFICIENT_SCOPE', status: 403 })
  }
})

test('accounts beyond the caller’s reach are not found', async () => {
  const word = fresh('needle')
  await named['accounts']!.add(tenant, word)
  const { data } = await ask('accounts', named['accounts']!, tenant, `search: "${word}"`, tenant.owner)
  expect(data.accounts.data).toEqual([])
})

describe('a page of what is found is a range of one index: nothing is sorted', () => {
  test.each(Object.entries(named))('%s', async (list, searched) => {
    const sent: [string, unknown[]][] = []
    const query = pg.Client.prototype.query
    pg.Client.prototype.query = function (this: pg.Client, ...given: Loose[]) {
      const text: string = given[0]?.text ?? given[0]
      if (text.includes('chr(1114111)')) sent.push([text, given[0].values ?? given[1] ?? []])
      return (query as Loose).apply(this, given)
    } as typeof query
    const cursor = Buffer.from(JSON.stringify(['nee', `${idPrefix[list]}_${'0'.repeat(26)}`])).toString('base64url')
    try {
      await ask(list, searched, tenant, `search: "nee", cursor: "${cursor}"`)
    } finally {
      pg.Client.prototype.query = query
    }
    expect(sent).toHaveLength(1)
    const client = await app.gatehouse.tools.pool.connect()
    try {
      // Tables this small would otherwise be read whole and sorted.
      await client.query('SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off')
      const { rows } = await client.query(`EXPLAIN ${sent[0]![0]}`, sent[0]![1])
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      expect(plan).toMatch(new RegExp(`Index.* using ${searched.table}_by_(name|email|text) on`))
      expect(plan).not.toContain('Sort')
      // Both ends and the place of the cursor.
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
