/**
 * Finds an object in JSON text that has the same member twice. `JSON.parse` keeps the last of them, but another parser
 * may keep the first (RFC 8259 section 4).
 * @param text valid JSON
 * @returns the name of the first repeated member; undefined if there is none
 */
export function repeatedMember(text: string): string | undefined {
  /** The names of the members of each object around the current position; null for an array. */
  const containers: (Set<string> | null)[] = []
  const tokens = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g
  for (const [token, isName] of text.matchAll(tokens)) {
    if (token === '{') containers.push(new Set())
    else if (token === '[') containers.push(null)
    else if (token === '}' || token === ']') containers.pop()
    else if (isName !== undefined) {
      const name = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1)) as string
      const names = containers.at(-1)
      if (names?.has(name)) return name
      names?.add(name)
    }
  }
  return undefined
}
