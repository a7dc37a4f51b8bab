/** A top-up by x402 v2 (spec 4.2, decisions D18), in numbered steps: the order is what keeps money and credit together. */
import { z } from 'zod'
import { ApiError, badRequest } from '../../kernel/errors.js'
import { check } from '../../kernel/input.js'
import { MINUTE, SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type TopupAttempt, transaction } from '../../platform/database.js'
import { rateLimitHeaders } from '../../platform/rate-limit.js'
import { type InAccount, requireAccount } from '../place.js'
import { beginAttempt, findAttempt, noteOutcome, tellFailure } from './attempts.js'
import { credit } from './crediting.js'
import { balanceOf, referenceOf } from './credits.js'
import { type Outcome, requestOf, settle, verify } from './facilitator.js'
import { accepts, type Offer, paymentRequired, readPayment, requirementsFor, type Settlement } from './offer.js'
import { activeMethod, amountRule, mayPay } from './payment-methods.js'

const topupRules = z.strictObject({ amountMicroUsd: amountRule })

/** What a paid top-up answers. */
export interface Topup {
  id: string
  amountMicroUsd: bigint
  balanceMicroUsd: bigint
  paymentReference: string
  settlement: Settlement
  createdAt: bigint
  updatedAt: bigint
}

/**
 * Settles a payment and adds it to the prepaid credit.
 * @param header the PAYMENT-SIGNATURE; without one the answer says what to sign
 * @throws invalid_request, not_found, too_many_requests, payment_required with the challenge, conflict when the payment
 * is used, being settled or settled without a credit, bad_gateway when the facilitator does not answer
 */
export async function topUp(
  context: Context,
  place: InAccount,
  input: unknown,
  header: string | null | undefined,
): Promise<Topup> {
  // 1. What is asked for, and what would it take?
  const { amountMicroUsd: amount } = check(topupRules, input)
  const { id: accountId } = await requireAccount(context, place)
  await refuseHaste(context, accountId)
  const { payments, baseUrl } = context.config
  if (!payments) throw badRequest('This deployment takes no payments; its operator has to set X402_FACILITATOR_URL.')
  const method = await activeMethod(context, { accountId })
  if (!method) throw badRequest('This account has no active payment method; add or enable one first.')
  if ((await balanceOf(context, { accountId })) > Number.MAX_SAFE_INTEGER - amount) {
    throw badRequest('The balance cannot become that large.')
  }
  const requirements = requirementsFor(payments, amount)
  const offer: Offer = { url: `${baseUrl}/v1/accounts/${accountId}/credits/topups`, requirements }
  if (header === undefined || header === null) throw paymentRequired(offer, 'PAYMENT-SIGNATURE header is required')

  // 2. Is that what they pay?
  const payment = readPayment(header)
  if (!accepts(payment, requirements)) throw paymentRequired(offer, 'The payment does not accept what is offered.')

  // 3. Have we seen it before? A settled payment would not be verified again.
  const earlier = await findAttempt(context, { accountId, payment, requirements })
  if (earlier) return answerFor(context, earlier, { accountId, amount })

  // 4. Is it good, and of a wallet that may pay?
  const request = requestOf(payment, requirements)
  const verdict = await verify(context, request, payment)
  const told = { accountId, methodId: method.id, amountMicroUsd: amount, network: requirements.network }
  if (!verdict.valid) {
    await fail(context, { ...told, transactionId: null, payer: null, reason: verdict.reason })
    throw paymentRequired(offer, `The payment is not valid (${verdict.reason}).`)
  }
  const { payer } = verdict
  if (!mayPay(method, requirements.network, payer)) {
    await fail(context, { ...told, transactionId: null, payer, reason: 'payer_not_allowed' })
    throw paymentRequired(offer, 'This wallet is not among the allowed payers of the payment method.')
  }

  // 5. Write down what is about to happen, then settle, then write down what has happened.
  const { attempt, isOurs } = await beginAttempt(context, { accountId, method, payment, requirements, request, payer })
  if (!isOurs) return answerFor(context, attempt, { accountId, amount })
  const outcome = await settle(context, request)
  await noteOutcome(context, attempt, outcome).catch((error) => {
    context.log.error({ err: error, attempt: attempt.id }, 'the outcome of a settlement could not be written')
    throw outcome.kind === 'settled' ? notYetCredited() : outcome.kind === 'unknown' ? stillOpen() : error
  })
  if (outcome.kind === 'unknown') throw stillOpen()
  if (outcome.kind === 'refused') {
    throw paymentRequired(
      offer,
      `The payment was not settled (${outcome.reason}).`,
      refusal(outcome, requirements.network),
    )
  }

  // 6. Credit it, if the method still takes it.
  const credited = await credit(context, attempt.id).catch((error) => {
    context.log.error(
      { err: error, attempt: attempt.id },
      'a settled payment is not credited yet; the queue will do it',
    )
    throw notYetCredited()
  })
  return answerFor(context, credited, { accountId, amount })
}

/** @throws too_many_requests (decisions D19) */
async function refuseHaste(context: Context, accountId: string): Promise<void> {
  const verdict = await context.rateLimiter.spend('topup', accountId)
  if (!verdict || verdict.allowed) return
  context.metrics.refusals.inc({ limit: 'topup' })
  const headers = rateLimitHeaders(verdict)
  throw new ApiError('too_many_requests', `Too many top-ups; try again in ${verdict.reset} seconds.`, { headers })
}

const fail = (context: Context, failure: Parameters<typeof tellFailure>[1]): Promise<void> =>
  transaction(context, (inside) => tellFailure(inside, failure))

/** The money may have moved. */
const stillOpen = (): ApiError =>
  new ApiError(
    'bad_gateway',
    'The payment facilitator did not say in time whether the payment was settled. It is being found out, and if it was, it will be credited: do not sign another payment, look into the ledger.',
    { extra: { retryable: false } },
  )

/** The money has moved, and the database was not there to say so. */
const notYetCredited = (): ApiError =>
  new ApiError(
    'unavailable',
    'The payment is settled and will be credited by itself, shortly: do not sign another payment.',
    { headers: { 'Retry-After': '10' }, extra: { retryable: false } },
  )

const refusal = ({ reason, transactionId }: Outcome & { kind: 'refused' }, network: string): Settlement => ({
  success: false,
  errorReason: reason,
  transaction: transactionId ?? '',
  network,
})

/** What became of a payment, as an answer or as the error that it is. */
async function answerFor(
  context: Context,
  attempt: TopupAttempt,
  asked: { accountId: string; amount: number },
): Promise<Topup> {
  const { accountId, network, transactionId, payer, state } = attempt
  if (accountId !== asked.accountId || Number(attempt.amountMicroUsd) !== asked.amount) {
    throw new ApiError('conflict', 'This payment was used for another top-up.', { extra: { retryable: false } })
  }
  const reference = referenceOf(attempt)
  if (state === 'credited' && attempt.entryId && reference && transactionId) {
    const entry = await context.db.ledgerEntry.findUniqueOrThrow({ where: { id: attempt.entryId } })
    const { id, amountMicroUsd, balanceMicroUsd, createdAt, updatedAt } = entry
    const settlement = { success: true, transaction: transactionId, network, ...(payer && { payer }) }
    return { id, amountMicroUsd, balanceMicroUsd, paymentReference: reference, settlement, createdAt, updatedAt }
  }
  if (state === 'conflict') {
    const text =
      attempt.reason === 'transaction_credited_before'
        ? 'The payment is settled by a transaction that was credited before.'
        : 'The payment is settled, but its payment method was revoked or its allowed payers were changed before it could be credited.'
    const extra = { payment_reference: reference, retryable: false }
    throw new ApiError('conflict', `${text} Do not pay again; ask for a refund with this reference.`, { extra })
  }
  if (state === 'unresolved') {
    throw new ApiError('conflict', 'It could not be found out whether this payment was settled; ask the operator.', {
      extra: { retryable: false },
    })
  }
  const wait = state === 'unknown' ? MINUTE : 5 * SECOND
  throw new ApiError('conflict', 'This payment is being settled; do not sign another one.', {
    headers: { 'Retry-After': String(wait / SECOND) },
  })
}
