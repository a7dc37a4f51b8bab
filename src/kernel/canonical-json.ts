/**
 * Serializes a value as JSON with the keys of all objects in a fixed order, so that equal values have equal text. Use
 * the text only for comparisons: it does not follow the JSON Canonicalization Scheme (RFC 8785).
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
