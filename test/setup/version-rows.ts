/** Reads and restores the rows of every table, for dumps of older versions. */
import type pg from 'pg'

/** By table: its rows as a JSON array, as PostgreSQL writes it, so that no number loses digits on the way. */
export type Tables = Record<string, { rows: string }>

/** A deployment of an older version, as `npm run version-dump` wrote it. */
export interface VersionDump {
  /** The last migration that it had. */
  migration: string
  /** When it was written, in milliseconds: tokens and sessions in it were valid then. */
  at: number
  baseUrl: string
  idpUrl: string
  /** A key of the account that `answers` are about. */
  owner: { id: string; secret: string }
  issuerId: string
  /** A public client of the issuer, and a user who can sign in there. */
  client: { id: string; secret: string | undefined }
  user: { username: string; password: string }
  refreshToken: string
  /** Responses of `/v1`, by path. */
  answers: Record<string, unknown>
  tables: Tables
}

// Partitions are read through their table. Migrations record themselves.
const tablesText = `
  SELECT relname AS name FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname <> '_prisma_migrations' ORDER BY relname`

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

/** Writes the rows of a dump into a database that has the schema of its version, replacing its rows. */
export async function restoreTables(db: pg.Client, tables: Tables): Promise<void> {
  await db.query('BEGIN')
  // Disables triggers and foreign keys: the rows come from a consistent database.
  await db.query("SET LOCAL session_replication_role = 'replica'")
  for (const [name, { rows }] of Object.entries(tables)) {
    await db.query(`DELETE FROM "${name}"`)
    await db.query(`INSERT INTO "${name}" SELECT * FROM jsonb_populate_recordset(NULL::"${name}", $1::jsonb)`, [rows])
  }
  await db.query('COMMIT')
}
