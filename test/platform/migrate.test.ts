import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { packageRoot } from '../../src/platform/package-info.js'
import { migrate, migrationStatus, requireSupportedServer } from '../../src/platform/postgres/migrate.js'
import { createTestDatabase } from '../setup/database.js'

let folder: string
let database: Awaited<ReturnType<typeof createTestDatabase>>

const first = '20260101000000_first'
const second = '20260102000000_second'
const third = '20260103000000_third'

function write(name: string, sql: string): void {
  mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, name, 'migration.sql'), sql)
}

async function runQuery<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}

const apply = () => migrate(database.url, { folder })

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-migrations-'))
  write(first, 'CREATE TABLE a (id int);\nCREATE TABLE b (id int);\n')
  write(second, 'ALTER TABLE a ADD COLUMN name text;\n')
  database = await createTestDatabase({ empty: true })
})
afterEach(async () => {
  rmSync(folder, { recursive: true })
  await database.drop()
})

describe('migrations', () => {
  test('are applied once, in order', async () => {
    expect(await migrationStatus(database.url, { folder })).toEqual([
      { name: first, appliedAt: null },
      { name: second, appliedAt: null },
    ])
    expect(await apply()).toEqual({ applied: [first, second] })
    expect(await apply()).toEqual({ applied: [] })
    write(third, 'DROP TABLE b;')
    expect(await apply()).toEqual({ applied: [third] })
    const status = await migrationStatus(database.url, { folder })
    expect(status.map(({ name }) => name)).toEqual([first, second, third])
    for (const { appliedAt } of status) expect(Math.abs(appliedAt! - Date.now())).toBeLessThan(60_000)
  })

  test('are recorded as by Prisma, so that `prisma migrate deploy` works with the same database', async () => {
    write(first, 'SELECT 1;\r\n')
    write(second, 'SELECT 2;')
    await apply()
    const [row] = await runQuery<Record<string, unknown>>(
      'SELECT * FROM _prisma_migrations ORDER BY migration_name LIMIT 1',
    )
    expect(row).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      // The SHA-256 of "SELECT 1;\n". CRLF is converted to LF first, because line endings depend on the Git settings.
      checksum: 'b4e0497804e46e0a0b0b8c31975b062152d551bac49c3c2e80932567b4085dcd',
      migration_name: first,
      started_at: expect.any(Date),
      finished_at: expect.any(Date),
      logs: null,
      rolled_back_at: null,
      applied_steps_count: 1,
    })
  })

  test('are applied once if several processes start in parallel, and no process fails', async () => {
    write(third, 'SELECT pg_sleep(0.2);')
    const results = await Promise.all([apply(), apply(), apply(), apply()])
    expect(results.flatMap(({ applied }) => applied).sort()).toEqual([first, second, third])
  })

  test('are rolled back on failure, with an error that names the migration and the line', async () => {
    write(second, 'CREATE TABLE c (id int);\n\nSELECT nothing FROM nowhere;')
    await expect(apply()).rejects.toThrow(
      `the migration ${second} failed and was rolled back: relation "nowhere" does not exist (line 3)`,
    )
    expect(await runQuery("SELECT to_regclass('c') AS c")).toEqual([{ c: null }])
    write(second, 'CREATE TABLE c (id int);')
    expect(await apply()).toEqual({ applied: [second] })
  })

  test('are rolled back when they cannot be recorded', async () => {
    const never = `CHECK (migration_name <> '${second}')`
    write(second, `CREATE TABLE c (id int); ALTER TABLE _prisma_migrations ADD CONSTRAINT never ${never};`)
    await expect(apply()).rejects.toThrow('never')
    expect(await runQuery("SELECT to_regclass('c') AS c")).toEqual([{ c: null }])
  })

  for (const [rule, change, message] of [
    [
      'a changed migration is an error',
      () => write(first, '-- edited\nCREATE TABLE a (id int);\nCREATE TABLE b (id int);\n'),
      `the migration ${first} was changed after it was applied`,
    ],
    [
      'a missing migration is an error',
      () => rmSync(join(folder, first), { recursive: true }),
      `the migration ${first} was applied to the database, but its file is missing`,
    ],
    [
      'a newer database is an error',
      () => rmSync(join(folder, second), { recursive: true }),
      `the database is newer than this build: it has the migration ${second}, but the newest of this build is ${first}`,
    ],
    [
      'a folder without migration.sql is an error',
      () => rmSync(join(folder, second, 'migration.sql')),
      `the migration ${second} has no migration.sql`,
    ],
    ['a missing folder is an error', () => rmSync(folder, { recursive: true }), 'the migrations are missing'],
  ] as const) {
    test(rule, async () => {
      await apply()
      change()
      try {
        await expect(apply()).rejects.toThrow(message)
        await expect(migrationStatus(database.url, { folder })).rejects.toThrow(message)
      } finally {
        mkdirSync(folder, { recursive: true })
      }
    })
  }

  test('a migration that another tool started but did not finish is an error', async () => {
    await apply()
    await runQuery('UPDATE _prisma_migrations SET finished_at = NULL')
    await expect(apply()).rejects.toThrow('started but did not finish')
  })

  test('require PostgreSQL 15 or newer', () => {
    expect(() => requireSupportedServer(140_012)).toThrow(
      'the database server is PostgreSQL 14; Gatehouse needs 15 or newer',
    )
    expect(() => requireSupportedServer(150_000)).not.toThrow()
  })
})

test('a test database has all migrations of this build', async () => {
  const { url, drop } = await createTestDatabase()
  try {
    expect(await migrate(url)).toEqual({ applied: [] })
    for (const { appliedAt } of await migrationStatus(url)) expect(appliedAt).not.toBeNull()
  } finally {
    await drop()
  }
})

test('an upgrade disables stored settings that had no effect and keeps the known redirect URI rules', async () => {
  const migration = '20261122113000_settings_with_effect'
  const allMigrations = join(packageRoot, 'prisma', 'migrations')
  rmSync(folder, { recursive: true })
  // Applies all older migrations and inserts rows of that version.
  for (const name of readdirSync(allMigrations).filter((other) => other < migration || !/^\d/.test(other)))
    cpSync(join(allMigrations, name), join(folder, name), { recursive: true })
  await apply()
  const rules = (redirect_uri_rules: unknown) =>
    `'${JSON.stringify({ security: { redirect_uri_rules, mfa_required: true } })}'`
  await runQuery(`
    INSERT INTO accounts (id, created_at, updated_at) VALUES ('acc_1', 1, 1);
    INSERT INTO issuers (id, account_id, name, status, username_key, created_at, updated_at, settings) VALUES
      ('iss_known', 'acc_1', 'A', 'active', '', 1, 5, ${rules({ allow_loopback: false, require_https: true, allow_private_use_schemes: 'no' })}),
      ('iss_list', 'acc_1', 'B', 'active', '', 1, 5, ${rules(['app.example.com'])}),
      ('iss_none', 'acc_1', 'C', 'active', '', 1, 5, '{"custom": 1}');
    INSERT INTO organizations (id, account_id, issuer_id, status, sso, sso_enabled, sso_only, created_at, updated_at) VALUES
      ('org_on', 'acc_1', 'iss_known', 'active', '{"enabled": true, "only": true, "label": "L"}', true, true, 1, 5),
      ('org_only', 'acc_1', 'iss_known', 'active', '{"only": true}', false, true, 1, 5),
      ('org_off', 'acc_1', 'iss_known', 'active', '{"enabled": false}', false, false, 1, 5);`)
  cpSync(join(allMigrations, migration), join(folder, migration), { recursive: true })
  expect(await apply()).toEqual({ applied: [migration] })
  const issuers = await runQuery<{ id: string; settings: unknown; changed: boolean }>(
    'SELECT id, settings, updated_at > 5 AS changed FROM issuers ORDER BY id',
  )
  expect(issuers).toEqual([
    {
      id: 'iss_known',
      settings: { security: { redirect_uri_rules: { allow_loopback: false }, mfa_required: true } },
      changed: true,
    },
    { id: 'iss_list', settings: { security: { redirect_uri_rules: {}, mfa_required: true } }, changed: true },
    { id: 'iss_none', settings: { custom: 1 }, changed: false },
  ])
  const organizations = await runQuery(
    'SELECT id, sso, sso_enabled, sso_only, updated_at > 5 AS changed FROM organizations ORDER BY id',
  )
  const off = { sso_enabled: false, sso_only: false }
  expect(organizations).toEqual([
    { id: 'org_off', sso: { enabled: false }, ...off, changed: false },
    { id: 'org_on', sso: { enabled: false, only: false, label: 'L' }, ...off, changed: true },
    { id: 'org_only', sso: { only: false }, ...off, changed: true },
  ])
})
