/**
 * Concurrent requests with one single-use value: one request succeeds, the other requests count as reuse
 * (docs/contract.md#single-use-values, docs/contract.md#reuse-of-codes-and-refresh-tokens).
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitForLockWaiters } from '../setup/wait-until.js'
import { jwtClaims, REDIRECT_URI, Realm, type TestClient } from './realm.js'

let app: TestApp
let second: TestApp
let realm: Realm
let spa: TestClient
let web: TestClient
let user: string
let org: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  user = await realm.createUser('ada@example.com')
  const organizations = `${realm.tenant.I}/organizations`
  org = expectStatus(await realm.tenant.owner.post(organizations, { name: 'Tulips' }), 201).data.id
  expectStatus(await realm.tenant.owner.post(`${organizations}/${org}/members`, { member_id: user }), 201)
  spa = await realm.createClient({ application_type: 'spa' })
  web = await realm.createClient({}, { confidential: true })
  second = await app.startSecondApp()
})
afterAll(() => app.close())

const nothing = async () => {}
const setMember = async (status: string) =>
  expectStatus(
    await realm.tenant.owner.patch(`${realm.tenant.I}/organizations/${org}/members/${user}`, { status }),
    200,
  )
const parallel = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: 20 }, work))

async function introspect(token: string): Promise<boolean> {
  return (await realm.postForm('/introspect', web, { token })).body.active
}

test('of 20 concurrent redemptions of a code one succeeds, and its tokens are revoked afterwards', async () => {
  const { redirect, verifier } = await realm.signIn(web, 'ada@example.com')
  const responses = await parallel(() =>
    realm.exchangeCode(web, { code: redirect['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }),
  )
  const [winner, ...others] = responses.filter(({ status }) => status === 200)
  expect(others).toEqual([])
  expect(responses.filter(({ status, body }) => status === 400 && body.error === 'invalid_grant')).toHaveLength(19)
  const { access_token, refresh_token } = winner!.body
  expect(await introspect(access_token)).toBe(false)
  expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
  const session = await app.gatehouse.database.prisma.session.findUnique({ where: { id: jwtClaims(access_token).sid } })
  expect(session).toMatchObject({ status: 'revoked', revocationReason: 'token_compromised' })
})

test('of 20 concurrent refreshes in two processes one succeeds, and its family is revoked afterwards', async () => {
  const { refresh_token } = await realm.signInForTokens(web, 'ada@example.com')
  // The second process serves the issuer at another port.
  const twin = new Realm(second, realm.tenant)
  let turn = 0
  const responses = await parallel(() => (turn++ % 2 === 0 ? realm : twin).refresh(web, refresh_token))
  const [winner, ...others] = responses.filter(({ status }) => status === 200)
  expect(others).toEqual([])
  expect(responses.filter(({ status, body }) => status === 400 && body.error === 'invalid_grant')).toHaveLength(19)
  expect((await realm.refresh(web, winner!.body.refresh_token)).body.error).toBe('invalid_grant')
  expect(await introspect(winner!.body.access_token)).toBe(false)
})

test('of concurrent refreshes, only the family with a reused refresh token is revoked', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => realm.signInForTokens(web, 'ada@example.com')))
  const [thief, ...honest] = all as [(typeof all)[number], ...typeof all]
  const [again, ...responses] = await Promise.all([
    realm.refresh(web, thief.refresh_token),
    ...honest.map(({ refresh_token }) => realm.refresh(web, refresh_token)),
    realm.refresh(web, thief.refresh_token),
  ])
  const twice = responses.pop()!
  expect([again.status, twice.status].sort()).toEqual([200, 400])
  const { body } = again.status === 200 ? again : twice
  expect((await realm.refresh(web, body.refresh_token)).body.error).toBe('invalid_grant')
  for (const [at, response] of responses.entries()) {
    expect(response.status).toBe(200)
    const { sid } = jwtClaims(response.body.access_token)
    expect(sid).toBe(jwtClaims(honest[at]!.access_token).sid)
    expect((await realm.refresh(web, response.body.refresh_token)).status).toBe(200)
  }
})

test('of two refreshes that both read the token as unused, the slower one revokes the tokens of the faster one', async () => {
  const { refresh_token } = await realm.signInForTokens(web, 'ada@example.com')
  const holder = await app.gatehouse.database.pool.connect()
  await holder.query('BEGIN')
  await holder.query(`SELECT 1 FROM idp_artifacts WHERE kind = 'RefreshToken' AND consumed_at IS NULL FOR UPDATE`)
  const twin = new Realm(second, realm.tenant)
  // One refresh goes to each process, because a process combines concurrent refreshes into one statement. When both
  // statements wait for the row lock, both processes have read the token as unused.
  const both = Promise.all([realm.refresh(web, refresh_token), twin.refresh(web, refresh_token)])
  await waitForLockWaiters(app.gatehouse.database.pool, 2)
  await holder.query('COMMIT')
  holder.release()
  const responses = await both
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 400])
  const { body } = responses.find(({ status }) => status === 200)!
  expect(await introspect(body.access_token)).toBe(false)
  expect((await realm.refresh(web, body.refresh_token)).body.error).toBe('invalid_grant')
})

test('a used refresh token that is sent again revokes the family; the event has the reason', async () => {
  const first = await realm.signInForTokens(spa, 'ada@example.com')
  const next = await realm.refresh(spa, first.refresh_token)
  expect((await realm.userinfo(next.body.access_token)).status).toBe(200)
  expect((await realm.refresh(spa, first.refresh_token)).body.error).toBe('invalid_grant')
  expect((await realm.refresh(spa, next.body.refresh_token)).body.error).toBe('invalid_grant')
  expect((await realm.userinfo(next.body.access_token)).status).toBe(401)
  const { sid, jti } = jwtClaims(next.body.access_token)
  const events = await app.gatehouse.database.prisma.event.findMany({
    where: { sessionId: sid, type: 'session.terminated' },
  })
  expect(events.map(({ data }) => data)).toEqual([{ reason: 'token_compromised' }])
  const where = { issuerId_jti: { issuerId: realm.tenant.issuerId, jti } }
  expect(await app.gatehouse.database.prisma.revokedToken.findUnique({ where })).not.toBeNull()
})

test.each<[string, Record<string, string>, () => Promise<unknown>, () => Promise<unknown>]>([
  ['with a scope beyond the grant', { scope: 'openid email' }, nothing, nothing],
  ['while the member is suspended', {}, () => setMember('suspended'), () => setMember('active')],
])('a used refresh token that is sent again %s also revokes the family', async (_, params, enter, leave) => {
  const first = await realm.signInForTokens(web, 'ada@example.com', { org })
  const next = await realm.refresh(web, first.refresh_token)
  expect(next.status).toBe(200)
  await enter()
  const { status, body } = await realm.refresh(web, first.refresh_token, params)
  expect([status, body]).toEqual([400, { error: 'invalid_grant', error_description: 'grant request is invalid' }])
  await leave()
  expect((await realm.refresh(web, next.body.refresh_token)).body.error).toBe('invalid_grant')
  const where = { id: jwtClaims(next.body.access_token).sid }
  const session = await app.gatehouse.database.prisma.session.findUnique({ where })
  expect(session).toMatchObject({ status: 'revoked', revocationReason: 'token_compromised' })
})

test('a used refresh token that another client sends revokes nothing', async () => {
  const first = await realm.signInForTokens(spa, 'ada@example.com')
  const next = await realm.refresh(spa, first.refresh_token)
  expect((await realm.refresh(web, first.refresh_token)).body.error).toBe('invalid_grant')
  expect((await realm.refresh(spa, next.body.refresh_token)).status).toBe(200)
})

test('a used code that is sent again revokes only the tokens of that code', async () => {
  const other = await realm.signInForTokens(spa, 'ada@example.com')
  const { redirect, verifier } = await realm.signIn(spa, 'ada@example.com')
  const exchange = () =>
    realm.exchangeCode(spa, { code: redirect['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI })
  const first = await exchange()
  expect(first.status).toBe(200)
  expect((await exchange()).body.error).toBe('invalid_grant')
  expect((await realm.userinfo(first.body.access_token)).status).toBe(401)
  expect((await realm.userinfo(other.access_token)).status).toBe(200)
})

test('a request that fails after the token was found does not consume it', async () => {
  const { refresh_token } = await realm.signInForTokens(spa, 'ada@example.com')
  expect((await realm.refresh(spa, refresh_token, { resource: 'https://elsewhere.example' })).body.error).toBe(
    'invalid_target',
  )
  expect((await realm.refresh(spa, refresh_token)).status).toBe(200)
})

test('the database stores only hashes of codes, tokens and cookies', async () => {
  const { redirect, verifier, browser } = await realm.signIn(spa, 'ada@example.com')
  const code = redirect['code']!
  const { body } = await realm.exchangeCode(spa, { code, code_verifier: verifier, redirect_uri: REDIRECT_URI })
  const { prisma } = app.gatehouse.database
  const rows = [
    await prisma.idpArtifact.findMany(),
    await prisma.session.findMany(),
    await prisma.event.findMany(),
    await prisma.loginState.findMany(),
  ]
  const stored = JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value))
  const cookies = browser.cookies().filter(({ name }) => name === 'gatehouse_session')
  expect(cookies).toHaveLength(1)
  for (const secret of [code, body.refresh_token, body.access_token, cookies[0]!.value])
    expect(stored).not.toContain(secret)
})

test('the session stores the ids of its current tokens', async () => {
  const first = await realm.signInForTokens(spa, 'ada@example.com')
  const next = (await realm.refresh(spa, first.refresh_token)).body
  const { sid } = jwtClaims(first.access_token)
  const session = await app.gatehouse.database.prisma.session.findUniqueOrThrow({ where: { id: sid } })
  expect(session.accessTokenJti).toEqual([jwtClaims(first.access_token).jti, jwtClaims(next.access_token).jti])
  expect(session.refreshTokenJti).toHaveLength(1)
  expect(session.device).toMatchObject({ ip_address: '127.0.0.1' })
})
