/**
 * What an administrator does to sessions (spec section 3, 4.10): revoke, suspend, reactivate. A session's row is asked
 * at each use of its tokens, so all of it counts at once.
 */
import { z } from 'zod'
import { badRequest } from '../../kernel/errors.js'
import { check, rules } from '../../kernel/input.js'
import type { Context } from '../../platform/context.js'
import { sql, transaction } from '../../platform/database.js'
import { requireAuthorityOfUser } from '../authority.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { getSession, lockSession, type SessionPlace, type StatedSession } from './reading.js'
import { endSessions, revocationReasons } from './sessions.js'

/** Spec 2.13. */
export const suspensionReasons = [
  'security_event',
  'token_compromised',
  'device_mismatch',
  'risk_review',
  'other',
] as const

const oneOf = <T extends string>(reasons: readonly T[]) => z.enum(reasons, `must be one of ${reasons.join(', ')}.`)
const reasonDetails = rules.text(1000).nullable().optional()

const revokeRules = z.strictObject({
  reason: oneOf(revocationReasons),
  reasonDetails,
  revokeAllUserSessions: rules.boolean.nullable().optional(),
})
const suspendRules = z.strictObject({
  reason: oneOf(suspensionReasons),
  reasonDetails,
  suspendAllUserSessions: rules.boolean.nullable().optional(),
})

/**
 * Ends a session, or every session of its user that has not ended. The browser's sign-in ends with it.
 * @throws invalid_request when it has ended already, not_found
 */
export async function revokeSession(context: Context, place: SessionPlace, input: unknown): Promise<StatedSession> {
  const { reason, reasonDetails: details = null, revokeAllUserSessions } = check(revokeRules, input)
  return transaction(context, async (inside) => {
    const session = await lockSession(inside, place)
    if (session.status === 'revoked' || session.status === 'expired') {
      throw badRequest(`This session has ended already; it is ${session.status}.`)
    }
    const which = revokeAllUserSessions ? { userId: session.userId } : { sessionId: session.id }
    await endSessions(inside, place, which, { reason, details, browserToo: true })
    return getSession(inside, place)
  })
}

const suspendText = `
  UPDATE sessions SET status = 'suspended', suspended_at = $4::bigint, suspension_reason = $5, reason_details = $6,
    updated_at = $4::bigint
  WHERE issuer_id = $1 AND user_id = $2 AND ($3::text IS NULL OR id = $3::text) AND status = 'active'
    AND expires_at > $4::bigint
  RETURNING id, user_id AS "userId", client_id AS "clientId", org_id AS "orgId"`

type Moved = Pick<StatedSession, 'id' | 'userId' | 'clientId' | 'orgId'>

/**
 * Suspends an active session. With `suspend_all_user_sessions` the user's others go with it, inactive ones too: a
 * refresh would wake them.
 * @throws invalid_request unless it is active, not_found
 */
export async function suspendSession(context: Context, place: SessionPlace, input: unknown): Promise<StatedSession> {
  const { reason, reasonDetails: details = null, suspendAllUserSessions } = check(suspendRules, input)
  return transaction(context, async (inside) => {
    const { status, userId, id } = await lockSession(inside, place)
    if (status !== 'active') throw badRequest(`Only an active session can be suspended; this one is ${status}.`)
    const values = [place.issuerId, userId, suspendAllUserSessions ? null : id, inside.now(), reason, details]
    const moved = await sql<Moved>(inside.db, suspendText, ...values)
    for (const session of moved) await told(inside, 'session.suspended', place, session, { reason })
    return getSession(inside, place)
  })
}

/**
 * Lets a suspended session go on: its tokens are good again unless they have expired.
 * @throws invalid_request unless it is suspended, insufficient_scope where the caller lacks the user's authority, not_found
 */
export async function reactivateSession(context: Context, place: SessionPlace): Promise<StatedSession> {
  return transaction(context, async (inside) => {
    const session = await lockSession(inside, place)
    if (session.status !== 'suspended') {
      throw badRequest(`Only a suspended session can be reactivated; this one is ${session.status}.`)
    }
    await requireAuthorityOfUser(inside, { id: session.userId, issuerId: place.issuerId })
    const cleared = { suspendedAt: null, suspensionReason: null, reasonDetails: null }
    const data = { status: 'active', ...cleared, updatedAt: inside.now() }
    await inside.db.session.updateMany({ where: { id: session.id, issuerId: place.issuerId }, data })
    await told(inside, 'session.reactivated', place, session, {})
    return getSession(inside, place)
  })
}

async function told(
  context: Context,
  type: EventType,
  { accountId, issuerId }: SessionPlace,
  { id, userId, clientId, orgId }: Moved,
  data: Record<string, unknown>,
): Promise<void> {
  const target = { type: 'session', id }
  await emit(context, type, { accountId, issuerId, userId, clientId, orgId, sessionId: id, target, data })
}
