/** What waits for a webhook that was deleted is cancelled, in portions: there may be much of it (spec 6.2 rule 5). */
import { MINUTE, SECOND } from '../../kernel/time.js'
import { sql } from '../../platform/database.js'
import type { Task } from '../../platform/queue.js'
import { inPortions } from '../../platform/sweep.js'

export const CANCEL = 'cancel_deliveries'
const PORTION = 2000

const cancelText = `
  UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL, last_error = 'The webhook was deleted.',
    updated_at = $2::bigint
  WHERE id IN (SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND next_attempt_at IS NOT NULL
    ORDER BY next_attempt_at LIMIT ${PORTION})
  RETURNING id`

export const cancelDeliveries: Task = {
  name: CANCEL,
  attempts: 20,
  delay: () => 30 * SECOND,
  lease: 10 * MINUTE,
  parallel: 2,

  async run(context, payload) {
    const { webhookId } = payload as { webhookId: string }
    await inPortions(context, PORTION, async () => {
      return (await sql(context.db, cancelText, webhookId, context.now())).length
    })
    return 'done'
  },
}
