/**
 * Events about refused token and authorization requests, at most one per minute for each client and reason. All clients
 * of an issuer with a metadata document count as one client (docs/contract.md#refused-requests).
 */
import { MINUTE } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sha256 } from '../../platform/crypto/secrets.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'

/** A refused request. */
export interface Denial {
  readonly type: 'token.denied' | 'authorization.denied'
  readonly accountId: string
  readonly issuerId: string
  /** `isUnread`: the request claims this client id, but the client may not exist. */
  readonly client: { readonly kind: 'client' | 'agent'; readonly id: string; readonly isUnread?: boolean }
  /** Requests with the same subject and reason share one event per minute. */
  readonly subject: string
  readonly reason: string
  readonly data: Readonly<Record<string, string | null | readonly string[]>>
}

/**
 * Returns a row if no process has recorded an event with this key in the last minute. RATE_LIMITS does not change this
 * limit.
 */
const claimMinuteText = `
  INSERT INTO rate_limits AS last (key, tokens, batch_size, updated_at) VALUES ($1, 0, 1, $2::bigint)
  ON CONFLICT (key) DO UPDATE SET updated_at = $2::bigint WHERE last.updated_at <= $2::bigint - ${MINUTE}
  RETURNING true AS first`

/** Returns true unless this function was called with the same key in the last minute, in any process. */
export async function isFirstInMinute(tx: Context, key: string): Promise<boolean> {
  const [first] = await tx.query<{ first: boolean }>('first-in-minute', claimMinuteText, [key, tx.now()])
  return first !== undefined
}

const clientExistsText = `SELECT true AS exists FROM clients WHERE issuer_id = $1 AND id = $2 AND status <> 'deleted'`

/**
 * Records the event, unless an event with the same subject and reason was recorded in the last minute, or there is no
 * such client.
 */
export async function recordDenial(context: Context, denial: Denial): Promise<void> {
  const { type, accountId, issuerId, client, subject, reason, data } = denial
  if (client.isUnread && (await context.query('denial-client', clientExistsText, [issuerId, client.id])).length === 0)
    return
  await transaction(context, async (tx) => {
    if (!(await isFirstInMinute(tx, `denied:${sha256(`${subject} ${reason}`)}`))) return
    const id = client.kind === 'agent' ? { agentId: client.id } : { clientId: client.id }
    await recordEvent(tx, type, { accountId, issuerId, ...id, target: { type: client.kind, id: client.id }, data })
  })
}
