/**
 * Redirect URI matching (docs/contract.md#redirect-uri-matching). URIs are compared as raw text, because `new URL()`
 * normalizes its input, so that a different URI of an attacker could match.
 */
import { redirectUriRulesOf, redirectUriViolation } from '../../resources/clients/redirect-uri-rules.js'
import { applicationType } from '../../resources/clients/settings.js'
import type { OpenIdClient } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'
import { clientRowOf } from './client.js'

/** An HTTP URI with the host `127.0.0.1`, `[::1]` or `localhost`, and an optional port. */
const loopbackUri = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([0-9]{1,5}))?([/?].*)?$/s

/**
 * Checks whether a requested redirect URI equals a registered one, character by character (except for a port that may
 * vary).
 * @param portMayVary allow any port of an HTTP URI on a loopback host (RFC 8252 section 7.3), for public native clients
 * and metadata document clients; the hosts are not interchangeable
 */
export function isRedirectUriAllowed(registered: readonly string[], requested: string, portMayVary: boolean): boolean {
  if (registered.includes(requested)) return true
  const requestedParts = portMayVary ? loopbackUri.exec(requested) : null
  if (!requestedParts || !isPort(requestedParts[2])) return false
  return registered.some((uri) => {
    const registeredParts = loopbackUri.exec(uri)
    return (
      registeredParts !== null &&
      registeredParts[1] === requestedParts[1] &&
      (registeredParts[3] ?? '') === (requestedParts[3] ?? '')
    )
  })
}

const isPort = (text: string | undefined): boolean =>
  text === undefined || (!text.startsWith('0') && Number(text) <= 65_535)

/**
 * Checks whether a client may use a redirect URI. Public native clients and clients with a metadata document can vary
 * the port of an HTTP URI on a loopback host (docs/contract.md#redirect-uri-matching).
 */
export function isRegisteredRedirectUri(client: OpenIdClient, uri: string): boolean {
  const row = clientRowOf(client)
  // The application type of a client with a metadata document is `native`.
  const portMayVary = !row.confidential && applicationType(row) === 'native'
  return isRedirectUriAllowed(client.redirectUris ?? [], uri, portMayVary)
}

/**
 * Returns why the issuer's rules refuse a redirect URI of a client with a metadata document, for the developer who
 * reads the error page; undefined for an allowed URI and for other clients.
 */
export function redirectUriRefusalReason(
  { runtime }: RequestContext,
  client: OpenIdClient | undefined,
  uri: string | undefined,
): string | undefined {
  if (!client || uri === undefined || !clientRowOf(client).document || !URL.canParse(uri)) return undefined
  return redirectUriViolation(redirectUriRulesOf(runtime.issuer), uri)
}
