/** What commands share: the deployment's database, and where answers go. */
import type { Config } from '../config.js'
import { makeGatehouse } from '../gatehouse.js'
import type { Context } from '../platform/context.js'
import { systemContext } from '../platform/jobs.js'
import type { InIssuer } from '../resources/place.js'
import { openStore } from '../store.js'
import { exitCodes } from './command.js'

/** A line of the answer. What is said beside the answer goes to stderr, see `note`. */
export const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** A line for people beside the answer, which scripts do not read. */
export const note = (text: string): void => void process.stderr.write(`${text}\n`)

/** Works on the deployment's database, beside processes that run on it. */
export async function inDeployment<T>(config: Config, work: (context: Context) => Promise<T>): Promise<T> {
  const store = await openStore(config, () => {}, true)
  const gatehouse = makeGatehouse(config, store.url)
  const ignore = onInterruption(store.close)
  try {
    return await work(systemContext(gatehouse))
  } finally {
    ignore()
    await gatehouse.outbound.close()
    gatehouse.postman.close()
    await gatehouse.tools.close()
    await store.close()
  }
}

/**
 * Ctrl-C in the middle: what is committed stays, the rest is undone, and an embedded database that was started for this
 * command stops with it. A second one ends at once.
 * @returns undoes it
 */
function onInterruption(close: () => Promise<void>): () => void {
  const interrupted = (): void => {
    ignore()
    note('\nInterrupted. What was done stays; run the command again to go on.')
    void close()
      .catch(() => {})
      .then(() => process.exit(exitCodes.interrupted))
  }
  const ignore = (): void => {
    for (const signal of signals) process.off(signal, interrupted)
  }
  for (const signal of signals) process.on(signal, interrupted)
  return ignore
}

const signals = ['SIGINT', 'SIGTERM'] as const

/** Where this issuer stands. @throws Error when there is none, or it was deleted */
export async function placeOfIssuer(context: Context, issuerId: string): Promise<InIssuer> {
  const where = { id: issuerId, status: { not: 'deleted' } }
  const issuer = await context.db.issuer.findFirst({ where, select: { accountId: true } })
  if (!issuer) throw new Error(`There is no issuer ${issuerId}.`)
  return { accountId: issuer.accountId, issuerId }
}
