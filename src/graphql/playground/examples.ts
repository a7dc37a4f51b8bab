/**
 * The documents in graphql/examples, for the playground and the tests. The first comment line of a document is its
 * title, the rest of the comment its description. A JSON file with the same name contains the variables. In the
 * variables, `iss_…` is a placeholder for an ID with this prefix, and `iss_version…` for the version of this resource.
 * The playground replaces placeholders by values from earlier responses.
 */

export interface Example {
  /** The file name without extension. */
  name: string
  title: string
  description: string
  query: string
  /** JSON, or '' for a document without variables. */
  variables: string
}

/** IDs and versions (`updatedAt`) from responses, by ID prefix. */
export type KnownIds = Record<string, { id: string; version?: string }>

/** Parses an example from the text of its two files. */
export function readExample(name: string, query: string, variables = ''): Example {
  const comment: string[] = []
  for (const line of query.split('\n')) {
    if (!line.startsWith('#')) break
    comment.push(line.slice(1).trim())
  }
  const [title = name, ...description] = comment
  return { name, title, description: description.join(' '), query, variables }
}

/** Replaces placeholders by known IDs and versions. Placeholders without a known value are kept. */
export const fillPlaceholders = (text: string, knownIds: KnownIds): string =>
  text.replace(/([a-z]+)_(version)?…/g, (placeholder, prefix: string, version?: string) => {
    return knownIds[prefix]?.[version ? 'version' : 'id'] ?? placeholder
  })

const idPattern = /^([a-z]+)_[0-7][0-9a-z]{25}$/

/**
 * Collects IDs and versions from a response. Only the first ID of each prefix is kept, which in most lists is the
 * newest resource.
 */
export function collectIds(response: unknown, knownIds: KnownIds = {}): KnownIds {
  if (typeof response !== 'object' || response === null) return knownIds
  const { id, updatedAt, accountId, issuerId } = response as Record<string, unknown>
  for (const text of [id, accountId, issuerId]) {
    const prefix = typeof text === 'string' ? idPattern.exec(text)?.[1] : undefined
    if (prefix === undefined || knownIds[prefix]) continue
    knownIds[prefix] = {
      id: text as string,
      ...(text === id && typeof updatedAt === 'number' && { version: `${updatedAt}` }),
    }
  }
  for (const value of Object.values(response)) collectIds(value, knownIds)
  return knownIds
}
