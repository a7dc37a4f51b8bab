/**
 * Authentication methods that an application requests with `acr_values` (docs/contract.md#tokens-and-claims,
 * docs/contract.md#recent-sign-in, RFC 9470).
 */

const METHOD_URN_PREFIX = 'urn:svc:method:'

/** Returns the methods that `acr_values` accepts; undefined if any method is accepted. */
export function requestedMethods(acrValues: string | undefined): string[] | undefined {
  const values = (acrValues ?? '').split(' ').filter((value) => value !== '')
  if (values.length === 0 || !values.every((value) => value.startsWith(METHOD_URN_PREFIX))) return undefined
  return values.map((value) => value.slice(METHOD_URN_PREFIX.length))
}

export const acrOfMethod = (method: string): string => METHOD_URN_PREFIX + method
