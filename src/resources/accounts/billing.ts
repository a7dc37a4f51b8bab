/**
 * Billing of an account, for `gatehouse billing` (docs/contract.md#accounts). The API cannot change the override of the
 * billing mode.
 */
import type { Context } from '../../platform/context.js'
import type { Account, Prisma, TopupAttempt } from '../../platform/postgres/database.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import { balanceOf } from '../payments/credits.js'
import { openTopups } from '../payments/topup-attempts.js'
import type { InAccount } from '../resource-path.js'
import type { BillingMode } from './account.js'
import { billingMode, getAccount } from './accounts.js'

export interface Billing {
  account: Account
  /** The effective billing mode. */
  mode: BillingMode
  /** The billing mode that an operator has set; null for none. */
  override: string | null
  hasActivePaymentMethod: boolean
  /** The prepaid credit, in millionths of a US dollar. */
  balanceMicroUsd: number
  /** Top-up attempts that are neither credited nor refused. */
  openTopups: TopupAttempt[]
}

/** Returns the billing of an account. @throws not_found */
export async function billingOf(context: Context, path: InAccount): Promise<Billing> {
  const account = await getAccount(context, path)
  return {
    account,
    mode: await billingMode(context, account),
    override: account.billingModeOverride,
    hasActivePaymentMethod: account.paymentMethods!.length > 0,
    balanceMicroUsd: await balanceOf(context, path),
    openTopups: await openTopups(context, path),
  }
}

/**
 * Sets or removes the override of the billing mode of an account, and records an event.
 * @param mode null removes the override
 * @throws not_found
 */
export async function setBillingModeOverride(
  context: Context,
  path: InAccount,
  mode: BillingMode | null,
): Promise<void> {
  const where = { id: path.accountId }
  // The API returns the effective billing mode and not the override, so the event contains the effective mode.
  const contractFields = async (tx: Context, account: Account) => ({ billingMode: await billingMode(tx, account) })
  await updateWithOptimisticLock<Account, Prisma.AccountUncheckedUpdateManyInput>(context, {
    resourceName: 'account',
    table: 'accounts',
    ifMatch: undefined,
    read: (tx) => tx.db.account.findUnique({ where }),
    computeChanges: () => ({ billingModeOverride: mode }),
    write: async (tx, version, data) =>
      (await tx.db.account.updateManyAndReturn({ where: { ...where, updatedAt: version }, data }))[0],
    afterWrite: async (tx, before, row) =>
      recordEvent(tx, 'account.updated', {
        accountId: row.id,
        target: { type: 'account', id: row.id },
        changes: changesBetween('account', await contractFields(tx, before), await contractFields(tx, row)),
      }),
  })
}
