/**
 * Checks of client ids that are URLs of metadata documents (docs/contract.md#client-id-metadata-documents). They check
 * the raw text, before a parser normalizes it.
 */
import { limits } from '../../../kernel/limits.js'
import { isLoopback } from '../../../kernel/uri.js'

/** Checks whether a client id begins like a URL, which ids of registered clients never do. */
export const isClientIdUrl = (clientId: string): boolean => /^https?:\/\//i.test(clientId)

/**
 * Checks whether a metadata document may be fetched from this URL: https, with a path, without credentials, fragment
 * and dot segments, in canonical form, and with at most `maxClientIdUrlLength` characters.
 * @param allowHttpLoopback also allow http on loopback hosts (ALLOW_PRIVATE_NETWORKS)
 */
export function isFetchableClientIdUrl(text: string, allowHttpLoopback: boolean): boolean {
  if (
    text.length > limits.maxClientIdUrlLength ||
    !/^https?:\/\/[^/?#\\@]+\/[^#\\]+$/.test(text) ||
    !/^[\x21-\x7e]+$/.test(text)
  )
    return false
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Other software may read a URL differently if the parser has to normalize the URL, for example its dot segments.
  if (!url || url.href !== text || url.pathname === '/') return false
  if (/\/(\.|%2e){1,2}(\/|\?|$)/i.test(text)) return false
  return url.protocol === 'https:' || (allowHttpLoopback && isLoopback(url.hostname))
}
