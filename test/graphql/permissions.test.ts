/**
 * `permissions` and the guard's verdicts, for every kind of caller, place and root field. Operations run on things that
 * never were and on versions that are not current, so that what passes the guard does no harm.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { callRoot, type Root, rootsOf, routeOf } from '../contract/roots.js'
import { fresh, type Ids, makeWorld, send, type World } from '../contract/world.js'
import { Realm } from '../idp/setup.js'
import { keyWith, machineWith, makeUser, must, scriptOf } from '../setup/actors.js'
import { type Api, apiAs, type Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

interface Place {
  accountId: string
  issuerId?: string
  orgId?: string
}

let app: TestApp
let mine: World
let theirs: World
let roots: Root[]
const kinds = [
  'an account key with all',
  'an account key with few scopes',
  'an account key with none',
  'an account key bound to an issuer',
  'an account key bound to an organization',
  'an organization key with all',
  'an organization key with few scopes',
  'a machine',
  'a personal token',
  'a member of the console',
  'the owner at the console',
  'an operator',
  "another tenant's key",
] as const
const callers = {} as Record<(typeof kinds)[number], Api>
const places: Record<string, Place> = {}

beforeAll(async () => {
  app = await startApp()
  mine = await makeWorld(app, 'Mine')
  theirs = await makeWorld(app, 'Theirs')
  roots = await rootsOf(mine.owner)
  const console = await consoleOf(mine)
  const { accountId, issuerId, I, ids, owner } = mine
  const orgId = ids.org_id
  Object.assign(places, {
    account: { accountId },
    issuer: { accountId, issuerId },
    organization: { accountId, issuerId, orgId },
    "another tenant's organization": placeOf(theirs),
    'the administrator organization': console.place,
  })

  const ofOrganization = async (restrictions: object): Promise<Api> => {
    const body = { type: 'api_key', name: 'k', restrictions }
    const { data } = must(await owner.post(`${I}/organizations/${orgId}/api-keys`, body), 201)
    return apiAs(app.baseUrl, { id: data.id, secret: data.secret_plain })
  }
  const few = ['issuers:read', 'issuers.users:manage', 'notes:write', 'issuers.organizations.members:delete', 'my:own']
  const scopes = ['issuers:read', 'issuers.clients:write', 'issuers.organizations.groups:manage']
  const made = await owner.post(`${I}/users`, { username_type: 'unique', username: fresh('u'), scopes })
  Object.assign(callers, {
    'an account key with all': owner,
    'an account key with few scopes': await keyWith(mine, { scopes: few }),
    'an account key with none': await keyWith(mine, { scopes: [] }),
    'an account key bound to an issuer': await keyWith(mine, { issuer_ids: [issuerId] }),
    'an account key bound to an organization': await keyWith(mine, { org_ids: [orgId], scopes: few }),
    'an organization key with all': await ofOrganization({}),
    'an organization key with few scopes': await ofOrganization({ scopes: few }),
    'a machine': await machineWith(mine, scopes),
    'a personal token': await scriptOf(mine, must(made, 201).data.id, { scopes: scopes.slice(1) }),
    'a member of the console': console.member,
    'the owner at the console': console.owner,
    'an operator': app.operator,
    "another tenant's key": theirs.owner,
  })
})
afterAll(() => app.close())

const placeOf = ({ accountId, issuerId, ids }: World): Place => ({ accountId, issuerId, orgId: ids.org_id })

/** The owner of an account, and a member of its administrator organization, signed in at the console. */
async function consoleOf(world: World) {
  const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${system.id}`
  const [issuer] = must(await app.operator.get(`${A}/issuers`), 200).data
  const I = `${A}/issuers/${issuer.id}`
  const realm = new Realm(app, { accountId: system.id, issuerId: issuer.id, A, I, owner: app.operator })
  const [client] = must(await app.operator.get(`${I}/clients`), 200).data
  const signedIn = async (username: string) => {
    const params = {
      redirect_uri: `${app.baseUrl}/console/callback`,
      scope: 'openid svc:all',
      resource: app.baseUrl,
    }
    const { access_token } = await realm.tokens({ id: client.id, secret: undefined }, username, params)
    return apiAs(app.baseUrl, access_token)
  }
  const [owner, member] = ['owner@example.com', 'member@example.com']
  const ownerId = await makeUser(realm.tenant, owner)
  const memberId = await makeUser(realm.tenant, member)
  const account = must(await app.operator.patch(world.A, { owner_user_id: ownerId }), 200).data
  const scopes = ['accounts:read', 'issuers:manage', 'issuers.users:read']
  must(
    await app.operator.post(`${I}/organizations/${account.admin_org_id}/members`, { member_id: memberId, scopes }),
    201,
  )
  const place = { accountId: system.id, issuerId: issuer.id, orgId: account.admin_org_id }
  return { owner: await signedIn(owner), member: await signedIn(member), place }
}

interface Told {
  scopes: string[]
  queries: string[]
  mutations: string[]
}

const question = `query ($accountId: ID!, $issuerId: ID, $orgId: ID) {
  permissions(accountId: $accountId, issuerId: $issuerId, orgId: $orgId) { scopes queries mutations } }`

/** What the caller is told of a place; null for a 404. */
async function permissionsOf(api: Api, place: Place): Promise<Told | null> {
  const { body } = await api.graphql(question, { ...place })
  if (body.errors) expect(body.errors[0].extensions).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  return body.errors ? null : body.data.permissions
}

/** Ids of things that never were, at this place. */
function ghosts({ accountId, issuerId, orgId }: Place): Ids {
  const none = Object.entries(mine.ids).map(([name, id]) => [name, id.replace(/_[0-9a-z]{26}$/, `_${'0'.repeat(26)}`)])
  const at = { account_id: accountId, ...(issuerId && { issuer_id: issuerId }), ...(orgId && { org_id: orgId }) }
  return { ...(Object.fromEntries(none) as unknown as Ids), domain: 'ghost.example', ...at }
}

const placeArgs = ['accountId', 'issuerId', 'orgId'] as const
/** Does this field run with the ids of the place? */
const runsAt = ({ args }: Root, place: Place): boolean =>
  placeArgs.every(
    (name) => place[name] !== undefined || !args.some((arg) => arg.name === name && arg.type.endsWith('!')),
  )

/** The guard's own words, as opposed to those of the rules behind it. */
const refusal = (status: number, description: string | undefined): boolean =>
  [401, 403].includes(status) || (status === 404 && description === 'There is no such resource.')

/** Did the guard let this root field through? With the same ids it is asked once. */
const verdicts = new Map<string, Promise<boolean>>()
function passes(api: Api, root: Root, place: Place): Promise<boolean> {
  const ids = placeArgs.map((name) => root.args.some((arg) => arg.name === name) && place[name])
  const key = [api.authorization, root.name, ...ids].join()
  const verdict = verdicts.get(key) ?? ask(api, root, place)
  verdicts.set(key, verdict)
  return verdict
}

async function ask(api: Api, root: Root, place: Place): Promise<boolean> {
  const given = Object.entries(place).filter(([name]) => root.args.some((arg) => arg.name === name))
  const has = (name: string) => root.args.some((arg) => arg.name === name)
  const { answer, status } = await callRoot(api, root, ghosts(place), {
    ...Object.fromEntries(given),
    ...(has('ifMatch') && { ifMatch: '"1"' }),
  })
  const [error] = answer.body.errors ?? []
  const may = !refusal(status, error?.message)
  await expectSameOfRest(api, root, place, may)
  return may
}

/** Callers of each kind that has more than one side to it; what has all or nothing is judged by the matrix. */
const overRest = [
  'an account key with few scopes',
  'an account key bound to an issuer',
  'an organization key with few scopes',
  'a personal token',
  'a member of the console',
] as const

/** The same operation over `/v1`, destructive ones too. */
async function expectSameOfRest(api: Api, root: Root, place: Place, may: boolean): Promise<void> {
  const route = routeOf(root)
  // A filter that GraphQL takes for a part of the place is none of the path.
  const filtered = root.args.some(({ name, type }) => name in place && !type.endsWith('!'))
  if (!route || filtered || !overRest.some((who) => callers[who] === api)) return
  const { status, body } = await send(api, route, ghosts(place), { 'if-match': '"1"' })
  expect([route.operation, !refusal(status, body.error_description)]).toEqual([route.operation, may])
}

describe('permissions never says anything else than what the guard then decides', () => {
  test.each(kinds)('%s', async (who) => {
    const api = callers[who]
    for (const [where, place] of Object.entries(places)) {
      const told = await permissionsOf(api, place)
      const found: { may: string[]; told: string[] } = { may: [], told: [] }
      const check = async (root: Root) => {
        // A place without permissions is one where nothing runs that names it whole.
        const whole = placeArgs.every((name) => place[name] === undefined || root.args.some((arg) => arg.name === name))
        if (told === null && !whole) return
        const may = await passes(api, root, place)
        if (may) found.may.push(root.name)
        const names = told?.[root.kind === 'query' ? 'queries' : 'mutations']
        if (names?.includes(root.name)) found.told.push(root.name)
      }
      await Promise.all(roots.filter((candidate) => runsAt(candidate, place)).map(check))
      expect({ who, where, ...found }).toEqual({ who, where, ...found, told: found.may })
    }
  })
})

test('scopes are told one by one: what manage and svc:all imply is named', async () => {
  const few = await permissionsOf(callers['an account key with few scopes'], places['issuer']!)
  expect(few?.scopes).toEqual([
    'issuers.organizations.members:delete',
    'issuers.users:delete',
    'issuers.users:manage',
    'issuers.users:read',
    'issuers.users:write',
    'issuers:read',
    'notes:write',
  ])
  const all = await permissionsOf(mine.owner, places['account']!)
  expect(all?.scopes).toHaveLength(22 * 4 + 1)
  expect(all?.scopes).toContain('svc:all')
  const member = await permissionsOf(callers['a member of the console'], places['account']!)
  expect(member?.scopes).toEqual(
    [
      'accounts:read',
      'issuers.users:read',
      ...['delete', 'manage', 'read', 'write'].map((action) => `issuers:${action}`),
    ].sort(),
  )
})

test('with the ids of an issuer the operations of its account are told as well, with those of an organization all', async () => {
  const told = await Promise.all(
    ['account', 'issuer', 'organization'].map((where) => permissionsOf(mine.owner, places[where]!)),
  )
  expect(told.map((answer) => answer?.mutations.includes('updateAccount'))).toEqual([true, true, true])
  expect(told.map((answer) => answer?.mutations.includes('createUser'))).toEqual([false, true, true])
  expect(told.map((answer) => answer?.queries.includes('organizationMembers'))).toEqual([false, false, true])
  const everything = roots.map(({ name }) => name).filter((name) => name !== 'createAccount')
  expect([...(told[2]?.queries ?? []), ...(told[2]?.mutations ?? [])].sort()).toEqual(everything.sort())
})

test("a place that is another tenant's, gone or never was is the same 404", async () => {
  const unknown = (prefix: string) => `${prefix}_${'0'.repeat(26)}`
  const { accountId, issuerId, ids } = mine
  const gone = must(await mine.owner.post(`${mine.A}/issuers`, { name: 'Gone' }), 201).data.id
  must(await mine.owner.delete(`${mine.A}/issuers/${gone}`), 204)
  for (const place of [
    { accountId: theirs.accountId },
    { accountId: unknown('acc') },
    { accountId, issuerId: theirs.issuerId },
    { accountId, issuerId: unknown('iss') },
    { accountId, issuerId: gone },
    { accountId, issuerId, orgId: theirs.ids.org_id },
    { accountId, issuerId: theirs.issuerId, orgId: ids.org_id },
  ]) {
    expect([place, await permissionsOf(mine.owner, place)]).toEqual([place, null])
  }
  expect(await permissionsOf(app.operator, { accountId: unknown('acc') })).toBeNull()
})

test('an organization without its issuer is 400', async () => {
  const { body } = await mine.owner.graphql(question, { accountId: mine.accountId, orgId: mine.ids.org_id })
  const details: Loose = body.errors[0].extensions
  expect(details).toMatchObject({ status: 400, details: [{ field: 'issuerId', code: 'required' }] })
})
