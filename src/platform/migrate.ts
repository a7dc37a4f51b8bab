/**
 * Brings a database to the schema of this build.
 *
 * Migrations stand in prisma/migrations in Prisma's own layout and are noted in `_prisma_migrations` with Prisma's own
 * columns, checksums and lock, so that `prisma migrate deploy` and `prisma migrate status` agree with what happens here;
 * Prisma's command itself needs a native engine that is downloaded at run time, which a server must not do.
 * Refuses to go on when the history of the database is not the history of this build: each such case is an error that
 * says which migration and what to do, for a half-known schema loses data quietly.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'

/** The oldest major version that the schema and the queries are written for. */
export const oldestPostgres = 15

/** Prisma's own lock, so that its deploy command and this one exclude each other too. */
const advisoryLock = 72707369

/** How long to wait for the lock and for any lock within a migration, in milliseconds. */
const lockTimeoutMs = 60_000

/** Compiled, this file is dist/src/platform/migrate.js. */
const defaultFolder = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url))

type Migration = { name: string; sql: string; checksum: string }
type Applied = { name: string; checksum: string; appliedAt: number | null }
type Where = { folder?: string }

/**
 * Applies every migration that the database lacks, oldest first, each in a transaction of its own. Safe to run from
 * several processes at once: one applies, the others wait and find nothing to do.
 *
 * @param url a postgres:// address
 * @param where.folder the folder of migrations; that of this package by default
 * @returns the names of the migrations applied by this call
 * @throws Error when the server is too old, when the history differs, or with the name of the migration that failed
 */
export function migrate(url: string, where: Where = {}): Promise<{ applied: string[] }> {
  return connected(url, async (client) => {
    const known = readMigrations(where.folder ?? defaultFolder)
    if (pendingOf(known, await readHistory(client)).length === 0) return { applied: [] }
    await client.query(`SET lock_timeout = ${lockTimeoutMs}`)
    await client.query('SELECT pg_advisory_lock($1)', [advisoryLock])
    await client.query(migrationsTable)
    const pending = pendingOf(known, await readHistory(client))
    for (const migration of pending) await apply(client, migration)
    return { applied: pending.map(({ name }) => name) }
  })
}

/**
 * Every migration of this build, oldest first, with the time of its application in milliseconds, or null.
 *
 * @throws Error as migrate does, when the history of the database is not that of this build
 */
export function migrationStatus(url: string, where: Where = {}): Promise<{ name: string; appliedAt: number | null }[]> {
  return connected(url, async (client) => {
    const known = readMigrations(where.folder ?? defaultFolder)
    const history = await readHistory(client)
    pendingOf(known, history)
    return known.map(({ name }) => ({ name, appliedAt: history.find((row) => row.name === name)?.appliedAt ?? null }))
  })
}

/** @throws Error when the server's version number (180004 for 18.4) is below the oldest that is supported. */
export function refuseOldServer(versionNumber: number): void {
  const major = Math.floor(versionNumber / 10_000)
  if (major < oldestPostgres) {
    throw new Error(`the database server is PostgreSQL ${major}; Gatehouse needs ${oldestPostgres} or newer`)
  }
}

async function connected<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: 'gatehouse migrate',
  })
  // A connection that breaks rejects the query under way; without a listener it would also end the process.
  client.on('error', () => undefined)
  await client.connect()
  try {
    const { rows } = await client.query<{ version: number }>(
      "SELECT current_setting('server_version_num')::int AS version",
    )
    refuseOldServer(rows[0]?.version ?? 0)
    return await work(client)
  } finally {
    // Closing the session releases the advisory lock.
    await client.end()
  }
}

function readMigrations(folder: string): Migration[] {
  if (!existsSync(folder)) throw new Error(`the migrations are missing: there is no folder ${folder}`)
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const file = join(folder, name, 'migration.sql')
      if (!existsSync(file)) throw new Error(`the migration ${name} has no migration.sql in ${folder}`)
      // A checkout on Windows may have changed the line ends; Prisma accepts either, we note the Unix form.
      const sql = readFileSync(file, 'utf8').replaceAll('\r\n', '\n')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function readHistory(client: Client): Promise<Applied[]> {
  const { rows } = await client.query<{ present: boolean }>(
    "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS present",
  )
  if (!rows[0]?.present) return []
  const history = await client.query<{ name: string; checksum: string; at: number | null }>(
    `SELECT migration_name AS name, checksum, (extract(epoch FROM finished_at) * 1000)::float8 AS at
     FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name`,
  )
  return history.rows.map(({ name, checksum, at }) => ({
    name,
    checksum,
    appliedAt: at === null ? null : Math.floor(at),
  }))
}

/** The migrations still to apply, after a look at whether the two histories fit. */
function pendingOf(known: Migration[], history: Applied[]): Migration[] {
  const newest = known.at(-1)?.name ?? ''
  for (const row of history) {
    const migration = known.find(({ name }) => name === row.name)
    if (!migration && row.name > newest) {
      throw new Error(
        `the database is newer than this build: it has the migration ${row.name}, the newest known here is ` +
          `${newest || 'none'}. Start a newer Gatehouse, or restore a backup made before the upgrade`,
      )
    }
    if (!migration) {
      throw new Error(`the migration ${row.name} was applied to the database, but its file is missing in this build`)
    }
    if (row.appliedAt === null) {
      throw new Error(
        `the migration ${row.name} began but never finished; mend the database, then run ` +
          `prisma migrate resolve --applied ${row.name} (or --rolled-back)`,
      )
    }
    if (row.checksum !== migration.checksum) {
      throw new Error(
        `the migration ${row.name} was edited after it had been applied; restore its file, and put the change into a ` +
          'new migration',
      )
    }
  }
  return known.filter(({ name }) => !history.some((row) => row.name === name))
}

async function apply(client: Client, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(sql)
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
      [randomUUID(), checksum, name],
    )
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    const { message, position } = error as Error & { position?: string }
    const line = position === undefined ? '' : ` (line ${sql.slice(0, Number(position)).split('\n').length})`
    throw new Error(`the migration ${name} failed and was undone: ${message}${line}`, { cause: error })
  }
}

/** As Prisma makes it. */
const migrationsTable = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                  VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum            VARCHAR(64) NOT NULL,
    finished_at         TIMESTAMPTZ,
    migration_name      VARCHAR(255) NOT NULL,
    logs                TEXT,
    rolled_back_at      TIMESTAMPTZ,
    started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`
