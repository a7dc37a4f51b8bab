import type { Context } from '../../platform/context.js'
import { purge } from '../purge.js'
import { DELETED_RETENTION } from './clients.js'

/** Removes clients that were deleted 31 days ago (spec section 8). Their tokens, of 21 days at most, ended before. */
export async function purgeClients(context: Context): Promise<void> {
  const before = context.now() - DELETED_RETENTION
  await purge(context, 'clients', `t.status = 'deleted' AND t.deleted_at <= $1::bigint`, before)
}
