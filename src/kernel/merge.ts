export type JsonObject = Record<string, unknown>

/** Is this a JSON object (not null, not an array)? */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * JSON Merge Patch (RFC 7396): objects are merged key by key, `null` removes, everything else replaces.
 * Works on maps without a prototype, so that no key can reach one.
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

/** The same at the top level only, as metadata is merged (decisions D27): values are replaced whole. */
export function mergeMetadata(target: unknown, patch: JsonObject): JsonObject {
  const result: JsonObject = Object.assign(Object.create(null), isObject(target) ? target : {})
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = value
  }
  return { ...result }
}
