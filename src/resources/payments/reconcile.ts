/**
 * Sees to payments that nobody finished: a process died between settlement and credit, or the facilitator's answer got
 * lost (docs/decisions/0029). Asking again for the same payment cannot take money twice: the nonce that the payer signed
 * is good for one transfer. What it says then is believed when it is yes; a no says nothing about the first time.
 */
import { HOUR, SECOND } from '../../kernel/time.js'
import type { Task } from '../../platform/queue.js'
import { close, noteOutcome, RECONCILE, requestIn } from './attempts.js'
import { credit } from './crediting.js'
import { SETTLE_TIMEOUT, settle } from './facilitator.js'
import { takesPayments } from './payment-methods.js'

/** From ten seconds on, twice as long each time: the last try is made some three hours after the first. */
export const reconcileTopup: Task = {
  name: RECONCILE,
  attempts: 12,
  delay: (failed) => Math.min(HOUR, 5 * SECOND * 2 ** failed),
  lease: 2 * SETTLE_TIMEOUT,
  parallel: 4,

  async run(context, payload, { last }) {
    const { attemptId: id } = payload as { attemptId: string }
    const attempt = await context.db.topupAttempt.findUnique({ where: { id } })
    if (attempt?.state === 'settled') await credit(context, id)
    if (attempt?.state !== 'settling' && attempt?.state !== 'unknown') return 'done'

    const until = Number(attempt.settlingUntil)
    if (attempt.state === 'settling' && context.now() < until) return { postponeTo: until }
    // Nothing more is taken for a method that could not be credited.
    const isTaken = await takesPayments(context, attempt)
    const outcome = isTaken
      ? await settle(context, requestIn(context, attempt), attempt.payer)
      : ({ kind: 'unknown' } as const)
    if (outcome.kind === 'settled') {
      await noteOutcome(context, attempt, outcome)
      await credit(context, id)
      return 'done'
    }
    await noteOutcome(context, attempt, { kind: 'unknown' })
    if (isTaken && !last) return 'failed'
    const about = { account: attempt.accountId, attempt: id, payer: attempt.payer }
    if (await close(context, id, 'unresolved', 'outcome_unknown')) {
      context.log.error(
        about,
        'it could not be found out whether a payment was settled; look for it on the chain, then: gatehouse billing credit or reject',
      )
    }
    return 'done'
  },
}
