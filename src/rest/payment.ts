/** Payment headers of x402 v2 (decisions D18): base64 of JSON. */

/** What scripts of other origins may read of an answer. */
export const exposedHeaders = { 'Access-Control-Expose-Headers': 'PAYMENT-REQUIRED, PAYMENT-RESPONSE' }

/** The headers of an answer that tells how a payment was settled. */
export const settlementHeader = (settlement: unknown): Record<string, string> => ({
  'PAYMENT-RESPONSE': Buffer.from(JSON.stringify(settlement)).toString('base64'),
})
