/**
 * Callback rules (spec 4.16): which redirect and post-logout redirect URIs a client may register. Judged on the raw
 * text: `new URL()` quietly repairs what an attacker wrote, so anything that it would repair is refused.
 */
import type { Detail } from '../../kernel/errors.js'
import { isLoopback } from '../../kernel/uri.js'

export type ApplicationType = 'web' | 'spa' | 'native' | 'm2m'

export const MAX_CALLBACKS = 100
const MAX_LENGTH = 2048

/** @returns why this callback is refused, as the end of a sentence, or undefined when it may be registered */
export function callbackFault(type: ApplicationType, text: string): string | undefined {
  if (text.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters.`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u0020\u007f-\u00a0\\]|\s/u.test(text))
    return 'must not hold whitespace, control characters or backslashes.'
  if (text.includes('#')) return 'must not have a fragment.'
  if (!/^([\w\-.~:/?[\]@!$&'()*+,;=]|%[0-9a-f]{2})*$/i.test(text))
    return 'must hold only the characters of a URI (RFC 3986), others percent-encoded.'
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]
  if (scheme === undefined || !URL.canParse(text)) return 'must be an absolute URI.'
  if (scheme === 'https' || scheme === 'http') return webFault(scheme, text)
  if (type !== 'native') return 'must be an https URL, or http on 127.0.0.1, [::1] or localhost.'
  return privateUseFault(scheme, text)
}

function webFault(scheme: string, text: string): string | undefined {
  const url = new URL(text)
  const authority = /^https?:\/\/([^/?]*)/.exec(text)?.[1]
  if (authority === undefined || authority === '') return `must begin with ${scheme}:// and a host.`
  if (authority.includes('@') || url.username || url.password) return 'must not hold credentials.'
  if (/\/(\.|%2e){1,2}(\/|\?|$)/i.test(text)) return 'must not have dot segments.'
  const port = /:(\d+)$/.exec(authority)?.[1]
  const host = port === undefined ? authority : authority.slice(0, -port.length - 1)
  if (host !== url.hostname || /:$/.test(authority)) return 'must have a host in lower case, in its ordinary form.'
  if (port !== undefined && !/^[1-9]\d*$/.test(port)) return 'must have a port without leading zeros.'
  if (/[*%]/.test(host)) return 'must have a host without wildcards or escapes.'
  if (scheme === 'http' && !isLoopback(host)) return 'must use https; http is for 127.0.0.1, [::1] and localhost only.'
  return undefined
}

/** RFC 8252 7.1: private-use schemes are reversed domain names. */
function privateUseFault(scheme: string, text: string): string | undefined {
  if (!/^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$/.test(scheme)) {
    return 'must use https, http on a loopback host, or a scheme that is a reversed domain name such as com.example.app.'
  }
  if (/^[^:]+:\/\/[^/?]*@/.test(text)) return 'must not hold credentials.'
  return undefined
}

/** The faults of a whole list, each with its place. An empty list is an incomplete client, not a fault. */
export function callbackFaults(field: string, type: ApplicationType, list: readonly string[]): Detail[] {
  if (type === 'm2m' && list.length > 0) {
    return [{ field, code: 'not_allowed', message: 'must be empty for a machine-to-machine client.' }]
  }
  return list.flatMap((text, index) => {
    const message = callbackFault(type, text)
    return message ? [{ field: `${field}[${index}]`, code: 'invalid_format', message }] : []
  })
}
