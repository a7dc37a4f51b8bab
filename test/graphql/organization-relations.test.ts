/** Relations of members, invitations, groups, agents and API keys to and from organizations (docs/contract.md#graphql-api). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let tenant: Tenant
/** Two organizations with the same two members, two groups, two invitations and two API keys. */
let orgs: { orgId: string; groupIds: string[]; key: ApiClient }[]

const create = async (path: string, body: object): Promise<AnyJson> =>
  expectStatus(await tenant.owner.post(path, body), 201).data

beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app)
  const { I } = tenant
  const users: string[] = []
  for (const username of ['ada', 'grace'])
    users.push((await create(`${I}/users`, { username_type: 'unique', username })).id)
  orgs = []
  for (const name of ['One', 'Two']) {
    const { id: orgId } = await create(`${I}/organizations`, { name, invitation_enabled: true })
    const O = `${I}/organizations/${orgId}`
    const groupIds: string[] = []
    for (const group of ['first', 'second']) groupIds.push((await create(`${O}/groups`, { name: group })).id)
    for (const member_id of users) await create(`${O}/members`, { member_id, groups: groupIds })
    const keys: AnyJson[] = []
    for (const guest of ['a', 'b']) {
      await create(`${O}/invitations`, { email: `${guest}@example.com` })
      keys.push(await create(`${O}/api-keys`, { type: 'api_key', name: guest, restrictions: {} }))
    }
    const key = createApiClient(app.baseUrl, { id: keys[0].id, secret: keys[0].secret_plain })
    orgs.push({ orgId, groupIds, key })
  }
})
afterAll(() => app.close())

const idArguments = (orgId: string) =>
  `accountId: "${tenant.accountId}", issuerId: "${tenant.issuerId}", orgId: "${orgId}"`

async function read(api: ApiClient, orgId: string, root: string, selection: string): Promise<AnyJson> {
  const { body } = await api.graphql(`{ ${root}(${idArguments(orgId)}) { ${selection} } }`)
  return { errors: body.errors, value: body.data?.[root] }
}

test.each(['organizationMembers', 'organizationInvitations', 'organizationApiKeys'])(
  '%s: `organization` is the organization of the row',
  async (root) => {
    for (const { orgId } of orgs) {
      const { errors, value } = await read(tenant.owner, orgId, root, 'data { orgId organization { id } }')
      expect(errors).toBeUndefined()
      expect(value.data).toEqual([
        { orgId, organization: { id: orgId } },
        { orgId, organization: { id: orgId } },
      ])
    }
  },
)

test('`organization` of an API key of an account is null', async () => {
  const keys = `{ apiKeys(accountId: "${tenant.accountId}") { data { orgId organization { id } } } }`
  const { body } = await tenant.owner.graphql(keys)
  expect(body.errors).toBeUndefined()
  expect(body.data.apiKeys.data.length).toBeGreaterThan(0)
  for (const key of body.data.apiKeys.data) expect(key).toEqual({ orgId: null, organization: null })
})

test('`groupObjects` of a member are its groups in this organization, newest first, in pages', async () => {
  const { orgId, groupIds } = orgs[0]!
  const { value } = await read(
    tenant.owner,
    orgId,
    'organizationMembers',
    'data { groups groupObjects { data { id memberCount } hasMore } }',
  )
  const newestFirst = [...groupIds].reverse()
  for (const member of value.data) {
    expect(member.groups).toEqual(groupIds)
    expect(member.groupObjects).toEqual({ data: newestFirst.map((id) => ({ id, memberCount: 2 })), hasMore: false })
  }
  const page = 'data { id } hasMore nextCursor'
  const first = await read(tenant.owner, orgId, 'organizationMembers', `data { groupObjects(limit: 1) { ${page} } }`)
  expect(first.value.data[0].groupObjects).toEqual({
    data: [{ id: groupIds[1] }],
    hasMore: true,
    nextCursor: groupIds[1],
  })
  const second = await read(
    tenant.owner,
    orgId,
    'organizationMembers',
    `data { groupObjects(cursor: "${groupIds[1]}") { ${page} } }`,
  )
  expect(second.value.data[1].groupObjects).toEqual({ data: [{ id: groupIds[0] }], hasMore: false, nextCursor: null })
  const wrong = await read(tenant.owner, orgId, 'organizationMembers', `data { groupObjects(cursor: "x") { ${page} } }`)
  expect(wrong.errors[0].extensions.code).toBe('INVALID_REQUEST')
})

test.each(['members', 'groups', 'invitations', 'apiKeys'])(
  'organization.%s continues after a cursor',
  async (field) => {
    const { orgId } = orgs[0]!
    const { value } = await read(tenant.owner, orgId, 'organization', `${field} { data { id } }`)
    const pages: AnyJson[] = []
    for (let cursor = ''; pages.length < 2; cursor = `, cursor: "${pages.at(-1).nextCursor}"`) {
      const selection = `${field}(limit: 1${cursor}) { data { id } hasMore nextCursor }`
      pages.push((await read(tenant.owner, orgId, 'organization', selection)).value[field])
    }
    expect(pages.map(({ hasMore }) => hasMore)).toEqual([true, false])
    expect(pages.flatMap(({ data }) => data)).toEqual(value[field].data)
  },
)

test('organizationGroup.members and agent.verifiers continue after a cursor', async () => {
  const { orgId, groupIds } = orgs[0]!
  const agent = await create(`${tenant.I}/agents`, { name: 'Scout' })
  for (const name of ['a', 'b']) await create(`${tenant.I}/agents/${agent.id}/verifiers`, { type: 'secret', name })
  for (const [parent, field] of [
    [`organizationGroup(${idArguments(orgId)}, groupId: "${groupIds[0]}")`, 'members'],
    [`agent(accountId: "${tenant.accountId}", issuerId: "${tenant.issuerId}", agentId: "${agent.id}")`, 'verifiers'],
  ] as const) {
    const page = async (args: string) => {
      const { body } = await tenant.owner.graphql(
        `{ parent: ${parent} { ${field}${args} { data { id } nextCursor } } }`,
      )
      return body.data.parent[field]
    }
    const all = await page('')
    const first = await page('(limit: 1)')
    const second = await page(`(limit: 1, cursor: "${first.nextCursor}")`)
    expect([...first.data, ...second.data]).toEqual(all.data)
    expect(second.nextCursor).toBeNull()
  }
})

test('a relation without its scope is null with an error and leaves the rest', async () => {
  const { orgId } = orgs[0]!
  const refused = {
    message: 'This requires the scope issuers.organizations:read.',
    extensions: { code: 'INSUFFICIENT_SCOPE' },
  }
  for (const [root, scope] of [
    ['organizationMembers', 'issuers.organizations.members:read'],
    ['organizationInvitations', 'issuers.organizations.members:read'],
    ['organizationApiKeys', 'issuers.organizations.api_keys:read'],
  ] as const) {
    const api = await createRestrictedKey(tenant, { scopes: [scope] })
    const { errors, value } = await read(api, orgId, root, 'data { orgId organization { id } }')
    expect(value.data[0]).toEqual({ orgId, organization: null })
    expect(errors[0]).toMatchObject(refused)
  }
  const api = await createRestrictedKey(tenant, { scopes: ['issuers.organizations.members:read'] })
  const { errors, value } = await read(
    api,
    orgId,
    'organizationMembers',
    'data { groups groupObjects { data { id } } }',
  )
  expect(value.data[0]).toEqual({ groups: orgs[0]!.groupIds, groupObjects: null })
  expect(errors[0]).toMatchObject({ message: 'This requires the scope issuers.organizations.groups:read.' })
})

test('a key of an organization reads the relations of its organization, and nothing of another one', async () => {
  const [one, two] = orgs
  const selection = 'data { organization { id } groupObjects { data { id orgId } } user { id } }'
  const { errors, value } = await read(one!.key, one!.orgId, 'organizationMembers', selection)
  for (const member of value.data) {
    expect(member.organization).toEqual({ id: one!.orgId })
    expect(member.groupObjects.data).toHaveLength(2)
    for (const group of member.groupObjects.data) expect(group.orgId).toBe(one!.orgId)
    expect(member.user).toBeNull()
  }
  expect(errors.map(({ path }: AnyJson) => path.at(-1))).toEqual(['user', 'user'])
  const other = await createTenant(app, 'Other')
  for (const api of [one!.key, other.owner]) {
    const refused = await read(api, two!.orgId, 'organizationMembers', selection)
    expect(refused.value).toBeNull()
    expect(refused.errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
  }
})
