/** Loopback hosts are exactly these three spellings (decisions D29). */
export const isLoopback = (host: string): boolean => host === '127.0.0.1' || host === '[::1]' || host === 'localhost'

/** Is this an absolute URI without a fragment, as resource indicators must be (RFC 8707 section 2)? */
export function isResourceUri(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u0020\u007f#\\]/.test(text) || !/^[a-z][a-z0-9+.-]*:/i.test(text)) return false
  return URL.canParse(text) || /^urn:/i.test(text)
}
