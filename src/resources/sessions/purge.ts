import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'

/** Sessions stay readable this long (milliseconds) after their end. */
const SESSION_RETENTION = 31 * DAY

/**
 * Removes what the IdP stored and time has ended: codes, tokens, interactions, login states, revocations whose token
 * has expired anyway, counts of failed sign-ins. A periodic job; running twice does no harm.
 */
export async function purgeExpired(context: Context): Promise<void> {
  const now = context.now()
  const expired = { where: { expiresAt: { lt: now } } }
  await context.db.idpArtifact.deleteMany(expired)
  await context.db.loginState.deleteMany(expired)
  await context.db.revokedToken.deleteMany(expired)
  await context.db.loginFailure.deleteMany({ where: { updatedAt: { lt: now - DAY } } })
  await context.db.session.deleteMany({ where: { expiresAt: { lt: now - SESSION_RETENTION } } })
}
