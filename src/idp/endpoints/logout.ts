/**
 * End session (OpenID Connect RP-Initiated Logout 1.0, decisions D23). Our own and not the library's, which asks for
 * confirmation always and needs a script where nobody is signed in.
 */
import type { Context as KoaContext } from 'koa'
import { errors } from 'oidc-provider'
import { ApiError } from '../../kernel/errors.js'
import { endSessions } from '../../resources/sessions/sessions.js'
import { findAccount } from '../account.js'
import { forgetBrowserState } from '../browser-state.js'
import { type ClientRow, readClient } from '../client.js'
import { isDocumentAddress } from '../documents/address.js'
import type { BrowserSession, OpenIdContext } from '../library.js'
import { sendPage, viewOf } from '../login/pages/layout.js'
import { confirmLogoutPage, loggedOutPage, stayedPage } from '../login/pages/logout.js'
import { formToken, formVersion } from '../login/state.js'
import { cookieNames } from '../provider.js'
import { type Form, field } from '../request.js'
import { asUser, scope } from '../scope.js'
import { type Hint, readHint } from './logout-hint.js'

interface Request {
  client: ClientRow | undefined
  hint: Hint | undefined
  redirectUri: string | undefined
  state: string | undefined
  uiLocales: string | undefined
}

const invalid = (description: string): ApiError => new ApiError('invalid_request', description)

/** Longer addresses are refused by servers and proxies on the way (characters). */
const MAX_ADDRESS = 8192

/** GET and POST of `/logout`. */
export async function logout(ctx: KoaContext, values: Form): Promise<void> {
  const request = await readRequest(values)
  const session = await browserSession(ctx)
  // 1. Nobody is signed in with this browser, or its cookie did not come along. A hint still says whom its sender means.
  if (!session?.accountId) {
    const { hint } = request
    const cameAlong = ctx.cookies.get(cookieNames.session, { signed: false }) !== undefined
    if (hint?.sid) await endBrowserOf(ctx, hint.sid)
    else if (ctx.method === 'POST' && !cameAlong) return askAgain(ctx, request)
    return goOn(ctx, request)
  }
  // 2. The hint proves that the request comes from an application of the person who is signed in.
  if (request.hint?.sub === session.accountId) {
    await endBrowser(ctx, session)
    return goOn(ctx, request)
  }
  // 3. Without that anybody may have sent the browser here: ask.
  const { runtime } = scope()
  const view = viewOf(ctx, runtime.issuer, {
    uiLocales: request.uiLocales,
    action: `${runtime.address.pathname}/logout/confirm`,
    token: formToken(`logout ${session.uid}`, 0),
  })
  sendPage(ctx, view, confirmLogoutPage(view, fieldsOf(request)))
}

/** The request once more, without its hint. */
const fieldsOf = ({ client, redirectUri, state, uiLocales }: Request) => ({
  client_id: client?.id,
  post_logout_redirect_uri: redirectUri,
  state,
  ui_locales: uiLocales,
})

/**
 * Whether somebody is signed in, a POST without the cookie does not tell: another site's comes without it always
 * (SameSite=Lax). The navigation that follows carries it. What makes its address too long stays behind.
 */
function askAgain(ctx: KoaContext, request: Request): void {
  const fields = fieldsOf(request)
  const { state: _, ui_locales: __, ...least } = fields
  const whole = addressWith(fields)
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Location', whole.length <= MAX_ADDRESS ? whole : addressWith(least))
  ctx.status = 303
  ctx.body = ''
}

function addressWith(params: Record<string, string | undefined>): string {
  const given = Object.entries(params).filter((entry): entry is [string, string] => !!entry[1])
  return `${scope().runtime.address.pathname}/logout?${new URLSearchParams(given)}`
}

/** POST of `/logout/confirm`: what was asked is asked again, for a form can be altered. */
export async function confirmLogout(ctx: KoaContext, values: Form): Promise<void> {
  const request = await readRequest({ ...values, id_token_hint: undefined })
  const session = await browserSession(ctx)
  if (!session?.accountId) return goOn(ctx, request)
  if (formVersion(`logout ${session.uid}`, field(values, 'csrf')) !== 0) {
    throw invalid('This form is not one that was shown to this browser.')
  }
  if (field(values, 'logout') === 'yes') {
    await endBrowser(ctx, session)
    return goOn(ctx, request)
  }
  const view = viewOf(ctx, scope().runtime.issuer, { uiLocales: request.uiLocales })
  sendPage(ctx, view, stayedPage(view))
}

/** @throws invalid_request; never a redirect to an address that is not the client's */
async function readRequest(values: Form): Promise<Request> {
  for (const name of ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales']) {
    if (Array.isArray(values[name])) throw invalid(`${name} must be given once`)
  }
  const token = field(values, 'id_token_hint') || undefined
  const { client, hint } = await senderOf(token, field(values, 'client_id') || undefined)
  const wanted = field(values, 'post_logout_redirect_uri') || undefined
  // Section 3: without a client there is nothing to check the address against, so it is not used. Anybody can publish a
  // document with any address in it: without a token that we issued for it, it would make us send people anywhere.
  const redirectUri = client && (!client.document || hint) ? wanted : undefined
  if (redirectUri !== undefined && !client?.settings.openid?.post_logout_redirect_uris?.includes(redirectUri)) {
    throw invalid('post_logout_redirect_uri is not registered')
  }
  return {
    client,
    hint,
    redirectUri,
    state: field(values, 'state') || undefined,
    uiLocales: field(values, 'ui_locales'),
  }
}

/** @throws invalid_request */
async function senderOf(
  token: string | undefined,
  named: string | undefined,
): Promise<{ client?: ClientRow; hint?: Hint | undefined }> {
  const read = token === undefined ? undefined : await readHint(token)
  if (read && named !== undefined && named !== read.clientId)
    throw invalid('client_id does not match the id_token_hint')
  const clientId = read?.clientId ?? named
  if (clientId === undefined) return {}
  const client = await clientOf(clientId)
  if (!client) throw invalid('client_id is unknown')
  return client === 'gone' ? {} : { client, hint: read?.hint }
}

/**
 * The application that sends the browser; undefined where nobody knows of one. One that was deleted or disabled, or
 * whose document cannot be had, is gone: it vouches for nothing, and its people may sign out all the same. They are
 * asked, as if nobody had sent them.
 */
async function clientOf(clientId: string): Promise<ClientRow | 'gone' | undefined> {
  const client = await readClient(clientId).catch((error: unknown) => {
    if (error instanceof errors.InvalidClient) return undefined
    throw error
  })
  if (client) return client.status === 'active' ? client : 'gone'
  return isDocumentAddress(clientId, scope().context.config.allowPrivateNetworks) ? 'gone' : undefined
}

async function browserSession(ctx: KoaContext): Promise<BrowserSession | undefined> {
  return scope().provider.Session.get(ctx as unknown as OpenIdContext)
}

/** Every session of this browser's sign-in, and the sign-in itself. */
async function endBrowser(ctx: KoaContext, { uid, accountId: userId }: BrowserSession): Promise<void> {
  await endSignIn(uid, userId!)
  ctx.cookies.set(cookieNames.session, null, { path: scope().runtime.address.pathname, signed: true })
  forgetBrowserState(ctx)
}

/**
 * The same for the browser that this session was begun with; the session itself may have ended. Whether it is this
 * browser nobody knows: a cookie that did not come along may be somebody else's, and stays.
 */
async function endBrowserOf(ctx: KoaContext, sessionId: string): Promise<void> {
  const { context, runtime } = scope()
  const where = { id: sessionId, issuerId: runtime.issuer.id }
  const session = await context.db.session.findFirst({ where, select: { browserUid: true, userId: true } })
  if (session) await endSignIn(session.browserUid, session.userId)
  forgetBrowserState(ctx)
}

async function endSignIn(browserUid: string, userId: string): Promise<void> {
  const { context, runtime } = scope()
  const { id: issuerId, accountId } = runtime.issuer
  const account = await findAccount(userId)
  const user = account && { id: account.accountId, username: account.username, accountId, issuerId }
  const acting = user ? asUser(context, user) : context
  await endSessions(acting, { accountId, issuerId }, { browserUid }, { reason: 'user_logout', browserToo: true })
}

function goOn(ctx: KoaContext, { redirectUri, state, uiLocales }: Request): void {
  ctx.set('Cache-Control', 'no-store')
  if (redirectUri === undefined) {
    const view = viewOf(ctx, scope().runtime.issuer, { uiLocales })
    sendPage(ctx, view, loggedOutPage(view))
    return
  }
  ctx.status = 303
  ctx.set('Location', state === undefined ? redirectUri : withState(redirectUri, state))
  ctx.body = ''
}

/** The address stays as it was registered, letter by letter (security rule 15); it has no fragment (spec 4.16). */
const withState = (address: string, state: string): string =>
  `${address}${address.includes('?') ? '&' : '?'}state=${encodeURIComponent(state)}`
