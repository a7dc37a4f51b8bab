/** Converts JSON Schemas to table rows and examples. */
import type { Json } from '../openapi-schemas.js'

export interface Row {
  /** The path of the field, such as `settings` or `keys[].id`. */
  name: string
  type: string
  required: boolean
  note: string
}

const properties = (schema: Json): [string, Json][] =>
  Object.entries((schema['properties'] ?? {}) as Record<string, Json>)
const requiredOf = (schema: Json): readonly string[] => (schema['required'] ?? []) as string[]

/** Returns the schema without the null alternative. */
function withoutNull(schema: Json): Json {
  const choices = schema['anyOf'] as Json[] | undefined
  return choices?.find(({ type }) => type !== 'null') ?? schema
}

function typeNameOf(schema: Json): string {
  const { type } = schema
  return Array.isArray(type) ? String(type.find((name) => name !== 'null')) : String(type ?? 'any')
}

const isNullable = (schema: Json): boolean =>
  (Array.isArray(schema['type']) && schema['type'].includes('null')) ||
  ((schema['anyOf'] ?? []) as Json[]).some(({ type }) => type === 'null')

/** Returns the type as text, such as `string`, `integer or null` or `array of string`. */
export function typeText(schema: Json): string {
  const bare = withoutNull(schema)
  const items = bare['items'] as Json | undefined
  const text = items ? `array of ${typeText(items)}` : typeNameOf(bare)
  return isNullable(schema) ? `${text} or null` : text
}

/** Returns a text with the description and the enum values of a schema. */
export function noteOf(schema: Json): string {
  const choices = (withoutNull(schema)['enum'] as unknown[] | undefined)?.filter((choice) => choice !== null)
  return [schema['description'], choices && `One of ${choices.join(', ')}.`].filter(Boolean).join(' ')
}

/** Returns a row for each field of an object and of nested objects. */
export function rowsOf(schema: Json, prefix = ''): Row[] {
  return properties(schema).flatMap(([key, field]) => {
    const name = `${prefix}${key}`
    const row = { name, type: typeText(field), required: requiredOf(schema).includes(key), note: noteOf(field) }
    const bare = withoutNull(field)
    const items = bare['items'] as Json | undefined
    return [row, ...rowsOf(items ? withoutNull(items) : bare, items ? `${name}[].` : `${name}.`)]
  })
}

const exampleValues: Record<string, unknown> = { string: '…', integer: 0, number: 0, boolean: true }

/**
 * Returns an example value for a schema.
 * @param includeAllFields true to include all fields, for responses; otherwise the required fields are included, or the
 *   first field if none is required
 */
export function exampleOf(schema: Json, includeAllFields: boolean): unknown {
  const bare = withoutNull(schema)
  const [first] = ((bare['enum'] ?? []) as unknown[]).filter((choice) => choice !== null)
  if (first !== undefined) return first
  if (bare['const'] !== undefined) return bare['const']
  const items = bare['items'] as Json | undefined
  if (items) return [exampleOf(items, includeAllFields)]
  const fields = properties(bare)
  if (typeNameOf(bare) !== 'object') return exampleValues[typeNameOf(bare)] ?? null
  const required = requiredOf(bare)
  const shown = includeAllFields
    ? fields
    : required.length > 0
      ? fields.filter(([key]) => required.includes(key))
      : fields.slice(0, 1)
  return Object.fromEntries(shown.map(([key, field]) => [key, exampleOf(field, includeAllFields)]))
}
