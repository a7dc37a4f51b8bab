/**
 * The end-session endpoint (OpenID Connect RP-Initiated Logout 1.0, docs/contract.md#logout). oidc-provider's endpoint
 * is not used, because it always asks for confirmation and needs a script if no user is signed in.
 */
import type { Context as KoaContext } from 'koa'
import { errors } from 'oidc-provider'
import { ApiError } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import { endSessions } from '../../resources/sessions/sessions.js'
import { findAccount } from '../account/account.js'
import { type ClientRow, readClient } from '../client/client.js'
import { isFetchableClientIdUrl } from '../client/metadata-documents/client-id-url.js'
import { isUnmanaged } from '../client/unmanaged-clients.js'
import { DENIED_CLIENT } from '../denials.js'
import { formToken, formVersion } from '../login/login-state.js'
import { createView, sendPage } from '../login/pages/layout.js'
import { confirmLogoutPage, loggedOutPage, stillSignedInPage } from '../login/pages/logout.js'
import { cookieNames } from '../provider.js'
import type { BrowserSession, OpenIdContext } from '../provider-types.js'
import { type RequestContext, withUserActor } from '../request-context.js'
import { type Form, formField } from '../request-input.js'
import { clearBrowserState } from '../session/browser-state.js'
import { type IdTokenHint, readIdTokenHint } from './id-token-hint.js'

/** The validated parameters of a logout request; undefined if they are absent or not used. */
interface LogoutRequest {
  client: ClientRow | undefined
  hint: IdTokenHint | undefined
  redirectUri: string | undefined
  state: string | undefined
  uiLocales: string | undefined
}

const invalidRequest = (description: string): ApiError => new ApiError('invalid_request', description)

/** GET and POST of `/logout`. */
export async function serveLogout(request: RequestContext, ctx: KoaContext, values: Form): Promise<void> {
  const logoutRequest = await readLogoutRequest(request, ctx, values)
  const session = await findBrowserSession(request, ctx)
  // 1. No user is signed in with this browser, or the browser did not send its session cookie. The `id_token_hint` may
  // name a session that must be ended.
  if (!session?.accountId) {
    const { hint } = logoutRequest
    const hasSessionCookie = ctx.cookies.get(cookieNames.session, { signed: false }) !== undefined
    if (hint?.sid) await signOutBrowserOfSession(request, ctx, hint.sid)
    else if (ctx.method === 'POST' && !hasSessionCookie) return retryAsNavigation(request, ctx, logoutRequest)
    return completeLogout(request, ctx, logoutRequest)
  }
  // 2. An `id_token_hint` for the signed-in user proves that the request comes from an application that the user signed
  // in to, so no confirmation is needed.
  if (logoutRequest.hint?.sub === session.accountId) {
    await signOutBrowser(request, ctx, session)
    return completeLogout(request, ctx, logoutRequest)
  }
  // 3. Without a hint for the signed-in user, any site may have sent the browser to this endpoint, so the user is asked
  // for confirmation.
  const { runtime } = request
  const view = createView(ctx, runtime.issuer, {
    uiLocales: logoutRequest.uiLocales,
    action: `${runtime.parsedUrl.pathname}/logout/confirm`,
    token: formToken(request, `logout ${session.uid}`, 0),
  })
  sendPage(ctx, view, confirmLogoutPage(view, logoutParametersOf(logoutRequest)))
}

/** Returns the parameters of a logout request by name, without `id_token_hint`. */
const logoutParametersOf = ({ client, redirectUri, state, uiLocales }: LogoutRequest) => ({
  client_id: client?.id,
  post_logout_redirect_uri: redirectUri,
  state,
  ui_locales: uiLocales,
})

/**
 * Redirects to the logout endpoint with the parameters in the query. A cross-site POST never has the session cookie
 * (SameSite=Lax), but the GET request of the redirect has it. `state` and `ui_locales` are dropped if the URL would be
 * too long.
 */
function retryAsNavigation(request: RequestContext, ctx: KoaContext, logoutRequest: LogoutRequest): void {
  const fields = logoutParametersOf(logoutRequest)
  const { state: _, ui_locales: __, ...requiredFields } = fields
  const fullUrl = logoutUrlWith(request, fields)
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Location', fullUrl.length <= limits.maxLogoutUrlLength ? fullUrl : logoutUrlWith(request, requiredFields))
  ctx.status = 303
  ctx.body = ''
}

function logoutUrlWith({ runtime }: RequestContext, params: Record<string, string | undefined>): string {
  const presentParams = Object.entries(params).filter((entry): entry is [string, string] => !!entry[1])
  return `${runtime.parsedUrl.pathname}/logout?${new URLSearchParams(presentParams)}`
}

/** POST of `/logout/confirm`. The parameters are validated again, because the user can alter the form. */
export async function confirmLogout(request: RequestContext, ctx: KoaContext, values: Form): Promise<void> {
  const logoutRequest = await readLogoutRequest(request, ctx, { ...values, id_token_hint: undefined })
  const session = await findBrowserSession(request, ctx)
  if (!session?.accountId) return completeLogout(request, ctx, logoutRequest)
  if (formVersion(request, `logout ${session.uid}`, formField(values, 'csrf')) !== 0) {
    throw invalidRequest('csrf is missing or invalid; open the sign-out page again.')
  }
  if (formField(values, 'logout') === 'yes') {
    await signOutBrowser(request, ctx, session)
    return completeLogout(request, ctx, logoutRequest)
  }
  const view = createView(ctx, request.runtime.issuer, { uiLocales: logoutRequest.uiLocales })
  sendPage(ctx, view, stillSignedInPage(view))
}

/**
 * Reads and validates the parameters. Never returns a redirect URI that the client has not registered.
 * @throws invalid_request
 */
async function readLogoutRequest(request: RequestContext, ctx: KoaContext, values: Form): Promise<LogoutRequest> {
  for (const name of ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales']) {
    if (Array.isArray(values[name])) throw invalidRequest(`${name} must not be repeated`)
  }
  const token = formField(values, 'id_token_hint') || undefined
  const { client, hint } = await requireLogoutClient(request, token, formField(values, 'client_id') || undefined)
  ctx.state[DENIED_CLIENT] = client
  const requestedUri = formField(values, 'post_logout_redirect_uri') || undefined
  // RP-Initiated Logout 1.0 section 3: without a client, the URI cannot be checked, so the browser is not redirected.
  // Anyone can publish a metadata document with any URI, or register a client with it, which would be an open redirect.
  // Therefore a URI of such a client is used only with a valid `id_token_hint`.
  const redirectUri = client && (!isUnmanaged(client) || hint) ? requestedUri : undefined
  if (redirectUri !== undefined && !client?.settings.openid?.post_logout_redirect_uris?.includes(redirectUri)) {
    throw invalidRequest(
      'post_logout_redirect_uri is not registered; add it to post_logout_redirect_uris of the client',
    )
  }
  return {
    client,
    hint,
    redirectUri,
    state: formField(values, 'state') || undefined,
    uiLocales: formField(values, 'ui_locales'),
  }
}

/**
 * Finds the client of a logout request, and verifies the `id_token_hint`.
 * @param token the `id_token_hint`
 * @throws invalid_request
 */
async function requireLogoutClient(
  request: RequestContext,
  token: string | undefined,
  claimedClientId: string | undefined,
): Promise<{ client?: ClientRow; hint?: IdTokenHint | undefined }> {
  const tokenHint = token === undefined ? undefined : readIdTokenHint(request, token)
  if (tokenHint && claimedClientId !== undefined && claimedClientId !== tokenHint.clientId)
    throw invalidRequest('client_id is not the client of the id_token_hint')
  const clientId = tokenHint?.clientId ?? claimedClientId
  if (clientId === undefined) return {}
  const client = await findLogoutClient(request, clientId)
  if (!client) throw invalidRequest('client_id or the client of the id_token_hint is not a client of this issuer')
  return client === 'gone' ? {} : { client, hint: tokenHint?.hint }
}

/**
 * Finds the client that sends the browser. Returns undefined if the client is unknown, and 'gone' if it was deleted or
 * disabled, or if its metadata document cannot be used. Users of such a client can still sign out, but they are
 * asked for confirmation and not redirected.
 */
async function findLogoutClient(request: RequestContext, clientId: string): Promise<ClientRow | 'gone' | undefined> {
  const client = await readClient(request, clientId).catch((error: unknown) => {
    if (error instanceof errors.InvalidClient) return undefined
    throw error
  })
  if (client) return client.status === 'active' ? client : 'gone'
  return isFetchableClientIdUrl(clientId, request.context.config.allowPrivateNetworks) ? 'gone' : undefined
}

async function findBrowserSession({ provider }: RequestContext, ctx: KoaContext): Promise<BrowserSession | undefined> {
  return provider.Session.get(ctx as unknown as OpenIdContext)
}

/** Ends all sessions of a browser session, and the browser session itself. */
async function signOutBrowser(
  request: RequestContext,
  ctx: KoaContext,
  { uid, accountId: userId }: BrowserSession,
): Promise<void> {
  await endSessionsOfBrowser(request, uid, userId!)
  ctx.cookies.set(cookieNames.session, null, { path: request.runtime.parsedUrl.pathname, signed: true })
  clearBrowserState(request, ctx)
}

/**
 * Ends all sessions of the browser session that created a given session, and the browser session itself, even if the
 * given session has already ended. The session cookie is not cleared: the browser did not send it, so it may belong to
 * another user, or no user is signed in with it.
 */
async function signOutBrowserOfSession(request: RequestContext, ctx: KoaContext, sessionId: string): Promise<void> {
  const { context, runtime } = request
  const where = { id: sessionId, issuerId: runtime.issuer.id }
  const session = await context.db.session.findFirst({ where, select: { browserUid: true, userId: true } })
  if (session) await endSessionsOfBrowser(request, session.browserUid, session.userId)
  clearBrowserState(request, ctx)
}

async function endSessionsOfBrowser(request: RequestContext, browserUid: string, userId: string): Promise<void> {
  const { context, runtime } = request
  const { id: issuerId, accountId } = runtime.issuer
  const account = await findAccount(request, userId)
  const user = account && { id: account.accountId, username: account.username, accountId, issuerId }
  const actorContext = user ? withUserActor(context, user) : context
  await endSessions(
    actorContext,
    { accountId, issuerId },
    { browserUid },
    { reason: 'user_logout', endBrowserSession: true },
  )
}

function completeLogout(
  { runtime }: RequestContext,
  ctx: KoaContext,
  { redirectUri, state, uiLocales }: LogoutRequest,
): void {
  ctx.set('Cache-Control', 'no-store')
  if (redirectUri === undefined) {
    const view = createView(ctx, runtime.issuer, { uiLocales })
    sendPage(ctx, view, loggedOutPage(view))
    return
  }
  ctx.status = 303
  ctx.set('Location', state === undefined ? redirectUri : appendState(redirectUri, state))
  ctx.body = ''
}

/**
 * Appends `state` to the URI as it was registered, without normalizing it
 * (docs/contract.md#redirect-and-logout-uri-comparison). A registered URI has no fragment
 * (docs/contract.md#redirect-uri-registration).
 */
const appendState = (address: string, state: string): string =>
  `${address}${address.includes('?') ? '&' : '?'}state=${encodeURIComponent(state)}`
