/** Returns true for one of the three loopback hosts (docs/contract.md#request-bodies). */
export const isLoopback = (host: string): boolean => host === '127.0.0.1' || host === '[::1]' || host === 'localhost'

/** Returns true for an absolute URI without a fragment, as required of resource indicators (RFC 8707, section 2). */
export function isResourceUri(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression rejects control characters
  if (/[\u0000-\u0020\u007f#\\]/.test(text) || !/^[a-z][a-z0-9+.-]*:/i.test(text)) return false
  return URL.canParse(text) || /^urn:/i.test(text)
}
