import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { runInBatches } from '../../platform/jobs/batch-delete.js'
import { sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'

interface ExpiredSession {
  id: string
  accountId: string
  issuerId: string
  userId: string
  clientId: string
  orgId: string | null
}

const expireText = `
  UPDATE sessions SET status = 'expired', updated_at = $1::bigint WHERE id IN (
    SELECT id FROM sessions WHERE expires_at <= $1::bigint AND status NOT IN ('revoked', 'expired')
    ORDER BY expires_at LIMIT ${limits.sessionExpiryBatchSize} FOR UPDATE SKIP LOCKED)
  RETURNING id, account_id AS "accountId", issuer_id AS "issuerId", user_id AS "userId", client_id AS "clientId",
    org_id AS "orgId"`

/**
 * Stores the status `expired` of sessions after their absolute lifetime, and records an event for each session. Tokens
 * become invalid at the expiry itself, not when this job runs, because each use checks the expiry. Periodic job;
 * concurrent runs are safe.
 */
export async function expireSessions(context: Context): Promise<void> {
  await runInBatches(context, limits.sessionExpiryBatchSize, () => expireBatch(context))
}

function expireBatch(context: Context): Promise<number> {
  return transaction(context, async (tx) => {
    const rows = await sql<ExpiredSession>(tx.db, expireText, tx.now())
    for (const { id, ...ids } of rows) {
      await recordEvent(tx, 'session.expired', { ...ids, sessionId: id, target: { type: 'session', id } })
    }
    return rows.length
  })
}
