/** The root fields of the GraphQL schema, from introspection, and the REST routes with the same operation. */

import { camelCase, snakeCase } from '../../src/kernel/field-names.js'
import { type Route, routes } from '../../src/rest/routes.js'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { createPaymentFor, type FixtureIds, idKeyOf, requestBodies, requiredQueries } from './tenant-fixture.js'

export interface RootField {
  name: string
  kind: 'query' | 'mutation'
  args: { name: string; type: string }[]
  /** A GraphQL selection of all leaf fields of its type and, for a list, of its rows. */
  selection: string
}

const introspection = `{ __schema { queryType { fields { ...f } } mutationType { fields { ...f } } types { name kind fields { name args { name } type { ...t } } } } }
  fragment f on __Field { name args { name type { ...t } } type { ...t } }
  fragment t on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`

const typeText = (type: AnyJson): string =>
  type.kind === 'NON_NULL'
    ? `${typeText(type.ofType)}!`
    : type.kind === 'LIST'
      ? `[${typeText(type.ofType)}]`
      : type.name
const unwrappedType = (type: AnyJson): AnyJson => (type.ofType ? unwrappedType(type.ofType) : type)

/**
 * Returns a GraphQL selection of all leaf fields of a type, of the rows of a list (`data`), and of the `account` and
 * `apiKey` in the payload of a mutation.
 */
function selectionOf(types: AnyJson[], type: AnyJson): string {
  const { name: typeName, kind } = unwrappedType(type)
  if (kind !== 'OBJECT' && kind !== 'INTERFACE') return ''
  const fields: AnyJson[] = types.find((candidate) => candidate.name === typeName).fields
  const parts = fields.flatMap((field) => {
    if (!['OBJECT', 'UNION'].includes(unwrappedType(field.type).kind)) return [field.name]
    return field.name === 'data' || ['account', 'apiKey'].includes(field.name)
      ? [`${field.name} ${selectionOf(types, field.type)}`]
      : []
  })
  return `{ ${parts.join(' ')} }`
}

/** Reads all root fields. */
export async function readRootFields(api: ApiClient): Promise<RootField[]> {
  const { types, queryType, mutationType } = expectStatus(await api.graphql(introspection), 200).data.__schema
  const all = (fields: AnyJson[], kind: RootField['kind']): RootField[] =>
    fields.map((field) => ({
      name: field.name,
      kind,
      args: field.args.map((arg: AnyJson) => ({ name: arg.name, type: typeText(arg.type) })),
      selection: selectionOf(types, field.type),
    }))
  return [...all(queryType.fields, 'query'), ...all(mutationType.fields, 'mutation')]
}

/** Returns the REST route of a root field. The field `client` has the route `getClient`, `clients` has `listClients`. */
export const restRouteOf = (root: RootField): Route | undefined =>
  routes.find(
    ({ operation }) =>
      operation === root.name ||
      operation.replace(/^(get|list)(.)/, (_, __, letter: string) => letter.toLowerCase()) === root.name,
  )

/** Arguments with ids that are conditions of a query. */
const conditions = ['subjectId', 'refId']

/** Returns the arguments of a root field that form the resource path, each with the name of its id in the fixture. */
export const idArgumentsOf = (root: RootField): [string, keyof FixtureIds][] =>
  root.args
    // The argument `domain` is a host name, not an ID.
    .filter(({ type, name }) => (type === 'ID!' && !conditions.includes(name)) || name === 'domain')
    .map(({ name }) => [name, idKeyOf(snakeCase(name), restRouteOf(root)?.path ?? '')])

/**
 * Runs a root field with the ids of its resource path and a valid input.
 * @param variableOverrides variables that replace or complement these
 */
export async function callRootField(
  api: ApiClient,
  root: RootField,
  ids: FixtureIds,
  variableOverrides: Record<string, unknown> = {},
) {
  const variableDefinitions = root.args.map((arg) => `$${arg.name}: ${arg.type}`).join(', ')
  const argumentList = root.args.map((arg) => `${arg.name}: $${arg.name}`).join(', ')
  const parenthesized = (text: string) => (text === '' ? '' : `(${text})`)
  const variables: Record<string, unknown> = {}
  for (const [argument, key] of idArgumentsOf(root)) variables[argument] = ids[key]
  const body = requestBodies[root.name]?.(ids)
  for (const [key, value] of Object.entries(requiredQueries[restRouteOf(root)?.operation ?? '']?.(ids) ?? {}))
    variables[camelCase(key)] = value
  if (root.args.some((arg) => arg.name === 'input') && body) {
    variables['input'] = Object.fromEntries(Object.entries(body).map(([key, value]) => [camelCase(key), value]))
  }
  if (root.args.some((arg) => arg.name === 'paymentSignature')) variables['paymentSignature'] = createPaymentFor(body)
  if (root.name === 'createAccount') variables['input'] = { name: 'Not for you' }
  if (root.name === 'importUsers') variables['input'] = { source: 'auth0', dryRun: true, last: true, records: [] }
  Object.assign(variables, variableOverrides)
  const response = await api.graphql(
    `${root.kind} run${parenthesized(variableDefinitions)} { ${root.name}${parenthesized(argumentList)} ${root.selection} }`,
    variables,
  )
  const [error] = response.body.errors ?? []
  return { answer: response, status: error ? error.extensions.status : 200, code: error?.extensions.code }
}
