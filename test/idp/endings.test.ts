/** An administrator's decision, or the person's own, takes effect at once (security rules 11 to 13, spec section 3). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { system } from '../../src/kernel/context.js'
import { contextFor } from '../../src/platform/context.js'
import { expireSessions } from '../../src/resources/sessions/expiry.js'
import { purgeExpired } from '../../src/resources/sessions/purge.js'
import { endSessions } from '../../src/resources/sessions/sessions.js'
import { must } from '../setup/actors.js'
import { forged } from '../setup/forged.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { headingOf, TestBrowser } from './browser.js'
import { AFTER_LOGOUT, CALLBACK, claimsOf, PASSWORD, Realm, redirectOf, type TestClient } from './setup.js'

let app: TestApp
let realm: Realm
let web: TestClient
let spa: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.make(app)
  web = await realm.client({}, { confidential: true })
  spa = await realm.client({ application_type: 'spa' })
})
afterAll(() => app.close())

const introspect = async (token: string, client = web) => (await realm.post('/introspect', client, { token })).body
let counter = 0
const somebody = async () => {
  const username = `user${++counter}@example.com`
  return { username, id: await realm.user(username) }
}
const inContext = () =>
  contextFor(app.gatehouse, system, { id: 'req_test', ip: null, userAgent: null, method: null, path: null })
const setSession = (id: string, data: object) => app.gatehouse.tools.prisma.session.update({ where: { id }, data })

describe('users', () => {
  test.each(['suspended', 'blocked'])(
    'a %s user: tokens die, refresh fails, single sign-on is over',
    async (status) => {
      const { username, id } = await somebody()
      const { access_token, refresh_token, browser } = await realm.tokens(web, username)
      must(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { status, status_reason: 'test' }), 200)
      expect((await realm.userinfo(access_token)).status).toBe(401)
      expect(await introspect(access_token)).toEqual({ active: false })
      expect(await introspect(refresh_token)).toEqual({ active: false })
      expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
      const { page } = await realm.begin(spa, { prompt: 'none' }, browser)
      expect(redirectOf(page)['error']).toBe('login_required')
      // Coming back does not bring the old sessions back.
      must(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { status: 'active' }), 200)
      expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
    },
  )

  test('rule 11: the state of the user counts by itself, even while a session still stands', async () => {
    const { username, id } = await somebody()
    const { access_token, refresh_token } = await realm.tokens(web, username)
    await app.gatehouse.tools.prisma.user.update({ where: { id }, data: { status: 'blocked' } })
    expect((await realm.userinfo(access_token)).status).toBe(401)
    expect(await introspect(access_token)).toEqual({ active: false })
    expect(await introspect(refresh_token)).toEqual({ active: false })
    expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
    await app.gatehouse.tools.prisma.user.update({ where: { id }, data: { status: 'active' } })
    expect((await realm.refresh(web, refresh_token)).status).toBe(200)
  })

  test('a user suspended between code and token gets none', async () => {
    const { username, id } = await somebody()
    const { redirect, verifier } = await realm.signIn(spa, username)
    must(
      await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { status: 'suspended', status_reason: 'test' }),
      200,
    )
    const answer = await realm.exchange(spa, {
      code: redirect['code']!,
      code_verifier: verifier,
      redirect_uri: CALLBACK,
    })
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant'])
  })

  test('a deleted user', async () => {
    const { username, id } = await somebody()
    const { access_token, refresh_token } = await realm.tokens(web, username)
    expect((await realm.tenant.owner.delete(`${realm.tenant.I}/users/${id}`)).status).toBe(202)
    expect((await realm.userinfo(access_token)).status).toBe(401)
    expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
  })
})

describe('clients', () => {
  test('a disabled client: nothing works until it is enabled again', async () => {
    const client = await realm.client({}, { confidential: true })
    const { username } = await somebody()
    const { access_token, refresh_token } = await realm.tokens(client, username)
    const path = `${realm.tenant.I}/clients/${client.id}`
    must(await realm.tenant.owner.patch(path, { status: 'disabled' }), 200)
    expect((await realm.refresh(client, refresh_token)).body.error).toBe('invalid_client')
    expect((await realm.post('/introspect', client, { token: access_token })).status).toBe(401)
    expect((await realm.userinfo(access_token)).status).toBe(401)
    const page = await new TestBrowser('nowhere').open(realm.authorizeUrl(client))
    expect([page.status, headingOf(page)]).toEqual([400, 'This did not work'])
    must(await realm.tenant.owner.patch(path, { status: 'active' }), 200)
    expect((await realm.refresh(client, refresh_token)).status).toBe(200)
  })

  test("section 3: a deleted client's flows fail; its users' access tokens stay good at userinfo until they expire", async () => {
    const client = await realm.client({}, { confidential: true })
    const { username } = await somebody()
    const { access_token, refresh_token } = await realm.tokens(client, username)
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
    const other = await Realm.make(app, status)
    await other.user('ada@example.com')
    const client = await other.client({}, { confidential: true })
    const { access_token, refresh_token } = await other.tokens(client, 'ada@example.com')
    const open = await other.begin(client)
    must(await app.operator.patch(other.tenant.I, { status }), 200)
    expect(await other.refresh(client, refresh_token)).toMatchObject({ status: 403, body: { error: 'access_denied' } })
    expect((await other.userinfo(access_token)).status).toBe(401)
    const authorize = await new TestBrowser('nowhere').open(other.authorizeUrl(client))
    expect([authorize.status, headingOf(authorize)]).toEqual([403, 'This did not work'])
    expect((await open.browser.submit(open.page, { username: 'ada@example.com', password: PASSWORD })).status).toBe(403)
    expect((await fetch(`${other.url}/jwks.json`)).status).toBe(200)
    must(await app.operator.patch(other.tenant.I, { status: 'active' }), 200)
    expect((await other.refresh(client, refresh_token)).status).toBe(200)
  })

  test('a deleted issuer is not there any more', async () => {
    const other = await Realm.make(app, 'gone')
    await other.user('ada@example.com')
    const client = await other.client({}, { confidential: true })
    const { access_token, refresh_token } = await other.tokens(client, 'ada@example.com')
    expect((await other.tenant.owner.delete(other.tenant.I)).status).toBe(204)
    expect((await other.refresh(client, refresh_token)).status).toBe(404)
    expect((await other.userinfo(access_token)).status).toBe(404)
  })
})

describe('sessions', () => {
  test('suspended: all its tokens are dead and single sign-on refuses; reactivated they are good again', async () => {
    const { username } = await somebody()
    const { access_token, refresh_token, browser } = await realm.tokens(web, username)
    const { sid } = claimsOf(access_token)
    await setSession(sid, { status: 'suspended' })
    expect((await realm.userinfo(access_token)).status).toBe(401)
    expect(await introspect(access_token)).toEqual({ active: false })
    expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
    expect(redirectOf((await realm.begin(web, {}, browser)).page)['error']).toBe('access_denied')
    await setSession(sid, { status: 'active' })
    expect((await realm.userinfo(access_token)).status).toBe(200)
    expect((await realm.refresh(web, refresh_token)).status).toBe(200)
  })

  test('section 3: suspended, the browser gets no other session with the client, for an organization or without', async () => {
    const { username } = await somebody()
    const { access_token, browser } = await realm.tokens(web, username)
    await setSession(claimsOf(access_token).sid, { status: 'suspended' })
    const again = async (params: Record<string, string>) => redirectOf((await realm.begin(web, params, browser)).page)
    expect((await again({ org: 'org_01ARZ3NDEKTSV4RRFFQ69G5FAV' }))['error']).toBe('access_denied')
    expect((await again({}))['error']).toBe('access_denied')
    await setSession(claimsOf(access_token).sid, { status: 'active' })
    // The other way about: the later of two is in force, the earlier is suspended.
    expect((await again({ org: 'org_01ARZ3NDEKTSV4RRFFQ69G5FAV' }))['code']).toBeDefined()
    await setSession(claimsOf(access_token).sid, { status: 'suspended' })
    expect((await again({}))['error']).toBe('access_denied')
  })

  test('5.2 rule 4: what is revoked while its session is suspended does not come back with it', async () => {
    const { owner, I } = realm.tenant
    const { username } = await somebody()
    const move = (sid: string, what: string, body?: object) => owner.post(`${I}/sessions/${sid}/${what}`, body)
    const reason = { reason: 'other' }
    const one = await realm.tokens(web, username)
    const { sid } = claimsOf(one.access_token)
    must(await move(sid, 'suspend', reason), 200)
    expect((await realm.post('/revoke', web, { token: one.access_token })).status).toBe(200)
    must(await move(sid, 'reactivate'), 200)
    expect((await realm.userinfo(one.access_token)).status).toBe(401)
    const next = (await realm.refresh(web, one.refresh_token)).body
    expect((await realm.userinfo(next.access_token)).status).toBe(200)

    must(await move(sid, 'suspend', reason), 200)
    expect((await realm.post('/revoke', spa, { token: next.refresh_token })).status).toBe(200)
    must(await move(sid, 'reactivate'), 200)
    const last = (await realm.refresh(web, next.refresh_token)).body
    must(await move(sid, 'suspend', reason), 200)
    expect((await realm.post('/revoke', web, { token: last.refresh_token })).status).toBe(200)
    expect(must(await owner.get(`${I}/sessions/${sid}`), 200).data.status).toBe('revoked')
    expect((await realm.refresh(web, last.refresh_token)).body.error).toBe('invalid_grant')
  })

  test("rule 13: an administrator's revoke ends the browser's sign-in too", async () => {
    const { username } = await somebody()
    const { access_token, browser } = await realm.tokens(web, username)
    const { sid } = claimsOf(access_token)
    await endSessions(inContext(), realm.tenant, { sessionId: sid }, { reason: 'admin_action', browserToo: true })
    expect((await realm.userinfo(access_token)).status).toBe(401)
    for (const client of [web, spa]) {
      expect(redirectOf((await realm.begin(client, { prompt: 'none' }, browser)).page)['error']).toBe('login_required')
    }
    // A second revoke finds nothing to end, so there is one event.
    await endSessions(inContext(), realm.tenant, { sessionId: sid }, { reason: 'admin_action', browserToo: true })
    expect(
      await app.gatehouse.tools.prisma.event.count({ where: { sessionId: sid, type: 'session.terminated' } }),
    ).toBe(1)
  })

  test('rule 13: a request in flight does not bring an ended sign-in back', async () => {
    const { username } = await somebody()
    const { browser, access_token } = await realm.tokens(web, username)
    const { pool, prisma } = app.gatehouse.tools
    const { browserUid: uid } = await prisma.session.findUniqueOrThrow({ where: { id: claimsOf(access_token).sid } })
    const holder = await pool.connect()
    await holder.query('BEGIN')
    await holder.query(`DELETE FROM idp_artifacts WHERE kind = 'Session' AND uid = $1`, [uid])
    // They have read the sign-in and wait to write it.
    const inFlight = [web, spa].map((client) => realm.begin(client, { prompt: 'none' }, browser))
    await new Promise((done) => setTimeout(done, 300))
    await holder.query('COMMIT')
    holder.release()
    for (const { page } of await Promise.all(inFlight)) expect(redirectOf(page)['error']).toBe('login_required')
    expect(await prisma.idpArtifact.count({ where: { kind: 'Session', uid } })).toBe(0)
    expect(await prisma.session.count({ where: { browserUid: uid } })).toBe(1)
  })

  test.each([
    ['userId', 'that has others', 'waits for it'],
    ['userId', 'that had none yet', 'comes before it'],
    ['browserUid', 'that has others', 'waits for it'],
    ['browserUid', 'that had none yet', 'waits for it'],
    ['sessionId', 'that has others', 'waits for it'],
  ] as const)(
    'rule 13: an answer begins a session in a browser; who ends sessions by %s, of one %s, %s, and it is over',
    async (key, others, order) => {
      const { username, id: userId } = await somebody()
      const { browser, access_token } = await realm.tokens(web, username)
      const { pool, prisma } = app.gatehouse.tools
      const { sid: sessionId } = claimsOf(access_token)
      const { browserUid } = await prisma.session.findUniqueOrThrow({ where: { id: sessionId } })
      if (others === 'that had none yet') await prisma.session.delete({ where: { id: sessionId } })
      // A sign-in knows its second only.
      app.clock.advance(1000)
      const holder = await pool.connect()
      await holder.query('BEGIN')
      await holder.query(`SELECT 1 FROM idp_artifacts WHERE kind = 'Session' AND uid = $1 FOR UPDATE`, [browserUid])
      const inFlight = realm.begin(spa, { prompt: 'none' }, browser)
      await new Promise((done) => setTimeout(done, 300))
      const which = { userId, browserUid, sessionId }[key]
      const ending = { reason: 'admin_action', browserToo: true } as const
      const ended = endSessions(inContext(), realm.tenant, { [key]: which } as { userId: string }, ending)
      await new Promise((done) => setTimeout(done, 300))
      await holder.query('COMMIT')
      holder.release()
      const answer = redirectOf((await inFlight).page)
      expect(answer['error']).toBe(order === 'waits for it' ? undefined : 'login_required')
      await ended
      const left = await prisma.session.count({ where: { browserUid, status: 'active' } })
      // One session was meant; the sign-in ends with it, and gives out nothing more.
      expect(left).toBe(key === 'sessionId' ? 1 : 0)
      expect(redirectOf((await realm.begin(spa, { prompt: 'none' }, browser)).page)['error']).toBe('login_required')
    },
  )

  test('rule 13: a sign-in that was finished before all were ended is not brought to its end', async () => {
    const { username, id } = await somebody()
    const { page, browser } = await realm.begin(web)
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)![1]!
    const body = new URLSearchParams({ csrf, username, password: PASSWORD })
    const done = await browser.request(page.url, { method: 'POST', body })
    const holder = await app.gatehouse.tools.pool.connect()
    await holder.query('BEGIN')
    await holder.query('UPDATE users SET owned_since = $2 WHERE id = $1', [id, app.clock.now() + 2000])
    // Its answer has looked at the user, and waits to begin a session.
    const resumed = browser.open(new URL(done.headers.get('location')!, page.url).href)
    await new Promise((wait) => setTimeout(wait, 300))
    await holder.query('COMMIT')
    holder.release()
    expect(headingOf(await resumed)).toBe('Sign in')
    expect(await app.gatehouse.tools.prisma.session.count({ where: { userId: id } })).toBe(0)
  })

  test.each(['revoke_all_user_sessions', 'suspended and active again'])(
    'rule 13: %s ends sign-ins whose sessions had ended before, and those that are half-way',
    async (how) => {
      const { owner, I } = realm.tenant
      const { username, id } = await somebody()
      const quiet = await realm.tokens(web, username)
      // Its application revokes the token; the browser stays signed in.
      expect((await realm.post('/revoke', web, { token: quiet.refresh_token })).status).toBe(200)
      const changing = must(await owner.get(`${I}/users/${id}/verifiers`), 200).data[0]
      must(await owner.patch(`${I}/users/${id}/verifiers/${changing.id}`, { must_change: true }), 200)
      const half = await realm.begin(web)
      const choosing = await half.browser.submit(half.page, { username, password: PASSWORD })
      must(await owner.patch(`${I}/users/${id}/verifiers/${changing.id}`, { must_change: false }), 200)
      const { access_token } = await realm.tokens(web, username)
      app.clock.advance(1000)
      if (how === 'revoke_all_user_sessions') {
        const body = { reason: 'security_event', revoke_all_user_sessions: true }
        must(await owner.post(`${I}/sessions/${claimsOf(access_token).sid}/revoke`, body), 200)
      } else {
        for (const status of ['suspended', 'active']) {
          must(await owner.patch(`${I}/users/${id}`, { status, status_reason: 'test' }), 200)
        }
      }
      const { page } = await realm.begin(spa, { prompt: 'none' }, quiet.browser)
      expect(redirectOf(page)['error']).toBe('login_required')
      const chosen = await half.browser.submit(choosing, { new_password: 'another long enough one' })
      expect(headingOf(chosen)).toBe('Sign in')
      // Signing in anew is all it takes.
      expect((await realm.signIn(spa, username, {}, quiet.browser)).redirect['code']).toBeDefined()
    },
  )

  test('an expired session is not continued, even by a browser that is signed in still', async () => {
    const { username } = await somebody()
    const { browser, access_token } = await realm.tokens(web, username)
    await setSession(claimsOf(access_token).sid, { expiresAt: app.clock.now() - 1 })
    expect(redirectOf((await realm.begin(web, { prompt: 'none' }, browser)).page)['error']).toBe('login_required')
    expect(redirectOf((await realm.begin(spa, { prompt: 'none' }, browser)).page)['code']).toBeDefined()
  })

  test('D17: idle makes it inactive, a refresh makes it active again; past its absolute lifetime it is over', async () => {
    const other = await Realm.make(app, 'clocks')
    await other.user('ada@example.com')
    must(
      await other.tenant.owner.patch(other.tenant.I, {
        settings: { sessions: { absolute_lifetime: 3600, idle_timeout: 60 } },
      }),
      200,
    )
    const client = await other.client({}, { confidential: true })
    const first = await other.tokens(client, 'ada@example.com')
    const { exp, iat } = claimsOf(first.access_token)
    expect(exp - iat).toBe(1800)
    app.clock.advance(61_000)
    expect((await other.userinfo(first.access_token)).status).toBe(401)
    const second = await other.refresh(client, first.refresh_token)
    expect(second.status).toBe(200)
    expect((await other.userinfo(first.access_token)).status).toBe(200)
    app.clock.advance(3_540_000)
    expect((await other.refresh(client, second.body.refresh_token)).body.error).toBe('invalid_grant')
    expect(redirectOf((await other.begin(client, { prompt: 'none' }, first.browser)).page)['error']).toBe(
      'login_required',
    )
    app.clock.advance(-3_601_000)
  })

  test('a token never outlives its session', async () => {
    const other = await Realm.make(app, 'short')
    await other.user('ada@example.com')
    must(await other.tenant.owner.patch(other.tenant.I, { settings: { sessions: { absolute_lifetime: 300 } } }), 200)
    const { access_token, expires_in } = await other.tokens(await other.client(), 'ada@example.com')
    const { exp, iat } = claimsOf(access_token)
    expect(exp - iat).toBeLessThanOrEqual(300)
    expect(expires_in).toBe(exp - iat)
  })
})

describe('logout (RP-Initiated Logout 1.0)', () => {
  const url = (params: Record<string, string>) => `${realm.url}/logout?${new URLSearchParams(params)}`

  test('with a valid hint: at once, back to the registered address with state; every session of the browser ends', async () => {
    const { username } = await somebody()
    const one = await realm.tokens(web, username)
    const two = await realm.tokens(spa, username, { prompt: 'none' }, one.browser)
    const page = await one.browser.open(
      url({ id_token_hint: one.id_token, post_logout_redirect_uri: AFTER_LOGOUT, state: 'x&y' }),
    )
    expect(page.url).toBe(`${AFTER_LOGOUT}?state=x%26y`)
    expect(one.browser.cookies().some((cookie: { name: string }) => cookie.name === 'gatehouse_session')).toBe(false)
    expect((await realm.refresh(web, one.refresh_token)).body.error).toBe('invalid_grant')
    expect((await realm.refresh(spa, two.refresh_token)).body.error).toBe('invalid_grant')
    expect((await realm.userinfo(two.access_token)).status).toBe(401)
    const events = await app.gatehouse.tools.prisma.event.findMany({
      where: {
        type: 'session.terminated',
        sessionId: { in: [claimsOf(one.access_token).sid, claimsOf(two.access_token).sid] },
      },
    })
    expect(events.map(({ data }) => (data as { reason: string }).reason)).toEqual(['user_logout', 'user_logout'])
    // D3: the person did it.
    const { sub } = claimsOf(one.access_token)
    const who = { authType: 'user', actor: { type: 'user', id: sub, name: username } }
    expect(events.map(({ authType, actor }) => ({ authType, actor }))).toEqual([who, who])
  })

  test.each([
    ['https://app.example.com/bye', '?state=a%20b%26c%2Bd'],
    ['https://app.example.com/bye?next=a%20b&flag', '&state=a%20b%26c%2Bd'],
    ['https://app.example.com/bye?state=own', '&state=a%20b%26c%2Bd'],
    ['com.example.app:/bye', '?state=a%20b%26c%2Bd'],
  ])('security rule 15: %s goes out as it was registered, with the state behind it', async (address, end) => {
    const client = await realm.client({ application_type: 'native', post_logout_redirect_uris: [address] })
    const query = { client_id: client.id, post_logout_redirect_uri: address, state: 'a b&c+d' }
    const answer = await new TestBrowser().request(url(query))
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `${address}${end}`])
  })

  test('an expired ID token is still a hint', async () => {
    const { username } = await somebody()
    const { id_token, browser } = await realm.tokens(spa, username)
    app.clock.advance(7_200_000)
    expect(headingOf(await browser.open(url({ id_token_hint: id_token })))).toBe('You are signed out')
    app.clock.advance(-7_200_000)
  })

  test.each(['GET', 'POST'])('%s without a hint asks first, and does what is answered', async (method) => {
    const { username } = await somebody()
    const { refresh_token, browser } = await realm.tokens(spa, username)
    const params = { client_id: spa.id, post_logout_redirect_uri: AFTER_LOGOUT, state: 's' }
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
    expect((await browser.submit(await ask(), { logout: 'yes' })).url).toBe(`${AFTER_LOGOUT}?state=s`)
    expect((await realm.refresh(spa, again.body.refresh_token)).body.error).toBe('invalid_grant')
  })

  test.each<[string, (idToken: string) => Record<string, string>, string, string]>([
    ['its hint', (id_token_hint) => ({ id_token_hint }), 'out', `${AFTER_LOGOUT}?state=s`],
    ['its id', () => ({ client_id: spa.id }), 'asked', `${AFTER_LOGOUT}?state=s`],
    [
      'a hint, and more than an address holds',
      (id_token_hint) => ({ id_token_hint, state: 's'.repeat(7600) }),
      'out',
      `${AFTER_LOGOUT}?state=${'s'.repeat(7600)}`,
    ],
    ['a state longer than an address', () => ({ client_id: spa.id, state: 's'.repeat(9000) }), 'asked', AFTER_LOGOUT],
  ])(
    "D23: an application's POST, which comes without the cookie, signs out as a GET does: with %s",
    async (_, params, verdict, end) => {
      const { username } = await somebody()
      const other = await realm.tokens(web, username)
      const { id_token, refresh_token, browser } = await realm.tokens(spa, username, { prompt: 'none' }, other.browser)
      const body = new URLSearchParams({ post_logout_redirect_uri: AFTER_LOGOUT, state: 's', ...params(id_token) })
      const page = await browser.open(`${realm.url}/logout`, { method: 'POST', body }, true)
      expect(page.html === '' ? 'out' : headingOf(page)).toBe(verdict === 'out' ? 'out' : 'Do you want to sign out?')
      expect((verdict === 'out' ? page : await browser.submit(page, { logout: 'yes' })).url).toBe(end)
      expect((await realm.refresh(spa, refresh_token)).body.error).toBe('invalid_grant')
      expect((await realm.refresh(web, other.refresh_token)).body.error).toBe('invalid_grant')
      expect(headingOf((await realm.begin(spa, {}, browser)).page)).toBe('Sign in')
    },
  )

  test("D23: an application's POST signs out by a hint whose session has ended, and nobody whom the hint does not name", async () => {
    const { username } = await somebody()
    const other = await realm.tokens(web, username)
    const { id_token, refresh_token, browser } = await realm.tokens(spa, username, { prompt: 'none' }, other.browser)
    expect((await realm.post('/revoke', spa, { token: refresh_token })).status).toBe(200)
    const post = (from: TestBrowser) =>
      from.open(`${realm.url}/logout`, { method: 'POST', body: new URLSearchParams({ id_token_hint: id_token }) }, true)
    await post(browser)
    expect((await realm.refresh(web, other.refresh_token)).body.error).toBe('invalid_grant')
    expect(headingOf((await realm.begin(spa, {}, browser)).page)).toBe('Sign in')
    const victim = await realm.tokens(web, (await somebody()).username)
    await post(victim.browser)
    expect(redirectOf((await realm.begin(web, { prompt: 'none' }, victim.browser)).page)['code']).toBeDefined()
  })

  test("an application's POST is refused as a GET is, and for nobody it ends where a GET ends", async () => {
    const post = (browser: TestBrowser, params: Record<string, string>) =>
      browser.open(`${realm.url}/logout`, { method: 'POST', body: new URLSearchParams(params) }, true)
    const { browser } = await realm.tokens(spa, (await somebody()).username)
    const params = { client_id: spa.id, post_logout_redirect_uri: AFTER_LOGOUT, state: 's' }
    const lured = { ...params, post_logout_redirect_uri: 'https://evil.example/' }
    expect((await post(browser, lured)).status).toBe(400)
    expect((await post(new TestBrowser(), params)).url).toBe(`${AFTER_LOGOUT}?state=s`)
  })

  test("somebody else's hint asks first", async () => {
    const [one, other] = [await somebody(), await somebody()]
    const { browser } = await realm.tokens(spa, one.username)
    const { id_token } = await realm.tokens(spa, other.username)
    expect(headingOf(await browser.open(url({ id_token_hint: id_token })))).toBe('Do you want to sign out?')
  })

  test.each<[string, (tokens: { id_token: string; access_token: string }) => Record<string, string>]>([
    [
      'an address that is not registered',
      ({ id_token }) => ({ id_token_hint: id_token, post_logout_redirect_uri: 'https://evil.example/' }),
    ],
    [
      'an address that only begins like a registered one',
      ({ id_token }) => ({ id_token_hint: id_token, post_logout_redirect_uri: `${AFTER_LOGOUT}.evil.example` }),
    ],
    ['an access token for a hint', ({ access_token }) => ({ id_token_hint: access_token })],
    ['a forged hint', ({ id_token }) => ({ id_token_hint: forged(id_token!) })],
    ['a hint of another client', ({ id_token }) => ({ id_token_hint: id_token, client_id: web.id })],
    ['an unknown client', () => ({ client_id: `cli_${'0'.repeat(26)}` })],
  ])('%s: an error page, no redirect, nobody signed out', async (_, params) => {
    const { username } = await somebody()
    const tokens = await realm.tokens(spa, username)
    const page = await tokens.browser.open(url(params(tokens)))
    expect([page.status, headingOf(page)]).toEqual([400, 'This did not work'])
    expect((await realm.refresh(spa, tokens.refresh_token)).status).toBe(200)
  })

  const departures: Record<string, (path: string) => Promise<unknown>> = {
    deleted: async (path) => must(await realm.tenant.owner.delete(path), 204),
    disabled: async (path) => must(await realm.tenant.owner.patch(path, { status: 'disabled' }), 200),
  }
  const namings: Record<string, (client: TestClient, token: string) => Record<string, string>> = {
    'a hint': (_, id_token_hint) => ({ id_token_hint }),
    'its id': ({ id }) => ({ client_id: id }),
    'a hint and its id': ({ id }, id_token_hint) => ({ id_token_hint, client_id: id }),
  }
  test.each(Object.keys(departures).flatMap((state) => Object.keys(namings).map((naming) => [naming, state] as const)))(
    'with %s of a %s client asks first, and sends nobody to its address',
    async (naming, state) => {
      const { username } = await somebody()
      const passing = await realm.client({ grant_types: ['authorization_code', 'refresh_token'] })
      const { browser } = await realm.tokens(passing, username)
      const { id_token } = await realm.tokens(passing, username, { prompt: 'none' }, browser)
      await departures[state]!(`${realm.tenant.I}/clients/${passing.id}`)
      const params = namings[naming]!(passing, id_token)
      const address = url({ ...params, post_logout_redirect_uri: AFTER_LOGOUT, state: 's' })
      const question = await browser.open(address)
      expect([question.status, headingOf(question)]).toEqual([200, 'Do you want to sign out?'])
      const done = await browser.submit(question, { logout: 'yes' })
      expect([done.status, headingOf(done)]).toEqual([200, 'You are signed out'])
      expect(headingOf((await realm.begin(spa, {}, browser)).page)).toBe('Sign in')
      expect(headingOf(await browser.open(address))).toBe('You are signed out')
    },
  )

  test('a hint of before its client wanted another algorithm is genuine still', async () => {
    const { username } = await somebody()
    const client = await realm.client()
    const { id_token, browser } = await realm.tokens(client, username)
    const openid = { redirect_uris: [CALLBACK], post_logout_redirect_uris: [AFTER_LOGOUT] }
    const settings = { openid: { ...openid, response_signature_alg: 'RS256' } }
    must(await realm.tenant.owner.patch(`${realm.tenant.I}/clients/${client.id}`, { settings }), 200)
    const params = { id_token_hint: id_token, post_logout_redirect_uri: AFTER_LOGOUT }
    expect((await browser.open(url({ ...params, id_token_hint: forged(id_token) }))).status).toBe(400)
    expect((await browser.open(url(params))).url).toBe(AFTER_LOGOUT)
    expect(headingOf((await realm.begin(spa, {}, browser)).page)).toBe('Sign in')
  })

  test('without a client an address is not used', async () => {
    expect(headingOf(await new TestBrowser().open(url({ post_logout_redirect_uri: AFTER_LOGOUT })))).toBe(
      'You are signed out',
    )
  })
})

test('the purge removes what time has ended and nothing that lives', async () => {
  const { username } = await somebody()
  const { refresh_token, access_token } = await realm.tokens(spa, username)
  const abandoned = await realm.begin(spa)
  await abandoned.browser.submit(abandoned.page, { username: 'x@example.com', password: 'x' })
  const { prisma } = app.gatehouse.tools
  await purgeExpired(inContext())
  const again = await realm.refresh(spa, refresh_token)
  expect(again.status).toBe(200)
  app.clock.advance(8 * 86_400_000)
  await purgeExpired(inContext())
  expect(
    await prisma.idpArtifact.count({ where: { kind: { in: ['AuthorizationCode', 'RefreshToken', 'Interaction'] } } }),
  ).toBe(0)
  expect(await prisma.loginState.count()).toBe(0)
  expect(await prisma.loginFailure.count()).toBe(0)
  expect(await prisma.session.count({ where: { id: claimsOf(access_token).sid } })).toBe(1)
  app.clock.advance(60 * 86_400_000)
  await expireSessions(inContext())
  await purgeExpired(inContext())
  expect(await prisma.session.count()).toBe(0)
  app.clock.advance(-68 * 86_400_000)
})
