/**
 * The state of every principal at every grant and endpoint (spec section 3, decisions D17 and D29, security rules 11 and
 * 12). Each change is made through one process and looked for in another first, with the very next request.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import type { Page, TestBrowser } from './browser.js'
import { type Answer, CALLBACK, claimsOf, Realm, type TestClient } from './setup.js'

/** What is asked, in the order of the columns below. */
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

/** Somebody who is signed in at an application, with everything that was given out before the change. */
interface World {
  realm: Realm
  web: TestClient
  other: TestClient
  machine: TestClient
  userId: string
  sid: string
  browser: TestBrowser
  /** One for each process. */
  codes: { code: string; verifier: string }[]
  access: string
  refresh: string
}

let app: TestApp
let second: TestApp
let shared: Pick<World, 'realm' | 'web' | 'other' | 'machine'>

beforeAll(async () => {
  app = await startApp()
  second = await app.second()
  shared = await issuer()
})
afterAll(() => app.close())

async function clients(realm: Realm): Promise<Pick<World, 'web' | 'machine'>> {
  const m2m = { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] }
  return {
    web: await realm.client({}, { confidential: true }),
    machine: await realm.client(m2m, { confidential: true, settings: { scopes: ['a:read'] } }),
  }
}

async function issuer(): Promise<typeof shared> {
  const realm = await Realm.make(app)
  return { realm, other: await realm.client({ application_type: 'spa' }), ...(await clients(realm)) }
}

let people = 0
async function signedIn(place: typeof shared): Promise<World> {
  const { realm, web } = place
  const username = `person${++people}@example.com`
  const userId = await realm.user(username)
  const { access_token: access, refresh_token: refresh, browser } = await realm.tokens(web, username)
  const codes = []
  for (let n = 0; n < 2; n++) {
    const { redirect, verifier } = await realm.signIn(web, username, { prompt: 'none' }, browser)
    codes.push({ code: redirect['code']!, verifier })
  }
  return { ...place, userId, sid: claimsOf(access).sid, browser, codes, access, refresh }
}

const answered = ({ status, body }: Answer): string => (status === 200 ? 'ok' : `${status} ${body.error}`)
const active = (answer: Answer): string =>
  answer.status === 200 ? (answer.body.active ? 'ok' : 'inactive') : answered(answer)

function redirected({ url, status, html }: Page): string {
  if (html !== '') return `${status} page`
  const params = new URL(url).searchParams
  return params.has('code') ? 'ok' : (params.get('error') ?? 'nothing')
}

/** One question to one process. */
async function ask(world: World, at: Realm, probe: Probe): Promise<string> {
  const { web, other, machine, browser, access } = world
  switch (probe) {
    case 'code': {
      const { code, verifier } = world.codes.pop()!
      return answered(await at.exchange(web, { code, code_verifier: verifier, redirect_uri: CALLBACK }))
    }
    case 'refresh': {
      const answer = await at.refresh(web, world.refresh)
      world.refresh = answer.body.refresh_token ?? world.refresh
      return answered(answer)
    }
    case 'client_credentials':
      return answered(await at.post('/token', machine, { grant_type: 'client_credentials' }))
    case 'userinfo':
      return answered(await at.userinfo(access))
    case 'introspect access':
      return active(await at.post('/introspect', web, { token: access }))
    case 'introspect refresh':
      return active(await at.post('/introspect', web, { token: world.refresh }))
    case 'revoke':
      // Somebody else's business is never told of: whoever may ask is answered 200.
      return answered(await at.post('/revoke', web, { token: 'unknown' }))
    case 'authorize':
      return redirected((await at.begin(web, { prompt: 'none' }, browser.copy())).page)
    case 'authorize elsewhere':
      return redirected((await at.begin(other, { prompt: 'none' }, browser.copy())).page)
  }
}

/** A state: how it comes about, and what each probe is answered then. */
interface State {
  name: string
  enter(world: World): Promise<unknown>
  /** Entered before each probe again, for what a probe brings to an end. */
  anew?: true
  verdicts: Record<Probe, string>
  /** What another process may say until it hears that there is no such issuer any more; refused it is at once. */
  meanwhile?: string
}

const verdicts = (...row: string[]): State['verdicts'] =>
  Object.fromEntries(probes.map((probe, at) => [probe, row[at]])) as State['verdicts']

async function check(world: World, { enter, anew, verdicts: expected, meanwhile }: State): Promise<void> {
  if (!anew) await enter(world)
  const twin = new Realm(second, world.realm.tenant)
  const seen: Record<string, string> = {}
  const wanted: Record<string, string> = {}
  for (const probe of probes) {
    for (const [where, at] of [['there', twin] as const, ['here', world.realm] as const]) {
      if (anew) await enter(world)
      const verdict = await ask(world, at, probe)
      const early = where === 'there' && meanwhile !== undefined && verdict === meanwhile
      seen[`${probe} ${where}`] = early ? expected[probe] : verdict
      wanted[`${probe} ${where}`] = expected[probe]
    }
  }
  expect(seen).toEqual(wanted)
}

const patch = (world: World, path: string, body: object) =>
  world.realm.tenant.owner.patch(`${world.realm.tenant.I}${path}`, body).then((answer) => must(answer, 200))
const setUser = (status: string) => (world: World) =>
  patch(world, `/users/${world.userId}`, { status, status_reason: 'test' })
/** States that no operation leads to: as if one had. */
const storeUser = (status: string) => (world: World) =>
  app.gatehouse.tools.prisma.user.update({ where: { id: world.userId }, data: { status } })
const storeSession = (data: object) => (world: World) =>
  app.gatehouse.tools.prisma.session.update({ where: { id: world.sid }, data })
const session = (action: string, reason?: string) => async (world: World) =>
  must(
    await world.realm.tenant.owner.post(
      `${world.realm.tenant.I}/sessions/${world.sid}/${action}`,
      reason && { reason },
    ),
    200,
  )

const allGood = verdicts('ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok')

describe('user', () => {
  const out = 'login_required'
  const nobody = verdicts(
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
    { name: 'active', enter: async () => undefined, verdicts: allGood },
    { name: 'suspended', enter: setUser('suspended'), verdicts: nobody },
    { name: 'blocked', enter: setUser('blocked'), verdicts: nobody },
    {
      name: 'pending_deletion',
      enter: async ({ realm, userId }) =>
        must(await realm.tenant.owner.delete(`${realm.tenant.I}/users/${userId}`), 202),
      verdicts: nobody,
    },
    { name: 'pending_approval', enter: storeUser('pending_approval'), verdicts: nobody },
    { name: 'disabled', enter: storeUser('disabled'), verdicts: nobody },
    { name: 'deleted', enter: storeUser('deleted'), verdicts: nobody },
  ])('$name', async (state) => check(await signedIn(shared), state))
})

describe('client', () => {
  const refused = '401 invalid_client'
  const both = (change: (world: World, client: TestClient) => Promise<unknown>) => async (world: World) => {
    for (const client of [world.web, world.machine]) await change(world, client)
  }
  const disabled = verdicts(refused, refused, refused, '401 invalid_token', refused, refused, refused, '400 page', 'ok')
  test.each<State>([
    {
      name: 'disabled',
      enter: both((world, { id }) => patch(world, `/clients/${id}`, { status: 'disabled' })),
      verdicts: disabled,
    },
    {
      name: 'disabled and active again',
      enter: async (world) => {
        for (const status of ['disabled', 'active'])
          await both((_, { id }) => patch(world, `/clients/${id}`, { status }))(world)
      },
      verdicts: allGood,
    },
    {
      name: "deleted: its users' access tokens stay good until they expire",
      enter: both(async ({ realm }, { id }) =>
        must(await realm.tenant.owner.delete(`${realm.tenant.I}/clients/${id}`), 204),
      ),
      verdicts: { ...disabled, userinfo: 'ok' },
    },
  ])('$name', async (state) => check(await signedIn({ ...shared, ...(await clients(shared.realm)) }), state))
})

describe('issuer', () => {
  const closed = '403 access_denied'
  const gone = '404 not_found'
  test.each<State>([
    {
      name: 'disabled',
      enter: (world) => patch(world, '', { status: 'disabled' }),
      verdicts: verdicts(closed, closed, closed, '401 invalid_token', closed, closed, closed, '403 page', '403 page'),
    },
    {
      name: 'disabled and active again',
      enter: async (world) => {
        for (const status of ['disabled', 'active']) await patch(world, '', { status })
      },
      verdicts: allGood,
    },
    {
      name: 'deleted',
      enter: async ({ realm }) => must(await realm.tenant.owner.delete(realm.tenant.I), 204),
      verdicts: verdicts(gone, gone, gone, gone, gone, gone, gone, '404 page', '404 page'),
      meanwhile: '401 invalid_token',
    },
  ])('$name', async (state) => check(await signedIn(await issuer()), state))
})

describe('session', () => {
  const no = '400 invalid_grant'
  const over = verdicts(
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
      name: 'suspended: other applications of the browser are not concerned',
      enter: session('suspend', 'risk_review'),
      verdicts: { ...over, authorize: 'access_denied', 'authorize elsewhere': 'ok' },
    },
    {
      name: 'suspended and reactivated',
      enter: async (world) => {
        await session('suspend', 'risk_review')(world)
        await session('reactivate')(world)
      },
      verdicts: allGood,
    },
    { name: 'revoked by an administrator', enter: session('revoke', 'admin_action'), verdicts: over },
    {
      name: 'expired: past its absolute lifetime',
      enter: storeSession({ expiresAt: 1 }),
      verdicts: { ...over, 'authorize elsewhere': 'ok' },
    },
    {
      name: 'inactive: idle for too long; a refresh or a return brings it back (D17)',
      enter: storeSession({ idleExpiresAt: 1 }),
      anew: true,
      verdicts: { ...allGood, userinfo: '401 invalid_token', 'introspect access': 'inactive' },
    },
  ])('$name', async (state) => check(await signedIn(shared), state))
})
