/**
 * Operations that Gatehouse itself runs: the documents behind `/v1`, parsed and then executed in-process.
 * They are part of a build like its code, so that a test holds that they are valid, and no start does.
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
import { packageRoot } from '../platform/package-root.js'
import { schema } from './schema.js'

/** One operation with the root field that it runs. */
export interface Operation {
  name: string
  document: DocumentNode
  definition: OperationDefinitionNode
  field: GraphQLField<unknown, Context>
  /** The alias or name of the root field in the result. */
  key: string
}

/**
 * Reads all documents of a folder of `graphql/`. Fragments of one file serve the others.
 * @param wireName what an alias is called in the answer, where that is no name of GraphQL's
 * @throws Error naming the operation whose root field is not in the schema
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
    const own: DocumentNode = { kind: document.kind, definitions: [definition, ...used] }
    const root = definition.selectionSet.selections[0] as FieldNode
    const type = definition.operation === 'mutation' ? schema().getMutationType() : schema().getQueryType()
    const field = type!.getFields()[root.name.value]
    if (!field) throw new Error(`graphql/${folder}: ${name}: there is no ${root.name.value} in the schema`)
    operations.set(name, {
      name,
      document: own,
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
 * Runs an operation and answers what its root field gave.
 * @throws whatever the resolver threw
 */
export async function run(
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
