/**
 * Webhook payload (docs/contract.md#webhook-payload-and-signature): the event record in an envelope. All attempts of a
 * delivery send the same bytes, unless the personal values of the event were erased between two attempts
 * (docs/contract.md#erasure).
 */
import { limits } from '../../kernel/limits.js'
import type { Event } from '../../platform/postgres/database.js'

type EventRow = Omit<Event, 'createdAt'> & { createdAt: number | bigint }

/** Returns an event as `/v1` represents it. */
export function toEventRecord(event: EventRow): Record<string, unknown> {
  const createdAt = Number(event.createdAt)
  return {
    id: event.id,
    type: event.type,
    created_at: createdAt,
    updated_at: createdAt,
    account_id: event.accountId,
    issuer_id: event.issuerId,
    org_id: event.orgId,
    user_id: event.userId,
    client_id: event.clientId,
    agent_id: event.agentId,
    session_id: event.sessionId,
    auth_type: event.authType,
    actor: { operator: false, ...(event.actor as object) },
    target: event.target,
    context: event.context,
    data: event.data,
    changes: event.changes,
  }
}

/**
 * Serializes the payload of an event record. If the payload exceeds `maxWebhookPayloadBytes`, `data` and `changes` are
 * empty and the record contains `truncated: true`.
 */
export function deliveryBody(record: Record<string, unknown>): string {
  const { id, type, created_at: createdAt } = record
  const envelope = (data: unknown) =>
    JSON.stringify({ id, type, timestamp: new Date(Number(createdAt)).toISOString(), data })
  const fullBody = envelope(record)
  if (fullBody.length <= limits.maxWebhookPayloadBytes && Buffer.byteLength(fullBody) <= limits.maxWebhookPayloadBytes)
    return fullBody
  return envelope({ ...record, data: {}, changes: {}, truncated: true })
}
