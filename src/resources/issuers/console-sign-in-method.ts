/** Keeps at least one usable sign-in method at the console issuer. */
import { conflict } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/postgres/database.js'
import { isConsoleResource } from '../console-path.js'
import { isFirstFactorKind, type MethodSettings, readinessMessage } from './auth-method-readiness.js'

/**
 * Requires that administrators can still sign in to the console. Call it in the transaction that changes or deletes an
 * authentication method of any issuer; for other issuers than the console issuer it does nothing. Locks the row of the
 * console issuer, so that two concurrent changes cannot remove the last two methods.
 * @throws conflict if the console issuer would have no usable sign-in method
 */
export async function requireConsoleSignInMethod(context: Context, issuerId: string): Promise<void> {
  if (!(await isConsoleResource(context, 'issuer_id', issuerId))) return
  await sql(context.db, 'SELECT id FROM issuers WHERE id = $1 FOR UPDATE', issuerId)
  if (await hasUsableSignInMethod(context, issuerId)) return
  throw conflict('This is the last usable sign-in method of the console. Add another authentication method first.')
}

/** Returns whether an issuer has an enabled and ready authentication method that can be the first factor. */
export async function hasUsableSignInMethod(context: Context, issuerId: string): Promise<boolean> {
  const rows = await context.db.authMethod.findMany({ where: { issuerId, enabledLogin: true } })
  return rows.some(
    (row) => isFirstFactorKind(row.method) && readinessMessage(row as unknown as MethodSettings) === undefined,
  )
}
