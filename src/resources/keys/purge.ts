/** API keys and personal tokens that nobody can read any more (spec section 8). */
import type { Context } from '../../platform/context.js'
import { purge } from '../purge.js'
import { RETENTION } from './states.js'

/** Removes keys that were revoked 31 days ago. */
export async function purgeApiKeys(context: Context): Promise<void> {
  const before = context.now() - RETENTION
  await purge(context, 'api_keys', `t.status = 'revoked' AND t.status_at <= $1::bigint`, before)
}

/** Removes tokens that were revoked or ran out 31 days ago. */
export async function purgePersonalTokens(context: Context): Promise<void> {
  const before = context.now() - RETENTION
  await purge(context, 'personal_tokens', `t.status = 'revoked' AND t.status_at <= $1::bigint`, before)
  await purge(context, 'personal_tokens', 't.expires_at <= $1::bigint', before)
}
