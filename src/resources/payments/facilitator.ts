/**
 * Client of the x402 facilitator (docs/contract.md#payment-challenge), which verifies and settles payments. Responses
 * that do not follow the protocol count as no response, and a settlement without a response has an unknown outcome. Of
 * the facilitator's texts, callers see only error codes.
 */
import { ApiError } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import { isObject } from '../../kernel/merge-patch.js'
import { parseJson, UnsafeInputError } from '../../kernel/safe-json.js'
import type { Context } from '../../platform/context.js'
import { OutboundError, type OutboundResponse } from '../../platform/outbound/outbound.js'
import { sameAddress } from './payment-methods.js'
import { authorizationOf, type Payment, type PaymentRequirements, X402_VERSION } from './x402.js'

/** The request body of the endpoints `verify` and `settle`. */
export interface FacilitatorRequest {
  x402Version: number
  paymentPayload: object
  paymentRequirements: PaymentRequirements
}

export type VerificationResult = { valid: true; payer: string } | { valid: false; reason: string }

export type SettlementOutcome =
  | { kind: 'settled'; transactionId: string; payer: string | null }
  /** `transactionId` is the failed transaction, if there is one. */
  | { kind: 'refused'; reason: string; transactionId: string | null }
  | { kind: 'unknown' }

/** Builds a request with the payment requirements of Gatehouse, not with those that the payment contains. */
export const createFacilitatorRequest = (payment: Payment, requirements: PaymentRequirements): FacilitatorRequest => ({
  x402Version: X402_VERSION,
  paymentPayload: {
    x402Version: X402_VERSION,
    ...(payment.resource && { resource: payment.resource }),
    accepted: requirements,
    payload: payment.payload,
    ...(payment.extensions && { extensions: payment.extensions }),
  },
  paymentRequirements: requirements,
})

const facilitatorUnavailableError = (): ApiError =>
  new ApiError(
    'bad_gateway',
    'The payment facilitator did not give a valid response. Nothing was paid. Try again later.',
  )

/** Verifies a payment. @throws bad_gateway if the facilitator gives no conclusive response */
export async function verifyPayment(
  context: Context,
  request: FacilitatorRequest,
  payment: Payment,
): Promise<VerificationResult> {
  const body = await postToFacilitator(context, 'verify', request, limits.facilitatorVerifyTimeout)
  if (body?.['isValid'] === false)
    return { valid: false, reason: parseErrorCode(body['invalidReason'], 'invalid_payload') }
  if (body?.['isValid'] !== true) throw facilitatorUnavailableError()
  const { network } = request.paymentRequirements
  const signer = authorizationOf(payment)?.from
  const payer = parseWalletAddress(body['payer']) ?? signer
  // The signer pays, and the payer is checked against the allowed wallets. A payer other than the signer is an invalid
  // response.
  if (payer === undefined || (signer !== undefined && !sameAddress(network, signer, payer)))
    throw facilitatorUnavailableError()
  return { valid: true, payer }
}

/**
 * Settles a payment. It is safe to repeat the call, because the nonce is valid for one transfer. Errors of the
 * facilitator are not thrown; they become an outcome.
 * @param payer the verified signer, or null if unknown; a settlement with another payer, network or amount does not
 *   belong to this payment
 */
export async function settlePayment(
  context: Context,
  request: FacilitatorRequest,
  payer: string | null,
): Promise<SettlementOutcome> {
  const body = await postToFacilitator(context, 'settle', request, limits.facilitatorSettleTimeout)
  if (!body) return { kind: 'unknown' }
  const { network, amount } = request.paymentRequirements
  const transactionId = parseTransactionId(body['transaction'], network)
  const settledPayer = parseWalletAddress(body['payer'])
  const isThisPayment =
    [undefined, network].includes(body['network'] as string | undefined) &&
    [undefined, null, '', amount].includes(toScalar(body['amount'])) &&
    (settledPayer === undefined || payer === null || sameAddress(network, settledPayer, payer))
  if (body['success'] === true) {
    if (!transactionId || !isThisPayment) return { kind: 'unknown' }
    return { kind: 'settled', transactionId, payer: parseWalletAddress(body['payer']) ?? null }
  }
  if (body['success'] !== false) return { kind: 'unknown' }
  const reason = parseErrorCode(body['errorReason'], 'settlement_failed')
  // If the facilitator reports a failure because this payment was already settled, the payment counts as settled.
  if (transactionId && isThisPayment && /already|duplicate/.test(reason)) {
    return { kind: 'settled', transactionId, payer: parseWalletAddress(body['payer']) ?? null }
  }
  return { kind: 'refused', reason, transactionId }
}

/** @returns undefined if there is no response, a redirect, a 5xx status or a body that is not a JSON object */
async function postToFacilitator(
  context: Context,
  endpoint: 'verify' | 'settle',
  request: FacilitatorRequest,
  timeout: number,
): Promise<Record<string, unknown> | undefined> {
  const logFields = { facilitator: endpoint }
  let response: OutboundResponse
  try {
    response = await context.outbound.send({
      method: 'POST',
      url: `${context.config.payments?.facilitatorUrl}/${endpoint}`,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(request),
      timeout,
      maxBody: limits.maxFacilitatorResponseBytes,
    })
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    context.log.warn({ ...logFields, reason: error.reason }, 'the payment facilitator did not respond')
    return undefined
  }
  const isConclusive = response.status < 300 || (response.status >= 400 && response.status < 500)
  const body = isConclusive ? parseObject(response.body) : undefined
  if (!body)
    context.log.warn({ ...logFields, status: response.status }, 'the payment facilitator sent an invalid response')
  return body
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text)
    return isObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof UnsafeInputError) return undefined
    throw error
  }
}

const toScalar = (value: unknown): string | null | undefined =>
  value === undefined || value === null ? value : String(value)

/** Returns the value if it has the form of an error code, otherwise the fallback. */
const parseErrorCode = (value: unknown, fallback: string): string =>
  typeof value === 'string' && /^[a-z0-9_]{1,100}$/.test(value) ? value : fallback

const parseWalletAddress = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[A-Za-z0-9:_.-]{1,128}$/.test(value) ? value : undefined

/** Returns the canonical form of a transaction id, or null if it is invalid for the network. */
export function parseTransactionId(value: unknown, network: string): string | null {
  if (typeof value !== 'string') return null
  if (network.startsWith('eip155:')) return /^0x[0-9a-f]{64}$/i.test(value) ? value.toLowerCase() : null
  return /^[A-Za-z0-9]{16,128}$/.test(value) ? value : null
}
