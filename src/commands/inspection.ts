/** What the doctor looks at: the configuration, and the database as far as it can be reached. */
import pg from 'pg'
import type { Config } from '../config.js'
import { migrationStatus } from '../platform/migrate.js'
import { makeSealer, type Sealer, secretKeysOf } from '../platform/secrets.js'
import { reachStore } from '../store.js'

export interface Inspection {
  config: Config
  /** Unix milliseconds. */
  now(): number
  sealer: Sealer
  /** Undefined when the database cannot be reached. */
  database: { url: string; query<Row>(text: string, values?: unknown[]): Promise<Row[]> } | undefined
  /** Why not. */
  unreachable: string | undefined
  /** Is the database as this version expects it? Without that, only checks look at it. */
  migrated(): Promise<boolean>
}

const TIMEOUT = 15_000

/** Opens the database without changing it, not even by migrations. */
export async function inspect(config: Config, work: (inspection: Inspection) => Promise<void>): Promise<void> {
  const { systemClock } = await import('../kernel/time.js')
  const base = { config, now: systemClock, sealer: makeSealer(secretKeysOf(config)) }
  let close = async (): Promise<void> => {}
  let database: Inspection['database']
  let unreachable: string | undefined
  try {
    const store = await reachStore(config)
    close = store.close
    const client = new pg.Client({
      connectionString: store.url,
      connectionTimeoutMillis: 5000,
      statement_timeout: TIMEOUT,
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
    // Of several addresses that were tried, the errors stand inside.
    const [first = error] = error instanceof AggregateError ? error.errors : []
    unreachable = first instanceof Error ? first.message : String(first)
  }
  try {
    await work({
      ...base,
      database,
      unreachable,
      migrated: async () => database !== undefined && isMigrated(database.url),
    })
  } finally {
    await close()
  }
}

async function isMigrated(url: string): Promise<boolean> {
  try {
    return (await migrationStatus(url)).every(({ appliedAt }) => appliedAt !== null)
  } catch {
    // The check of migrations says why.
    return false
  }
}
