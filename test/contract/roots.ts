/** The root fields of GraphQL as the interface itself tells them, with their twins in `/v1`. */

import { camel, snake } from '../../src/kernel/names.js'
import { type Route, routes } from '../../src/rest/routes.js'
import { must } from '../setup/actors.js'
import type { Api, Loose } from '../setup/api.js'
import { bodies, type Ids, idName, paymentFor, queries } from './world.js'

export interface Root {
  name: string
  kind: 'query' | 'mutation'
  args: { name: string; type: string }[]
  /** All leaves of its type, and of the rows of a page. */
  selection: string
}

const introspection = `{ __schema { queryType { fields { ...f } } mutationType { fields { ...f } } types { name kind fields { name args { name } type { ...t } } } } }
  fragment f on __Field { name args { name type { ...t } } type { ...t } }
  fragment t on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`

const written = (type: Loose): string =>
  type.kind === 'NON_NULL' ? `${written(type.ofType)}!` : type.kind === 'LIST' ? `[${written(type.ofType)}]` : type.name
const named = (type: Loose): Loose => (type.ofType ? named(type.ofType) : type)

/** All leaves of a type, and of the rows of a page. */
function selectionOf(types: Loose[], type: Loose): string {
  const { name: typeName, kind } = named(type)
  if (kind !== 'OBJECT' && kind !== 'INTERFACE') return ''
  const fields: Loose[] = types.find((candidate) => candidate.name === typeName).fields
  const parts = fields.flatMap((field) => {
    if (named(field.type).kind !== 'OBJECT') return [field.name]
    return field.name === 'data' || ['account', 'apiKey'].includes(field.name)
      ? [`${field.name} ${selectionOf(types, field.type)}`]
      : []
  })
  return `{ ${parts.join(' ')} }`
}

/** All root fields. */
export async function rootsOf(api: Api): Promise<Root[]> {
  const { types, queryType, mutationType } = must(await api.graphql(introspection), 200).data.__schema
  const all = (fields: Loose[], kind: Root['kind']): Root[] =>
    fields.map((field) => ({
      name: field.name,
      kind,
      args: field.args.map((arg: Loose) => ({ name: arg.name, type: written(arg.type) })),
      selection: selectionOf(types, field.type),
    }))
  return [...all(queryType.fields, 'query'), ...all(mutationType.fields, 'mutation')]
}

/** The REST row behind a root field: `getClient` is `client`, `listClients` is `clients`. */
export const routeOf = (root: Root): Route | undefined =>
  routes.find(
    ({ operation }) =>
      operation === root.name ||
      operation.replace(/^(get|list)(.)/, (_, __, letter: string) => letter.toLowerCase()) === root.name,
  )

/** Arguments of a root field that name a place, each with the id that it stands for. */
export const placesOf = (root: Root): [string, keyof Ids][] =>
  root.args
    // A domain is named by its host.
    .filter(({ type, name }) => type === 'ID!' || name === 'domain')
    .map(({ name }) => [name, idName(snake(name), routeOf(root)?.path ?? '')])

/** Runs a root field with these ids and a good input, or what `more` holds instead. */
export async function callRoot(api: Api, root: Root, ids: Ids, more: Record<string, unknown> = {}) {
  const declared = root.args.map((arg) => `$${arg.name}: ${arg.type}`).join(', ')
  const given = root.args.map((arg) => `${arg.name}: $${arg.name}`).join(', ')
  const around = (text: string) => (text === '' ? '' : `(${text})`)
  const variables: Record<string, unknown> = {}
  for (const [argument, key] of placesOf(root)) variables[argument] = ids[key]
  const body = bodies[root.name]?.(ids)
  for (const [key, value] of Object.entries(queries[routeOf(root)?.operation ?? '']?.(ids) ?? {}))
    variables[camel(key)] = value
  if (root.args.some((arg) => arg.name === 'input') && body) {
    variables['input'] = Object.fromEntries(Object.entries(body).map(([key, value]) => [camel(key), value]))
  }
  if (root.args.some((arg) => arg.name === 'paymentSignature')) variables['paymentSignature'] = paymentFor(body)
  if (root.name === 'createAccount') variables['input'] = { name: 'Not for you' }
  if (root.name === 'importUsers') variables['input'] = { source: 'auth0', dryRun: true, last: true, records: [] }
  Object.assign(variables, more)
  const answer = await api.graphql(
    `${root.kind} run${around(declared)} { ${root.name}${around(given)} ${root.selection} }`,
    variables,
  )
  const [error] = answer.body.errors ?? []
  return { answer, status: error ? error.extensions.status : 200, code: error?.extensions.code }
}
