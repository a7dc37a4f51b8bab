import type { Config } from './config.js'
import { startEmbeddedPostgres } from './platform/embedded-postgres.js'
import { migrate } from './platform/migrate.js'

/**
 * Opens the database of a configuration, the embedded one where no other is named, with all migrations applied.
 * @throws Error with a text for the operator
 */
export async function openStore(
  config: Config,
  say: (message: string) => void,
): Promise<{ url: string; close(): Promise<void> }> {
  const embedded = config.databaseUrl === undefined ? await startEmbeddedPostgres(config.dataDir, say) : undefined
  const url = config.databaseUrl ?? embedded!.url
  try {
    const { applied } = await migrate(url)
    if (applied.length > 0) say(`applied ${applied.length} migration${applied.length > 1 ? 's' : ''}`)
  } catch (error) {
    await embedded?.stop()
    throw error
  }
  return { url, close: async () => embedded?.stop() }
}
