/**
 * A JWT with another signature. Its first character is changed: the last ones may hold bits that no decoder looks at, or
 * be what they would be changed to.
 */
export function forged(jwt: string): string {
  const at = jwt.lastIndexOf('.') + 1
  return `${jwt.slice(0, at)}${jwt[at] === 'A' ? 'B' : 'A'}${jwt.slice(at + 1)}`
}
