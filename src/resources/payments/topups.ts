/**
 * Top-ups with x402 v2 (docs/contract.md#payment-challenge), in numbered steps. The order of the steps ensures that a
 * settled payment is never lost and is credited at most once.
 */
import { ApiError, badRequest } from '../../kernel/errors.js'
import { checkInput } from '../../kernel/input.js'
import { MINUTE, SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { consumeRateLimit } from '../../platform/http/consume-rate-limit.js'
import { type TopupAttempt } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { type InAccount, requireAccount } from '../resource-path.js'
import { creditAttempt } from './credit-attempt.js'
import { balanceOf, paymentReferenceOf } from './credits.js'
import { createFacilitatorRequest, type SettlementOutcome, settlePayment, verifyPayment } from './facilitator.js'
import { findActiveMethod, mayPay } from './payment-methods.js'
import { createRules } from './topup.js'
import { beginAttempt, findAttempt, recordOutcome, recordTopupFailure } from './topup-attempts.js'
import {
  acceptsRequirements,
  type PaymentOffer,
  parsePayment,
  paymentRequiredError,
  requirementsFor,
  type SettlementResponse,
} from './x402.js'

/** Result of a paid top-up. */
export interface Topup {
  /** Id of the ledger entry. */
  id: string
  amountMicroUsd: bigint
  balanceMicroUsd: bigint
  paymentReference: string
  settlement: SettlementResponse
  createdAt: bigint
  updatedAt: bigint
}

/**
 * Settles a payment and adds the amount to the prepaid credit of an account.
 * @param header the payment, as in the header PAYMENT-SIGNATURE; without a payment, the error contains the payment
 *   challenge
 * @throws invalid_request, not_found, too_many_requests, payment_required with the challenge, conflict if the payment
 *   was used for another top-up, its identifier was used for another payment, or the payment is being processed, has an
 *   unknown outcome or was settled without a credit; bad_gateway if the facilitator gives no conclusive response,
 *   unavailable if the payment is settled and its credit is pending
 */
export async function topUp(
  context: Context,
  path: InAccount,
  input: unknown,
  header: string | null | undefined,
): Promise<Topup> {
  // 1. Validate the request and compute the payment requirements.
  const { amountMicroUsd: amount } = checkInput(createRules, input)
  const { id: accountId } = await requireAccount(context, path)
  await consumeRateLimit(context, 'topup', accountId, tooManyTopups)
  const { payments, baseUrl } = context.config
  if (!payments)
    throw badRequest('This deployment does not accept payments. The operator must set the four X402_* settings.')
  const method = await findActiveMethod(context, { accountId })
  if (!method) throw badRequest('This account has no active payment method. Add or enable one first.')
  if ((await balanceOf(context, { accountId })) > Number.MAX_SAFE_INTEGER - amount) {
    throw badRequest('The balance would exceed its maximum of 9007199254740991 micro-USD. Use a smaller amount.')
  }
  const requirements = requirementsFor(payments, amount)
  const offer: PaymentOffer = { url: `${baseUrl}/v1/accounts/${accountId}/credits/topups`, requirements }
  if (header === undefined || header === null) throw paymentRequiredError(offer, 'PAYMENT-SIGNATURE header is required')

  // 2. Check that the payment accepts the requirements.
  const payment = parsePayment(header)
  if (!acceptsRequirements(payment, requirements))
    throw paymentRequiredError(offer, 'The payment does not match the payment requirements.')

  // 3. Look for an earlier attempt with the same payment, because a settled payment cannot be verified again.
  const existingAttempt = await findAttempt(context, { accountId, payment, requirements })
  if (existingAttempt) return topupResponse(context, existingAttempt, { accountId, amount })

  // 4. Verify the payment and check that its wallet is allowed.
  const request = createFacilitatorRequest(payment, requirements)
  const verification = await verifyPayment(context, request, payment)
  const failureFields = { accountId, methodId: method.id, amountMicroUsd: amount, network: requirements.network }
  if (!verification.valid) {
    await recordFailure(context, { ...failureFields, transactionId: null, payer: null, reason: verification.reason })
    throw paymentRequiredError(offer, `The payment is not valid (${verification.reason}).`)
  }
  const { payer } = verification
  if (!mayPay(method, requirements.network, payer)) {
    await recordFailure(context, { ...failureFields, transactionId: null, payer, reason: 'payer_not_allowed' })
    throw paymentRequiredError(offer, 'This wallet is not one of the allowed payer wallets of the payment method.')
  }

  // 5. Record the attempt, settle the payment, then record the outcome.
  const { attempt, isOurs } = await beginAttempt(context, { accountId, method, payment, requirements, request, payer })
  if (!isOurs) return topupResponse(context, attempt, { accountId, amount })
  const outcome = await settlePayment(context, request, payer)
  await recordOutcome(context, attempt, outcome).catch((error) => {
    context.log.error({ err: error, attempt: attempt.id }, 'recording the outcome of a settlement failed')
    throw outcome.kind === 'settled' ? creditPendingError() : outcome.kind === 'unknown' ? outcomeUnknownError() : error
  })
  if (outcome.kind === 'unknown') throw outcomeUnknownError()
  if (outcome.kind === 'refused') {
    throw paymentRequiredError(
      offer,
      outcome.transactionId
        ? `The payment was not settled (${outcome.reason}), but its transaction can still succeed and is then credited automatically. Do not sign another payment; check the ledger.`
        : `The payment was not settled (${outcome.reason}).`,
      failedSettlement(outcome, requirements.network),
    )
  }

  // 6. Credit the payment, if the payment method still allows the payment.
  const credited = await creditAttempt(context, attempt.id).catch((error) => {
    context.log.error(
      { err: error, attempt: attempt.id },
      'crediting a settled payment failed; the job queue will retry it',
    )
    throw creditPendingError()
  })
  return topupResponse(context, credited, { accountId, amount })
}

const tooManyTopups = (seconds: number): string => `Too many top-ups. Try again in ${seconds} seconds.`

const recordFailure = (context: Context, failure: Parameters<typeof recordTopupFailure>[1]): Promise<void> =>
  transaction(context, (tx) => recordTopupFailure(tx, failure))

/** The error for an unknown outcome of the settlement: the payment may have been settled. */
const outcomeUnknownError = (): ApiError =>
  new ApiError(
    'bad_gateway',
    'The payment facilitator did not confirm the settlement. If the payment was settled, it will be credited automatically. Do not sign another payment; check the ledger.',
    { extra: { retryable: false } },
  )

/** The error for a settled payment whose credit could not be written yet. */
const creditPendingError = (): ApiError =>
  new ApiError(
    'unavailable',
    'The payment is settled and will be credited automatically. Do not sign another payment.',
    { headers: { 'Retry-After': '10' }, extra: { retryable: false } },
  )

const failedSettlement = (
  { reason, transactionId }: SettlementOutcome & { kind: 'refused' },
  network: string,
): SettlementResponse => ({
  success: false,
  errorReason: reason,
  transaction: transactionId ?? '',
  network,
})

/**
 * Returns the top-up of a credited attempt. For an attempt in another state, throws the error that describes the state.
 */
async function topupResponse(
  context: Context,
  attempt: TopupAttempt,
  expected: { accountId: string; amount: number },
): Promise<Topup> {
  const { accountId, network, transactionId, payer, state } = attempt
  if (accountId !== expected.accountId || Number(attempt.amountMicroUsd) !== expected.amount) {
    throw new ApiError('conflict', 'This payment was already used for another top-up.', { extra: { retryable: false } })
  }
  const reference = paymentReferenceOf(attempt)
  if (state === 'credited' && attempt.entryId && reference && transactionId) {
    const entry = await context.db.ledgerEntry.findUniqueOrThrow({ where: { id: attempt.entryId } })
    const { id, amountMicroUsd, balanceMicroUsd, createdAt, updatedAt } = entry
    const settlement = { success: true, transaction: transactionId, network, ...(payer && { payer }) }
    return { id, amountMicroUsd, balanceMicroUsd, paymentReference: reference, settlement, createdAt, updatedAt }
  }
  if (state === 'conflict') {
    const text =
      attempt.reason === 'transaction_credited_before'
        ? 'The payment was settled by a transaction that was already credited.'
        : 'The payment was settled, but its payment method was disabled or removed, or its allowed payer wallets were changed, before it could be credited.'
    const extra = { payment_reference: reference, retryable: false }
    throw new ApiError(
      'conflict',
      `${text} Do not pay again. Contact the operator with the payment reference to request a refund.`,
      { extra },
    )
  }
  if (state === 'unresolved') {
    throw new ApiError(
      'conflict',
      'It is unknown whether this payment was settled. Do not pay again. Contact the operator.',
      {
        extra: { retryable: false },
      },
    )
  }
  const wait = state === 'unknown' ? MINUTE : 5 * SECOND
  throw new ApiError(
    'conflict',
    'This payment is still being processed. Do not sign another payment. Repeat the request later.',
    {
      headers: { 'Retry-After': String(wait / SECOND) },
    },
  )
}
