/**
 * The audit trail (spec 6.1): `emit` writes an event with the transaction of the change that it tells of, so that
 * neither stands without the other. Nothing secret comes in: no hash, token or code (decisions D3).
 */
import { newRow } from '../../kernel/ids.js'
import { snake } from '../../kernel/names.js'
import type { Context } from '../../platform/context.js'
import { hint } from '../../platform/notify.js'
import type { EventType } from './catalogue.js'

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
  data?: Record<string, unknown>
  changes?: Changes
}

export type Changes = Record<string, { old: unknown; new: unknown }>

/**
 * The event, and with it a delivery for each webhook of the account that wants it (spec 6.2). The id of a delivery is the
 * moment of its event and something of both ids, so that it need not be made here for each webhook.
 */
const insertText = `
  WITH told AS (
    INSERT INTO events (id, type, created_at, account_id, issuer_id, org_id, user_id, client_id, agent_id, session_id,
      auth_type, actor, target, context, data, changes)
    VALUES ($1::text, $2::text, $3::bigint, $4::text, $5, $6, $7, $8, $9, $10,
      $11, $12::jsonb, $13::jsonb, $14::jsonb, $15::jsonb, $16::jsonb))
  INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event_at, event_type, status, next_attempt_at,
    created_at, updated_at)
  SELECT 'dlv_' || substr($1::text, 5, 14) || substr(md5($1::text || w.id), 1, 12), $4::text, w.id, $1::text, $3::bigint,
    $2::text, 'pending', $3::bigint, $3::bigint, $3::bigint
  FROM webhooks w
  WHERE w.account_id = $4::text AND w.status IN ('active', 'failing')
    AND (w.event_types = '{}' OR $2::text = ANY (w.event_types))
  RETURNING 1`

/**
 * Writes one event, and who is to be told of it. Call it inside the transaction of the change: whoever waits for events,
 * and who sends them, is told once that has committed.
 */
export async function emit(context: Context, type: EventType, happening: Happening): Promise<void> {
  const { actor, tools } = context
  const { accountId, issuerId, orgId, userId, clientId, agentId, sessionId, target, data, changes } = happening
  const { id, createdAt } = newRow('evt', context.now())
  const { teller, facts } = circumstances(context, accountId)
  const ids = [accountId, issuerId, orgId, userId, clientId, agentId, sessionId].map((value) => value ?? null)
  const parts = [teller, target, facts, data ?? {}, changes ?? {}].map(jsonText)
  const values = [id, type, createdAt, ...ids, actor.authType, ...parts]
  const deliveries = await context.query('emit', insertText, values)
  context.afterCommit(() => {
    hint(tools, 'event', accountId)
    if (deliveries.length > 0) hint(tools, 'webhook', accountId)
  })
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

/** Columns that say nothing to a reader of the trail, or that no event may hold. */
const unspoken = new Set([
  'updatedAt',
  'createdAt',
  'secrets',
  'hash',
  'previousHashes',
  'sealed',
  'codeHashes',
  'usedStep',
  'usernameKey',
  'usernameHash',
])

/** What differs between two versions of a row, by field name as the REST contract writes it. */
export function changesBetween<Row extends object>(before: Row, after: Row): Changes {
  const changes: Changes = {}
  for (const [key, value] of Object.entries(after)) {
    const old = (before as Record<string, unknown>)[key]
    if (unspoken.has(key) || key.startsWith('_')) continue
    if (JSON.stringify(jsonOf(old)) === JSON.stringify(jsonOf(value))) continue
    changes[snake(key)] = { old: jsonOf(old), new: jsonOf(value) }
  }
  return changes
}

/** A value as JSON can hold it: milliseconds as numbers, undefined as null. */
const jsonOf = (value: unknown): unknown => (value === undefined ? null : JSON.parse(jsonText(value)))

const jsonText = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part))
