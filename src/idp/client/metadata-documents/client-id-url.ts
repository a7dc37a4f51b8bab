/**
 * Which client ids are URLs of metadata documents (docs/contract.md#client-id-metadata-documents). Checked on the raw
 * text.
 */
import { limits } from '../../../kernel/limits.js'
import { isLoopback } from '../../../kernel/uri.js'

/** Checks whether a client id looks like a URL. Ids of registered clients never do. */
export const isClientIdUrl = (clientId: string): boolean => /^https?:\/\//i.test(clientId)

/**
 * Checks whether a metadata document may be fetched from this URL: https, with a path, without credentials, fragment
 * and dot segments, and in canonical form.
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
  // A URL that the parser changes can be read differently by other software. This also rejects dot segments in any
  // spelling.
  if (!url || url.href !== text || url.pathname === '/') return false
  if (/\/(\.|%2e){1,2}(\/|\?|$)/i.test(text)) return false
  return url.protocol === 'https:' || (allowHttpLoopback && isLoopback(url.hostname))
}
