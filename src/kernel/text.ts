/**
 * Truncates a text without splitting a surrogate pair, because PostgreSQL cannot store a lone surrogate.
 * @param maxLength the maximum length in UTF-16 code units
 */
export const truncateText = (text: string, maxLength: number): string =>
  text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')
