/** The console keeps a method to sign in with. */
import { conflict } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/database.js'
import { isOfConsole } from '../console-place.js'
import { isSignIn, type MethodSettings, notReadyReason } from './readiness.js'

/**
 * After a change of one of its methods, can people still sign in at the console? Call it in the transaction of the change.
 * The issuer's row is locked, so that two changes at once do not each rely on the method that the other one ends.
 * @throws conflict
 */
export async function requireConsoleSignIn(context: Context, issuerId: string): Promise<void> {
  if (!(await isOfConsole(context, 'issuer_id', issuerId))) return
  await sql(context.db, 'SELECT id FROM issuers WHERE id = $1 FOR UPDATE', issuerId)
  if (await hasSignIn(context, issuerId)) return
  throw conflict('Nobody could sign in to the console without this method. Add another sign-in method first.')
}

/** Has an issuer an enabled method that a sign-in can begin with, and that can work? */
export async function hasSignIn(context: Context, issuerId: string): Promise<boolean> {
  const rows = await context.db.authMethod.findMany({ where: { issuerId, enabledLogin: true } })
  return rows.some((row) => isSignIn(row.method) && notReadyReason(row as unknown as MethodSettings) === undefined)
}
