/** Payment headers of x402 v2 in `/v1` (decisions D18): base64 of JSON. */
import type { SelectionSetNode } from 'graphql'

/** What scripts of other origins may read of an answer. */
export const exposedHeaders = { 'Access-Control-Expose-Headers': 'PAYMENT-REQUIRED, PAYMENT-RESPONSE' }

const header = (description: string) => ({ description, schema: { type: 'string' } })

/** As the OpenAPI document tells them, by status. */
export const paymentHeaders: Record<number, Record<string, unknown>> = {
  200: { 'PAYMENT-RESPONSE': header('SettlementResponse, base64 of JSON.') },
  402: {
    'PAYMENT-REQUIRED': header('PaymentRequired, base64 of JSON.'),
    'PAYMENT-RESPONSE': header('SettlementResponse, if there was one and it failed.'),
  },
}

/** The alias in graphql/rest of what goes into a header, not into the body. */
const SETTLEMENT = 'payment_response'

export const withoutSettlement = (set: SelectionSetNode): SelectionSetNode => ({
  ...set,
  selections: set.selections.filter((node) => node.kind !== 'Field' || node.alias?.value !== SETTLEMENT),
})

/** Takes the settlement out of what a paid operation gave. */
export function settlementOf(value: unknown): { headers: Record<string, string>; body: unknown } {
  const { [SETTLEMENT]: settlement, ...body } = value as Record<string, unknown>
  return { headers: { 'PAYMENT-RESPONSE': Buffer.from(JSON.stringify(settlement)).toString('base64') }, body }
}
