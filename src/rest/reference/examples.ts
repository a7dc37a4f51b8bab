/** Example values: the recorded ones of the document, otherwise from the examples of properties. */
import { type ApiDocument, alternativesOf, type Entry, JSON_TYPE, resolve, type Schema } from './document.js'

/** Returns the example of the request body; undefined if the operation has no body. */
export function requestExample(document: ApiDocument, { requestBody }: Entry): unknown {
  const content = requestBody?.content[JSON_TYPE]
  return content && (content.example ?? exampleOf(document, content.schema, false))
}

/** Returns the example of the success response; undefined if it has no body. */
export function responseExample(document: ApiDocument, { responses }: Entry): unknown {
  const content = Object.values(responses)[0]!.content?.[JSON_TYPE]
  return content && (content.example ?? exampleOf(document, content.schema, true))
}

const valuesByType: Record<string, unknown> = { string: '…', integer: 1, number: 1, boolean: true, null: null }

/**
 * Builds an example value.
 * @param isComplete true to include all fields of objects, for responses. Otherwise the required fields are included; if
 *   there are none, the first field with an example, or the first field.
 */
function exampleOf(document: ApiDocument, schema: Schema, isComplete: boolean): unknown {
  const [example] = schema.examples ?? []
  if (example !== undefined) return example
  const [alternative = schema] = alternativesOf(schema)
  const target = resolve(document, alternative)
  if (target !== schema && (target.anyOf ?? target.oneOf ?? target.examples))
    return exampleOf(document, target, isComplete)
  if (target.const !== undefined) return target.const
  if (target.enum) return target.enum.find((value) => value !== null)
  if (target.allOf)
    return Object.assign({}, ...target.allOf.map((part) => exampleOf(document, part, isComplete) as object))
  if (target.items) return [exampleOf(document, target.items, isComplete)]
  const type = [target.type ?? 'object'].flat()[0]!
  if (type !== 'object') return valueOfType(type, target)
  const all = Object.entries(target.properties ?? {})
  const required = all.filter(([name]) => target.required?.includes(name))
  const shown = isComplete ? all : required.length > 0 ? required : exampleFields(all)
  return Object.fromEntries(shown.map(([name, field]) => [name, exampleOf(document, field, isComplete)]))
}

const exampleFields = (all: [string, Schema][]): [string, Schema][] => {
  const field = all.find(([, { examples }]) => examples) ?? all[0]
  return field ? [field] : []
}

function valueOfType(type: string, { minimum, maximum }: Schema): unknown {
  // Only times have a maximum as large as this.
  if (type === 'integer' && (maximum ?? 0) > 1e12) return 1_763_900_000_000
  return type === 'integer' && minimum ? minimum : valuesByType[type]
}
