/** Refused token and authorization requests are events, at most one per client, reason and minute (decisions D37). */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { must } from '../setup/actors.js'
import { listenTo, type Told } from '../setup/events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { CALLBACK, claimsOf, Realm, type TestClient } from './setup.js'

let app: TestApp
let second: TestApp
let realm: Realm
let web: TestClient
let spa: TestClient
let heard: (...begins: string[]) => Promise<Told[]>

beforeAll(async () => {
  app = await startApp()
  second = await app.second()
  realm = await Realm.make(app)
  await realm.user('ada@example.com')
})
afterAll(() => app.close())
beforeEach(async () => {
  web = await realm.client({}, { confidential: true })
  spa = await realm.client({ application_type: 'spa' })
  heard = await listenTo(app, realm.tenant.accountId)
})

/** Events are written after the answer: waits for as many, then for one that was certainly written after them. */
async function denied(count: number): Promise<Told[]> {
  for (let tries = 0; tries < 200; tries++) {
    const events = await heard('token.denied', 'authorization.denied')
    if (events.length >= count) return events
    await new Promise((done) => setTimeout(done, 25))
  }
  throw new Error(`${count} events did not come: ${JSON.stringify(await heard('token.', 'authorization.'))}`)
}

/** All events of denials up to now: those of another client come after them. */
async function allDenied(): Promise<Told[]> {
  const last = await realm.client({}, { confidential: true })
  await realm.refresh(last, 'x')
  for (let tries = 0; tries < 200; tries++) {
    const events = await heard('token.denied', 'authorization.denied')
    if (events.some(({ clientId }) => clientId === last.id))
      return events.filter(({ clientId }) => clientId === web.id || clientId === spa.id)
    await new Promise((done) => setTimeout(done, 25))
  }
  throw new Error('the last event did not come')
}

const authorize = (client: TestClient, params: Record<string, string | undefined> = {}, at = realm) =>
  fetch(
    at.authorizeUrl(client, {
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      ...params,
    }),
    { redirect: 'manual' },
  )

test('a refused refresh token: who, what and the reason of the library, but not the token', async () => {
  const value = 'a-refresh-token-that-nobody-has'
  expect((await realm.refresh(web, value)).body.error).toBe('invalid_grant')
  const [event] = await denied(1)
  expect(event).toMatchObject({
    type: 'token.denied',
    authType: 'client',
    issuerId: realm.tenant.issuerId,
    clientId: web.id,
    actor: { type: 'client', id: web.id },
    target: { type: 'client', id: web.id },
    data: {
      endpoint: 'token',
      error: 'invalid_grant',
      error_description: 'grant request is invalid',
      error_detail: 'refresh token not found',
    },
  })
  expect(JSON.stringify(event)).not.toContain(value)
})

test('a wrong secret: the client did not authenticate, and the secret is nowhere', async () => {
  const secret = 'wrong-secret-'.repeat(3)
  await realm.refresh({ id: web.id, secret }, 'x')
  const [event] = await denied(1)
  expect(event).toMatchObject({ authType: 'unauthenticated', clientId: web.id, actor: { type: 'unauthenticated' } })
  expect(event!.data).toMatchObject({ error: 'invalid_client', error_detail: 'invalid secret provided' })
  expect(JSON.stringify(event)).not.toContain(secret)
})

test('an agent is named as an agent; introspection and revocation name their endpoint', async () => {
  const { owner, I } = realm.tenant
  const { id } = must(await owner.post(`${I}/agents`, { name: 'Scribe' }), 201).data
  const agent = { id, secret: 'w'.repeat(43) }
  for (const path of ['/token', '/introspect', '/revoke'])
    await realm.post(path, agent, { grant_type: 'client_credentials', token: 'x' })
  const events = await denied(3)
  expect(events.map(({ data }) => data.endpoint).sort()).toEqual(['introspect', 'revoke', 'token'])
  for (const event of events)
    expect(event).toMatchObject({ agentId: id, clientId: null, target: { type: 'agent', id } })
})

test('authorization: a redirect URI that is not registered is in the event as given, up to 500 characters', async () => {
  const redirect_uri = `https://evil.example/${'x'.repeat(1000)}`
  expect((await authorize(spa, { redirect_uri })).status).toBe(400)
  const [event] = await denied(1)
  expect(event).toMatchObject({ type: 'authorization.denied', clientId: spa.id, authType: 'unauthenticated' })
  expect(event!.data).toMatchObject({
    endpoint: 'authorize',
    error: 'invalid_redirect_uri',
    redirect_uri: redirect_uri.slice(0, 500),
  })
})

test.each([
  ['an unknown scope', { scope: 'nothing:known' }, 'invalid_scope'],
  ['no code challenge', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
  ['prompt=none without a sign-in', { prompt: 'none' }, 'login_required'],
])('authorization: %s', async (_, params, error) => {
  await authorize(spa, params)
  const [event] = await denied(1)
  expect([event!.type, event!.data.error]).toEqual(['authorization.denied', error])
})

test('one per client, reason and minute, at two processes and in a burst; another reason or minute is another', async () => {
  const twin = new Realm(second, realm.tenant, `${second.idpUrl}/${realm.tenant.issuerId}`)
  const burst = () =>
    Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? realm : twin).refresh(web, `x${i}`)))
  await burst()
  await realm.post('/token', web, { grant_type: 'authorization_code', code: 'x', redirect_uri: CALLBACK })
  const events = await allDenied()
  expect(events.map(({ data }) => data.error_detail).sort()).toEqual([
    'authorization code not found',
    'refresh token not found',
  ])
  app.clock.advance(60_000)
  await burst()
  expect(await allDenied()).toHaveLength(3)
})

test('clients that do not exist leave no event, and one that varies its reasons leaves few', async () => {
  await Promise.all(
    Array.from({ length: 20 }, (_, i) => realm.refresh({ id: `cli_${String(i).padStart(26, '0')}`, secret: 's' }, 'x')),
  )
  await Promise.all(
    Array.from({ length: 5 }, (_, i) => authorize({ id: `cli_${String(i).padStart(26, '0')}`, secret: undefined })),
  )
  const names = ['scope', 'state', 'nonce', 'prompt', 'max_age', 'audience', 'org', 'login_hint']
  for (let bits = 1; bits < 64; bits++) {
    const url = new URL(realm.authorizeUrl(spa))
    for (const [at, name] of names.entries())
      if (bits & (1 << at)) for (const value of ['1', '2']) url.searchParams.append(name, value)
    await fetch(url, { redirect: 'manual' })
  }
  const events = await allDenied()
  expect(
    (await heard('token.denied', 'authorization.denied')).filter(({ clientId }) => /0{20}/.test(clientId ?? '')),
  ).toEqual([])
  expect(events.length).toBeGreaterThan(1)
  expect(events.length).toBeLessThanOrEqual(20)
})

test('nothing that the request holds gets into the event: codes, verifiers, tokens, hints', async () => {
  const { access_token, refresh_token } = await realm.tokens(web, 'ada@example.com', { scope: 'openid' })
  const secrets = [access_token, refresh_token, 'v'.repeat(43), claimsOf(access_token).jti]
  await realm.exchange(web, { code: refresh_token, redirect_uri: CALLBACK, code_verifier: 'v'.repeat(43) })
  await authorize(spa, { id_token_hint: access_token, prompt: 'none' })
  await authorize(spa, { claims: `{"${refresh_token}` })
  await realm.post('/revoke', web, { token: access_token, token_type_hint: refresh_token, client_id: 'someone-else' })
  const text = JSON.stringify(await denied(2))
  for (const secret of secrets) expect(text).not.toContain(secret)
  expect(text).not.toContain(refresh_token.slice(0, 8))
})

test('a failing write of the event changes nothing about the answer', async () => {
  const { pool } = app.gatehouse.tools
  await pool.query(`ALTER TABLE events ADD CONSTRAINT no_denials CHECK (type <> 'token.denied') NOT VALID`)
  try {
    expect(await realm.refresh(web, 'x')).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect((await realm.refresh(web, 'y')).status).toBe(400)
  } finally {
    await pool.query('ALTER TABLE events DROP CONSTRAINT no_denials')
  }
})
