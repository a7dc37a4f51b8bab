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

/** Ids and versions by placeholder: `iss` → `iss_0k…`, `iss_version` → `1763690000000`. */
export type Known = Record<string, string>

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
    return known[version ? `${prefix}_version` : prefix] ?? placeholder
  })

const id = /^([a-z]+)_[0-7][0-9a-z]{25}$/

/** What an answer tells about ids and versions. Of several things of a kind the first counts: lists are newest first. */
export function learn(answer: unknown, known: Known = {}): Known {
  if (Array.isArray(answer)) {
    for (const item of answer) learn(item, known)
  } else if (typeof answer === 'object' && answer !== null) {
    const thing = answer as Record<string, unknown>
    for (const name of ['id', 'accountId', 'issuerId']) {
      const prefix = id.exec(String(thing[name]))?.[1]
      if (prefix === undefined || known[prefix] !== undefined) continue
      known[prefix] = String(thing[name])
      if (name === 'id' && typeof thing['updatedAt'] === 'number') known[`${prefix}_version`] = String(thing['updatedAt'])
    }
    for (const value of Object.values(thing)) learn(value, known)
  }
  return known
}
