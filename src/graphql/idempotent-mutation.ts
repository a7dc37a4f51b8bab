/** `idempotencyKey` on a mutation (decisions part 0, D20): the whole answer of the document is kept and given again. */
import { type GraphQLResponse, HeaderMap } from '@apollo/server'
import { type DocumentNode, execute, getArgumentValues, type OperationDefinitionNode, print } from 'graphql'
import { authorize } from '../access/guard.js'
import { canonicalJson } from '../kernel/canonical.js'
import { badRequest } from '../kernel/errors.js'
import type { Context } from '../platform/context.js'
import { commitsItself, demandOf, placeOf } from './demands.js'
import { checkKey, fingerprintsOf, idempotent } from './idempotency.js'
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

/** Of these, it depends on what is made. */
function isNeverCached(mutation: string, input: unknown): boolean {
  const { confidential, type, auth } = (input ?? {}) as { confidential?: boolean; type?: string; auth?: string }
  if (mutation === 'createClient') return confidential === true
  if (mutation === 'createAgentVerifier') return type === 'secret'
  if (mutation === 'createWebhook') return auth !== 'none'
  if (mutation === 'createVerifier') return type === 'totp_enrollment' || type === 'backup_codes'
  return neverCached.has(mutation)
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
  if (operation?.operation !== 'mutation') return null
  const fields = rootFieldsOf(document, operation)
  const calls = fields.flatMap((node) => {
    const field = schema().getMutationType()!.getFields()[node.name.value]
    return field ? [{ field, args: getArgumentValues(field, node, variables) }] : []
  })
  const keyed = calls.filter(({ args }) => typeof args['idempotencyKey'] === 'string')
  if (keyed.length === 0) return null
  if (fields.length > 1) {
    throw badRequest('An idempotencyKey needs a document with a single mutation field.')
  }
  const [{ field, args }] = keyed as [(typeof keyed)[number]]
  const key = checkKey('idempotencyKey', args['idempotencyKey'] as string)
  if (isNeverCached(field.name, args['input'])) return null
  const { actor } = await authorize(context, demandOf(field)!, placeOf(args))

  const { scopes, issuerIds, orgIds } = actor
  const accountId = (args['accountId'] as string | undefined) ?? context.actor.accountId ?? ''
  // Relations in the selection ask for scopes of their own, so an answer is only good for callers with the same ones.
  const authority = canonicalJson([[...scopes].sort(), issuerIds, orgIds])
  // The whole document counts: a fragment decides what the answer holds.
  const operationName = operation.name?.value
  const parts = [`graphql ${operationName ?? ''}`, print(document), canonicalJson(variables), authority]
  const fingerprints = fingerprintsOf(context, ...parts)
  const call = { accountId, key, fingerprints, commitsItself: commitsItself(field) }
  const answer = await idempotent(context, call, async (inside) => {
    const result = await execute({
      schema: schema(),
      document,
      ...(operationName !== undefined && { operationName }),
      contextValue: inside,
      variableValues: variables,
    })
    const [error] = result.errors ?? []
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
