/**
 * Manual resolution of payments with an unknown outcome, by an operator who has looked up the transaction on the
 * blockchain. It is safe if another operator or the reconciliation job (reconcile-topup.ts) resolves the payment
 * concurrently.
 */
import { conflict, invalidField, notFound } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { enqueue } from '../../platform/jobs/queue.js'
import { sql, type TopupAttempt } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { creditAttempt } from './credit-attempt.js'
import { paymentReferenceOf } from './credits.js'
import { parseTransactionId } from './facilitator.js'
import { closeAttempt, RECONCILE_TASK } from './topup-attempts.js'

const markSettledText = `
  UPDATE topup_attempts SET state = 'settled', transaction_id = $2, updated_at = $3::bigint
  WHERE id = $1 AND state IN ('unknown', 'unresolved') RETURNING id`

/**
 * Credits a payment whose transaction the operator found on the blockchain. The conditions are those of every payment
 * (docs/contract.md#payment-challenge): the payment method must still allow the payment, and the transaction must not
 * be credited yet. Idempotent.
 * @param transactionReference the transaction id, or the payment reference `<network>:<transaction>`
 * @returns the attempt in the state `credited`, or `conflict` with the reason
 * @throws not_found; invalid_request if the text is not a transaction id of the network; conflict if the payment is
 *   being settled, was refused or was settled by another transaction
 */
export async function creditFoundPayment(
  context: Context,
  id: string,
  transactionReference: string,
): Promise<TopupAttempt> {
  const { network } = await requireAttempt(context, id)
  const transactionId = parseTransactionId(
    transactionReference.startsWith(`${network}:`)
      ? transactionReference.slice(network.length + 1)
      : transactionReference,
    network,
  )
  if (!transactionId) throw invalidField('transaction', 'invalid_format', transactionFormatMessage(network))
  await transaction(context, async (tx) => {
    const [updated] = await sql(tx.db, markSettledText, id, transactionId, tx.now())
    // If this process stops before it credits the payment, the reconciliation job credits the payment.
    if (updated) await enqueue(tx, RECONCILE_TASK, [{ attemptId: id }], tx.now() + limits.topupReconciliationDelay)
  })
  const attempt = await requireAttempt(context, id)
  if (attempt.transactionId !== transactionId) throw conflict(attemptStateMessage(attempt))
  return creditAttempt(context, id)
}

/**
 * Closes a payment that was not settled, so that the account can pay again. This is possible only after reconciliation
 * has ended, because until then the facilitator may still report a settlement. Idempotent.
 * @returns the attempt in the state `refused`
 * @throws not_found; conflict if the outcome is known or reconciliation is in progress
 */
export async function rejectUnresolved(context: Context, id: string): Promise<TopupAttempt> {
  await requireAttempt(context, id)
  await closeAttempt(context, id, 'refused', REJECTED_BY_OPERATOR, ['unresolved'])
  const attempt = await requireAttempt(context, id)
  if (attempt.state !== 'refused' || attempt.reason !== REJECTED_BY_OPERATOR)
    throw conflict(attemptStateMessage(attempt))
  return attempt
}

const REJECTED_BY_OPERATOR = 'rejected_by_operator'

async function requireAttempt(context: Context, id: string): Promise<TopupAttempt> {
  const attempt = await context.db.topupAttempt.findUnique({ where: { id } })
  if (!attempt) throw notFound('payment')
  return attempt
}

function transactionFormatMessage(network: string): string {
  const format = network.startsWith('eip155:') ? '0x followed by 64 hexadecimal digits' : '16 to 128 letters and digits'
  return `must be a transaction id on ${network} (${format}), optionally with the prefix "${network}:".`
}

/** Returns an error message for the state of a payment. */
function attemptStateMessage(attempt: TopupAttempt): string {
  const { id, state, reason } = attempt
  const reference = paymentReferenceOf(attempt)
  const texts: Record<string, string> = {
    settling: 'is being settled',
    unknown:
      'is still being checked with the facilitator, for up to about three hours; wait, or credit it if it is on the chain',
    settled: `was settled by ${reference} and will be credited`,
    credited: `was credited with ${reference}`,
    conflict: `was settled by ${reference} and cannot be credited (${reason}); refund it outside this system`,
    refused: `was refused (${reason}); nothing was paid`,
    unresolved: 'has an unknown outcome',
  }
  return `Payment ${id} ${texts[state] ?? `is ${state}`}.`
}
