/** What graphql-js says of an input that does not fit its type, as `details` with the codes that `/v1` has for it. */
import { type ASTNode, BREAK, type DocumentNode, type GraphQLError, visit } from 'graphql'
import type { Detail } from '../kernel/errors.js'
import { fieldPath } from '../kernel/input.js'

interface Complaint {
  says: RegExp
  code: string
  /** In our words; its own where there are none. */
  message?: string
}

// biome-ignore format: a table, one row a complaint; the group is the name of what it is about
const complaints: readonly Complaint[] = [
  { says: /^Field "(?:\w+\.)?(\w+)" of required type ".+" was not provided\.$/, code: 'required', message: 'is required.' },
  { says: /^Field "\w+" argument "(\w+)" of type ".+" is required, but it was not provided\.$/, code: 'required', message: 'is required.' },
  { says: /^Variable "\$(\w+)" of required type ".+" was not provided\.$/, code: 'required', message: 'is required.' },
  { says: /^Variable "\$(\w+)" of non-null type ".+" must not be null\.$/, code: 'required', message: 'must not be null.' },
  { says: /^Expected non-nullable type ".+" not to be null\.$/, code: 'required', message: 'must not be null.' },
  { says: /^Expected value of type ".+!", found null\.$/, code: 'required', message: 'must not be null.' },
  { says: /^Field "(\w+)" is not defined by type ".+"\./, code: 'unknown_field', message: 'is not a field that can be set here.' },
  { says: /^Value ".*" does not exist in ".+" enum\./s, code: 'invalid_value' },
  { says: /cannot represent|^Expected (value of )?type|^Enum "/, code: 'invalid_type' },
]

/**
 * The detail of one error. Fields are named from the argument or variable on that holds them: `name`, not `input.name`.
 * @param document where the input may be written
 * @returns nothing for what is not about an input
 */
export function inputDetails({ message, nodes }: GraphQLError, document: DocumentNode | undefined): Detail[] {
  const variable =
    /^Variable "\$(\w+)" got invalid value .*?(?: at "([^"]+)")?; ((?:Field|Expected|Value|Enum|\w+ cannot) .*)$/s
  const [, name, at, text = message] = variable.exec(message) ?? []
  const complaint = complaints.find(({ says }) => says.test(text))
  if (!complaint) return []
  const [node] = nodes ?? []
  const path = name !== undefined ? partsOf(at ?? name) : document && node ? writtenPath(document, node) : []
  const about = complaint.says.exec(text)?.[1]
  const whole = about === undefined || node?.kind === 'ObjectField' ? path : [...path, about]
  const field = fieldPath(whole.length > 1 ? whole.slice(1) : whole)
  return field === '' ? [] : [{ field, code: complaint.code, message: complaint.message ?? text }]
}

/** `input.names[0]` in its parts. */
const partsOf = (text: string): (string | number)[] =>
  [...text.matchAll(/(\w+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index))

/** The names and places that lead to a node: its argument, then the fields and lists that it is in. */
function writtenPath(document: DocumentNode, node: ASTNode): (string | number)[] {
  let found: readonly (string | number)[] = []
  visit(document, {
    enter(entered, _key, _parent, path) {
      if (entered !== node) return undefined
      found = [...path]
      return BREAK
    },
  })
  const names: (string | number)[] = []
  let part = document as unknown as Record<string | number, unknown>
  for (const [at, key] of found.entries()) {
    if (found[at - 1] === 'values') names.push(key)
    part = part[key] as typeof part
    const { kind, name } = part as unknown as { kind?: string; name?: { value: string } }
    if (name && (kind === 'Argument' || kind === 'ObjectField')) names.push(name.value)
  }
  return names
}
