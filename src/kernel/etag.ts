import { invalidField } from './errors.js'

/**
 * Returns the strong entity tag of a resource: its `updated_at` in milliseconds, quoted
 * (docs/contract.md#etag-and-if-match).
 */
export const etagOf = (row: { updatedAt: bigint | number }): string => `"${row.updatedAt}"`

/** The versions that a caller accepts: every version (`*`), or the versions with these entity tags, without quotes. */
export type Precondition = '*' | readonly string[]

/**
 * Matches one entry of the list, and the comma or the end of the text after it. Splitting the list at commas would be
 * wrong, because a tag may contain commas (RFC 9110, section 8.8.3).
 */
const entityTagPattern = /[ \t]*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?:,|$)/y

/**
 * Parses an If-Match value (RFC 9110, section 13.1.1): one quoted tag, a comma-separated list, or `*`.
 * @returns the accepted versions; undefined for an absent value
 * @throws invalid_request for an empty value and for a list with an entry that is weak, unquoted or empty
 *   (docs/contract.md#etag-and-if-match)
 */
export function parseIfMatch(value: string | null | undefined): Precondition | undefined {
  if (value === undefined || value === null) return undefined
  if (value.trim() === '*') return '*'
  const tags: string[] = []
  entityTagPattern.lastIndex = 0
  for (;;) {
    const [whole, weak, tag] = entityTagPattern.exec(value) ?? []
    if (weak) throw invalidIfMatch('must be a strong entity tag; remove the W/ prefix.')
    if (tag === undefined) throw invalidIfMatch('must contain quoted entity tags such as "1763690000000", or *.')
    tags.push(tag)
    if (!whole?.endsWith(',')) return tags
  }
}

const invalidIfMatch = (message: string) => invalidField('ifMatch', 'invalid_format', message)

/** Returns true when the version of the row meets the precondition, or there is none. */
export const matchesPrecondition = (
  precondition: Precondition | undefined,
  row: { updatedAt: bigint | number },
): boolean => precondition === undefined || precondition === '*' || precondition.includes(String(row.updatedAt))

/**
 * Returns true when the If-None-Match header is `*` or its list contains the tag by weak comparison (RFC 9110, section
 * 13.1.2).
 */
export function matchesIfNoneMatch(header: string | undefined, etag: string): boolean {
  if (!header) return false
  if (header.trim() === '*') return true
  const withoutWeakPrefix = (tag: string): string => tag.trim().replace(/^W\//, '')
  return header.split(',').some((tag) => withoutWeakPrefix(tag) === withoutWeakPrefix(etag))
}
