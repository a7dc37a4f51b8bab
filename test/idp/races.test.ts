/** Security rules 1 and 2: one winner, and the loser counts as reuse. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { must } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { CALLBACK, claimsOf, Realm, type TestClient } from './setup.js'

let app: TestApp
let second: TestApp
let realm: Realm
let spa: TestClient
let web: TestClient
let user: string
let org: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.make(app)
  user = await realm.user('ada@example.com')
  const organizations = `${realm.tenant.I}/organizations`
  org = must(await realm.tenant.owner.post(organizations, { name: 'Tulips' }), 201).data.id
  must(await realm.tenant.owner.post(`${organizations}/${org}/members`, { member_id: user }), 201)
  spa = await realm.client({ application_type: 'spa' })
  web = await realm.client({}, { confidential: true })
  second = await app.second()
})
afterAll(() => app.close())

const nothing = async () => {}
const setMember = async (status: string) =>
  must(await realm.tenant.owner.patch(`${realm.tenant.I}/organizations/${org}/members/${user}`, { status }), 200)
const parallel = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: 20 }, work))

async function introspect(token: string): Promise<boolean> {
  return (await realm.post('/introspect', web, { token })).body.active
}

test('rule 1: 20 parallel redemptions of one code have one winner; rule 2: what it got is dead afterwards', async () => {
  const { redirect, verifier } = await realm.signIn(web, 'ada@example.com')
  const answers = await parallel(() =>
    realm.exchange(web, { code: redirect['code']!, code_verifier: verifier, redirect_uri: CALLBACK }),
  )
  const [winner, ...others] = answers.filter(({ status }) => status === 200)
  expect(others).toEqual([])
  expect(answers.filter(({ status, body }) => status === 400 && body.error === 'invalid_grant')).toHaveLength(19)
  const { access_token, refresh_token } = winner!.body
  expect(await introspect(access_token)).toBe(false)
  expect((await realm.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
  const session = await app.gatehouse.tools.prisma.session.findUnique({ where: { id: claimsOf(access_token).sid } })
  expect(session).toMatchObject({ status: 'revoked', revocationReason: 'token_compromised' })
})

test('rule 1: 20 parallel refreshes, through two processes, have one winner; rule 2: its family is dead afterwards', async () => {
  const { refresh_token } = await realm.tokens(web, 'ada@example.com')
  // The second process answers for the same issuer under another address.
  const twin = new Realm(second, realm.tenant)
  let turn = 0
  const answers = await parallel(() => (turn++ % 2 === 0 ? realm : twin).refresh(web, refresh_token))
  const [winner, ...others] = answers.filter(({ status }) => status === 200)
  expect(others).toEqual([])
  expect(answers.filter(({ status, body }) => status === 400 && body.error === 'invalid_grant')).toHaveLength(19)
  expect((await realm.refresh(web, winner!.body.refresh_token)).body.error).toBe('invalid_grant')
  expect(await introspect(winner!.body.access_token)).toBe(false)
})

test('rule 1: requests that are written together win and lose each for itself', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => realm.tokens(web, 'ada@example.com')))
  const [thief, ...honest] = all as [(typeof all)[number], ...typeof all]
  const [again, ...answers] = await Promise.all([
    realm.refresh(web, thief.refresh_token),
    ...honest.map(({ refresh_token }) => realm.refresh(web, refresh_token)),
    realm.refresh(web, thief.refresh_token),
  ])
  const twice = answers.pop()!
  expect([again.status, twice.status].sort()).toEqual([200, 400])
  const { body } = again.status === 200 ? again : twice
  expect((await realm.refresh(web, body.refresh_token)).body.error).toBe('invalid_grant')
  for (const [at, answer] of answers.entries()) {
    expect(answer.status).toBe(200)
    const { sid } = claimsOf(answer.body.access_token)
    expect(sid).toBe(claimsOf(honest[at]!.access_token).sid)
    expect((await realm.refresh(web, answer.body.refresh_token)).status).toBe(200)
  }
})

test('rule 2: two refreshes that both saw the token unused: the slower one ends the family of the faster', async () => {
  const { refresh_token } = await realm.tokens(web, 'ada@example.com')
  const holder = await app.gatehouse.tools.pool.connect()
  // Both have read the token and wait for its row.
  await holder.query('BEGIN')
  await holder.query(`SELECT 1 FROM idp_artifacts WHERE kind = 'RefreshToken' AND consumed_at IS NULL FOR UPDATE`)
  const both = Promise.all([realm.refresh(web, refresh_token), realm.refresh(web, refresh_token)])
  await new Promise((done) => setTimeout(done, 300))
  await holder.query('COMMIT')
  holder.release()
  const answers = await both
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
  const { body } = answers.find(({ status }) => status === 200)!
  expect(await introspect(body.access_token)).toBe(false)
  expect((await realm.refresh(web, body.refresh_token)).body.error).toBe('invalid_grant')
})

test('rule 2: a used refresh token, sent again later, ends the family; the event says why', async () => {
  const first = await realm.tokens(spa, 'ada@example.com')
  const next = await realm.refresh(spa, first.refresh_token)
  expect((await realm.userinfo(next.body.access_token)).status).toBe(200)
  expect((await realm.refresh(spa, first.refresh_token)).body.error).toBe('invalid_grant')
  expect((await realm.refresh(spa, next.body.refresh_token)).body.error).toBe('invalid_grant')
  expect((await realm.userinfo(next.body.access_token)).status).toBe(401)
  const { sid, jti } = claimsOf(next.body.access_token)
  const events = await app.gatehouse.tools.prisma.event.findMany({
    where: { sessionId: sid, type: 'session.terminated' },
  })
  expect(events.map(({ data }) => data)).toEqual([{ reason: 'token_compromised' }])
  const where = { issuerId_jti: { issuerId: realm.tenant.issuerId, jti } }
  expect(await app.gatehouse.tools.prisma.revokedToken.findUnique({ where })).not.toBeNull()
})

test.each<[string, Record<string, string>, () => Promise<unknown>, () => Promise<unknown>]>([
  ['with a scope beyond the grant', { scope: 'openid email' }, nothing, nothing],
  ['while the member is suspended', {}, () => setMember('suspended'), () => setMember('active')],
])('rule 2: a used refresh token ends the family %s, too', async (_, params, enter, leave) => {
  const first = await realm.tokens(web, 'ada@example.com', { org })
  const next = await realm.refresh(web, first.refresh_token)
  expect(next.status).toBe(200)
  await enter()
  const { status, body } = await realm.refresh(web, first.refresh_token, params)
  expect([status, body]).toEqual([400, { error: 'invalid_grant', error_description: 'grant request is invalid' }])
  await leave()
  expect((await realm.refresh(web, next.body.refresh_token)).body.error).toBe('invalid_grant')
  const where = { id: claimsOf(next.body.access_token).sid }
  const session = await app.gatehouse.tools.prisma.session.findUnique({ where })
  expect(session).toMatchObject({ status: 'revoked', revocationReason: 'token_compromised' })
})

test("rule 2: a used refresh token in another client's hands ends nothing", async () => {
  const first = await realm.tokens(spa, 'ada@example.com')
  const next = await realm.refresh(spa, first.refresh_token)
  expect((await realm.refresh(web, first.refresh_token)).body.error).toBe('invalid_grant')
  expect((await realm.refresh(spa, next.body.refresh_token)).status).toBe(200)
})

test('rule 2: a used code, sent again later, ends what came from it and nothing else', async () => {
  const other = await realm.tokens(spa, 'ada@example.com')
  const { redirect, verifier } = await realm.signIn(spa, 'ada@example.com')
  const exchange = () =>
    realm.exchange(spa, { code: redirect['code']!, code_verifier: verifier, redirect_uri: CALLBACK })
  const first = await exchange()
  expect(first.status).toBe(200)
  expect((await exchange()).body.error).toBe('invalid_grant')
  expect((await realm.userinfo(first.body.access_token)).status).toBe(401)
  expect((await realm.userinfo(other.access_token)).status).toBe(200)
})

test('rule 1: a request that fails after the token was found consumes nothing', async () => {
  const { refresh_token } = await realm.tokens(spa, 'ada@example.com')
  expect((await realm.refresh(spa, refresh_token, { resource: 'https://elsewhere.example' })).body.error).toBe(
    'invalid_target',
  )
  expect((await realm.refresh(spa, refresh_token)).status).toBe(200)
})

test('rule 19: no code, token or cookie stands in the database, only hashes', async () => {
  const { redirect, verifier, browser } = await realm.signIn(spa, 'ada@example.com')
  const code = redirect['code']!
  const { body } = await realm.exchange(spa, { code, code_verifier: verifier, redirect_uri: CALLBACK })
  const { prisma } = app.gatehouse.tools
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

test('4.10: the session knows the ids of its current tokens', async () => {
  const first = await realm.tokens(spa, 'ada@example.com')
  const next = (await realm.refresh(spa, first.refresh_token)).body
  const { sid } = claimsOf(first.access_token)
  const session = await app.gatehouse.tools.prisma.session.findUniqueOrThrow({ where: { id: sid } })
  expect(session.accessTokenJti).toEqual([claimsOf(first.access_token).jti, claimsOf(next.access_token).jti])
  expect(session.refreshTokenJti).toHaveLength(1)
  expect(session.device).toMatchObject({ ip_address: '127.0.0.1' })
})
