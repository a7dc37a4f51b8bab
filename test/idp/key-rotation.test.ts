/** Rotation of signing keys (spec 5.3): monthly, once across processes, without a request noticing. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs.js'
import { workOff } from '../../src/platform/queue.js'
import { lastRotation, planRotations, removeOldKeys, rotateKeys } from '../../src/resources/issuers/key-rotation.js'
import { tasks } from '../../src/tasks.js'
import { makeTenant, must } from '../setup/actors.js'
import { secretKey } from '../setup/database.js'
import { runCli } from '../setup/process.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { headingOf } from './browser.js'
import { AFTER_LOGOUT, headerOf, Realm, type TestClient } from './setup.js'

let app: TestApp
let second: TestApp
let realm: Realm
let twin: Realm
let client: TestClient
const DAY = 86_400_000

beforeAll(async () => {
  app = await startApp()
  second = await app.second()
  realm = await Realm.make(app)
  twin = new Realm(second, realm.tenant)
  await realm.user('ada@example.com')
  client = await realm.client({}, { confidential: true })
})
afterAll(() => app.close())

interface Key {
  kid: string
  alg: string
}
const keysAt = async (place: Realm): Promise<Key[]> =>
  ((await (await fetch(`${place.url}/jwks.json`)).json()) as { keys: Key[] }).keys
const kidsOf = (keys: Key[]) => keys.map(({ kid }) => kid)
const eventsOf = (issuerId: string) =>
  app.gatehouse.tools.prisma.event.findMany({ where: { issuerId, type: 'issuer.signing_key.rotated' } })
const turn = async (...apps: TestApp[]) => {
  await Promise.all(apps.map(({ gatehouse }) => planRotations(systemContext(gatehouse))))
  await Promise.all(apps.map(({ gatehouse }) => workOff(gatehouse, tasks)))
}
/** Moves the clock to just after the next moment of rotation. */
function toNextRotation(): void {
  const { period } = lastRotation(app.clock.now())
  while (lastRotation(app.clock.now()).period === period) app.clock.advance(DAY / 24)
}

test.each([
  ['2026-11-21T00:00:00Z', '2026-10', '2026-10-31T01:00:00Z'],
  ['2026-11-30T00:59:59.999Z', '2026-10', '2026-10-31T01:00:00Z'],
  ['2026-11-30T01:00:00Z', '2026-11', '2026-11-30T01:00:00Z'],
  ['2026-12-31T01:00:00Z', '2026-12', '2026-12-31T01:00:00Z'],
  ['2027-01-01T00:00:00Z', '2026-12', '2026-12-31T01:00:00Z'],
  ['2027-02-28T00:30:00Z', '2027-01', '2027-01-31T01:00:00Z'],
  ['2027-02-28T02:00:00Z', '2027-02', '2027-02-28T01:00:00Z'],
  ['2028-02-29T01:00:00Z', '2028-02', '2028-02-29T01:00:00Z'],
])('5.3: at %s the last rotation is that of %s', (now, period, at) => {
  expect(lastRotation(Date.parse(now))).toEqual({ period, at: Date.parse(at) })
})

test('an issuer made after the moment waits for the next one', async () => {
  await turn(app)
  expect(await keysAt(realm)).toHaveLength(6)
})

test('5.3: one new key per algorithm, once however many processes plan and work, and again only next month', async () => {
  const others = await Promise.all(Array.from({ length: 4 }, (_, n) => makeTenant(app, `Other ${n}`)))
  const before = await keysAt(realm)
  const tokens = await realm.tokens(client, 'ada@example.com')
  toNextRotation()
  await turn(app, second, app, second)
  await turn(second, app)
  for (const { issuerId } of [realm.tenant, ...others]) {
    const rows = await app.gatehouse.tools.prisma.signingKey.findMany({ where: { issuerId } })
    const count = (alg: string) => rows.filter((row) => row.alg === alg).length
    expect([count('ES256'), count('EdDSA'), count('RS256')]).toEqual([3, 3, 3])
    expect(await eventsOf(issuerId)).toHaveLength(1)
  }
  const after = await keysAt(realm)
  const fresh = kidsOf(after).filter((kid) => !kidsOf(before).includes(kid))
  expect(fresh).toHaveLength(3)
  expect(Object.values((await eventsOf(realm.tenant.issuerId))[0]!.data as object)[0]).toEqual(
    Object.fromEntries(after.filter(({ kid }) => fresh.includes(kid)).map(({ alg, kid }) => [alg, kid])),
  )
  const again = await realm.tokens(client, 'ada@example.com')
  expect(fresh).toContain(headerOf(again.access_token).kid)
  expect(kidsOf(after)).toContain(headerOf(tokens.access_token).kid)
})

test('tokens in flight stay good, new ones have the new key at once, in other processes soon', async () => {
  const tokens = await realm.tokens(client, 'ada@example.com')
  expect(kidsOf(await keysAt(twin))).toContain(headerOf(tokens.access_token).kid)
  expect(await rotateKeys(systemContext(app.gatehouse), realm.tenant.issuerId)).toBe(true)
  const fresh = (await realm.refresh(client, tokens.refresh_token)).body
  expect(headerOf(fresh.access_token).kid).not.toBe(headerOf(tokens.access_token).kid)
  expect((await realm.userinfo(tokens.access_token)).status).toBe(200)
  expect((await twin.userinfo(fresh.access_token)).status).toBe(200)
  for (const end = Date.now() + 3000; !kidsOf(await keysAt(twin)).includes(headerOf(fresh.access_token).kid); )
    if (Date.now() > end) throw new Error('the other process kept its old keys')
})

test('deleted issuers get none; disabled ones do', async () => {
  const [gone, disabled] = await Promise.all([makeTenant(app, 'Gone'), makeTenant(app, 'Disabled')])
  must(await gone.owner.delete(gone.I), 204)
  must(await disabled.owner.patch(disabled.I, { status: 'disabled' }), 200)
  toNextRotation()
  await turn(app)
  expect(await eventsOf(gone.issuerId)).toHaveLength(0)
  expect(await eventsOf(disabled.issuerId)).toHaveLength(1)
  expect(await rotateKeys(systemContext(app.gatehouse), gone.issuerId)).toBe(false)
})

test('what a process that died had promised is done by another one', async () => {
  toNextRotation()
  const before = (await eventsOf(realm.tenant.issuerId)).length
  await planRotations(systemContext(app.gatehouse))
  // It took the job, and was gone.
  await app.gatehouse.tools.pool.query(`UPDATE jobs SET run_at = $1, attempts = 1 WHERE task = 'rotate_keys'`, [
    app.clock.now() + 60_000,
  ])
  await workOff(second.gatehouse, tasks)
  expect(await eventsOf(realm.tenant.issuerId)).toHaveLength(before)
  app.clock.advance(60_001)
  await workOff(second.gatehouse, tasks)
  expect(await eventsOf(realm.tenant.issuerId)).toHaveLength(before + 1)
})

describe('section 8: old keys are kept at least 45 days', () => {
  test('counted from when they stopped signing; two generations stay for ever', async () => {
    const { tenant } = await Realm.make(app, 'Keeper')
    const context = systemContext(app.gatehouse)
    const count = async () => app.gatehouse.tools.prisma.signingKey.count({ where: { issuerId: tenant.issuerId } })
    const clean = async (days: number) => {
      app.clock.advance(days * DAY)
      await removeOldKeys(context)
      return count()
    }
    expect(await clean(100)).toBe(6)
    // Now the third generation signs. The first stopped signing 100 days ago, the second today.
    await rotateKeys(context, tenant.issuerId)
    expect(await clean(0)).toBe(6)
    await rotateKeys(context, tenant.issuerId)
    expect(await clean(44)).toBe(9)
    expect(await clean(2)).toBe(6)
    const place = new Realm(app, tenant)
    expect(await keysAt(place)).toHaveLength(6)
  })

  test('D23: an ID token whose key is gone is no valid hint: the person is asked, and comes back to the application', async () => {
    const { id_token, browser } = await realm.tokens(client, 'ada@example.com')
    const { kid } = headerOf(id_token)
    await app.gatehouse.tools.prisma.signingKey.delete({ where: { kid } })
    await rotateKeys(systemContext(app.gatehouse), realm.tenant.issuerId)
    for (const end = Date.now() + 3000; kidsOf(await keysAt(realm)).includes(kid); )
      if (Date.now() > end) throw new Error('the key did not go')
    const query = new URLSearchParams({ id_token_hint: id_token, post_logout_redirect_uri: AFTER_LOGOUT, state: 's' })
    const question = await browser.open(`${realm.url}/logout?${query}`)
    expect([question.status, headingOf(question)]).toEqual([200, 'Do you want to sign out?'])
    expect((await browser.submit(question, { logout: 'yes' })).url).toBe(`${AFTER_LOGOUT}?state=s`)
  })
})

describe('gatehouse keys', () => {
  const env = () => ({
    DATABASE_URL: app.databaseUrl,
    SECRET_KEY: secretKey,
    IDP_URL: app.gatehouse.config.idpUrl,
  })
  test('list and rotate one issuer; running processes sign with the new key', async () => {
    const { issuerId } = realm.tenant
    const rotated = await runCli(['keys', 'rotate', '--issuer', issuerId], env())
    expect([rotated.code, rotated.stdout]).toEqual([0, '1 issuer has new signing keys.\n'])
    const listed = await runCli(['keys', 'list', '--issuer', issuerId, '--json'], env())
    const keys = JSON.parse(listed.stdout) as { alg: string; kid: string; signing: boolean; issuer_id: string }[]
    expect(keys.filter(({ signing }) => signing).map(({ alg }) => alg)).toEqual(['ES256', 'EdDSA', 'RS256'])
    expect(listed.stdout).not.toContain('"d"')
    const signing = keys.find(({ alg, signing: now }) => alg === 'ES256' && now)!
    for (const end = Date.now() + 3000; ; ) {
      const { access_token } = await realm.tokens(client, 'ada@example.com')
      if (headerOf(access_token).kid === signing.kid) break
      if (Date.now() > end) throw new Error('the running process signs with its old key')
    }
  })
  test('an unknown issuer is said so', async () => {
    for (const word of ['rotate', 'list']) {
      const { code, output } = await runCli(['keys', word, '--issuer', `iss_${'0'.repeat(26)}`], env())
      expect(code).toBe(1)
      expect(output).toContain(`There is no issuer iss_${'0'.repeat(26)}.\n`)
    }
  })
  test('without an issuer all living ones are rotated', async () => {
    const living = await app.gatehouse.tools.prisma.issuer.count({ where: { status: { not: 'deleted' } } })
    const { code, stdout } = await runCli(['keys', 'rotate'], env())
    expect([code, stdout]).toEqual([0, `${living} issuers have new signing keys.\n`])
    expect((await runCli(['keys', 'list'], env())).stdout).toMatch(
      /^iss_\w{26} {2}ES256 {2}[0-9a-f-]{36} {2}\S+Z {2}signs\n/,
    )
  })
})
