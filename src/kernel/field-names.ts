/**
 * Converts field names between REST (`created_at`) and GraphQL (`createdAt`). REST names of amounts in micro-USD end in
 * `_μusd` with U+03BC, which GraphQL names cannot contain, so GraphQL uses `MicroUsd`.
 */

/** U+00B5 MICRO SIGN, which keyboards produce. It looks like U+03BC, and NFKC maps it to U+03BC. */
const MICRO_SIGN = /\u00b5/g

/** Replaces U+00B5 with U+03BC in a REST field name. */
export const normalizeMicroSign = (name: string): string => name.replace(MICRO_SIGN, '\u03bc')

/** Converts `created_at` to `createdAt` and `amount_μusd` to `amountMicroUsd`. */
export const camelCase = (name: string): string =>
  name.replace(/_\u03bcusd$/, 'MicroUsd').replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** Converts `createdAt` to `created_at` and `amountMicroUsd` to `amount_μusd`. */
export const snakeCase = (name: string): string =>
  name.replace(/MicroUsd$/, '_\u03bcusd').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** GraphQL arguments that are headers in `/v1`. */
const headerArguments: Record<string, string> = {
  ifMatch: 'If-Match',
  idempotencyKey: 'Idempotency-Key',
  paymentSignature: 'PAYMENT-SIGNATURE',
}

/** Returns the name in `/v1` of a GraphQL argument or field: the name of a header or of a field. */
export const restName = (name: string): string => headerArguments[name] ?? snakeCase(name)
