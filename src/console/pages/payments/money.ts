/** Amounts of the ledger are whole millionths of a US dollar. */
const dollars = new Intl.NumberFormat('en', {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
})

/** @param microUsd millionths of a US dollar */
export const formatUsd = (microUsd: number): string => dollars.format(microUsd / 1_000_000)

export const formatSignedUsd = (microUsd: number): string => `${microUsd > 0 ? '+' : ''}${formatUsd(microUsd)}`
