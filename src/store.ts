import type { Config } from './config.js'
import { InUse, startEmbeddedPostgres } from './platform/embedded-postgres.js'
import { migrate } from './platform/migrate.js'

export interface Store {
  /** A postgres:// address. */
  url: string
  close(): Promise<void>
}

/**
 * Opens the database of a configuration, the embedded one where no other is named, with all migrations applied.
 * @param join for the command line: while a Gatehouse runs on this DATA_DIR, use its database instead of failing
 * @throws Error with a text for the operator
 */
export async function openStore(config: Config, say: (message: string) => void, join = false): Promise<Store> {
  const store = config.databaseUrl
    ? { url: config.databaseUrl, close: async () => {} }
    : await openEmbedded(config, say, join)
  try {
    const { applied } = await migrate(store.url)
    if (applied.length > 0) say(`applied ${applied.length} migration${applied.length > 1 ? 's' : ''}`)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The same as it is, without migrations: for looking. */
export const reachStore = async (config: Config): Promise<Store> =>
  config.databaseUrl ? { url: config.databaseUrl, close: async () => {} } : openEmbedded(config, () => {}, true)

async function openEmbedded({ dataDir }: Config, say: (message: string) => void, join: boolean): Promise<Store> {
  try {
    const { url, stop } = await startEmbeddedPostgres(dataDir, say)
    return { url, close: stop }
  } catch (error) {
    if (join && error instanceof InUse && error.url) return { url: error.url, close: async () => {} }
    throw error
  }
}
