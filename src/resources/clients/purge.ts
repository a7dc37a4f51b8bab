import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { purgeRows } from '../purge.js'

/**
 * Deletes clients `deletedClientRetention` after their soft delete (docs/contract.md#limits). Their tokens have expired
 * by then. Clients of deleted issuers are kept.
 */
export async function purgeClients(context: Context): Promise<void> {
  const before = context.now() - limits.deletedClientRetention
  await purgeRows(context, 'clients', `t.status = 'deleted' AND t.deleted_at <= $1::bigint`, before)
}
