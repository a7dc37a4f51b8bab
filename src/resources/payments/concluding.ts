/**
 * The operator's word on a payment whose outcome nobody else could find out: somebody has looked on the chain. Either word
 * counts once, whoever else is at it: another operator, or the queue that still asks the facilitator (reconcile.ts).
 */
import { conflict, invalidField, notFound } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { sql, type TopupAttempt, transaction } from '../../platform/database.js'
import { enqueue } from '../../platform/queue.js'
import { close, FIRST_LOOK, RECONCILE } from './attempts.js'
import { credit } from './crediting.js'
import { referenceOf } from './credits.js'
import { transactionIn } from './facilitator.js'

const foundText = `
  UPDATE topup_attempts SET state = 'settled', transaction_id = $2, updated_at = $3::bigint
  WHERE id = $1 AND state IN ('unknown', 'unresolved') RETURNING id`

/**
 * Credits a payment that was found on the chain, on the terms of any other (decisions D18): the method must still take
 * it, and its transaction must not be credited yet. Saying the same twice is no error.
 * @param found the transaction, or the payment's reference `<network>:<transaction>`
 * @returns the attempt as it stands then: `credited`, or `conflict` with the reason
 * @throws not_found; invalid_request when this is no transaction of the payment's network; conflict when it is settled by
 *   another transaction, or the outcome is not unknown
 */
export async function creditFound(context: Context, id: string, found: string): Promise<TopupAttempt> {
  const { network } = await attemptOf(context, id)
  const transactionId = transactionIn(
    found.startsWith(`${network}:`) ? found.slice(network.length + 1) : found,
    network,
  )
  if (!transactionId) throw invalidField('transaction', 'invalid_format', wanted(network))
  await transaction(context, async (inside) => {
    const [taken] = await sql(inside.db, foundText, id, transactionId, inside.now())
    // If this process dies before the credit, the queue gives it.
    if (taken) await enqueue(inside, RECONCILE, [{ attemptId: id }], inside.now() + FIRST_LOOK)
  })
  const attempt = await attemptOf(context, id)
  if (attempt.transactionId !== transactionId) throw conflict(standing(attempt))
  return credit(context, id)
}

/**
 * Ends a payment that was never made, so that the account may pay again. Only when nobody asks the facilitator any more:
 * until then an answer may still bring the money.
 * @returns the attempt as it stands then; rejecting it twice is no error
 * @throws not_found; conflict when the outcome is known, or still being found out
 */
export async function rejectUnresolved(context: Context, id: string): Promise<TopupAttempt> {
  await attemptOf(context, id)
  await close(context, id, 'refused', REJECTED, ['unresolved'])
  const attempt = await attemptOf(context, id)
  if (attempt.state !== 'refused' || attempt.reason !== REJECTED) throw conflict(standing(attempt))
  return attempt
}

const REJECTED = 'rejected_by_operator'

async function attemptOf(context: Context, id: string): Promise<TopupAttempt> {
  const attempt = await context.db.topupAttempt.findUnique({ where: { id } })
  if (!attempt) throw notFound('payment')
  return attempt
}

function wanted(network: string): string {
  const form = network.startsWith('eip155:') ? '0x and 64 hexadecimal digits' : '16 to 128 letters and digits'
  return `must be a transaction of ${network}: ${form}, as explorers of that chain show it, alone or after "${network}:".`
}

/** Where a payment stands, for whom it stands in the way. */
function standing(attempt: TopupAttempt): string {
  const { id, state, reason } = attempt
  const reference = referenceOf(attempt)
  const texts: Record<string, string> = {
    settling: 'is being settled just now; a worker looks after it',
    unknown:
      'is still being asked for at the facilitator, for some three hours; credit it if it is on the chain, or wait',
    settled: `was settled by ${reference} and is about to be credited`,
    credited: `was credited for ${reference}`,
    conflict: `was settled by ${reference} and cannot be credited (${reason}); pay it back outside`,
    refused: `was refused (${reason}); nothing was paid`,
    unresolved: 'has no outcome',
  }
  return `Payment ${id} ${texts[state] ?? `is ${state}`}.`
}
