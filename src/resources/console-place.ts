import { conflict } from '../kernel/errors.js'
import type { Context } from '../platform/context.js'
import { sql } from '../platform/database.js'

/** Where the console signs in; the deployment's row `console`. */
export interface ConsolePlace {
  account_id: string
  issuer_id: string
  client_id: string
}

/** The console's place, once first start has made it. */
export async function consolePlace(context: Context): Promise<ConsolePlace | undefined> {
  const row = await context.db.deployment.findUnique({ where: { name: 'console' } })
  return row?.value as ConsolePlace | undefined
}

const consoleText = `SELECT true AS found FROM deployment WHERE name = 'console' AND value->>$1 = $2`

/** Is this the issuer, or the client, by which the console signs in? */
export async function isOfConsole(context: Context, what: 'issuer_id' | 'client_id', id: string): Promise<boolean> {
  const rows = await context.query<{ found: boolean }>('is-of-console', consoleText, [what, id])
  return rows.length > 0
}

const uses = { issuer_id: 'at this issuer', client_id: 'with this client' } as const

/**
 * Refuses what would take the console away from all its administrators.
 * @param change what cannot be done, after "it cannot"
 * @throws conflict for the issuer or the client of the console
 */
export async function refuseAtConsole(
  context: Context,
  what: 'issuer_id' | 'client_id',
  id: string,
  change: string,
): Promise<void> {
  if (!(await isOfConsole(context, what, id))) return
  throw conflict(`The console signs in ${uses[what]}, so it cannot ${change}.`)
}

/**
 * Refuses to suspend or delete the owner of the system account, the one administrator of the console who cannot be
 * missing. Call it in the transaction of the change. The row of the account is locked, as naming another owner does.
 * @throws conflict
 */
export async function refuseConsoleOwner(context: Context, userId: string): Promise<void> {
  const text = 'SELECT id FROM accounts WHERE system AND owner_user_id = $1 FOR SHARE'
  if ((await sql(context.db, text, userId)).length === 0) return
  throw conflict('This user owns the system account, and must stay active. Make another user its owner first.')
}
