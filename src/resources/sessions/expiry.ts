import type { Context } from '../../platform/context.js'
import { sql, transaction } from '../../platform/database.js'
import { inPortions } from '../../platform/sweep.js'
import { emit } from '../events/events.js'

/** Sessions told of by one transaction. */
const PORTION = 100

interface Expired {
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
    ORDER BY expires_at LIMIT ${PORTION} FOR UPDATE SKIP LOCKED)
  RETURNING id, account_id AS "accountId", issuer_id AS "issuerId", user_id AS "userId", client_id AS "clientId",
    org_id AS "orgId"`

/**
 * Tells of sessions whose absolute lifetime has passed. They are over by the clock already, with all their tokens; this
 * writes it down, with one event each. A periodic job; several at once share the work.
 */
export async function expireSessions(context: Context): Promise<void> {
  await inPortions(context, PORTION, () => expirePortion(context))
}

function expirePortion(context: Context): Promise<number> {
  return transaction(context, async (inside) => {
    const rows = await sql<Expired>(inside.db, expireText, inside.now())
    for (const { id, ...ids } of rows) {
      await emit(inside, 'session.expired', { ...ids, sessionId: id, target: { type: 'session', id } })
    }
    return rows.length
  })
}
