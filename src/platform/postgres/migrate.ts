/**
 * Migrates a database to the schema of this build.
 *
 * The migrations are in prisma/migrations, in Prisma's layout. The table `_prisma_migrations` records which migrations
 * were applied. It has the columns and checksums of Prisma, and this module takes Prisma's advisory lock, so that
 * `prisma migrate deploy` and `prisma migrate status` work with the same database. Prisma's own commands are not used,
 * because they download a native engine at run time. If the history of the database differs from the migrations of this
 * build, the migration fails with an error that names the migration.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { limits } from '../../kernel/limits.js'

/** The oldest major version of PostgreSQL that Gatehouse supports. */
export const minPostgresVersion = 15

/** The key of Prisma's advisory lock, so that `prisma migrate deploy` and `migrate` do not run at the same time. */
const advisoryLockKey = 72707369

/** The path of prisma/migrations, relative to the compiled file dist/src/platform/postgres/migrate.js. */
const defaultFolder = fileURLToPath(new URL('../../../../prisma/migrations', import.meta.url))

type Migration = { name: string; sql: string; checksum: string }
type AppliedMigration = { name: string; checksum: string; appliedAt: number | null }
type MigrateOptions = { folder?: string }

/**
 * Applies all pending migrations, oldest first, each in its own transaction. Several processes can call this function
 * at the same time: one of them applies the migrations while the others wait.
 *
 * @param url the postgres:// URL of the database
 * @param options.folder the directory of the migrations; by default prisma/migrations of this package
 * @returns the names of the migrations that this call applied
 * @throws Error when the server is too old, when the history differs, or when a migration fails
 */
export function migrate(url: string, options: MigrateOptions = {}): Promise<{ applied: string[] }> {
  return withClient(url, async (client) => {
    const known = readMigrations(options.folder ?? defaultFolder)
    if (pendingMigrations(known, await readHistory(client)).length === 0) return { applied: [] }
    await client.query(`SET lock_timeout = ${limits.migrationLockTimeout}`)
    await client.query('SELECT pg_advisory_lock($1)', [advisoryLockKey])
    await client.query(createMigrationsTableSql)
    const pending = pendingMigrations(known, await readHistory(client))
    for (const migration of pending) await applyMigration(client, migration)
    return { applied: pending.map(({ name }) => name) }
  })
}

/**
 * Returns every migration of this build, oldest first. `appliedAt` is the time when the migration was applied, in Unix
 * milliseconds, or null for a pending migration.
 *
 * @throws Error when the server is too old, or when the history of the database differs from the migrations of this
 *   build
 */
export function migrationStatus(
  url: string,
  options: MigrateOptions = {},
): Promise<{ name: string; appliedAt: number | null }[]> {
  return withClient(url, async (client) => {
    const known = readMigrations(options.folder ?? defaultFolder)
    const history = await readHistory(client)
    pendingMigrations(known, history)
    return known.map(({ name }) => ({ name, appliedAt: history.find((row) => row.name === name)?.appliedAt ?? null }))
  })
}

/**
 * Checks the version of the server.
 * @param versionNumber the value of `server_version_num`, such as 180004 for version 18.4
 * @throws Error when the server is older than `minPostgresVersion`
 */
export function requireSupportedServer(versionNumber: number): void {
  const major = Math.floor(versionNumber / 10_000)
  if (major < minPostgresVersion) {
    throw new Error(`the database server is PostgreSQL ${major}; Gatehouse needs ${minPostgresVersion} or newer`)
  }
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: limits.migrationConnectTimeout,
    application_name: 'gatehouse migrate',
  })
  // A broken connection rejects the running query. Without a listener, the error event would also end the process.
  client.on('error', () => undefined)
  await client.connect()
  try {
    const { rows } = await client.query<{ version: number }>(
      "SELECT current_setting('server_version_num')::int AS version",
    )
    requireSupportedServer(rows[0]?.version ?? 0)
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
      // A checkout on Windows may have CRLF line endings. The checksum is that of the text with LF line endings.
      const sql = readFileSync(file, 'utf8').replaceAll('\r\n', '\n')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function readHistory(client: Client): Promise<AppliedMigration[]> {
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

/**
 * Returns the pending migrations.
 * @throws Error when the history of the database differs from the migrations of this build
 */
function pendingMigrations(known: Migration[], history: AppliedMigration[]): Migration[] {
  const newest = known.at(-1)?.name ?? ''
  for (const row of history) {
    const migration = known.find(({ name }) => name === row.name)
    if (!migration && row.name > newest) {
      throw new Error(
        `the database is newer than this build: it has the migration ${row.name}, but the newest of this build is ` +
          `${newest || 'none'}. Start a newer Gatehouse, or restore a backup made before the upgrade`,
      )
    }
    if (!migration) {
      throw new Error(`the migration ${row.name} was applied to the database, but its file is missing in this build`)
    }
    if (row.appliedAt === null) {
      throw new Error(
        `the migration ${row.name} started but did not finish; repair the database, then run ` +
          `prisma migrate resolve --applied ${row.name} (or --rolled-back)`,
      )
    }
    if (row.checksum !== migration.checksum) {
      throw new Error(
        `the migration ${row.name} was changed after it was applied; restore its file and put the change into a new ` +
          'migration',
      )
    }
  }
  return known.filter(({ name }) => !history.some((row) => row.name === name))
}

async function applyMigration(client: Client, { name, sql, checksum }: Migration): Promise<void> {
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
    throw new Error(`the migration ${name} failed and was rolled back: ${message}${line}`, { cause: error })
  }
}

/** Identical to the table that Prisma creates. */
const createMigrationsTableSql = `
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
