/**
 * Compares the query `permissions` with the decisions of the authorization check, for all kinds of callers, resource
 * paths and root fields. The operations have ids of missing resources and old versions in ifMatch, so that allowed
 * operations change nothing.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { callRootField, type RootField, readRootFields, restRouteOf } from '../contract/root-fields.js'
import {
  createTenantFixture,
  type FixtureIds,
  sendRouteRequest,
  type TenantFixture,
  uniqueName,
} from '../contract/tenant-fixture.js'
import { Realm } from '../idp/realm.js'
import {
  createMachineClient,
  createPersonalTokenClient,
  createRestrictedKey,
  createUser,
  expectStatus,
} from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

interface ResourcePath {
  accountId: string
  issuerId?: string
  orgId?: string
}

let app: TestApp
let mine: TenantFixture
let theirs: TenantFixture
let roots: RootField[]
const kinds = [
  'an account key with all scopes',
  'an account key with few scopes',
  'an account key without scopes',
  'an account key bound to an issuer',
  'an account key bound to an organization',
  'an organization key with all scopes',
  'an organization key with few scopes',
  'a machine client',
  'a personal token',
  'an administrator organization member',
  'the owner at the console',
  'an operator',
  "another tenant's key",
] as const
const callers = {} as Record<(typeof kinds)[number], ApiClient>
const paths: Record<string, ResourcePath> = {}

beforeAll(async () => {
  app = await startApp()
  mine = await createTenantFixture(app, 'Mine')
  theirs = await createTenantFixture(app, 'Theirs')
  roots = await readRootFields(mine.owner)
  const console = await signInAtConsole(mine)
  const { accountId, issuerId, I, ids, owner } = mine
  const orgId = ids.org_id
  Object.assign(paths, {
    account: { accountId },
    issuer: { accountId, issuerId },
    organization: { accountId, issuerId, orgId },
    "another tenant's organization": resourcePathOf(theirs),
    'the administrator organization': console.path,
  })

  const ofOrganization = async (restrictions: object): Promise<ApiClient> => {
    const body = { type: 'api_key', name: 'k', restrictions }
    const { data } = expectStatus(await owner.post(`${I}/organizations/${orgId}/api-keys`, body), 201)
    return createApiClient(app.baseUrl, { id: data.id, secret: data.secret_plain })
  }
  const few = ['issuers:read', 'issuers.users:manage', 'notes:write', 'issuers.organizations.members:delete', 'my:own']
  const scopes = ['issuers:read', 'issuers.clients:write', 'issuers.organizations.groups:manage']
  const userResponse = await owner.post(`${I}/users`, { username_type: 'unique', username: uniqueName('u'), scopes })
  Object.assign(callers, {
    'an account key with all scopes': owner,
    'an account key with few scopes': await createRestrictedKey(mine, { scopes: few }),
    'an account key without scopes': await createRestrictedKey(mine, { scopes: [] }),
    'an account key bound to an issuer': await createRestrictedKey(mine, { issuer_ids: [issuerId] }),
    'an account key bound to an organization': await createRestrictedKey(mine, { org_ids: [orgId], scopes: few }),
    'an organization key with all scopes': await ofOrganization({}),
    'an organization key with few scopes': await ofOrganization({ scopes: few }),
    'a machine client': await createMachineClient(mine, scopes),
    'a personal token': await createPersonalTokenClient(mine, expectStatus(userResponse, 201).data.id, {
      scopes: scopes.slice(1),
    }),
    'an administrator organization member': console.member,
    'the owner at the console': console.owner,
    'an operator': app.operator,
    "another tenant's key": theirs.owner,
  })
})
afterAll(() => app.close())

const resourcePathOf = ({ accountId, issuerId, ids }: TenantFixture): ResourcePath => ({
  accountId,
  issuerId,
  orgId: ids.org_id,
})

/** Signs in the owner of an account and a member of its administrator organization at the console. */
async function signInAtConsole(fixture: TenantFixture) {
  const [system] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${system.id}`
  const [issuer] = expectStatus(await app.operator.get(`${A}/issuers`), 200).data
  const I = `${A}/issuers/${issuer.id}`
  const realm = new Realm(app, { accountId: system.id, issuerId: issuer.id, A, I, owner: app.operator })
  const [client] = expectStatus(await app.operator.get(`${I}/clients`), 200).data
  const signedIn = async (username: string) => {
    const params = {
      redirect_uri: `${app.baseUrl}/console/callback`,
      scope: 'openid svc:all',
      resource: app.baseUrl,
    }
    const { access_token } = await realm.signInForTokens({ id: client.id, secret: undefined }, username, params)
    return createApiClient(app.baseUrl, access_token)
  }
  const [owner, member] = ['owner@example.com', 'member@example.com']
  const ownerId = await createUser(realm.tenant, owner)
  const memberId = await createUser(realm.tenant, member)
  const account = expectStatus(await app.operator.patch(fixture.A, { owner_user_id: ownerId }), 200).data
  const scopes = ['accounts:read', 'issuers:manage', 'issuers.users:read']
  expectStatus(
    await app.operator.post(`${I}/organizations/${account.admin_org_id}/members`, { member_id: memberId, scopes }),
    201,
  )
  const path = { accountId: system.id, issuerId: issuer.id, orgId: account.admin_org_id }
  return { owner: await signedIn(owner), member: await signedIn(member), path }
}

interface GrantedPermissions {
  scopes: string[]
  queries: string[]
  mutations: string[]
}

const permissionsQuery = `query ($accountId: ID!, $issuerId: ID, $orgId: ID) {
  permissions(accountId: $accountId, issuerId: $issuerId, orgId: $orgId) { scopes queries mutations } }`

/** Returns the permissions of the caller at a resource path; null for a 404. */
async function permissionsOf(api: ApiClient, path: ResourcePath): Promise<GrantedPermissions | null> {
  const { body } = await api.graphql(permissionsQuery, { ...path })
  if (body.errors) expect(body.errors[0].extensions).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  return body.errors ? null : body.data.permissions
}

/** Returns ids of missing resources below this path. */
function idsOfMissingResources({ accountId, issuerId, orgId }: ResourcePath): FixtureIds {
  const none = Object.entries(mine.ids).map(([name, id]) => [name, id.replace(/_[0-9a-z]{26}$/, `_${'0'.repeat(26)}`)])
  const at = { account_id: accountId, ...(issuerId && { issuer_id: issuerId }), ...(orgId && { org_id: orgId }) }
  return { ...(Object.fromEntries(none) as unknown as FixtureIds), domain: 'ghost.example', ...at }
}

const pathArguments = ['accountId', 'issuerId', 'orgId'] as const
/** Returns true when the path has every id that the field requires. */
const fitsPath = ({ args }: RootField, path: ResourcePath): boolean =>
  pathArguments.every(
    (name) => path[name] !== undefined || !args.some((arg) => arg.name === name && arg.type.endsWith('!')),
  )

/** Returns true for an error of the authorization check, and false for an error of the operation. */
const isAuthorizationError = (status: number, description: string | undefined): boolean =>
  [401, 403].includes(status) || (status === 404 && description === 'There is no such resource.')

/** Known decisions of the authorization check, by caller, root field and ids. */
const decisions = new Map<string, Promise<boolean>>()
function isAllowed(api: ApiClient, root: RootField, path: ResourcePath): Promise<boolean> {
  const ids = pathArguments.map((name) => root.args.some((arg) => arg.name === name) && path[name])
  const key = [api.authorization, root.name, ...ids].join()
  const result = decisions.get(key) ?? runAndCheck(api, root, path)
  decisions.set(key, result)
  return result
}

async function runAndCheck(api: ApiClient, root: RootField, path: ResourcePath): Promise<boolean> {
  const given = Object.entries(path).filter(([name]) => root.args.some((arg) => arg.name === name))
  const has = (name: string) => root.args.some((arg) => arg.name === name)
  const { answer: response, status } = await callRootField(api, root, idsOfMissingResources(path), {
    ...Object.fromEntries(given),
    ...(has('ifMatch') && { ifMatch: '"1"' }),
  })
  const [error] = response.body.errors ?? []
  const may = !isAuthorizationError(status, error?.message)
  await expectSameDecisionOverRest(api, root, path, may)
  return may
}

/** Callers with a part of the scopes. test/security/access-matrix.test.ts tests callers with all or no scopes. */
const callersOverRest = [
  'an account key with few scopes',
  'an account key bound to an issuer',
  'an organization key with few scopes',
  'a personal token',
  'an administrator organization member',
] as const

/** Sends the operation to `/v1` and expects the decision `may`. */
async function expectSameDecisionOverRest(
  api: ApiClient,
  root: RootField,
  path: ResourcePath,
  may: boolean,
): Promise<void> {
  const route = restRouteOf(root)
  // An optional id argument in GraphQL is a filter, which the REST path does not contain.
  const filtered = root.args.some(({ name, type }) => name in path && !type.endsWith('!'))
  if (!route || filtered || !callersOverRest.some((who) => callers[who] === api)) return
  const { status, body } = await sendRouteRequest(api, route, idsOfMissingResources(path), { 'if-match': '"1"' })
  expect([route.operation, !isAuthorizationError(status, body.error_description)]).toEqual([route.operation, may])
}

describe('permissions equals the decisions of the authorization check', () => {
  test.each(kinds)('%s', async (who) => {
    const api = callers[who]
    for (const [where, path] of Object.entries(paths)) {
      const permissions = await permissionsOf(api, path)
      const found: { may: string[]; listed: string[] } = { may: [], listed: [] }
      const check = async (root: RootField) => {
        // For a path that is 404, compares only operations with all ids of the path, which must be refused.
        const takesAllIds = pathArguments.every(
          (name) => path[name] === undefined || root.args.some((arg) => arg.name === name),
        )
        if (permissions === null && !takesAllIds) return
        const may = await isAllowed(api, root, path)
        if (may) found.may.push(root.name)
        const names = permissions?.[root.kind === 'query' ? 'queries' : 'mutations']
        if (names?.includes(root.name)) found.listed.push(root.name)
      }
      await Promise.all(roots.filter((candidate) => fitsPath(candidate, path)).map(check))
      expect({ who, where, ...found }).toEqual({ who, where, ...found, listed: found.may })
    }
  })
})

test('permissions lists each scope, including those that manage and svc:all include', async () => {
  const few = await permissionsOf(callers['an account key with few scopes'], paths['issuer']!)
  expect(few?.scopes).toEqual([
    'issuers.organizations.members:delete',
    'issuers.users:delete',
    'issuers.users:manage',
    'issuers.users:read',
    'issuers.users:write',
    'issuers:read',
    'notes:write',
  ])
  const all = await permissionsOf(mine.owner, paths['account']!)
  expect(all?.scopes).toHaveLength(22 * 4 + 1)
  expect(all?.scopes).toContain('svc:all')
  const member = await permissionsOf(callers['an administrator organization member'], paths['account']!)
  expect(member?.scopes).toEqual(
    [
      'accounts:read',
      'issuers.users:read',
      ...['delete', 'manage', 'read', 'write'].map((action) => `issuers:${action}`),
    ].sort(),
  )
})

test('a path with an issuer includes the operations of the account, and a path with an organization includes all operations', async () => {
  const results = await Promise.all(
    ['account', 'issuer', 'organization'].map((where) => permissionsOf(mine.owner, paths[where]!)),
  )
  expect(results.map((result) => result?.mutations.includes('updateAccount'))).toEqual([true, true, true])
  expect(results.map((result) => result?.mutations.includes('createUser'))).toEqual([false, true, true])
  expect(results.map((result) => result?.queries.includes('organizationMembers'))).toEqual([false, false, true])
  const everything = roots.map(({ name }) => name).filter((name) => name !== 'createAccount')
  expect([...(results[2]?.queries ?? []), ...(results[2]?.mutations ?? [])].sort()).toEqual(everything.sort())
})

test('a path with ids of another tenant, of a deleted issuer or with unknown ids is 404', async () => {
  const unknown = (prefix: string) => `${prefix}_${'0'.repeat(26)}`
  const { accountId, issuerId, ids } = mine
  const gone = expectStatus(await mine.owner.post(`${mine.A}/issuers`, { name: 'Gone' }), 201).data.id
  expectStatus(await mine.owner.delete(`${mine.A}/issuers/${gone}`), 204)
  for (const path of [
    { accountId: theirs.accountId },
    { accountId: unknown('acc') },
    { accountId, issuerId: theirs.issuerId },
    { accountId, issuerId: unknown('iss') },
    { accountId, issuerId: gone },
    { accountId, issuerId, orgId: theirs.ids.org_id },
    { accountId, issuerId: theirs.issuerId, orgId: ids.org_id },
  ]) {
    expect([path, await permissionsOf(mine.owner, path)]).toEqual([path, null])
  }
  expect(await permissionsOf(app.operator, { accountId: unknown('acc') })).toBeNull()
})

test('a path with an organization but without an issuer is 400', async () => {
  const { body } = await mine.owner.graphql(permissionsQuery, { accountId: mine.accountId, orgId: mine.ids.org_id })
  const details: AnyJson = body.errors[0].extensions
  expect(details).toMatchObject({ status: 400, details: [{ field: 'issuerId', code: 'required' }] })
})
