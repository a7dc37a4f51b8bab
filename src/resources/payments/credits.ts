/**
 * The prepaid credit of accounts and the ledger (docs/contract.md#account-ledger-and-payment-method-fields). The
 * balance of an account is a row of `credits`. The lock of this row serializes the ledger entries of the account.
 */
import { newRow } from '../../kernel/ids.js'
import { checkPageLimit, type Page, type PageRequest, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type LedgerEntry, sql } from '../../platform/postgres/database.js'
import { type InAccount, newestFirst, requireAccount, whereOlderThanCursor } from '../resource-path.js'
import type { LedgerEntryType } from './ledger-entry.js'

export interface NewLedgerEntry extends InAccount {
  type: LedgerEntryType
  /** The amount in micro-USD; negative for charges. */
  amountMicroUsd: number
  description: string | null
  network?: string
  transactionId?: string
}

/**
 * Makes the times of the ledger entries of an account increase strictly, even if the clocks of two processes differ.
 */
const updateBalanceText = `
  UPDATE credits SET balance_micro_usd = balance_micro_usd + $2::bigint, entry_at = greatest($3::bigint, entry_at + 1)
  WHERE account_id = $1 AND balance_micro_usd + $2::bigint >= 0
  RETURNING balance_micro_usd AS balance, entry_at AS at`
const createCreditText = `
  INSERT INTO credits (account_id, balance_micro_usd, entry_at) VALUES ($1, 0, 0) ON CONFLICT (account_id) DO NOTHING`

/**
 * Changes the balance of an account and adds a ledger entry. Call it in the transaction of the operation that is
 * charged or credited.
 * @returns the ledger entry; undefined if nothing was changed, because the balance would become negative
 */
export async function addLedgerEntry(context: Context, entry: NewLedgerEntry): Promise<LedgerEntry | undefined> {
  const { accountId, amountMicroUsd } = entry
  if (amountMicroUsd > 0) await sql(context.db, createCreditText, accountId)
  const values = [accountId, amountMicroUsd, context.now()]
  const [updated] = await sql<{ balance: bigint; at: bigint }>(context.db, updateBalanceText, ...values)
  if (!updated) return undefined
  const row = newRow('led', Number(updated.at))
  return context.db.ledgerEntry.create({ data: { ...row, ...entry, balanceMicroUsd: updated.balance } })
}

/** Returns the balance of an account in micro-USD; 0 for an account without ledger entries. */
export async function balanceOf(context: Context, { accountId }: InAccount): Promise<number> {
  const credit = await context.db.credit.findUnique({ where: { accountId } })
  return Number(credit?.balanceMicroUsd ?? 0)
}

/** Lists ledger entries, newest first. @throws not_found */
export async function listLedgerEntries(
  context: Context,
  path: InAccount,
  request: PageRequest,
): Promise<Page<LedgerEntry>> {
  const { accountId } = path
  const limit = checkPageLimit(request)
  const rows = await context.db.ledgerEntry.findMany({
    where: { accountId, ...whereOlderThanCursor('led', request.cursor) },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireAccount(context, path)
  return toPage(rows, limit)
}

/** Returns the payment reference, `<network>:<transaction>`; null if there is no transaction. */
export const paymentReferenceOf = (payment: { network: string | null; transactionId: string | null }): string | null =>
  payment.network && payment.transactionId ? `${payment.network}:${payment.transactionId}` : null
