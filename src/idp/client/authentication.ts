/**
 * Client authentication at `/token`, `/introspect` and `/revoke`, and the limit of failed attempts
 * (docs/contract.md#failed-client-authentication, docs/decisions/0051).
 */
import type { Context as KoaContext } from 'koa'
import Provider, { errors } from 'oidc-provider'
import { checkFailureLimit, verifySecretRateLimited } from '../../access/secret-attempts.js'
import { isSameText } from '../../platform/crypto/secrets.js'
import { usesPrivateKeyJwt } from '../../resources/clients/authentication-method.js'
import { matchesSecret } from '../../resources/keys/rotating-secret.js'
import type { IssuerRuntime } from '../issuer/runtime.js'
import type { OpenIdClient, OpenIdContext } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'
import { type Form, formField } from '../request-input.js'
import { claimedAssertionSubject, verifyClientAssertion } from './assertions/index.js'
import { type ClientRow, clientRowOf } from './client.js'

/**
 * Key in `ctx.state` of the result of the client authentication: `correct` or `wrong`; undefined until an attempt is
 * recorded. An `invalid_client` response without a compared secret also counts as `wrong`.
 */
const CLIENT_SECRET_RESULT = 'clientSecret'

/** Checks whether the client of this request has authenticated with its secret or an assertion. */
export const isAuthenticated = (ctx: KoaContext): boolean => ctx.state[CLIENT_SECRET_RESULT] === 'correct'

/**
 * Returns the client id in the form, its client assertion or the Basic header, which may be of any client; undefined if
 * there is none.
 */
export const claimedClientId = (ctx: KoaContext | OpenIdContext, form: Form): string | undefined =>
  formField(form, 'client_id') ?? claimedAssertionSubject(form) ?? basicAuthClientId(ctx.get('authorization'))

/**
 * Returns the client id of a Basic header; undefined for another header. Ids of registered clients and agents contain
 * no characters that are encoded in the header.
 */
function basicAuthClientId(header: string): string | undefined {
  const encoded = /^basic +(\S+)$/i.exec(header)?.[1]
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8').split(':')[0]
}

const guessLimitKey = ({ issuer }: IssuerRuntime, clientId: string): string => `${issuer.id} ${clientId}`

/**
 * Rejects a request with credentials if this process knows that the limit of failed attempts is exceeded, before the
 * client is read from the database.
 * @throws ApiError too_many_requests
 */
export function requireAuthenticationAllowed({ context, runtime }: RequestContext, ctx: KoaContext, form: Form): void {
  const credentials = [ctx.req.headers.authorization, form['client_secret'], form['client_assertion']]
  if (credentials.some(Boolean))
    checkFailureLimit(context, 'idp', guessLimitKey(runtime, claimedClientId(ctx, form) ?? ''))
}

/**
 * oidc-provider's `Client.compareClientSecret`: compares a secret with the active secrets of the client, or with the
 * secret of `walletProof`, or verifies the client assertion of the request. After a rotation, the old secret is active
 * for a while (docs/contract.md#core-api-authentication rule 3).
 * @throws ApiError too_many_requests after too many failures from the caller's network; InvalidClientAuth with the reason
 *   for the log
 */
export async function compareClientSecret(
  request: RequestContext,
  client: OpenIdClient,
  secret: string,
): Promise<boolean> {
  const row = clientRowOf(client)
  const refusalReason = await assertionRefusalReason(request, row, secret)
  const matches = await recordAttempt(
    request,
    Provider.ctx!,
    row.id,
    () =>
      refusalReason === undefined &&
      (request.clientAssertion !== undefined || isValidClientSecret(request, client, secret)),
  )
  if (refusalReason !== undefined) throw new errors.InvalidClientAuth(refusalReason)
  return matches
}

/**
 * Verifies the client assertion of the request. Returns undefined for a valid one, and for a client that may authenticate
 * without one.
 */
async function assertionRefusalReason(
  request: RequestContext,
  row: ClientRow,
  secret: string,
): Promise<string | undefined> {
  const { clientAssertion } = request
  if (!clientAssertion) {
    const needsAssertion = row.kind === 'client' && usesPrivateKeyJwt(row.settings)
    return needsAssertion ? 'the client must authenticate with private_key_jwt, not with a secret' : undefined
  }
  const outcome = await verifyClientAssertion(request, clientAssertion, row, secret)
  if ('reason' in outcome) return outcome.reason
  const { verifierId } = outcome
  if (verifierId !== undefined) request.authenticatedAgent = { verifierId, method: 'public_key' }
  return undefined
}

/**
 * Counts an `invalid_client` response as a failed attempt if no secret was compared, because the client does not exist
 * or has no secret. Otherwise the rate limit would reveal whether a client exists.
 * @throws ApiError too_many_requests
 */
export async function countUncheckedClientFailure(
  request: RequestContext,
  ctx: OpenIdContext,
  form: Form,
): Promise<void> {
  if (ctx.state[CLIENT_SECRET_RESULT] === undefined)
    await recordAttempt(request, ctx, claimedClientId(ctx, form) ?? '', () => false)
}

async function recordAttempt(
  { context, runtime }: RequestContext,
  ctx: OpenIdContext,
  clientId: string,
  verify: () => boolean,
): Promise<boolean> {
  const { matches, headers } = await verifySecretRateLimited(context, 'idp', guessLimitKey(runtime, clientId), verify)
  ctx.state[CLIENT_SECRET_RESULT] = matches ? 'correct' : 'wrong'
  ctx.set(headers)
  return matches
}

function isValidClientSecret(request: RequestContext, client: OpenIdClient, secret: string): boolean {
  const { kind, id, secrets } = clientRowOf(client)
  const { context, walletProof } = request
  if (walletProof) {
    if (walletProof.clientId !== id || !isSameText(walletProof.secret, secret)) return false
    request.authenticatedAgent = { verifierId: walletProof.verifierId, method: 'wallet' }
    return true
  }
  if (kind === 'client') return matchesSecret(secrets, secret, context.now())
  // Compares all secrets of an agent, so that the duration does not depend on which secret matches.
  const verifiers = secrets.filter((one) => matchesSecret([one], secret, context.now()))
  if (verifiers.length > 0) request.authenticatedAgent = { verifierId: verifiers[0]!.id!, method: 'secret' }
  return verifiers.length > 0
}
