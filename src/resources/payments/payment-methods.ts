/**
 * Payment methods of an account (spec 2.16, 4.2, section 3, decisions D28): at most one is active, a removed one stays
 * in the list. While there is an active one the account is gated (spec 2.2).
 */
import { z } from 'zod'
import { badRequest, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { isDuplicate, type PaymentMethod, Prisma, sql, transaction } from '../../platform/database.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { type Changes, changesBetween } from '../events/names.js'
import { type InAccount, newestFirst, older, requireAccount } from '../place.js'

/** Payments under way when a method is disabled are still credited for this long (spec section 8, milliseconds). */
const GRACE = 15 * SECOND

/** Micro-USD of one top-up (decisions D18). */
export const amountRule = z
  .int('must be a whole number of micro-USD.')
  .min(1, 'must be at least 1.')
  .max(1_000_000_000_000, 'must be at most 1000000000000.')

const wallet = z
  .string('must be the address of a wallet.')
  .regex(/^(0x[0-9a-fA-F]{40}|(?!0x)[A-Za-z0-9:_-]{16,128})$/, 'must be the address of a wallet.')

const wallets = z
  .array(wallet, 'must be an array of addresses or null.')
  .max(100, 'must have at most 100 entries.')
  .nullable()

const createRules = z.strictObject({
  type: z.literal('x402', 'must be x402.'),
  label: rules.name.nullable().optional(),
  allowedPayerWallets: wallets.optional(),
  autoTopupIncrementMicroUsd: amountRule.nullable().optional(),
})

const updateRules = z.strictObject({
  label: rules.name.nullable().optional(),
  enabled: rules.boolean.optional(),
  allowedPayerWallets: wallets.optional(),
  autoTopupIncrementMicroUsd: amountRule.nullable().optional(),
})

export interface MethodPlace extends InAccount {
  methodId: string
}

/** Newest first, removed ones too. @throws not_found */
export async function listPaymentMethods(
  context: Context,
  place: InAccount,
  request: PageRequest,
): Promise<Page<PaymentMethod>> {
  const { accountId } = place
  const limit = limitOf(request)
  const rows = await context.db.paymentMethod.findMany({
    where: { accountId, ...older('pm', request.cursor) },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireAccount(context, place)
  return pageOf(rows, limit)
}

/** @throws invalid_request, also when there is an active one, not_found */
export async function createPaymentMethod(context: Context, place: InAccount, input: unknown): Promise<PaymentMethod> {
  const { type, label, ...values } = check(createRules, input)
  await requireAccount(context, place)
  return oneActive(() =>
    transaction(context, async (inside) => {
      const data = { ...columns(values), accountId: place.accountId, type, label: label ?? null, status: 'active' }
      const method = await inside.db.paymentMethod.create({ data: { ...newRow('pm', inside.now()), ...data } })
      await told(inside, 'payment_method.created', method)
      return method
    }),
  )
}

/** @throws invalid_request, also when another one is active, not_found for removed ones too */
export async function updatePaymentMethod(
  context: Context,
  place: MethodPlace,
  input: unknown,
): Promise<PaymentMethod> {
  const { enabled, label, ...values } = check(updateRules, input)
  return oneActive(() =>
    transaction(context, async (inside) => {
      const before = await lockMethod(inside, place)
      const now = inside.now()
      const switched = enabled !== undefined && enabled !== isActive(before)
      const method = await inside.db.paymentMethod.update({
        where: { id: before.id },
        data: {
          ...columns(values),
          ...(label !== undefined && { label }),
          ...(switched && { status: enabled ? 'active' : 'disabled', disabledAt: enabled ? null : now }),
          updatedAt: now,
        },
      })
      await told(
        inside,
        'payment_method.updated',
        method,
        changesBetween('payment_method', spoken(before), spoken(method)),
      )
      return method
    }),
  )
}

/** For good, without a grace; kept in the list. @throws not_found, also when removed before */
export async function removePaymentMethod(context: Context, place: MethodPlace): Promise<void> {
  await transaction(context, async (inside) => {
    const { id } = await lockMethod(inside, place)
    const now = inside.now()
    const data = { status: 'removed', disabledAt: now, updatedAt: now }
    await told(inside, 'payment_method.deleted', await inside.db.paymentMethod.update({ where: { id }, data }))
  })
}

/** The one that top-ups are paid with. */
export const activeMethod = (context: Context, { accountId }: InAccount): Promise<PaymentMethod | null> =>
  context.db.paymentMethod.findFirst({ where: { accountId, type: 'x402', status: 'active' } })

export const isActive = ({ status }: PaymentMethod): boolean => status === 'active'

export const walletsOf = ({ allowedPayerWallets }: PaymentMethod): string[] | null =>
  allowedPayerWallets as string[] | null

/** Addresses of eip155 chains are numbers, whatever the case of their digits; others are as they are. */
export const sameAddress = (network: string, one: string, other: string): boolean =>
  network.startsWith('eip155:') ? one.toLowerCase() === other.toLowerCase() : one === other

/** May this wallet pay with the method? */
export const mayPay = (method: PaymentMethod, network: string, payer: string): boolean =>
  walletsOf(method)?.some((address) => sameAddress(network, address, payer)) ?? true

/**
 * May a payment that was begun with this method still be credited? While it is active, and for the grace after it was
 * disabled; never once it is removed. The row stays as it is until the transaction ends.
 */
export async function takesPayments(
  context: Context,
  { accountId, methodId }: MethodPlace,
): Promise<PaymentMethod | null> {
  await sql(context.db, 'SELECT id FROM payment_methods WHERE id = $1 FOR SHARE', methodId)
  const method = await context.db.paymentMethod.findFirst({ where: { id: methodId, accountId } })
  if (!method || isActive(method)) return method
  const inGrace = method.status === 'disabled' && context.now() <= Number(method.disabledAt ?? 0) + GRACE
  return inGrace ? method : null
}

/** Is the account with the id $1 gated (spec 2.2)? One row, `gated`; none when there is no such account. */
export const isGatedText = `
  SELECT coalesce(a.billing_mode_override, CASE WHEN EXISTS (
    SELECT FROM payment_methods m WHERE m.account_id = a.id AND m.status = 'active'
  ) THEN 'gated' ELSE 'ungated' END) = 'gated' AS gated
  FROM accounts a WHERE a.id = $1`

/** Which of these accounts have an active payment method, for DataLoader. */
export async function haveActiveMethod(context: Context, accountIds: readonly string[]): Promise<boolean[]> {
  const where = { accountId: { in: [...accountIds] }, status: 'active' }
  const rows = await context.db.paymentMethod.findMany({ where, select: { accountId: true } })
  const found = new Set(rows.map(({ accountId }) => accountId))
  return accountIds.map((id) => found.has(id))
}

interface Values {
  allowedPayerWallets?: string[] | null
  autoTopupIncrementMicroUsd?: number | null
}

const columns = ({ allowedPayerWallets: given, autoTopupIncrementMicroUsd: increment }: Values) => ({
  ...(given !== undefined && { allowedPayerWallets: given === null ? Prisma.DbNull : [...new Set(given)] }),
  ...(increment !== undefined && { autoTopupMicroUsd: increment }),
})

/** Locked until the transaction ends. @throws not_found */
async function lockMethod(context: Context, { accountId, methodId }: MethodPlace): Promise<PaymentMethod> {
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

/** A constraint holds the limit under parallel requests (security rule 5). */
async function oneActive<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw badRequest('This account has an active x402 payment method already; disable or remove that one first.')
  }
}

/** A row as the contract speaks of it. */
const spoken = (method: PaymentMethod) => ({
  label: method.label,
  enabled: isActive(method),
  status: method.status,
  allowedPayerWallets: method.allowedPayerWallets,
  autoTopupIncrementMicroUsd: method.autoTopupMicroUsd,
})

async function told(context: Context, type: EventType, method: PaymentMethod, changes: Changes = {}): Promise<void> {
  const { accountId, id, type: kind, label } = method
  const target = { type: 'payment_method', id }
  await emit(context, type, { accountId, target, data: { type: kind, label }, changes })
}
