/** JSON Schemas as people read them: a row for each field, and an example. */
import type { Json } from '../openapi-schemas.js'

export interface Row {
  /** `settings`, `keys[].id`. */
  name: string
  type: string
  required: boolean
  note: string
}

const properties = (schema: Json): [string, Json][] =>
  Object.entries((schema['properties'] ?? {}) as Record<string, Json>)
const requiredOf = (schema: Json): readonly string[] => (schema['required'] ?? []) as string[]

/** A schema that also takes null is its other half. */
function withoutNull(schema: Json): Json {
  const choices = schema['anyOf'] as Json[] | undefined
  return choices?.find(({ type }) => type !== 'null') ?? schema
}

function kindOf(schema: Json): string {
  const { type } = schema
  return Array.isArray(type) ? String(type.find((one) => one !== 'null')) : String(type ?? 'any')
}

const takesNull = (schema: Json): boolean =>
  (Array.isArray(schema['type']) && schema['type'].includes('null')) ||
  ((schema['anyOf'] ?? []) as Json[]).some(({ type }) => type === 'null')

/** `string`, `integer or null`, `array of string`. */
export function typeText(schema: Json): string {
  const bare = withoutNull(schema)
  const items = bare['items'] as Json | undefined
  const text = items ? `array of ${typeText(items)}` : kindOf(bare)
  return takesNull(schema) ? `${text} or null` : text
}

/** What the schema itself says of its values. */
export function noteOf(schema: Json): string {
  const choices = (withoutNull(schema)['enum'] as unknown[] | undefined)?.filter((one) => one !== null)
  return [schema['description'], choices && `One of ${choices.join(', ')}.`].filter(Boolean).join(' ')
}

/** The fields of an object, and of what lies in it. */
export function rowsOf(schema: Json, at = ''): Row[] {
  return properties(schema).flatMap(([key, field]) => {
    const name = `${at}${key}`
    const row = { name, type: typeText(field), required: requiredOf(schema).includes(key), note: noteOf(field) }
    const inside = withoutNull(field)
    const items = inside['items'] as Json | undefined
    return [row, ...rowsOf(items ? withoutNull(items) : inside, items ? `${name}[].` : `${name}.`)]
  })
}

const samples: Record<string, unknown> = { string: '…', integer: 0, number: 0, boolean: true }

/** @param all every field, as answers have them; else what must be sent, and where nothing must, the first field */
export function sampleOf(schema: Json, all: boolean): unknown {
  const bare = withoutNull(schema)
  const [first] = ((bare['enum'] ?? []) as unknown[]).filter((one) => one !== null)
  if (first !== undefined) return first
  if (bare['const'] !== undefined) return bare['const']
  const items = bare['items'] as Json | undefined
  if (items) return [sampleOf(items, all)]
  const fields = properties(bare)
  if (kindOf(bare) !== 'object') return samples[kindOf(bare)] ?? null
  const required = requiredOf(bare)
  const shown = all
    ? fields
    : required.length > 0
      ? fields.filter(([key]) => required.includes(key))
      : fields.slice(0, 1)
  return Object.fromEntries(shown.map(([key, field]) => [key, sampleOf(field, all)]))
}
