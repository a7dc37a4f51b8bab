import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { purgeRows } from '../purge.js'

/**
 * Deletes clients 31 days after their soft delete (docs/contract.md#limits). Their tokens (21 days at most) have
 * expired.
 */
export async function purgeClients(context: Context): Promise<void> {
  const before = context.now() - limits.deletedClientRetention
  await purgeRows(context, 'clients', `t.status = 'deleted' AND t.deleted_at <= $1::bigint`, before)
}
