/** The payment headers of x402 v2 in `/v1`: base64-encoded JSON (docs/contract.md#payment-challenge). */
import type { SelectionSetNode } from 'graphql'

/** The CORS header that lets scripts of other origins read the payment headers. */
export const exposedHeaders = { 'Access-Control-Expose-Headers': 'PAYMENT-REQUIRED, PAYMENT-RESPONSE' }

const header = (description: string) => ({ description, schema: { type: 'string' } })

/** The payment headers of responses in the OpenAPI document, by status. */
export const paymentHeaders: Record<number, Record<string, unknown>> = {
  200: { 'PAYMENT-RESPONSE': header('SettlementResponse, as base64-encoded JSON.') },
  402: {
    'PAYMENT-REQUIRED': header('PaymentRequired, as base64-encoded JSON.'),
    'PAYMENT-RESPONSE': header('SettlementResponse of a failed settlement.'),
  },
}

/** The field of a top-up that `/v1` returns in a header instead of the body. */
const SETTLEMENT = 'settlement'

/** Returns a selection without the settlement, because the body of the response does not contain it. */
export const withoutSettlement = (set: SelectionSetNode): SelectionSetNode => ({
  ...set,
  selections: set.selections.filter((node) => node.kind !== 'Field' || node.name.value !== SETTLEMENT),
})

/** Moves the settlement from the result of a paid operation to the PAYMENT-RESPONSE header. */
export function splitSettlement(value: unknown): { headers: Record<string, string>; body: unknown } {
  const { [SETTLEMENT]: settlement, ...body } = value as Record<string, unknown>
  return { headers: { 'PAYMENT-RESPONSE': Buffer.from(JSON.stringify(settlement)).toString('base64') }, body }
}
