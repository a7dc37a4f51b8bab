/** Error responses of the IdP, and corrections of oidc-provider's responses. */
import { errors } from 'oidc-provider'
import { ApiError, type ErrorCode } from '../kernel/errors.js'
import type { ErrorFormat } from '../platform/http/error-response.js'
import { findAccount } from './account/account.js'
import { countUncheckedClientFailure } from './client/authentication.js'
import { recordClaimedAgentRefusal } from './client/wallet-authentication.js'
import { liveTokenOf } from './endpoints/live-token.js'
import type { IssuerRuntime } from './issuer/runtime.js'
import { errorPage } from './login/pages/error.js'
import { prefersHtml, sendUnservedPage } from './login/pages/issuer.js'
import type { OpenIdContext } from './provider-types.js'
import type { RequestContext } from './request-context.js'
import { type Form, formField } from './request-input.js'
import type { Route } from './routes.js'
import { refreshTokenId } from './store/adapter.js'

/** OAuth 2.0 error codes (RFC 6749 section 4.1.2.1) that replace error codes of the Core API. */
const oauthCodes: Partial<Record<ErrorCode, string>> = {
  internal_error: 'server_error',
  unavailable: 'temporarily_unavailable',
}

/** Converts an error of oidc-provider to an ApiError. Returns other errors, and server errors, unchanged. */
function fromOidcProvider(caught: unknown): unknown {
  if (!(caught instanceof errors.OIDCProviderError) || !caught.expose) return caught
  const { error, error_description = error, statusCode } = caught
  // `error` is an OAuth error code, which is not in the table of ErrorCode.
  return new ApiError(error as ErrorCode, error_description, { status: statusCode })
}

/**
 * Returns the format of errors that were thrown while a request was handled (docs/contract.md#errors): a page on routes
 * that browsers open, and OAuthError on other routes. For unknown paths and issuers, and for unsupported methods, the
 * `Accept` header decides (docs/contract.md#pages-for-browsers).
 * @param route undefined if the path is unknown
 * @param runtime undefined if the issuer is unknown
 */
export const errorFormatFor = (route: Route | undefined, runtime: IssuerRuntime | undefined): ErrorFormat => ({
  fromLibrary: fromOidcProvider,
  write(ctx, { code, status, message }) {
    const error = oauthCodes[code] ?? code
    const error_description = code === 'internal_error' ? 'An internal error occurred. Try again later.' : message
    if (route?.browserFacing && runtime && status !== 405) {
      const key = status === 503 ? 'unavailable' : status === 429 ? 'too_many' : 'error_lead'
      errorPage(ctx, runtime, { error, error_description }, key)
    } else if ((!route || !runtime || status === 405) && prefersHtml(ctx)) {
      sendUnservedPage(ctx, runtime, status)
    } else {
      ctx.body = { error, error_description }
    }
    ctx.set('Cache-Control', 'no-store')
  },
})

/**
 * Corrects oidc-provider's response on routes that browsers do not open. If client authentication failed, also counts
 * the failure, unless it was counted before, and records an event for an agent.
 * @throws ApiError too_many_requests after too many failed client authentications from one network
 */
export async function amendResponse(
  request: RequestContext,
  ctx: OpenIdContext,
  route: Route,
  form: Form,
): Promise<void> {
  if (route.name === 'introspect' && ctx.status === 200) ctx.body = await introspectionResponse(request, ctx, form)
  const body = ctx.body as { error?: string; error_description?: string; scope?: string } | undefined
  if (body?.error === 'invalid_client') {
    await countUncheckedClientFailure(request, ctx, form)
    await recordClaimedAgentRefusal(request, ctx, form)
  }
  if (ctx.status < 400 || body?.error === undefined) return
  ctx.set('Cache-Control', 'no-store')
  if (
    body.error === 'invalid_request' &&
    body.error_description === 'requested grant type is not allowed for this client'
  ) {
    body.error = 'unauthorized_client'
  }
  // RFC 6749 section 5.2: if client authentication is missing, the error is `invalid_client`.
  if (body.error_description === 'no client authentication mechanism provided') body.error = 'invalid_client'
  const problem = request.clientAssertion?.problem
  if (body.error === 'invalid_client' && problem !== undefined)
    body.error_description = `client authentication failed: ${problem}`
  if (body.error === 'invalid_redirect_uri') body.error = 'invalid_request'
  if (body.error === 'invalid_client') ctx.status = 401
  // OAuthError has only these two members (docs/contract.md#errors). oidc-provider also sends `scope`, the refused
  // scope; responses of userinfo keep it.
  if (route.name !== 'userinfo')
    ctx.body = { error: body.error, error_description: body.error_description ?? body.error }
  // Every 401 response must have `WWW-Authenticate` (RFC 9110 section 15.5.2).
  if (ctx.status === 401 && !ctx.response.get('WWW-Authenticate'))
    ctx.set('WWW-Authenticate', `Basic realm="${request.runtime.url}"`)
}

/**
 * Builds the introspection response (RFC 7662) with exactly the members of
 * docs/contract.md#introspection-and-revocation. oidc-provider omits most of these members for a refresh token. A
 * public client cannot authenticate, so the response to it is always `invalid_client`.
 */
async function introspectionResponse(request: RequestContext, ctx: OpenIdContext, form: Form): Promise<object> {
  const { AccessToken, RefreshToken, Client } = ctx.oidc.entities
  if (Client?.tokenEndpointAuthMethod === 'none') {
    ctx.status = 401
    return {
      error: 'invalid_client',
      error_description: 'introspection requires client authentication; public clients cannot use it',
    }
  }
  const inactive = { active: false }
  if (!(ctx.body as { active?: boolean }).active) return inactive
  if (RefreshToken) {
    const { scope, clientId, accountId, iat, exp, sid, jkt } = RefreshToken
    // A token counts as inactive if its user is not active (docs/contract.md#liveness-of-principals) or not an active
    // member of the selected organization, or if the client may not see that organization.
    const account = await findAccount(request, accountId, RefreshToken, Client).catch((error: unknown) => {
      if (error instanceof errors.InvalidGrant) return undefined
      throw error
    })
    if (!account) return inactive
    const jti = refreshTokenId(formField(form, 'token') ?? '')
    const claims = { scope, client_id: clientId, token_type: 'refresh_token', sub: accountId, aud: clientId, iat, exp }
    const { username } = account
    return { active: true, ...claims, iss: request.runtime.url, jti, sid, username, ...(jkt && { cnf: { jkt } }) }
  }
  const live = AccessToken && liveTokenOf(AccessToken)
  if (!live) return inactive
  const { scope, client_id, sub, aud, iat, exp, iss, jti, sid, act, cnf } = live.claims
  return {
    active: true,
    scope,
    client_id,
    token_type: cnf ? 'DPoP' : 'Bearer',
    sub,
    aud,
    iat,
    exp,
    iss,
    jti,
    sid,
    username: live.username ?? undefined,
    // The actor of an exchanged token (RFC 8693 section 4.1).
    act,
    // The key to which the token is bound (RFC 9449 section 6.2).
    cnf,
  }
}
