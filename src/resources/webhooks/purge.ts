/** Records of deliveries leave after 14 days, deleted webhooks after 31 (spec section 8). */
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/database.js'
import { dayOf, RECORDS_KEPT } from './webhooks.js'

const DELETED_KEPT = 31 * DAY
/** Rows per statement. */
const PORTION = 5000

/** By place in the table: an index over the time of all rows would be dearer than they are. */
const recordsText = `
  DELETE FROM webhook_deliveries WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM webhook_deliveries WHERE created_at <= $1::bigint LIMIT ${PORTION} FOR UPDATE SKIP LOCKED))
  RETURNING 1`
const webhooksText = `DELETE FROM webhooks WHERE status = 'deleted' AND deleted_at <= $1::bigint`

/** Removes records of 14 days ago, also of what was never accepted, and the counts of those days. */
export async function purgeDeliveries(context: Context): Promise<void> {
  const before = context.now() - RECORDS_KEPT
  for (let count = PORTION; count === PORTION; ) count = (await sql(context.db, recordsText, before)).length
  await context.db.webhookDay.deleteMany({ where: { day: { lte: dayOf(before) } } })
}

/** Removes webhooks that were deleted 31 days ago; their records have left before. */
export async function purgeWebhooks(context: Context): Promise<void> {
  await context.db.$executeRawUnsafe(webhooksText, context.now() - DELETED_KEPT)
}
