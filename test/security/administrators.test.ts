/**
 * The owner of an account and the members of its administrator organization administer it
 * (docs/contract.md#deployment, docs/contract.md#access-tokens-at-the-core-api).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { bootstrap } from '../../src/setup/bootstrap.js'
import { Realm } from '../idp/realm.js'
import { createTenant, createUser, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let console: Realm
let acme: Tenant
let other: Tenant
let clientId: string
/** Path of Acme's administrator organization. */
let admins: string
let owner: { id: string; api: ApiClient }
/**
 * A console user; tests add this user to Acme's administrator organization. `limited` has a token with `issuers:read`.
 */
let helper: { id: string; api: ApiClient; limited: ApiClient }

beforeAll(async () => {
  app = await startApp()
  const [system] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${system.id}`
  const [issuer] = expectStatus(await app.operator.get(`${A}/issuers`), 200).data
  const I = `${A}/issuers/${issuer.id}`
  console = new Realm(app, { accountId: system.id, issuerId: issuer.id, A, I, owner: app.operator })
  clientId = expectStatus(await app.operator.get(`${I}/clients`), 200).data[0].id
  acme = await createTenant(app, 'Acme')
  other = await createTenant(app, 'Other')
  admins = `${I}/organizations/${expectStatus(await acme.owner.get(acme.A), 200).data.admin_org_id}`
  owner = await createConsoleUser('owner@example.com')
  const { id } = await createConsoleUser('helper@example.com')
  helper = {
    id,
    api: await signInUser('helper@example.com'),
    limited: await signInUser('helper@example.com', 'issuers:read'),
  }
  expectStatus(await app.operator.patch(acme.A, { owner_user_id: owner.id }), 200)
})
afterAll(() => app.close())

/** Signs in at the console issuer. Returns a client of the Core API that uses the access token. */
async function signInUser(username: string, scope = 'svc:all'): Promise<ApiClient> {
  const redirect_uri = `${app.baseUrl}/console/callback`
  const params = { redirect_uri, scope: `openid ${scope}`, resource: app.baseUrl }
  const { access_token } = await console.signInForTokens({ id: clientId, secret: undefined }, username, params)
  return createApiClient(app.baseUrl, access_token)
}
async function createConsoleUser(username: string): Promise<{ id: string; api: ApiClient }> {
  return { id: await createUser(console.tenant, username), api: await signInUser(username) }
}
const accounts = async (api: ApiClient): Promise<string[]> =>
  expectStatus(await api.get('/v1/accounts'), 200).data.map(({ id }: AnyJson) => id)

describe('every account has an administrator organization', () => {
  test('which is created in the console issuer with the account, also for the system account', async () => {
    const account = expectStatus(await acme.owner.get(acme.A), 200).data
    expect(account.admin_org_id).toMatch(/^org_/)
    const row = expectStatus(await app.operator.get(admins), 200).data
    expect(row).toMatchObject({
      account_id: console.tenant.accountId,
      issuer_id: console.tenant.issuerId,
      name: 'Administrators of Acme',
      metadata: { account_id: acme.accountId },
      created_by_user_id: null,
    })
    const system = expectStatus(await app.operator.get(console.tenant.A), 200).data
    expect(system.admin_org_id).toMatch(/^org_/)
    expect(system.admin_org_id).not.toBe(account.admin_org_id)
    expectStatus(await acme.owner.patch(acme.A, { admin_org_id: system.admin_org_id }), 400)
  })

  test('which a start creates for accounts of older versions, without other changes to accounts', async () => {
    const { prisma } = app.gatehouse.database
    const before = await prisma.account.findMany({ orderBy: { id: 'asc' } })
    const old = await prisma.account.create({ data: { id: `acc_${'0'.repeat(26)}`, createdAt: 1, updatedAt: 1 } })
    await bootstrap(systemContext(app.gatehouse))
    const { adminOrgId } = await prisma.account.findUniqueOrThrow({ where: { id: old.id } })
    expect(adminOrgId).toMatch(/^org_/)
    await bootstrap(systemContext(app.gatehouse))
    expect(await prisma.account.findUniqueOrThrow({ where: { id: old.id } })).toMatchObject({ adminOrgId })
    expect(await prisma.account.findMany({ where: { id: { not: old.id } }, orderBy: { id: 'asc' } })).toEqual(before)
  })

  test('which cannot be deleted while the account exists: DELETE is 409', async () => {
    expect((await app.operator.delete(admins)).status).toBe(409)
    expect((await owner.api.delete(admins)).status).toBe(409)
    expectStatus(await app.operator.get(admins), 200)
  })
})

describe('the owner', () => {
  test('has full authority on its account and none elsewhere', async () => {
    expect(await accounts(owner.api)).toEqual([acme.accountId])
    expectStatus(await owner.api.patch(acme.A, { description: 'mine' }), 200)
    expectStatus(await owner.api.get(`${acme.I}/users`), 200)
    for (const path of [other.A, other.I, console.tenant.A, console.tenant.I, `${console.tenant.I}/users`]) {
      expect([path, (await owner.api.get(path)).status]).toEqual([path, 404])
    }
    const created = await owner.api.graphql('mutation { createAccount(input: {}) { account { id } } }')
    expect(created.body.errors[0].extensions.status).toBe(403)
  })

  test('manages the administrator organization of its account with the regular operations, and no other organization', async () => {
    expectStatus(await owner.api.get(admins), 200)
    expectStatus(await owner.api.post(`${admins}/members`, { member_id: helper.id, scopes: ['issuers:read'] }), 201)
    expectStatus(await owner.api.patch(`${admins}/members/${helper.id}`, { scopes: ['svc:all'] }), 200)
    const group = expectStatus(
      await owner.api.post(`${admins}/groups`, { name: 'Readers', scopes: ['issuers:read'] }),
      201,
    ).data
    expectStatus(await owner.api.post(`${admins}/groups/${group.id}/members`, { member_id: helper.id }), 201)
    expectStatus(await owner.api.delete(`${admins}/groups/${group.id}`), 204)
    expectStatus(await owner.api.delete(`${admins}/members/${helper.id}`), 204)

    const theirs = expectStatus(await app.operator.get(other.A), 200).data.admin_org_id
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
    expectStatus(await owner.api.post(`${admins}/members`, { member_id: helper.id }), 201)
    const variables = { a: console.tenant.accountId, i: console.tenant.issuerId, o: mine }
    expect((await owner.api.graphql(members, variables)).body.errors[0].extensions.status).toBe(404)
    expectStatus(await owner.api.delete(`${admins}/members/${helper.id}`), 204)
  })

  test('is limited by the scope of its token, also in the administrator organization', async () => {
    const limited = await signInUser('owner@example.com', 'issuers.organizations.members:read')
    expectStatus(await limited.get(`${admins}/members`), 200)
    expectStatus(await limited.post(`${admins}/members`, { member_id: helper.id }), 403)
    expectStatus(await limited.get(acme.A), 403)
  })
})

describe('a member of the administrator organization', () => {
  beforeEach(async () => {
    await app.operator.delete(`${admins}/members/${helper.id}`)
  })
  const addHelper = async (scopes: string[], more: object = {}) =>
    expectStatus(await owner.api.post(`${admins}/members`, { member_id: helper.id, scopes, ...more }), 201)

  test('has its effective scopes on the account, and no access elsewhere', async () => {
    expect(await accounts(helper.api)).toEqual([])
    expectStatus(await helper.api.get(acme.A), 404)
    await addHelper(['issuers:read', 'issuers.users:manage', 'accounts:read'])
    expect(await accounts(helper.api)).toEqual([acme.accountId])
    expectStatus(await helper.api.get(acme.A), 200)
    expectStatus(await helper.api.get(acme.I), 200)
    const user = expectStatus(
      await helper.api.post(`${acme.I}/users`, { username_type: 'unique', username: 'created' }),
      201,
    ).data
    expectStatus(await helper.api.delete(`${acme.I}/users/${user.id}`), 202)
    expectStatus(await helper.api.get(`${acme.I}/clients`), 403)
    expectStatus(await helper.api.patch(acme.A, { name: 'x' }), 403)
    for (const path of [other.A, other.I, console.tenant.A, console.tenant.I]) {
      expect([path, (await helper.api.get(path)).status]).toEqual([path, 404])
    }
    const event = await app.gatehouse.database.prisma.event.findFirstOrThrow({
      where: { type: 'user.created', accountId: acme.accountId },
      orderBy: { id: 'desc' },
    })
    expect(event.actor).toEqual({ type: 'user', id: helper.id, name: null })
  })

  test('has only the scopes that both the membership and the token contain', async () => {
    await addHelper(['svc:all'])
    expectStatus(await helper.limited.get(acme.I), 200)
    expectStatus(await helper.limited.get(`${acme.I}/users`), 403)
    expectStatus(await helper.limited.patch(acme.I, { name: 'x' }), 403)
    await app.operator.patch(`${admins}/members/${helper.id}`, { scopes: ['issuers.users:read'] })
    expectStatus(await helper.limited.get(acme.I), 403)
    expectStatus(await helper.limited.get(`${acme.I}/users`), 403)
  })

  test('also has the scopes of groups and the default scopes; loses all when the member is suspended or removed, or the organization is suspended', async () => {
    const group = expectStatus(
      await owner.api.post(`${admins}/groups`, { name: 'Clerks', scopes: ['issuers.users:read'] }),
      201,
    ).data
    await addHelper([], { groups: [group.id] })
    expectStatus(await helper.api.get(`${acme.I}/users`), 200)
    expectStatus(await helper.api.get(acme.I), 403)
    expectStatus(await owner.api.patch(admins, { default_member_scopes: ['issuers:read'] }), 200)
    expectStatus(await helper.api.get(acme.I), 200)
    expectStatus(await owner.api.patch(`${admins}/members/${helper.id}`, { status: 'suspended' }), 200)
    expectStatus(await helper.api.get(acme.I), 404)
    expect(await accounts(helper.api)).toEqual([])
    expectStatus(await owner.api.patch(`${admins}/members/${helper.id}`, { status: 'active' }), 200)
    expectStatus(await helper.api.get(acme.I), 200)
    expectStatus(await app.operator.patch(admins, { status: 'suspended' }), 200)
    expectStatus(await helper.api.get(acme.I), 404)
    expectStatus(await owner.api.get(acme.I), 200)
    expectStatus(await app.operator.patch(admins, { status: 'active' }), 200)
    expectStatus(await owner.api.patch(admins, { default_member_scopes: [] }), 200)
    expectStatus(await owner.api.delete(`${admins}/members/${helper.id}`), 204)
    expectStatus(await helper.api.get(`${acme.I}/users`), 404)
    expectStatus(await owner.api.delete(`${admins}/groups/${group.id}`), 204)
  })

  test('cannot manage the administrator organization, and neither can an API key of the account', async () => {
    await addHelper(['svc:all'])
    expectStatus(await helper.api.patch(acme.A, { description: 'by a full administrator' }), 200)
    for (const response of [
      await helper.api.get(admins),
      await helper.api.get(`${admins}/members`),
      await helper.api.post(`${admins}/members`, { member_id: owner.id }),
      await helper.api.patch(`${admins}/members/${helper.id}`, { user_title: 'x' }),
      await acme.owner.get(`${admins}/members`),
    ]) {
      expect(response.status).toBe(404)
    }
  })

  test('cannot grant scopes that the member lacks on the account', async () => {
    await addHelper(['issuers.users:manage', 'issuers.organizations:write'])
    const api = await signInUser('helper@example.com')
    const user = { username_type: 'unique', username: 'granted', scopes: ['issuers.clients:read'] }
    expectStatus(await api.post(`${acme.I}/users`, user), 403)
    expectStatus(await api.post(`${acme.I}/users`, { ...user, scopes: ['issuers.users:read'] }), 201)
    expectStatus(await api.post(`${acme.I}/organizations`, { default_member_scopes: ['svc:all'] }), 403)
  })

  test('in GraphQL, each relation requires its own scope', async () => {
    await addHelper(['accounts:read', 'issuers:read'])
    const text =
      'query ($a: ID!) { account(accountId: $a) { id adminOrgId issuers { data { id clients { data { id } } } } } }'
    const response = (await helper.api.graphql(text, { a: acme.accountId })).body
    expect(response.errors[0].extensions).toMatchObject({ code: 'INSUFFICIENT_SCOPE' })
    const list = (await helper.api.graphql('{ accounts { data { id issuers { data { id } } } } }')).body
    expect(list.data.accounts.data).toEqual([{ id: acme.accountId, issuers: { data: [{ id: acme.issuerId }] } }])
  })

  test('a repeated Idempotency-Key is 422 after the caller lost a scope of the stored request', async () => {
    await addHelper(['issuers:manage', 'issuers.organizations:read'])
    const text = `mutation ($a: ID!, $k: String!) { createIssuer(accountId: $a, input: { name: "Once" }, idempotencyKey: $k) { id organizations { data { id } } } }`
    const variables = { a: acme.accountId, k: 'admin-once' }
    const first = await helper.api.graphql(text, variables)
    expect(first.body.errors).toBeUndefined()
    expectStatus(await owner.api.patch(`${admins}/members/${helper.id}`, { scopes: ['issuers:manage'] }), 200)
    const second = await helper.api.graphql(text, variables)
    expect(second.body.errors?.[0].extensions.status).toBe(422)
  })
})

describe('operators', () => {
  test("a member of the system account's administrator organization with accounts:manage is an operator, within its scopes", async () => {
    const system = expectStatus(await app.operator.get(console.tenant.A), 200).data.admin_org_id
    const path = `${console.tenant.I}/organizations/${system}/members`
    const clerk = await createConsoleUser('clerk@example.com')
    expectStatus(await clerk.api.get(acme.A), 404)
    expectStatus(
      await app.operator.post(path, { member_id: clerk.id, scopes: ['issuers.organizations.members:manage'] }),
      201,
    )
    // Without accounts:manage the member is not an operator and cannot reach other accounts or their administrators.
    expectStatus(await clerk.api.get(acme.A), 404)
    expectStatus(await clerk.api.get(`${admins}/members`), 404)
    expectStatus(await clerk.api.post(`${admins}/members`, { member_id: clerk.id }), 404)
    expectStatus(await clerk.api.get(path), 404)
    expectStatus(await app.operator.patch(`${path}/${clerk.id}`, { scopes: ['accounts:manage', 'issuers:read'] }), 200)
    expectStatus(await clerk.api.get(acme.A), 200)
    expectStatus(await clerk.api.get(acme.I), 200)
    expectStatus(await clerk.api.get(`${acme.I}/users`), 403)
    expect(await accounts(clerk.api)).toEqual(expect.arrayContaining([acme.accountId, other.accountId]))
    const created = await clerk.api.graphql('mutation { createAccount(input: {}) { account { id } } }')
    expect(created.body.errors).toBeUndefined()
    const limited = await signInUser('clerk@example.com', 'accounts:read')
    expectStatus(await limited.get(acme.A), 404)
    expectStatus(await app.operator.delete(`${path}/${clerk.id}`), 204)
    expectStatus(await clerk.api.get(acme.A), 404)
  })

  test('the creator of an account does not become its administrator', async () => {
    const created = await app.operator.graphql('mutation { createAccount(input: {}) { account { adminOrgId } } }')
    const { adminOrgId } = created.body.data.createAccount.account
    const members = await app.operator.get(`${console.tenant.I}/organizations/${adminOrgId}/members`)
    expect(expectStatus(members, 200).data).toEqual([])
  })
})
