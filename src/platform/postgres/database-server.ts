import type { Config } from '../../config.js'
import { DataDirInUseError, startEmbeddedPostgres } from './embedded.js'
import { migrate } from './migrate.js'

export interface DatabaseServer {
  /** A postgres:// address. */
  url: string
  close(): Promise<void>
}

/**
 * Opens the configured database, or starts the embedded one without DATABASE_URL, and applies all migrations.
 * @param useRunning for the command line: if a Gatehouse is running on this DATA_DIR, use its database instead of
 * failing
 * @throws Error with a message for the operator
 */
export async function startDatabaseServer(
  config: Config,
  log: (message: string) => void,
  useRunning = false,
): Promise<DatabaseServer> {
  const store = config.databaseUrl
    ? { url: config.databaseUrl, close: async () => {} }
    : await startEmbedded(config, log, useRunning)
  try {
    const { applied } = await migrate(store.url)
    if (applied.length > 0) log(`applied ${applied.length} migration${applied.length > 1 ? 's' : ''}`)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Opens the database without applying migrations, for read-only commands. */
export const connectDatabaseServer = async (config: Config): Promise<DatabaseServer> =>
  config.databaseUrl ? { url: config.databaseUrl, close: async () => {} } : startEmbedded(config, () => {}, true)

async function startEmbedded(
  { dataDir }: Config,
  log: (message: string) => void,
  useRunning: boolean,
): Promise<DatabaseServer> {
  try {
    const { url, stop } = await startEmbeddedPostgres(dataDir, log)
    return { url, close: stop }
  } catch (error) {
    if (useRunning && error instanceof DataDirInUseError && error.url) return { url: error.url, close: async () => {} }
    throw error
  }
}
