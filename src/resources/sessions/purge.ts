import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { deleteInBatches } from '../../platform/jobs/batch-delete.js'

/**
 * Deletes expired data of the IdP: codes, tokens, interactions, login states, revocations of expired tokens, counts of
 * failed sign-ins, ended sessions. Periodic job `purge-expired`; concurrent runs are safe.
 */
export async function purgeExpiredIdpData(context: Context): Promise<void> {
  const now = context.now()
  for (const table of ['idp_artifacts', 'login_states', 'revoked_tokens']) {
    await deleteInBatches(context, table, 'expires_at < $1::bigint', now)
  }
  await deleteInBatches(context, 'login_failures', 'updated_at < $1::bigint', now - limits.signInFailureRetention)
  const ended = `status IN ('revoked', 'expired')`
  await deleteInBatches(context, 'sessions', `${ended} AND expires_at < $1::bigint`, now - limits.endedSessionRetention)
}
