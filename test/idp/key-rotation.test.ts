/**
 * Monthly rotation of signing keys; no key signs before caches can have it (docs/contract.md#signing-keys,
 * docs/contract.md#signing-key-publication).
 */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { runJobNow, systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { migrate } from '../../src/platform/postgres/migrate.js'
import { signingAlgorithms, signingKeysOf } from '../../src/resources/issuer-keys.js'
import { removeRetiredKeys, replaceKeys, rotateDueKeys, rotateKeys } from '../../src/resources/issuers/key-rotation.js'
import { nextRotationAfter, periodOf } from '../../src/resources/issuers/key-schedule.js'
import { createKeyPair } from '../../src/resources/issuers/signing-keys.js'
import { schedule } from '../../src/schedule.js'
import { createTenant, expectStatus } from '../setup/actors.js'
import { createTestDatabase } from '../setup/database.js'
import { DatabaseProxy } from '../setup/database-proxy.js'
import { packageRoot } from '../setup/schema-drift.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'
import { headingOf } from './browser.js'
import { jwtHeader, POST_LOGOUT_REDIRECT_URI, Realm, type TestClient } from './realm.js'

let app: TestApp
let second: TestApp
let realm: Realm
let client: TestClient
const MINUTE = 60_000
const DAY = 86_400_000
/**
 * How long a key must be in the JWKS before it signs, in milliseconds: `max-age` plus ten minutes
 * (docs/contract.md#signing-key-publication).
 */
const PUBLISHED_BEFORE = 4_200_000
const MACHINE = { application_type: 'm2m', grant_types: ['client_credentials'], redirect_uris: [] }
const machineOf = (at: Realm, openid: object = {}) =>
  at.createClient({ ...MACHINE, post_logout_redirect_uris: [], ...openid }, { confidential: true })

beforeAll(async () => {
  app = await startApp()
  second = await app.startSecondApp()
  realm = await Realm.create(app)
  await realm.createUser('ada@example.com')
  client = await realm.createClient({}, { confidential: true })
})
afterAll(() => app.close())

interface Key {
  kid: string
  alg: string
}
const keysAt = async (place: Realm): Promise<Key[]> =>
  ((await (await fetch(`${place.url}/jwks.json`)).json()) as { keys: Key[] }).keys
const kidsOf = (keys: Key[]) => keys.map(({ kid }) => kid).sort()
const signerAt = async (place: Realm, machine: TestClient): Promise<string> => {
  const { body } = await place.postForm('/token', machine, { grant_type: 'client_credentials' })
  return jwtHeader(body.access_token).kid
}
const eventsOf = async (issuerId: string) => {
  const where = { issuerId, type: 'issuer.signing_key.rotated' }
  return (await app.gatehouse.database.prisma.event.findMany({ where, orderBy: { createdAt: 'asc' } })).map(
    ({ data }) => data as Record<string, never>,
  )
}
const rotateJob = schedule.find(({ name }) => name === 'rotate-keys')!
const runMonthlyRotation = async (...apps: TestApp[]) => {
  for (const { gatehouse } of apps) await runJobNow(gatehouse, rotateJob)
}
const untilRotation = () => nextRotationAfter(app.clock.now()) - app.clock.now()

test.each([
  ['2026-11-21T00:00:00Z', '2026-10', '2026-11-30T01:00:00Z'],
  ['2026-11-30T00:59:59.999Z', '2026-10', '2026-11-30T01:00:00Z'],
  ['2026-11-30T01:00:00Z', '2026-11', '2026-12-31T01:00:00Z'],
  ['2026-12-31T01:00:00Z', '2026-12', '2027-01-31T01:00:00Z'],
  ['2027-01-01T00:00:00Z', '2026-12', '2027-01-31T01:00:00Z'],
  ['2027-01-31T02:00:00Z', '2027-01', '2027-02-28T01:00:00Z'],
  ['2028-02-29T00:30:00Z', '2028-01', '2028-02-29T01:00:00Z'],
])('at %s the last rotation was that of %s, and the next rotation is at %s', (now, period, next) => {
  expect([periodOf(Date.parse(now)), new Date(nextRotationAfter(Date.parse(now))).toISOString()]).toEqual([
    period,
    new Date(next).toISOString(),
  ])
})

/**
 * Observes the keys of an issuer through several processes, as relying parties see them, and remembers when each key was
 * first published by all processes.
 */
class KeyPublicationMonitor {
  private readonly published = new Map<string, number>()
  private constructor(
    readonly places: Realm[],
    readonly machine: TestClient,
  ) {}
  static async of(at: Realm, apps: TestApp[]): Promise<KeyPublicationMonitor> {
    const places = apps.map((one) => new Realm(one, at.tenant, `${one.idpUrl}/${at.tenant.issuerId}`))
    const witness = new KeyPublicationMonitor(places, await machineOf(at))
    for (const kid of kidsOf(await keysAt(at))) witness.published.set(kid, 0)
    return witness
  }
  /**
   * Waits until all processes publish and use the same keys. Fails if a key signs that was not published long enough
   * before.
   * @returns the `kid` of the key that signs
   */
  async look(): Promise<string> {
    let sets: string[][] = []
    await waitUntil('all processes serve the same key set', async () => {
      sets = await Promise.all(this.places.map(async (place) => kidsOf(await keysAt(place))))
      return new Set(sets.map(String)).size === 1
    })
    for (const kid of sets[0]!) if (!this.published.has(kid)) this.published.set(kid, app.clock.now())
    let signers: string[] = []
    await waitUntil('all processes sign with the same key', async () => {
      signers = await Promise.all(this.places.map((place) => signerAt(place, this.machine)))
      for (const kid of signers) {
        const age = app.clock.now() - (this.published.get(kid) ?? Number.POSITIVE_INFINITY)
        expect({ kid, longEnough: age >= PUBLISHED_BEFORE }).toEqual({ kid, longEnough: true })
      }
      return new Set(signers).size === 1
    })
    return signers[0]!
  }
  /**
   * Calls `look` repeatedly while the test clock advances.
   * @param span total time in milliseconds
   * @param step time between two observations, in milliseconds
   * @param before runs before each observation, for example the rotation job
   * @returns the `kid`s of the keys that have signed, in order
   */
  async watch(span: number, step: number, before = async () => {}): Promise<string[]> {
    const signed = [await this.look()]
    for (let passed = 0; passed < span; passed += step) {
      app.clock.advance(step)
      await before()
      const kid = await this.look()
      if (kid !== signed.at(-1)) signed.push(kid)
    }
    return signed
  }
}
/** Deletes the issuer of a test, so that rotations in later tests need not generate keys for it. */
const gone = async ({ tenant }: Pick<Realm, 'tenant'>) => expectStatus(await tenant.owner.delete(tenant.I), 204)
const request = (one: TestApp, issuerId: string) => rotateKeys(systemContext(one.gatehouse), issuerId)

describe('a key is in the JWKS at least 4,200 seconds before its first signature', () => {
  /** Each function returns the number of keys that have signed, which must be `signed`. */
  const scenarios: Record<
    string,
    [signed: number, (witness: KeyPublicationMonitor, issuerId: string) => Promise<number>]
  > = {
    'a new issuer, the monthly job every five minutes, and the next month': [
      3,
      async (witness) => {
        app.clock.advance(untilRotation() - 30 * MINUTE)
        const first = await witness.watch(100 * MINUTE, 5 * MINUTE, () => runMonthlyRotation(app))
        app.clock.advance(untilRotation() - 10 * MINUTE)
        return new Set([...first, ...(await witness.watch(20 * MINUTE, 5 * MINUTE, () => runMonthlyRotation(app)))])
          .size
      },
    ],
    'the job is two days late': [
      2,
      async (witness) => {
        app.clock.advance(untilRotation() - 10 * MINUTE)
        const first = await witness.watch(20 * MINUTE, 5 * MINUTE)
        app.clock.advance(2 * DAY)
        return new Set([...first, ...(await witness.watch(100 * MINUTE, 10 * MINUTE, () => runMonthlyRotation(app)))])
          .size
      },
    ],
    'no process ran at the end of two months: the missed rotation runs as soon as possible': [
      3,
      async (witness) => {
        const before = await witness.look()
        app.clock.advance(untilRotation() + 5 * DAY)
        app.clock.advance(untilRotation() + 3 * DAY)
        return new Set([before, ...(await witness.watch(100 * MINUTE, 10 * MINUTE, () => runMonthlyRotation(app)))])
          .size
      },
    ],
    'two processes rotate at the same time, each time': [
      2,
      async (witness, issuerId) => {
        app.clock.advance(untilRotation() - 10 * MINUTE)
        const apps = [app, second, app, second]
        const all = async () => {
          await Promise.all(apps.map(({ gatehouse }) => rotateDueKeys(systemContext(gatehouse))))
        }
        const watched = await witness.watch(100 * MINUTE, 10 * MINUTE, all)
        expect(await app.gatehouse.database.prisma.signingKey.count({ where: { issuerId } })).toBe(9)
        return watched.length
      },
    ],
    'keys rotate three times within an hour, in two processes': [
      2,
      async (witness, issuerId) => {
        const before = await witness.look()
        for (const one of [app, second, app]) {
          await Promise.all([request(one, issuerId), request(second, issuerId)])
          expect(await witness.look()).toBe(before)
          app.clock.advance(10 * MINUTE)
        }
        expect(await app.gatehouse.database.prisma.signingKey.count({ where: { issuerId } })).toBe(9)
        return (await witness.watch(100 * MINUTE, 10 * MINUTE)).length
      },
    ],
  }
  test.each(Object.entries(scenarios))('%s', async (_, [signed, play]) => {
    const fresh = await Realm.create(app, 'Watched')
    const witness = await KeyPublicationMonitor.of(fresh, [app, second])
    expect(await play(witness, fresh.tenant.issuerId)).toBe(signed)
    await gone(fresh)
  })

  test.each([30_000, -30_000])('in a process whose clock differs by %i ms', async (by) => {
    const { baseUrl: BASE_URL, idpUrl: IDP_URL } = app.gatehouse.config
    const clock = { now: () => app.clock.now() + by, advance: () => {} }
    const other = await startApp({ env: { BASE_URL, IDP_URL }, databaseUrl: app.databaseUrl, clock })
    try {
      const fresh = await Realm.create(app, 'Clocks')
      const witness = await KeyPublicationMonitor.of(fresh, [other])
      await request(app, fresh.tenant.issuerId)
      await witness.look()
      app.clock.advance(68 * MINUTE)
      expect(await witness.watch(5 * MINUTE, 15_000)).toHaveLength(2)
      await gone(fresh)
    } finally {
      await other.close()
    }
  })

  test('a process without a database for a long time publishes no key set that a cache may keep too long', async () => {
    const way = new DatabaseProxy(app.databaseUrl)
    const { baseUrl: BASE_URL, idpUrl: IDP_URL } = app.gatehouse.config
    const far = await startApp({ env: { BASE_URL, IDP_URL }, databaseUrl: await way.open(), clock: app.clock })
    try {
      const fresh = await Realm.create(app, 'Cut off')
      const ask = () => fetch(`${far.idpUrl}/${fresh.tenant.issuerId}/jwks.json`)
      expect((await ask()).headers.get('cache-control')).toBe('public, max-age=3600, s-maxage=3600, stale-if-error=120')
      const before = kidsOf(await keysAt(fresh))
      await way.disconnect()
      await request(app, fresh.tenant.issuerId)
      const cutAt = app.clock.now()
      for (const minutes of [0, 1, 9, 20, 30, 7]) {
        app.clock.advance(minutes * MINUTE)
        const response = await ask()
        const { keys } = (await response.json()) as { keys: Key[] }
        expect([response.status, kidsOf(keys)]).toEqual([200, before])
        const maxAge = Number(/max-age=(\d+),/.exec(response.headers.get('cache-control')!)![1])
        const staleIfError = 120_000
        expect(app.clock.now() + 1000 * maxAge + staleIfError).toBeLessThanOrEqual(cutAt + PUBLISHED_BEFORE)
        expect(maxAge).toBeLessThanOrEqual(3600)
      }
      app.clock.advance(MINUTE)
      const refused = await ask()
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
      expect(refused.headers.get('cache-control')).toBe('no-store')
      await way.open()
      await waitUntil('the key set is served again', async () => (await ask()).status === 200)
      const { keys } = (await (await ask()).json()) as { keys: Key[] }
      expect(keys).toHaveLength(9)
      await gone(fresh)
    } finally {
      await far.close()
      await way.disconnect()
    }
  })

  test('a process whose LISTEN connection broke sees a rotation with its next request', async () => {
    const fresh = await Realm.create(app, 'Deaf')
    const place = new Realm(second, fresh.tenant, `${second.idpUrl}/${fresh.tenant.issuerId}`)
    for (let round = 0; round < 3; round++) {
      await keysAt(place)
      await app.gatehouse.database.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name LIKE '% listen' AND datname = current_database()`,
      )
      await replaceKeys(systemContext(app.gatehouse), fresh.tenant.issuerId)
      await waitUntil(
        'both processes serve the new key set',
        async () => String(kidsOf(await keysAt(place))) === String(kidsOf(await keysAt(fresh))),
      )
    }
    await gone(fresh)
  })

  test('a change without a notification applies after ten seconds', async () => {
    const fresh = await Realm.create(app, 'Silent')
    const machine = await machineOf(fresh)
    const before = await signerAt(fresh, machine)
    const { issuerId } = fresh.tenant
    await app.gatehouse.database.pool.query(
      'UPDATE signing_keys SET signs_from = $2 WHERE issuer_id = $1 AND kid <> $3',
      [issuerId, app.clock.now(), before],
    )
    app.clock.advance(11_000)
    expect(await signerAt(fresh, machine)).not.toBe(before)
    await gone(fresh)
  })
})

test('a new issuer publishes a current and a next key of each algorithm, and signs with the current one', async () => {
  const { tenant, ...fresh } = await Realm.create(app, 'New')
  const keys = await signingKeysOf(systemContext(app.gatehouse), tenant.issuerId)
  for (const alg of signingAlgorithms) {
    const [current, next, ...more] = keys.filter((key) => key.alg === alg)
    expect(more).toEqual([])
    expect(current!.signsFrom).toBe(current!.createdAt)
    expect(next!.signsFrom).toBe(
      Math.max(nextRotationAfter(next!.createdAt), next!.createdAt + PUBLISHED_BEFORE + MINUTE),
    )
    const at = new Realm(app, tenant, fresh.url)
    const machine = await machineOf(at, { response_signature_alg: alg })
    expect([alg, await signerAt(at, machine)]).toEqual([alg, current!.kid])
  }
})

test('each algorithm gets one new key, however often the processes run the job in a month', async () => {
  const others = await Promise.all(Array.from({ length: 3 }, (_, n) => createTenant(app, `Other ${n}`)))
  const before = await keysAt(realm)
  const tokens = await realm.signInForTokens(client, 'ada@example.com')
  app.clock.advance(untilRotation() + 2 * 60 * MINUTE)
  await runMonthlyRotation(app, second, app)
  for (const { issuerId } of others) {
    const rows = await app.gatehouse.database.prisma.signingKey.findMany({ where: { issuerId } })
    const count = (alg: string) => rows.filter((row) => row.alg === alg).length
    expect([count('ES256'), count('EdDSA'), count('RS256')]).toEqual([3, 3, 3])
    const [event, ...more] = await eventsOf(issuerId)
    expect(more).toEqual([])
    const period = periodOf(app.clock.now())
    expect(event).toMatchObject({ reason: 'monthly', period, removed: [] })
    const inOrder = rows.sort((one, other) => Number(one.signsFrom - other.signsFrom))
    const facts = (at: number) =>
      signingAlgorithms.map((alg) => {
        const { kid } = inOrder.filter((row) => row.alg === alg)[at]!
        return { alg, kid }
      })
    expect(event!['promoted']).toEqual(facts(1))
    expect(event!['published']).toEqual(facts(2))
  }
  const again = await realm.signInForTokens(client, 'ada@example.com')
  expect(jwtHeader(again.access_token).kid).not.toBe(jwtHeader(tokens.access_token).kid)
  expect(kidsOf(before)).toContain(jwtHeader(again.access_token).kid)
  expect(kidsOf(await keysAt(realm))).toContain(jwtHeader(tokens.access_token).kid)
  for (const tenant of others) await gone({ tenant })
})

test('the job creates keys for disabled issuers, but not for deleted ones', async () => {
  const [deleted, disabled] = await Promise.all([createTenant(app, 'Gone'), createTenant(app, 'Disabled')])
  await gone({ tenant: deleted })
  expectStatus(await disabled.owner.patch(disabled.I, { status: 'disabled' }), 200)
  app.clock.advance(untilRotation() + 2 * 60 * MINUTE)
  await runMonthlyRotation(app)
  expect(await eventsOf(deleted.issuerId)).toHaveLength(0)
  expect(await eventsOf(disabled.issuerId)).toHaveLength(1)
  expect(await request(app, deleted.issuerId)).toBeUndefined()
})

describe('old keys are kept at least 45 days', () => {
  test('counted from their last signature; the current and the next key stay whatever their age', async () => {
    const { tenant } = await Realm.create(app, 'Keeper')
    const count = () => app.gatehouse.database.prisma.signingKey.count({ where: { issuerId: tenant.issuerId } })
    const clean = async (days: number) => {
      app.clock.advance(days * DAY)
      await removeRetiredKeys(systemContext(app.gatehouse))
      return count()
    }
    // The next key starts to sign at the end of the month, and the first key is retired at that time.
    app.clock.advance(untilRotation())
    expect(await clean(44)).toBe(6)
    expect(await clean(2)).toBe(3)
    expect(await clean(400)).toBe(3)
    await runMonthlyRotation(app)
    expect(await clean(0)).toBe(6)
    expect(await keysAt(new Realm(app, tenant))).toHaveLength(6)
  })

  test('an ID token of a removed key is no valid hint: the logout page asks for confirmation, and then redirects', async () => {
    const { id_token, browser } = await realm.signInForTokens(client, 'ada@example.com')
    const { kid } = jwtHeader(id_token)
    await app.gatehouse.database.prisma.signingKey.delete({ where: { kid } })
    app.clock.advance(11_000)
    await waitUntil('the key is no longer published', async () => !kidsOf(await keysAt(realm)).includes(kid))
    const query = new URLSearchParams({
      id_token_hint: id_token,
      post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI,
      state: 's',
    })
    const question = await browser.open(`${realm.url}/logout?${query}`)
    expect([question.status, headingOf(question)]).toEqual([200, 'Do you want to sign out?'])
    expect((await browser.submit(question, { logout: 'yes' })).url).toBe(`${POST_LOGOUT_REDIRECT_URI}?state=s`)
  })
})

/**
 * Creates a database with the migrations before `to`, fills it, and applies the other migrations.
 * @param to the name of a migration, or the beginning of the name
 */
async function migratedDatabase(
  to: string,
  fill: (db: pg.Client) => Promise<void>,
): ReturnType<typeof createTestDatabase> {
  const database = await createTestDatabase({ empty: true })
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-before-'))
  const all = join(packageRoot, 'prisma', 'migrations')
  for (const name of readdirSync(all).filter((one) => one < to))
    cpSync(join(all, name), join(folder, name), { recursive: true })
  await migrate(database.url, { folder })
  rmSync(folder, { recursive: true })
  const db = new pg.Client({ connectionString: database.url })
  await db.connect()
  await fill(db)
  await db.end()
  await migrate(database.url)
  return database
}

test('after an upgrade of the database the current key continues to sign, and a next key is published and signs later', async () => {
  const [accountId, issuerId] = [`acc_${'1'.repeat(26)}`, `iss_${'1'.repeat(26)}`]
  const rotatedAt = app.clock.now() - 40 * DAY
  const signing: Record<string, string> = {}
  const database = await migratedDatabase('20261122120000', async (db) => {
    await db.query(`INSERT INTO accounts (id, name, created_at, updated_at) VALUES ($1, 'Old', 1, 1)`, [accountId])
    await db.query(
      `INSERT INTO issuers (id, account_id, name, status, username_key, available_scopes, created_at, updated_at)
       VALUES ($1, $2, 'Old', 'active', $3, '{}', 1, 1)`,
      [issuerId, accountId, app.gatehouse.encryptor.encrypt(Buffer.alloc(32).toString('base64'))],
    )
    for (const alg of signingAlgorithms) {
      for (const age of [0, 1]) {
        const { kid, publicJwk, privateJwk } = await createKeyPair(app.gatehouse, alg)
        if (age === 0) signing[alg] = kid
        await db.query(
          `INSERT INTO signing_keys (id, account_id, issuer_id, kid, alg, public_jwk, private_jwk, created_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
          [`key_${kid}`, accountId, issuerId, kid, alg, publicJwk, privateJwk, rotatedAt - age],
        )
      }
    }
    await db.query(`INSERT INTO key_rotations (issuer_id, period) VALUES ($1, '2026-10')`, [issuerId])
    await db.query(
      `INSERT INTO jobs (id, task, payload, run_at, attempts, created_at) VALUES ('job_1', 'rotate_keys', '{}', 0, 0, 0)`,
    )
  })
  const old = await startApp({ databaseUrl: database.url, clock: app.clock })
  try {
    const paths = { A: `/v1/accounts/${accountId}`, I: `/v1/accounts/${accountId}/issuers/${issuerId}` }
    const place = new Realm(old, { accountId, issuerId, ...paths, owner: old.operator })
    const before = kidsOf(await keysAt(place))
    expect(before).toHaveLength(6)
    const witness = await KeyPublicationMonitor.of(place, [old])
    expect(await witness.look()).toBe(signing['ES256'])
    await runMonthlyRotation(old)
    expect(kidsOf(await keysAt(place))).toHaveLength(9)
    // The last rotation of the issuer was 40 days ago, so the job rotates the keys as soon as possible.
    const watched = await witness.watch(80 * MINUTE, 10 * MINUTE, () => runMonthlyRotation(old))
    expect([watched[0], watched.length]).toEqual([signing['ES256'], 2])
    expect(before).not.toContain(watched[1])
  } finally {
    await old.close()
    await database.drop()
  }
})
