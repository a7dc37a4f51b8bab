/** Nobody can grant what they lack (decisions D6, security rule 9). */
import { insufficientScope } from '../kernel/errors.js'
import { covers, isPlatformScope } from '../kernel/scopes.js'
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
