/** Sessions (docs/contract.md#sessions, docs/contract.md#session-endpoints, docs/contract.md#session-fields). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { PASSWORD, Realm, type TestClient } from '../idp/realm.js'
import { expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { createSession } from '../setup/sessions.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { uniqueName } from './tenant-fixture.js'

let app: TestApp
let realm: Realm
let theirs: Realm
let mine: Tenant
let owner: ApiClient
let client: TestClient
let userId: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Mine')
  theirs = await Realm.create(app, 'Theirs')
  mine = realm.tenant
  owner = mine.owner
  client = await realm.createClient({ grant_types: ['authorization_code', 'refresh_token'] })
})
afterAll(() => app.close())
beforeEach(async () => {
  userId = expectStatus(
    await owner.post(`${mine.I}/users`, { username_type: 'unique', username: uniqueName('u') }),
    201,
  ).data.id
})

const create = (more: Parameters<typeof createSession>[3] = {}) => createSession(app, mine, userId, more)
const at = (id: string) => `${mine.I}/sessions/${id}`
const read = async (id: string) => expectStatus(await owner.get(at(id)), 200).data
const stateOf = async (id: string) => (await read(id)).status
const revoke = (id: string, body: object = { reason: 'admin_action' }) => owner.post(`${at(id)}/revoke`, body)
const suspend = (id: string, body: object = { reason: 'risk_review' }) => owner.post(`${at(id)}/suspend`, body)
const reactivate = (id: string) => owner.post(`${at(id)}/reactivate`)

/** Creates one session in each state. Returns their ids by state. */
async function createSessionOfEachStatus() {
  const ids = {
    active: await create({ idle: 60_000 }),
    inactive: await create({ idle: 1 }),
    suspended: await create({ idle: 60_000 }),
    revoked: await create(),
    expired: await create({ lives: 1 }),
  }
  expectStatus(await suspend(ids.suspended), 200)
  expectStatus(await revoke(ids.revoked), 200)
  return ids
}

test('a session has all documented fields and an ETag', async () => {
  const id = await create({ idle: 60_000 })
  const response = await owner.get(at(id))
  expect(response.status).toBe(200)
  const { data } = response.body
  expect(data).toEqual({
    id,
    user_id: userId,
    client_id: expect.stringMatching(/^cli_/),
    issuer_id: mine.issuerId,
    org_id: null,
    status: 'active',
    device: { user_agent: 'Test/1', ip_address: '192.0.2.7', fingerprint: null },
    auth_time: Math.floor(data.created_at / 1000),
    acr: 'urn:svc:method:password',
    amr: ['pwd'],
    access_token_jti: [],
    refresh_token_jti: [],
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
    last_activity_at: expect.any(Number),
    expires_at: expect.any(Number),
    idle_expires_at: expect.any(Number),
    revoked_at: null,
    revocation_reason: null,
    suspended_at: null,
    suspension_reason: null,
    reason_details: null,
  })
  expect(response.headers.get('etag')).toBe(`"${data.updated_at}"`)
})

test('sessions of a user are listed newest first, in pages, with their current state', async () => {
  const ids = await createSessionOfEachStatus()
  const path = `${mine.I}/users/${userId}/sessions`
  const all = (await owner.get(path)).body
  expect(all).toMatchObject({ next_cursor: null, has_more: false })
  expect(all.data.map(({ id, status }: AnyJson) => [id, status])).toEqual(
    Object.entries(ids)
      .map(([status, id]) => [id, status])
      .reverse(),
  )
  for (const [status, id] of Object.entries(ids)) {
    const { data } = (await owner.get(`${path}?status=${status}`)).body
    expect(data.map((session: AnyJson) => [session.id, session.status])).toEqual([[id, status]])
  }
  const pages: string[] = []
  for (let cursor = ''; cursor !== null; ) {
    const { body } = await owner.get(`${path}?limit=2${cursor && `&cursor=${cursor}`}`)
    pages.push(...body.data.map(({ id }: AnyJson) => id))
    cursor = body.next_cursor
  }
  expect(pages).toEqual(all.data.map(({ id }: AnyJson) => id))
  expect((await owner.get(`${path}?status=gone`)).body.details).toMatchObject([{ field: 'status' }])
  expect((await owner.get(`${path}?limit=0`)).status).toBe(400)
  expect((await owner.get(`${path}?cursor=usr_1`)).status).toBe(400)
})

test('the list of a user without sessions is empty; of a deleted or unknown user it is 404', async () => {
  const path = `${mine.I}/users/${userId}/sessions`
  expect((await owner.get(path)).body).toEqual({ data: [], next_cursor: null, has_more: false })
  await create()
  expectStatus(await owner.delete(`${mine.I}/users/${userId}`), 202)
  expect((await owner.get(path)).status).toBe(404)
  expect((await owner.get(`${mine.I}/users/usr_${'0'.repeat(26)}/sessions`)).status).toBe(404)
})

test('a session of another issuer or account is the same 404 as an unknown one, at every endpoint', async () => {
  const id = await create()
  const second = expectStatus(await owner.post(`${mine.A}/issuers`, { name: 'Second' }), 201).data
  const unknown = await owner.get(at(`ses_${'0'.repeat(26)}`))
  for (const [api, path] of [
    [theirs.tenant.owner, `${theirs.tenant.I}/sessions/${id}`],
    [theirs.tenant.owner, at(id)],
    [owner, `${mine.A}/issuers/${second.id}/sessions/${id}`],
    [owner, at('x')],
  ] as const) {
    const responses = [
      await api.get(path),
      await api.post(`${path}/revoke`, { reason: 'other' }),
      await api.post(`${path}/suspend`, { reason: 'other' }),
      await api.post(`${path}/reactivate`),
    ]
    expect(responses.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    if (api === owner) expect({ ...responses[0]!.body, request_id: '' }).toEqual({ ...unknown.body, request_id: '' })
  }
  expect(await stateOf(id)).toBe('active')
})

describe('revoke: active, suspended and inactive to revoked', () => {
  test.each(['active', 'suspended', 'inactive'] as const)('%s', async (state) => {
    const { [state]: id } = await createSessionOfEachStatus()
    const heard = await eventsRecordedFromNow(app, mine.accountId)
    const before = await read(id)
    const response = await revoke(id, { reason: 'security_event', reason_details: 'Seen elsewhere' })
    expect(response.status).toBe(200)
    expect(response.body.data).toMatchObject({
      id,
      status: 'revoked',
      revoked_at: expect.any(Number),
      revocation_reason: 'security_event',
      reason_details: 'Seen elsewhere',
    })
    expect(response.body.data.updated_at).toBeGreaterThan(before.updated_at)
    expect(response.headers.get('etag')).toBe(`"${response.body.data.updated_at}"`)
    expect(await heard()).toMatchObject([
      { type: 'session.terminated', sessionId: id, userId, data: { reason: 'security_event' } },
    ])
  })

  test.each(['revoked', 'expired'] as const)('a session that is %s has ended: 400', async (state) => {
    const { [state]: id } = await createSessionOfEachStatus()
    const heard = await eventsRecordedFromNow(app, mine.accountId)
    for (const response of [await revoke(id), await suspend(id), await reactivate(id)]) {
      expect(response.status).toBe(400)
      expect(response.body.error_description).toContain(state)
    }
    expect(await heard()).toEqual([])
  })

  test('revoke_all_user_sessions ends every session of the user that has not ended, each with its event', async () => {
    const ids = await createSessionOfEachStatus()
    const other = expectStatus(
      await owner.post(`${mine.I}/users`, { username_type: 'unique', username: uniqueName('o') }),
      201,
    ).data
    const foreign = await createSession(app, mine, other.id)
    const heard = await eventsRecordedFromNow(app, mine.accountId)
    expectStatus(await revoke(ids.active, { reason: 'token_compromised', revoke_all_user_sessions: true }), 200)
    for (const id of [ids.active, ids.inactive, ids.suspended, ids.revoked]) expect(await stateOf(id)).toBe('revoked')
    expect(await stateOf(ids.expired)).toBe('expired')
    expect((await read(ids.revoked)).revocation_reason).toBe('admin_action')
    expect(await stateOf(foreign)).toBe('active')
    expect((await heard('session.')).map(({ type, sessionId }) => `${type} ${sessionId}`).sort()).toEqual(
      [ids.active, ids.inactive, ids.suspended].map((id) => `session.terminated ${id}`).sort(),
    )
  })

  test('of 20 parallel revocations one is 200, the rest 400, and one event is recorded', async () => {
    const id = await create()
    const heard = await eventsRecordedFromNow(app, mine.accountId)
    const responses = await Promise.all(Array.from({ length: 20 }, () => revoke(id)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(400)])
    expect(await heard()).toHaveLength(1)
  })
})

describe('suspend: active to suspended; reactivate: suspended to active', () => {
  test('suspends and reactivates, with events', async () => {
    const id = await create({ idle: 60_000 })
    const heard = await eventsRecordedFromNow(app, mine.accountId)
    const suspended = await suspend(id, { reason: 'device_mismatch', reason_details: 'Another country' })
    expect(suspended.status).toBe(200)
    expect(suspended.body.data).toMatchObject({
      status: 'suspended',
      suspended_at: expect.any(Number),
      suspension_reason: 'device_mismatch',
      reason_details: 'Another country',
      revoked_at: null,
    })
    expect((await suspend(id)).status).toBe(400)
    const back = await reactivate(id)
    expect(back.status).toBe(200)
    expect(back.body.data).toMatchObject({ status: 'active', suspended_at: null, suspension_reason: null })
    expect((await reactivate(id)).status).toBe(400)
    expect((await heard()).map(({ type, sessionId }) => [type, sessionId])).toEqual([
      ['session.suspended', id],
      ['session.reactivated', id],
    ])
  })

  test('an inactive session cannot be suspended or reactivated: 400', async () => {
    const { inactive } = await createSessionOfEachStatus()
    expect((await suspend(inactive)).status).toBe(400)
    expect((await reactivate(inactive)).status).toBe(400)
    expect(await stateOf(inactive)).toBe('inactive')
  })

  test('a suspended session past its idle timeout reactivates as inactive; past its lifetime it is expired', async () => {
    const [idle, ended] = [await create({ idle: 50_000 }), await create({ lives: 50_000 })]
    expectStatus(await suspend(idle), 200)
    expectStatus(await suspend(ended), 200)
    app.clock.advance(50_000)
    expect(expectStatus(await reactivate(idle), 200).data.status).toBe('inactive')
    expect(await stateOf(ended)).toBe('expired')
    expect((await reactivate(ended)).status).toBe(400)
  })

  test('suspend_all_user_sessions suspends the other sessions too, including inactive ones', async () => {
    const ids = await createSessionOfEachStatus()
    const second = await create()
    const heard = await eventsRecordedFromNow(app, mine.accountId)
    expectStatus(await suspend(ids.active, { reason: 'other', suspend_all_user_sessions: true }), 200)
    for (const id of [ids.active, ids.inactive, ids.suspended, second]) expect(await stateOf(id)).toBe('suspended')
    expect([await stateOf(ids.revoked), await stateOf(ids.expired)]).toEqual(['revoked', 'expired'])
    expect((await read(ids.suspended)).suspension_reason).toBe('risk_review')
    expect((await heard()).map(({ sessionId }) => sessionId).sort()).toEqual([ids.active, ids.inactive, second].sort())
    // Each session must be reactivated separately.
    expectStatus(await reactivate(second), 200)
    expect(await stateOf(ids.active)).toBe('suspended')
  })

  test('of 20 parallel suspensions one is 200, the rest 400', async () => {
    const id = await create()
    const responses = await Promise.all(Array.from({ length: 20 }, () => suspend(id)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(400)])
  })
})

describe('reasons are from two closed lists', () => {
  const lists = {
    revoke: [
      'user_logout',
      'admin_action',
      'security_event',
      'password_changed',
      'inactivity',
      'token_compromised',
      'other',
    ],
    suspend: ['security_event', 'token_compromised', 'device_mismatch', 'risk_review', 'other'],
  }
  const field = { revoke: 'revocation_reason', suspend: 'suspension_reason' }
  test.each(['revoke', 'suspend'] as const)('%s accepts its own reasons', async (action) => {
    for (const reason of lists[action]) {
      const { data } = expectStatus(await owner.post(`${at(await create())}/${action}`, { reason }), 200)
      expect(data[field[action]]).toBe(reason)
    }
  })
  test.each(['revoke', 'suspend'] as const)('%s refuses other reasons: 400 with the field', async (action) => {
    const id = await create()
    const other = lists[action === 'revoke' ? 'suspend' : 'revoke'].filter((reason) => !lists[action].includes(reason))
    for (const reason of [...other, 'because', '', 5, null, undefined]) {
      const response = await owner.post(`${at(id)}/${action}`, { reason })
      expect([reason, response.status, response.body.details?.[0]?.field]).toEqual([reason, 400, 'reason'])
    }
    expect((await owner.post(`${at(id)}/${action}`)).status).toBe(400)
    const long = await owner.post(`${at(id)}/${action}`, { reason: 'other', reason_details: 'x'.repeat(1001) })
    expect(long.body.details).toMatchObject([{ field: 'reason_details', code: 'too_big' }])
    const all = { revoke: 'suspend_all_user_sessions', suspend: 'revoke_all_user_sessions' }[action]
    const stray = await owner.post(`${at(id)}/${action}`, { reason: 'other', [all]: true })
    expect(stray.body.details).toMatchObject([{ field: all, code: 'unknown_field' }])
    expect(await stateOf(id)).toBe('active')
  })
  test('reactivate accepts no body', async () => {
    const id = await create()
    expectStatus(await suspend(id), 200)
    expect((await owner.post(`${at(id)}/reactivate`, { reason: 'other' })).status).toBe(400)
  })
})

describe('tokens of a browser sign-in', () => {
  async function signedIn() {
    const username = `${uniqueName('ada')}@example.com`
    const id = await realm.createUser(username, PASSWORD)
    const { body, browser } = await realm
      .signInForTokens(client, username)
      .then((tokens) => ({ body: tokens, browser: tokens.browser }))
    const { data } = (await owner.get(`${mine.I}/users/${id}/sessions`)).body
    return { id, username, browser, access: body.access_token, refresh: body.refresh_token, session: data[0] }
  }
  const alive = async ({ access }: { access: string }) => (await realm.userinfo(access)).status === 200

  test('the session shows the jti of its tokens, never the tokens', async () => {
    const { session, access, refresh, id } = await signedIn()
    const claims = JSON.parse(Buffer.from(access.split('.')[1]!, 'base64url').toString())
    expect(session).toMatchObject({ id: claims.sid, user_id: id, client_id: client.id, status: 'active', amr: ['pwd'] })
    expect(session.access_token_jti).toEqual([claims.jti])
    expect(session.refresh_token_jti).toHaveLength(1)
    const text = JSON.stringify(session)
    for (const secret of [access, refresh]) expect(text).not.toContain(secret)
  })

  test('suspended: tokens are invalid and the refresh fails immediately; reactivated: both are valid again', async () => {
    const signed = await signedIn()
    expect(await alive(signed)).toBe(true)
    expectStatus(await suspend(signed.session.id), 200)
    expect(await alive(signed)).toBe(false)
    const refused = await realm.refresh(client, signed.refresh)
    expect(refused.status).toBe(400)
    expect(refused.body.error).toBe('invalid_grant')
    expectStatus(await reactivate(signed.session.id), 200)
    expect(await alive(signed)).toBe(true)
    expect((await realm.refresh(client, signed.refresh)).status).toBe(200)
  })

  test('revoked: tokens are invalid, the refresh is refused, the browser must sign in again', async () => {
    const signed = await signedIn()
    expectStatus(await revoke(signed.session.id), 200)
    expect(await alive(signed)).toBe(false)
    expect((await realm.refresh(client, signed.refresh)).body.error).toBe('invalid_grant')
    const { page } = await realm.openSignInPage(client, {}, signed.browser)
    expect(page.html).toContain('name="password"')
  })

  test('suspending a user invalidates all sessions of the user', async () => {
    const signed = await signedIn()
    expectStatus(await owner.patch(`${mine.I}/users/${signed.id}`, { status: 'suspended' }), 200)
    expect(await alive(signed)).toBe(false)
    expect((await read(signed.session.id)).status).toBe('revoked')
  })
})

test('GraphQL: sessions and verifiers of users by relation, one statement for all users', async () => {
  const ids = [userId]
  for (let n = 0; n < 3; n++) {
    const body = { username_type: 'unique', username: uniqueName('u') }
    ids.push(expectStatus(await owner.post(`${mine.I}/users`, body), 201).data.id)
  }
  const created = new Map<string, string[]>()
  for (const id of ids) {
    const sessions = [
      await createSession(app, mine, id),
      await createSession(app, mine, id),
      await createSession(app, mine, id),
    ]
    created.set(id, sessions.reverse().slice(0, 2))
    expectStatus(await owner.post(`${mine.I}/users/${id}/verifiers`, { type: 'backup_codes' }), 201)
  }
  const ask = `query ($a: ID!, $i: ID!) { users(accountId: $a, issuerId: $i, limit: 4) { data { id
    sessions(limit: 2) { data { id status device { userAgent } } hasMore } verifiers { data { type } } } } }`
  const { body } = await owner.graphql(ask, { a: mine.accountId, i: mine.issuerId })
  expect(body.errors).toBeUndefined()
  // The list can contain users of other tests, whose sessions differ.
  for (const user of body.data.users.data.filter(({ id }: AnyJson) => created.has(id))) {
    expect(user.sessions.data.map(({ id }: AnyJson) => id)).toEqual(created.get(user.id))
    expect(user.sessions).toMatchObject({
      hasMore: true,
      data: [{ status: 'active', device: { userAgent: 'Test/1' } }, {}],
    })
    expect(user.verifiers.data).toEqual([{ type: 'backup_codes' }])
  }
  const one = `query ($a: ID!, $i: ID!, $s: ID!) { session(accountId: $a, issuerId: $i, sessionId: $s) { userId status } }`
  const [session] = created.get(userId)!
  const single = await owner.graphql(one, { a: mine.accountId, i: mine.issuerId, s: session })
  expect(single.body.data.session).toEqual({ userId, status: 'active' })
})
