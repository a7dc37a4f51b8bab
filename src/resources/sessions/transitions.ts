/**
 * Revokes, suspends and reactivates sessions (docs/contract.md#states-and-transitions). A change takes effect
 * immediately, because each use of a token checks the row of its session.
 */
import { badRequest } from '../../kernel/errors.js'
import { checkInput } from '../../kernel/input.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireAuthorityOfUser } from '../authority.js'
import type { EventType } from '../events/event-catalog.js'
import { recordEvent } from '../events/record-event.js'
import { revokeRules, type SessionPath, suspendRules } from './session.js'
import { getSession, lockSession, type SessionWithCurrentStatus } from './session-queries.js'
import { endSessions } from './sessions.js'

/**
 * Ends a session, or with `revoke_all_user_sessions` all sessions of the user. Also ends the browser sessions.
 * @throws invalid_request if the session has ended already, not_found
 */
export async function revokeSession(
  context: Context,
  path: SessionPath,
  input: unknown,
): Promise<SessionWithCurrentStatus> {
  const { reason, reasonDetails: details = null, revokeAllUserSessions } = checkInput(revokeRules, input)
  return transaction(context, async (tx) => {
    const session = await lockSession(tx, path)
    if (session.status === 'revoked' || session.status === 'expired') {
      throw badRequest(`This session has already ended. Its status is ${session.status}.`)
    }
    const selector = revokeAllUserSessions ? { userId: session.userId } : { sessionId: session.id }
    await endSessions(tx, path, selector, { reason, details, endBrowserSession: true })
    return getSession(tx, path)
  })
}

const suspendText = `
  UPDATE sessions SET status = 'suspended', suspended_at = $4::bigint, suspension_reason = $5, reason_details = $6,
    updated_at = $4::bigint
  WHERE issuer_id = $1 AND user_id = $2 AND ($3::text IS NULL OR id = $3::text) AND status = 'active'
    AND expires_at > $4::bigint
  RETURNING id, user_id AS "userId", client_id AS "clientId", org_id AS "orgId"`

type SessionIds = Pick<SessionWithCurrentStatus, 'id' | 'userId' | 'clientId' | 'orgId'>

/**
 * Suspends an active session. With `suspend_all_user_sessions`, also suspends the other sessions of the user, including
 * inactive sessions, because a refresh would make them active again.
 * @throws invalid_request if the session is not active, not_found
 */
export async function suspendSession(
  context: Context,
  path: SessionPath,
  input: unknown,
): Promise<SessionWithCurrentStatus> {
  const { reason, reasonDetails: details = null, suspendAllUserSessions } = checkInput(suspendRules, input)
  return transaction(context, async (tx) => {
    const { status, userId, id } = await lockSession(tx, path)
    if (status !== 'active')
      throw badRequest(`Only an active session can be suspended. The status of this session is ${status}.`)
    const values = [path.issuerId, userId, suspendAllUserSessions ? null : id, tx.now(), reason, details]
    const suspended = await sql<SessionIds>(tx.db, suspendText, ...values)
    for (const session of suspended) await recordSessionEvent(tx, 'session.suspended', path, session, { reason })
    return getSession(tx, path)
  })
}

/**
 * Reactivates a suspended session. Its tokens are valid again unless they have expired or were revoked. If the idle
 * timeout has passed, the session is then inactive.
 * @throws invalid_request if the session is not suspended, insufficient_scope if the user has a platform scope that the
 *   caller lacks, not_found
 */
export async function reactivateSession(context: Context, path: SessionPath): Promise<SessionWithCurrentStatus> {
  return transaction(context, async (tx) => {
    const session = await lockSession(tx, path)
    if (session.status !== 'suspended') {
      throw badRequest(`Only a suspended session can be reactivated. The status of this session is ${session.status}.`)
    }
    await requireAuthorityOfUser(tx, { id: session.userId, issuerId: path.issuerId })
    const cleared = { suspendedAt: null, suspensionReason: null, reasonDetails: null }
    const data = { status: 'active', ...cleared, updatedAt: tx.now() }
    await tx.db.session.updateMany({ where: { id: session.id, issuerId: path.issuerId }, data })
    await recordSessionEvent(tx, 'session.reactivated', path, session, {})
    return getSession(tx, path)
  })
}

async function recordSessionEvent(
  context: Context,
  type: EventType,
  { accountId, issuerId }: SessionPath,
  { id, userId, clientId, orgId }: SessionIds,
  data: Record<string, unknown>,
): Promise<void> {
  const target = { type: 'session', id }
  await recordEvent(context, type, { accountId, issuerId, userId, clientId, orgId, sessionId: id, target, data })
}
