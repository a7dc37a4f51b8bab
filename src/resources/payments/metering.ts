/** Metered operations (decisions D28): the charge and what it is for commit together, or neither does. */
import { ApiError } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { sql, transaction } from '../../platform/database.js'
import { addEntry, balanceOf, type NewEntry } from './credits.js'
import { isGatedText } from './payment-methods.js'

/**
 * Runs an operation, for its price if it has one and its account is gated. A replayed POST never comes here.
 * @param operation the name of the root field
 * @throws payment_required when the credit does not cover the price, and whatever `work` throws; then nothing is charged
 */
export async function metered<T>(
  context: Context,
  operation: string,
  accountId: string | undefined,
  work: (context: Context) => Promise<T> | T,
): Promise<T> {
  const price = Object.hasOwn(context.prices, operation) ? context.prices[operation] : undefined
  if (!price || accountId === undefined) return work(context)
  const needs: NewEntry = { accountId, type: 'charge', amountMicroUsd: -price, description: operation }
  return transaction(context, async (inside) => {
    const [account] = await sql<{ gated: boolean }>(inside.db, isGatedText, accountId)
    if (!account?.gated) return work(inside)
    if ((await balanceOf(inside, needs)) < price) throw tooLittle(needs)
    const done = await work(inside)
    // After the work: charges of one account wait for each other, and what they are for need not.
    if (!(await addEntry(inside, needs))) throw tooLittle(needs)
    return done
  })
}

const tooLittle = ({ accountId, amountMicroUsd, description }: NewEntry): ApiError =>
  new ApiError(
    'payment_required',
    `${description} costs ${-amountMicroUsd} micro-USD, and the prepaid credit of this account does not cover it; top it up at /v1/accounts/${accountId}/credits/topups.`,
  )
