/** The input of the doctor's checks: the configuration, and the database if it can be reached. */
import pg from 'pg'
import type { Config } from '../config.js'
import { limits } from '../kernel/limits.js'
import { createEncryptor, type Encryptor, loadSecretKeys } from '../platform/crypto/secrets.js'
import { connectDatabaseServer } from '../platform/postgres/database-server.js'
import { migrationStatus } from '../platform/postgres/migrate.js'

export interface Inspection {
  config: Config
  /** Returns the current time of this machine in Unix milliseconds. */
  now(): number
  encryptor: Encryptor
  /** Undefined when the database cannot be reached. */
  database: { url: string; query<Row>(text: string, values?: unknown[]): Promise<Row[]> } | undefined
  /** Why the database cannot be reached; undefined if it can be reached. */
  connectionError: string | undefined
  /**
   * Returns true if all migrations of this version were applied. Otherwise the health reports are skipped, because they
   * read tables of this version.
   */
  isSchemaCurrent(): Promise<boolean>
}

/** Opens the database without applying migrations, runs `work`, and closes the database. */
export async function inspect(config: Config, work: (inspection: Inspection) => Promise<void>): Promise<void> {
  const { systemClock } = await import('../kernel/time.js')
  const base = { config, now: systemClock, encryptor: createEncryptor(loadSecretKeys(config)) }
  let close = async (): Promise<void> => {}
  let database: Inspection['database']
  let unreachable: string | undefined
  try {
    const store = await connectDatabaseServer(config)
    close = store.close
    const client = new pg.Client({
      connectionString: store.url,
      connectionTimeoutMillis: limits.databaseConnectTimeout,
      statement_timeout: limits.inspectionStatementTimeout,
      application_name: 'gatehouse doctor',
    })
    client.on('error', () => {})
    await client.connect()
    close = async () => {
      await client.end()
      await store.close()
    }
    database = { url: store.url, query: async (text, values) => (await client.query(text, values)).rows }
  } catch (error) {
    // When several IP addresses were tried, Node.js throws an AggregateError.
    const [first = error] = error instanceof AggregateError ? error.errors : []
    unreachable = first instanceof Error ? first.message : String(first)
  }
  try {
    await work({
      ...base,
      database,
      connectionError: unreachable,
      isSchemaCurrent: async () => database !== undefined && isMigrated(database.url),
    })
  } finally {
    await close()
  }
}

async function isMigrated(url: string): Promise<boolean> {
  try {
    return (await migrationStatus(url)).every(({ appliedAt }) => appliedAt !== null)
  } catch {
    // The check `migrations` reports this error.
    return false
  }
}
