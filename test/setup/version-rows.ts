/** Reads and restores the rows of all tables, for dumps of deployments of older versions. */
import type pg from 'pg'

/**
 * Rows by table name. `rows` is a JSON array as text, as PostgreSQL returns it, because `JSON.parse` would lose digits
 * of large numbers.
 */
export type Tables = Record<string, { rows: string }>

/** A dump of a deployment of an older version, which `npm run version-dump` wrote. */
export interface VersionDump {
  /** Name of the last migration of the deployment. */
  migration: string
  /** When the dump was written, in Unix milliseconds. Its tokens and sessions were valid at that time. */
  at: number
  baseUrl: string
  idpUrl: string
  /** An API key of the account with the resources in `answers`. */
  owner: { id: string; secret: string }
  issuerId: string
  /** A client of the issuer. */
  client: { id: string; secret: string | undefined }
  /** A user who can sign in at the issuer. */
  user: { username: string; password: string }
  refreshToken: string
  /** Response bodies of GET requests to `/v1`, by path. */
  answers: Record<string, unknown>
  tables: Tables
}

// Excludes partitions, because a query of the partitioned table returns their rows, and `_prisma_migrations`, because
// the migrations write its rows again before a dump is restored.
const tablesText = `
  SELECT relname AS name FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname <> '_prisma_migrations' ORDER BY relname`

/** Reads all rows of all tables. */
export async function readTables(db: pg.Client): Promise<Tables> {
  const { rows } = await db.query<{ name: string }>(tablesText)
  const tables: Tables = {}
  for (const { name } of rows) {
    const result = await db.query<{ rows: string }>(
      `SELECT coalesce(jsonb_agg(t), '[]')::text AS rows FROM "${name}" AS t`,
    )
    tables[name] = { rows: result.rows[0]!.rows }
  }
  return tables
}

/** Replaces the rows of a database by those of a dump. The database must have the migrations of the dump. */
export async function restoreTables(db: pg.Client, tables: Tables): Promise<void> {
  await db.query('BEGIN')
  // Disables triggers and foreign keys. The rows of the dump are consistent, but tables are filled one after another.
  await db.query("SET LOCAL session_replication_role = 'replica'")
  for (const [name, { rows }] of Object.entries(tables)) {
    await db.query(`DELETE FROM "${name}"`)
    await db.query(`INSERT INTO "${name}" SELECT * FROM jsonb_populate_recordset(NULL::"${name}", $1::jsonb)`, [rows])
  }
  await db.query('COMMIT')
}
