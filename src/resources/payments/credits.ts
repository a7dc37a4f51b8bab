/**
 * Prepaid credit of accounts and its ledger (spec 2.16, 4.2, decisions D28). The balance is a row of its own: its lock
 * brings the entries of an account into one order, and its check keeps it from falling below zero.
 */
import { newRow } from '../../kernel/ids.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type LedgerEntry, sql } from '../../platform/database.js'
import { type InAccount, newestFirst, older, requireAccount } from '../place.js'

export interface NewEntry extends InAccount {
  type: 'topup' | 'charge' | 'refund' | 'adjustment'
  /** Signed. */
  amountMicroUsd: number
  description: string | null
  network?: string
  transactionId?: string
}

/** Entries of one account rise in time, also when two processes write them and their clocks differ. */
const moveText = `
  UPDATE credits SET balance_micro_usd = balance_micro_usd + $2::bigint, entry_at = greatest($3::bigint, entry_at + 1)
  WHERE account_id = $1 AND balance_micro_usd + $2::bigint >= 0
  RETURNING balance_micro_usd AS balance, entry_at AS at`
const openText = `
  INSERT INTO credits (account_id, balance_micro_usd, entry_at) VALUES ($1, 0, 0) ON CONFLICT (account_id) DO NOTHING`

/**
 * Moves an account's credit and writes it down. Call it in the transaction of what it is for.
 * @returns undefined, and nothing is moved, when the balance would fall below zero
 */
export async function addEntry(context: Context, entry: NewEntry): Promise<LedgerEntry | undefined> {
  const { accountId, amountMicroUsd } = entry
  if (amountMicroUsd > 0) await sql(context.db, openText, accountId)
  const values = [accountId, amountMicroUsd, context.now()]
  const [moved] = await sql<{ balance: bigint; at: bigint }>(context.db, moveText, ...values)
  if (!moved) return undefined
  const row = newRow('led', Number(moved.at))
  return context.db.ledgerEntry.create({ data: { ...row, ...entry, balanceMicroUsd: moved.balance } })
}

/** In micro-USD. */
export async function balanceOf(context: Context, { accountId }: InAccount): Promise<number> {
  const credit = await context.db.credit.findUnique({ where: { accountId } })
  return Number(credit?.balanceMicroUsd ?? 0)
}

/** Most recent first. @throws not_found */
export async function listLedger(context: Context, place: InAccount, request: PageRequest): Promise<Page<LedgerEntry>> {
  const { accountId } = place
  const limit = limitOf(request)
  const rows = await context.db.ledgerEntry.findMany({
    where: { accountId, ...older('led', request.cursor) },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireAccount(context, place)
  return pageOf(rows, limit)
}

/** How a payment is called towards its payer: `<network>:<transaction>`. */
export const referenceOf = (payment: { network: string | null; transactionId: string | null }): string | null =>
  payment.network && payment.transactionId ? `${payment.network}:${payment.transactionId}` : null
