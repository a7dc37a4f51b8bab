/** GraphQL operations that Gatehouse executes itself: those of `/v1` (src/rest/operations.ts). */
import { type DocumentNode, execute, type GraphQLField, type OperationDefinitionNode } from 'graphql'
import type { Context } from '../platform/context.js'
import { schema } from './schema.js'

/** An operation with its root field. */
export interface Operation {
  name: string
  document: DocumentNode
  definition: OperationDefinitionNode
  field: GraphQLField<unknown, Context>
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
  return (result.data as Record<string, unknown>)[operation.field.name]
}
