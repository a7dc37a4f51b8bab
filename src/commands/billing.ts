/**
 * `gatehouse billing`: shows and overrides the billing mode of an account, and resolves payments
 * (docs/contract.md#accounts).
 */
import type { Config } from '../config.js'
import type { BillingMode } from '../resources/accounts/account.js'
import { billingOf, setBillingModeOverride } from '../resources/accounts/billing.js'
import { paymentReferenceOf } from '../resources/payments/credits.js'
import { creditFoundPayment, rejectUnresolved } from '../resources/payments/manual-resolution.js'
import { exitCodes } from './command.js'
import { print, withDeployment } from './deployment.js'

/** `gatehouse billing show`. */
export async function show(config: Config, { json }: { json?: boolean }, accountId: string): Promise<void> {
  await withDeployment(config, async (context) => {
    const { account, mode, override, hasActivePaymentMethod, balanceMicroUsd, openTopups } = await billingOf(context, {
      accountId,
    })
    const payments = openTopups.map((attempt) => ({
      id: attempt.id,
      state: attempt.state,
      amount_micro_usd: Number(attempt.amountMicroUsd),
      payer: attempt.payer,
      payment_reference: paymentReferenceOf(attempt),
      reason: attempt.reason,
      created_at: Number(attempt.createdAt),
    }))
    if (json) {
      const facts = { billing_mode: mode, override, has_active_payment_method: hasActivePaymentMethod }
      print(JSON.stringify({ id: account.id, ...facts, balance_micro_usd: balanceMicroUsd, open_payments: payments }))
      return
    }
    const modeReason = override
      ? 'set by an operator'
      : `${hasActivePaymentMethod ? 'has an' : 'has no'} active payment method`
    print(`account       ${account.id}${account.name ? `  ${account.name}` : ''}`)
    print(`billing mode  ${mode} (${modeReason})`)
    print(`credit        ${balanceMicroUsd} micro-USD`)
    for (const { id, state, amount_micro_usd: amount, payer, payment_reference: reference, reason } of payments) {
      print(`payment       ${id}  ${state}  ${amount} micro-USD of ${payer}  ${reference ?? '-'}  ${reason ?? '-'}`)
    }
  })
}

/** `gatehouse billing credit`. Exit code 1 when the payment cannot be credited. */
export async function credit(
  config: Config,
  { transaction, json }: { transaction: string; json?: boolean },
  paymentId: string,
): Promise<number> {
  return withDeployment(config, async (context) => {
    const attempt = await creditFoundPayment(context, paymentId, transaction)
    const { id, state, accountId, amountMicroUsd, entryId, reason } = attempt
    const reference = paymentReferenceOf(attempt)
    if (json) {
      const facts = { id, account_id: accountId, state, reason, payment_reference: reference, ledger_entry_id: entryId }
      print(JSON.stringify({ ...facts, amount_micro_usd: Number(amountMicroUsd) }))
    } else if (state === 'credited') print(`Credited ${amountMicroUsd} micro-USD to ${accountId} for ${reference}.`)
    else
      print(
        `${id} was settled by ${reference} but cannot be credited (${reason}): refund the payer outside of Gatehouse.`,
      )
    return state === 'credited' ? exitCodes.done : exitCodes.failed
  })
}

/** `gatehouse billing reject`. */
export async function reject(config: Config, { json }: { json?: boolean }, paymentId: string): Promise<void> {
  await withDeployment(config, async (context) => {
    const { id, accountId, state, reason } = await rejectUnresolved(context, paymentId)
    print(
      json
        ? JSON.stringify({ id, account_id: accountId, state, reason })
        : `Rejected ${id}; ${accountId} can pay again.`,
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
  await withDeployment(config, async (context) => {
    await setBillingModeOverride(context, { accountId }, mode === 'none' ? null : (mode as BillingMode))
    const { mode: currentMode } = await billingOf(context, { accountId })
    print(
      json
        ? JSON.stringify({ id: accountId, billing_mode: currentMode })
        : `The billing mode of ${accountId} is now ${currentMode}.`,
    )
  })
}
