/** How an account is billed, as operators see and set it (spec 2.2): no request of the public API can. */
import type { Context } from '../../platform/context.js'
import type { Account, Prisma, TopupAttempt } from '../../platform/database.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { openTopups } from '../payments/attempts.js'
import { balanceOf } from '../payments/credits.js'
import type { InAccount } from '../place.js'
import { revise } from '../revise.js'
import { billingMode, getAccount } from './accounts.js'

export type BillingMode = 'gated' | 'ungated'

export interface Billing {
  account: Account
  mode: string
  /** What an operator has set; null: an active payment method makes it gated. */
  override: string | null
  hasActivePaymentMethod: boolean
  balanceMicroUsd: number
  /** Payments that are neither credited nor refused. */
  open: TopupAttempt[]
}

/** @throws not_found */
export async function billingOf(context: Context, place: InAccount): Promise<Billing> {
  const account = await getAccount(context, place)
  return {
    account,
    mode: await billingMode(context, account),
    override: account.billingModeOverride,
    hasActivePaymentMethod: account.paymentMethods!.length > 0,
    balanceMicroUsd: await balanceOf(context, place),
    open: await openTopups(context, place),
  }
}

/**
 * Sets the billing mode of an account, or with null lets its payment methods say it again; the trail tells of it.
 * @throws not_found
 */
export async function overrideBilling(context: Context, place: InAccount, mode: BillingMode | null): Promise<void> {
  const where = { id: place.accountId }
  // The contract has a name for the mode, not for what decides about it.
  const shown = async (now: Context, account: Account) => ({ billingMode: await billingMode(now, account) })
  await revise<Account, Prisma.AccountUncheckedUpdateManyInput>(context, {
    what: 'account',
    table: 'accounts',
    ifMatch: undefined,
    read: (now) => now.db.account.findUnique({ where }),
    change: () => ({ billingModeOverride: mode }),
    write: async (now, version, data) =>
      (await now.db.account.updateManyAndReturn({ where: { ...where, updatedAt: version }, data }))[0],
    also: async (inside, before, row) =>
      emit(inside, 'account.updated', {
        accountId: row.id,
        target: { type: 'account', id: row.id },
        changes: changesBetween('account', await shown(inside, before), await shown(inside, row)),
      }),
  })
}
