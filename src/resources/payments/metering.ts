/**
 * Metered operations (docs/contract.md#account-ledger-and-payment-method-fields): the charge commits with the
 * operation.
 */
import { ApiError } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { addLedgerEntry, balanceOf, type NewLedgerEntry } from './credits.js'
import { isGatedText } from './payment-methods.js'

/**
 * Runs an operation and charges its price if it has one and the account is gated. Replays of an idempotency key never
 * reach this function.
 * @param operation name of the root field
 * @throws payment_required if the credit does not cover the price, and the errors of `work`; nothing is charged then
 */
export async function withMetering<T>(
  context: Context,
  operation: string,
  accountId: string | undefined,
  work: (context: Context) => Promise<T> | T,
): Promise<T> {
  const price = Object.hasOwn(context.prices, operation) ? context.prices[operation] : undefined
  if (!price || accountId === undefined) return work(context)
  const charge: NewLedgerEntry = { accountId, type: 'charge', amountMicroUsd: -price, description: operation }
  return transaction(context, async (tx) => {
    const [account] = await sql<{ gated: boolean }>(tx.db, isGatedText, accountId)
    if (!account?.gated) return work(tx)
    if ((await balanceOf(tx, charge)) < price) throw insufficientCreditError(charge)
    const result = await work(tx)
    // The charge comes last, because it locks the balance of the account and would serialize the work.
    if (!(await addLedgerEntry(tx, charge))) throw insufficientCreditError(charge)
    return result
  })
}

const insufficientCreditError = ({ accountId, amountMicroUsd, description }: NewLedgerEntry): ApiError =>
  new ApiError(
    'payment_required',
    `${description} costs ${-amountMicroUsd} micro-USD, and the prepaid credit of this account does not cover it. Top it up at /v1/accounts/${accountId}/credits/topups.`,
  )
