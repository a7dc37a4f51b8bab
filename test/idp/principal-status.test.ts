/**
 * Status of every principal at every grant and endpoint (docs/contract.md#states-and-transitions,
 * docs/contract.md#session-fields, docs/contract.md#liveness-of-principals). One process makes the change. Then each
 * request is sent to another process, and after that to the process that made the change.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import type { Page, TestBrowser } from './browser.js'
import { type IdpResponse, jwtClaims, REDIRECT_URI, Realm, type TestClient } from './realm.js'

/** The names of the requests. `expectedResults` takes their results in the same order. */
const probes = [
  'code',
  'refresh',
  'client_credentials',
  'userinfo',
  'introspect access',
  'introspect refresh',
  'revoke',
  'authorize',
  'authorize elsewhere',
] as const
type Probe = (typeof probes)[number]

/** A signed-in user with codes and tokens from before the change. */
interface SignedInFixture {
  realm: Realm
  web: TestClient
  other: TestClient
  machine: TestClient
  userId: string
  sid: string
  browser: TestBrowser
  /** Two authorization codes, one for each process. */
  codes: { code: string; verifier: string }[]
  access: string
  refresh: string
}

let app: TestApp
let second: TestApp
let shared: Pick<SignedInFixture, 'realm' | 'web' | 'other' | 'machine'>

beforeAll(async () => {
  app = await startApp()
  second = await app.startSecondApp()
  shared = await issuer()
})
afterAll(() => app.close())

async function clients(realm: Realm): Promise<Pick<SignedInFixture, 'web' | 'machine'>> {
  const m2m = { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] }
  return {
    web: await realm.createClient({}, { confidential: true }),
    machine: await realm.createClient(m2m, { confidential: true, settings: { scopes: ['a:read'] } }),
  }
}

async function issuer(): Promise<typeof shared> {
  const realm = await Realm.create(app)
  return { realm, other: await realm.createClient({ application_type: 'spa' }), ...(await clients(realm)) }
}

let people = 0
async function signInUser(place: typeof shared): Promise<SignedInFixture> {
  const { realm, web } = place
  const username = `person${++people}@example.com`
  const userId = await realm.createUser(username)
  const { access_token: access, refresh_token: refresh, browser } = await realm.signInForTokens(web, username)
  const codes = []
  for (let n = 0; n < 2; n++) {
    const { redirect, verifier } = await realm.signIn(web, username, { prompt: 'none' }, browser)
    codes.push({ code: redirect['code']!, verifier })
  }
  return { ...place, userId, sid: jwtClaims(access).sid, browser, codes, access, refresh }
}

const outcomeOf = ({ status, body }: IdpResponse): string => (status === 200 ? 'ok' : `${status} ${body.error}`)
const introspectionOutcomeOf = (response: IdpResponse): string =>
  response.status === 200 ? (response.body.active ? 'ok' : 'inactive') : outcomeOf(response)

function redirected({ url, status, html }: Page): string {
  if (html !== '') return `${status} page`
  const params = new URL(url).searchParams
  return params.has('code') ? 'ok' : (params.get('error') ?? 'nothing')
}

/** Sends one request to one process. Returns `ok`, or a short description of the error. */
async function runProbe(fixture: SignedInFixture, at: Realm, probe: Probe): Promise<string> {
  const { web, other, machine, browser, access } = fixture
  switch (probe) {
    case 'code': {
      const { code, verifier } = fixture.codes.pop()!
      return outcomeOf(await at.exchangeCode(web, { code, code_verifier: verifier, redirect_uri: REDIRECT_URI }))
    }
    case 'refresh': {
      const response = await at.refresh(web, fixture.refresh)
      fixture.refresh = response.body.refresh_token ?? fixture.refresh
      return outcomeOf(response)
    }
    case 'client_credentials':
      return outcomeOf(await at.postForm('/token', machine, { grant_type: 'client_credentials' }))
    case 'userinfo':
      return outcomeOf(await at.userinfo(access))
    case 'introspect access':
      return introspectionOutcomeOf(await at.postForm('/introspect', web, { token: access }))
    case 'introspect refresh':
      return introspectionOutcomeOf(await at.postForm('/introspect', web, { token: fixture.refresh }))
    case 'revoke':
      // The revocation endpoint returns 200 even for an unknown token (RFC 7009 section 2.2).
      return outcomeOf(await at.postForm('/revoke', web, { token: 'unknown' }))
    case 'authorize':
      return redirected((await at.openSignInPage(web, { prompt: 'none' }, browser.clone())).page)
    case 'authorize elsewhere':
      return redirected((await at.openSignInPage(other, { prompt: 'none' }, browser.clone())).page)
  }
}

/** A status of a principal and the expected results of the requests in it. */
interface State {
  name: string
  enter(fixture: SignedInFixture): Promise<unknown>
  /** Whether `enter` runs again before each request, because some requests change the status. */
  resetBeforeEachProbe?: true
  expectedResults: Record<Probe, string>
  /** A result that the other process may return until it has received the notification that the issuer was deleted. */
  staleResult?: string
}

const expectedResults = (...row: string[]): State['expectedResults'] =>
  Object.fromEntries(probes.map((probe, at) => [probe, row[at]])) as State['expectedResults']

async function check(
  fixture: SignedInFixture,
  { enter, resetBeforeEachProbe, expectedResults: expected, staleResult }: State,
): Promise<void> {
  if (!resetBeforeEachProbe) await enter(fixture)
  const twin = new Realm(second, fixture.realm.tenant)
  const seen: Record<string, string> = {}
  const wanted: Record<string, string> = {}
  for (const probe of probes) {
    for (const [where, at] of [['there', twin] as const, ['here', fixture.realm] as const]) {
      if (resetBeforeEachProbe) await enter(fixture)
      const result = await runProbe(fixture, at, probe)
      const early = where === 'there' && staleResult !== undefined && result === staleResult
      seen[`${probe} ${where}`] = early ? expected[probe] : result
      wanted[`${probe} ${where}`] = expected[probe]
    }
  }
  expect(seen).toEqual(wanted)
}

const patch = (world: SignedInFixture, path: string, body: object) =>
  world.realm.tenant.owner.patch(`${world.realm.tenant.I}${path}`, body).then((response) => expectStatus(response, 200))
const setUser = (status: string) => (world: SignedInFixture) =>
  patch(world, `/users/${world.userId}`, { status, status_reason: 'test' })
/** Writes a status that no operation of the API sets directly to the database. */
const storeUser = (status: string) => (world: SignedInFixture) =>
  app.gatehouse.database.prisma.user.update({ where: { id: world.userId }, data: { status } })
const storeSession = (data: object) => (world: SignedInFixture) =>
  app.gatehouse.database.prisma.session.update({ where: { id: world.sid }, data })
const session = (action: string, reason?: string) => async (world: SignedInFixture) =>
  expectStatus(
    await world.realm.tenant.owner.post(
      `${world.realm.tenant.I}/sessions/${world.sid}/${action}`,
      reason && { reason },
    ),
    200,
  )

const allGood = expectedResults('ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok')

describe('user', () => {
  const out = 'login_required'
  const inactiveUserResults = expectedResults(
    '400 invalid_grant',
    '400 invalid_grant',
    'ok',
    '401 invalid_token',
    'inactive',
    'inactive',
    'ok',
    out,
    out,
  )
  test.each<State>([
    { name: 'active', enter: async () => undefined, expectedResults: allGood },
    { name: 'suspended', enter: setUser('suspended'), expectedResults: inactiveUserResults },
    { name: 'blocked', enter: setUser('blocked'), expectedResults: inactiveUserResults },
    {
      name: 'pending_deletion',
      enter: async ({ realm, userId }) =>
        expectStatus(await realm.tenant.owner.delete(`${realm.tenant.I}/users/${userId}`), 202),
      expectedResults: inactiveUserResults,
    },
    { name: 'pending_approval', enter: storeUser('pending_approval'), expectedResults: inactiveUserResults },
    { name: 'disabled', enter: storeUser('disabled'), expectedResults: inactiveUserResults },
    { name: 'deleted', enter: storeUser('deleted'), expectedResults: inactiveUserResults },
  ])('$name', async (state) => check(await signInUser(shared), state))
})

describe('client', () => {
  const refused = '401 invalid_client'
  const both =
    (change: (fixture: SignedInFixture, client: TestClient) => Promise<unknown>) => async (world: SignedInFixture) => {
      for (const client of [world.web, world.machine]) await change(world, client)
    }
  const disabled = expectedResults(
    refused,
    refused,
    refused,
    '401 invalid_token',
    refused,
    refused,
    refused,
    '400 page',
    'ok',
  )
  test.each<State>([
    {
      name: 'disabled',
      enter: both((world, { id }) => patch(world, `/clients/${id}`, { status: 'disabled' })),
      expectedResults: disabled,
    },
    {
      name: 'disabled and active again',
      enter: async (fixture) => {
        for (const status of ['disabled', 'active'])
          await both((_, { id }) => patch(fixture, `/clients/${id}`, { status }))(fixture)
      },
      expectedResults: allGood,
    },
    {
      name: 'deleted: access tokens of its users stay valid until they expire',
      enter: both(async ({ realm }, { id }) =>
        expectStatus(await realm.tenant.owner.delete(`${realm.tenant.I}/clients/${id}`), 204),
      ),
      expectedResults: { ...disabled, userinfo: 'ok' },
    },
  ])('$name', async (state) => check(await signInUser({ ...shared, ...(await clients(shared.realm)) }), state))
})

describe('issuer', () => {
  const closed = '403 access_denied'
  const gone = '404 not_found'
  test.each<State>([
    {
      name: 'disabled',
      enter: (fixture) => patch(fixture, '', { status: 'disabled' }),
      expectedResults: expectedResults(
        closed,
        closed,
        closed,
        '401 invalid_token',
        closed,
        closed,
        closed,
        '403 page',
        '403 page',
      ),
    },
    {
      name: 'disabled and active again',
      enter: async (fixture) => {
        for (const status of ['disabled', 'active']) await patch(fixture, '', { status })
      },
      expectedResults: allGood,
    },
    {
      name: 'deleted',
      enter: async ({ realm }) => expectStatus(await realm.tenant.owner.delete(realm.tenant.I), 204),
      expectedResults: expectedResults(gone, gone, gone, gone, gone, gone, gone, '404 page', '404 page'),
      staleResult: '401 invalid_token',
    },
  ])('$name', async (state) => check(await signInUser(await issuer()), state))
})

describe('session', () => {
  const no = '400 invalid_grant'
  const over = expectedResults(
    no,
    no,
    'ok',
    '401 invalid_token',
    'inactive',
    'inactive',
    'ok',
    'login_required',
    'login_required',
  )
  test.each<State>([
    {
      name: 'suspended: other applications of the browser are not affected',
      enter: session('suspend', 'risk_review'),
      expectedResults: { ...over, authorize: 'access_denied', 'authorize elsewhere': 'ok' },
    },
    {
      name: 'suspended and reactivated',
      enter: async (fixture) => {
        await session('suspend', 'risk_review')(fixture)
        await session('reactivate')(fixture)
      },
      expectedResults: allGood,
    },
    { name: 'revoked by an administrator', enter: session('revoke', 'admin_action'), expectedResults: over },
    {
      name: 'expired: past its maximum lifetime',
      enter: storeSession({ expiresAt: 1 }),
      expectedResults: { ...over, 'authorize elsewhere': 'ok' },
    },
    {
      name: 'inactive: past its idle timeout; a refresh or a new authorization request makes it active again',
      enter: storeSession({ idleExpiresAt: 1 }),
      resetBeforeEachProbe: true,
      expectedResults: { ...allGood, userinfo: '401 invalid_token', 'introspect access': 'inactive' },
    },
  ])('$name', async (state) => check(await signInUser(shared), state))
})
