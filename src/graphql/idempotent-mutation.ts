/**
 * The `idempotencyKey` argument of mutations: the response of the whole document is stored and replayed, unless it
 * contains a secret that must not be stored (docs/contract.md#idempotency-key).
 */
import { type GraphQLResponse, HeaderMap } from '@apollo/server'
import {
  type DocumentNode,
  execute,
  getOperationAST,
  isNonNullType,
  type OperationDefinitionNode,
  print,
  valueFromASTUntyped,
} from 'graphql'
import { authorize } from '../access/authorize.js'
import { canonicalJson } from '../kernel/canonical-json.js'
import { ApiError, badRequest } from '../kernel/errors.js'
import { unsafeInputError } from '../kernel/safe-json.js'
import type { Context } from '../platform/context.js'
import { withDefaults } from './document-limits.js'
import { invalidDocumentError } from './errors.js'
import {
  commitsItself,
  requiredPermissionOf,
  resourcePathOf,
  responseStorageOf,
  storageOf,
} from './field-extensions.js'
import {
  authorityFingerprint,
  checkIdempotencyKey,
  fingerprintsOf,
  type IdempotentCall,
  requireSameRequest,
  runIdempotently,
} from './idempotency.js'
import { rootFieldsOf } from './root-fields.js'
import { schema } from './schema.js'

/**
 * Returns the call of a mutation with an idempotencyKey, for an authorized caller. The arguments are read before they
 * are validated, so that a key that is used again with an invalid input is reported as reuse of the key.
 * @returns undefined for every other operation, for a mutation whose response is never stored, and for a mutation with missing or
 *   unsafe path arguments
 * @throws invalid_request when the document has a key and several mutations, or the length of the key is invalid; the
 *   errors of `authorize`
 */
async function idempotentCallOf(
  context: Context,
  document: DocumentNode,
  operation: OperationDefinitionNode | null | undefined,
  requestVariables: Record<string, unknown>,
): Promise<IdempotentCall | undefined> {
  if (operation?.operation !== 'mutation') return undefined
  const variables = withDefaults(operation, requestVariables)
  const nodes = rootFieldsOf(document, operation)
  const calls = nodes.flatMap((node) => {
    const field = schema().getMutationType()!.getFields()[node.name.value]
    const args = node.arguments?.map(({ name, value }) => [name.value, valueFromASTUntyped(value, variables)]) ?? []
    return field ? [{ field, args: Object.fromEntries(args) as Record<string, unknown> }] : []
  })
  const keyed = calls.filter(({ args }) => typeof args['idempotencyKey'] === 'string')
  if (keyed.length === 0) return undefined
  if (nodes.length > 1)
    throw badRequest(
      'An operation with an idempotencyKey must contain only one mutation field. Send the others separately.',
    )
  const [{ field, args }] = keyed as [(typeof keyed)[number]]
  const key = checkIdempotencyKey('idempotencyKey', args['idempotencyKey'] as string)
  if (responseStorageOf(field) === 'never') return undefined
  // With missing or unsafe path arguments, the request has no resource path and is rejected by validation.
  const pathArguments = field.args.filter(({ name }) => name in resourcePathOf({}))
  const hasResourcePath = pathArguments.every(
    ({ name, type }) => typeof args[name] === 'string' || !isNonNullType(type),
  )
  if (!hasResourcePath || unsafeInputError([key, ...pathArguments.map(({ name }) => args[name])]) !== undefined)
    return undefined
  const { actor } = await authorize(context, requiredPermissionOf(field)!, resourcePathOf(args))
  const accountId = (args['accountId'] as string | undefined) ?? actor.accountId ?? ''
  // The fingerprint includes the whole document, because fragments determine the response. It also includes the
  // caller's permissions, because the selected relations require their own scopes.
  const name = `graphql ${operation.name?.value ?? ''}`
  const parts = [name, print(document), canonicalJson(requestVariables), authorityFingerprint(actor)]
  const input = (args['input'] ?? {}) as Record<string, unknown>
  const responseStorage = storageOf(field, input)
  return {
    accountId,
    key,
    fingerprints: fingerprintsOf(context, ...parts),
    responseStorage,
    commitsItself: commitsItself(field),
  }
}

/**
 * Checks the idempotencyKey of a document that failed validation and therefore is not executed. For a caller without
 * permission for the mutation it does nothing, so that the response does not reveal whether the key was used.
 * @throws invalid_request with status 422 when the key was used for another request
 */
export async function requireSameInvalidRequest(
  context: Context,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Record<string, unknown>,
): Promise<void> {
  const operation = getOperationAST(document, operationName)
  const call = await idempotentCallOf(context, document, operation, variables).catch((error) => {
    // A RangeError is the stack overflow of a deeply nested document, which validation has already reported.
    if (error instanceof ApiError || error instanceof RangeError) return undefined
    throw error
  })
  if (call) await requireSameRequest(context, call)
}

/**
 * Executes a mutation with an idempotencyKey. Returns null if `idempotentCallOf` returns undefined; Apollo then
 * executes the operation.
 * @throws invalid_request if the document has a key and several mutations; the errors of `authorize`,
 *   `runIdempotently` and the mutation
 */
export async function executeIdempotently(
  context: Context,
  document: DocumentNode,
  operation: OperationDefinitionNode | null | undefined,
  variables: Record<string, unknown>,
): Promise<GraphQLResponse | null> {
  const call = await idempotentCallOf(context, document, operation, variables)
  if (!call) return null
  const operationName = operation?.name?.value
  const response = await runIdempotently(context, call, async (tx) => {
    const result = await execute({
      schema: schema(),
      document,
      ...(operationName !== undefined && { operationName }),
      contextValue: tx,
      variableValues: variables,
    })
    const [error] = result.errors ?? []
    if (error && !error.path) throw invalidDocumentError(result.errors!, document)
    if (error) throw error.originalError ?? error
    return { status: 200, body: JSON.stringify(result.data), etag: null }
  })
  const headers = new HeaderMap()
  if (response.replayed) headers.set('idempotent-replayed', 'true')
  return {
    http: { status: 200, headers },
    body: { kind: 'single', singleResult: { data: response.body === '' ? null : JSON.parse(response.body) } },
  }
}
