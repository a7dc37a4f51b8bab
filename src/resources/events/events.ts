/**
 * The audit trail (spec 6.1): `emit` writes an event with the transaction of the change that it tells of, so that
 * neither stands without the other. Nothing secret comes in: no hash, token or code (decisions D3).
 */
import { newRow } from '../../kernel/ids.js'
import type { Context, LastStatement } from '../../platform/context.js'
import { hint } from '../../platform/notify.js'
import type { EventType } from './catalogue.js'
import { type Changes, jsonText, namedChanges, namedData } from './names.js'

export interface Happening {
  accountId: string
  issuerId?: string | null
  orgId?: string | null
  userId?: string | null
  clientId?: string | null
  agentId?: string | null
  sessionId?: string | null
  /** What was changed: its kind (`user`, `client`, …) and id. */
  target: { type: string; id: string }
  /** By names of the contract, or facts of the catalogue; others are left out. */
  data?: Record<string, unknown>
  changes?: Changes
}

/**
 * Events, and with each a delivery for every webhook of its account that wants it (spec 6.2). The id of a delivery is the
 * moment of its event and something of both ids, so that it need not be made here for each webhook.
 */
const insertText = `
  WITH told AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS t(id text, type text, created_at bigint, account_id text,
      issuer_id text, org_id text, user_id text, client_id text, agent_id text, session_id text, auth_type text,
      actor jsonb, target jsonb, context jsonb, data jsonb, changes jsonb)
  ), kept AS (
    INSERT INTO events (id, type, created_at, account_id, issuer_id, org_id, user_id, client_id, agent_id, session_id,
      auth_type, actor, target, context, data, changes)
    SELECT id, type, created_at, account_id, issuer_id, org_id, user_id, client_id, agent_id, session_id,
      auth_type, actor, target, context, data, changes
    FROM told
  )
  INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event_at, event_type, status, next_attempt_at,
    created_at, updated_at)
  SELECT 'dlv_' || substr(t.id, 5, 14) || substr(md5(t.id || w.id), 1, 12), t.account_id, w.id, t.id, t.created_at,
    t.type, 'pending', t.created_at, t.created_at, t.created_at
  FROM told t CROSS JOIN LATERAL (
    SELECT id FROM webhooks WHERE account_id = t.account_id AND status IN ('active', 'failing')
      AND (event_types = '{}' OR t.type = ANY (event_types))
    -- So that each event looks along the index, however few webhooks there were when this was planned.
    OFFSET 0
  ) w
  RETURNING account_id`

/** A row of the table, as JSON takes it. */
interface Told {
  id: string
  account_id: string
  [column: string]: unknown
}

/**
 * Writes an event, and who is to be told of it, with the others of the transaction in progress and at its end. Call it
 * inside the transaction of the change: whoever waits for events, and who sends them, is told once that has committed.
 */
export const emit = (context: Context, type: EventType, happening: Happening): Promise<void> =>
  context.beforeCommit(written, toldOf(context, type, happening))

function toldOf(context: Context, type: EventType, happening: Happening): Told {
  const { accountId, issuerId, orgId, userId, clientId, agentId, sessionId, target, data, changes } = happening
  const { id, createdAt } = newRow('evt', context.now())
  const { teller, facts } = circumstances(context, accountId)
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
    actor: teller,
    target,
    context: facts,
    data: namedData(target.type, type, data ?? {}),
    changes: namedChanges(target.type, changes ?? {}),
  }
}

const accountsOf = (rows: readonly { account_id: string }[]) => new Set(rows.map(({ account_id }) => account_id))

const written: LastStatement<Told> = {
  name: 'emit',
  text: insertText,
  values: (told) => [jsonText(told)],
  committed(tools, told, deliveries) {
    for (const id of accountsOf(told)) hint(tools, 'event', id)
    for (const id of accountsOf(deliveries as { account_id: string }[])) hint(tools, 'webhook', id)
  },
}

/**
 * Who did it and by which request, as events of an account tell it (decisions D3). An operator is a principal of the
 * system account at somebody else's; Gatehouse itself is none.
 */
export function circumstances({ actor, request }: Context, accountId: string) {
  const { type, id, name } = actor
  const operator = actor.operator && type !== 'system' && actor.accountId !== accountId
  return {
    teller: { type, id, name, ...(operator && { operator }) },
    facts: {
      ip_address: request.ip,
      user_agent: request.userAgent,
      request_id: request.id,
      method: request.method,
      path: request.path,
    },
  }
}
