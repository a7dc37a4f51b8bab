/** `gatehouse billing`: how an account is billed, and the operator's word over it (spec 2.2). */
import type { Config } from '../config.js'
import { type BillingMode, billingOf, overrideBilling } from '../resources/accounts/billing.js'
import { creditFound, rejectUnresolved } from '../resources/payments/concluding.js'
import { referenceOf } from '../resources/payments/credits.js'
import { exitCodes } from './command.js'
import { inDeployment, say } from './deployment.js'

/** `gatehouse billing show`. */
export async function show(config: Config, { json }: { json?: boolean }, accountId: string): Promise<void> {
  await inDeployment(config, async (context) => {
    const { account, mode, override, hasActivePaymentMethod, balanceMicroUsd, open } = await billingOf(context, {
      accountId,
    })
    const payments = open.map((attempt) => ({
      id: attempt.id,
      state: attempt.state,
      amount_micro_usd: Number(attempt.amountMicroUsd),
      payer: attempt.payer,
      payment_reference: referenceOf(attempt),
      reason: attempt.reason,
      created_at: Number(attempt.createdAt),
    }))
    if (json) {
      const facts = { billing_mode: mode, override, has_active_payment_method: hasActivePaymentMethod }
      say(JSON.stringify({ id: account.id, ...facts, balance_micro_usd: balanceMicroUsd, open_payments: payments }))
      return
    }
    const because = override
      ? 'set by an operator'
      : `${hasActivePaymentMethod ? 'has an' : 'has no'} active payment method`
    say(`account       ${account.id}${account.name ? `  ${account.name}` : ''}`)
    say(`billing mode  ${mode} (${because})`)
    say(`credit        ${balanceMicroUsd} micro-USD`)
    for (const { id, state, amount_micro_usd: amount, payer, payment_reference: reference, reason } of payments) {
      say(`payment       ${id}  ${state}  ${amount} micro-USD of ${payer}  ${reference ?? '-'}  ${reason ?? '-'}`)
    }
  })
}

/** `gatehouse billing credit`. Exit code 1 when the payment cannot be credited, as the text says. */
export async function credit(
  config: Config,
  { transaction, json }: { transaction: string; json?: boolean },
  paymentId: string,
): Promise<number> {
  return inDeployment(config, async (context) => {
    const attempt = await creditFound(context, paymentId, transaction)
    const { id, state, accountId, amountMicroUsd, entryId, reason } = attempt
    const reference = referenceOf(attempt)
    if (json) {
      const facts = { id, account_id: accountId, state, reason, payment_reference: reference, ledger_entry_id: entryId }
      say(JSON.stringify({ ...facts, amount_micro_usd: Number(amountMicroUsd) }))
    } else if (state === 'credited') say(`${amountMicroUsd} micro-USD are credited to ${accountId} for ${reference}.`)
    else say(`${id} is settled by ${reference} and cannot be credited (${reason}): pay it back outside.`)
    return state === 'credited' ? exitCodes.done : exitCodes.failed
  })
}

/** `gatehouse billing reject`. */
export async function reject(config: Config, { json }: { json?: boolean }, paymentId: string): Promise<void> {
  await inDeployment(config, async (context) => {
    const { id, accountId, state, reason } = await rejectUnresolved(context, paymentId)
    say(
      json
        ? JSON.stringify({ id, account_id: accountId, state, reason })
        : `${id} is refused; ${accountId} may pay again.`,
    )
  })
}

/** `gatehouse billing override`. */
export async function override(
  config: Config,
  { json }: { json?: boolean },
  accountId: string,
  mode: string,
): Promise<void> {
  await inDeployment(config, async (context) => {
    await overrideBilling(context, { accountId }, mode === 'none' ? null : (mode as BillingMode))
    const { mode: now } = await billingOf(context, { accountId })
    say(json ? JSON.stringify({ id: accountId, billing_mode: now }) : `${accountId} is ${now} from now on.`)
  })
}
