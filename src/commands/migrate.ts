import type { Config } from '../config.js'
import { connectDatabaseServer, startDatabaseServer } from '../platform/postgres/database-server.js'
import { migrationStatus } from '../platform/postgres/migrate.js'
import { print } from './deployment.js'

/** `gatehouse migrate [status]`. */
export async function run(config: Config, { json = false }: { json?: boolean }, action?: string): Promise<void> {
  // `status` must not apply migrations.
  const store =
    action === 'status'
      ? await connectDatabaseServer(config)
      : await startDatabaseServer(config, json ? () => {} : print, true)
  try {
    const rows = await migrationStatus(store.url)
    if (json) print(JSON.stringify(rows))
    else if (action === 'status')
      for (const row of rows)
        print(`${row.appliedAt ? new Date(row.appliedAt).toISOString() : 'pending'.padEnd(24)}  ${row.name}`)
    else print('The database is up to date.')
  } finally {
    await store.close()
  }
}
