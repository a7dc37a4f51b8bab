/** What the command line does besides starting. */
import { bootstrap, consolePlace } from './bootstrap.js'
import type { Config } from './config.js'
import type { Context } from './platform/context.js'
import { systemContext } from './platform/jobs.js'
import { migrationStatus } from './platform/migrate.js'
import { createAccount } from './resources/accounts/accounts.js'
import { type KeyFacts, listKeys, livingIssuers, rotateKeys } from './resources/issuers/key-rotation.js'
import { openStore } from './store.js'

/** A line of the answer. */
export const say = (text: string): void => void process.stdout.write(`${text}\n`)

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
  await inDeployment(config, async (context) => {
    if (!(await consolePlace(context))) await bootstrap(context)
    const { account, apiKey } = await createAccount(context, {
      ...(options.name && { name: options.name }),
      ...(options.description && { description: options.description }),
      ...(options.owner && { ownerUserId: options.owner }),
    })
    if (options.json)
      say(JSON.stringify({ id: account.id, api_key: { id: apiKey.id, secret_plain: apiKey.secretPlain } }))
    else say(`account  ${account.id}\nAPI key  ${apiKey.id}:${apiKey.secretPlain}\nThe secret is shown this once.`)
  })
}

/** `gatehouse keys list`. */
export async function listKeysCommand(config: Config, options: { issuer?: string; json?: boolean }): Promise<void> {
  await inDeployment(config, async (context) => {
    const keys = await listKeys(context, options.issuer)
    if (options.issuer && keys.length === 0) throw new Error(`There is no issuer ${options.issuer}.`)
    if (options.json) {
      const plain = ({ issuerId, kid, alg, createdAt, signing }: KeyFacts) => ({
        issuer_id: issuerId,
        kid,
        alg,
        created_at: Number(createdAt),
        signing,
      })
      say(JSON.stringify(keys.map(plain)))
      return
    }
    for (const { issuerId, kid, alg, createdAt, signing } of keys) {
      const since = new Date(Number(createdAt)).toISOString()
      say(`${issuerId}  ${alg}  ${kid}  ${since}  ${signing ? 'signs' : 'published'}`)
    }
  })
}

/** `gatehouse keys rotate`. */
export async function rotateKeysCommand(config: Config, options: { issuer?: string }): Promise<void> {
  await inDeployment(config, async (context) => {
    const issuers = options.issuer ? [options.issuer] : livingIssuers(context)
    let count = 0
    for await (const issuerId of issuers) {
      if (await rotateKeys(context, issuerId)) count++
      else if (options.issuer) throw new Error(`There is no issuer ${issuerId}.`)
    }
    say(`${count} issuer${count === 1 ? ' has' : 's have'} new signing keys.`)
  })
}

/** Works on the deployment's database, beside processes that run on it. */
export async function inDeployment(config: Config, work: (context: Context) => Promise<void>): Promise<void> {
  const { makeGatehouse } = await import('./app.js')
  const store = await openStore(config, () => {}, true)
  const gatehouse = makeGatehouse(config, store.url)
  try {
    await work(systemContext(gatehouse))
  } finally {
    await gatehouse.outbound.close()
    await gatehouse.tools.close()
    await store.close()
  }
}
