/**
 * Authentication methods that an application requests with `acr_values` (docs/contract.md#tokens-and-claims,
 * docs/contract.md#recent-sign-in, RFC 9470).
 */
import { AuthMethodKind } from '../../resources/issuers/auth-method.js'

const METHOD_URN_PREFIX = 'urn:svc:method:'

/** Returns the methods of which `acr_values` requires one; undefined if it is absent, empty or has other values. */
export function requestedMethods(acrValues: string | undefined): string[] | undefined {
  const values = (acrValues ?? '').split(' ').filter((value) => value !== '')
  if (values.length === 0 || !values.every((value) => value.startsWith(METHOD_URN_PREFIX))) return undefined
  return values.map((value) => value.slice(METHOD_URN_PREFIX.length))
}

/** Returns the `acr` value of an authentication method. */
export const acrOfMethod = (method: string): string => METHOD_URN_PREFIX + method

/** The value of `acr` for a sign-in without a requested method. */
export const DEFAULT_ACR = 'urn:svc:assurance:loa1'

/** All values of `acr`, the default value first. */
export const acrValuesSupported: readonly string[] = [DEFAULT_ACR, ...Object.keys(AuthMethodKind).map(acrOfMethod)]
