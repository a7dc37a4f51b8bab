/** Purges delivery records and deleted webhooks after their retention (docs/contract.md#limits). */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { deleteInBatches } from '../../platform/jobs/batch-delete.js'
import { dayOf } from './webhooks.js'

/** Deletes delivery records and daily counts that are older than `webhookDeliveryRetention`, whatever the status. */
export async function purgeDeliveries(context: Context): Promise<void> {
  const before = context.now() - limits.webhookDeliveryRetention
  // Each batch scans the table, because an index on `created_at` of all deliveries would cost more than the scans.
  await deleteInBatches(context, 'webhook_deliveries', 'created_at <= $1::bigint', before)
  await deleteInBatches(context, 'webhook_daily_counts', 'day <= $1::int', dayOf(before))
}

/**
 * Deletes webhooks `deletedWebhookRetention` after their soft delete. Their delivery records are already purged,
 * because the retention of delivery records is shorter.
 */
export async function purgeWebhooks(context: Context): Promise<void> {
  const before = context.now() - limits.deletedWebhookRetention
  await deleteInBatches(context, 'webhooks', `status = 'deleted' AND deleted_at <= $1::bigint`, before)
}
