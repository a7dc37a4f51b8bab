import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { runInBatches } from '../../platform/jobs/batch-delete.js'
import { sql } from '../../platform/postgres/database.js'
import { waitingWebhooksCte } from './delivery-queues.js'

const deletedWebhooksText = `${waitingWebhooksCte}
  SELECT w.id FROM waiting JOIN webhooks w ON w.id = waiting.webhook_id AND w.status = 'deleted'`

const cancelText = `
  UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL, last_error = 'The webhook was deleted.',
    updated_at = $2::bigint
  WHERE id IN (SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND next_attempt_at IS NOT NULL
    ORDER BY next_attempt_at LIMIT ${limits.webhookCancellationBatchSize})
  RETURNING id`

/**
 * Cancels the pending deliveries of deleted webhooks in batches (docs/contract.md#webhook-delivery-rules).
 * `deleteWebhook` does not cancel them itself, because a concurrent transaction can still commit an event with a
 * delivery after the deletion. Periodic job.
 */
export async function cancelDeliveriesOfDeletedWebhooks(context: Context): Promise<void> {
  for (const { id } of await sql<{ id: string }>(context.db, deletedWebhooksText)) {
    await runInBatches(
      context,
      limits.webhookCancellationBatchSize,
      async () => (await sql(context.db, cancelText, id, context.now())).length,
    )
  }
}
