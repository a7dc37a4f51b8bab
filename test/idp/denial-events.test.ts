/**
 * Events of denied token and authorization requests, at most one per client, reason and minute
 * (docs/contract.md#refused-requests).
 */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { eventsRecordedFromNow, type RecordedEvent } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'
import { jwtClaims, REDIRECT_URI, Realm, type TestClient } from './realm.js'

let app: TestApp
let second: TestApp
let realm: Realm
let web: TestClient
let spa: TestClient
let heard: (...begins: string[]) => Promise<RecordedEvent[]>

beforeAll(async () => {
  app = await startApp()
  second = await app.startSecondApp()
  realm = await Realm.create(app)
  await realm.createUser('ada@example.com')
})
afterAll(() => app.close())
beforeEach(async () => {
  web = await realm.createClient({}, { confidential: true })
  spa = await realm.createClient({ application_type: 'spa' })
  heard = await eventsRecordedFromNow(app, realm.tenant.accountId)
})

/** Returns the events of denied requests when there are at least `count`. Events are written after the response. */
async function deniedEvents(count: number): Promise<RecordedEvent[]> {
  const events = await waitUntil(`${count} events of denials are recorded`, async () => {
    const found = await heard('token.denied', 'authorization.denied')
    return found.length >= count ? found : undefined
  })
  return events!
}

/**
 * Returns all events of denied requests of `web` and `spa`. To be sure that no event is missing, it sends a request of
 * another client and waits for the event of that request, which is recorded last.
 */
async function allDeniedEvents(): Promise<RecordedEvent[]> {
  const last = await realm.createClient({}, { confidential: true })
  await realm.refresh(last, 'x')
  const events = await waitUntil('the event of the other client is recorded', async () => {
    const found = await heard('token.denied', 'authorization.denied')
    return found.some(({ clientId }) => clientId === last.id) ? found : undefined
  })
  return events!.filter(({ clientId }) => clientId === web.id || clientId === spa.id)
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

test('a rejected refresh token: client, endpoint and reason, but not the token', async () => {
  const value = 'a-refresh-token-that-does-not-exist'
  expect((await realm.refresh(web, value)).body.error).toBe('invalid_grant')
  const [event] = await deniedEvents(1)
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

test('a wrong secret: no actor, and the secret is not recorded', async () => {
  const secret = 'wrong-secret-'.repeat(3)
  await realm.refresh({ id: web.id, secret }, 'x')
  const [event] = await deniedEvents(1)
  expect(event).toMatchObject({ authType: 'unauthenticated', clientId: web.id, actor: { type: 'unauthenticated' } })
  expect(event!.data).toMatchObject({ error: 'invalid_client', error_detail: 'invalid secret provided' })
  expect(JSON.stringify(event)).not.toContain(secret)
})

test('an agent is recorded as an agent; introspection and revocation as their endpoints', async () => {
  const { owner, I } = realm.tenant
  const { id } = expectStatus(await owner.post(`${I}/agents`, { name: 'Scribe' }), 201).data
  const agent = { id, secret: 'w'.repeat(43) }
  for (const path of ['/token', '/introspect', '/revoke'])
    await realm.postForm(path, agent, { grant_type: 'client_credentials', token: 'x' })
  const events = await deniedEvents(3)
  expect(events.map(({ data }) => data.endpoint).sort()).toEqual(['introspect', 'revoke', 'token'])
  for (const event of events)
    expect(event).toMatchObject({ agentId: id, clientId: null, target: { type: 'agent', id } })
})

test('authorization: an unregistered redirect URI is recorded, up to 500 characters', async () => {
  const redirect_uri = `https://evil.example/${'x'.repeat(1000)}`
  expect((await authorize(spa, { redirect_uri })).status).toBe(400)
  const [event] = await deniedEvents(1)
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
  const [event] = await deniedEvents(1)
  expect([event!.type, event!.data.error]).toEqual(['authorization.denied', error])
})

test('concurrent denials in two processes are one event per client, reason and minute', async () => {
  const twin = new Realm(second, realm.tenant, `${second.idpUrl}/${realm.tenant.issuerId}`)
  const burst = () =>
    Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? realm : twin).refresh(web, `x${i}`)))
  await burst()
  await realm.postForm('/token', web, { grant_type: 'authorization_code', code: 'x', redirect_uri: REDIRECT_URI })
  const events = await allDeniedEvents()
  expect(events.map(({ data }) => data.error_detail).sort()).toEqual([
    'authorization code not found',
    'refresh token not found',
  ])
  app.clock.advance(60_000)
  await burst()
  expect(await allDeniedEvents()).toHaveLength(3)
})

test('denials of unknown clients are no events; a client with many different denials causes at most 20 events', async () => {
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
  const events = await allDeniedEvents()
  expect(
    (await heard('token.denied', 'authorization.denied')).filter(({ clientId }) => /0{20}/.test(clientId ?? '')),
  ).toEqual([])
  expect(events.length).toBeGreaterThan(1)
  expect(events.length).toBeLessThanOrEqual(20)
})

test('codes, verifiers, tokens and hints of the request are not recorded', async () => {
  const { access_token, refresh_token } = await realm.signInForTokens(web, 'ada@example.com', { scope: 'openid' })
  const secrets = [access_token, refresh_token, 'v'.repeat(43), jwtClaims(access_token).jti]
  await realm.exchangeCode(web, { code: refresh_token, redirect_uri: REDIRECT_URI, code_verifier: 'v'.repeat(43) })
  await authorize(spa, { id_token_hint: access_token, prompt: 'none' })
  await authorize(spa, { claims: `{"${refresh_token}` })
  await realm.postForm('/revoke', web, {
    token: access_token,
    token_type_hint: refresh_token,
    client_id: 'someone-else',
  })
  const text = JSON.stringify(await deniedEvents(2))
  for (const secret of secrets) expect(text).not.toContain(secret)
  expect(text).not.toContain(refresh_token.slice(0, 8))
})

test('a failed event write does not change the response', async () => {
  const { pool } = app.gatehouse.database
  await pool.query(`ALTER TABLE events ADD CONSTRAINT no_denials CHECK (type <> 'token.denied') NOT VALID`)
  try {
    expect(await realm.refresh(web, 'x')).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect((await realm.refresh(web, 'y')).status).toBe(400)
  } finally {
    await pool.query('ALTER TABLE events DROP CONSTRAINT no_denials')
  }
})
