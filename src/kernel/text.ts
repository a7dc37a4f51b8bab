/**
 * The beginning of a text, never half a character: a lone surrogate is nothing that a database can hold.
 * @param length in UTF-16 code units
 */
export const startOf = (text: string, length: number): string => text.slice(0, length).replace(/[\ud800-\udbff]$/, '')
