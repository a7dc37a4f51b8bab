import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/database.js'
import { inPortions } from '../../platform/sweep.js'
import { withWaiting } from './lanes.js'

const PORTION = 2000

const goneText = `${withWaiting}
  SELECT w.id FROM waiting JOIN webhooks w ON w.id = waiting.webhook_id AND w.status = 'deleted'`

const cancelText = `
  UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL, last_error = 'The webhook was deleted.',
    updated_at = $2::bigint
  WHERE id IN (SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND next_attempt_at IS NOT NULL
    ORDER BY next_attempt_at LIMIT ${PORTION})
  RETURNING id`

/**
 * What waits for webhooks that were deleted is cancelled, in portions: there may be much of it (spec 6.2 rule 5). Not by
 * the deletion: an event whose transaction is still open then brings its delivery afterwards.
 */
export async function cancelDeliveries(context: Context): Promise<void> {
  for (const { id } of await sql<{ id: string }>(context.db, goneText)) {
    await inPortions(context, PORTION, async () => (await sql(context.db, cancelText, id, context.now())).length)
  }
}
