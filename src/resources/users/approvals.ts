/** Approval of users in `pending_approval` (docs/contract.md#approval-endpoints). */
import { ApiError } from '../../kernel/errors.js'
import { checkInput } from '../../kernel/input.js'
import { isObject } from '../../kernel/merge-patch.js'
import type { Context } from '../../platform/context.js'
import { type Prisma, sql, type User } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireAuthorityOfUser } from '../authority.js'
import { recordEvent } from '../events/record-event.js'
import { sendMessage } from '../messages/messages.js'
import type { InUser } from '../resource-path.js'
import { decisionRules } from './approval.js'
import { emailOf } from './usernames.js'
import { getUser, userEventSubject } from './users.js'

const PENDING = 'pending_approval'

/** The result of each action (docs/contract.md#states-and-transitions). */
const outcomes = {
  approve: { status: 'active', decision: 'approved', event: 'user.approval.approved' },
  reject: { status: 'blocked', decision: 'rejected', event: 'user.approval.rejected' },
} as const

/** Returns a user who is pending approval. @throws not_found, 422 for a user with another status */
export async function getApproval(context: Context, path: InUser): Promise<User> {
  const user = await getUser(context, path)
  if (user.status !== PENDING) throw notPendingError()
  return user
}

const notPendingError = () => new ApiError('invalid_request', 'This user is not pending approval.', { status: 422 })

/**
 * Approves or rejects a user. Of several concurrent decisions only the first one succeeds.
 * @throws invalid_request, insufficient_scope for approving a user whose authority the caller lacks, not_found, 422 for
 *   a user who is not pending approval
 */
export async function decideApproval(context: Context, path: InUser, input: unknown): Promise<User> {
  const { action, reason = null, note = null } = checkInput(decisionRules, input)
  const { status, decision, event } = outcomes[action]
  const { accountId, issuerId, userId } = path
  return transaction(context, async (tx) => {
    await sql(tx.db, 'SELECT id FROM users WHERE id = $1 AND issuer_id = $2 FOR UPDATE', userId, issuerId)
    const pendingUser = await getApproval(tx, path)
    if (action === 'approve') await requireAuthorityOfUser(tx, pendingUser)
    const now = tx.now()
    const decidedBy = tx.actor.id
    // The user may see the values in the column `approval`. The internal note is in the column `approval_note`, which
    // only the approval endpoints return.
    const decisionRecord = { status: decision, reason, decided_at: now, decided_by: decidedBy }
    const approval = { ...(isObject(pendingUser.approval) ? pendingUser.approval : {}), ...decisionRecord }
    const [user] = await tx.db.user.updateManyAndReturn({
      where: { id: userId, accountId, issuerId, status: PENDING },
      data: {
        status,
        statusAt: now,
        statusBy: decidedBy,
        statusReason: reason,
        approval: approval as Prisma.InputJsonObject,
        approvalNote: note,
        updatedAt: now,
      },
    })
    if (!user) throw notPendingError()
    const changes = { status: { old: PENDING, new: status } }
    await recordEvent(tx, event, { ...userEventSubject(user), data: { reason }, changes })
    await recordEvent(tx, 'user.status.changed', { ...userEventSubject(user), changes })
    const issuer = await tx.db.issuer.findUniqueOrThrow({ where: { id: issuerId } })
    const to = emailOf(user)
    if (to !== null) await sendMessage(tx, issuer, { to, kind: decision, placeholders: { reason: reason ?? '' } })
    return user
  })
}
