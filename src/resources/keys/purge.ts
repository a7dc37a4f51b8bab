/** Deletes API keys and personal tokens after their retention (docs/contract.md#limits). */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { purgeRows } from '../purge.js'

/** Deletes API keys that were revoked more than `revokedKeyRetention` ago. */
export async function purgeApiKeys(context: Context): Promise<void> {
  const before = context.now() - limits.revokedKeyRetention
  await purgeRows(context, 'api_keys', `t.status = 'revoked' AND t.status_at <= $1::bigint`, before)
}

/** Deletes personal tokens that were revoked or expired more than `revokedKeyRetention` ago. */
export async function purgePersonalTokens(context: Context): Promise<void> {
  const before = context.now() - limits.revokedKeyRetention
  await purgeRows(context, 'personal_tokens', `t.status = 'revoked' AND t.status_at <= $1::bigint`, before)
  await purgeRows(context, 'personal_tokens', 't.expires_at <= $1::bigint', before)
}
