export type JsonObject = Record<string, unknown>

/** Returns true for a JSON object, which excludes null and arrays. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Applies a JSON Merge Patch (RFC 7396) and returns the result. Builds the result in an object without a prototype, so
 * that a key such as `__proto__` cannot modify a prototype.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result: JsonObject = Object.assign(Object.create(null), isObject(target) ? target : {})
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = mergePatch(result[key], value)
  }
  return { ...result }
}

/**
 * Merges the top level of two objects. Unlike `mergePatch`, it replaces nested objects as a whole
 * (docs/contract.md#common-field-rules).
 */
export function mergeMetadata(target: unknown, patch: JsonObject): JsonObject {
  const result: JsonObject = Object.assign(Object.create(null), isObject(target) ? target : {})
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = value
  }
  return { ...result }
}
