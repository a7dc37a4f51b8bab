/**
 * Where a webhook may lead. Judged when the address is written, so that mistakes are told at once, and again by
 * platform/outbound at every connection, for a name may lead elsewhere by then.
 */
import { isIP } from 'node:net'
import { isPublicAddress } from '../../platform/outbound.js'

/** Names that never mean a host of the Internet (RFC 6761, 6762, 8375, 9476). */
const innerNames = /(^|\.)(localhost|local|internal|home\.arpa|invalid|test|onion|alt)$/

/**
 * What is wrong with an address, as the end of a sentence; undefined for a good one.
 * @param allowPrivate plain http and addresses of any network are good too (ALLOW_PRIVATE_NETWORKS)
 */
export function addressFault(text: string, allowPrivate: boolean): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u0020\u007f\\]/.test(text) || !/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) {
    return 'must be an absolute https URL without spaces, control characters or backslashes.'
  }
  const url = new URL(text)
  if (url.protocol !== 'https:' && !allowPrivate) return 'must begin with https://.'
  if (url.username !== '' || url.password !== '' || url.host === '' || /^https?:\/\/[^/?#]*@/i.test(text)) {
    return 'must not hold credentials.'
  }
  if (text.includes('#')) return 'must not have a fragment.'
  if (allowPrivate) return undefined
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const isPublic = isIP(host) === 0 ? host.includes('.') && !innerNames.test(host) : isPublicAddress(host)
  return isPublic ? undefined : 'must lead to a public address.'
}
