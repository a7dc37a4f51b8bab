import type { Config } from '../config.js'
import { migrationStatus } from '../platform/migrate.js'
import { openStore, reachStore } from '../store.js'
import { say } from './deployment.js'

/** `gatehouse migrate [status]`. */
export async function run(config: Config, { json = false }: { json?: boolean }, word?: string): Promise<void> {
  // Asked for the status, it changes nothing.
  const store = word === 'status' ? await reachStore(config) : await openStore(config, json ? () => {} : say, true)
  try {
    const rows = await migrationStatus(store.url)
    if (json) say(JSON.stringify(rows))
    else if (word === 'status')
      for (const row of rows)
        say(`${row.appliedAt ? new Date(row.appliedAt).toISOString() : 'pending'.padEnd(24)}  ${row.name}`)
    else say('The database is up to date.')
  } finally {
    await store.close()
  }
}
