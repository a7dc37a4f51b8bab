/** How the page proves who is asking: by a header, or by the console's session, whose cookie no script can read. */
export type Proof = { authorization: string } | 'console session'

/** What somebody pastes into the credential field, as an `Authorization` header. */
export type Credential = { authorization: string } | { fault: string }

/**
 * An API key `ak_…:secret` is sent as Basic, a token as Bearer; a whole header is taken as it is.
 * The two cannot be confused: a token holds no colon (RFC 6750 section 2.1).
 */
export function readCredential(pasted: string): Credential {
  const text = pasted.trim().replace(/^authorization:\s*/i, '')
  if (text === '') return { fault: 'Paste an API key (ak_…:secret) or an access token.' }
  const [, scheme, value] = /^(basic|bearer)\s+(\S+)$/i.exec(text) ?? []
  if (scheme && value) return { authorization: `${scheme.toLowerCase() === 'basic' ? 'Basic' : 'Bearer'} ${value}` }
  if (/^ak_[^:]*$/.test(text)) return { fault: 'The secret is missing: paste the key as ak_…:secret.' }
  if (text.includes(':')) return { authorization: `Basic ${base64(text)}` }
  if (!/^[\w.~+/=-]+$/.test(text)) return { fault: 'This is neither an API key (ak_…:secret) nor an access token.' }
  return { authorization: `Bearer ${text}` }
}

/** Of the text's UTF-8 bytes, which is what RFC 7617 lets a server expect. */
const base64 = (text: string): string => btoa(String.fromCodePoint(...new TextEncoder().encode(text)))
