/** Which client ids are addresses of metadata documents (spec 4.17, decisions D23). Judged on the raw text. */
import { isLoopback } from '../../kernel/uri.js'

const MAX_LENGTH = 512

/** Does this look like such an address at all? No registered client's id does. */
export const isAddress = (clientId: string): boolean => /^https?:\/\//i.test(clientId)

/**
 * May a document be asked for at this address? https, with a path, without credentials, fragment and dot segments, and
 * written in the one way in which a URL is written.
 * @param plainLoopback http on this machine too (ALLOW_PRIVATE_NETWORKS)
 */
export function isDocumentAddress(text: string, plainLoopback: boolean): boolean {
  if (text.length > MAX_LENGTH || !/^https?:\/\/[^/?#\\@]+\/[^#\\]+$/.test(text) || !/^[\x21-\x7e]+$/.test(text))
    return false
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Whatever URL had to repair is not an address that everybody reads alike; so go dot segments, spelled in any way.
  if (!url || url.href !== text || url.pathname === '/') return false
  if (/\/(\.|%2e){1,2}(\/|\?|$)/i.test(text)) return false
  return url.protocol === 'https:' || (plainLoopback && isLoopback(url.hostname))
}
