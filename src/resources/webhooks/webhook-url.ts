/**
 * Rules for webhook URLs. These rules are checked on input, for early feedback. In addition, platform/outbound checks
 * the resolved address at each connection, because DNS records can change.
 */
import { isIP } from 'node:net'
import { isPublicAddress } from '../../platform/outbound/outbound.js'

/**
 * Host names that do not resolve on the public internet (RFC 6761, 6762, 7686, 8375 and 9476; ICANN has reserved
 * `internal`).
 */
const internalHostNames = /(^|\.)(localhost|local|internal|home\.arpa|invalid|test|onion|alt)$/

/**
 * Validates a webhook URL. Returns the end of an error sentence, or undefined if the URL is valid.
 * @param allowPrivate also allows plain http and private networks (ALLOW_PRIVATE_NETWORKS)
 */
export function addressError(text: string, allowPrivate: boolean): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the rule rejects control characters
  if (/[\u0000-\u0020\u007f\\]/.test(text) || !/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) {
    return 'must be an absolute https URL without spaces, control characters or backslashes.'
  }
  const url = new URL(text)
  if (url.protocol !== 'https:' && !allowPrivate) return 'must start with https://.'
  if (url.username !== '' || url.password !== '' || url.host === '' || /^https?:\/\/[^/?#]*@/i.test(text)) {
    return 'must not contain a username or password.'
  }
  if (text.includes('#')) return 'must not contain a fragment.'
  if (allowPrivate) return undefined
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const isPublic = isIP(host) === 0 ? host.includes('.') && !internalHostNames.test(host) : isPublicAddress(host)
  return isPublic ? undefined : 'must be a public address; private networks need ALLOW_PRIVATE_NETWORKS.'
}
