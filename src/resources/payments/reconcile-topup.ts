/**
 * Finishes top-ups that were interrupted: the process died between settlement and credit, or the facilitator's response
 * was lost (docs/decisions/0029). Settling again cannot charge twice, because the signed nonce is valid for one
 * transfer. Only a success response is conclusive; a failure says nothing about the first request.
 */
import { limits } from '../../kernel/limits.js'
import { isLeaseFree } from '../../platform/jobs/lease.js'
import type { Task } from '../../platform/jobs/queue.js'
import { creditAttempt } from './credit-attempt.js'
import { settlePayment } from './facilitator.js'
import { findPayableMethod } from './payment-methods.js'
import { closeAttempt, decryptRequest, RECONCILE_TASK, recordOutcome } from './topup-attempts.js'

/** Retries from ten seconds on with a doubling delay; the last attempt is about three hours after the first. */
export const reconcileTopup: Task = {
  name: RECONCILE_TASK,
  maxAttempts: limits.maxTopupReconciliationAttempts,
  retryDelay: (failed) => Math.min(limits.maxTopupReconciliationDelay, limits.topupReconciliationDelay * 2 ** failed),
  leaseDuration: 2 * limits.facilitatorSettleTimeout,
  concurrency: limits.maxConcurrentTopupReconciliations,

  async run(context, payload, { isLast }) {
    const { attemptId: id } = payload as { attemptId: string }
    const attempt = await context.db.topupAttempt.findUnique({ where: { id } })
    if (attempt?.state === 'settled') await creditAttempt(context, id)
    if (attempt?.state !== 'settling' && attempt?.state !== 'unknown') return 'done'

    const until = Number(attempt.settlementLeaseExpiresAt)
    if (attempt.state === 'settling' && !isLeaseFree(until, context.now())) return { postponeUntil: until }
    // If the payment method no longer allows a credit, do not settle again.
    const payableMethod = await findPayableMethod(context, attempt)
    const outcome = payableMethod
      ? await settlePayment(context, decryptRequest(context, attempt), attempt.payer)
      : ({ kind: 'unknown' } as const)
    if (outcome.kind === 'settled') {
      await recordOutcome(context, attempt, outcome)
      await creditAttempt(context, id)
      return 'done'
    }
    await recordOutcome(context, attempt, { kind: 'unknown' })
    if (payableMethod && !isLast) return 'failed'
    const logFields = { account: attempt.accountId, attempt: id, payer: attempt.payer }
    if (await closeAttempt(context, id, 'unresolved', 'outcome_unknown')) {
      context.log.error(
        logFields,
        'the outcome of a payment is unknown; look it up on the chain, then run gatehouse billing credit or gatehouse billing reject',
      )
    }
    return 'done'
  },
}
