/**
 * Converts REST input to GraphQL variables. A body is checked with the rules of its input type, a query parameter with the
 * type of its variable. Names in snake_case become camelCase. All errors are reported together, with REST field names.
 */
import {
  GraphQLEnumType,
  type GraphQLInputObjectType,
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
  rules: z.ZodType<object>
}

/** Returns the body of a route for the type of its variable `input`. @throws Error for an input type without rules */
export function bodyInput(type: GraphQLInputType): BodyInput {
  const named = getNamedType(type) as GraphQLInputObjectType
  const { rules } = rulesOfInput(named.name)
  return { isRequired: isNonNullType(type), fields: named.getFields(), rules: rules as z.ZodType<object> }
}

/**
 * Checks a body.
 * @param details receives an entry for each error
 * @returns `input`: the body with GraphQL names; `checked`: the values that the rules return, if there is no error
 */
export function parseBody(
  { fields, rules }: BodyInput,
  body: Record<string, unknown>,
  details: ErrorDetail[],
): { input: object; checked?: object } {
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
 * Checks the value of a query parameter.
 * @param details receives an entry for each error
 * @returns undefined for an invalid value; in a list, undefined in the place of each invalid entry
 */
function checkValue(type: GraphQLInputType, value: unknown, field: string, details: ErrorDetail[]): unknown {
  if (isNonNullType(type)) return checkValue(type.ofType as GraphQLInputType, value, field, details)
  if (value === null) return null
  if (isListType(type)) {
    const itemType = type.ofType as GraphQLInputType
    return (value as unknown[]).map((item, index) => checkValue(itemType, item, `${field}[${index}]`, details))
  }
  if (type instanceof GraphQLEnumType) return parseEnum(type, value, field, details)
  return parseScalar(type as GraphQLScalarType, value, field, details)
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
    else result[key] = checkValue(type, parseQueryValue(type, values[0]!), name, details)
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
