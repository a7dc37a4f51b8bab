/**
 * What operations cost, in micro-USD, by the name of their root field (`createUser`). Empty: nothing costs anything.
 * Only gated accounts pay (spec 2.2), out of their prepaid credit.
 */
export const prices: Readonly<Record<string, number>> = {}
