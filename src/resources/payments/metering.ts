/**
 * Charges accounts for metered operations (docs/contract.md#account-ledger-and-payment-method-fields). The charge and
 * the operation commit together.
 */
import { ApiError } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { addLedgerEntry, balanceOf, type NewLedgerEntry } from './credits.js'
import { isGatedText } from './payment-methods.js'

/**
 * Runs an operation, and charges its price if the operation has a price and the account is gated. Requests that are
 * replayed because of their idempotency key never reach this function.
 * @param operation name of the GraphQL root field
 * @throws payment_required if the credit does not cover the price, and the errors of `work`; in both cases nothing is
 *   charged
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
    // The charge comes last, because it locks the balance of the account. If it came first, the operations of an
    // account could not run concurrently.
    if (!(await addLedgerEntry(tx, charge))) throw insufficientCreditError(charge)
    return result
  })
}

const insufficientCreditError = ({ accountId, amountMicroUsd, description }: NewLedgerEntry): ApiError =>
  new ApiError(
    'payment_required',
    `${description} costs ${-amountMicroUsd} micro-USD, which the prepaid credit of this account does not cover. Top up the credit at /v1/accounts/${accountId}/credits/topups.`,
  )
