/** The payment headers of x402 v2 in `/v1`: base64-encoded JSON (docs/contract.md#payment-challenge). */

/** The CORS header that lets scripts of other origins read the payment headers. */
export const exposedHeaders = { 'Access-Control-Expose-Headers': 'PAYMENT-REQUIRED, PAYMENT-RESPONSE' }

/** The field of a top-up that `/v1` returns in a header instead of the body. */
export const SETTLEMENT = 'settlement'

/** Moves the settlement from the result of a paid operation to the PAYMENT-RESPONSE header. */
export function splitSettlement(value: unknown): { headers: Record<string, string>; body: unknown } {
  const { [SETTLEMENT]: settlement, ...body } = value as Record<string, unknown>
  return { headers: { 'PAYMENT-RESPONSE': Buffer.from(JSON.stringify(settlement)).toString('base64') }, body }
}
