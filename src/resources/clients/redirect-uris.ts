/**
 * Validation of redirect URIs and post-logout redirect URIs (docs/contract.md#redirect-uri-registration). The rules
 * apply to the text before parsing, because `new URL()` silently normalizes malicious input. URLs whose host or path it
 * would change are rejected.
 */
import type { ErrorDetail } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import { isLoopback } from '../../kernel/uri.js'

export type ApplicationType = 'web' | 'spa' | 'native' | 'm2m'

/** Checks a redirect URI. Returns the error message, without the name of the field; undefined if the URI is valid. */
export function redirectUriError(type: ApplicationType, text: string): string | undefined {
  if (text.length > limits.maxRedirectUriLength) return `must have at most ${limits.maxRedirectUriLength} characters.`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the rule rejects control characters
  if (/[\u0000-\u0020\u007f-\u00a0\\]|\s/u.test(text))
    return 'must not contain whitespace, control characters or backslashes.'
  if (text.includes('#')) return 'must not contain a fragment.'
  if (!/^([\w\-.~:/?[\]@!$&'()*+,;=]|%[0-9a-f]{2})*$/i.test(text))
    return 'must contain only URI characters (RFC 3986); percent-encode others.'
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]
  if (scheme === undefined || !URL.canParse(text)) return 'must be an absolute URI.'
  if (scheme === 'https' || scheme === 'http') return webUriError(scheme, text)
  if (type !== 'native') return 'must be an https URL, or http on 127.0.0.1, [::1] or localhost.'
  return privateUseUriError(scheme, text)
}

function webUriError(scheme: string, text: string): string | undefined {
  const url = new URL(text)
  const authority = /^https?:\/\/([^/?]*)/.exec(text)?.[1]
  if (authority === undefined || authority === '') return `must start with ${scheme}:// and a host.`
  if (authority.includes('@') || url.username || url.password) return 'must not contain a username or password.'
  if (/\/(\.|%2e){1,2}(\/|\?|$)/i.test(text)) return 'must not contain dot segments.'
  const port = /:(\d+)$/.exec(authority)?.[1]
  const host = port === undefined ? authority : authority.slice(0, -port.length - 1)
  if (host !== url.hostname || /:$/.test(authority))
    return 'must have a host in lower case and in its canonical form, and no empty port.'
  if (port !== undefined && !/^[1-9]\d*$/.test(port)) return 'must have a port without leading zeros.'
  if (/[*%]/.test(host)) return 'must have a host without wildcards or escapes.'
  if (scheme === 'http' && !isLoopback(host))
    return 'must use https; http is only allowed for 127.0.0.1, [::1] and localhost.'
  return undefined
}

/** Checks a URI with a private-use scheme, which must be a reversed domain name (RFC 8252 section 7.1). */
function privateUseUriError(scheme: string, text: string): string | undefined {
  if (!/^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$/.test(scheme)) {
    return 'must use https, http on a loopback host, or a scheme that is a reversed domain name such as com.example.app.'
  }
  if (/^[^:]+:\/\/[^/?]*@/.test(text)) return 'must not contain a username or password.'
  return undefined
}

/**
 * Returns the errors of a list of redirect URIs. The `field` of each error contains the index of the URI. An empty list
 * is valid, because redirect URIs can be added later.
 */
export function redirectUriErrors(field: string, type: ApplicationType, list: readonly string[]): ErrorDetail[] {
  if (type === 'm2m' && list.length > 0) {
    return [{ field, code: 'not_allowed', message: 'must be empty for a machine-to-machine client.' }]
  }
  return list.flatMap((text, index) => {
    const message = redirectUriError(type, text)
    return message ? [{ field: `${field}[${index}]`, code: 'invalid_format', message }] : []
  })
}
