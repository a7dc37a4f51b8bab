import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sweep } from '../../platform/sweep.js'

/** Sessions stay readable this long (milliseconds) after their end. */
const SESSION_RETENTION = 31 * DAY

/**
 * Removes what the IdP stored and time has ended: codes, tokens, interactions, login states, revocations whose token
 * has expired anyway, counts of failed sign-ins. A periodic job; running twice does no harm.
 */
export async function purgeExpired(context: Context): Promise<void> {
  const now = context.now()
  for (const table of ['idp_artifacts', 'login_states', 'revoked_tokens']) {
    await sweep(context, table, 'expires_at < $1::bigint', now)
  }
  await sweep(context, 'login_failures', 'updated_at < $1::bigint', now - DAY)
  const ended = `status IN ('revoked', 'expired')`
  await sweep(context, 'sessions', `${ended} AND expires_at < $1::bigint`, now - SESSION_RETENTION)
}
