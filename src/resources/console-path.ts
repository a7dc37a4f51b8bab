import { conflict } from '../kernel/errors.js'
import type { Context } from '../platform/context.js'
import { sql } from '../platform/postgres/database.js'

/** The account, issuer and client that the console signs in with: the value of the row `console` of `deployment`. */
export interface ConsolePath {
  account_id: string
  issuer_id: string
  client_id: string
}

/** Returns undefined before the first start has created the console's resources. */
export async function consolePath(context: Context): Promise<ConsolePath | undefined> {
  const row = await context.db.deployment.findUnique({ where: { name: 'console' } })
  return row?.value as ConsolePath | undefined
}

const consoleResourceText = `SELECT true AS found FROM deployment WHERE name = 'console' AND value->>$1 = $2`

/** Returns whether the id is that of the issuer or the client that the console signs in with. */
export async function isConsoleResource(
  context: Context,
  idField: 'issuer_id' | 'client_id',
  id: string,
): Promise<boolean> {
  const rows = await context.query<{ found: boolean }>('is-console-resource', consoleResourceText, [idField, id])
  return rows.length > 0
}

const consoleRoles = {
  issuer_id: 'at this issuer, so the issuer',
  client_id: 'with this client, so the client',
} as const

/**
 * Refuses a change that would lock all administrators out of the console.
 * @param change the change as it follows "cannot" in the error message, for example "be deleted"
 * @throws conflict for the issuer or the client of the console
 */
export async function requireNotConsoleResource(
  context: Context,
  idField: 'issuer_id' | 'client_id',
  id: string,
  change: string,
): Promise<void> {
  if (!(await isConsoleResource(context, idField, id))) return
  throw conflict(`The console signs in ${consoleRoles[idField]} cannot ${change}.`)
}

/**
 * Refuses a change after which the owner of the system account would not be active, so that the console keeps an
 * administrator. Call it in the transaction of the change: it locks the row of the account, so that the owner cannot
 * change until the transaction ends.
 * @throws conflict
 */
export async function requireNotConsoleOwner(context: Context, userId: string): Promise<void> {
  const text = 'SELECT id FROM accounts WHERE system AND owner_user_id = $1 FOR SHARE'
  if ((await sql(context.db, text, userId)).length === 0) return
  throw conflict('This user owns the system account and must stay active. Make another user the owner first.')
}
