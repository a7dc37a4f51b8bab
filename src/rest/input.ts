/**
 * From REST to GraphQL, driven by the types of the operation's variables: snake_case becomes camelCase, absent stays
 * absent, null stays null, and whatever does not fit is told in the words of the REST contract, all of it at once.
 */
import {
  GraphQLEnumType,
  GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLScalarType,
  isListType,
  isNonNullType,
  typeFromAST,
} from 'graphql'
import type { Operation } from '../graphql/operations.js'
import { schema } from '../graphql/schema.js'
import type { Detail } from '../kernel/errors.js'
import { isObject } from '../kernel/merge.js'
import { camel, folded, snake } from '../kernel/names.js'

/** Variables of an operation with their types. */
export function variablesOf(operation: Operation): Map<string, GraphQLInputType> {
  return new Map(
    (operation.definition.variableDefinitions ?? []).map((definition) => [
      definition.variable.name.value,
      typeFromAST(schema(), definition.type) as GraphQLInputType,
    ]),
  )
}

const fault = (field: string, code: string, message: string): Detail => ({ field, code, message })

/** Turns a JSON value into the GraphQL input of a type; faults are added to `details`. */
export function inputOf(type: GraphQLInputType, value: unknown, field: string, details: Detail[]): unknown {
  if (isNonNullType(type)) {
    if (value === null || value === undefined) {
      details.push(fault(field, 'required', value === null ? 'must not be null.' : 'is required.'))
      return undefined
    }
    return inputOf(type.ofType, value, field, details)
  }
  if (value === null || value === undefined) return value
  if (isListType(type)) {
    if (!Array.isArray(value)) {
      details.push(fault(field, 'invalid_type', 'must be an array.'))
      return undefined
    }
    return value.map((item, index) => inputOf(type.ofType as GraphQLInputType, item, `${field}[${index}]`, details))
  }
  if (type instanceof GraphQLInputObjectType) return objectOf(type, value, field, details)
  if (type instanceof GraphQLEnumType) return enumValue(type, value, field, details)
  return scalarOf(type as GraphQLScalarType, value, field, details)
}

function objectOf(type: GraphQLInputObjectType, value: unknown, field: string, details: Detail[]): unknown {
  const at = (name: string) => (field ? `${field}.${name}` : name)
  if (!isObject(value)) {
    details.push(fault(field || 'body', 'invalid_type', 'must be a JSON object.'))
    return undefined
  }
  const fields = type.getFields()
  const result: Record<string, unknown> = {}
  for (const [written, part] of Object.entries(value)) {
    const name = folded(written)
    const key = camel(name)
    const known = snake(key) === name ? fields[key] : undefined
    if (known && key in result) details.push(fault(at(name), 'repeated', 'may be given once only.'))
    else if (known) result[key] = inputOf(known.type, part, at(name), details)
    else details.push(fault(at(name), 'unknown_field', 'is not a field that can be set here.'))
  }
  for (const [key, { type: fieldType }] of Object.entries(fields)) {
    if (isNonNullType(fieldType) && !(key in result)) details.push(fault(at(snake(key)), 'required', 'is required.'))
  }
  return result
}

function enumValue(type: GraphQLEnumType, value: unknown, field: string, details: Detail[]): unknown {
  const names = type.getValues().map((item) => item.name)
  if (typeof value === 'string' && names.includes(value)) return value
  details.push(fault(field, 'invalid_value', `must be one of ${names.join(', ')}.`))
  return undefined
}

const scalars: Record<string, { fits: (value: unknown) => boolean; message: string }> = {
  ID: { fits: (value) => typeof value === 'string', message: 'must be a string.' },
  String: { fits: (value) => typeof value === 'string', message: 'must be a string.' },
  Boolean: { fits: (value) => typeof value === 'boolean', message: 'must be true or false.' },
  Int: {
    fits: (value) => Number.isInteger(value) && Math.abs(value as number) <= 2_147_483_647,
    message: 'must be a whole number.',
  },
  Timestamp: { fits: Number.isSafeInteger, message: 'must be a whole number of Unix milliseconds.' },
  MicroUsd: { fits: Number.isSafeInteger, message: 'must be a whole number of micro-USD.' },
  JSONObject: { fits: isObject, message: 'must be a JSON object.' },
}

function scalarOf(type: GraphQLScalarType, value: unknown, field: string, details: Detail[]): unknown {
  const rule = scalars[type.name]
  if (!rule) throw new Error(`rest/input knows no scalar ${type.name}; add it to the table.`)
  if (rule.fits(value)) return value
  details.push(fault(field, 'invalid_type', rule.message))
  return undefined
}

/** Turns query parameters into variables; they are text, so numbers and truth values are read from it. */
export function queryOf(
  types: Map<string, GraphQLInputType>,
  query: URLSearchParams,
  details: Detail[],
): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const name of new Set(query.keys())) {
    const key = camel(name)
    const type = snake(key) === name ? types.get(key) : undefined
    const values = query.getAll(name)
    if (!type) details.push(fault(name, 'unknown_parameter', 'is not a parameter of this request.'))
    else if (values.length > 1) details.push(fault(name, 'repeated', 'may be given once only.'))
    else result[key] = inputOf(type, textValue(type, values[0]!), name, details)
  }
  for (const [key, type] of types) {
    if (isNonNullType(type) && !query.has(snake(key))) details.push(fault(snake(key), 'required', 'is required.'))
  }
  return result
}

function textValue(type: GraphQLInputType, text: string): unknown {
  if (isListType(type)) return text === '' ? [] : text.split(',')
  const name = isNonNullType(type) ? String(type.ofType) : String(type)
  if (name === 'Boolean' && (text === 'true' || text === 'false')) return text === 'true'
  // Spec 4.13: «boolean or null». No filter either way.
  if (name === 'Boolean' && text === 'null') return null
  if ((name === 'Int' || name === 'Timestamp') && /^-?\d{1,16}$/.test(text)) return Number(text)
  return text
}
