/**
 * A database of an older version, with rows in every table, is upgraded by a start without data loss
 * (docs/production.md, Upgrading).
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import type { LoginState } from '../../src/idp/login/login-state.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { migrate } from '../../src/platform/postgres/migrate.js'
import { schedule } from '../../src/schedule.js'
import { REDIRECT_URI, Realm } from '../idp/realm.js'
import { createApiClient } from '../setup/api.js'
import { createTestDatabase } from '../setup/database.js'
import { migrationNames } from '../setup/schema-drift.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { restoreTables, type VersionDump } from '../setup/version-rows.js'

const folder = join(packageRoot, 'test', 'stories', 'upgrade')
const migrations = join(packageRoot, 'prisma', 'migrations')

const owner = { id: 'usr_x', status: 'active', issuerId: 'iss_x', username: 'ada@example.com', accountId: 'acc_x' }
const identity = {
  methodId: 'am_x',
  issuer: 'https://idp.example',
  subject: '1',
  name: 'Example',
  email: 'a@b.example',
}
/** The state of a login transaction with all properties of older versions. */
const oldState = {
  step: 'email_code',
  username: 'ada@example.com',
  user: owner,
  since: 1,
  amr: ['pwd'],
  methods: ['password'],
  mailbox: 'a@b.example',
  asBefore: false,
  mustChange: true,
  factors: ['totp'],
  enrolling: { id: 'enr_x', sealed: 'key.a' }, // words-ok: old names
  offersCodes: true,
  sent: { purpose: 'sign_in', email: 'a@b.example', hash: 'h', expiresAt: 2, tries: 3, void: false, user: null },
  signUp: { email: 'a@b.example', passwordHash: null, profile: {}, reason: null, proved: true },
  upstream: { methodId: 'am_x', hash: 'h', sealed: 'key.b', returnTo: '/', expiresAt: 2, handle: 'h', answer: 'key.c' }, // words-ok: old names
  linking: { ...identity, owners: ['usr_x'] },
  claimed: { ...identity, owners: [] },
  recovery: { user: owner, tokenHash: 'h', lost: ['vrf_x'], lostFactor: true, consumed: true },
  orgId: null,
}
/** `oldState` after the migrations. */
const newState = {
  step: 'email_code',
  username: 'ada@example.com',
  user: owner,
  since: 1,
  amr: ['pwd'],
  methods: ['password'],
  provenEmail: 'a@b.example',
  reusesSession: false,
  mustChangePassword: true,
  factors: ['totp'],
  enrolling: { id: 'enr_x', encryptedSecret: 'key.a' },
  offersBackupCodes: true,
  emailChallenge: {
    purpose: 'sign_in',
    email: 'a@b.example',
    hash: 'h',
    expiresAt: 2,
    attempts: 3,
    isDummy: false,
    user: null,
  },
  signUp: { email: 'a@b.example', passwordHash: null, profile: {}, reason: null, emailProved: true },
  upstream: {
    methodId: 'am_x',
    hash: 'h',
    encryptedBindings: 'key.b',
    returnTo: '/',
    expiresAt: 2,
    handle: 'h',
    encryptedResponse: 'key.c',
  },
  linkOffer: { ...identity, ownerIds: ['usr_x'] },
  pendingLink: { ...identity, ownerIds: [] },
  recovery: { user: owner, tokenHash: 'h', lostCredentialIds: ['vrf_x'], lostSecondFactor: true, consumed: true },
  orgId: null,
} satisfies LoginState

/** Inserts JSON values of older versions that the dump may not contain. */
async function insertOldJson(db: pg.Client, { issuerId, at }: VersionDump): Promise<void> {
  const states = { full: oldState, short: { step: 'sign_in', username: '', user: null, amr: [], methods: [] } }
  for (const [uid, state] of Object.entries(states))
    await db.query(
      `INSERT INTO login_states (issuer_id, uid, account_id, state, version, expires_at) VALUES ($1, $2, 'acc_x', $3, 4, $4)`,
      [issuerId, uid, JSON.stringify(state), at + 600_000],
    )
  await db.query(
    `INSERT INTO auth_methods (id, account_id, issuer_id, name, method, enabled_login, enabled_signup, featured,
       first_factor_only, secrets, created_at, updated_at)
     SELECT 'am_old', account_id, id, 'Example', 'oidc', false, false, false, true, $2, 1, 1 FROM issuers
     WHERE account_id <> (SELECT account_id FROM issuers WHERE id = $1) LIMIT 1`,
    [issuerId, JSON.stringify({ client_secret: { sealed: 'key.d', target: 'https://idp.example' } })], // words-ok: old names
  )
  // A table that an interrupted repartitioning of `events` left.
  await db.query('CREATE TABLE events_making_other (LIKE events INCLUDING ALL)')
}

/** Creates the schema of the dump's version in an empty database, and inserts the rows of the dump. */
async function restore(url: string, dump: VersionDump): Promise<void> {
  const { migration, tables } = dump
  const oldMigrations = mkdtempSync(join(tmpdir(), 'gatehouse-migrations-'))
  try {
    for (const name of migrationNames(migrations).filter((name) => name <= migration))
      cpSync(join(migrations, name), join(oldMigrations, name), { recursive: true })
    await migrate(url, { folder: oldMigrations })
  } finally {
    rmSync(oldMigrations, { recursive: true })
  }
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  try {
    await restoreTables(db, tables)
    await insertOldJson(db, dump)
  } finally {
    await db.end()
  }
}

describe.each(readdirSync(folder))('%s', (file) => {
  const dump = JSON.parse(gunzipSync(readFileSync(join(folder, file))).toString()) as VersionDump
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let app: TestApp
  let realm: Realm

  beforeAll(async () => {
    database = await createTestDatabase({ empty: true })
    await restore(database.url, dump)
    await migrate(database.url)
    // Sets the clock to the time of the dump, so that its tokens and sessions are valid.
    const behind = Date.now() - dump.at
    const clock = { now: () => Date.now() - behind, advance: () => undefined }
    const env = { BASE_URL: dump.baseUrl }
    app = await startApp({ databaseUrl: database.url, clock, env })
    const owner = createApiClient(app.baseUrl, dump.owner)
    realm = new Realm(app, { accountId: '', issuerId: dump.issuerId, A: '', I: '', owner })
  }, 120_000)
  afterAll(async () => {
    await app?.close()
    await database.drop()
  })

  test('every table of the dump had rows', () => {
    expect(Object.entries(dump.tables).filter(([, { rows }]) => rows === '[]')).toEqual([])
  })

  test.each(Object.keys(dump.answers))('GET %s returns the same response as before the upgrade', async (path) => {
    const { status, text } = await realm.tenant.owner.get(path)
    const body = JSON.parse(text.replaceAll(app.idpUrl, dump.idpUrl))
    // A response may have members that the older version did not know.
    expect({ status, body }).toMatchObject({ status: 200, body: dump.answers[path] })
  })

  test('a login transaction in progress has the property names of this version', async () => {
    const { prisma } = app.gatehouse.database
    const states = await prisma.loginState.findMany({ where: { issuerId: dump.issuerId } })
    const byUid = new Map(states.map((row) => [row.uid, row]))
    expect(byUid.get('full')).toMatchObject({ state: newState, version: 4 })
    expect(Object.keys(byUid.get('full')!.state as object).sort()).toEqual(Object.keys(newState).sort())
    expect(byUid.get('short')?.state).toEqual({ step: 'sign_in', username: '', user: null, amr: [], methods: [] })
    const done = states.find(({ state }) => (state as unknown as LoginState).step === 'done')
    expect(done?.state).toMatchObject({ mustChangePassword: false })
  })

  test('stored secrets and queued email have the property names of this version', async () => {
    const { prisma } = app.gatehouse.database
    const method = await prisma.authMethod.findUniqueOrThrow({ where: { id: 'am_old' } })
    expect(method).toMatchObject({
      secrets: { client_secret: { encrypted: 'key.d', target: 'https://idp.example' } },
      updatedAt: 1n,
    })
    const { payload } = await prisma.job.findFirstOrThrow({ where: { task: 'mail' } })
    expect(Object.keys(payload as object).sort()).toEqual(['encrypted', 'expiresAt', 'id', 'recipient'])
    expect(app.gatehouse.encryptor.decrypt((payload as { encrypted: string }).encrypted)).toContain('ada@example.com')
  })

  test('periodic jobs keep their state; partitions of events have the names that new databases have', async () => {
    const { prisma, pool } = app.gatehouse.database
    const names = (await prisma.periodicJob.findMany()).map(({ name }) => name)
    // Jobs that no version of the dumps had get their rows when they run for the first time.
    const added = ['purge-initial-access-tokens', 'purge-unused-registrations']
    const expected = schedule.map(({ name }) => name).filter((name) => !added.includes(name) || names.includes(name))
    expect(names.sort()).toEqual(expected.sort())
    expect((await prisma.periodicJob.findMany()).filter(({ succeededAt }) => succeededAt === null)).toEqual([])
    const { rows } = await pool.query(`
      SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
        AND relname ~ 'events_(making|other)|(^events.*)_place|webhook_(lanes|days)|_one_each|_in_force' -- words-ok: old names
      UNION ALL SELECT attname FROM pg_attribute WHERE attrelid IN (
        SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p'))
        AND attname IN ('sealed', 'holder', 'held_until', 'place', 'took')`) // words-ok: old names
    expect(rows).toEqual([])
    expect((await pool.query('SELECT create_event_partition($1)', [Date.UTC(2040, 0)])).rows).toEqual([
      { create_event_partition: 'events_2040_01' },
    ])
  })

  test('a user signs in with the same password, and a refresh token is valid', async () => {
    const { client, user, refreshToken } = dump
    const tokens = await realm.signInForTokens(client as never, user.username, { redirect_uri: REDIRECT_URI })
    expect(tokens['access_token']).toEqual(expect.any(String))
    expect((await realm.refresh(client as never, refreshToken)).status).toBe(200)
  })
})
