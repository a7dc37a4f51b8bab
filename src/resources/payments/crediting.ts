/** The credit for a settled payment: once, whoever comes first, this request or the queue (decisions D18). */
import type { Context } from '../../platform/context.js'
import { isDuplicate, type LedgerEntry, sql, type TopupAttempt, transaction } from '../../platform/database.js'
import { emit } from '../events/events.js'
import { tellFailure } from './attempts.js'
import { addEntry, referenceOf } from './credits.js'
import { mayPay, takesPayments } from './payment-methods.js'

/**
 * Credits a settled payment, in one transaction: once more, does the method take it, and may this wallet pay? If not,
 * the payment ends as a conflict that people have to solve.
 * @returns the attempt as it stands then; who comes second finds what the first one did
 */
export async function credit(context: Context, id: string): Promise<TopupAttempt> {
  try {
    return await once(context, id)
  } catch (error) {
    // Two payments that claim one transaction, at the same moment: now the first one's entry is there to be seen.
    if (!isDuplicate(error)) throw error
    return once(context, id)
  }
}

const takeText = `
  UPDATE topup_attempts SET state = 'credited', request = NULL, updated_at = $2::bigint
  WHERE id = $1 AND state = 'settled' RETURNING id`

const once = (context: Context, id: string): Promise<TopupAttempt> =>
  transaction(context, async (inside) => {
    const [taken] = await sql(inside.db, takeText, id, inside.now())
    const attempt = await inside.db.topupAttempt.findUniqueOrThrow({ where: { id } })
    if (!taken) return attempt
    const reason = await objectionTo(inside, attempt)
    if (reason) {
      await tellFailure(inside, { ...attempt, reason })
      return inside.db.topupAttempt.update({ where: { id }, data: { state: 'conflict', reason } })
    }
    const { accountId, network, transactionId, payer } = attempt
    const entry = await addEntry(inside, {
      accountId,
      type: 'topup',
      amountMicroUsd: Number(attempt.amountMicroUsd),
      description: null,
      network,
      transactionId: transactionId ?? '',
    })
    if (!entry) throw new Error('A credit cannot lower a balance.')
    await emit(inside, 'credits.topup.succeeded', {
      accountId,
      target: { type: 'ledger_entry', id: entry.id },
      data: { ...amountsOf(entry), payer, payment_reference: referenceOf(attempt) },
    })
    return inside.db.topupAttempt.update({ where: { id }, data: { entryId: entry.id } })
  })

const amountsOf = ({ amountMicroUsd, balanceMicroUsd }: LedgerEntry) => ({
  amount_μusd: Number(amountMicroUsd),
  balance_μusd: Number(balanceMicroUsd),
})

/** Why a settled payment cannot be credited, as a code. */
async function objectionTo(context: Context, attempt: TopupAttempt): Promise<string | null> {
  const { network, transactionId, payer } = attempt
  const method = await takesPayments(context, attempt)
  if (!method) return 'payment_method_revoked'
  if (payer === null || !mayPay(method, network, payer)) return 'payer_not_allowed'
  const credited = await context.db.ledgerEntry.findFirst({ where: { network, transactionId }, select: { id: true } })
  return credited ? 'transaction_credited_before' : null
}
