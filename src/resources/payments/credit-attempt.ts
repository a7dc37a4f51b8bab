/**
 * Credits settled payments exactly once (docs/contract.md#payment-challenge). The request of the top-up, the
 * reconciliation job and the commands of an operator can do this concurrently.
 */
import type { Context } from '../../platform/context.js'
import { type LedgerEntry, sql, type TopupAttempt } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'
import { addLedgerEntry, paymentReferenceOf } from './credits.js'
import { findPayableMethod, mayPay } from './payment-methods.js'
import { recordTopupFailure } from './topup-attempts.js'

/**
 * Credits a settled payment in one transaction, after checking again that the payment method and its allowed wallets
 * permit the payment. If they do not, or if the transaction was credited before, the attempt ends in the state
 * `conflict`, which may need a manual refund. Does nothing for an attempt in another state than `settled`.
 * @returns the attempt in its current state
 */
export async function creditAttempt(context: Context, id: string): Promise<TopupAttempt> {
  try {
    return await creditOnce(context, id)
  } catch (error) {
    // Another attempt credited the same blockchain transaction concurrently. The second run sees the ledger entry of
    // that attempt.
    if (!isDuplicate(error)) throw error
    return creditOnce(context, id)
  }
}

const markCreditedText = `
  UPDATE topup_attempts SET state = 'credited', request = NULL, updated_at = $2::bigint
  WHERE id = $1 AND state = 'settled' RETURNING id`

const creditOnce = (context: Context, id: string): Promise<TopupAttempt> =>
  transaction(context, async (tx) => {
    const [updated] = await sql(tx.db, markCreditedText, id, tx.now())
    const attempt = await tx.db.topupAttempt.findUniqueOrThrow({ where: { id } })
    if (!updated) return attempt
    const reason = await creditRefusalReason(tx, attempt)
    if (reason) {
      await recordTopupFailure(tx, { ...attempt, reason })
      return tx.db.topupAttempt.update({ where: { id }, data: { state: 'conflict', reason } })
    }
    const { accountId, network, transactionId, payer } = attempt
    const entry = await addLedgerEntry(tx, {
      accountId,
      type: 'topup',
      amountMicroUsd: Number(attempt.amountMicroUsd),
      description: null,
      network,
      transactionId: transactionId ?? '',
    })
    if (!entry) throw new Error(`Top-up ${id} could not be credited: the balance was not updated.`)
    await recordEvent(tx, 'credits.topup.succeeded', {
      accountId,
      target: { type: 'ledger_entry', id: entry.id },
      data: { ...eventAmounts(entry), payer, payment_reference: paymentReferenceOf(attempt) },
    })
    return tx.db.topupAttempt.update({ where: { id }, data: { entryId: entry.id } })
  })

const eventAmounts = ({ amountMicroUsd, balanceMicroUsd }: LedgerEntry) => ({
  amount_μusd: Number(amountMicroUsd),
  balance_μusd: Number(balanceMicroUsd),
})

/** Returns the code of the reason why a settled payment cannot be credited, or null. */
async function creditRefusalReason(context: Context, attempt: TopupAttempt): Promise<string | null> {
  const { network, transactionId, payer } = attempt
  const method = await findPayableMethod(context, attempt)
  if (!method) return 'payment_method_revoked'
  if (payer === null || !mayPay(method, network, payer)) return 'payer_not_allowed'
  const credited = await context.db.ledgerEntry.findFirst({ where: { network, transactionId }, select: { id: true } })
  return credited ? 'transaction_credited_before' : null
}
