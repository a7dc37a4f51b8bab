/**
 * The GraphQL operations behind `/v1`, derived from the route table and the schema: the variables are the arguments of
 * the root field, and the selection is every field of the result that `/v1` shows, under its REST name.
 */
import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  GraphQLInterfaceType,
  type GraphQLObjectType,
  getNamedType,
  isLeafType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parseType,
  type SelectionNode,
  type SelectionSetNode,
  type VariableNode,
} from 'graphql'
import { extensionsOf, responseStorageOf } from '../graphql/field-extensions.js'
import type { Operation } from '../graphql/operations.js'
import { schema } from '../graphql/schema.js'
import { snakeCase } from '../kernel/field-names.js'
import type { Context } from '../platform/context.js'
import type { Route } from './routes.js'

type Field = GraphQLField<unknown, Context>

/** Arguments that only GraphQL has: `/v1` has a header for the key, and no search. */
const graphqlOnlyArguments = ['idempotencyKey', 'search']

/** Returns the name of the root field of a route: `clients` for `listClients`, `client` for `getClient`. */
export const rootFieldName = ({ operation }: Route): string =>
  operation.replace(/^(?:list|get)([A-Z])/, (_, letter: string) => letter.toLowerCase())

/** Returns the name of a field in `/v1`. */
export const restNameOf = (field: Field): string => extensionsOf(field).restName ?? snakeCase(field.name)

/**
 * Creates the operation of a route.
 * @param nameOf the name of a field in the result
 * @throws Error if the schema has no root field for the route
 */
export function createOperation(route: Route, nameOf: (field: Field) => string = restNameOf): Operation {
  const isQuery = route.method === 'GET'
  const rootType = isQuery ? schema().getQueryType()! : schema().getMutationType()!
  const root = rootType.getFields()[rootFieldName(route)]
  if (!root) throw new Error(`${route.method} ${route.path}: the schema has no root field ${rootFieldName(route)}.`)
  const args = root.args.filter(({ name }) => !graphqlOnlyArguments.includes(name))
  const selectionSet = selectionOf(root, {
    hasSecrets: responseStorageOf(root) !== undefined,
    extraFields: route.extraFields ?? [],
    nameOf,
  })
  const field: FieldNode = {
    kind: Kind.FIELD,
    name: nameNode(root.name),
    arguments: args.map(({ name }) => ({ kind: Kind.ARGUMENT, name: nameNode(name), value: variable(name) })),
    ...(selectionSet && { selectionSet }),
  }
  const definition: OperationDefinitionNode = {
    kind: Kind.OPERATION_DEFINITION,
    operation: isQuery ? OperationTypeNode.QUERY : OperationTypeNode.MUTATION,
    name: nameNode(route.operation),
    variableDefinitions: args.map(({ name, type }) => ({
      kind: Kind.VARIABLE_DEFINITION,
      variable: variable(name),
      type: parseType(String(type), { noLocation: true }),
    })),
    selectionSet: { kind: Kind.SELECTION_SET, selections: [field] },
  }
  const document: DocumentNode = { kind: Kind.DOCUMENT, definitions: [definition] }
  return { name: route.operation, document, definition, field: root }
}

interface SelectionOptions {
  hasSecrets: boolean
  extraFields: readonly string[]
  nameOf: (field: Field) => string
}

const nameNode = (value: string) => ({ kind: Kind.NAME, value }) as const
const variable = (name: string): VariableNode => ({ kind: Kind.VARIABLE, name: nameNode(name) })

/** Returns the fields of a result that `/v1` shows; undefined for a scalar. */
function selectionOf({ type }: Field, options: SelectionOptions): SelectionSetNode | undefined {
  const named = getNamedType(type)
  if (isLeafType(named)) return undefined
  const ownFields = fieldNodes(named as GraphQLObjectType, options)
  const implementations =
    named instanceof GraphQLInterfaceType && options.hasSecrets ? schema().getPossibleTypes(named) : []
  const fragments = implementations.map(
    (implementation): SelectionNode => ({
      kind: Kind.INLINE_FRAGMENT,
      typeCondition: { kind: Kind.NAMED_TYPE, name: nameNode(implementation.name) },
      selectionSet: {
        kind: Kind.SELECTION_SET,
        selections: fieldNodes(implementation, options).filter(({ name }) => isOnce(implementation, name.value)),
      },
    }),
  )
  const withFields = fragments.filter(
    (node) => node.kind === Kind.INLINE_FRAGMENT && node.selectionSet.selections.length > 0,
  )
  return { kind: Kind.SELECTION_SET, selections: [...ownFields, ...withFields] }
}

const isOnce = (type: GraphQLObjectType, name: string): boolean => extensionsOf(type.getFields()[name]!).once === true

function fieldNodes(type: GraphQLObjectType, options: SelectionOptions): FieldNode[] {
  return shownFields(type, options).map((field) => {
    const selectionSet = selectionOf(field, options)
    const wireName = options.nameOf(field)
    return {
      kind: Kind.FIELD,
      name: nameNode(field.name),
      ...(wireName !== field.name && { alias: nameNode(wireName) }),
      ...(selectionSet && { selectionSet }),
    }
  })
}

/**
 * Returns the fields of a type that `/v1` shows.
 * @param options `hasSecrets`: for a mutation with `@ReturnsSecret`; `extraFields`: see `Route`
 */
export const shownFields = (
  type: GraphQLObjectType | GraphQLInterfaceType,
  { hasSecrets = false, extraFields = [] }: { hasSecrets?: boolean; extraFields?: readonly string[] },
): Field[] => Object.values(type.getFields()).filter((field) => isShown(field, { hasSecrets, extraFields }))

function isShown(field: Field, { hasSecrets, extraFields }: Omit<SelectionOptions, 'nameOf'>): boolean {
  const { once, graphqlOnly, scope, inRest } = extensionsOf(field)
  if (extraFields.includes(field.name)) return true
  if (graphqlOnly || (once && !hasSecrets)) return false
  return scope === undefined || inRest === true
}
