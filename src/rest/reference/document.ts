/** The parts of the OpenAPI document that the reference page reads, and the resolution of its references. */

export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  default?: unknown
  examples?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  pattern?: string
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: Schema
}

interface Content {
  'application/json': { schema: Schema; example?: unknown }
}

export interface Response {
  description: string
  headers?: Record<string, unknown>
  content?: Content
}

export interface Operation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  parameters: Parameter[]
  requestBody?: { content: Content }
  responses: Record<string, Response>
  'x-graphql': string
}

/** An operation with its method in uppercase and its path. */
export interface Entry extends Operation {
  method: string
  path: string
}

export interface ApiDocument {
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, Schema>
    headers: Record<string, { description: string }>
  }
}

/** Returns the name of the component schema to which a schema refers; undefined for other schemas. */
export const nameOf = ({ $ref }: Schema): string | undefined => $ref?.split('/').at(-1)

/** Returns the schema to which a schema refers, or the schema itself. */
export function resolve(document: ApiDocument, schema: Schema): Schema {
  const name = nameOf(schema)
  if (name === undefined) return schema
  const { $ref, ...own } = schema
  return { ...resolve(document, document.components.schemas[name]!), ...own }
}

const isNull = ({ type }: Schema): boolean => type === 'null'

/** Returns the alternatives of a schema without null. A schema without alternatives is its only alternative. */
export function alternativesOf(schema: Schema): Schema[] {
  const choices = schema.anyOf ?? schema.oneOf
  return choices ? choices.filter((choice) => !isNull(choice)).flatMap(alternativesOf) : [schema]
}

export function isNullable({ type, anyOf = [], oneOf = [] }: Schema): boolean {
  return (Array.isArray(type) && type.includes('null')) || [...anyOf, ...oneOf].some(isNull)
}

/** Returns the schema of the entries if the schema describes a page of a list. */
export function entryOfPage(document: ApiDocument, schema: Schema): Schema | undefined {
  const { data, has_more } = resolve(document, schema).properties ?? {}
  return has_more && data?.items
}

/** Returns the operations of the document in its order. */
export const entriesOf = ({ paths }: ApiDocument): Entry[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  )

/** The media type of all bodies. */
export const JSON_TYPE = 'application/json'
