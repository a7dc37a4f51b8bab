/**
 * Audit log (docs/contract.md#audit-events): writes each event in the transaction of the change that it records, so
 * that the event and the change commit together. Events contain no secret, hash, token or code
 * (docs/contract.md#event-records).
 */
import { newRow } from '../../kernel/ids.js'
import type { Context, PreCommitStatement } from '../../platform/context.js'
import { notifyChange } from '../../platform/postgres/notifications.js'
import type { EventType } from './event-catalog.js'
import { allowedEventChanges, allowedEventData, type Changes, jsonText } from './event-fields.js'

export interface EventInput {
  accountId: string
  issuerId?: string | null
  orgId?: string | null
  userId?: string | null
  clientId?: string | null
  agentId?: string | null
  sessionId?: string | null
  /** The resource that the event is about; `type` is a key of `restFragments`, such as `user`. */
  target: { type: string; id: string }
  /** Values by API field name or by a name of `eventDataFields`; other names are dropped. */
  data?: Record<string, unknown>
  changes?: Changes
}

/**
 * Inserts events, and one delivery per event and subscribed webhook of the account
 * (docs/contract.md#webhook-delivery-rules). SQL builds the id of a delivery from the beginning of the event id, which
 * contains its timestamp, and a hash of the event id and the webhook id.
 */
const insertText = `
  WITH new_events AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS t(id text, type text, created_at bigint, account_id text,
      issuer_id text, org_id text, user_id text, client_id text, agent_id text, session_id text, auth_type text,
      actor jsonb, target jsonb, context jsonb, data jsonb, changes jsonb)
  ), inserted AS (
    INSERT INTO events (id, type, created_at, account_id, issuer_id, org_id, user_id, client_id, agent_id, session_id,
      auth_type, actor, target, context, data, changes)
    SELECT id, type, created_at, account_id, issuer_id, org_id, user_id, client_id, agent_id, session_id,
      auth_type, actor, target, context, data, changes
    FROM new_events
  )
  INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event_at, event_type, status, next_attempt_at,
    created_at, updated_at)
  SELECT 'dlv_' || substr(t.id, 5, 14) || substr(md5(t.id || w.id), 1, 12), t.account_id, w.id, t.id, t.created_at,
    t.type, 'pending', t.created_at, t.created_at, t.created_at
  FROM new_events t CROSS JOIN LATERAL (
    SELECT id FROM webhooks WHERE account_id = t.account_id AND status IN ('active', 'failing')
      AND (event_types = '{}' OR t.type = ANY (event_types))
    -- OFFSET 0 keeps the lookup a subquery that uses the index per event, even if the plan was made for few webhooks.
    OFFSET 0
  ) w
  RETURNING account_id`

/** A row of the table `events` as JSON. */
interface EventRow {
  id: string
  account_id: string
  [column: string]: unknown
}

/**
 * Records an event. Call it inside the transaction of the change. One statement right before COMMIT inserts all events
 * of the transaction. After COMMIT, event streams and the webhook delivery workers are notified.
 */
export const recordEvent = (context: Context, type: EventType, input: EventInput): Promise<void> =>
  context.beforeCommit(insertEvents, newEventRow(context, type, input))

function newEventRow(context: Context, type: EventType, input: EventInput): EventRow {
  const { accountId, issuerId, orgId, userId, clientId, agentId, sessionId, target, data, changes } = input
  const { id, createdAt } = newRow('evt', context.now())
  const { eventActor, eventContext } = eventOrigin(context, accountId)
  return {
    id,
    type,
    created_at: createdAt,
    account_id: accountId,
    issuer_id: issuerId,
    org_id: orgId,
    user_id: userId,
    client_id: clientId,
    agent_id: agentId,
    session_id: sessionId,
    auth_type: context.actor.authType,
    actor: eventActor,
    target,
    context: eventContext,
    data: allowedEventData(target.type, type, data ?? {}),
    changes: allowedEventChanges(target.type, changes ?? {}),
  }
}

const accountIdsOf = (rows: readonly { account_id: string }[]) => new Set(rows.map(({ account_id }) => account_id))

const insertEvents: PreCommitStatement<EventRow> = {
  name: 'record-events',
  text: insertText,
  values: (events) => [jsonText(events)],
  onCommitted(tools, events, deliveries) {
    for (const id of accountIdsOf(events)) notifyChange(tools, 'event', id)
    for (const id of accountIdsOf(deliveries as { account_id: string }[])) notifyChange(tools, 'webhook', id)
  },
}

/**
 * Returns the JSON columns `actor` and `context` of an event (docs/contract.md#event-records). `operator: true` marks
 * an operator who acts on an account other than the system account; the actor `system` is never marked.
 * @param accountId the account of the event
 */
export function eventOrigin({ actor, request }: Context, accountId: string) {
  const { type, id, name } = actor
  const operator = actor.operator && type !== 'system' && actor.accountId !== accountId
  return {
    eventActor: { type, id, name, ...(operator && { operator }) },
    eventContext: {
      ip_address: request.ip,
      user_agent: request.userAgent,
      request_id: request.id,
      method: request.method,
      path: request.path,
    },
  }
}
