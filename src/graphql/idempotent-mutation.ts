/** `idempotencyKey` on a mutation (decisions part 0, D20): the whole answer of the document is kept and given again. */
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
import { authorize } from '../access/guard.js'
import { canonicalJson } from '../kernel/canonical.js'
import { ApiError, badRequest } from '../kernel/errors.js'
import { gateFault } from '../kernel/gate.js'
import type { Context } from '../platform/context.js'
import { commitsItself, demandOf, placeOf } from './demands.js'
import { invalidDocument } from './errors.js'
import {
  authorityPart,
  checkKey,
  fingerprintsOf,
  type IdempotentCall,
  idempotent,
  type Keeping,
  refuseReuse,
} from './idempotency.js'
import { rootFieldsOf } from './root-fields.js'
import { schema } from './schema.js'

/** Mutations whose answers hold a secret run anew each time (spec 4.1 rule 7). */
const neverCached = new Set([
  'createAccount',
  'createApiKey',
  'rotateApiKey',
  'createOrganizationApiKey',
  'rotateOrganizationApiKey',
  'createOrganizationInvitation',
  'resendOrganizationInvitation',
  'rotateClientSecret',
  'completeEnrollment',
  'createPersonalToken',
])

/** Of some others, it depends on what is made. */
function keepingOf(mutation: string, input: unknown): Keeping {
  const { confidential, type, auth } = (input ?? {}) as { confidential?: boolean; type?: string; auth?: string }
  if (mutation === 'createClient' && confidential === true) return 'never'
  if (mutation === 'createAgentVerifier' && type === 'secret') return 'never'
  if (mutation === 'createWebhook' && auth !== 'none') return 'never'
  if (mutation === 'createVerifier' && type === 'backup_codes') return 'never'
  return mutation === 'createVerifier' && type === 'totp_enrollment' ? 'encrypted' : 'plain'
}

/**
 * The mutation that carries an idempotencyKey, for a caller who may run it. Its arguments are read without a look at
 * their types: a wrong input is another input, and must not hide that the key was used before.
 * @returns undefined for every other operation
 * @throws invalid_request when a key stands in a document of several mutations, and as authorize
 */
async function keyedCall(
  context: Context,
  document: DocumentNode,
  operation: OperationDefinitionNode | null | undefined,
  given: Record<string, unknown>,
): Promise<IdempotentCall | undefined> {
  if (operation?.operation !== 'mutation') return undefined
  const defaults = (operation.variableDefinitions ?? []).flatMap(({ variable, defaultValue }) =>
    defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
  )
  const variables = { ...Object.fromEntries(defaults), ...given }
  const nodes = rootFieldsOf(document, operation)
  const calls = nodes.flatMap((node) => {
    const field = schema().getMutationType()!.getFields()[node.name.value]
    const args = node.arguments?.map(({ name, value }) => [name.value, valueFromASTUntyped(value, variables)]) ?? []
    return field ? [{ field, args: Object.fromEntries(args) as Record<string, unknown> }] : []
  })
  const keyed = calls.filter(({ args }) => typeof args['idempotencyKey'] === 'string')
  if (keyed.length === 0) return undefined
  if (nodes.length > 1) throw badRequest('An idempotencyKey needs a document with a single mutation field.')
  const [{ field, args }] = keyed as [(typeof keyed)[number]]
  const key = checkKey('idempotencyKey', args['idempotencyKey'] as string)
  if (neverCached.has(field.name)) return undefined
  // Without its place, or with one that no database can look up, it is a request to nowhere and refused as such.
  const place = field.args.filter(({ name }) => name in placeOf({}))
  const isPlaced = place.every(({ name, type }) => typeof args[name] === 'string' || !isNonNullType(type))
  if (!isPlaced || gateFault([key, ...place.map(({ name }) => args[name])]) !== undefined) return undefined
  const { actor } = await authorize(context, demandOf(field)!, placeOf(args))
  const accountId = (args['accountId'] as string | undefined) ?? actor.accountId ?? ''
  // The whole document counts: a fragment decides what the answer holds. And relations in the selection ask for scopes
  // of their own, so an answer is only good for callers with the same ones.
  const name = `graphql ${operation.name?.value ?? ''}`
  const parts = [name, print(document), canonicalJson(given), authorityPart(actor)]
  const keeping = keepingOf(field.name, args['input'])
  return {
    accountId,
    key,
    fingerprints: fingerprintsOf(context, ...parts),
    keeping,
    commitsItself: commitsItself(field),
  }
}

/**
 * Was the key of a document that validation refused used for another request? An operation that is not valid is never
 * resolved, so it is looked for here; a caller who may not run it learns nothing of the key.
 * @throws 422
 */
export async function refuseInvalidReuse(
  context: Context,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Record<string, unknown>,
): Promise<void> {
  const operation = getOperationAST(document, operationName)
  const call = await keyedCall(context, document, operation, variables).catch((error) => {
    // What is nested too deeply ends the stack of whoever reads it; validation has said so already.
    if (error instanceof ApiError || error instanceof RangeError) return undefined
    throw error
  })
  if (call) await refuseReuse(context, call)
}

/**
 * Answers a mutation that carries an idempotencyKey; null for every other operation, which then runs as usual.
 * @throws invalid_request when a key stands in a document of several mutations
 */
export async function answerOnce(
  context: Context,
  document: DocumentNode,
  operation: OperationDefinitionNode | null | undefined,
  variables: Record<string, unknown>,
): Promise<GraphQLResponse | null> {
  const call = await keyedCall(context, document, operation, variables)
  if (!call) return null
  const operationName = operation?.name?.value
  const answer = await idempotent(context, call, async (inside) => {
    const result = await execute({
      schema: schema(),
      document,
      ...(operationName !== undefined && { operationName }),
      contextValue: inside,
      variableValues: variables,
    })
    const [error] = result.errors ?? []
    if (error && !error.path) throw invalidDocument(result.errors!, document)
    if (error) throw error.originalError ?? error
    return { status: 200, body: JSON.stringify(result.data), etag: null }
  })
  const headers = new HeaderMap()
  if (answer.replayed) headers.set('idempotent-replayed', 'true')
  return {
    http: { status: 200, headers },
    body: { kind: 'single', singleResult: { data: answer.body === '' ? null : JSON.parse(answer.body) } },
  }
}
