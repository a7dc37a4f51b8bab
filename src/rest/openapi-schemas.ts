/** Converts GraphQL types to JSON Schema with REST field names. */
import {
  type FragmentDefinitionNode,
  GraphQLEnumType,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLObjectType,
  type GraphQLOutputType,
  isListType,
  isNonNullType,
  type SelectionSetNode,
} from 'graphql'
import { schema } from '../graphql/schema.js'
import { snakeCase } from '../kernel/field-names.js'

export type Json = Record<string, unknown>

const scalars: Record<string, Json> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Boolean: { type: 'boolean' },
  Float: { type: 'number' },
  Int: { type: 'integer' },
  Timestamp: { type: 'integer', format: 'int64', description: 'Unix milliseconds.' },
  MicroUsd: { type: 'integer', format: 'int64', description: 'Micro-USD.' },
  JSONObject: { type: 'object', additionalProperties: true },
}

/**
 * Returns the JSON Schema of a selection.
 * @param fragments the fragment definitions by name
 * @param omitted names of fields that a response may omit
 */
export function selectionSchema(
  type: GraphQLObjectType,
  set: SelectionSetNode,
  fragments: Map<string, FragmentDefinitionNode>,
  omitted: readonly string[] = [],
): Json {
  const properties: Record<string, Json> = {}
  const required: string[] = []
  const collect = (selections: SelectionSetNode, parentType: GraphQLObjectType): void => {
    for (const selection of selections.selections) {
      if (selection.kind === 'FragmentSpread') collect(fragments.get(selection.name.value)!.selectionSet, parentType)
      else if (selection.kind === 'InlineFragment') {
        const kind = selection.typeCondition?.name.value
        collect(selection.selectionSet, kind ? (schema().getType(kind) as GraphQLObjectType) : parentType)
      } else {
        const field = parentType.getFields()[selection.name.value]!
        const name = selection.alias?.value ?? selection.name.value
        const shape = outputSchema(field.type, selection.selectionSet, fragments, omitted)
        properties[name] = field.description ? { description: field.description, ...shape } : shape
        // Fields of inline fragments are optional, because only one implementation of the interface has them.
        if (parentType === type && !omitted.includes(name)) required.push(name)
      }
    }
  }
  collect(set, type)
  return { type: 'object', required, properties }
}

function outputSchema(
  type: GraphQLOutputType,
  set: SelectionSetNode | undefined,
  fragments: Map<string, FragmentDefinitionNode>,
  omitted: readonly string[],
): Json {
  if (!isNonNullType(type)) return nullableSchema(bareOutput(type, set, fragments, omitted))
  return bareOutput(type.ofType, set, fragments, omitted)
}

function bareOutput(
  type: GraphQLOutputType,
  set: SelectionSetNode | undefined,
  fragments: Map<string, FragmentDefinitionNode>,
  omitted: readonly string[],
): Json {
  if (isListType(type)) {
    return { type: 'array', items: outputSchema(type.ofType as GraphQLOutputType, set, fragments, omitted) }
  }
  if (type instanceof GraphQLObjectType) return selectionSchema(type, set!, fragments, omitted)
  return leafSchema(type)
}

/**
 * Returns the JSON Schema of a variable.
 * @param inQuery true for a query parameter, which can be absent but not null
 */
export function inputSchema(type: GraphQLInputType, inQuery: boolean): Json {
  if (isNonNullType(type)) return bareInput(type.ofType as GraphQLInputType)
  return inQuery ? bareInput(type) : nullableSchema(bareInput(type))
}

function bareInput(type: GraphQLInputType): Json {
  if (isListType(type)) return { type: 'array', items: inputSchema(type.ofType as GraphQLInputType, false) }
  if (!(type instanceof GraphQLInputObjectType)) return leafSchema(type)
  const fields = Object.values(type.getFields())
  const required = fields.filter((field) => isNonNullType(field.type)).map((field) => snakeCase(field.name))
  return {
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(
      fields.map((field) => {
        const schema = inputSchema(field.type, false)
        return [snakeCase(field.name), field.description ? { ...schema, description: field.description } : schema]
      }),
    ),
  }
}

function leafSchema(type: unknown): Json {
  if (type instanceof GraphQLEnumType) return { type: 'string', enum: type.getValues().map((value) => value.name) }
  const schema = scalars[String(type)]
  if (!schema)
    throw new Error(`The scalar ${String(type)} has no JSON Schema; add it to the table in rest/openapi-schemas.ts.`)
  return schema
}

/** Returns the schema with null as an additional type. */
function nullableSchema(schema: Json): Json {
  if (typeof schema['type'] !== 'string') return { anyOf: [schema, { type: 'null' }] }
  return {
    ...schema,
    type: [schema['type'], 'null'],
    ...(Array.isArray(schema['enum']) && { enum: [...schema['enum'], null] }),
  }
}
