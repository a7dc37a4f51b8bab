/**
 * GraphQL operations that Gatehouse executes itself, such as those of `/v1`. A test validates their documents against
 * the schema, so they are not validated at startup.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type DocumentNode,
  execute,
  type FieldNode,
  type GraphQLField,
  type OperationDefinitionNode,
  parse,
  visit,
} from 'graphql'
import type { Context } from '../platform/context.js'
import { packageRoot } from '../platform/package-info.js'
import { schema } from './schema.js'

/** An operation with its root field. */
export interface Operation {
  name: string
  document: DocumentNode
  definition: OperationDefinitionNode
  field: GraphQLField<unknown, Context>
  /** The alias or name of the root field in the result. */
  key: string
}

/**
 * Reads all documents of a directory of `graphql/`. A document can use fragments of the other files.
 * @param wireName converts an alias to the name in the response, which need not be a valid GraphQL name
 * @returns the operations by name
 * @throws Error if the root field of an operation is not in the schema
 */
export function readOperations(folder: string, wireName = (alias: string): string => alias): Map<string, Operation> {
  const path = join(packageRoot, 'graphql', folder)
  const text = readdirSync(path)
    .filter((name) => name.endsWith('.graphql'))
    .sort()
    .map((name) => readFileSync(join(path, name), 'utf8'))
    .join('\n')
  const document = visit(parse(text, { noLocation: true }), {
    Field: ({ alias, ...field }) =>
      alias ? { ...field, alias: { ...alias, value: wireName(alias.value) } } : undefined,
  })
  const fragments = document.definitions.filter((definition) => definition.kind === 'FragmentDefinition')
  const operations = new Map<string, Operation>()
  for (const definition of document.definitions) {
    if (definition.kind !== 'OperationDefinition') continue
    const name = definition.name?.value ?? ''
    const used = usedFragments(definition, fragments)
    const operationDocument: DocumentNode = { kind: document.kind, definitions: [definition, ...used] }
    const root = definition.selectionSet.selections[0] as FieldNode
    const type = definition.operation === 'mutation' ? schema().getMutationType() : schema().getQueryType()
    const field = type!.getFields()[root.name.value]
    if (!field) throw new Error(`graphql/${folder}: ${name}: the schema has no root field ${root.name.value}`)
    operations.set(name, {
      name,
      document: operationDocument,
      definition,
      field,
      key: root.alias?.value ?? root.name.value,
    })
  }
  return operations
}

function usedFragments<F extends { name: { value: string } }>(
  node: unknown,
  fragments: readonly F[],
  found = new Set<F>(),
): F[] {
  const names = [...JSON.stringify(node).matchAll(/"kind":"FragmentSpread","name":\{"kind":"Name","value":"(\w+)"/g)]
  for (const [, name] of names) {
    const fragment = fragments.find((candidate) => candidate.name.value === name)
    if (fragment && !found.has(fragment)) {
      found.add(fragment)
      usedFragments(fragment, fragments, found)
    }
  }
  return [...found]
}

/**
 * Executes an operation and returns the result of its root field.
 * @throws the error of the resolver
 */
export async function runOperation(
  operation: Operation,
  context: Context,
  variables: Record<string, unknown>,
): Promise<unknown> {
  const result = await execute({
    schema: schema(),
    document: operation.document,
    contextValue: context,
    variableValues: variables,
  })
  const [error] = result.errors ?? []
  if (error) throw error.originalError ?? error
  return (result.data as Record<string, unknown>)[operation.key]
}
