/** Purges delivery records and deleted webhooks after their retention (docs/contract.md#limits). */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { deleteInBatches } from '../../platform/jobs/batch-delete.js'
import { dayOf } from './webhooks.js'

/** Deletes delivery records older than the retention, whatever their status, and their daily counts. */
export async function purgeDeliveries(context: Context): Promise<void> {
  const before = context.now() - limits.webhookDeliveryRetention
  // Scans the table by ctid: an index on created_at for all rows would cost more than the scan.
  await deleteInBatches(context, 'webhook_deliveries', 'created_at <= $1::bigint', before)
  await deleteInBatches(context, 'webhook_daily_counts', 'day <= $1::int', dayOf(before))
}

/** Deletes webhooks `deletedWebhookRetention` after their soft delete. Their delivery records were purged before. */
export async function purgeWebhooks(context: Context): Promise<void> {
  const before = context.now() - limits.deletedWebhookRetention
  await deleteInBatches(context, 'webhooks', `status = 'deleted' AND deleted_at <= $1::bigint`, before)
}
