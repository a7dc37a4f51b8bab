/**
 * The authentication of requests: an Authorization header, or the console session, whose cookie scripts cannot read.
 */
export type Authentication = { authorization: string } | 'console session'

/** The parsed content of the credential field. */
export type ParsedCredential = { authorization: string } | { error: string }

/**
 * Converts a pasted credential to an Authorization header: an API key becomes Basic, a token becomes Bearer, and a
 * complete header is kept. An API key contains a colon, and a token does not (RFC 6750, section 2.1).
 */
export function readCredential(pasted: string): ParsedCredential {
  const text = pasted.trim().replace(/^authorization:\s*/i, '')
  if (text === '') return { error: 'Paste an API key (ak_…:secret) or an access token.' }
  const [, scheme, value] = /^(basic|bearer)\s+(\S+)$/i.exec(text) ?? []
  if (scheme && value) return { authorization: `${scheme.toLowerCase() === 'basic' ? 'Basic' : 'Bearer'} ${value}` }
  if (/^ak_[^:]*$/.test(text)) return { error: 'The secret is missing: paste the key as ak_…:secret.' }
  if (text.includes(':')) return { authorization: `Basic ${base64(text)}` }
  if (!/^[\w.~+/=-]+$/.test(text)) return { error: 'This is neither an API key (ak_…:secret) nor an access token.' }
  return { authorization: `Bearer ${text}` }
}

/** Encodes the UTF-8 bytes of the text (RFC 7617). */
const base64 = (text: string): string => btoa(String.fromCodePoint(...new TextEncoder().encode(text)))
