/**
 * How the two faces spell a field: `created_at` in REST is `createdAt` in GraphQL. Amounts in micro-USD end in `_μusd`
 * there, with U+03BC, which is no letter of GraphQL's: here it is `MicroUsd` (decisions, traps 1).
 */

/** Keyboards give U+00B5, which looks the same and which NFKC folds to U+03BC. */
const MICRO_SIGN = /\u00b5/g

/** A REST name as the contract writes it, whichever μ was typed. */
export const folded = (name: string): string => name.replace(MICRO_SIGN, '\u03bc')

/** `created_at` as `createdAt`, `amount_μusd` as `amountMicroUsd`. */
export const camel = (name: string): string =>
  name.replace(/_\u03bcusd$/, 'MicroUsd').replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** The way back. */
export const snake = (name: string): string =>
  name.replace(/MicroUsd$/, '_\u03bcusd').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Arguments of GraphQL that are headers in `/v1`. */
const headers: Record<string, string> = {
  ifMatch: 'If-Match',
  idempotencyKey: 'Idempotency-Key',
  paymentSignature: 'PAYMENT-SIGNATURE',
}

/** An argument or field of GraphQL as `/v1` calls it: a header as it is written, or a field. */
export const restName = (name: string): string => headers[name] ?? snake(name)

/** The REST name behind an alias in graphql/rest, where `_micro_usd` stands for what GraphQL cannot spell. */
export const wireName = (alias: string): string => alias.replace(/_micro_usd$/, '_\u03bcusd')
