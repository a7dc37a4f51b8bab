/** What every answer of the IdP has in common, and what the library's answers lack. */
import { errors } from 'oidc-provider'
import { ApiError, type ErrorCode } from '../kernel/errors.js'
import { findAccount } from './account.js'
import { refreshTokenId } from './adapter.js'
import { noteRefusedAgent } from './agent-proof.js'
import { countRefusal } from './client-authentication.js'
import { liveTokenOf } from './endpoints/live-token.js'
import type { OpenIdContext } from './library.js'
import { type Form, field } from './request.js'
import type { Route } from './routes.js'
import type { Runtime } from './runtime.js'

/** OAuth's words for our errors (RFC 6749 5.2). */
const oauthCodes: Partial<Record<ErrorCode, string>> = {
  internal_error: 'server_error',
  unavailable: 'temporarily_unavailable',
}

/** How a request ends that no endpoint answered (spec section 7: OAuthError). */
export interface Failure {
  status: number
  body: { error: string; error_description: string }
  headers?: Record<string, string>
}

/** What nobody foresaw: masked, the cause is in the log. */
export const unforeseen: Failure = {
  status: 500,
  body: { error: 'server_error', error_description: 'Something went wrong on our side.' },
}

/** Our errors, and the library's that were thrown outside of it; undefined for everything else. */
export function failureOf(caught: unknown): Failure | undefined {
  if (caught instanceof ApiError) {
    const body = { error: oauthCodes[caught.code] ?? caught.code, error_description: caught.message }
    return { status: caught.status, body, headers: caught.more.headers ?? {} }
  }
  if (!(caught instanceof errors.OIDCProviderError) || !caught.expose) return undefined
  const { error, error_description = error } = caught
  return { status: caught.statusCode, body: { error, error_description } }
}

/**
 * Corrects what the library answered on the routes that are not pages.
 * @throws ApiError too_many_requests after too many refused clients from one address
 */
export async function amendAnswer(ctx: OpenIdContext, runtime: Runtime, route: Route, form: Form): Promise<void> {
  if (route.name === 'introspect' && ctx.status === 200) ctx.body = await introspectionOf(ctx, runtime, form)
  const body = ctx.body as { error?: string; error_description?: string; scope?: string } | undefined
  if (body?.error === 'invalid_client') {
    await countRefusal(ctx, form)
    await noteRefusedAgent(ctx, form)
  }
  if (ctx.status < 400 || body?.error === undefined) return
  ctx.set('Cache-Control', 'no-store')
  if (
    body.error === 'invalid_request' &&
    body.error_description === 'requested grant type is not allowed for this client'
  ) {
    body.error = 'unauthorized_client'
  }
  // RFC 6749 5.2: no client authentication included.
  if (body.error_description === 'no client authentication mechanism provided') body.error = 'invalid_client'
  if (body.error === 'invalid_redirect_uri') body.error = 'invalid_request'
  if (body.error === 'invalid_client') ctx.status = 401
  // Only what spec section 7 names; the library adds the scope that it missed.
  if (route.name !== 'userinfo') ctx.body = { error: body.error, error_description: body.error_description }
  // RFC 6749 5.2: 401 names the scheme, whether or not the client tried it (decisions D2).
  if (ctx.status === 401 && !ctx.response.get('WWW-Authenticate'))
    ctx.set('WWW-Authenticate', `Basic realm="${runtime.url}"`)
}

/**
 * RFC 7662 with exactly the members of spec 4.17; the library leaves out most of them for a refresh token. A public
 * client cannot prove to be the one a token was issued to: it is told as much, whatever the token.
 */
async function introspectionOf(ctx: OpenIdContext, runtime: Runtime, form: Form): Promise<object> {
  const { AccessToken, RefreshToken, Client } = ctx.oidc.entities
  if (Client?.tokenEndpointAuthMethod === 'none') {
    ctx.status = 401
    return { error: 'invalid_client', error_description: 'introspection needs an authenticated client' }
  }
  const inactive = { active: false }
  if (!(ctx.body as { active?: boolean }).active) return inactive
  if (RefreshToken) {
    const { scope, clientId, accountId, iat, exp, sid } = RefreshToken
    // Security rule 11: the user must be able to act, here as at every other endpoint.
    const account = await findAccount(accountId, RefreshToken, Client).catch(() => undefined)
    if (!account) return inactive
    const jti = refreshTokenId(field(form, 'token') ?? '')
    const claims = { scope, client_id: clientId, token_type: 'refresh_token', sub: accountId, aud: clientId, iat, exp }
    return { active: true, ...claims, iss: runtime.url, jti, sid, username: account.username }
  }
  const live = AccessToken && liveTokenOf(AccessToken)
  if (!live) return inactive
  const { scope, client_id, sub, aud, iat, exp, iss, jti, sid, act } = live.claims
  return {
    active: true,
    scope,
    client_id,
    token_type: 'Bearer',
    sub,
    aud,
    iat,
    exp,
    iss,
    jti,
    sid,
    username: live.username ?? undefined,
    // Who acts for the user, of an exchanged token (RFC 8693 4.1, decisions D23).
    act,
  }
}
