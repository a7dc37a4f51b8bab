import { invalidField } from './errors.js'

/** The strong entity tag of a resource (spec 4.1): its `updated_at` in milliseconds, quoted. */
export const etagOf = (row: { updatedAt: bigint | number }): string => `"${row.updatedAt}"`

/** Which versions a caller accepts: any, or those with one of these tags. */
export type Precondition = '*' | readonly string[]

/** One entry of the list, with the comma after it: a tag may hold commas of its own (RFC 9110 8.8.3). */
const entry = /[ \t]*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?:,|$)/y

/**
 * Reads an If-Match value (RFC 9110 13.1.1): one quoted tag, a comma-separated list, or `*`.
 * @returns undefined when there is no precondition
 * @throws invalid_request for a weak, unquoted or empty value (spec 4.1 rule 2, decisions D21)
 */
export function parseIfMatch(value: string | null | undefined): Precondition | undefined {
  if (value === undefined || value === null) return undefined
  if (value.trim() === '*') return '*'
  const tags: string[] = []
  entry.lastIndex = 0
  for (;;) {
    const [whole, weak, tag] = entry.exec(value) ?? []
    if (weak) throw invalidPrecondition('takes strong entity tags only; leave out the W/ prefix.')
    if (tag === undefined) throw invalidPrecondition('takes quoted entity tags, as in "1763690000000", or *.')
    tags.push(tag)
    if (!whole?.endsWith(',')) return tags
  }
}

const invalidPrecondition = (message: string) => invalidField('ifMatch', 'invalid_format', message)

/** Does this version fulfil the precondition? */
export const matches = (precondition: Precondition | undefined, row: { updatedAt: bigint | number }): boolean =>
  precondition === undefined || precondition === '*' || precondition.includes(String(row.updatedAt))

/** Is the caller's cached copy fresh (RFC 9110 13.1.2)? Weak comparison, lists and `*`. */
export function noneMatch(header: string | undefined, etag: string): boolean {
  if (!header) return false
  if (header.trim() === '*') return true
  const bare = (tag: string): string => tag.trim().replace(/^W\//, '')
  return header.split(',').some((tag) => bare(tag) === bare(etag))
}
