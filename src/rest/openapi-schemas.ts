/**
 * The named schemas of the OpenAPI document, with REST field names: of the GraphQL types that `/v1` returns, and of the
 * inputs, from the rules that check them.
 */
import {
  GraphQLEnumType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInterfaceType,
  GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  isListType,
  isNonNullType,
} from 'graphql'
import { z } from 'zod'
import { extensionsOf, rulesOfInput } from '../graphql/field-extensions.js'
import { schema } from '../graphql/schema.js'
import { snakeCase } from '../kernel/field-names.js'
import { limits } from '../kernel/limits.js'
import { restNameOf, shownFields } from './operations.js'
import { SETTLEMENT } from './payment.js'
import type { Route } from './routes.js'

export type Json = Record<string, unknown>

/** The schemas of the document by name. Each is added when it is first used. */
export type Components = Map<string, Json>

const scalars: Record<string, Json> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Boolean: { type: 'boolean' },
  Float: { type: 'number' },
  Int: { type: 'integer', format: 'int32' },
  Timestamp: { type: 'integer', format: 'int64', minimum: 0, maximum: limits.maxTimestamp },
  MicroUsd: { type: 'integer', format: 'int64' },
  JSONObject: { type: 'object', additionalProperties: true },
}

/** Returns a description with the names of `/v1` instead of GraphQL names, and without what only GraphQL has. */
export function restText(description: string | null | undefined): string {
  return (description ?? '')
    .replace(/; with `search`, [^.]*/, '')
    .replace(/\b[a-z]+(?:[A-Z][a-z0-9]*)+\b/g, (word) => (fieldNames().has(word) ? snakeCase(word) : word))
}

let knownNames: Set<string> | undefined

/** Returns the names of all fields of results and inputs. */
function fieldNames(): Set<string> {
  const types = Object.values(schema().getTypeMap()).filter((type) => 'getFields' in type)
  const fields = types.flatMap((type): { name: string; args?: readonly { name: string }[] }[] =>
    Object.values(type.getFields()),
  )
  knownNames ??= new Set(fields.flatMap(({ name, args = [] }) => [name, ...args.map((arg) => arg.name)]))
  return knownNames
}

const reference = (name: string): Json => ({ $ref: `#/components/schemas/${name}` })

function addComponent(components: Components, name: string, create: () => Json): Json {
  if (!components.has(name)) {
    // The name is reserved first, because a type can contain itself.
    components.set(name, {})
    components.set(name, create())
  }
  return reference(name)
}

/** Returns the schema of the object that a route returns; for a list, of the page. */
export function resultSchema(components: Components, type: GraphQLOutputType, route: Route, hasSecrets: boolean): Json {
  const named = getNamedType(type) as GraphQLObjectType | GraphQLInterfaceType
  if ('hasMore' in named.getFields()) return pageSchema(components, named as GraphQLObjectType, route)
  return itemSchema(components, named, route, hasSecrets)
}

function pageSchema(components: Components, page: GraphQLObjectType, route: Route): Json {
  const item = getNamedType(page.getFields()['data']!.type) as GraphQLObjectType
  const prefix = route.extraFields ? 'Organization' : ''
  return addComponent(components, `${prefix}${page.name}`, () => ({
    type: 'object',
    description: restText(page.description),
    required: ['data', 'next_cursor', 'has_more'],
    properties: {
      data: { type: 'array', maxItems: limits.maxPageLimit, items: itemSchema(components, item, route, false) },
      next_cursor: {
        type: ['string', 'null'],
        description: 'The value of `cursor` for the next page. Null on the last page.',
      },
      has_more: { type: 'boolean', description: 'Whether there is a next page.' },
    },
  }))
}

/** The name of the schema of a type: that of the interface `AnyVerifier` is `Verifier`. */
const schemaName = (name: string): string => name.replace(/^Any/, '')

function itemSchema(
  components: Components,
  type: GraphQLObjectType | GraphQLInterfaceType,
  route: Route,
  hasSecrets: boolean,
): Json {
  const name = schemaName(type.name)
  const omitted = route.omittedWhenNull ?? []
  const fields = shownFields(type, {}).filter((field) => !route.payment || field.name !== SETTLEMENT)
  const base = addComponent(components, name, () => objectSchema(components, type, fields, omitted))
  const extra = route.extraFields && {
    name: `Organization${name}`,
    fields: shownFields(type, { extraFields: route.extraFields }).filter(({ name: field }) =>
      route.extraFields!.includes(field),
    ),
  }
  const extended = extra
    ? addComponent(components, extra.name, () => extend(components, base, extra.fields, true))
    : base
  if (!hasSecrets) return extended
  const implementations = type instanceof GraphQLInterfaceType ? schema().getPossibleTypes(type) : []
  const secrets = [type, ...implementations].flatMap((one) =>
    shownFields(one, { hasSecrets: true }).filter((field) => extensionsOf(field).once === true),
  )
  if (secrets.length === 0) return extended
  // Only one implementation of an interface has the secret.
  const isRequired = implementations.length === 0
  return addComponent(components, `${extra?.name ?? name}WithSecret`, () =>
    extend(components, extended, secrets, isRequired),
  )
}

type OutputField = ReturnType<typeof shownFields>[number]

const extend = (components: Components, base: Json, fields: readonly OutputField[], isRequired: boolean): Json => ({
  allOf: [
    base,
    {
      type: 'object',
      ...(isRequired && { required: fields.map(restNameOf) }),
      properties: Object.fromEntries(fields.map((field) => [restNameOf(field), propertySchema(components, field)])),
    },
  ],
})

function objectSchema(
  components: Components,
  type: GraphQLObjectType | GraphQLInterfaceType,
  fields: readonly OutputField[],
  omitted: readonly string[],
): Json {
  const properties = fields.map((field) => [restNameOf(field), propertySchema(components, field, omitted)] as const)
  const required = properties.map(([name]) => name).filter((name) => !omitted.includes(name))
  return {
    type: 'object',
    ...(type.description && { description: restText(type.description) }),
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(properties),
  }
}

function propertySchema(components: Components, field: OutputField, omitted: readonly string[] = []): Json {
  const { example, values } = extensionsOf(field)
  const shape = values
    ? addComponent(components, values.name, () => ({ type: 'string', enum: values.values }))
    : outputSchema(components, field.type, omitted)
  return {
    ...shape,
    ...(field.description && { description: restText(field.description) }),
    ...(example !== undefined && { examples: [example] }),
    ...(field.deprecationReason && { deprecated: true }),
  }
}

function outputSchema(components: Components, type: GraphQLOutputType, omitted: readonly string[]): Json {
  if (!isNonNullType(type)) return nullable(bareOutput(components, type, omitted))
  return bareOutput(components, type.ofType as GraphQLOutputType, omitted)
}

function bareOutput(components: Components, type: GraphQLOutputType, omitted: readonly string[]): Json {
  if (isListType(type))
    return { type: 'array', items: outputSchema(components, type.ofType as GraphQLOutputType, omitted) }
  if (type instanceof GraphQLObjectType)
    return addComponent(components, type.name, () => objectSchema(components, type, shownFields(type, {}), omitted))
  return leafSchema(components, type)
}

/** Returns the schema of the body of a route. */
export function inputSchema(components: Components, type: GraphQLInputType): Json {
  const { name } = getNamedType(type) as GraphQLInputObjectType
  const { rules, properties } = rulesOfInput(name)
  return addComponent(components, name, () => {
    const { $schema, ...body } = z.toJSONSchema(rules, { io: 'input', unrepresentable: 'any' }) as Json
    return withRestNames(body, new Map(properties.map((property) => [property.name, property])))
  })
}

/** Renames the properties of an object, or of the alternatives of a union, and adds their descriptions. */
function withRestNames(body: Json, declared: Map<string, { description: string; example?: unknown }>): Json {
  const alternatives = (body['oneOf'] ?? body['anyOf']) as Json[] | undefined
  if (alternatives) return { oneOf: alternatives.map((one) => withRestNames(one, declared)) }
  const fields = Object.entries((body['properties'] ?? {}) as Record<string, Json>).map(([name, shape]) => {
    const { description, example } = declared.get(name) ?? {}
    // The type generators of clients would require a member with a default.
    const { default: fallback, ...rest } = shape
    const text = ['string', 'number', 'boolean'].includes(typeof fallback) ? ` The default is ${fallback}.` : ''
    const described = {
      ...rest,
      ...(description && { description: `${restText(description)}${text}` }),
      // In an alternative of a union, the type has only one value.
      ...(example !== undefined && !('const' in shape) && { examples: [example] }),
    }
    return [snakeCase(name), described]
  })
  const required = ((body['required'] ?? []) as string[]).map(snakeCase)
  const { required: _, ...rest } = body
  return { ...rest, ...(required.length > 0 && { required }), properties: Object.fromEntries(fields) }
}

/**
 * Returns the schema of a query parameter, which can be absent but not null.
 * @param rootField the name of the root field of the operation
 */
export function querySchema(components: Components, name: string, type: GraphQLInputType, rootField: string): Json {
  const schema = bareInput(components, type)
  if (name === 'eventTypes') return { ...schema, minItems: 1, items: reference('EventType') }
  if (name === 'eventType') return reference('EventType')
  // A filter with the value `null` has the same effect as an absent filter.
  if (schema['type'] === 'boolean') return { type: ['boolean', 'null'] }
  if (name !== 'limit') return schema
  const [maximum, fallback] =
    rootField === 'noteBacklinks'
      ? [limits.maxBacklinksPageLimit, limits.defaultBacklinksPageLimit]
      : [limits.maxPageLimit, limits.defaultPageLimit]
  return { ...schema, minimum: 1, maximum, default: fallback }
}

function bareInput(components: Components, type: GraphQLInputType): Json {
  if (isNonNullType(type)) return bareInput(components, type.ofType as GraphQLInputType)
  if (isListType(type)) return { type: 'array', items: bareInput(components, type.ofType as GraphQLInputType) }
  return leafSchema(components, type)
}

function leafSchema(components: Components, type: unknown): Json {
  if (type instanceof GraphQLEnumType) return addComponent(components, type.name, () => enumSchema(type))
  const schema = scalars[String(type)]
  if (!schema)
    throw new Error(`The scalar ${String(type)} has no JSON Schema; add it to the table in rest/openapi-schemas.ts.`)
  return schema
}

function enumSchema(type: GraphQLEnumType): Json {
  const values = type.getValues()
  const meanings = values.flatMap(({ name, description }) =>
    description ? [`- \`${name}\`: ${restText(description)}`] : [],
  )
  const description = [restText(type.description), meanings.join('\n')].filter(Boolean).join('\n\n')
  return { type: 'string', ...(description && { description }), enum: values.map(({ name }) => name) }
}

/** Returns the schema with null as an additional type. */
function nullable(schema: Json): Json {
  if (typeof schema['type'] !== 'string') return { anyOf: [schema, { type: 'null' }] }
  return { ...schema, type: [schema['type'], 'null'] }
}
