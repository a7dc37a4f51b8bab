/** Which way of signing in an application asks for (spec 5.3, RFC 9470, decisions D25). */

const METHOD = 'urn:svc:method:'

/** The methods that `acr_values` leaves to choose from; undefined where anything will do. */
export function wishedMethods(acrValues: string | undefined): string[] | undefined {
  const values = (acrValues ?? '').split(' ').filter((value) => value !== '')
  if (values.length === 0 || !values.every((value) => value.startsWith(METHOD))) return undefined
  return values.map((value) => value.slice(METHOD.length))
}

export const acrOfMethod = (method: string): string => METHOD + method
