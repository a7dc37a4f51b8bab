/** JSON Schema of GraphQL's inputs, scalars and enums, for the OpenAPI document. */
import { GraphQLEnumType, GraphQLInputObjectType, type GraphQLInputType, isListType, isNonNullType } from 'graphql'
import { snake } from './input.js'

export type Json = Record<string, unknown>

const scalars: Record<string, Json> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Boolean: { type: 'boolean' },
  Float: { type: 'number' },
  Int: { type: 'integer' },
  Timestamp: { type: 'integer', format: 'int64', description: 'Unix milliseconds.' },
  JSONObject: { type: 'object', additionalProperties: true },
}

/** What an input takes. `inQuery`: a parameter that is not given is absent, never null. */
export function inputSchema(type: GraphQLInputType, inQuery: boolean): Json {
  if (isNonNullType(type)) return bareInput(type.ofType as GraphQLInputType)
  return inQuery ? bareInput(type) : orNull(bareInput(type))
}

function bareInput(type: GraphQLInputType): Json {
  if (isListType(type)) return { type: 'array', items: inputSchema(type.ofType as GraphQLInputType, false) }
  if (!(type instanceof GraphQLInputObjectType)) return leafSchema(type)
  const fields = Object.values(type.getFields())
  const required = fields.filter((field) => isNonNullType(field.type)).map((field) => snake(field.name))
  return {
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(
      fields.map((field) => {
        const schema = inputSchema(field.type, false)
        return [snake(field.name), field.description ? { ...schema, description: field.description } : schema]
      }),
    ),
  }
}

/** A scalar or an enum. @throws Error at start for a scalar that has no row above */
export function leafSchema(type: unknown): Json {
  if (type instanceof GraphQLEnumType) return { type: 'string', enum: type.getValues().map((value) => value.name) }
  const schema = scalars[String(type)]
  if (!schema) throw new Error(`rest/openapi knows no scalar ${String(type)}; add it to the table.`)
  return schema
}

/** The same schema that also takes null. */
export function orNull(schema: Json): Json {
  if (typeof schema['type'] !== 'string') return { anyOf: [schema, { type: 'null' }] }
  return {
    ...schema,
    type: [schema['type'], 'null'],
    ...(Array.isArray(schema['enum']) && { enum: [...schema['enum'], null] }),
  }
}
