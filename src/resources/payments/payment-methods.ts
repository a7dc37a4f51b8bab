/**
 * Payment methods of an account (docs/contract.md#account-ledger-and-payment-method-fields). At most one is active;
 * removed ones stay in the list. Unless an operator overrides the billing mode, an account is gated while it has an
 * active payment method (docs/contract.md#accounts).
 */
import { badRequest, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { checkPageLimit, type Page, type PageRequest, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type PaymentMethod, Prisma, sql } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { transaction } from '../../platform/postgres/transaction.js'
import type { EventType } from '../events/event-catalog.js'
import { type Changes, changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { hasValues } from '../optimistic-lock.js'
import { type InAccount, newestFirst, requireAccount, whereOlderThanCursor } from '../resource-path.js'
import {
  createRules,
  type PaymentMethod as PaymentMethodFields,
  type PaymentMethodPath,
  updateRules,
} from './payment-method.js'

/** Lists payment methods, newest first, including removed ones. @throws not_found */
export async function listPaymentMethods(
  context: Context,
  path: InAccount,
  request: PageRequest,
): Promise<Page<PaymentMethod>> {
  const { accountId } = path
  const limit = checkPageLimit(request)
  const rows = await context.db.paymentMethod.findMany({
    where: { accountId, ...whereOlderThanCursor('pm', request.cursor) },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireAccount(context, path)
  return toPage(rows, limit)
}

/** @throws invalid_request for invalid input or if another payment method is active; not_found for the account */
export async function createPaymentMethod(context: Context, path: InAccount, input: unknown): Promise<PaymentMethod> {
  const values = checkInput(createRules, input)
  await requireAccount(context, path)
  return rejectSecondActiveMethod(() =>
    transaction(context, async (tx) => {
      const data = { ...newRow('pm', tx.now()), accountId: path.accountId, ...columnsOf(values), status: 'active' }
      const method = await tx.db.paymentMethod.create({ data })
      await recordPaymentMethodEvent(tx, 'payment_method.created', method)
      return method
    }),
  )
}

/**
 * @throws invalid_request for invalid input or if another payment method is active; not_found, also if it is removed
 */
export async function updatePaymentMethod(
  context: Context,
  path: PaymentMethodPath,
  input: unknown,
): Promise<PaymentMethod> {
  const { enabled, ...values } = checkInput(updateRules, input)
  return rejectSecondActiveMethod(() =>
    transaction(context, async (tx) => {
      const before = await lockMethod(tx, path)
      const now = tx.now()
      const isToggled = enabled !== undefined && enabled !== isActive(before)
      const changes = {
        ...columnsOf(values),
        ...(isToggled && { status: enabled ? 'active' : 'disabled', disabledAt: enabled ? null : now }),
      }
      if (hasValues(before, changes)) return before
      const data = { ...changes, updatedAt: now }
      const method = await tx.db.paymentMethod.update({ where: { id: before.id }, data })
      await recordPaymentMethodEvent(
        tx,
        'payment_method.updated',
        method,
        changesBetween('payment_method', contractFields(before), contractFields(method)),
      )
      return method
    }),
  )
}

/**
 * Removes a payment method permanently. Payments in progress have no grace period.
 * @throws not_found, also if the payment method is already removed
 */
export async function removePaymentMethod(context: Context, path: PaymentMethodPath): Promise<void> {
  await transaction(context, async (tx) => {
    const { id } = await lockMethod(tx, path)
    const now = tx.now()
    const data = { status: 'removed', disabledAt: now, updatedAt: now }
    await recordPaymentMethodEvent(
      tx,
      'payment_method.deleted',
      await tx.db.paymentMethod.update({ where: { id }, data }),
    )
  })
}

/** Returns the active payment method of an account, or null. */
export const findActiveMethod = (context: Context, { accountId }: InAccount): Promise<PaymentMethod | null> =>
  context.db.paymentMethod.findFirst({ where: { accountId, type: 'x402', status: 'active' } })

export const isActive = ({ status }: PaymentMethod): boolean => status === 'active'

export const allowedWalletsOf = ({ allowedPayerWallets }: PaymentMethod): string[] | null =>
  allowedPayerWallets as string[] | null

/** Compares wallet addresses. Addresses of EIP-155 networks are case-insensitive; others are case-sensitive. */
export const sameAddress = (network: string, one: string, other: string): boolean =>
  network.startsWith('eip155:') ? one.toLowerCase() === other.toLowerCase() : one === other

/** Returns whether a wallet may pay with a payment method. */
export const mayPay = (method: PaymentMethod, network: string, payer: string): boolean =>
  allowedWalletsOf(method)?.some((address) => sameAddress(network, address, payer)) ?? true

/**
 * Returns the payment method if a payment in progress may still be credited: while the payment method is active, and
 * during the grace period after it was disabled. Otherwise returns null. Locks the row, so that the status does not
 * change before the transaction ends.
 */
export async function findPayableMethod(
  context: Context,
  { accountId, methodId }: PaymentMethodPath,
): Promise<PaymentMethod | null> {
  await sql(context.db, 'SELECT id FROM payment_methods WHERE id = $1 FOR SHARE', methodId)
  const method = await context.db.paymentMethod.findFirst({ where: { id: methodId, accountId } })
  if (!method || isActive(method)) return method
  const inGrace =
    method.status === 'disabled' &&
    context.now() <= Number(method.disabledAt ?? 0) + limits.disabledPaymentMethodGracePeriod
  return inGrace ? method : null
}

/**
 * SQL: selects one row that says whether the account $1 is gated (docs/contract.md#accounts), or no row for an unknown
 * account.
 */
export const isGatedText = `
  SELECT coalesce(a.billing_mode_override, CASE WHEN EXISTS (
    SELECT FROM payment_methods m WHERE m.account_id = a.id AND m.status = 'active'
  ) THEN 'gated' ELSE 'ungated' END) = 'gated' AS gated
  FROM accounts a WHERE a.id = $1`

/** Returns for each account whether it has an active payment method. For a DataLoader. */
export async function activePaymentMethodFlagsOf(context: Context, accountIds: readonly string[]): Promise<boolean[]> {
  const where = { accountId: { in: [...accountIds] }, status: 'active' }
  const rows = await context.db.paymentMethod.findMany({ where, select: { accountId: true } })
  const found = new Set(rows.map(({ accountId }) => accountId))
  return accountIds.map((id) => found.has(id))
}

type WritableFields = Pick<PaymentMethodFields, 'allowedPayerWallets' | 'autoTopupIncrementMicroUsd'>

/** Replaces the fields whose columns have another name or type. */
const columnsOf = <T extends Partial<WritableFields>>({
  allowedPayerWallets: wallets,
  autoTopupIncrementMicroUsd: increment,
  ...columns
}: T) => ({
  ...columns,
  ...(wallets !== undefined && { allowedPayerWallets: wallets === null ? Prisma.DbNull : [...new Set(wallets)] }),
  ...(increment !== undefined && { autoTopupMicroUsd: increment }),
})

/** Reads a payment method and locks its row until the transaction ends. @throws not_found, also if it is removed */
async function lockMethod(context: Context, { accountId, methodId }: PaymentMethodPath): Promise<PaymentMethod> {
  await sql(
    context.db,
    'SELECT id FROM payment_methods WHERE id = $1 AND account_id = $2 FOR UPDATE',
    methodId,
    accountId,
  )
  const where = { id: methodId, accountId, status: { not: 'removed' } }
  const method = await context.db.paymentMethod.findFirst({ where })
  if (!method) throw notFound('payment method')
  return method
}

/**
 * Converts the error of the unique index that allows one active payment method per account, also under parallel
 * requests (docs/contract.md#limits-under-parallel-requests).
 */
async function rejectSecondActiveMethod<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw badRequest('This account already has an active x402 payment method. Disable or remove it first.')
  }
}

/** Returns the API fields of a payment method that an update can change. */
const contractFields = (method: PaymentMethod) => ({
  ...method,
  enabled: isActive(method),
  autoTopupIncrementMicroUsd: method.autoTopupMicroUsd,
})

async function recordPaymentMethodEvent(
  context: Context,
  type: EventType,
  method: PaymentMethod,
  changes: Changes = {},
): Promise<void> {
  const { accountId, id, type: kind, label } = method
  const target = { type: 'payment_method', id }
  await recordEvent(context, type, { accountId, target, data: { type: kind, label }, changes })
}
