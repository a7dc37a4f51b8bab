/**
 * Converts REST input to GraphQL variables, as the types of the variables require. Names in snake_case become
 * camelCase. Absent fields stay absent, and null stays null. All errors are reported together, with REST field names.
 */
import {
  GraphQLEnumType,
  GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLScalarType,
  getNamedType,
  isListType,
  isNonNullType,
  typeFromAST,
} from 'graphql'
import type { z } from 'zod'
import { rulesOfInput } from '../graphql/field-extensions.js'
import type { Operation } from '../graphql/operations.js'
import { schema } from '../graphql/schema.js'
import { ApiError, type ErrorDetail } from '../kernel/errors.js'
import { camelCase, normalizeMicroSign, snakeCase } from '../kernel/field-names.js'
import { checkInput } from '../kernel/input.js'
import { isObject } from '../kernel/merge-patch.js'
import { toRestError } from './errors.js'

/** Returns the variables of an operation with their types. */
export function variableTypesOf(operation: Operation): Map<string, GraphQLInputType> {
  return new Map(
    (operation.definition.variableDefinitions ?? []).map((definition) => [
      definition.variable.name.value,
      typeFromAST(schema(), definition.type) as GraphQLInputType,
    ]),
  )
}

/** The body of a route: the fields of its input type and how they are checked. */
export interface BodyInput {
  isRequired: boolean
  fields: ReturnType<GraphQLInputObjectType['getFields']>
  /** Undefined for an input whose class is not declared with src/resources/declaration.ts yet. */
  rules: z.ZodType<object> | undefined
  type: GraphQLInputObjectType
}

/** Returns the body of a route for the type of its variable `input`. @throws Error for an input type without rules */
export function bodyInput(type: GraphQLInputType): BodyInput {
  const named = getNamedType(type) as GraphQLInputObjectType
  const rules = rulesOfInput(named.name)?.rules as z.ZodType<object> | undefined
  return { isRequired: isNonNullType(type), fields: named.getFields(), rules, type: named }
}

/**
 * Checks a body.
 * @param details receives an entry for each error
 * @returns `input`: the body with GraphQL names; `checked`: the values that the rules return, if there is no error
 */
export function parseBody(
  { fields, rules, type }: BodyInput,
  body: Record<string, unknown>,
  details: ErrorDetail[],
): { input: object; checked?: object } {
  if (!rules) return { input: parseInput(type, body, '', details) as object }
  const input: Record<string, unknown> = {}
  for (const [rawName, value] of Object.entries(body)) {
    const name = normalizeMicroSign(rawName)
    const key = camelCase(name)
    if (snakeCase(key) !== name || !Object.hasOwn(fields, key))
      details.push(errorDetail(name, 'unknown_field', 'is not a field that can be set here.'))
    else if (Object.hasOwn(input, key)) details.push(errorDetail(name, 'repeated', 'must occur only once.'))
    else input[key] = value
  }
  try {
    return { input, checked: checkInput(rules, input) }
  } catch (error) {
    const restError = toRestError(error)
    if (!(restError instanceof ApiError) || !restError.options.details) throw restError
    details.push(...restError.options.details)
    return { input }
  }
}

const errorDetail = (field: string, code: string, message: string): ErrorDetail => ({ field, code, message })

/**
 * Converts a JSON value to the GraphQL input of a type.
 * @param field the path of the value for errors; empty for the body
 * @param details receives an entry for each error
 * @returns undefined for an absent or invalid value; in a list or object, undefined in the place of each invalid part
 */
export function parseInput(type: GraphQLInputType, value: unknown, field: string, details: ErrorDetail[]): unknown {
  if (isNonNullType(type)) {
    if (value === null || value === undefined) {
      details.push(errorDetail(field, 'required', value === null ? 'must not be null.' : 'is required.'))
      return undefined
    }
    return parseInput(type.ofType, value, field, details)
  }
  if (value === null || value === undefined) return value
  if (isListType(type)) {
    if (!Array.isArray(value)) {
      details.push(errorDetail(field, 'invalid_type', 'must be an array.'))
      return undefined
    }
    return value.map((item, index) => parseInput(type.ofType as GraphQLInputType, item, `${field}[${index}]`, details))
  }
  if (type instanceof GraphQLInputObjectType) return parseObject(type, value, field, details)
  if (type instanceof GraphQLEnumType) return parseEnum(type, value, field, details)
  return parseScalar(type as GraphQLScalarType, value, field, details)
}

function parseObject(type: GraphQLInputObjectType, value: unknown, field: string, details: ErrorDetail[]): unknown {
  const fieldPathOf = (name: string) => (field ? `${field}.${name}` : name)
  if (!isObject(value)) {
    details.push(errorDetail(field || 'body', 'invalid_type', 'must be a JSON object.'))
    return undefined
  }
  const fields = type.getFields()
  const result: Record<string, unknown> = {}
  for (const [rawName, part] of Object.entries(value)) {
    const name = normalizeMicroSign(rawName)
    const key = camelCase(name)
    const known = snakeCase(key) === name ? fields[key] : undefined
    if (known && key in result) details.push(errorDetail(fieldPathOf(name), 'repeated', 'must occur only once.'))
    else if (known) result[key] = parseInput(known.type, part, fieldPathOf(name), details)
    else details.push(errorDetail(fieldPathOf(name), 'unknown_field', 'is not a field that can be set here.'))
  }
  for (const [key, { type: fieldType }] of Object.entries(fields)) {
    if (isNonNullType(fieldType) && !(key in result))
      details.push(errorDetail(fieldPathOf(snakeCase(key)), 'required', 'is required.'))
  }
  return result
}

function parseEnum(type: GraphQLEnumType, value: unknown, field: string, details: ErrorDetail[]): unknown {
  const names = type.getValues().map((item) => item.name)
  if (typeof value === 'string' && names.includes(value)) return value
  details.push(errorDetail(field, 'invalid_value', `must be one of ${names.join(', ')}.`))
  return undefined
}

const scalars: Record<string, { isValid: (value: unknown) => boolean; message: string }> = {
  ID: { isValid: (value) => typeof value === 'string', message: 'must be a string.' },
  String: { isValid: (value) => typeof value === 'string', message: 'must be a string.' },
  Boolean: { isValid: (value) => typeof value === 'boolean', message: 'must be true or false.' },
  Int: {
    isValid: (value) => Number.isInteger(value) && Math.abs(value as number) <= 2_147_483_647,
    message: 'must be a whole number from -2147483647 to 2147483647.',
  },
  Timestamp: { isValid: Number.isSafeInteger, message: 'must be a whole number of Unix milliseconds.' },
  MicroUsd: { isValid: Number.isSafeInteger, message: 'must be a whole number of micro-USD.' },
  JSONObject: { isValid: isObject, message: 'must be a JSON object.' },
}

function parseScalar(type: GraphQLScalarType, value: unknown, field: string, details: ErrorDetail[]): unknown {
  const rule = scalars[type.name]
  if (!rule) throw new Error(`The scalar ${type.name} has no input rule; add it to the table in rest/input.ts.`)
  if (rule.isValid(value)) return value
  details.push(errorDetail(field, 'invalid_type', rule.message))
  return undefined
}

/**
 * Converts query parameters to variables; numbers, booleans and comma-separated lists are parsed from text.
 * @param types the types of the variables by GraphQL name
 * @param details receives an entry for each error
 */
export function parseQuery(
  types: Map<string, GraphQLInputType>,
  query: URLSearchParams,
  details: ErrorDetail[],
): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const name of new Set(query.keys())) {
    const key = camelCase(name)
    const type = snakeCase(key) === name ? types.get(key) : undefined
    const values = query.getAll(name)
    if (!type) details.push(errorDetail(name, 'unknown_parameter', 'is not a parameter of this request.'))
    else if (values.length > 1) details.push(errorDetail(name, 'repeated', 'must occur only once.'))
    else result[key] = parseInput(type, parseQueryValue(type, values[0]!), name, details)
  }
  for (const [key, type] of types) {
    if (isNonNullType(type) && !query.has(snakeCase(key)))
      details.push(errorDetail(snakeCase(key), 'required', 'is required.'))
  }
  return result
}

function parseQueryValue(type: GraphQLInputType, text: string): unknown {
  if (isListType(type)) return text === '' ? [] : text.split(',')
  const name = isNonNullType(type) ? String(type.ofType) : String(type)
  if (name === 'Boolean' && (text === 'true' || text === 'false')) return text === 'true'
  // A filter with the value `null` has the same effect as an absent filter (docs/contract.md#note-endpoints).
  if (name === 'Boolean' && text === 'null') return null
  if ((name === 'Int' || name === 'Timestamp') && /^-?\d{1,16}$/.test(text)) return Number(text)
  return text
}
