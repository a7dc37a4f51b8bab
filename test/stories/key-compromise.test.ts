/** `gatehouse keys`: list, rotate, and `rotate --now` after a compromise (docs/contract.md#signing-key-publication). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { headingOf } from '../idp/browser.js'
import { jwtHeader, POST_LOGOUT_REDIRECT_URI, Realm, readResponse, type TestClient } from '../idp/realm.js'
import { createTenant, expectStatus } from '../setup/actors.js'
import { type AnyJson, createApiClient } from '../setup/api.js'
import { testSecretKey } from '../setup/database.js'
import { runCli } from '../setup/process.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

let app: TestApp
let second: TestApp
let realm: Realm
let twin: Realm
let client: TestClient
let userId: string

beforeAll(async () => {
  app = await startApp()
  second = await app.startSecondApp()
  realm = await Realm.create(app)
  twin = new Realm(second, realm.tenant, `${second.idpUrl}/${realm.tenant.issuerId}`)
  userId = await realm.createUser('ada@example.com')
  expectStatus(
    await realm.tenant.owner.patch(`${realm.tenant.I}/users/${userId}`, { scopes: ['issuers.users:read'] }),
    200,
  )
  client = await realm.createClient({ allowed_resources: [app.baseUrl] }, { confidential: true })
})
afterAll(() => app.close())

const cli = (...args: string[]) =>
  runCli(['keys', ...args], {
    DATABASE_URL: app.databaseUrl,
    SECRET_KEY: testSecretKey,
    IDP_URL: app.gatehouse.config.idpUrl,
  })
interface Listed {
  alg: string
  kid: string
  state: string
  signing: boolean
  created_at: number
  signs_from: number
  leaves_at: number | null
}
const listed = async (issuerId = realm.tenant.issuerId): Promise<Listed[]> =>
  JSON.parse((await cli('list', '--issuer', issuerId, '--json')).stdout)
const kidsAt = async (place: Realm): Promise<string[]> => {
  const { keys } = (await (await fetch(`${place.url}/jwks.json`)).json()) as { keys: { kid: string }[] }
  return keys.map(({ kid }) => kid)
}
const signerAt = async (place: Realm) =>
  jwtHeader((await place.signInForTokens(client, 'ada@example.com')).access_token).kid
const eventsOf = async (issuerId: string) => {
  const where = { issuerId, type: 'issuer.signing_key.rotated' }
  return (await app.gatehouse.database.prisma.event.findMany({ where, orderBy: { createdAt: 'asc' } })).map(
    ({ data }) => data as AnyJson,
  )
}
const LEAD = 4_260_000
const algorithms = ['ES256', 'EdDSA', 'RS256']

describe('gatehouse keys list', () => {
  test('shows the state of each key, and no private key', async () => {
    const { code, stdout } = await cli('list', '--issuer', realm.tenant.issuerId)
    expect(code).toBe(0)
    expect(stdout.replaceAll(/iss_\w{26}|[0-9a-f-]{36}/g, '…').replaceAll(/\d{4}-\S+Z/g, 'T')).toBe(
      algorithms.map((alg) => `…  ${alg}  …  current  signs since T\n…  ${alg}  …  next     signs from T\n`).join(''),
    )
    const keys = await listed()
    expect(keys.map(({ state }) => state)).toEqual(algorithms.flatMap(() => ['current', 'next']))
    expect(keys.filter(({ signing }) => signing).map(({ alg }) => alg)).toEqual(algorithms)
    for (const { state, created_at, signs_from } of keys)
      if (state === 'next') expect(signs_from - created_at).toBeGreaterThanOrEqual(LEAD)
    expect(JSON.stringify(keys)).not.toContain('"d"')
  })

  test('without --issuer it lists the keys of all issuers; an unknown issuer is an error', async () => {
    const issuers = await app.gatehouse.database.prisma.issuer.count({ where: { status: { not: 'deleted' } } })
    expect((await cli('list')).stdout.trim().split('\n')).toHaveLength(6 * issuers)
    for (const words of [['list'], ['rotate'], ['rotate', '--now']]) {
      const { code, output } = await cli(...words, '--issuer', `iss_${'0'.repeat(26)}`)
      expect([code, output]).toEqual([1, expect.stringContaining(`There is no issuer iss_${'0'.repeat(26)}.\n`)])
      expect(output).not.toContain('Replacing')
    }
  })
})

describe('gatehouse keys rotate', () => {
  test('a recently published next key signs later, and the output says when; a second call changes nothing', async () => {
    const fresh = await createTenant(app, 'Young')
    const { issuerId } = fresh
    const before = await listed(issuerId)
    const first = await cli('rotate', '--issuer', issuerId)
    const keys = await listed(issuerId)
    expect(keys.map(({ state }) => state)).toEqual(algorithms.flatMap(() => ['current', 'next', 'next']))
    const [current, next, after] = keys
    expect([current!.kid, next!.kid]).toEqual(before.slice(0, 2).map(({ kid }) => kid))
    expect(next!.signs_from).toBe(next!.created_at + LEAD)
    const [at, then] = [next!, after!].map(({ signs_from }) => new Date(signs_from).toISOString())
    expect([first.code, first.stdout]).toEqual([
      0,
      `${issuerId}: the next keys were published less than 71 minutes ago; the next keys sign from ${at}. New keys are published and sign from ${then}.\n`,
    ])
    const again = await cli('rotate', '--issuer', issuerId)
    expect([again.code, again.stdout]).toEqual([
      0,
      `${issuerId}: a rotation is already pending; the next keys sign from ${at}.\n`,
    ])
    expect(await listed(issuerId)).toEqual(keys)
    const [event, ...more] = await eventsOf(issuerId)
    expect(more).toEqual([])
    expect(event).toMatchObject({ reason: 'requested', period: null, removed: [] })
    expect(event!['promoted'].map(({ kid }: AnyJson) => kid)).toEqual(
      keys.filter((_, n) => n % 3 === 1).map(({ kid }) => kid),
    )
  })

  test('a next key that was published long enough ago signs immediately, in every running process', async () => {
    const { issuerId } = realm.tenant
    // Makes the keys two hours older, so that caches have the next keys.
    await app.gatehouse.database.prisma.signingKey.updateMany({
      where: { issuerId },
      data: { createdAt: { decrement: 7_200_000 } },
    })
    const before = await listed()
    const next = before.find(({ state }) => state === 'next')!
    const published = await kidsAt(realm)
    const { code, stdout } = await cli('rotate', '--issuer', issuerId, '--json')
    expect(code).toBe(0)
    const [change] = JSON.parse(stdout).issuers
    expect(change.promoted.map(({ kid }: AnyJson) => kid)).toContain(next.kid)
    expect(change.published.map(({ alg }: AnyJson) => alg)).toEqual(algorithms)
    await waitUntil(
      'the next key signs in both processes',
      async () => (await signerAt(realm)) === next.kid && (await signerAt(twin)) === next.kid,
    )
    expect(published).toContain(next.kid)
    expect((await listed()).map(({ state }) => state)).toEqual(algorithms.flatMap(() => ['retired', 'current', 'next']))
    const [retired, current] = await listed()
    expect(retired!.leaves_at).toBe(current!.signs_from + 45 * 86_400_000)
  })

  test('without --issuer the keys of all issuers are rotated', async () => {
    const issuers = await app.gatehouse.database.prisma.issuer.count({ where: { status: { not: 'deleted' } } })
    const { code, stdout } = await cli('rotate')
    expect([code, stdout.trim().split('\n').length]).toEqual([0, issuers])
  })
})

describe('gatehouse keys rotate --now', () => {
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  const core = (token: string) =>
    createApiClient(app.baseUrl, token)
      .graphql('{ me { type } }')
      .then(({ status }) => status)

  test('old keys leave the JWKS, new keys sign immediately, and no token that an old key signed is valid anywhere', async () => {
    const { owner, I, A, issuerId } = realm.tenant
    const resource = app.baseUrl
    const plain = await realm.signInForTokens(client, 'ada@example.com')
    const scoped = await realm.signInForTokens(client, 'ada@example.com', { resource })
    const body = { type: 'personal_token', name: 'script', restrictions: { scopes: ['issuers.users:read'] } }
    const personal = expectStatus(await owner.post(`${I}/users/${userId}/tokens`, body), 201).data
    const introspect = async (place: Realm, token: string) =>
      (await place.postForm('/introspect', client, { token })).body
    const sessionAt = async (place: Realm, token: string) =>
      (await readResponse(await fetch(`${place.url}/session`, bearer(token)))).status
    const statuses = async (place: Realm) => ({
      userinfo: (await place.userinfo(plain.access_token)).status,
      session: await sessionAt(place, plain.access_token),
      active: (await introspect(place, plain.access_token)).active,
      core: await core(scoped.access_token),
      personal: await core(personal.token_plain),
    })
    const good = { userinfo: 200, session: 200, active: true, core: 200, personal: 200 }
    expect([await statuses(realm), await statuses(twin)]).toEqual([good, good])
    const old = await kidsAt(realm)
    const spare = (await app.gatehouse.database.prisma.spareKey.findMany()).map(({ kid }) => kid)
    expect(spare.length).toBeGreaterThan(0)

    const { code, stdout, output } = await cli('rotate', '--now', '--issuer', issuerId)
    expect([code, stdout]).toEqual([
      0,
      `${issuerId}: new keys are signing; ${old.length} old keys removed, 1 personal token revoked.\n`,
    ])
    expect(output).toContain(`Replacing all signing keys of ${issuerId}.`)
    expect(output).toContain('Personal tokens are revoked and must be created again.')

    // Each process checks in the database whether a token is valid, even while it still has the old keys in its cache.
    const ended = { userinfo: 401, session: 401, active: false, core: 401, personal: 401 }
    expect([await statuses(realm), await statuses(twin)]).toEqual([ended, ended])
    await waitUntil(
      'the other process serves no old key',
      async () => !(await kidsAt(twin)).some((kid) => old.includes(kid)),
    )
    const kids = await kidsAt(realm)
    expect(kids).toHaveLength(6)
    for (const kid of kids) expect([...old, ...spare]).not.toContain(kid)
    // An attacker who read the signing keys can have read the spare keys as well, so the spare keys are deleted too.
    const left = await app.gatehouse.database.prisma.spareKey.findMany()
    expect(left.filter(({ kid }) => spare.includes(kid))).toEqual([])

    // Sessions and refresh tokens are not signed, so they stay valid. A refresh issues tokens that the new key signs.
    const current = (await listed()).find(({ alg, signing }) => alg === 'ES256' && signing)!
    for (const place of [realm, twin]) {
      const refreshed = await place.refresh(client, (place === realm ? plain : scoped).refresh_token)
      expect(refreshed.status).toBe(200)
      expect(jwtHeader(refreshed.body.access_token).kid).toBe(current.kid)
      expect((await place.userinfo(refreshed.body.access_token)).status).toBe(200)
    }
    const query = new URLSearchParams({
      id_token_hint: plain.id_token,
      post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI,
    })
    expect(headingOf(await plain.browser.open(`${realm.url}/logout?${query}`))).toBe('Do you want to sign out?')

    const shown = expectStatus(await owner.get(`${A}/tokens/${personal.id}`), 200).data
    expect(shown).toMatchObject({
      status: 'revoked',
      status_reason: 'The signing keys of the issuer were replaced.',
    })
    const event = (await eventsOf(issuerId)).at(-1)!
    expect(event).toMatchObject({ reason: 'compromise', period: null })
    const kidsIn = (what: string) => event[what].map(({ kid }: AnyJson) => kid).sort()
    expect([kidsIn('published'), kidsIn('removed')]).toEqual([[...kids].sort(), [...old].sort()])
    expect(kidsIn('promoted')).toContain(current.kid)
    expect(JSON.stringify(event)).not.toContain('"d"')
    const revoked = await app.gatehouse.database.prisma.event.findMany({ where: { type: 'personal_token.revoked' } })
    expect(revoked.map(({ target }) => (target as AnyJson).id)).toEqual([personal.id])
  })

  test('a personal token created afterwards is valid', async () => {
    const { owner, I } = realm.tenant
    const body = { type: 'personal_token', name: 'script', restrictions: { scopes: ['issuers.users:read'] } }
    const { token_plain } = expectStatus(await owner.post(`${I}/users/${userId}/tokens`, body), 201).data
    expect(await core(token_plain)).toBe(200)
  })

  test('other issuers keep their keys; without --issuer all issuers get new keys', async () => {
    const other = await Realm.create(app, 'Bystander')
    const before = await kidsAt(other)
    expect((await cli('rotate', '--now', '--issuer', realm.tenant.issuerId)).code).toBe(0)
    expect(await kidsAt(other)).toEqual(before)
    const all = await cli('rotate', '--now', '--json')
    expect([all.code, all.output]).toEqual([0, expect.stringContaining('Replacing all signing keys of every issuer.')])
    const issuers = JSON.parse(all.stdout).issuers as AnyJson[]
    expect(issuers.map(({ issuer_id }) => issuer_id)).toContain(other.tenant.issuerId)
    await waitUntil(
      'the other issuer has new keys',
      async () => !(await kidsAt(other)).some((kid) => before.includes(kid)),
    )
  })
})
