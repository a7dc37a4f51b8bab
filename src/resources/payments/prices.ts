/**
 * Prices of operations in micro-USD, by the name of the GraphQL root field, such as `createUser`. Operations without a
 * price are free. Only gated accounts pay, from their prepaid credit (docs/contract.md#accounts).
 */
export const prices: Readonly<Record<string, number>> = {}
