/** Serializes a value with sorted keys, so that equal values have equal text. Only for comparisons; not RFC 8785. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
