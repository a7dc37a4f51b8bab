/**
 * Returns the JWT with an invalid signature. Changes the first character of the signature, because the last character
 * may contain bits that decoders ignore.
 */
export function withForgedSignature(jwt: string): string {
  const signatureStart = jwt.lastIndexOf('.') + 1
  return `${jwt.slice(0, signatureStart)}${jwt[signatureStart] === 'A' ? 'B' : 'A'}${jwt.slice(signatureStart + 1)}`
}
