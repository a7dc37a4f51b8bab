/** Functions that the commands share: they open the deployment's database and print output. */
import type { Config } from '../config.js'
import type { Context } from '../platform/context.js'
import { systemContext } from '../platform/jobs/periodic-jobs.js'
import { startDatabaseServer } from '../platform/postgres/database-server.js'
import type { InIssuer } from '../resources/resource-path.js'
import { createGatehouse } from '../server/root-context.js'
import { exitCodes } from './command.js'

/** Prints a line of the result to standard output. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`)

/** Prints a message to standard error, separate from the result that scripts read. */
export const printNotice = (text: string): void => void process.stderr.write(`${text}\n`)

/**
 * Applies pending migrations and runs `work` with the deployment's database. A running Gatehouse may use the database
 * at the same time.
 */
export async function withDeployment<T>(config: Config, work: (context: Context) => Promise<T>): Promise<T> {
  const store = await startDatabaseServer(config, () => {}, true)
  const gatehouse = createGatehouse(config, store.url)
  const removeSignalHandlers = onInterrupt(store.close)
  try {
    return await work(systemContext(gatehouse))
  } finally {
    removeSignalHandlers()
    await gatehouse.outbound.close()
    gatehouse.mailer.close()
    await gatehouse.database.close()
    await store.close()
  }
}

/**
 * Handles the first SIGINT or SIGTERM: keeps committed changes, stops an embedded database that this command started,
 * and exits. A second signal ends the process immediately.
 * @returns a function that removes the handlers
 */
function onInterrupt(close: () => Promise<void>): () => void {
  const handleInterrupt = (): void => {
    removeSignalHandlers()
    printNotice('\nInterrupted. Completed changes are kept; run the command again to continue.')
    void close()
      .catch(() => {})
      .then(() => process.exit(exitCodes.interrupted))
  }
  const removeSignalHandlers = (): void => {
    for (const signal of signals) process.off(signal, handleInterrupt)
  }
  for (const signal of signals) process.on(signal, handleInterrupt)
  return removeSignalHandlers
}

const signals = ['SIGINT', 'SIGTERM'] as const

/** Returns the resource path of an issuer. @throws Error if the issuer does not exist or was deleted */
export async function requireIssuerPath(context: Context, issuerId: string): Promise<InIssuer> {
  const where = { id: issuerId, status: { not: 'deleted' } }
  const issuer = await context.db.issuer.findFirst({ where, select: { accountId: true } })
  if (!issuer) throw new Error(`There is no issuer ${issuerId}.`)
  return { accountId: issuer.accountId, issuerId }
}
