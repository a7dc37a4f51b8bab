import type { Config } from '../../config.js'
import { DataDirInUseError, startEmbeddedPostgres } from './embedded.js'
import { migrate } from './migrate.js'

export interface DatabaseServer {
  /** The postgres:// URL of the database. */
  url: string
  /** Stops the embedded server, if this process started it. */
  close(): Promise<void>
}

/**
 * Opens the database of DATABASE_URL, or without DATABASE_URL starts the embedded database. Then applies all
 * migrations.
 * @param log receives messages for the operator
 * @param useRunning true for commands: if another Gatehouse uses this DATA_DIR, its database is used. With false, this
 *   is an error.
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

/** Opens the database without applying migrations, for commands that only read. */
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
