/**
 * The state table of docs/contract.md#states-and-transitions, row by row with the side effects, and the transitions of
 * docs/contract.md#key-operations-and-status-transitions. Sessions, domains, webhooks and payment methods have their
 * own test files.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { TestBrowser } from '../idp/browser.js'
import { jwtClaims, Realm, redirectParametersOf, type TestClient } from '../idp/realm.js'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { uniqueName } from './tenant-fixture.js'

const DAY = 86_400_000

let app: TestApp
let realm: Realm
let owner: ApiClient
let A: string
let I: string
let web: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'States')
  owner = realm.tenant.owner
  A = realm.tenant.A
  I = realm.tenant.I
  web = await realm.createClient({}, { confidential: true })
})
afterAll(() => app.close())

const id = async (path: string, body: object): Promise<string> =>
  expectStatus(await owner.post(path, body), 201).data.id
const statusOf = async (path: string): Promise<string> => expectStatus(await owner.get(path), 200).data.status
const move = async (path: string, body: object, api = owner): Promise<AnyJson> =>
  expectStatus(await api.patch(path, body), 200)
const user = (more: object = {}) => id(`${I}/users`, { username_type: 'unique', username: uniqueName('user'), ...more })
const agent = () => id(`${I}/agents`, { name: uniqueName('agent') })
const organization = (more: object = {}) => id(`${I}/organizations`, { name: uniqueName('org'), ...more })
/** Returns the types of the events that the account records while a function runs. */
async function recordedTypesDuring(work: () => Promise<unknown>, ...begins: string[]): Promise<string[]> {
  const heard = await eventsRecordedFromNow(app, realm.tenant.accountId)
  await work()
  return (await heard(...begins)).map(({ type }) => type)
}
/** Creates a user and signs the user in. Returns the user and the tokens. */
async function signInUser(client = web, params = {}) {
  const username = `${uniqueName('ada')}@example.com`
  const userId = await realm.createUser(username)
  return { username, userId, path: `${I}/users/${userId}`, ...(await realm.signInForTokens(client, username, params)) }
}
const userinfo = async (token: string) => (await realm.userinfo(token)).status
async function personalToken(userId: string) {
  const body = { type: 'personal_token', name: 'script', restrictions: {} }
  const { data } = expectStatus(await owner.post(`${I}/users/${userId}/tokens`, body), 201)
  return {
    path: `${A}/tokens/${data.id}`,
    use: async () => (await createApiClient(app.baseUrl, data.token_plain).get(I)).status,
  }
}
async function apiKey() {
  const key = await createRestrictedKey(realm.tenant, {})
  return { path: `${A}/api-keys/${key.keyId}`, use: async () => (await key.get(A)).status }
}
/** Returns the status of the response to an authorization request of a client: 200 for the sign-in page. */
const isRefusedAtAuthorize = async (client: TestClient) =>
  (await new TestBrowser('nowhere').open(realm.authorizeUrl(client))).status

type Row = [
  resource: string,
  state: string,
  trigger: string,
  condition: string,
  next: string,
  effects: string,
  run: () => Promise<void>,
]

const rows: Row[] = [
  [
    'API key',
    'active',
    'block',
    '',
    'blocked',
    'authentication fails immediately',
    async () => {
      const key = await apiKey()
      expect(await key.use()).toBe(200)
      expect(await recordedTypesDuring(async () => expectStatus(await owner.post(`${key.path}/block`), 200))).toEqual([
        'api_key.blocked',
      ])
      expect([await statusOf(key.path), await key.use()]).toEqual(['blocked', 401])
    },
  ],
  [
    'API key',
    'blocked',
    'unblock',
    'only blocked keys',
    'active',
    'usable immediately',
    async () => {
      const key = await apiKey()
      expectStatus(await owner.post(`${key.path}/unblock`), 400)
      expectStatus(await owner.post(`${key.path}/block`), 200)
      expect(await recordedTypesDuring(async () => expectStatus(await owner.post(`${key.path}/unblock`), 200))).toEqual(
        ['api_key.unblocked'],
      )
      expect([await statusOf(key.path), await key.use()]).toEqual(['active', 200])
    },
  ],
  [
    'API key',
    '(non-revoked)',
    'revoke or DELETE',
    '',
    'revoked',
    'permanent; revoked keys cannot be restored; data kept 31 days',
    async () => {
      const ways: [string, (path: string) => Promise<unknown>][] = [
        ['active', async (path) => expectStatus(await owner.post(`${path}/revoke`), 200)],
        ['active', async (path) => expectStatus(await owner.delete(path), 204)],
        ['blocked', async (path) => expectStatus(await owner.post(`${path}/revoke`), 200)],
        ['blocked', async (path) => expectStatus(await owner.delete(path), 204)],
      ]
      for (const [from, end] of ways) {
        const key = await apiKey()
        if (from === 'blocked') expectStatus(await owner.post(`${key.path}/block`), 200)
        expect(await recordedTypesDuring(() => end(key.path))).toEqual(['api_key.revoked'])
        expect([await statusOf(key.path), await key.use()]).toEqual(['revoked', 401])
        for (const action of ['unblock', 'block', 'rotate'])
          expectStatus(await owner.post(`${key.path}/${action}`), 400)
        expectStatus(await owner.delete(key.path), 404)
        app.clock.advance(31 * DAY - 60_000)
        expect(await statusOf(key.path)).toBe('revoked')
        app.clock.advance(60_000)
        expectStatus(await owner.get(key.path), 404)
      }
    },
  ],
  [
    'Personal token',
    'any',
    'revoke or DELETE',
    '',
    'revoked',
    'permanent; data kept 31 days',
    async () => {
      for (const end of [
        async (path: string) => expectStatus(await owner.post(`${path}/revoke`), 200),
        async (path: string) => expectStatus(await owner.delete(path), 204),
      ]) {
        const token = await personalToken(await user({ scopes: ['issuers:read'] }))
        expect(await token.use()).toBe(200)
        expect(await recordedTypesDuring(() => end(token.path))).toEqual(['personal_token.revoked'])
        expect([await statusOf(token.path), await token.use()]).toEqual(['revoked', 401])
        app.clock.advance(31 * DAY - 60_000)
        expect(await statusOf(token.path)).toBe('revoked')
        app.clock.advance(60_000)
        expectStatus(await owner.get(token.path), 404)
      }
    },
  ],
  ...(['suspended', 'blocked'] as const).map(
    (status): Row => [
      'Agent',
      'active',
      `PATCH status ${status}`,
      '`status_reason` required',
      status,
      'cannot authenticate or change verifiers',
      async () => {
        const path = `${I}/agents/${await agent()}`
        const verifier = await id(`${path}/verifiers`, { type: 'secret', name: null })
        expectStatus(await owner.patch(path, { status }), 400)
        expect(await recordedTypesDuring(() => move(path, { status, status_reason: 'test' }))).toEqual([
          'agent.updated',
        ])
        expect(await statusOf(path)).toBe(status)
        expectStatus(await owner.post(`${path}/verifiers`, { type: 'secret', name: null }), 400)
        expectStatus(await owner.delete(`${path}/verifiers/${verifier}`), 400)
      },
    ],
  ),
  [
    'Agent',
    'suspended',
    'PATCH status active',
    '',
    'active',
    '',
    async () => {
      const path = `${I}/agents/${await agent()}`
      await move(path, { status: 'suspended', status_reason: 'test' })
      await move(path, { status: 'active' })
      expect(await statusOf(path)).toBe('active')
      expectStatus(await owner.post(`${path}/verifiers`, { type: 'secret', name: null }), 201)
    },
  ],
  [
    'User',
    'pending_approval',
    'approval action approve',
    '',
    'active',
    'event `user.approval.approved`',
    async () => {
      const waiting = await user({ requires_approval: true })
      expect(await statusOf(`${I}/users/${waiting}`)).toBe('pending_approval')
      const decide = () => move(`${I}/approvals/${waiting}`, { action: 'approve' })
      expect(await recordedTypesDuring(decide, 'user.approval')).toEqual(['user.approval.approved'])
      expect(await statusOf(`${I}/users/${waiting}`)).toBe('active')
    },
  ],
  [
    'User',
    'pending_approval',
    'approval action reject',
    'reason required',
    'blocked',
    'event `user.approval.rejected`',
    async () => {
      const waiting = await user({ requires_approval: true })
      expectStatus(await owner.patch(`${I}/approvals/${waiting}`, { action: 'reject' }), 400)
      const decide = () => move(`${I}/approvals/${waiting}`, { action: 'reject', reason: 'unknown here' })
      expect(await recordedTypesDuring(decide, 'user.approval')).toEqual(['user.approval.rejected'])
      expect(await statusOf(`${I}/users/${waiting}`)).toBe('blocked')
    },
  ],
  [
    'User',
    'any',
    'DELETE',
    '',
    'pending_deletion',
    'sessions and personal tokens revoked; cannot log in or be modified; later GET returns 404; repeat DELETE returns 202',
    async () => {
      for (const status of ['active', 'suspended', 'blocked']) {
        const { username, userId, path, access_token, refresh_token, browser } = await signInUser()
        await move(path, { scopes: ['issuers:read'] })
        const token = await personalToken(userId)
        if (status !== 'active') await move(path, { status })
        const types = await recordedTypesDuring(async () => expectStatus(await owner.delete(path), 202))
        expect(types).toEqual(expect.arrayContaining(['user.deleted', 'personal_token.revoked']))
        // Suspending and blocking have already ended the sessions.
        expect(types.includes('session.terminated')).toBe(status === 'active')
        expect([await userinfo(access_token), await token.use()]).toEqual([401, 401])
        expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
        expect(redirectParametersOf((await realm.openSignInPage(web, { prompt: 'none' }, browser)).page)['error']).toBe(
          'login_required',
        )
        await expect(realm.signIn(web, username)).rejects.toThrow('expected a redirect, but got a page')
        expectStatus(await owner.get(path), 404)
        expectStatus(await owner.patch(path, { profile: {} }), 404)
        expectStatus(await owner.delete(path), 202)
      }
    },
  ],
  [
    'User',
    'active',
    'PATCH status suspended',
    '',
    'suspended',
    'all sessions invalidated',
    async () => {
      const { path, access_token, refresh_token } = await signInUser()
      const types = await recordedTypesDuring(() => move(path, { status: 'suspended' }))
      expect(types).toEqual(expect.arrayContaining(['user.status.changed', 'session.terminated']))
      expect([await statusOf(path), await userinfo(access_token)]).toEqual(['suspended', 401])
      expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
      const { data } = expectStatus(await owner.get(`${path}/sessions`), 200)
      expect(data.map(({ status }: AnyJson) => status)).toEqual(['revoked'])
    },
  ],
  [
    'Client',
    'active',
    'PATCH status disabled',
    '',
    'disabled',
    're-enabling requires valid redirect URI lists',
    async () => {
      const client = await realm.createClient({}, { confidential: true })
      const path = `${I}/clients/${client.id}`
      await move(path, { status: 'disabled' })
      expect([await statusOf(path), await isRefusedAtAuthorize(client)]).toEqual(['disabled', 400])
      const stale = { openid: { post_logout_redirect_uris: ['http://remote.example/bye'] } }
      // The settings can be invalid if they were written before a rule became stricter.
      await app.gatehouse.database.prisma.client.update({ where: { id: client.id }, data: { settings: stale } })
      expectStatus(await owner.patch(path, { status: 'active' }), 400)
      const openid = { post_logout_redirect_uris: [], redirect_uris: ['https://app.example.com/callback'] }
      await move(path, { status: 'active', settings: { openid } })
      expect([await statusOf(path), await isRefusedAtAuthorize(client)]).toEqual(['active', 200])
    },
  ],
  [
    'Client',
    'active, disabled',
    'DELETE',
    '',
    'deleted',
    'soft delete; data kept 31 days; flows fail; already-issued tokens stay valid until expiry',
    async () => {
      for (const status of ['active', 'disabled']) {
        const client = await realm.createClient({}, { confidential: true, settings: { default_access_token_age: 600 } })
        const path = `${I}/clients/${client.id}`
        const { access_token, refresh_token } = await signInUser(client)
        if (status === 'disabled') await move(path, { status })
        expect(await recordedTypesDuring(async () => expectStatus(await owner.delete(path), 204))).toEqual([
          'client.deleted',
        ])
        for (const response of [await owner.get(path), await owner.delete(path)]) expectStatus(response, 404)
        expect(await isRefusedAtAuthorize(client)).toBe(400)
        expect((await realm.refresh(client, refresh_token)).body.error).toBe('invalid_client')
        expect(await userinfo(access_token)).toBe(200)
        app.clock.advance(600_000)
        expect(await userinfo(access_token)).toBe(401)
        const listed = async () => {
          const { data } = expectStatus(await owner.get(`${I}/clients?status=deleted&limit=100`), 200)
          return data.some((row: AnyJson) => row.id === client.id)
        }
        app.clock.advance(31 * DAY - 660_000)
        expect(await listed()).toBe(true)
        app.clock.advance(60_000)
        expect(await listed()).toBe(false)
      }
    },
  ],
  [
    'Issuer',
    'any',
    'DELETE',
    '',
    'deleted',
    'soft delete with grace period; logins fail; issuer endpoints return 404; clients soft-deleted',
    async () => {
      for (const status of ['active', 'disabled', 'suspended']) {
        const other = await Realm.create(app, status)
        await other.createUser('ada@example.com')
        const client = await other.createClient({}, { confidential: true })
        const { refresh_token, access_token } = await other.signInForTokens(client, 'ada@example.com')
        if (status !== 'active') await move(other.tenant.I, { status }, app.operator)
        const heard = await eventsRecordedFromNow(app, other.tenant.accountId)
        expectStatus(await other.tenant.owner.delete(other.tenant.I), 204)
        const types = (await heard()).map(({ type }) => type)
        expect(types).toEqual(expect.arrayContaining(['issuer.deleted', 'client.deleted']))
        for (const path of ['/jwks.json', '/.well-known/openid-configuration', `/authorize?client_id=${client.id}`])
          expect((await fetch(other.url + path)).status).toBe(404)
        expect((await other.refresh(client, refresh_token)).status).toBe(404)
        expect((await other.userinfo(access_token)).status).toBe(404)
        expectStatus(await other.tenant.owner.get(other.tenant.I), 404)
        expectStatus(await other.tenant.owner.delete(other.tenant.I), 404)
      }
    },
  ],
  [
    'Organization member',
    'active',
    'PATCH status suspended',
    '',
    'suspended',
    'access blocked immediately',
    async () => {
      const { member, selected, plain } = await memberSignedIn()
      const types = await recordedTypesDuring(() => move(member, { status: 'suspended' }))
      expect(types).toEqual(['organization.membership.updated'])
      expect(await statusOf(member)).toBe('suspended')
      expect((await realm.refresh(web, selected)).body.error).toBe('invalid_grant')
      expect(jwtClaims((await realm.refresh(web, plain)).body.access_token).organizations).toBeUndefined()
    },
  ],
  [
    'Organization member',
    'suspended',
    'PATCH status active',
    '',
    'active',
    'access restored',
    async () => {
      const { member, plain, org } = await memberSignedIn()
      await move(member, { status: 'suspended' })
      await move(member, { status: 'active' })
      expect(await statusOf(member)).toBe('active')
      const { organizations } = jwtClaims((await realm.refresh(web, plain)).body.access_token)
      expect(organizations).toMatchObject([{ id: org, scopes: ['docs:read'] }])
    },
  ],
  [
    'Organization',
    'any',
    'DELETE',
    '',
    'removed',
    'permanent; no grace period; org API keys revoked first (abort if that fails); members removed; users kept',
    async () => {
      for (const status of ['active', 'suspended']) {
        const { org, member, userPath, plain } = await memberSignedIn()
        const path = `${I}/organizations/${org}`
        const key = expectStatus(
          await owner.post(`${path}/api-keys`, { type: 'api_key', name: 'k', restrictions: {} }),
          201,
        ).data
        if (status === 'suspended') await move(path, { status })
        const types = await recordedTypesDuring(async () => expectStatus(await owner.delete(path), 204))
        expect(types.indexOf('api_key.revoked')).toBeLessThan(types.indexOf('organization.deleted'))
        expect(types).toEqual(expect.arrayContaining(['api_key.revoked', 'organization.deleted']))
        for (const gone of [path, member]) expectStatus(await owner.get(gone), 404)
        expectStatus(await owner.delete(path), 404)
        expectStatus(await createApiClient(app.baseUrl, { id: key.id, secret: key.secret_plain }).get(path), 401)
        expect(await statusOf(userPath)).toBe('active')
        expect(jwtClaims((await realm.refresh(web, plain)).body.access_token).organizations).toBeUndefined()
      }
    },
  ],
]

/**
 * Creates a member of a new organization and signs the member in twice. Returns the refresh token of the sign-in without
 * a selected organization as `plain`, and the one of the sign-in with the organization as `selected`.
 */
async function memberSignedIn() {
  const org = await organization({ default_member_scopes: ['docs:read'] })
  const username = `${uniqueName('member')}@example.com`
  const userId = await realm.createUser(username)
  expectStatus(await owner.post(`${I}/organizations/${org}/members`, { member_id: userId }), 201)
  const plain = (await realm.signInForTokens(web, username)).refresh_token
  const selected = (await realm.signInForTokens(web, username, { org })).refresh_token
  return {
    org,
    member: `${I}/organizations/${org}/members/${userId}`,
    userPath: `${I}/users/${userId}`,
    plain,
    selected,
  }
}

describe('state table', () => {
  test.each(rows)('%s | %s | %s | %s | %s | %s', (...row) => row[6]())
})

/** The HTTP status code of a PATCH, by the status before it and the status that it sets. */
const patches: [what: string, make: () => Promise<string>, moves: Record<string, Record<string, number>>][] = [
  [
    'issuer',
    async () => `${A}/issuers/${await id(`${A}/issuers`, { name: uniqueName('issuer') })}`,
    {
      active: { disabled: 200, suspended: 403, deleted: 400 },
      disabled: { active: 200, suspended: 403, deleted: 400 },
      // Only an operator can reactivate an issuer that an operator has suspended.
      suspended: { active: 403, disabled: 403, deleted: 400 },
    },
  ],
  [
    'organization',
    async () => `${I}/organizations/${await organization()}`,
    {
      active: { suspended: 200, deleted: 400 },
      suspended: { active: 200, deleted: 400 },
    },
  ],
  [
    'user',
    async () => `${I}/users/${await user()}`,
    {
      active: {
        suspended: 200,
        blocked: 200,
        disabled: 400,
        deleted: 400,
        pending_approval: 400,
        pending_deletion: 400,
      },
      suspended: {
        active: 200,
        blocked: 200,
        disabled: 400,
        deleted: 400,
        pending_approval: 400,
        pending_deletion: 400,
      },
      blocked: {
        active: 200,
        suspended: 200,
        disabled: 400,
        deleted: 400,
        pending_approval: 400,
        pending_deletion: 400,
      },
      pending_approval: { active: 400, suspended: 400, blocked: 400 },
      disabled: { active: 400, suspended: 400, blocked: 400 },
      pending_deletion: { active: 404, suspended: 404 },
      deleted: { active: 404, suspended: 404 },
    },
  ],
  [
    'client',
    async () => `${I}/clients/${(await realm.createClient()).id}`,
    {
      active: { disabled: 200, deleted: 400 },
      disabled: { active: 200, deleted: 400 },
      deleted: { active: 404, disabled: 404 },
    },
  ],
  [
    'agent',
    async () => `${I}/agents/${await agent()}`,
    {
      active: { suspended: 200, blocked: 200, deleted: 400 },
      suspended: { active: 200, blocked: 200 },
      blocked: { active: 400, suspended: 400 },
    },
  ],
  [
    'organization member',
    async () => (await memberSignedIn()).member,
    {
      active: { suspended: 200, deleted: 400 },
      suspended: { active: 200, deleted: 400 },
    },
  ],
]

const tables = { issuer: 'issuers', organization: 'organizations', user: 'users', client: 'clients', agent: 'agents' }

describe('PATCH of a status', () => {
  const cases = patches.flatMap(([what, make, moves]) =>
    Object.entries(moves).flatMap(([from, statuses]) =>
      Object.entries(statuses).map(([to, expected]) => [what, from, to, expected, make] as const),
    ),
  )
  test.each(cases)('%s: %s → %s is %i', async (what, from, to, expected, make) => {
    const path = await make()
    const reason = what === 'agent' && to !== 'active' ? { status_reason: 'test' } : {}
    const table = tables[what as keyof typeof tables]
    if (from !== 'active') {
      if (!table) await move(path, { status: from })
      else {
        // A PATCH cannot set every status, so the status is written to the database directly.
        const row = path.split('/').at(-1)
        await app.gatehouse.database.pool.query(`UPDATE ${table} SET status = $1 WHERE id = $2`, [from, row])
      }
    }
    expectStatus(await owner.patch(path, { status: to, ...reason }), expected)
    if (expected !== 404) expect(await statusOf(path)).toBe(expected === 200 ? to : from)
  })

  test('only operators suspend and reactivate an issuer', async () => {
    const path = await patches[0]![1]()
    await move(path, { status: 'suspended' }, app.operator)
    await move(path, { status: 'active' }, app.operator)
    expect(await statusOf(path)).toBe('active')
  })
})

describe('actions on keys', () => {
  test.each([
    ['active', 'block', 200],
    ['active', 'unblock', 400],
    ['active', 'revoke', 200],
    ['blocked', 'block', 400],
    ['blocked', 'unblock', 200],
    ['blocked', 'revoke', 200],
    ['expired', 'block', 400],
    ['expired', 'unblock', 400],
    ['expired', 'revoke', 200],
    ['revoked', 'block', 400],
    ['revoked', 'unblock', 400],
    ['revoked', 'revoke', 200],
  ])('an API key that is %s: %s is %i', async (from, action, expected) => {
    const more = from === 'expired' ? { expires_at: app.clock.now() + 1000 } : {}
    const path = `${A}/api-keys/${(await createRestrictedKey(realm.tenant, {}, more)).keyId}`
    if (from === 'expired') app.clock.advance(1000)
    if (from === 'blocked') expectStatus(await owner.post(`${path}/block`), 200)
    if (from === 'revoked') expectStatus(await owner.post(`${path}/revoke`), 200)
    const before = expectStatus(await owner.get(path), 200).data
    expect(before.status).toBe(from)
    expectStatus(await owner.post(`${path}/${action}`), expected)
    const after = expectStatus(await owner.get(path), 200).data
    const next: Record<string, string> = { block: 'blocked', unblock: 'active', revoke: 'revoked' }
    expect(after.status).toBe(expected === 200 ? next[action] : from)
    if (from === 'revoked') expect(after).toEqual(before)
  })

  test('a personal token is blocked or suspended with its user and cannot be blocked itself', async () => {
    const userId = await user({ scopes: ['issuers:read'] })
    const token = await personalToken(userId)
    for (const status of ['blocked', 'suspended']) {
      await move(`${I}/users/${userId}`, { status })
      expect([await statusOf(token.path), await token.use()]).toEqual([status, 401])
      await move(`${I}/users/${userId}`, { status: 'active' })
      expect([await statusOf(token.path), await token.use()]).toEqual(['active', 200])
    }
    for (const action of ['block', 'unblock']) expectStatus(await owner.post(`${token.path}/${action}`), 404)
  })
})
