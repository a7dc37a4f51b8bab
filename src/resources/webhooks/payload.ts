/**
 * The body of a delivery (decisions D4): the event record of D3 in an envelope, the same bytes at every attempt unless a
 * user is erased in between (D36).
 */
import type { Event } from '../../platform/database.js'

/** A body beyond this many bytes leaves out the parts that may be long; `GET A/events/{event_id}` has them. */
const TARGET = 20 * 1024

type EventRow = Omit<Event, 'createdAt'> & { createdAt: number | bigint }

/** The event as `/v1` shows it. */
export function recordOf(event: EventRow): Record<string, unknown> {
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

/** The body for a record. */
export function bodyOf(record: Record<string, unknown>): string {
  const { id, type, created_at: createdAt } = record
  const envelope = (data: unknown) =>
    JSON.stringify({ id, type, timestamp: new Date(Number(createdAt)).toISOString(), data })
  const whole = envelope(record)
  if (whole.length <= TARGET && Buffer.byteLength(whole) <= TARGET) return whole
  return envelope({ ...record, data: {}, changes: {}, truncated: true })
}
