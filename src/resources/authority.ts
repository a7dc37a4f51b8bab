/** Nobody can grant what they lack (decisions D6, security rule 9). */
import { insufficientScope } from '../kernel/errors.js'
import { ALL, covers, isPlatformScope } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'

/**
 * Refuses to write platform scopes that the caller does not hold. A tenant's own scopes open nothing of ours and pass.
 * Only what is added counts: `before` holds the scopes that stood there already.
 * @throws insufficient_scope
 */
export function mayGrant(context: Context, scopes: readonly string[], before: readonly string[] = []): void {
  for (const scope of scopes) {
    if (before.includes(scope) || !isPlatformScope(scope)) continue
    if (!covers(context.actor.scopes, scope)) throw insufficientScope(scope)
  }
}

/**
 * A credential is authority: whoever gives one to a user, or changes it, can act as that user from then on. So the user
 * may hold no platform scope that the caller lacks, and credentials of the console issuer, whose users own and
 * administer accounts, are for callers with all authority.
 * @throws insufficient_scope
 */
export async function mayGiveCredentials(
  context: Context,
  user: { issuerId: string; scopes: readonly string[] },
): Promise<void> {
  if (covers(context.actor.scopes, ALL)) return
  mayGrant(context, user.scopes)
  const [console] = await context.query<{ found: boolean }>(
    'is-console-issuer',
    `SELECT true AS found FROM deployment WHERE name = 'console' AND value->>'issuer_id' = $1`,
    [user.issuerId],
  )
  if (console) throw insufficientScope(ALL)
}
