/**
 * Headers of x402 v2 (docs/contract.md#payment-challenge): the challenge with the payment requirements, the payment,
 * and the settlement response. This module does no I/O; facilitator.ts calls the facilitator.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Config } from '../../config.js'
import { canonicalJson } from '../../kernel/canonical-json.js'
import { ApiError, invalidField } from '../../kernel/errors.js'
import { checkInput } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { isObject } from '../../kernel/merge-patch.js'
import { parseJson, UnsafeInputError } from '../../kernel/safe-json.js'
import { sameAddress } from './payment-methods.js'

export const X402_VERSION = 2
/**
 * The GraphQL argument with the payment, as named in errors. Errors of `/v1` name the header PAYMENT-SIGNATURE instead.
 */
const PAYMENT_ARGUMENT = 'paymentSignature'

/** `PaymentRequirements` of x402. */
export interface PaymentRequirements {
  scheme: 'exact'
  network: string
  /** The amount in the smallest unit of the asset. USDC has six decimals, so the unit is the micro-USD. */
  amount: string
  asset: string
  payTo: string
  maxTimeoutSeconds: number
  extra: Record<string, string>
}

/** A decoded payment (`PaymentPayload` of x402). */
export interface Payment {
  accepted: unknown
  payload: Record<string, unknown>
  resource?: Record<string, unknown> | undefined
  extensions?: Record<string, unknown> | undefined
  /** The id that the payer chose with the extension `payment-identifier`; null without the extension. */
  identifier: string | null
}

/** `SettlementResponse` of x402. */
export interface SettlementResponse {
  success: boolean
  transaction: string
  network: string
  payer?: string
  errorReason?: string
}

/**
 * USDC contracts whose EIP-712 domain name is "USD Coin" instead of "USDC". The token contract rejects a signature with
 * the wrong domain name.
 */
const usdCoinAssets = new Set([
  'eip155:1:0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
  'eip155:137:0x3c499c542cef5e3811e1192ce70d8cc03d5c3359',
  'eip155:8453:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  'eip155:43114:0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e',
])

type Payments = NonNullable<Config['payments']>

/** Returns the requirements of a payment of this amount. */
export function requirementsFor({ network, asset, payTo }: Payments, amountMicroUsd: number): PaymentRequirements {
  const name = usdCoinAssets.has(`${network}:${asset.toLowerCase()}`) ? 'USD Coin' : 'USDC'
  return {
    scheme: 'exact',
    network,
    amount: String(amountMicroUsd),
    asset,
    payTo,
    maxTimeoutSeconds: limits.payerSettlementTimeoutSeconds,
    extra: { name, version: '2' },
  }
}

const identifierSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { required: { type: 'boolean' }, id: { type: 'string', minLength: 16, maxLength: 128 } },
  required: ['required'],
}

/** The resource and the requirements of a challenge. */
export interface PaymentOffer {
  /** The URL of the paid resource. */
  url: string
  requirements: PaymentRequirements
}

const encodeHeader = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64')

/**
 * Creates the 402 error, which has the challenge in the header PAYMENT-REQUIRED and in the body.
 * @param error the error message
 * @param settlement the settlement response of a failed payment, which becomes the header PAYMENT-RESPONSE
 */
export function paymentRequiredError(
  { url, requirements }: PaymentOffer,
  error: string,
  settlement?: SettlementResponse,
): ApiError {
  const challenge = {
    x402Version: X402_VERSION,
    error,
    resource: { url, description: 'Prepaid credit', mimeType: 'application/json' },
    accepts: [requirements],
    extensions: { 'payment-identifier': { info: { required: false }, schema: identifierSchema } },
  }
  return new ApiError('payment_required', error, {
    extra: { payment_required: challenge },
    headers: {
      'PAYMENT-REQUIRED': encodeHeader(challenge),
      ...(settlement && { 'PAYMENT-RESPONSE': encodeHeader(settlement) }),
    },
  })
}

const paymentRules = z.object({
  x402Version: z.literal(X402_VERSION, 'must be 2.'),
  accepted: z.record(z.string(), z.unknown(), 'must be an object.'),
  payload: z.record(z.string(), z.unknown(), 'must be an object.'),
  resource: z.record(z.string(), z.unknown(), 'must be an object.').optional(),
  extensions: z.record(z.string(), z.unknown(), 'must be an object.').optional(),
})
const identifierRule = z
  .string('must be a string.')
  .regex(/^[A-Za-z0-9_-]{16,128}$/, 'must have 16 to 128 letters, digits, hyphens and underscores.')

/** Parses a payment as in the header PAYMENT-SIGNATURE. @throws invalid_request */
export function parsePayment(header: string): Payment {
  const text = header.trim()
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) throw invalidPaymentError('must be base64.')
  let value: unknown
  try {
    value = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'base64')))
  } catch (error) {
    if (error instanceof UnsafeInputError) throw invalidPaymentError(error.message.replace(/^The body /, ''))
    throw invalidPaymentError('must be base64 of UTF-8 text.')
  }
  if (!isObject(value)) throw invalidPaymentError('must contain a JSON object.')
  const { accepted, payload, resource, extensions } = checkInput(paymentRules, value, [PAYMENT_ARGUMENT])
  const identifierExtension = extensions?.['payment-identifier']
  const info = isObject(identifierExtension) ? identifierExtension['info'] : undefined
  const id = isObject(info) ? info['id'] : undefined
  const path = [PAYMENT_ARGUMENT, 'extensions', 'payment-identifier', 'info']
  const identifier =
    id === undefined || id === null ? null : checkInput(z.object({ id: identifierRule }), { id }, path).id
  return { accepted, payload, resource, extensions, identifier }
}

const invalidPaymentError = (message: string) => invalidField(PAYMENT_ARGUMENT, 'invalid_format', message)

/** Returns the EIP-3009 authorization of a payment, or null if it has none with valid addresses and nonce. */
export function authorizationOf(payment: Payment): { from: string; to: string; value: string; nonce: string } | null {
  const given = payment.payload['authorization']
  if (!isObject(given)) return null
  const { from, to, value, nonce } = given
  const isHex = (text: unknown): text is string => typeof text === 'string' && /^0x[0-9a-fA-F]+$/.test(text)
  return isHex(from) && isHex(to) && isHex(nonce) ? { from, to, value: String(value), nonce } : null
}

/**
 * Returns whether `accepted` of a payment equals the requirements. The EIP-3009 authorization of the payment, if there
 * is one, must also transfer the required amount to the required address.
 */
export function acceptsRequirements(payment: Payment, requirements: PaymentRequirements): boolean {
  const { network } = requirements
  const canonicalize = (value: unknown): string => {
    if (!isObject(value)) return ''
    const { asset, payTo, ...rest } = value
    const address = (text: unknown) => (network.startsWith('eip155:') ? String(text).toLowerCase() : text)
    return canonicalJson({ ...rest, asset: address(asset), payTo: address(payTo) })
  }
  if (canonicalize(payment.accepted) !== canonicalize(requirements)) return false
  const authorization = authorizationOf(payment)
  if (!authorization) return true
  return authorization.value === requirements.amount && sameAddress(network, authorization.to, requirements.payTo)
}

/**
 * Returns the identity of a payment. For an EIP-3009 authorization, the identity consists of the network, the asset,
 * the wallet and the nonce, because a nonce is valid for one transfer. The signature is not a part of the identity,
 * because a signature has more than one valid encoding. For other payments, the identity contains a hash of the
 * payload.
 */
export function paymentKeyOf(payment: Payment, { network, asset }: PaymentRequirements): string {
  const authorization = authorizationOf(payment)
  if (!authorization) {
    return `${network}:${createHash('sha256').update(canonicalJson(payment.payload)).digest('hex')}`
  }
  return [network, asset, authorization.from, authorization.nonce].join(':').toLowerCase()
}
