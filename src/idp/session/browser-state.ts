/**
 * Browser state and `session_state` of OpenID Connect Session Management 1.0 (docs/contract.md#session-check). The
 * browser state is the id of the browser's sign-in, in a cookie of its own: it grants no access, and must be sent from
 * an iframe in another site's page, which the session cookie must not be.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { Context as KoaContext } from 'koa'
import { isSameText } from '../../platform/crypto/secrets.js'
import { type OpenIdContext, textParameter } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'

const COOKIE = 'gatehouse_state'

/** Browsers send a cookie from a cross-site iframe only with SameSite=None, which requires Secure. */
function cookieOptions({ runtime }: RequestContext) {
  const { pathname, protocol } = new URL(runtime.url)
  const secure = protocol === 'https:'
  return {
    path: pathname,
    httpOnly: true,
    secure,
    sameSite: secure ? ('none' as const) : ('lax' as const),
    signed: false,
  }
}

/** Returns the browser state that the browser sent. The value is not signed, so it proves nothing by itself. */
export const browserStateOf = (ctx: KoaContext): string | undefined => ctx.cookies.get(COOKIE, { signed: false })

/** Clears the browser state after a logout, so that every `session_state` issued to this browser becomes invalid. */
export function clearBrowserState(request: RequestContext, ctx: KoaContext): void {
  ctx.cookies.set(COOKIE, null, cookieOptions(request))
}

/** Adds `session_state` to an authorization response and sets the cookie that it is compared with later. */
export function addSessionState(request: RequestContext, ctx: OpenIdContext, response: Record<string, unknown>): void {
  const { origin } = new URL(textParameter(ctx, 'redirect_uri') ?? '')
  const { session, client } = ctx.oidc
  // A private-use URI scheme has no origin, and no page that could check the session.
  if (origin === 'null' || !session || !client) return
  ctx.cookies.set(COOKIE, session.uid, cookieOptions(request))
  const salt = randomBytes(12).toString('base64url')
  response['session_state'] = createSessionState(client.clientId, origin, session.uid, salt)
}

/**
 * Creates `session_state` (OpenID Connect Session Management 1.0 section 4.2), which binds the sign-in to the client
 * and its origin.
 */
function createSessionState(clientId: string, origin: string, browserState: string, salt: string): string {
  const hash = createHash('sha256').update(`${clientId} ${origin} ${browserState} ${salt}`).digest('base64url')
  return `${hash}.${salt}`
}

/** Checks whether this is the `session_state` of the browser's sign-in for this client and origin. */
export function isSessionStateOf(presented: string, clientId: string, origin: string, browserState: string): boolean {
  return isSameText(presented, createSessionState(clientId, origin, browserState, presented.split('.')[1] ?? ''))
}
