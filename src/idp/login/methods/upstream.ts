/**
 * First factor with an upstream provider (oidc, oauth2, apple, github; docs/contract.md#authentication-methods):
 * redirects the browser to the provider, and continues the sign-in when the browser returns.
 */
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
} from 'openid-client'
import { ApiError } from '../../../kernel/errors.js'
import { OutboundError } from '../../../platform/outbound/outbound.js'
import { translateDatabaseError } from '../../../platform/postgres/errors.js'
import { recordSignInFailure } from '../../../resources/credentials/sign-in.js'
import {
  decryptUpstreamSecret,
  type UpstreamKind,
  type UpstreamSettings,
  upstreamRedirectUri,
} from '../../../resources/issuers/upstream-settings.js'
import type { AuthMethodSnapshot } from '../../issuer/runtime.js'
import type { RequestContext } from '../../request-context.js'
import { resetState } from '../login-state.js'
import type { StepContext, Transition } from '../steps/step.js'
import { type ConsumedResponse, consumeResponse, createAttempt } from '../upstream/attempt.js'
import { cachedConfiguration } from '../upstream/configuration.js'
import { upstreamProviders } from '../upstream/index.js'
import type { UpstreamMethod, UpstreamProvider } from '../upstream/provider.js'
import { createUpstreamTransition } from '../upstream/resolve-user.js'
import { UpstreamError, upstreamFailed } from '../upstream/upstream-error.js'
import type { UpstreamUser } from '../upstream/upstream-user.js'
import { type FirstFactor, isOffered } from './method.js'

interface OpenedMethod {
  upstream: UpstreamProvider
  method: UpstreamMethod
  redirectUri: string
}

/**
 * Loads the provider and the decrypted secret of a method.
 * @throws UpstreamError if the method was deleted or has no secret
 */
async function openMethod(
  { context, runtime }: RequestContext,
  { id, kind, settings }: AuthMethodSnapshot,
): Promise<OpenedMethod> {
  const { id: issuerId, accountId } = runtime.issuer
  const secret = await decryptUpstreamSecret(context, { accountId, issuerId }, id)
  if (secret === undefined) throw upstreamFailed('method_gone')
  const upstream = upstreamProviders[kind as UpstreamKind]
  const method = { id, settings: settings as unknown as UpstreamSettings, secret }
  return {
    upstream,
    method,
    redirectUri: upstream.redirectUri?.(method) ?? upstreamRedirectUri(context.config, issuerId, id),
  }
}

const configurationOf = (request: RequestContext, { upstream, method }: OpenedMethod) =>
  cachedConfiguration(request, method.id, () => upstream.createConfiguration(request, method))

/** Handles the button of the method: redirects the browser to the provider, or shows the failure. */
export const upstream: FirstFactor = async (request, stepContext, _form, facts) => {
  try {
    return await startUpstreamSignIn(request, stepContext, facts)
  } catch (error) {
    return upstreamFailureTransition(request, stepContext, facts, error)
  }
}

async function startUpstreamSignIn(
  request: RequestContext,
  { state, loginTransaction, view }: StepContext,
  facts: AuthMethodSnapshot,
): Promise<Transition> {
  const openedMethod = await openMethod(request, facts)
  const { upstream: provider, method, redirectUri } = openedMethod
  const config = await configurationOf(request, openedMethod)
  const nonce = provider.usesIdToken ? randomNonce() : null
  const codeVerifier = provider.supportsPkce(config, method) ? randomPKCECodeVerifier() : null
  const returnTo = new URL(view.action, request.runtime.url).href
  const started = createAttempt(request, loginTransaction.uid, facts.id, { nonce, verifier: codeVerifier }, returnTo)
  const scopes = provider.scopes(method)
  const url = buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    state: started.state,
    ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
    ...(nonce === null ? {} : { nonce }),
    ...(codeVerifier === null
      ? {}
      : { code_challenge: await calculatePKCECodeChallenge(codeVerifier), code_challenge_method: 'S256' }),
    ...provider.extraParameters?.(loginTransaction, state.username),
  })
  return { to: { ...state, upstream: started.attempt }, redirect: url.href }
}

/**
 * Continues the sign-in of a browser that returned from the provider.
 * @returns undefined if no unused response is saved for the handle, or if it has expired
 */
export async function resumeUpstreamSignIn(
  request: RequestContext,
  stepContext: StepContext,
  handle: string,
): Promise<Transition | undefined> {
  const { loginTransaction, state } = stepContext
  const consumed = await consumeResponse(request, loginTransaction.uid, handle)
  if (!consumed) return undefined
  const facts = request.runtime.issuer.methods.find((method) => method.id === consumed.methodId && isOffered(method))
  if (!facts) return { to: resetState(state, state.username), problems: [{ key: 'stale' }] }
  try {
    const upstreamUser = await fetchUpstreamUser(request, facts, consumed)
    return createUpstreamTransition(
      request,
      { ...resetState(state, state.username), ...withoutResponse(stepContext) },
      upstreamUser,
      facts,
      loginTransaction,
    )
  } catch (error) {
    return upstreamFailureTransition(request, stepContext, facts, error)
  }
}

/** Returns the attempt without its response. The attempt stays saved, so that repeated responses are recognized. */
const withoutResponse = ({ state: { upstream: attempt } }: StepContext) => {
  if (!attempt) return {}
  const { encryptedResponse: _, ...rest } = attempt
  return { upstream: rest }
}

/** Exchanges the code and returns the user of the provider. */
async function fetchUpstreamUser(
  request: RequestContext,
  facts: AuthMethodSnapshot,
  { bindings, response }: ConsumedResponse,
): Promise<UpstreamUser> {
  if (response.error === 'access_denied' || response.error === 'user_cancelled_authorize')
    throw new UpstreamError('upstream_denied', 'upstream_denied')
  if (response.code === undefined) throw upstreamFailed('upstream_error')
  const openedMethod = await openMethod(request, facts)
  const { upstream: provider, method, redirectUri } = openedMethod
  const config = await configurationOf(request, openedMethod)
  const answer = new URL(redirectUri)
  answer.searchParams.set('code', response.code)
  answer.searchParams.set('state', response.state)
  if (response.iss !== undefined && provider.usesIdToken) answer.searchParams.set('iss', response.iss)
  const tokens = await authorizationCodeGrant(config, answer, {
    expectedState: response.state,
    ...(bindings.nonce === null ? {} : { expectedNonce: bindings.nonce }),
    ...(bindings.verifier === null ? {} : { pkceCodeVerifier: bindings.verifier }),
    idTokenExpected: provider.usesIdToken,
  })
  return provider.fetchUser(config, tokens, method, response)
}

/**
 * Returns a transition to the sign-in page with a message, which also records the failed sign-in. Logs the failure,
 * unless it is a denial, as a code without text of the provider.
 */
function upstreamFailureTransition(
  { context, runtime }: RequestContext,
  { state, loginTransaction }: StepContext,
  { id, kind, name }: AuthMethodSnapshot,
  error: unknown,
): Transition {
  const { id: issuerId, accountId } = runtime.issuer
  const { key, reason } = error instanceof UpstreamError ? error : upstreamFailed(failureCodeOf(error))
  const logFields = { issuer_id: issuerId, method_id: id, request_id: context.request.id, uid: loginTransaction.uid }
  if (key === 'upstream_failed') context.log.warn({ ...logFields, reason }, 'upstream sign-in failed')
  return {
    to: resetState(state, state.username),
    problems: [{ key, params: { method: name } }],
    effects: (tx) => recordSignInFailure(tx, { accountId, issuerId }, undefined, { method: kind, reason: key }),
  }
}

/**
 * Returns the code of a failure for the log.
 * @throws ApiError for a database failure
 */
function failureCodeOf(error: unknown): string {
  const { cause, code, name } = error as { cause?: { cause?: unknown }; code?: unknown; name?: unknown }
  for (const one of [error, cause, cause?.cause]) if (one instanceof OutboundError) return one.reason
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) return 'provider_refused'
  const translatedError = translateDatabaseError(error)
  if (translatedError instanceof ApiError) throw translatedError
  return typeof code === 'string' && /^(OAUTH|ERR)_[A-Z_]+$/.test(code) ? code.toLowerCase() : `unexpected ${name}`
}
