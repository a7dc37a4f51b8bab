/** What the command line does besides starting. */
import { bootstrap, consolePlace } from './bootstrap.js'
import type { Config } from './config.js'
import { systemContext } from './platform/jobs.js'
import { migrationStatus } from './platform/migrate.js'
import { createAccount } from './resources/accounts/accounts.js'
import { openStore } from './store.js'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** `gatehouse migrate [status]`. */
export async function migrateCommand(config: Config, statusOnly: boolean, json: boolean): Promise<void> {
  const store = await openStore(config, json ? () => {} : say, true)
  try {
    const rows = await migrationStatus(store.url)
    if (json) say(JSON.stringify(rows))
    else if (statusOnly)
      for (const row of rows)
        say(`${row.appliedAt ? new Date(row.appliedAt).toISOString() : 'pending'.padEnd(24)}  ${row.name}`)
    else say('The database is up to date.')
  } finally {
    await store.close()
  }
}

/** `gatehouse account create`. */
export async function createAccountCommand(
  config: Config,
  options: { name?: string; description?: string; owner?: string; json?: boolean },
): Promise<void> {
  const { makeGatehouse } = await import('./app.js')
  const store = await openStore(config, () => {}, true)
  const gatehouse = makeGatehouse(config, store.url)
  try {
    const context = systemContext(gatehouse)
    if (!(await consolePlace(context))) await bootstrap(context)
    const { account, apiKey } = await createAccount(context, {
      ...(options.name && { name: options.name }),
      ...(options.description && { description: options.description }),
      ...(options.owner && { ownerUserId: options.owner }),
    })
    if (options.json)
      say(JSON.stringify({ id: account.id, api_key: { id: apiKey.id, secret_plain: apiKey.secretPlain } }))
    else say(`account  ${account.id}\nAPI key  ${apiKey.id}:${apiKey.secretPlain}\nThe secret is shown this once.`)
  } finally {
    await gatehouse.tools.close()
    await store.close()
  }
}
