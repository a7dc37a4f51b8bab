/**
 * Finishes top-ups that were interrupted because the process crashed between settlement and credit, or because the
 * response of the facilitator was lost or not conclusive (docs/decisions/0029). Repeating a settlement cannot charge
 * the payer twice, because the signed nonce is valid for one transfer. Only a successful response is conclusive: a
 * failure of the repeated request does not say whether the first request was settled.
 */
import { limits } from '../../kernel/limits.js'
import { isLeaseFree } from '../../platform/jobs/lease.js'
import type { Task } from '../../platform/jobs/queue.js'
import { creditAttempt } from './credit-attempt.js'
import { settlePayment } from './facilitator.js'
import { findPayableMethod } from './payment-methods.js'
import { closeAttempt, decryptRequest, RECONCILE_TASK, recordOutcome } from './topup-attempts.js'

/**
 * The first retry is after ten seconds. The delay doubles with each retry, up to one hour. The last retry is about
 * three hours after the first run.
 */
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
