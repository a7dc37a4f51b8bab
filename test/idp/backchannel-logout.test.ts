/**
 * OpenID Connect Back-Channel Logout 1.0: the client gets a logout token when a session ends
 * (docs/contract.md#back-channel-logout).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { runDueJobs } from '../../src/platform/jobs/queue.js'
import { tasks } from '../../src/schedule.js'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'
import { TestBrowser } from './browser.js'
import { jwtClaims, Realm, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let application: Server
let uri: string
let web: TestClient
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

interface LogoutRequest {
  path: string
  contentType: string
  form: URLSearchParams
  req: IncomingMessage
}
const logoutRequests: LogoutRequest[] = []
let respond: (res: ServerResponse) => void = (res) => void res.writeHead(200).end()

beforeAll(async () => {
  application = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    logoutRequests.push({ path: req.url!, contentType: req.headers['content-type'] ?? '', form, req })
    respond(res)
  })
  await new Promise<void>((done) => application.listen(0, '127.0.0.1', done))
  uri = `http://127.0.0.1:${(application.address() as AddressInfo).port}/logged-out`
  app = await startApp({ env: { ALLOW_PRIVATE_NETWORKS: 'true' } })
  realm = await Realm.create(app)
  web = await realm.createClient({ backchannel_logout_uri: uri }, { confidential: true })
})
afterEach(async () => {
  respond = (res) => void res.writeHead(200).end()
  await app.gatehouse.database.prisma.job.deleteMany()
  logoutRequests.length = 0
})
afterAll(async () => {
  await app.close()
  application.closeAllConnections()
  await new Promise((done) => application.close(done))
})

let people = 0
async function signInUser(client = web, browser = new TestBrowser()) {
  const username = `person${people++}@example.com`
  const userId = await realm.createUser(username)
  const tokens = await realm.signInForTokens(client, username, {}, browser)
  return { userId, username, browser, tokens, sid: jwtClaims(tokens.access_token).sid as string }
}
const deliverLogouts = () => runDueJobs(app.gatehouse, tasks)
const queuedJobCount = () => app.gatehouse.database.prisma.job.count({ where: { failedAt: null } })

test.each(['ES256', 'RS256', 'EdDSA'])(
  'sends a logout token signed with %s, with exactly the specified claims, as a form',
  async (alg) => {
    const client = await realm.createClient(
      { backchannel_logout_uri: uri, response_signature_alg: alg },
      { confidential: true },
    )
    const { sid, userId, tokens, browser } = await signInUser(client)
    await browser.open(`${realm.url}/logout?id_token_hint=${tokens.id_token}`)
    await deliverLogouts()
    expect(logoutRequests).toHaveLength(1)
    const [{ path, contentType, form }] = logoutRequests as [LogoutRequest]
    expect([path, contentType, [...form.keys()]]).toEqual([
      '/logged-out',
      'application/x-www-form-urlencoded',
      ['logout_token'],
    ])
    const keys = createLocalJWKSet((await (await fetch(`${realm.url}/jwks.json`)).json()) as never)
    const { payload, protectedHeader } = await jwtVerify(form.get('logout_token')!, keys, {
      issuer: realm.url,
      audience: client.id,
      typ: 'logout+jwt',
    })
    expect(protectedHeader).toEqual({ alg, typ: 'logout+jwt', kid: expect.any(String) })
    expect(payload).toEqual({
      iss: realm.url,
      sub: userId,
      aud: client.id,
      iat: expect.any(Number),
      exp: payload.iat! + 120,
      jti: expect.stringMatching(/^tok_/),
      events: { [EVENT]: {} },
      sid,
    })
  },
)

describe('reasons that end a session', () => {
  const post = (path: string, body: object) => realm.tenant.owner.post(`${realm.tenant.I}${path}`, body)
  test.each<[string, (now: Awaited<ReturnType<typeof signInUser>>) => Promise<unknown>]>([
    [
      'the user logs out',
      ({ browser, tokens }) => browser.open(`${realm.url}/logout?id_token_hint=${tokens.id_token}`),
    ],
    [
      'an administrator revokes it',
      async ({ sid }) => expectStatus(await post(`/sessions/${sid}/revoke`, { reason: 'admin_action' }), 200),
    ],
    [
      'an administrator revokes all sessions of the user',
      async ({ sid }) =>
        expectStatus(
          await post(`/sessions/${sid}/revoke`, { reason: 'admin_action', revoke_all_user_sessions: true }),
          200,
        ),
    ],
    [
      'the user is suspended',
      async ({ userId }) =>
        expectStatus(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${userId}`, { status: 'suspended' }), 200),
    ],
    [
      'the user is deleted',
      async ({ userId }) => expectStatus(await realm.tenant.owner.delete(`${realm.tenant.I}/users/${userId}`), 202),
    ],
    [
      'the password is changed',
      async ({ userId }) => {
        const path = `${realm.tenant.I}/users/${userId}/verifiers`
        const { data } = expectStatus(await realm.tenant.owner.get(path), 200)
        expectStatus(
          await realm.tenant.owner.patch(`${path}/${data[0].id}`, { password: 'another long password 77' }),
          200,
        )
      },
    ],
    [
      'a refresh token is used twice',
      async ({ tokens }) => {
        await realm.refresh(web, tokens.refresh_token)
        await realm.refresh(web, tokens.refresh_token)
      },
    ],
    [
      'another user signs in with the same browser',
      async ({ browser }) => {
        const other = await realm.createClient()
        const username = `other${people++}@example.com`
        await realm.createUser(username)
        await realm.signInForTokens(other, username, { prompt: 'login' }, browser)
      },
    ],
  ])('%s: the client gets one logout token', async (_, end) => {
    const now = await signInUser()
    await end(now)
    await deliverLogouts()
    expect(logoutRequests.map(({ form }) => jwtClaims(form.get('logout_token')!).sid)).toEqual([now.sid])
    const events = await app.gatehouse.database.prisma.event.count({
      where: { type: 'session.terminated', sessionId: now.sid },
    })
    expect(events).toBe(1)
  })

  test('each client of the browser gets its own logout token; clients without a logout URI add nothing to the queue', async () => {
    const [other, silent] = [
      await realm.createClient({ backchannel_logout_uri: `${uri}/other` }),
      await realm.createClient(),
    ]
    const { username, browser, tokens } = await signInUser()
    for (const client of [other, silent]) await realm.signInForTokens(client, username, { prompt: 'none' }, browser)
    await browser.open(`${realm.url}/logout?id_token_hint=${tokens.id_token}`)
    expect(await queuedJobCount()).toBe(2)
    await deliverLogouts()
    expect(logoutRequests.map(({ path }) => path).sort()).toEqual(['/logged-out', '/logged-out/other'])
    const audiences = logoutRequests.map(({ form }) => jwtClaims(form.get('logout_token')!).aud).sort()
    expect(audiences).toEqual([web.id, other.id].sort())
  })

  test('a suspension sends no logout token', async () => {
    const { sid } = await signInUser()
    expectStatus(await post(`/sessions/${sid}/suspend`, { reason: 'risk_review' }), 200)
    expect(await queuedJobCount()).toBe(0)
  })
})

describe('delivery', () => {
  const end = async () => {
    const now = await signInUser()
    expectStatus(
      await realm.tenant.owner.post(`${realm.tenant.I}/sessions/${now.sid}/revoke`, { reason: 'other' }),
      200,
    )
    return now
  }

  test.each<[string, (res: ServerResponse) => void]>([
    ['500', (res) => res.writeHead(500).end('internals of the client')],
    ['400', (res) => res.writeHead(400).end()],
    ['a redirect', (res) => res.writeHead(302, { location: `${uri}/elsewhere` }).end()],
    ['a broken connection', (res) => void res.destroy()],
  ])('the client responds with %s: three attempts with the same jti and new timestamps', async (_, behave) => {
    respond = behave
    await end()
    for (let n = 0; n < 5; n++) {
      await deliverLogouts()
      app.clock.advance(31_000)
    }
    expect(logoutRequests).toHaveLength(3)
    expect(new Set(logoutRequests.map(({ path }) => path))).toEqual(new Set(['/logged-out']))
    const claims = logoutRequests.map(({ form }) => jwtClaims(form.get('logout_token')!))
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(1)
    expect(new Set(claims.map(({ exp }) => exp)).size).toBe(3)
    expect(await queuedJobCount()).toBe(0)
  })

  test('204 is accepted; a successful second attempt ends the retries', async () => {
    const statuses = [503, 204]
    respond = (res) => void res.writeHead(statuses.shift()!).end()
    await end()
    for (let n = 0; n < 3; n++) {
      await deliverLogouts()
      app.clock.advance(31_000)
    }
    expect(logoutRequests).toHaveLength(2)
  })

  test('two processes deliver a logout token once', async () => {
    const second = await app.startSecondApp()
    await Promise.all([end(), end(), end(), end()])
    await Promise.all([
      deliverLogouts(),
      runDueJobs(second.gatehouse, tasks),
      deliverLogouts(),
      runDueJobs(second.gatehouse, tasks),
    ])
    expect(logoutRequests).toHaveLength(4)
    expect(new Set(logoutRequests.map(({ form }) => jwtClaims(form.get('logout_token')!).sid)).size).toBe(4)
  })

  test('the commit wakes the worker, which delivers the logout token', async () => {
    const worker = await startApp({
      databaseUrl: app.databaseUrl,
      roles: ['worker'],
      clock: app.clock,
      env: { ALLOW_PRIVATE_NETWORKS: 'true', IDP_URL: app.gatehouse.config.idpUrl },
    })
    await end()
    await waitUntil('the client has received a logout token', () => logoutRequests.length > 0)
    expect(logoutRequests).toHaveLength(1)
    await worker.close()
  })

  test('a client whose backchannel_logout_uri was removed in the meantime gets no logout token', async () => {
    const other = await Realm.create(app, 'Short-lived')
    await other.createUser('ada@example.com')
    const client = await other.createClient({ backchannel_logout_uri: uri }, { confidential: true })
    const { access_token } = await other.signInForTokens(client, 'ada@example.com')
    const { owner, I } = other.tenant
    expectStatus(await owner.post(`${I}/sessions/${jwtClaims(access_token).sid}/revoke`, { reason: 'other' }), 200)
    expect(await queuedJobCount()).toBe(1)
    expectStatus(
      await owner.patch(`${I}/clients/${client.id}`, { settings: { openid: { backchannel_logout_uri: null } } }),
      200,
    )
    await deliverLogouts()
    expect([logoutRequests.length, await queuedJobCount()]).toEqual([0, 0])
  })

  test.each(['client', 'issuer'])('a deleted %s sends no logout token', async (deleted) => {
    const other = await Realm.create(app, 'Short-lived')
    await other.createUser('ada@example.com')
    const client = await other.createClient({ backchannel_logout_uri: uri }, { confidential: true })
    const { access_token } = await other.signInForTokens(client, 'ada@example.com')
    const { owner, I } = other.tenant
    expectStatus(await owner.post(`${I}/sessions/${jwtClaims(access_token).sid}/revoke`, { reason: 'other' }), 200)
    expect(await queuedJobCount()).toBe(1)
    expect((await owner.delete(deleted === 'client' ? `${I}/clients/${client.id}` : I)).status).toBe(204)
    await deliverLogouts()
    expect([logoutRequests.length, await queuedJobCount()]).toEqual([0, 0])
  })

  test('without ALLOW_PRIVATE_NETWORKS private addresses are not called, and the job contains no secrets', async () => {
    const strict = await startApp({ databaseUrl: app.databaseUrl, roles: ['core'], clock: app.clock })
    await end()
    const [job] = await app.gatehouse.database.prisma.job.findMany()
    expect(Object.keys(job!.payload as object).sort()).toEqual(['issuerId', 'jti', 'sessionId'])
    await runDueJobs(strict.gatehouse, tasks)
    expect(logoutRequests).toEqual([])
    await strict.close()
  })
})

describe('settings.openid.backchannel_logout_uri', () => {
  test.each([
    'http://app.example.com/logout',
    'https://user:pass@app.example.com/logout',
    'https://app.example.com/logout#part',
    'https://app.example.com\\logout',
    'https://app.example.com/log out',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'logout',
    '',
    7,
  ])('%s is rejected', async (backchannel_logout_uri) => {
    const { owner, I } = realm.tenant
    const body = { name: 'x', type: 'external', confidential: false, settings: { openid: { backchannel_logout_uri } } }
    const { status, body: said } = await owner.post(`${I}/clients`, body)
    expect([status, said.details?.[0].field]).toEqual([400, 'settings.openid.backchannel_logout_uri'])
  })
  test('backchannel_logout_session_required must be true or false', async () => {
    const { owner, I } = realm.tenant
    const body = (value: unknown) => ({
      name: 'x',
      type: 'external',
      confidential: false,
      settings: { openid: { backchannel_logout_uri: uri, backchannel_logout_session_required: value } },
    })
    expect((await owner.post(`${I}/clients`, body('yes'))).status).toBe(400)
    expect((await owner.post(`${I}/clients`, body(true))).status).toBe(201)
  })
})
