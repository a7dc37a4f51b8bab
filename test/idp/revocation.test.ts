/**
 * Revocation and status changes take effect immediately (docs/contract.md#liveness-of-principals,
 * docs/contract.md#liveness-of-access-tokens, docs/contract.md#revocation-and-the-browser-session,
 * docs/contract.md#states-and-transitions).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { system } from '../../src/kernel/context.js'
import { contextFor } from '../../src/platform/context.js'
import { expireSessions } from '../../src/resources/sessions/expiry.js'
import { purgeExpiredIdpData } from '../../src/resources/sessions/purge.js'
import { endSessions } from '../../src/resources/sessions/sessions.js'
import { expectStatus } from '../setup/actors.js'
import { withForgedSignature } from '../setup/forged-jwt.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitForLockWaiters } from '../setup/wait-until.js'
import { headingOf, TestBrowser } from './browser.js'
import {
  jwtClaims,
  PASSWORD,
  POST_LOGOUT_REDIRECT_URI,
  REDIRECT_URI,
  Realm,
  redirectParametersOf,
  type TestClient,
} from './realm.js'

let app: TestApp
let realm: Realm
let web: TestClient
let spa: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  web = await realm.createClient({}, { confidential: true })
  spa = await realm.createClient({ application_type: 'spa' })
})
afterAll(() => app.close())

const introspect = async (token: string, client = web) => (await realm.postForm('/introspect', client, { token })).body
let counter = 0
const createUser = async () => {
  const username = `user${++counter}@example.com`
  return { username, id: await realm.createUser(username) }
}
const inContext = () =>
  contextFor(app.gatehouse, system, { id: 'req_test', ip: null, userAgent: null, method: null, path: null })
const setSession = (id: string, data: object) => app.gatehouse.database.prisma.session.update({ where: { id }, data })

test.each([
  ['access_token', 'idp-client'],
  ['access_token', 'access-token-state'],
  ['refresh_token', 'idp-client'],
  ['refresh_token', 'idp-find'],
] as const)(
  'introspection of a valid %s is 503, not inactive, if the database fails in the statement %s',
  async (kind, failing) => {
    const { username } = await createUser()
    const tokens = await realm.signInForTokens(web, username)
    const { pool } = app.gatehouse.database
    const target = pool as unknown as { query: (statement: { name?: string }) => Promise<unknown> }
    const { query } = target
    target.query = (statement) =>
      statement.name === failing
        ? Promise.reject(Object.assign(new Error('terminating connection'), { code: '57P01' }))
        : query.call(pool, statement)
    try {
      const { status, body } = await realm.postForm('/introspect', web, { token: tokens[kind] })
      expect({ status, active: body.active }).toEqual({ status: 503, active: undefined })
    } finally {
      target.query = query
    }
    expect(await introspect(tokens[kind])).toMatchObject({ active: true })
  },
)

describe('users', () => {
  test.each(['suspended', 'blocked'])(
    'a %s user: tokens are invalid, refresh fails, single sign-on ends',
    async (status) => {
      const { username, id } = await createUser()
      const { access_token, refresh_token, browser } = await realm.signInForTokens(web, username)
      expectStatus(
        await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { status, status_reason: 'test' }),
        200,
      )
      expect((await realm.userinfo(access_token)).status).toBe(401)
      expect(await introspect(access_token)).toEqual({ active: false })
      expect(await introspect(refresh_token)).toEqual({ active: false })
      expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
      const { page } = await realm.openSignInPage(spa, { prompt: 'none' }, browser)
      expect(redirectParametersOf(page)['error']).toBe('login_required')
      // Reactivation does not restore the old sessions.
      expectStatus(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { status: 'active' }), 200)
      expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
    },
  )

  test('tokens of a blocked user are invalid even while the session is active', async () => {
    const { username, id } = await createUser()
    const { access_token, refresh_token } = await realm.signInForTokens(web, username)
    await app.gatehouse.database.prisma.user.update({ where: { id }, data: { status: 'blocked' } })
    expect((await realm.userinfo(access_token)).status).toBe(401)
    expect(await introspect(access_token)).toEqual({ active: false })
    expect(await introspect(refresh_token)).toEqual({ active: false })
    expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
    await app.gatehouse.database.prisma.user.update({ where: { id }, data: { status: 'active' } })
    expect((await realm.refresh(web, refresh_token)).status).toBe(200)
  })

  test('a user suspended between code and exchange gets no tokens', async () => {
    const { username, id } = await createUser()
    const { redirect, verifier } = await realm.signIn(spa, username)
    expectStatus(
      await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { status: 'suspended', status_reason: 'test' }),
      200,
    )
    const response = await realm.exchangeCode(spa, {
      code: redirect['code']!,
      code_verifier: verifier,
      redirect_uri: REDIRECT_URI,
    })
    expect([response.status, response.body.error]).toEqual([400, 'invalid_grant'])
  })

  test('a deleted user', async () => {
    const { username, id } = await createUser()
    const { access_token, refresh_token } = await realm.signInForTokens(web, username)
    expect((await realm.tenant.owner.delete(`${realm.tenant.I}/users/${id}`)).status).toBe(202)
    expect((await realm.userinfo(access_token)).status).toBe(401)
    expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
  })
})

describe('clients', () => {
  test('a disabled client: no request works until it is enabled again', async () => {
    const client = await realm.createClient({}, { confidential: true })
    const { username } = await createUser()
    const { access_token, refresh_token } = await realm.signInForTokens(client, username)
    const path = `${realm.tenant.I}/clients/${client.id}`
    expectStatus(await realm.tenant.owner.patch(path, { status: 'disabled' }), 200)
    expect((await realm.refresh(client, refresh_token)).body.error).toBe('invalid_client')
    expect((await realm.postForm('/introspect', client, { token: access_token })).status).toBe(401)
    expect((await realm.userinfo(access_token)).status).toBe(401)
    const page = await new TestBrowser('nowhere').open(realm.authorizeUrl(client))
    expect([page.status, headingOf(page)]).toEqual([400, 'Something went wrong'])
    expectStatus(await realm.tenant.owner.patch(path, { status: 'active' }), 200)
    expect((await realm.refresh(client, refresh_token)).status).toBe(200)
  })

  test("a deleted client's flows fail; access tokens of its users stay valid at userinfo until they expire", async () => {
    const client = await realm.createClient({}, { confidential: true })
    const { username } = await createUser()
    const { access_token, refresh_token } = await realm.signInForTokens(client, username)
    expect((await realm.tenant.owner.delete(`${realm.tenant.I}/clients/${client.id}`)).status).toBe(204)
    expect((await realm.refresh(client, refresh_token)).body.error).toBe('invalid_client')
    expect((await new TestBrowser('nowhere').open(realm.authorizeUrl(client))).status).toBe(400)
    expect((await realm.userinfo(access_token)).status).toBe(200)
    app.clock.advance(1_800_000)
    expect((await realm.userinfo(access_token)).status).toBe(401)
    app.clock.advance(-1_800_000)
  })
})

describe('issuers', () => {
  test.each(['disabled', 'suspended'])('a %s issuer issues nothing; its documents stay readable', async (status) => {
    const other = await Realm.create(app, status)
    await other.createUser('ada@example.com')
    const client = await other.createClient({}, { confidential: true })
    const { access_token, refresh_token } = await other.signInForTokens(client, 'ada@example.com')
    const open = await other.openSignInPage(client)
    expectStatus(await app.operator.patch(other.tenant.I, { status }), 200)
    expect(await other.refresh(client, refresh_token)).toMatchObject({ status: 403, body: { error: 'access_denied' } })
    expect((await other.userinfo(access_token)).status).toBe(401)
    const authorize = await new TestBrowser('nowhere').open(other.authorizeUrl(client))
    expect([authorize.status, headingOf(authorize)]).toEqual([403, 'Something went wrong'])
    expect((await open.browser.submit(open.page, { username: 'ada@example.com', password: PASSWORD })).status).toBe(403)
    expect((await fetch(`${other.url}/jwks.json`)).status).toBe(200)
    expectStatus(await app.operator.patch(other.tenant.I, { status: 'active' }), 200)
    expect((await other.refresh(client, refresh_token)).status).toBe(200)
  })

  test('a deleted issuer is not found', async () => {
    const other = await Realm.create(app, 'gone')
    await other.createUser('ada@example.com')
    const client = await other.createClient({}, { confidential: true })
    const { access_token, refresh_token } = await other.signInForTokens(client, 'ada@example.com')
    expect((await other.tenant.owner.delete(other.tenant.I)).status).toBe(204)
    expect((await other.refresh(client, refresh_token)).status).toBe(404)
    expect((await other.userinfo(access_token)).status).toBe(404)
  })
})

describe('sessions', () => {
  test('suspended: all its tokens are invalid and single sign-on is rejected; reactivated, they are valid again', async () => {
    const { username } = await createUser()
    const { access_token, refresh_token, browser } = await realm.signInForTokens(web, username)
    const { sid } = jwtClaims(access_token)
    await setSession(sid, { status: 'suspended' })
    expect((await realm.userinfo(access_token)).status).toBe(401)
    expect(await introspect(access_token)).toEqual({ active: false })
    expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
    expect(redirectParametersOf((await realm.openSignInPage(web, {}, browser)).page)['error']).toBe('access_denied')
    await setSession(sid, { status: 'active' })
    expect((await realm.userinfo(access_token)).status).toBe(200)
    expect((await realm.refresh(web, refresh_token)).status).toBe(200)
  })

  test('suspended: the browser gets no other session with the client, with or without an organization', async () => {
    const { username } = await createUser()
    const { access_token, browser } = await realm.signInForTokens(web, username)
    await setSession(jwtClaims(access_token).sid, { status: 'suspended' })
    const again = async (params: Record<string, string>) =>
      redirectParametersOf((await realm.openSignInPage(web, params, browser)).page)
    expect((await again({ org: 'org_01ARZ3NDEKTSV4RRFFQ69G5FAV' }))['error']).toBe('access_denied')
    expect((await again({}))['error']).toBe('access_denied')
    await setSession(jwtClaims(access_token).sid, { status: 'active' })
    // Now the later session is active, and the earlier one is suspended.
    expect((await again({ org: 'org_01ARZ3NDEKTSV4RRFFQ69G5FAV' }))['code']).toBeDefined()
    await setSession(jwtClaims(access_token).sid, { status: 'suspended' })
    expect((await again({}))['error']).toBe('access_denied')
  })

  test('a token that is revoked while its session is suspended stays revoked', async () => {
    const { owner, I } = realm.tenant
    const { username } = await createUser()
    const move = (sid: string, what: string, body?: object) => owner.post(`${I}/sessions/${sid}/${what}`, body)
    const reason = { reason: 'other' }
    const one = await realm.signInForTokens(web, username)
    const { sid } = jwtClaims(one.access_token)
    expectStatus(await move(sid, 'suspend', reason), 200)
    expect((await realm.postForm('/revoke', web, { token: one.access_token })).status).toBe(200)
    expectStatus(await move(sid, 'reactivate'), 200)
    expect((await realm.userinfo(one.access_token)).status).toBe(401)
    const next = (await realm.refresh(web, one.refresh_token)).body
    expect((await realm.userinfo(next.access_token)).status).toBe(200)

    expectStatus(await move(sid, 'suspend', reason), 200)
    expect((await realm.postForm('/revoke', spa, { token: next.refresh_token })).status).toBe(200)
    expectStatus(await move(sid, 'reactivate'), 200)
    const last = (await realm.refresh(web, next.refresh_token)).body
    expectStatus(await move(sid, 'suspend', reason), 200)
    expect((await realm.postForm('/revoke', web, { token: last.refresh_token })).status).toBe(200)
    expect(expectStatus(await owner.get(`${I}/sessions/${sid}`), 200).data.status).toBe('revoked')
    expect((await realm.refresh(web, last.refresh_token)).body.error).toBe('invalid_grant')
  })

  test('revocation by an administrator ends the browser session too', async () => {
    const { username } = await createUser()
    const { access_token, browser } = await realm.signInForTokens(web, username)
    const { sid } = jwtClaims(access_token)
    await endSessions(
      inContext(),
      realm.tenant,
      { sessionId: sid },
      { reason: 'admin_action', endBrowserSession: true },
    )
    expect((await realm.userinfo(access_token)).status).toBe(401)
    for (const client of [web, spa]) {
      expect(
        redirectParametersOf((await realm.openSignInPage(client, { prompt: 'none' }, browser)).page)['error'],
      ).toBe('login_required')
    }
    // A second revocation changes nothing, so there is only one event.
    await endSessions(
      inContext(),
      realm.tenant,
      { sessionId: sid },
      { reason: 'admin_action', endBrowserSession: true },
    )
    expect(
      await app.gatehouse.database.prisma.event.count({ where: { sessionId: sid, type: 'session.terminated' } }),
    ).toBe(1)
  })

  test('a request in flight does not restore an ended browser session', async () => {
    const { username } = await createUser()
    const { browser, access_token } = await realm.signInForTokens(web, username)
    const { pool, prisma } = app.gatehouse.database
    const { browserUid: uid } = await prisma.session.findUniqueOrThrow({ where: { id: jwtClaims(access_token).sid } })
    const holder = await pool.connect()
    await holder.query('BEGIN')
    await holder.query(`DELETE FROM idp_artifacts WHERE kind = 'Session' AND uid = $1`, [uid])
    const inFlight = [web, spa].map((client) => realm.openSignInPage(client, { prompt: 'none' }, browser))
    // Both requests have read the browser session and wait for its row lock.
    await waitForLockWaiters(pool, 2)
    await holder.query('COMMIT')
    holder.release()
    for (const { page } of await Promise.all(inFlight))
      expect(redirectParametersOf(page)['error']).toBe('login_required')
    expect(await prisma.idpArtifact.count({ where: { kind: 'Session', uid } })).toBe(0)
    expect(await prisma.session.count({ where: { browserUid: uid } })).toBe(1)
  })

  test.each([
    ['userId', 'has other sessions', 'waits for it'],
    ['userId', 'has no other session', 'comes before it'],
    ['browserUid', 'has other sessions', 'waits for it'],
    ['browserUid', 'has no other session', 'waits for it'],
    ['sessionId', 'has other sessions', 'waits for it'],
  ] as const)(
    'while a response creates a session, a request ends sessions by %s; the user %s: the request %s, and no session is left that it should end',
    async (key, others, order) => {
      const { username, id: userId } = await createUser()
      const { browser, access_token } = await realm.signInForTokens(web, username)
      const { pool, prisma } = app.gatehouse.database
      const { sid: sessionId } = jwtClaims(access_token)
      const { browserUid } = await prisma.session.findUniqueOrThrow({ where: { id: sessionId } })
      if (others === 'has no other session') await prisma.session.delete({ where: { id: sessionId } })
      app.clock.advance(1000)
      const holder = await pool.connect()
      await holder.query('BEGIN')
      await holder.query(`SELECT 1 FROM idp_artifacts WHERE kind = 'Session' AND uid = $1 FOR UPDATE`, [browserUid])
      const inFlight = realm.openSignInPage(spa, { prompt: 'none' }, browser)
      await waitForLockWaiters(pool, 1)
      const which = { userId, browserUid, sessionId }[key]
      const ending = { reason: 'admin_action', endBrowserSession: true } as const
      const ended = endSessions(inContext(), realm.tenant, { [key]: which } as { userId: string }, ending)
      if (order === 'waits for it') await waitForLockWaiters(pool, 2)
      else await ended
      await holder.query('COMMIT')
      holder.release()
      const redirect = redirectParametersOf((await inFlight).page)
      expect(redirect['error']).toBe(order === 'waits for it' ? undefined : 'login_required')
      await ended
      const left = await prisma.session.count({ where: { browserUid, status: 'active' } })
      // With `sessionId`, only one session is ended. The browser session also ends and creates no further session.
      expect(left).toBe(key === 'sessionId' ? 1 : 0)
      expect(redirectParametersOf((await realm.openSignInPage(spa, { prompt: 'none' }, browser)).page)['error']).toBe(
        'login_required',
      )
    },
  )

  test('a finished sign-in is not completed after all sessions were ended', async () => {
    const { username, id } = await createUser()
    const { page, browser } = await realm.openSignInPage(web)
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)![1]!
    const body = new URLSearchParams({ csrf, username, password: PASSWORD })
    const done = await browser.request(page.url, { method: 'POST', body })
    const holder = await app.gatehouse.database.pool.connect()
    await holder.query('BEGIN')
    await holder.query('UPDATE users SET proofs_valid_after = $2 WHERE id = $1', [id, app.clock.now() + 2000])
    // The response to the resumed authorization request has read the user and waits for the lock on the user's row.
    const resumed = browser.open(new URL(done.headers.get('location')!, page.url).href)
    await waitForLockWaiters(app.gatehouse.database.pool, 1)
    await holder.query('COMMIT')
    holder.release()
    expect(headingOf(await resumed)).toBe('Sign in')
    expect(await app.gatehouse.database.prisma.session.count({ where: { userId: id } })).toBe(0)
  })

  test.each(['revoke_all_user_sessions', 'suspended and active again'])(
    '%s ends browser sessions whose sessions had ended before, and sign-ins in progress',
    async (how) => {
      const { owner, I } = realm.tenant
      const { username, id } = await createUser()
      const quiet = await realm.signInForTokens(web, username)
      // The application revokes its refresh token, which ends the session, but the browser stays signed in.
      expect((await realm.postForm('/revoke', web, { token: quiet.refresh_token })).status).toBe(200)
      const changing = expectStatus(await owner.get(`${I}/users/${id}/verifiers`), 200).data[0]
      expectStatus(await owner.patch(`${I}/users/${id}/verifiers/${changing.id}`, { must_change: true }), 200)
      const half = await realm.openSignInPage(web)
      const choosing = await half.browser.submit(half.page, { username, password: PASSWORD })
      expectStatus(await owner.patch(`${I}/users/${id}/verifiers/${changing.id}`, { must_change: false }), 200)
      const { access_token } = await realm.signInForTokens(web, username)
      app.clock.advance(1000)
      if (how === 'revoke_all_user_sessions') {
        const body = { reason: 'security_event', revoke_all_user_sessions: true }
        expectStatus(await owner.post(`${I}/sessions/${jwtClaims(access_token).sid}/revoke`, body), 200)
      } else {
        for (const status of ['suspended', 'active']) {
          expectStatus(await owner.patch(`${I}/users/${id}`, { status, status_reason: 'test' }), 200)
        }
      }
      const { page } = await realm.openSignInPage(spa, { prompt: 'none' }, quiet.browser)
      expect(redirectParametersOf(page)['error']).toBe('login_required')
      const chosen = await half.browser.submit(choosing, { new_password: 'another long enough one' })
      expect(headingOf(chosen)).toBe('Sign in')
      // A new sign-in works.
      expect((await realm.signIn(spa, username, {}, quiet.browser)).redirect['code']).toBeDefined()
    },
  )

  test('an expired session is not continued, even if the browser session is still active', async () => {
    const { username } = await createUser()
    const { browser, access_token } = await realm.signInForTokens(web, username)
    await setSession(jwtClaims(access_token).sid, { expiresAt: app.clock.now() - 1 })
    expect(redirectParametersOf((await realm.openSignInPage(web, { prompt: 'none' }, browser)).page)['error']).toBe(
      'login_required',
    )
    expect(
      redirectParametersOf((await realm.openSignInPage(spa, { prompt: 'none' }, browser)).page)['code'],
    ).toBeDefined()
  })

  test('the idle timeout makes it inactive, a refresh makes it active again; past its maximum lifetime it is expired', async () => {
    const other = await Realm.create(app, 'clocks')
    await other.createUser('ada@example.com')
    expectStatus(
      await other.tenant.owner.patch(other.tenant.I, {
        settings: { sessions: { absolute_lifetime: 3600, idle_timeout: 60 } },
      }),
      200,
    )
    const client = await other.createClient({}, { confidential: true })
    const first = await other.signInForTokens(client, 'ada@example.com')
    const { exp, iat } = jwtClaims(first.access_token)
    expect(exp - iat).toBe(1800)
    app.clock.advance(61_000)
    expect((await other.userinfo(first.access_token)).status).toBe(401)
    const second = await other.refresh(client, first.refresh_token)
    expect(second.status).toBe(200)
    expect((await other.userinfo(first.access_token)).status).toBe(200)
    app.clock.advance(3_540_000)
    expect((await other.refresh(client, second.body.refresh_token)).body.error).toBe('invalid_grant')
    expect(
      redirectParametersOf((await other.openSignInPage(client, { prompt: 'none' }, first.browser)).page)['error'],
    ).toBe('login_required')
    app.clock.advance(-3_601_000)
  })

  test('a token never outlives its session', async () => {
    const other = await Realm.create(app, 'short')
    await other.createUser('ada@example.com')
    expectStatus(
      await other.tenant.owner.patch(other.tenant.I, { settings: { sessions: { absolute_lifetime: 300 } } }),
      200,
    )
    const { access_token, expires_in } = await other.signInForTokens(await other.createClient(), 'ada@example.com')
    const { exp, iat } = jwtClaims(access_token)
    expect(exp - iat).toBeLessThanOrEqual(300)
    expect(expires_in).toBe(exp - iat)
  })
})

describe('logout (RP-Initiated Logout 1.0)', () => {
  const url = (params: Record<string, string>) => `${realm.url}/logout?${new URLSearchParams(params)}`

  test('with a valid hint: redirects to the registered URI with state, without confirmation; every session of the browser ends', async () => {
    const { username } = await createUser()
    const one = await realm.signInForTokens(web, username)
    const two = await realm.signInForTokens(spa, username, { prompt: 'none' }, one.browser)
    const page = await one.browser.open(
      url({ id_token_hint: one.id_token, post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI, state: 'x&y' }),
    )
    expect(page.url).toBe(`${POST_LOGOUT_REDIRECT_URI}?state=x%26y`)
    expect(one.browser.cookies().some((cookie: { name: string }) => cookie.name === 'gatehouse_session')).toBe(false)
    expect((await realm.refresh(web, one.refresh_token)).body.error).toBe('invalid_grant')
    expect((await realm.refresh(spa, two.refresh_token)).body.error).toBe('invalid_grant')
    expect((await realm.userinfo(two.access_token)).status).toBe(401)
    const events = await app.gatehouse.database.prisma.event.findMany({
      where: {
        type: 'session.terminated',
        sessionId: { in: [jwtClaims(one.access_token).sid, jwtClaims(two.access_token).sid] },
      },
    })
    expect(events.map(({ data }) => (data as { reason: string }).reason)).toEqual(['user_logout', 'user_logout'])
    // The actor of the events is the user.
    const { sub } = jwtClaims(one.access_token)
    const who = { authType: 'user', actor: { type: 'user', id: sub, name: username } }
    expect(events.map(({ authType, actor }) => ({ authType, actor }))).toEqual([who, who])
  })

  test.each([
    ['https://app.example.com/bye', '?state=a%20b%26c%2Bd'],
    ['https://app.example.com/bye?next=a%20b&flag', '&state=a%20b%26c%2Bd'],
    ['https://app.example.com/bye?state=own', '&state=a%20b%26c%2Bd'],
    ['com.example.app:/bye', '?state=a%20b%26c%2Bd'],
  ])('%s: the redirect URI is used as registered, with the state appended', async (address, end) => {
    const client = await realm.createClient({ application_type: 'native', post_logout_redirect_uris: [address] })
    const query = { client_id: client.id, post_logout_redirect_uri: address, state: 'a b&c+d' }
    const response = await new TestBrowser().request(url(query))
    expect([response.status, response.headers.get('location')]).toEqual([303, `${address}${end}`])
  })

  test('an expired ID token is still a hint', async () => {
    const { username } = await createUser()
    const { id_token, browser } = await realm.signInForTokens(spa, username)
    app.clock.advance(7_200_000)
    expect(headingOf(await browser.open(url({ id_token_hint: id_token })))).toBe('You are signed out')
    app.clock.advance(-7_200_000)
  })

  test.each(['GET', 'POST'])('%s without a hint asks for confirmation', async (method) => {
    const { username } = await createUser()
    const { refresh_token, browser } = await realm.signInForTokens(spa, username)
    const params = { client_id: spa.id, post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI, state: 's' }
    const ask = () =>
      method === 'GET'
        ? browser.open(url(params))
        : browser.open(`${realm.url}/logout`, { method, body: new URLSearchParams(params) })
    const question = await ask()
    expect([question.status, headingOf(question)]).toEqual([200, 'Do you want to sign out?'])
    const forged = await browser.submit(question, { logout: 'yes', csrf: '0.forged' })
    expect(forged.status).toBe(400)
    expect(headingOf(await browser.submit(await ask(), { logout: 'no' }))).toBe('You are still signed in')
    const again = await realm.refresh(spa, refresh_token)
    expect(again.status).toBe(200)
    expect((await browser.submit(await ask(), { logout: 'yes' })).url).toBe(`${POST_LOGOUT_REDIRECT_URI}?state=s`)
    expect((await realm.refresh(spa, again.body.refresh_token)).body.error).toBe('invalid_grant')
  })

  test.each<[string, (idToken: string) => Record<string, string>, string, string]>([
    ['id_token_hint', (id_token_hint) => ({ id_token_hint }), 'out', `${POST_LOGOUT_REDIRECT_URI}?state=s`],
    ['client_id', () => ({ client_id: spa.id }), 'asked', `${POST_LOGOUT_REDIRECT_URI}?state=s`],
    [
      'a hint, and more parameters than a URL can have',
      (id_token_hint) => ({ id_token_hint, state: 's'.repeat(7600) }),
      'out',
      `${POST_LOGOUT_REDIRECT_URI}?state=${'s'.repeat(7600)}`,
    ],
    [
      'a state longer than a URL',
      () => ({ client_id: spa.id, state: 's'.repeat(9000) }),
      'asked',
      POST_LOGOUT_REDIRECT_URI,
    ],
  ])(
    'a cross-site POST, for which the browser sends no cookie, signs out like a GET: with %s',
    async (_, params, outcome, end) => {
      const { username } = await createUser()
      const other = await realm.signInForTokens(web, username)
      const { id_token, refresh_token, browser } = await realm.signInForTokens(
        spa,
        username,
        { prompt: 'none' },
        other.browser,
      )
      const body = new URLSearchParams({
        post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI,
        state: 's',
        ...params(id_token),
      })
      const page = await browser.open(`${realm.url}/logout`, { method: 'POST', body }, true)
      expect(page.html === '' ? 'out' : headingOf(page)).toBe(outcome === 'out' ? 'out' : 'Do you want to sign out?')
      expect((outcome === 'out' ? page : await browser.submit(page, { logout: 'yes' })).url).toBe(end)
      expect((await realm.refresh(spa, refresh_token)).body.error).toBe('invalid_grant')
      expect((await realm.refresh(web, other.refresh_token)).body.error).toBe('invalid_grant')
      expect(headingOf((await realm.openSignInPage(spa, {}, browser)).page)).toBe('Sign in')
    },
  )

  test('a cross-site POST with a hint signs out the user of the hint, even if the session of the hint has ended, and no other user', async () => {
    const { username } = await createUser()
    const other = await realm.signInForTokens(web, username)
    const { id_token, refresh_token, browser } = await realm.signInForTokens(
      spa,
      username,
      { prompt: 'none' },
      other.browser,
    )
    expect((await realm.postForm('/revoke', spa, { token: refresh_token })).status).toBe(200)
    const post = (from: TestBrowser) =>
      from.open(`${realm.url}/logout`, { method: 'POST', body: new URLSearchParams({ id_token_hint: id_token }) }, true)
    await post(browser)
    expect((await realm.refresh(web, other.refresh_token)).body.error).toBe('invalid_grant')
    expect(headingOf((await realm.openSignInPage(spa, {}, browser)).page)).toBe('Sign in')
    const victim = await realm.signInForTokens(web, (await createUser()).username)
    await post(victim.browser)
    expect(
      redirectParametersOf((await realm.openSignInPage(web, { prompt: 'none' }, victim.browser)).page)['code'],
    ).toBeDefined()
  })

  test('a cross-site POST with an unregistered URI is rejected, and a browser without a sign-in is redirected, as with GET', async () => {
    const post = (browser: TestBrowser, params: Record<string, string>) =>
      browser.open(`${realm.url}/logout`, { method: 'POST', body: new URLSearchParams(params) }, true)
    const { browser } = await realm.signInForTokens(spa, (await createUser()).username)
    const params = { client_id: spa.id, post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI, state: 's' }
    const lured = { ...params, post_logout_redirect_uri: 'https://evil.example/' }
    expect((await post(browser, lured)).status).toBe(400)
    expect((await post(new TestBrowser(), params)).url).toBe(`${POST_LOGOUT_REDIRECT_URI}?state=s`)
  })

  test('a hint of another user asks for confirmation', async () => {
    const [one, other] = [await createUser(), await createUser()]
    const { browser } = await realm.signInForTokens(spa, one.username)
    const { id_token } = await realm.signInForTokens(spa, other.username)
    expect(headingOf(await browser.open(url({ id_token_hint: id_token })))).toBe('Do you want to sign out?')
  })

  test.each<[string, (tokens: { id_token: string; access_token: string }) => Record<string, string>]>([
    [
      'an unregistered URI',
      ({ id_token }) => ({ id_token_hint: id_token, post_logout_redirect_uri: 'https://evil.example/' }),
    ],
    [
      'a URI that starts like a registered one',
      ({ id_token }) => ({
        id_token_hint: id_token,
        post_logout_redirect_uri: `${POST_LOGOUT_REDIRECT_URI}.evil.example`,
      }),
    ],
    ['an access token for a hint', ({ access_token }) => ({ id_token_hint: access_token })],
    ['a forged hint', ({ id_token }) => ({ id_token_hint: withForgedSignature(id_token!) })],
    ['a hint of another client', ({ id_token }) => ({ id_token_hint: id_token, client_id: web.id })],
    ['an unknown client', () => ({ client_id: `cli_${'0'.repeat(26)}` })],
  ])('%s: an error page, no redirect, no sign-out', async (_, params) => {
    const { username } = await createUser()
    const tokens = await realm.signInForTokens(spa, username)
    const page = await tokens.browser.open(url(params(tokens)))
    expect([page.status, headingOf(page)]).toEqual([400, 'Something went wrong'])
    expect((await realm.refresh(spa, tokens.refresh_token)).status).toBe(200)
  })

  const departures: Record<string, (path: string) => Promise<unknown>> = {
    deleted: async (path) => expectStatus(await realm.tenant.owner.delete(path), 204),
    disabled: async (path) => expectStatus(await realm.tenant.owner.patch(path, { status: 'disabled' }), 200),
  }
  const namings: Record<string, (client: TestClient, token: string) => Record<string, string>> = {
    'a hint': (_, id_token_hint) => ({ id_token_hint }),
    'the client_id': ({ id }) => ({ client_id: id }),
    'a hint and the client_id': ({ id }, id_token_hint) => ({ id_token_hint, client_id: id }),
  }
  test.each(Object.keys(departures).flatMap((state) => Object.keys(namings).map((naming) => [naming, state] as const)))(
    'with %s of a %s client, logout asks for confirmation and does not redirect to the URI of the client',
    async (naming, state) => {
      const { username } = await createUser()
      const passing = await realm.createClient({ grant_types: ['authorization_code', 'refresh_token'] })
      const { browser } = await realm.signInForTokens(passing, username)
      const { id_token } = await realm.signInForTokens(passing, username, { prompt: 'none' }, browser)
      await departures[state]!(`${realm.tenant.I}/clients/${passing.id}`)
      const params = namings[naming]!(passing, id_token)
      const address = url({ ...params, post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI, state: 's' })
      const question = await browser.open(address)
      expect([question.status, headingOf(question)]).toEqual([200, 'Do you want to sign out?'])
      const done = await browser.submit(question, { logout: 'yes' })
      expect([done.status, headingOf(done)]).toEqual([200, 'You are signed out'])
      expect(headingOf((await realm.openSignInPage(spa, {}, browser)).page)).toBe('Sign in')
      expect(headingOf(await browser.open(address))).toBe('You are signed out')
    },
  )

  test("a hint signed with the client's previous algorithm is accepted", async () => {
    const { username } = await createUser()
    const client = await realm.createClient()
    const { id_token, browser } = await realm.signInForTokens(client, username)
    const openid = { redirect_uris: [REDIRECT_URI], post_logout_redirect_uris: [POST_LOGOUT_REDIRECT_URI] }
    const settings = { openid: { ...openid, response_signature_alg: 'RS256' } }
    expectStatus(await realm.tenant.owner.patch(`${realm.tenant.I}/clients/${client.id}`, { settings }), 200)
    const params = { id_token_hint: id_token, post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI }
    expect((await browser.open(url({ ...params, id_token_hint: withForgedSignature(id_token) }))).status).toBe(400)
    expect((await browser.open(url(params))).url).toBe(POST_LOGOUT_REDIRECT_URI)
    expect(headingOf((await realm.openSignInPage(spa, {}, browser)).page)).toBe('Sign in')
  })

  test('without a hint and a client_id, logout does not redirect', async () => {
    expect(headingOf(await new TestBrowser().open(url({ post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI })))).toBe(
      'You are signed out',
    )
  })
})

test('the purge removes only expired rows', async () => {
  const { username } = await createUser()
  const { refresh_token, access_token } = await realm.signInForTokens(spa, username)
  const abandoned = await realm.openSignInPage(spa)
  await abandoned.browser.submit(abandoned.page, { username: 'x@example.com', password: 'x' })
  const { prisma } = app.gatehouse.database
  await purgeExpiredIdpData(inContext())
  const again = await realm.refresh(spa, refresh_token)
  expect(again.status).toBe(200)
  app.clock.advance(8 * 86_400_000)
  await purgeExpiredIdpData(inContext())
  expect(
    await prisma.idpArtifact.count({ where: { kind: { in: ['AuthorizationCode', 'RefreshToken', 'Interaction'] } } }),
  ).toBe(0)
  expect(await prisma.loginState.count()).toBe(0)
  expect(await prisma.loginFailure.count()).toBe(0)
  expect(await prisma.session.count({ where: { id: jwtClaims(access_token).sid } })).toBe(1)
  app.clock.advance(60 * 86_400_000)
  await expireSessions(inContext())
  await purgeExpiredIdpData(inContext())
  expect(await prisma.session.count()).toBe(0)
  app.clock.advance(-68 * 86_400_000)
})
