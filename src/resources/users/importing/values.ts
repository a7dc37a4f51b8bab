/** Reads values of other products. Missing values, null and values of the wrong type are treated as absent. */
export type JsonObject = Record<string, unknown>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const nonEmptyString = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined

export const objectOrEmpty = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})
export const objectsOf = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : [])

/** Returns Unix milliseconds from a number of milliseconds, an ISO 8601 date, or MongoDB's `{"$date": …}`. */
export function timestampOf(value: unknown): number | undefined {
  const plain = isJsonObject(value) ? value['$date'] : value
  const time = typeof plain === 'string' ? Date.parse(plain) : plain
  return typeof time === 'number' && Number.isSafeInteger(time) && time >= 0 ? time : undefined
}

/**
 * Parses a string with the JSON of an object, as in Keycloak's credentials. Returns an object as it is, and an empty
 * object for other values.
 */
export function parseNestedJson(value: unknown): JsonObject {
  if (typeof value !== 'string') return objectOrEmpty(value)
  try {
    return objectOrEmpty(JSON.parse(value))
  } catch {
    return {}
  }
}

/** Removes properties whose value is undefined. */
export const omitUndefined = <T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
