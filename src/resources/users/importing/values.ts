/** Reading values that another product wrote: what is missing, null or of another type counts as absent. */
export type Json = Record<string, unknown>

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A text that is not empty. */
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined

export const object = (value: unknown): Json => (isJson(value) ? value : {})
export const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : [])

/** Unix milliseconds of a moment: a number of them, an ISO date, or MongoDB's `{"$date": …}`. */
export function moment(value: unknown): number | undefined {
  const plain = isJson(value) ? value['$date'] : value
  const time = typeof plain === 'string' ? Date.parse(plain) : plain
  return typeof time === 'number' && Number.isSafeInteger(time) && time >= 0 ? time : undefined
}

/** JSON within JSON, as Keycloak keeps credentials. */
export function parsed(value: unknown): Json {
  if (typeof value !== 'string') return object(value)
  try {
    return object(JSON.parse(value))
  } catch {
    return {}
  }
}

/** Without what is undefined, so that absent stays absent. */
export const given = <T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
