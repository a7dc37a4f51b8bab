/**
 * What x402 v2 says to each other in headers (decisions D18): the challenge that names what to pay, the payment that
 * answers it, and the answer about its settlement. Pure words; the facilitator is asked elsewhere.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Config } from '../../config.js'
import { canonicalJson } from '../../kernel/canonical.js'
import { ApiError, invalidField } from '../../kernel/errors.js'
import { GateError, parseJson } from '../../kernel/gate.js'
import { check } from '../../kernel/input.js'
import { isObject } from '../../kernel/merge.js'
import { sameAddress } from './payment-methods.js'

export const X402_VERSION = 2
/** The payment as an argument; `/v1` names its header. */
const ARGUMENT = 'paymentSignature'
/** Seconds that a payer gets to be settled. */
const TIMEOUT_SECONDS = 60

/** PaymentRequirements. */
export interface Requirements {
  scheme: 'exact'
  network: string
  /** USDC has six decimals: micro-USD as they are. */
  amount: string
  asset: string
  payTo: string
  maxTimeoutSeconds: number
  extra: Record<string, string>
}

/** A payment as its payer has sent it. */
export interface Payment {
  accepted: unknown
  payload: Record<string, unknown>
  resource?: Record<string, unknown> | undefined
  extensions?: Record<string, unknown> | undefined
  /** The payer's own name for it. */
  identifier: string | null
}

/** SettlementResponse. */
export interface Settlement {
  success: boolean
  transaction: string
  network: string
  payer?: string
  errorReason?: string
}

/**
 * The name that USDC signs by (its EIP-712 domain) where that is not «USDC». A payment signed with another name is worth
 * nothing to the token.
 */
const usdCoin = new Set([
  'eip155:1:0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
  'eip155:137:0x3c499c542cef5e3811e1192ce70d8cc03d5c3359',
  'eip155:8453:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  'eip155:43114:0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e',
])

type Payments = NonNullable<Config['payments']>

/** What a payment of this amount must be. */
export function requirementsFor({ network, asset, payTo }: Payments, amountMicroUsd: number): Requirements {
  const name = usdCoin.has(`${network}:${asset.toLowerCase()}`) ? 'USD Coin' : 'USDC'
  return {
    scheme: 'exact',
    network,
    amount: String(amountMicroUsd),
    asset,
    payTo,
    maxTimeoutSeconds: TIMEOUT_SECONDS,
    extra: { name, version: '2' },
  }
}

const identifierSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { required: { type: 'boolean' }, id: { type: 'string', minLength: 16, maxLength: 128 } },
  required: ['required'],
}

/** What a challenge is about. */
export interface Offer {
  /** The address that is paid for. */
  url: string
  requirements: Requirements
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64')

/**
 * 402 with the challenge, in a header and in the body, and with what became of the payment that was tried.
 * @param error for people
 */
export function paymentRequired({ url, requirements }: Offer, error: string, settlement?: Settlement): ApiError {
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
      'PAYMENT-REQUIRED': encoded(challenge),
      ...(settlement && { 'PAYMENT-RESPONSE': encoded(settlement) }),
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

/** Reads a PAYMENT-SIGNATURE header. @throws invalid_request */
export function readPayment(header: string): Payment {
  const text = header.trim()
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) throw unreadable('must be base64.')
  let value: unknown
  try {
    value = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'base64')))
  } catch (error) {
    if (error instanceof GateError) throw unreadable(error.message.replace(/^The body /, ''))
    throw unreadable('must be base64 of UTF-8 text.')
  }
  if (!isObject(value)) throw unreadable('must hold a JSON object.')
  const { accepted, payload, resource, extensions } = check(paymentRules, value, [ARGUMENT])
  const named = extensions?.['payment-identifier']
  const info = isObject(named) ? named['info'] : undefined
  const id = isObject(info) ? info['id'] : undefined
  const path = [ARGUMENT, 'extensions', 'payment-identifier', 'info']
  const identifier = id === undefined || id === null ? null : check(z.object({ id: identifierRule }), { id }, path).id
  return { accepted, payload, resource, extensions, identifier }
}

const unreadable = (message: string) => invalidField(ARGUMENT, 'invalid_format', message)

/** The authorization of EIP-3009 in a payment, if it is one. */
export function authorizationOf(payment: Payment): { from: string; to: string; value: string; nonce: string } | null {
  const given = payment.payload['authorization']
  if (!isObject(given)) return null
  const { from, to, value, nonce } = given
  const isHex = (text: unknown): text is string => typeof text === 'string' && /^0x[0-9a-fA-F]+$/.test(text)
  return isHex(from) && isHex(to) && isHex(nonce) ? { from, to, value: String(value), nonce } : null
}

/** Does a payment accept what is offered, and does what it authorizes say the same? */
export function accepts(payment: Payment, requirements: Requirements): boolean {
  const { network } = requirements
  const plain = (value: unknown): string => {
    if (!isObject(value)) return ''
    const { asset, payTo, ...rest } = value
    const address = (text: unknown) => (network.startsWith('eip155:') ? String(text).toLowerCase() : text)
    return canonicalJson({ ...rest, asset: address(asset), payTo: address(payTo) })
  }
  if (plain(payment.accepted) !== plain(requirements)) return false
  const authorization = authorizationOf(payment)
  if (!authorization) return true
  return authorization.value === requirements.amount && sameAddress(network, authorization.to, requirements.payTo)
}

/**
 * What makes two payments the same one. A wallet never signs a nonce for two transfers, whereas a signature can be
 * written in more than one way.
 */
export function paymentKeyOf(payment: Payment, { network, asset }: Requirements): string {
  const authorization = authorizationOf(payment)
  if (!authorization) {
    return `${network}:${createHash('sha256').update(canonicalJson(payment.payload)).digest('hex')}`
  }
  return [network, asset, authorization.from, authorization.nonce].join(':').toLowerCase()
}
