/** The approval desk (spec 4.11, section 3, decisions D28): users in pending_approval, and what is decided about them. */
import { z } from 'zod'
import { ApiError } from '../../kernel/errors.js'
import { check, fault, rules } from '../../kernel/input.js'
import { isObject } from '../../kernel/merge.js'
import type { Context } from '../../platform/context.js'
import { type Prisma, sql, transaction, type User } from '../../platform/database.js'
import { requireAuthorityOfUser } from '../authority.js'
import { emit } from '../events/events.js'
import { sendMessage } from '../messages/messages.js'
import type { InUser } from '../place.js'
import { emailOf } from './usernames.js'
import { aboutUser, getUser } from './users.js'

export const approvalActions = ['approve', 'reject'] as const
export type ApprovalAction = (typeof approvalActions)[number]

const PENDING = 'pending_approval'

/** Where each decision leads (spec section 3). */
const outcomes = {
  approve: { status: 'active', decision: 'approved', event: 'user.approval.approved' },
  reject: { status: 'blocked', decision: 'rejected', event: 'user.approval.rejected' },
} as const

const text = rules.text().nullable().optional()
const decisionRules = z
  .strictObject({
    action: z.enum(approvalActions, `must be one of ${approvalActions.join(', ')}.`),
    reason: text,
    note: text,
  })
  .superRefine(({ action, reason }, context) => {
    if (action === 'reject' && !reason?.trim()) {
      context.addIssue(fault(['reason'], 'required', 'is required when rejecting; the user will see it.'))
    }
  })

/** @throws not_found, 422 for a user who does not wait for approval */
export async function getApproval(context: Context, place: InUser): Promise<User> {
  const user = await getUser(context, place)
  if (user.status !== PENDING) throw notWaiting()
  return user
}

const notWaiting = () => new ApiError('invalid_request', 'This user does not wait for approval.', { status: 422 })

/**
 * Approves or rejects. Of several decisions at once the first one counts.
 * @throws invalid_request, insufficient_scope to approve a user whose authority the caller lacks, not_found, 422 for a user
 *   who does not wait (any more)
 */
export async function decideApproval(context: Context, place: InUser, input: unknown): Promise<User> {
  const { action, reason = null, note = null } = check(decisionRules, input)
  const { status, decision, event } = outcomes[action]
  const { accountId, issuerId, userId } = place
  return transaction(context, async (inside) => {
    await sql(inside.db, 'SELECT id FROM users WHERE id = $1 AND issuer_id = $2 FOR UPDATE', userId, issuerId)
    const waiting = await getApproval(inside, place)
    if (action === 'approve') await requireAuthorityOfUser(inside, waiting)
    const now = inside.now()
    const decidedBy = inside.actor.id
    // What the user may learn. The note is kept apart, where no answer but the desk's own shows it.
    const verdict = { status: decision, reason, decided_at: now, decided_by: decidedBy }
    const approval = { ...(isObject(waiting.approval) ? waiting.approval : {}), ...verdict }
    const [user] = await inside.db.user.updateManyAndReturn({
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
    if (!user) throw notWaiting()
    const changes = { status: { old: PENDING, new: status } }
    await emit(inside, event, { ...aboutUser(user), data: { reason }, changes })
    await emit(inside, 'user.status.changed', { ...aboutUser(user), changes })
    const issuer = await inside.db.issuer.findUniqueOrThrow({ where: { id: issuerId } })
    const to = emailOf(user)
    if (to !== null) await sendMessage(inside, issuer, { to, kind: decision, places: { reason: reason ?? '' } })
    return user
  })
}
