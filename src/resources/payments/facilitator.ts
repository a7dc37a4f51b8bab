/**
 * The x402 facilitator (decisions D18): verifies payments and settles them. It is believed, but not what it has not
 * clearly said: an answer that is not of the protocol is no answer, and of a settlement without an answer the outcome
 * is unknown. Its words never reach a caller, but for the codes that the protocol knows.
 */
import { ApiError } from '../../kernel/errors.js'
import { GateError, parseJson } from '../../kernel/gate.js'
import { isObject } from '../../kernel/merge.js'
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type OutboundAnswer, OutboundError } from '../../platform/outbound.js'
import { authorizationOf, type Payment, type Requirements, X402_VERSION } from './offer.js'
import { sameAddress } from './payment-methods.js'

const VERIFY_TIMEOUT = 8 * SECOND
/** A settlement waits for a blockchain. */
export const SETTLE_TIMEOUT = 20 * SECOND
const MAX_ANSWER = 64 * 1024

/** What both questions are asked with, as JSON. */
export interface FacilitatorRequest {
  x402Version: number
  paymentPayload: object
  paymentRequirements: Requirements
}

export type Verdict = { valid: true; payer: string } | { valid: false; reason: string }

export type Outcome =
  | { kind: 'settled'; transactionId: string; payer: string | null }
  /** With the transaction that failed, if there was one. */
  | { kind: 'refused'; reason: string; transactionId: string | null }
  | { kind: 'unknown' }

/** The facilitator is told what was offered, not what the payer says that it was. */
export const requestOf = (payment: Payment, requirements: Requirements): FacilitatorRequest => ({
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

const unavailable = (): ApiError =>
  new ApiError('bad_gateway', 'The payment facilitator is not available; nothing was paid. Try again shortly.')

/** Is this payment good? @throws bad_gateway when the facilitator has no clear answer */
export async function verify(context: Context, request: FacilitatorRequest, payment: Payment): Promise<Verdict> {
  const body = await ask(context, 'verify', request, VERIFY_TIMEOUT)
  if (body?.['isValid'] === false) return { valid: false, reason: codeIn(body['invalidReason'], 'invalid_payload') }
  if (body?.['isValid'] !== true) throw unavailable()
  const { network } = request.paymentRequirements
  const from = authorizationOf(payment)?.from
  const payer = addressIn(body['payer']) ?? from
  // Whoever signed is who pays, and the allow-list is about that one.
  if (payer === undefined || (from !== undefined && !sameAddress(network, from, payer))) throw unavailable()
  return { valid: true, payer }
}

/**
 * Settles a payment. Asking again for the same payment is safe: its nonce is good for one transfer.
 * Never throws for what the facilitator does.
 * @param payer who has signed it, as verified; a settlement that names anybody else, or another amount, is not this one
 */
export async function settle(context: Context, request: FacilitatorRequest, payer: string | null): Promise<Outcome> {
  const body = await ask(context, 'settle', request, SETTLE_TIMEOUT)
  if (!body) return { kind: 'unknown' }
  const { network, amount } = request.paymentRequirements
  const transactionId = transactionIn(body['transaction'], network)
  const named = addressIn(body['payer'])
  const isOurs =
    [undefined, network].includes(body['network'] as string | undefined) &&
    [undefined, null, '', amount].includes(scalarIn(body['amount'])) &&
    (named === undefined || payer === null || sameAddress(network, named, payer))
  if (body['success'] === true) {
    if (!transactionId || !isOurs) return { kind: 'unknown' }
    return { kind: 'settled', transactionId, payer: addressIn(body['payer']) ?? null }
  }
  if (body['success'] !== false) return { kind: 'unknown' }
  const reason = codeIn(body['errorReason'], 'settlement_failed')
  // It says no, for it has been done: that is what was asked for.
  if (transactionId && isOurs && /already|duplicate/.test(reason)) {
    return { kind: 'settled', transactionId, payer: addressIn(body['payer']) ?? null }
  }
  return { kind: 'refused', reason, transactionId }
}

/** @returns undefined when there is no answer, a redirect, one of 5xx, or one that is no JSON object */
async function ask(
  context: Context,
  question: 'verify' | 'settle',
  request: FacilitatorRequest,
  timeout: number,
): Promise<Record<string, unknown> | undefined> {
  const about = { facilitator: question }
  let answer: OutboundAnswer
  try {
    answer = await context.outbound.send({
      method: 'POST',
      url: `${context.config.payments?.facilitatorUrl}/${question}`,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(request),
      timeout,
      maxBody: MAX_ANSWER,
    })
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    context.log.warn({ ...about, fault: error.fault }, 'the payment facilitator did not answer')
    return undefined
  }
  const isClear = answer.status < 300 || (answer.status >= 400 && answer.status < 500)
  const body = isClear ? objectIn(answer.body) : undefined
  if (!body) context.log.warn({ ...about, status: answer.status }, 'the payment facilitator gave no clear answer')
  return body
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text)
    return isObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof GateError) return undefined
    throw error
  }
}

const scalarIn = (value: unknown): string | null | undefined =>
  value === undefined || value === null ? value : String(value)

/** A code of the protocol, or ours for whatever else stands there. */
const codeIn = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && /^[a-z0-9_]{1,100}$/.test(value) ? value : otherwise

const addressIn = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[A-Za-z0-9:_.-]{1,128}$/.test(value) ? value : undefined

/** The name of a transaction, in the one way that it is kept; null when this is none. */
export function transactionIn(value: unknown, network: string): string | null {
  if (typeof value !== 'string') return null
  if (network.startsWith('eip155:')) return /^0x[0-9a-f]{64}$/i.test(value) ? value.toLowerCase() : null
  return /^[A-Za-z0-9]{16,128}$/.test(value) ? value : null
}
