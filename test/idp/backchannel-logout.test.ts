/** OpenID Connect Back-Channel Logout 1.0, decisions D23: whatever ends a session, its client is told. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { workOff } from '../../src/platform/queue.js'
import { tasks } from '../../src/tasks.js'
import { must } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { TestBrowser } from './browser.js'
import { claimsOf, Realm, type TestClient } from './setup.js'

let app: TestApp
let realm: Realm
let application: Server
let uri: string
let web: TestClient
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

interface Notice {
  path: string
  contentType: string
  form: URLSearchParams
  req: IncomingMessage
}
const notices: Notice[] = []
let answer: (res: ServerResponse) => void = (res) => void res.writeHead(200).end()

beforeAll(async () => {
  application = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    notices.push({ path: req.url!, contentType: req.headers['content-type'] ?? '', form, req })
    answer(res)
  })
  await new Promise<void>((done) => application.listen(0, '127.0.0.1', done))
  uri = `http://127.0.0.1:${(application.address() as AddressInfo).port}/logged-out`
  app = await startApp({ env: { ALLOW_PRIVATE_NETWORKS: 'true' } })
  realm = await Realm.make(app)
  web = await realm.client({ backchannel_logout_uri: uri }, { confidential: true })
})
afterEach(async () => {
  answer = (res) => void res.writeHead(200).end()
  await app.gatehouse.tools.prisma.job.deleteMany()
  notices.length = 0
})
afterAll(async () => {
  await app.close()
  application.closeAllConnections()
  await new Promise((done) => application.close(done))
})

let people = 0
async function signedIn(client = web, browser = new TestBrowser()) {
  const username = `person${people++}@example.com`
  const userId = await realm.user(username)
  const tokens = await realm.tokens(client, username, {}, browser)
  return { userId, username, browser, tokens, sid: claimsOf(tokens.access_token).sid as string }
}
const deliver = () => workOff(app.gatehouse, tasks)
const waiting = () => app.gatehouse.tools.prisma.job.count({ where: { failedAt: null } })

test.each(['ES256', 'RS256', 'EdDSA'])(
  'D23: a logout token signed with %s, with exactly its claims, as a form',
  async (alg) => {
    const client = await realm.client(
      { backchannel_logout_uri: uri, response_signature_alg: alg },
      { confidential: true },
    )
    const { sid, userId, tokens, browser } = await signedIn(client)
    await browser.open(`${realm.url}/logout?id_token_hint=${tokens.id_token}`)
    await deliver()
    expect(notices).toHaveLength(1)
    const [{ path, contentType, form }] = notices as [Notice]
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

describe('whatever ends the session', () => {
  const post = (path: string, body: object) => realm.tenant.owner.post(`${realm.tenant.I}${path}`, body)
  test.each<[string, (now: Awaited<ReturnType<typeof signedIn>>) => Promise<unknown>]>([
    [
      'the user logs out',
      ({ browser, tokens }) => browser.open(`${realm.url}/logout?id_token_hint=${tokens.id_token}`),
    ],
    [
      'an administrator revokes it',
      async ({ sid }) => must(await post(`/sessions/${sid}/revoke`, { reason: 'admin_action' }), 200),
    ],
    [
      'an administrator revokes all of the user’s',
      async ({ sid }) =>
        must(await post(`/sessions/${sid}/revoke`, { reason: 'admin_action', revoke_all_user_sessions: true }), 200),
    ],
    [
      'the user is suspended',
      async ({ userId }) =>
        must(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${userId}`, { status: 'suspended' }), 200),
    ],
    [
      'the user is deleted',
      async ({ userId }) => must(await realm.tenant.owner.delete(`${realm.tenant.I}/users/${userId}`), 202),
    ],
    [
      'the password is changed',
      async ({ userId }) => {
        const path = `${realm.tenant.I}/users/${userId}/verifiers`
        const { data } = must(await realm.tenant.owner.get(path), 200)
        must(await realm.tenant.owner.patch(`${path}/${data[0].id}`, { password: 'another long password 77' }), 200)
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
      'somebody else signs in with the browser',
      async ({ browser }) => {
        const other = await realm.client()
        const username = `other${people++}@example.com`
        await realm.user(username)
        await realm.tokens(other, username, { prompt: 'login' }, browser)
      },
    ],
  ])('%s: the client is told, once', async (_, end) => {
    const now = await signedIn()
    await end(now)
    await deliver()
    expect(notices.map(({ form }) => claimsOf(form.get('logout_token')!).sid)).toEqual([now.sid])
    const events = await app.gatehouse.tools.prisma.event.count({
      where: { type: 'session.terminated', sessionId: now.sid },
    })
    expect(events).toBe(1)
  })

  test('each client of the browser gets its own; those that want none cost nothing', async () => {
    const [other, silent] = [await realm.client({ backchannel_logout_uri: `${uri}/other` }), await realm.client()]
    const { username, browser, tokens } = await signedIn()
    for (const client of [other, silent]) await realm.tokens(client, username, { prompt: 'none' }, browser)
    await browser.open(`${realm.url}/logout?id_token_hint=${tokens.id_token}`)
    expect(await waiting()).toBe(2)
    await deliver()
    expect(notices.map(({ path }) => path).sort()).toEqual(['/logged-out', '/logged-out/other'])
    const audiences = notices.map(({ form }) => claimsOf(form.get('logout_token')!).aud).sort()
    expect(audiences).toEqual([web.id, other.id].sort())
  })

  test('a suspension is no end', async () => {
    const { sid } = await signedIn()
    must(await post(`/sessions/${sid}/suspend`, { reason: 'risk_review' }), 200)
    expect(await waiting()).toBe(0)
  })
})

describe('delivery', () => {
  const end = async () => {
    const now = await signedIn()
    must(await realm.tenant.owner.post(`${realm.tenant.I}/sessions/${now.sid}/revoke`, { reason: 'other' }), 200)
    return now
  }

  test.each<[string, (res: ServerResponse) => void]>([
    ['500', (res) => res.writeHead(500).end('internals of the client')],
    ['400', (res) => res.writeHead(400).end()],
    ['a redirect', (res) => res.writeHead(302, { location: `${uri}/elsewhere` }).end()],
    ['a broken connection', (res) => void res.destroy()],
  ])('D23: %s is tried three times, with the same jti and fresh times, then no more', async (_, behave) => {
    answer = behave
    await end()
    for (let n = 0; n < 5; n++) {
      await deliver()
      app.clock.advance(31_000)
    }
    expect(notices).toHaveLength(3)
    expect(new Set(notices.map(({ path }) => path))).toEqual(new Set(['/logged-out']))
    const claims = notices.map(({ form }) => claimsOf(form.get('logout_token')!))
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(1)
    expect(new Set(claims.map(({ exp }) => exp)).size).toBe(3)
    expect(await waiting()).toBe(0)
  })

  test('204 is good; a second try that is answered ends it', async () => {
    const statuses = [503, 204]
    answer = (res) => void res.writeHead(statuses.shift()!).end()
    await end()
    for (let n = 0; n < 3; n++) {
      await deliver()
      app.clock.advance(31_000)
    }
    expect(notices).toHaveLength(2)
  })

  test('two processes tell a client once', async () => {
    const second = await app.second()
    await Promise.all([end(), end(), end(), end()])
    await Promise.all([deliver(), workOff(second.gatehouse, tasks), deliver(), workOff(second.gatehouse, tasks)])
    expect(notices).toHaveLength(4)
    expect(new Set(notices.map(({ form }) => claimsOf(form.get('logout_token')!).sid)).size).toBe(4)
  })

  test('a worker of the product delivers by itself, woken by the commit', async () => {
    const worker = await startApp({
      databaseUrl: app.databaseUrl,
      roles: ['worker'],
      clock: app.clock,
      env: { ALLOW_PRIVATE_NETWORKS: 'true', IDP_URL: app.gatehouse.config.idpUrl },
    })
    await end()
    for (const limit = Date.now() + 8000; notices.length === 0 && Date.now() < limit; )
      await new Promise((go) => setTimeout(go, 20))
    expect(notices).toHaveLength(1)
    await worker.close()
  })

  test('a client that unset its address, was deleted or whose issuer was deleted meanwhile is not called', async () => {
    const other = await Realm.make(app, 'Short-lived')
    await other.user('ada@example.com')
    const client = await other.client({ backchannel_logout_uri: uri }, { confidential: true })
    const { access_token } = await other.tokens(client, 'ada@example.com')
    const { owner, I } = other.tenant
    must(await owner.post(`${I}/sessions/${claimsOf(access_token).sid}/revoke`, { reason: 'other' }), 200)
    expect(await waiting()).toBe(1)
    must(
      await owner.patch(`${I}/clients/${client.id}`, { settings: { openid: { backchannel_logout_uri: null } } }),
      200,
    )
    await deliver()
    expect([notices.length, await waiting()]).toEqual([0, 0])
  })

  test('security rule 17: private addresses are not called, and nothing of a secret is in the queue', async () => {
    const strict = await startApp({ databaseUrl: app.databaseUrl, roles: ['core'], clock: app.clock })
    await end()
    const [job] = await app.gatehouse.tools.prisma.job.findMany()
    expect(Object.keys(job!.payload as object).sort()).toEqual(['issuerId', 'jti', 'sessionId'])
    await workOff(strict.gatehouse, tasks)
    expect(notices).toEqual([])
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
  ])('%s is refused', async (backchannel_logout_uri) => {
    const { owner, I } = realm.tenant
    const body = { name: 'x', type: 'external', confidential: false, settings: { openid: { backchannel_logout_uri } } }
    const { status, body: said } = await owner.post(`${I}/clients`, body)
    expect([status, said.details?.[0].field]).toEqual([400, 'settings.openid.backchannel_logout_uri'])
  })
  test('backchannel_logout_session_required is true or false', async () => {
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
