/** Converts errors of graphql-js about invalid inputs to `details`, with the codes that `/v1` uses. */
import { type ASTNode, BREAK, type DocumentNode, type GraphQLError, visit } from 'graphql'
import type { ErrorDetail } from '../kernel/errors.js'
import { fieldPath } from '../kernel/input.js'

interface InputErrorPattern {
  pattern: RegExp
  code: string
  /** The message of the detail; if absent, the message of graphql-js is used. */
  message?: string
}

// biome-ignore format: a table with one row per error; the capture group is the field name
const inputErrorPatterns: readonly InputErrorPattern[] = [
  { pattern: /^Field "(?:\w+\.)?(\w+)" of required type ".+" was not provided\.$/, code: 'required', message: 'is required.' },
  { pattern: /^Field "\w+" argument "(\w+)" of type ".+" is required, but it was not provided\.$/, code: 'required', message: 'is required.' },
  { pattern: /^Variable "\$(\w+)" of required type ".+" was not provided\.$/, code: 'required', message: 'is required.' },
  { pattern: /^Variable "\$(\w+)" of non-null type ".+" must not be null\.$/, code: 'required', message: 'must not be null.' },
  { pattern: /^Expected non-nullable type ".+" not to be null\.$/, code: 'required', message: 'must not be null.' },
  { pattern: /^Expected value of type ".+!", found null\.$/, code: 'required', message: 'must not be null.' },
  { pattern: /^Field "(\w+)" is not defined by type ".+"\./, code: 'unknown_field', message: 'is not a field that can be set here.' },
  { pattern: /^Value ".*" does not exist in ".+" enum\./s, code: 'invalid_value' },
  { pattern: /cannot represent|^Expected (value of )?type|^Enum "/, code: 'invalid_type' },
]

/**
 * Returns the detail of an error. The field is relative to the argument or variable: `name`, not `input.name`.
 * @param document the document, in which the path of an invalid literal is found
 * @returns an empty list for an error that is not about an input
 */
export function inputDetails({ message, nodes }: GraphQLError, document: DocumentNode | undefined): ErrorDetail[] {
  const variable =
    /^Variable "\$(\w+)" got invalid value .*?(?: at "([^"]+)")?; ((?:Field|Expected|Value|Enum|\w+ cannot) .*)$/s
  const [, name, inputPath, text = message] = variable.exec(message) ?? []
  const errorPattern = inputErrorPatterns.find(({ pattern }) => pattern.test(text))
  if (!errorPattern) return []
  const [node] = nodes ?? []
  const path = name !== undefined ? parsePath(inputPath ?? name) : document && node ? literalPathOf(document, node) : []
  const fieldName = errorPattern.pattern.exec(text)?.[1]
  const fullPath = fieldName === undefined || node?.kind === 'ObjectField' ? path : [...path, fieldName]
  const field = fieldPath(fullPath.length > 1 ? fullPath.slice(1) : fullPath)
  return field === '' ? [] : [{ field, code: errorPattern.code, message: errorPattern.message ?? text }]
}

/** Splits a path such as `input.names[0]`. */
const parsePath = (text: string): (string | number)[] =>
  [...text.matchAll(/(\w+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index))

/**
 * Returns the path of a node in the document: the argument that contains the node, then field names and list indexes.
 */
function literalPathOf(document: DocumentNode, node: ASTNode): (string | number)[] {
  let nodePath: readonly (string | number)[] = []
  visit(document, {
    enter(entered, _key, _parent, path) {
      if (entered !== node) return undefined
      nodePath = [...path]
      return BREAK
    },
  })
  const names: (string | number)[] = []
  let current = document as unknown as Record<string | number, unknown>
  for (const [at, key] of nodePath.entries()) {
    if (nodePath[at - 1] === 'values') names.push(key)
    current = current[key] as typeof current
    const { kind, name } = current as unknown as { kind?: string; name?: { value: string } }
    if (name && (kind === 'Argument' || kind === 'ObjectField')) names.push(name.value)
  }
  return names
}
