/**
 * Payments on their way to a credit. A row is written before the facilitator is asked to settle, and the outcome right
 * after its answer, each committed by itself: whenever this process dies, the row says what is left to do.
 *
 *     settling ─→ settled ─→ credited, or conflict when the method no longer takes the payment
 *        ├─→ unknown ─→ settled, or unresolved when nobody can find out (reconcile.ts)
 *        └─→ refused: nothing was paid, and the payment may be tried again
 *
 * What is unresolved ends as credited, conflict or refused by the word of an operator (concluding.ts).
 */
import { badRequest, conflict } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { DAY, SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type PaymentMethod, sql, type TopupAttempt, transaction } from '../../platform/database.js'
import { enqueue } from '../../platform/queue.js'
import { emit } from '../events/events.js'
import type { InAccount } from '../place.js'
import { referenceOf } from './credits.js'
import { type FacilitatorRequest, type Outcome, SETTLE_TIMEOUT } from './facilitator.js'
import { type Payment, paymentKeyOf, type Requirements } from './offer.js'

export const RECONCILE = 'reconcile_topup'
/** When a payment is first looked after by the queue (milliseconds). */
export const FIRST_LOOK = 5 * SECOND
/** How long after the facilitator's last moment a process has given up for certain. */
const MARGIN = 10 * SECOND

export interface NewAttempt extends InAccount {
  method: PaymentMethod
  payment: Payment
  requirements: Requirements
  request: FacilitatorRequest
  payer: string
}

type Named = InAccount & Pick<NewAttempt, 'payment' | 'requirements'>

/**
 * What became of this payment before, unless it was refused.
 * @throws conflict when the payer's name for it stands for another payment of the last 24 hours
 */
export async function findAttempt(context: Context, named: Named): Promise<TopupAttempt | null> {
  const { accountId, payment, requirements } = named
  const alive = { state: { not: 'refused' } }
  const paymentKey = paymentKeyOf(payment, requirements)
  const found = await context.db.topupAttempt.findFirst({ where: { paymentKey, ...alive } })
  if (found || !payment.identifier) return found
  const since = { gt: context.now() - DAY }
  const where = { accountId, identifier: payment.identifier, createdAt: since, ...alive }
  if (await context.db.topupAttempt.findFirst({ where, select: { id: true } })) {
    throw conflict('This payment-identifier was used for another payment.')
  }
  return null
}

/** One payment is settled by one request; a refused one may come again, also for another account. */
const beginText = `
  INSERT INTO topup_attempts AS attempt (id, account_id, method_id, amount_micro_usd, network, payment_key, identifier,
    request, state, settling_until, payer, created_at, updated_at)
  VALUES ($1, $2, $3, $4::bigint, $5, $6, $7, $8, 'settling', $9::bigint, $10, $11::bigint, $11::bigint)
  ON CONFLICT (payment_key) DO UPDATE SET id = $1, account_id = $2, method_id = $3, amount_micro_usd = $4::bigint,
    identifier = $7, request = $8, state = 'settling', settling_until = $9::bigint, payer = $10, reason = NULL,
    created_at = $11::bigint, updated_at = $11::bigint
  WHERE attempt.state = 'refused'
  RETURNING id`

/**
 * Writes down that a payment is about to be settled, and promises that somebody will see to it.
 * @returns `isOurs` when this request is the one to settle it; otherwise the attempt that another one has begun
 * @throws conflict as findAttempt
 */
export async function beginAttempt(
  context: Context,
  begun: NewAttempt,
): Promise<{ attempt: TopupAttempt; isOurs: boolean }> {
  const { accountId, method, payment, requirements, request, payer } = begun
  return transaction(context, async (inside) => {
    // In turns, so that two payments of one name do not both find it free.
    await sql(inside.db, 'SELECT id FROM accounts WHERE id = $1 FOR NO KEY UPDATE', accountId)
    const earlier = await findAttempt(inside, begun)
    if (earlier) return { attempt: earlier, isOurs: false }
    const now = inside.now()
    const id = newId('top', now)
    const key = paymentKeyOf(payment, requirements)
    const [mine] = await sql<{ id: string }>(
      inside.db,
      beginText,
      ...[id, accountId, method.id, requirements.amount, requirements.network, key, payment.identifier],
      ...[inside.sealer.seal(JSON.stringify(request)), now + SETTLE_TIMEOUT + MARGIN, payer, now],
    )
    const attempt = await inside.db.topupAttempt.findUniqueOrThrow({ where: { paymentKey: key } })
    if (mine) await enqueue(inside, RECONCILE, [{ attemptId: id }], now + FIRST_LOOK)
    return { attempt, isOurs: mine !== undefined }
  })
}

/** What the facilitator is to be asked again. */
export const requestIn = ({ sealer }: Context, { request }: TopupAttempt): FacilitatorRequest => {
  if (request === null) throw badRequest('This payment is concluded.')
  return JSON.parse(sealer.open(request))
}

const settledText = `
  UPDATE topup_attempts SET state = 'settled', transaction_id = $2, payer = coalesce($3, payer), updated_at = $4
  WHERE id = $1 AND state IN ('settling', 'unknown')`
const unknownText = `
  UPDATE topup_attempts SET state = 'unknown', updated_at = $2 WHERE id = $1 AND state = 'settling'`

/** Writes down what the facilitator has answered, in a statement of its own. */
export async function noteOutcome(context: Context, { id }: TopupAttempt, outcome: Outcome): Promise<void> {
  const now = context.now()
  if (outcome.kind === 'settled') {
    await context.tools.query('topup-settled', settledText, [id, outcome.transactionId, outcome.payer, now])
  } else if (outcome.kind === 'unknown' || outcome.transactionId) {
    // What has failed on a chain may still come through: only time tells.
    await context.tools.query('topup-unknown', unknownText, [id, now])
  } else {
    await close(context, id, 'refused', outcome.reason)
  }
}

/**
 * Ends a payment that will not be credited, and tells the trail.
 * @param from where it must stand
 * @returns false when it stands elsewhere
 */
export async function close(
  context: Context,
  id: string,
  state: 'refused' | 'unresolved',
  reason: string,
  from: readonly string[] = ['settling', 'unknown'],
): Promise<boolean> {
  return transaction(context, async (inside) => {
    const { count } = await inside.db.topupAttempt.updateMany({
      where: { id, state: { in: [...from] } },
      data: { state, reason, ...(state === 'refused' && { request: null }), updatedAt: inside.now() },
    })
    if (count === 0) return false
    const attempt = await inside.db.topupAttempt.findUniqueOrThrow({ where: { id } })
    await tellFailure(inside, { ...attempt, reason })
    return true
  })
}

export interface Failure extends InAccount {
  methodId: string
  amountMicroUsd: bigint | number
  network: string
  transactionId: string | null
  payer: string | null
  reason: string
}

/** `credits.topup.failed`. Call it in the transaction of what it tells of. */
export async function tellFailure(context: Context, failure: Failure): Promise<void> {
  const { accountId, methodId, amountMicroUsd, payer, reason } = failure
  await emit(context, 'credits.topup.failed', {
    accountId,
    target: { type: 'payment_method', id: methodId },
    data: { amount_μusd: Number(amountMicroUsd), payer, reason, payment_reference: referenceOf(failure) },
  })
}

/** Payments of an account that are neither credited nor refused, newest first: under way, or for people to look after. */
export const openTopups = (context: Context, { accountId }: InAccount): Promise<TopupAttempt[]> =>
  context.db.topupAttempt.findMany({
    where: { accountId, state: { notIn: ['credited', 'refused'] } },
    orderBy: { createdAt: 'desc' },
    take: 50,
  })
