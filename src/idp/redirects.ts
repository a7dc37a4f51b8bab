/** The redirect URI rule (spec 4.17), on raw text: `new URL()` would repair what an attacker wrote. */
import { redirectUriRulesOf, refusalOf } from '../resources/clients/redirect-uri-rules.js'
import { applicationType } from '../resources/clients/settings.js'
import { rowOf } from './client.js'
import type { OpenIdClient } from './library.js'
import { scope } from './scope.js'

/** `http://`, a loopback host in one of its three spellings, a port or none, and the rest. */
const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([0-9]{1,5}))?([/?].*)?$/s

/**
 * May an answer go to this address? Only to a registered one, character by character.
 * @param portMayVary for public native clients and metadata-document clients: the port of an http callback on a
 * loopback host is theirs to choose when they start (RFC 8252 7.3); hosts are not interchangeable
 */
export function redirectAllowed(registered: readonly string[], requested: string, portMayVary: boolean): boolean {
  if (registered.includes(requested)) return true
  const asked = portMayVary ? loopback.exec(requested) : null
  if (!asked || !isPort(asked[2])) return false
  return registered.some((uri) => {
    const known = loopback.exec(uri)
    return known !== null && known[1] === asked[1] && (known[3] ?? '') === (asked[3] ?? '')
  })
}

const isPort = (text: string | undefined): boolean =>
  text === undefined || (!text.startsWith('0') && Number(text) <= 65_535)

/** Spec 4.17: exact, but a public native client, or one with a metadata document, may vary the port of a loopback callback. */
export function mayRedirectTo(client: OpenIdClient, uri: string): boolean {
  const row = rowOf(client)
  // Metadata-document clients count as native here.
  const portMayVary = !row.confidential && applicationType(row) === 'native'
  return redirectAllowed(client.redirectUris ?? [], uri, portMayVary)
}

/**
 * Why a redirect URI of a metadata document is refused although the document may list it: by a rule of the issuer. The
 * person who runs the application reads it on the error page.
 */
export function redirectRefusal(client: OpenIdClient | undefined, uri: string | undefined): string | undefined {
  if (!client || uri === undefined || !rowOf(client).document || !URL.canParse(uri)) return undefined
  return refusalOf(redirectUriRulesOf(scope().runtime.issuer), uri)
}
