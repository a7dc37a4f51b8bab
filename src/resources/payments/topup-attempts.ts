/**
 * Attempts to top up. The row of an attempt is committed before the facilitator is asked to settle the payment, and the
 * outcome is committed right after the response of the facilitator, so that another process can continue after a crash
 * at any point.
 *
 *     settling ─→ settled ─→ credited, or conflict if the payment cannot be credited (credit-attempt.ts)
 *        ├─→ unknown ─→ settled, or unresolved if the outcome cannot be determined (reconcile-topup.ts)
 *        └─→ refused: nothing was paid, and the same payment can be sent again
 *
 * An operator resolves `unresolved` attempts to `credited`, `conflict` or `refused`, and can also credit `unknown`
 * attempts (manual-resolution.ts).
 */
import { badRequest, conflict } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { leaseSql } from '../../platform/jobs/lease.js'
import { enqueue } from '../../platform/jobs/queue.js'
import { type PaymentMethod, sql, type TopupAttempt } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'
import type { InAccount } from '../resource-path.js'
import { paymentReferenceOf } from './credits.js'
import { type FacilitatorRequest, type SettlementOutcome } from './facilitator.js'
import { type Payment, type PaymentRequirements, paymentKeyOf } from './x402.js'

export const RECONCILE_TASK = 'reconcile_topup'

export interface NewTopupAttempt extends InAccount {
  method: PaymentMethod
  payment: Payment
  requirements: PaymentRequirements
  request: FacilitatorRequest
  payer: string
}

type PaymentIdentity = InAccount & Pick<NewTopupAttempt, 'payment' | 'requirements'>

/**
 * Finds an earlier attempt with the same payment that was not refused.
 * @throws conflict if the account used the payment identifier in the last 24 hours for another payment that was not
 *   refused
 */
export async function findAttempt(context: Context, identity: PaymentIdentity): Promise<TopupAttempt | null> {
  const { accountId, payment, requirements } = identity
  const notRefused = { state: { not: 'refused' } }
  const paymentKey = paymentKeyOf(payment, requirements)
  const found = await context.db.topupAttempt.findFirst({ where: { paymentKey, ...notRefused } })
  if (found || !payment.identifier) return found
  const since = { gt: context.now() - limits.paymentIdentifierRetention }
  const where = { accountId, identifier: payment.identifier, createdAt: since, ...notRefused }
  if (await context.db.topupAttempt.findFirst({ where, select: { id: true } })) {
    throw conflict('This payment identifier was already used for another payment. Use a new identifier.')
  }
  return null
}

/** During this time only the process that began the attempt asks the facilitator to settle. */
const settlementLease = leaseSql({
  expiresAt: 'settlement_lease_expires_at',
  duration: limits.facilitatorSettleTimeout + limits.topupSettlementMargin,
})

/**
 * Each payment has one row. If the payment was refused, the new attempt replaces the row, even if the new attempt is
 * for another account.
 */
const insertAttemptText = `
  INSERT INTO topup_attempts AS attempt (id, account_id, method_id, amount_micro_usd, network, payment_key, identifier,
    request, state, settlement_lease_expires_at, payer, created_at, updated_at)
  VALUES ($1, $2, $3, $4::bigint, $5, $6, $7, $8, 'settling', ${settlementLease.end('$10')}, $9, $10::bigint, $10::bigint)
  ON CONFLICT (payment_key) DO UPDATE SET id = $1, account_id = $2, method_id = $3, amount_micro_usd = $4::bigint,
    identifier = $7, request = $8, state = 'settling', ${settlementLease.renew('$10')}, payer = $9, reason = NULL,
    created_at = $10::bigint, updated_at = $10::bigint
  WHERE attempt.state = 'refused'
  RETURNING id`

/**
 * Records that a payment is about to be settled, and enqueues the job that finishes the attempt if this process fails.
 * @returns the attempt; `isOurs` is true if the caller must settle the payment, false if another request has begun the
 *   attempt
 * @throws the errors of `findAttempt`
 */
export async function beginAttempt(
  context: Context,
  newAttempt: NewTopupAttempt,
): Promise<{ attempt: TopupAttempt; isOurs: boolean }> {
  const { accountId, method, payment, requirements, request, payer } = newAttempt
  return transaction(context, async (tx) => {
    // The row lock serializes the attempts of an account, so that two payments cannot use the same identifier.
    await sql(tx.db, 'SELECT id FROM accounts WHERE id = $1 FOR NO KEY UPDATE', accountId)
    const existing = await findAttempt(tx, newAttempt)
    if (existing) return { attempt: existing, isOurs: false }
    const now = tx.now()
    const id = newId('top', now)
    const key = paymentKeyOf(payment, requirements)
    const [inserted] = await sql<{ id: string }>(
      tx.db,
      insertAttemptText,
      ...[id, accountId, method.id, requirements.amount, requirements.network, key, payment.identifier],
      ...[tx.encryptor.encrypt(JSON.stringify(request)), payer, now],
    )
    const attempt = await tx.db.topupAttempt.findUniqueOrThrow({ where: { paymentKey: key } })
    if (inserted) await enqueue(tx, RECONCILE_TASK, [{ attemptId: id }], now + limits.topupReconciliationDelay)
    return { attempt, isOurs: inserted !== undefined }
  })
}

/**
 * Decrypts the request to the facilitator for a retry.
 * @throws invalid_request if the attempt is credited, refused or in conflict
 */
export const decryptRequest = ({ encryptor }: Context, { request }: TopupAttempt): FacilitatorRequest => {
  if (request === null) throw badRequest('This payment is already closed.')
  return JSON.parse(encryptor.decrypt(request))
}

const settledText = `
  UPDATE topup_attempts SET state = 'settled', transaction_id = $2, payer = coalesce($3, payer), updated_at = $4
  WHERE id = $1 AND state IN ('settling', 'unknown')`
const unknownText = `
  UPDATE topup_attempts SET state = 'unknown', updated_at = $2 WHERE id = $1 AND state = 'settling'`

/** Records the response of the facilitator in a separate transaction, unless the attempt already has an outcome. */
export async function recordOutcome(context: Context, { id }: TopupAttempt, outcome: SettlementOutcome): Promise<void> {
  const now = context.now()
  if (outcome.kind === 'settled') {
    await context.database.query('topup-settled', settledText, [id, outcome.transactionId, outcome.payer, now])
  } else if (outcome.kind === 'unknown' || outcome.transactionId) {
    // If the facilitator reports a failed transaction, the transaction may still be included in the blockchain later,
    // so the outcome is unknown.
    await context.database.query('topup-unknown', unknownText, [id, now])
  } else {
    await closeAttempt(context, id, 'refused', outcome.reason)
  }
}

/**
 * Closes an attempt without crediting the account and records the event.
 * @param fromStates states from which the attempt may be closed
 * @returns false if the attempt is in another state
 */
export async function closeAttempt(
  context: Context,
  id: string,
  state: 'refused' | 'unresolved',
  reason: string,
  fromStates: readonly string[] = ['settling', 'unknown'],
): Promise<boolean> {
  return transaction(context, async (tx) => {
    const { count } = await tx.db.topupAttempt.updateMany({
      where: { id, state: { in: [...fromStates] } },
      data: { state, reason, ...(state === 'refused' && { request: null }), updatedAt: tx.now() },
    })
    if (count === 0) return false
    const attempt = await tx.db.topupAttempt.findUniqueOrThrow({ where: { id } })
    await recordTopupFailure(tx, { ...attempt, reason })
    return true
  })
}

export interface TopupFailure extends InAccount {
  methodId: string
  amountMicroUsd: bigint | number
  network: string
  transactionId: string | null
  payer: string | null
  reason: string
}

/** Records `credits.topup.failed`. Call it in the transaction of the failure. */
export async function recordTopupFailure(context: Context, failure: TopupFailure): Promise<void> {
  const { accountId, methodId, amountMicroUsd, payer, reason } = failure
  await recordEvent(context, 'credits.topup.failed', {
    accountId,
    target: { type: 'payment_method', id: methodId },
    data: { amount_μusd: Number(amountMicroUsd), payer, reason, payment_reference: paymentReferenceOf(failure) },
  })
}

/** Lists the 50 newest attempts of an account that are neither credited nor refused. */
export const openTopups = (context: Context, { accountId }: InAccount): Promise<TopupAttempt[]> =>
  context.db.topupAttempt.findMany({
    where: { accountId, state: { notIn: ['credited', 'refused'] } },
    orderBy: { createdAt: 'desc' },
    take: 50,
  })
