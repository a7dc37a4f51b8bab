/** Who administers an account (decisions part 0, D6): its owner, and the members of its administrator organization. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { bootstrap } from '../../src/bootstrap.js'
import { systemContext } from '../../src/platform/jobs.js'
import { Realm } from '../idp/setup.js'
import { makeTenant, makeUser, must, type Tenant } from '../setup/actors.js'
import { type Api, apiAs, type Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let console: Realm
let acme: Tenant
let other: Tenant
let clientId: string
/** `O` of Acme's administrator organization. */
let admins: string
let owner: { id: string; api: Api }
let helper: { id: string; api: Api; limited: Api }

beforeAll(async () => {
  app = await startApp()
  const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${system.id}`
  const [issuer] = must(await app.operator.get(`${A}/issuers`), 200).data
  const I = `${A}/issuers/${issuer.id}`
  console = new Realm(app, { accountId: system.id, issuerId: issuer.id, A, I, owner: app.operator })
  clientId = must(await app.operator.get(`${I}/clients`), 200).data[0].id
  acme = await makeTenant(app, 'Acme')
  other = await makeTenant(app, 'Other')
  admins = `${I}/organizations/${must(await acme.owner.get(acme.A), 200).data.admin_org_id}`
  owner = await person('owner@example.com')
  const { id } = await person('helper@example.com')
  helper = {
    id,
    api: await signedIn('helper@example.com'),
    limited: await signedIn('helper@example.com', 'issuers:read'),
  }
  must(await app.operator.patch(acme.A, { owner_user_id: owner.id }), 200)
})
afterAll(() => app.close())

/** The Core API as a person at the console sees it. */
async function signedIn(username: string, scope = 'svc:all'): Promise<Api> {
  const redirect_uri = `${app.baseUrl}/console/callback`
  const params = { redirect_uri, scope: `openid ${scope}`, resource: app.baseUrl }
  const { access_token } = await console.tokens({ id: clientId, secret: undefined }, username, params)
  return apiAs(app.baseUrl, access_token)
}
async function person(username: string): Promise<{ id: string; api: Api }> {
  return { id: await makeUser(console.tenant, username), api: await signedIn(username) }
}
const accounts = async (api: Api): Promise<string[]> =>
  must(await api.get('/v1/accounts'), 200).data.map(({ id }: Loose) => id)

describe('every account has an administrator organization', () => {
  test('made with it in the console issuer, and named by it; the system account has one too', async () => {
    const account = must(await acme.owner.get(acme.A), 200).data
    expect(account.admin_org_id).toMatch(/^org_/)
    const row = must(await app.operator.get(admins), 200).data
    expect(row).toMatchObject({
      account_id: console.tenant.accountId,
      issuer_id: console.tenant.issuerId,
      name: 'Administrators of Acme',
      metadata: { account_id: acme.accountId },
      created_by_user_id: null,
    })
    const system = must(await app.operator.get(console.tenant.A), 200).data
    expect(system.admin_org_id).toMatch(/^org_/)
    expect(system.admin_org_id).not.toBe(account.admin_org_id)
    must(await acme.owner.patch(acme.A, { admin_org_id: system.admin_org_id }), 400)
  })

  test('a start gives one to accounts that are older than this rule, and changes nothing else', async () => {
    const { prisma } = app.gatehouse.tools
    const before = await prisma.account.findMany({ orderBy: { id: 'asc' } })
    const old = await prisma.account.create({ data: { id: `acc_${'0'.repeat(26)}`, createdAt: 1, updatedAt: 1 } })
    await bootstrap(systemContext(app.gatehouse))
    const { adminOrgId } = await prisma.account.findUniqueOrThrow({ where: { id: old.id } })
    expect(adminOrgId).toMatch(/^org_/)
    await bootstrap(systemContext(app.gatehouse))
    expect(await prisma.account.findUniqueOrThrow({ where: { id: old.id } })).toMatchObject({ adminOrgId })
    expect(await prisma.account.findMany({ where: { id: { not: old.id } }, orderBy: { id: 'asc' } })).toEqual(before)
  })

  test('it lives as long as its account: DELETE is 409', async () => {
    expect((await app.operator.delete(admins)).status).toBe(409)
    expect((await owner.api.delete(admins)).status).toBe(409)
    must(await app.operator.get(admins), 200)
  })
})

describe('the owner', () => {
  test('has all authority on its account, nothing elsewhere', async () => {
    expect(await accounts(owner.api)).toEqual([acme.accountId])
    must(await owner.api.patch(acme.A, { description: 'mine' }), 200)
    must(await owner.api.get(`${acme.I}/users`), 200)
    for (const path of [other.A, other.I, console.tenant.A, console.tenant.I, `${console.tenant.I}/users`]) {
      expect([path, (await owner.api.get(path)).status]).toEqual([path, 404])
    }
    const created = await owner.api.graphql('mutation { createAccount(input: {}) { account { id } } }')
    expect(created.body.errors[0].extensions.status).toBe(403)
  })

  test('keeps the members of its administrator organization by the ordinary operations, and reaches no other there', async () => {
    must(await owner.api.get(admins), 200)
    must(await owner.api.post(`${admins}/members`, { member_id: helper.id, scopes: ['issuers:read'] }), 201)
    must(await owner.api.patch(`${admins}/members/${helper.id}`, { scopes: ['svc:all'] }), 200)
    const group = must(
      await owner.api.post(`${admins}/groups`, { name: 'Readers', scopes: ['issuers:read'] }),
      201,
    ).data
    must(await owner.api.post(`${admins}/groups/${group.id}/members`, { member_id: helper.id }), 201)
    must(await owner.api.delete(`${admins}/groups/${group.id}`), 204)
    must(await owner.api.delete(`${admins}/members/${helper.id}`), 204)

    const theirs = must(await app.operator.get(other.A), 200).data.admin_org_id
    const mine = admins.split('/').at(-1)
    const list = `${console.tenant.I}/organizations`
    for (const path of [
      list,
      `${list}/${theirs}`,
      `${list}/${theirs}/members`,
      `${other.I}/organizations/${mine}/members`,
      `${acme.I}/organizations/${mine}`,
      `${console.tenant.A}/issuers/${acme.issuerId}/organizations/${mine}`,
    ]) {
      expect([path, (await owner.api.get(path)).status]).toEqual([path, 404])
    }
    const members =
      'query ($a: ID!, $i: ID!, $o: ID!) { organizationMembers(accountId: $a, issuerId: $i, orgId: $o) { data { id user { id } } } }'
    must(await owner.api.post(`${admins}/members`, { member_id: helper.id }), 201)
    const place = { a: console.tenant.accountId, i: console.tenant.issuerId, o: mine }
    expect((await owner.api.graphql(members, place)).body.errors[0].extensions.status).toBe(404)
    must(await owner.api.delete(`${admins}/members/${helper.id}`), 204)
  })

  test("is cut down by its token's scope there too", async () => {
    const limited = await signedIn('owner@example.com', 'issuers.organizations.members:read')
    must(await limited.get(`${admins}/members`), 200)
    must(await limited.post(`${admins}/members`, { member_id: helper.id }), 403)
    must(await limited.get(acme.A), 403)
  })
})

describe('a member of the administrator organization', () => {
  beforeEach(async () => {
    await app.operator.delete(`${admins}/members/${helper.id}`)
  })
  const give = async (scopes: string[], more: object = {}) =>
    must(await owner.api.post(`${admins}/members`, { member_id: helper.id, scopes, ...more }), 201)

  test('may do on the account what its effective scopes say, and reaches nothing else', async () => {
    expect(await accounts(helper.api)).toEqual([])
    must(await helper.api.get(acme.A), 404)
    await give(['issuers:read', 'issuers.users:manage', 'accounts:read'])
    expect(await accounts(helper.api)).toEqual([acme.accountId])
    must(await helper.api.get(acme.A), 200)
    must(await helper.api.get(acme.I), 200)
    const user = must(await helper.api.post(`${acme.I}/users`, { username_type: 'unique', username: 'made' }), 201).data
    must(await helper.api.delete(`${acme.I}/users/${user.id}`), 202)
    must(await helper.api.get(`${acme.I}/clients`), 403)
    must(await helper.api.patch(acme.A, { name: 'x' }), 403)
    for (const path of [other.A, other.I, console.tenant.A, console.tenant.I]) {
      expect([path, (await helper.api.get(path)).status]).toEqual([path, 404])
    }
    const event = await app.gatehouse.tools.prisma.event.findFirstOrThrow({
      where: { type: 'user.created', accountId: acme.accountId },
      orderBy: { id: 'desc' },
    })
    expect(event.actor).toEqual({ type: 'user', id: helper.id, name: null })
  })

  test("always intersected with the token's own scope", async () => {
    await give(['svc:all'])
    must(await helper.limited.get(acme.I), 200)
    must(await helper.limited.get(`${acme.I}/users`), 403)
    must(await helper.limited.patch(acme.I, { name: 'x' }), 403)
    await app.operator.patch(`${admins}/members/${helper.id}`, { scopes: ['issuers.users:read'] })
    must(await helper.limited.get(acme.I), 403)
    must(await helper.limited.get(`${acme.I}/users`), 403)
  })

  test('also by a group and by default; suspended, removed or with the organization suspended it has nothing at once', async () => {
    const group = must(
      await owner.api.post(`${admins}/groups`, { name: 'Clerks', scopes: ['issuers.users:read'] }),
      201,
    ).data
    await give([], { groups: [group.id] })
    must(await helper.api.get(`${acme.I}/users`), 200)
    must(await helper.api.get(acme.I), 403)
    must(await owner.api.patch(admins, { default_member_scopes: ['issuers:read'] }), 200)
    must(await helper.api.get(acme.I), 200)
    must(await owner.api.patch(`${admins}/members/${helper.id}`, { status: 'suspended' }), 200)
    must(await helper.api.get(acme.I), 404)
    expect(await accounts(helper.api)).toEqual([])
    must(await owner.api.patch(`${admins}/members/${helper.id}`, { status: 'active' }), 200)
    must(await helper.api.get(acme.I), 200)
    must(await app.operator.patch(admins, { status: 'suspended' }), 200)
    must(await helper.api.get(acme.I), 404)
    must(await owner.api.get(acme.I), 200)
    must(await app.operator.patch(admins, { status: 'active' }), 200)
    must(await owner.api.patch(admins, { default_member_scopes: [] }), 200)
    must(await owner.api.delete(`${admins}/members/${helper.id}`), 204)
    must(await helper.api.get(`${acme.I}/users`), 404)
    must(await owner.api.delete(`${admins}/groups/${group.id}`), 204)
  })

  test('does not keep the administrators: that is for the owner and operators', async () => {
    await give(['svc:all'])
    must(await helper.api.patch(acme.A, { description: 'by a full administrator' }), 200)
    for (const answer of [
      await helper.api.get(admins),
      await helper.api.get(`${admins}/members`),
      await helper.api.post(`${admins}/members`, { member_id: owner.id }),
      await helper.api.patch(`${admins}/members/${helper.id}`, { user_title: 'x' }),
      await acme.owner.get(`${admins}/members`),
    ]) {
      expect(answer.status).toBe(404)
    }
  })

  test('grants no more than it holds on that account', async () => {
    await give(['issuers.users:manage', 'issuers.organizations:write'])
    const api = await signedIn('helper@example.com')
    const user = { username_type: 'unique', username: 'granted', scopes: ['issuers.clients:read'] }
    must(await api.post(`${acme.I}/users`, user), 403)
    must(await api.post(`${acme.I}/users`, { ...user, scopes: ['issuers.users:read'] }), 201)
    must(await api.post(`${acme.I}/organizations`, { default_member_scopes: ['svc:all'] }), 403)
  })

  test('GraphQL gives the same verdicts, field by field', async () => {
    await give(['accounts:read', 'issuers:read'])
    const text =
      'query ($a: ID!) { account(accountId: $a) { id adminOrgId issuers { data { id clients { data { id } } } } } }'
    const answer = (await helper.api.graphql(text, { a: acme.accountId })).body
    expect(answer.errors[0].extensions).toMatchObject({ code: 'INSUFFICIENT_SCOPE' })
    const list = (await helper.api.graphql('{ accounts { data { id issuers { data { id } } } } }')).body
    expect(list.data.accounts.data).toEqual([{ id: acme.accountId, issuers: { data: [{ id: acme.issuerId }] } }])
  })

  test("an Idempotency-Key gives nobody an answer made with another's authority", async () => {
    await give(['issuers:manage', 'issuers.organizations:read'])
    const text = `mutation ($a: ID!, $k: String!) { createIssuer(accountId: $a, input: { name: "Once" }, idempotencyKey: $k) { id organizations { data { id } } } }`
    const variables = { a: acme.accountId, k: 'admin-once' }
    const first = await helper.api.graphql(text, variables)
    expect(first.body.errors).toBeUndefined()
    must(await owner.api.patch(`${admins}/members/${helper.id}`, { scopes: ['issuers:manage'] }), 200)
    const second = await helper.api.graphql(text, variables)
    expect(second.body.errors?.[0].extensions.status).toBe(422)
  })
})

describe('operators', () => {
  test('a member of the system account’s administrator organization with accounts:manage is one, within its scopes', async () => {
    const system = must(await app.operator.get(console.tenant.A), 200).data.admin_org_id
    const path = `${console.tenant.I}/organizations/${system}/members`
    const clerk = await person('clerk@example.com')
    must(await clerk.api.get(acme.A), 404)
    must(await app.operator.post(path, { member_id: clerk.id, scopes: ['issuers.organizations.members:manage'] }), 201)
    // Not an operator yet: an administrator of the system account only, and not of who administers other accounts.
    must(await clerk.api.get(acme.A), 404)
    must(await clerk.api.get(`${admins}/members`), 404)
    must(await clerk.api.post(`${admins}/members`, { member_id: clerk.id }), 404)
    must(await clerk.api.get(path), 404)
    must(await app.operator.patch(`${path}/${clerk.id}`, { scopes: ['accounts:manage', 'issuers:read'] }), 200)
    must(await clerk.api.get(acme.A), 200)
    must(await clerk.api.get(acme.I), 200)
    must(await clerk.api.get(`${acme.I}/users`), 403)
    expect(await accounts(clerk.api)).toEqual(expect.arrayContaining([acme.accountId, other.accountId]))
    const made = await clerk.api.graphql('mutation { createAccount(input: {}) { account { id } } }')
    expect(made.body.errors).toBeUndefined()
    const limited = await signedIn('clerk@example.com', 'accounts:read')
    must(await limited.get(acme.A), 404)
    must(await app.operator.delete(`${path}/${clerk.id}`), 204)
    must(await clerk.api.get(acme.A), 404)
  })

  test('who creates an account does not become its administrator', async () => {
    const made = await app.operator.graphql('mutation { createAccount(input: {}) { account { adminOrgId } } }')
    const { adminOrgId } = made.body.data.createAccount.account
    const members = await app.operator.get(`${console.tenant.I}/organizations/${adminOrgId}/members`)
    expect(must(members, 200).data).toEqual([])
  })
})
