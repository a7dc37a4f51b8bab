/** A database of an older version, with rows in every table, is upgraded by a start with nothing lost (docs/production.md, Upgrading). */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { migrate } from '../../src/platform/migrate.js'
import { packageRoot } from '../../src/platform/package-root.js'
import { CALLBACK, Realm } from '../idp/setup.js'
import { apiAs } from '../setup/api.js'
import { createTestDatabase } from '../setup/database.js'
import { migrationNames } from '../setup/schema-drift.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { restoreTables, type VersionDump } from '../setup/version-rows.js'

const folder = join(packageRoot, 'test', 'stories', 'upgrade')
const migrations = join(packageRoot, 'prisma', 'migrations')

/** An empty database as the version of the dump had it, with the rows of the dump. */
async function restore(url: string, { migration, tables }: VersionDump): Promise<void> {
  const older = mkdtempSync(join(tmpdir(), 'gatehouse-migrations-'))
  try {
    for (const name of migrationNames(migrations).filter((name) => name <= migration))
      cpSync(join(migrations, name), join(older, name), { recursive: true })
    await migrate(url, { folder: older })
  } finally {
    rmSync(older, { recursive: true })
  }
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  try {
    await restoreTables(db, tables)
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
    // Tokens and sessions are as old as they were when the dump was written.
    const behind = Date.now() - dump.at
    const clock = { now: () => Date.now() - behind, advance: () => undefined }
    const env = { BASE_URL: dump.baseUrl }
    app = await startApp({ databaseUrl: database.url, clock, env })
    const owner = apiAs(app.baseUrl, dump.owner)
    realm = new Realm(app, { accountId: '', issuerId: dump.issuerId, A: '', I: '', owner })
  }, 120_000)
  afterAll(async () => {
    await app?.close()
    await database.drop()
  })

  test('every table of the dump had rows', () => {
    expect(Object.entries(dump.tables).filter(([, { rows }]) => rows === '[]')).toEqual([])
  })

  test.each(Object.keys(dump.answers))('GET %s answers as before', async (path) => {
    const { status, text } = await realm.tenant.owner.get(path)
    const body = JSON.parse(text.replaceAll(app.idpUrl, dump.idpUrl))
    expect({ status, body }).toEqual({ status: 200, body: dump.answers[path] })
  })

  test('a user signs in with the same password, and a refresh token is good', async () => {
    const { client, user, refreshToken } = dump
    const tokens = await realm.tokens(client as never, user.username, { redirect_uri: CALLBACK })
    expect(tokens['access_token']).toEqual(expect.any(String))
    expect((await realm.refresh(client as never, refreshToken)).status).toBe(200)
  })
})
