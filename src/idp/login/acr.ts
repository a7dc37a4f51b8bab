/**
 * Authentication methods that an application requests with `acr_values` (docs/contract.md#tokens-and-claims,
 * docs/contract.md#recent-sign-in, RFC 9470).
 */

const METHOD_URN_PREFIX = 'urn:svc:method:'

/** Returns the methods of which `acr_values` requires one; undefined if it is absent, empty or has other values. */
export function requestedMethods(acrValues: string | undefined): string[] | undefined {
  const values = (acrValues ?? '').split(' ').filter((value) => value !== '')
  if (values.length === 0 || !values.every((value) => value.startsWith(METHOD_URN_PREFIX))) return undefined
  return values.map((value) => value.slice(METHOD_URN_PREFIX.length))
}

/** Returns the `acr` value of an authentication method. */
export const acrOfMethod = (method: string): string => METHOD_URN_PREFIX + method
