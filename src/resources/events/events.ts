/**
 * The audit trail (spec 6.1): `emit` writes an event with the transaction of the change that it tells of, so that
 * neither stands without the other. Nothing secret comes in: no hash, token or code (decisions D3).
 */
import { newId } from '../../kernel/ids.js'
import { snake } from '../../kernel/names.js'
import type { Context } from '../../platform/context.js'
import type { Prisma } from '../../platform/database.js'
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

/** Writes one event. Call it inside the transaction of the change. */
export async function emit(context: Context, type: EventType, happening: Happening): Promise<void> {
  const { actor, request } = context
  const now = context.now()
  await context.db.event.create({
    data: {
      id: newId('evt', now),
      type,
      createdAt: now,
      accountId: happening.accountId,
      issuerId: happening.issuerId ?? null,
      orgId: happening.orgId ?? null,
      userId: happening.userId ?? null,
      clientId: happening.clientId ?? null,
      agentId: happening.agentId ?? null,
      sessionId: happening.sessionId ?? null,
      authType: actor.authType,
      actor: {
        type: actor.type,
        id: actor.id,
        name: actor.name,
        ...(actor.operator && actor.accountId !== happening.accountId ? { operator: true } : {}),
      },
      target: happening.target,
      context: {
        ip_address: request.ip,
        user_agent: request.userAgent,
        request_id: request.id,
        method: request.method,
        path: request.path,
      },
      data: jsonOf(happening.data ?? {}) as Prisma.InputJsonObject,
      changes: jsonOf(happening.changes ?? {}) as Prisma.InputJsonObject,
    },
    select: { id: true },
  })
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
function jsonOf(value: unknown): unknown {
  if (value === undefined) return null
  return JSON.parse(JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part)))
}
