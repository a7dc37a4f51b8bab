/**
 * What graphql/examples holds, as the playground offers it and the tests run it: a document whose first comment line is
 * its title and the rest of that comment what it is about, and its variables in a JSON file of the same name. There,
 * `iss_…` stands for an id and `iss_version…` for the version of that thing; both are filled in with what answers held.
 */

export interface Example {
  /** The file's name without its ending. */
  name: string
  title: string
  about: string
  query: string
  /** JSON, or '' for a document without variables. */
  variables: string
}

/** What answers told, by the prefix of the id. */
export type Known = Record<string, { id: string; version?: string }>

/** Reads one example out of its two files. */
export function readExample(name: string, query: string, variables = ''): Example {
  const comment: string[] = []
  for (const line of query.split('\n')) {
    if (!line.startsWith('#')) break
    comment.push(line.slice(1).trim())
  }
  const [title = name, ...about] = comment
  return { name, title, about: about.join(' '), query, variables }
}

/** Puts what is known into the placeholders; others stay, for the reader to fill in. */
export const fillIn = (text: string, known: Known): string =>
  text.replace(/([a-z]+)_(version)?…/g, (placeholder, prefix: string, version?: string) => {
    return known[prefix]?.[version ? 'version' : 'id'] ?? placeholder
  })

const shape = /^([a-z]+)_[0-7][0-9a-z]{25}$/

/** What an answer tells about ids and versions. Of several things of a kind the first counts: lists are newest first. */
export function learn(answer: unknown, known: Known = {}): Known {
  if (typeof answer !== 'object' || answer === null) return known
  const { id, updatedAt, accountId, issuerId } = answer as Record<string, unknown>
  for (const text of [id, accountId, issuerId]) {
    const prefix = typeof text === 'string' ? shape.exec(text)?.[1] : undefined
    if (prefix === undefined || known[prefix]) continue
    known[prefix] = {
      id: text as string,
      ...(text === id && typeof updatedAt === 'number' && { version: `${updatedAt}` }),
    }
  }
  for (const value of Object.values(answer)) learn(value, known)
  return known
}
