/** Records of deliveries leave after 14 days, deleted webhooks after 31 (spec section 8). */
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sweep } from '../../platform/sweep.js'
import { dayOf, RECORDS_KEPT } from './webhooks.js'

const DELETED_KEPT = 31 * DAY

/** Removes records of 14 days ago, also of what was never accepted, and the counts of those days. */
export async function purgeDeliveries(context: Context): Promise<void> {
  const before = context.now() - RECORDS_KEPT
  // By place in the table: an index over the time of all rows would be dearer than they are.
  await sweep(context, 'webhook_deliveries', 'created_at <= $1::bigint', before)
  await sweep(context, 'webhook_days', 'day <= $1::int', dayOf(before))
}

/** Removes webhooks that were deleted 31 days ago; their records have left before. */
export async function purgeWebhooks(context: Context): Promise<void> {
  const before = context.now() - DELETED_KEPT
  await sweep(context, 'webhooks', `status = 'deleted' AND deleted_at <= $1::bigint`, before)
}
