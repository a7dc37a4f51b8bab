/**
 * Events for refused token and authorization requests, limited per client and reason
 * (docs/contract.md#refused-requests).
 */
import { MINUTE } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sha256 } from '../../platform/crypto/secrets.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'

export interface Denial {
  readonly type: 'token.denied' | 'authorization.denied'
  readonly accountId: string
  readonly issuerId: string
  readonly client: { readonly kind: 'client' | 'agent'; readonly id: string }
  /** Requests with the same subject and reason share one event per minute. */
  readonly subject: string
  readonly reason: string
  readonly data: Record<string, string | null>
}

/** Claims one event per key and minute across all processes. Independent of RATE_LIMITS. */
const claimMinuteText = `
  INSERT INTO rate_limits AS last (key, tokens, batch_size, updated_at) VALUES ($1, 0, 1, $2::bigint)
  ON CONFLICT (key) DO UPDATE SET updated_at = $2::bigint WHERE last.updated_at <= $2::bigint - ${MINUTE}
  RETURNING true AS first`

/** Records the event, unless any process recorded one with the same subject and reason in the last minute. */
export async function recordDenial(context: Context, denial: Denial): Promise<void> {
  const { type, accountId, issuerId, client, subject, reason, data } = denial
  await transaction(context, async (tx) => {
    const key = `denied:${sha256(`${subject} ${reason}`)}`
    const [first] = await tx.query<{ first: boolean }>('denial-first', claimMinuteText, [key, context.now()])
    if (!first) return
    const id = client.kind === 'agent' ? { agentId: client.id } : { clientId: client.id }
    await recordEvent(tx, type, { accountId, issuerId, ...id, target: { type: client.kind, id: client.id }, data })
  })
}
