/**
 * Browser state and `session_state` of OpenID Connect Session Management 1.0 (docs/contract.md#session-check). The
 * browser state is the `uid` of the browser session, in a separate cookie, which grants no access. Browsers must send
 * this cookie from an iframe in a page of another site; they must not send the session cookie from there.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { Context as KoaContext } from 'koa'
import { isSameText } from '../../platform/crypto/secrets.js'
import { type OpenIdContext, textParameter } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'

const COOKIE = 'gatehouse_state'

/** Browsers send a cookie from a cross-site iframe only if it has SameSite=None, which requires Secure and HTTPS. */
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

/** Adds `session_state` to an authorization response, and sets the cookie with the browser state. */
export function addSessionState(request: RequestContext, ctx: OpenIdContext, response: Record<string, unknown>): void {
  const { origin } = new URL(textParameter(ctx, 'redirect_uri') ?? '')
  const { session, client } = ctx.oidc
  // A redirect URI with a private-use scheme has no origin, and its application has no page that could check the
  // session.
  if (origin === 'null' || !session || !client) return
  ctx.cookies.set(COOKIE, session.uid, cookieOptions(request))
  const salt = randomBytes(12).toString('base64url')
  response['session_state'] = createSessionState(client.clientId, origin, session.uid, salt)
}

/**
 * Creates `session_state` (OpenID Connect Session Management 1.0 section 4.2), which binds the browser state to the
 * client and its origin.
 */
function createSessionState(clientId: string, origin: string, browserState: string, salt: string): string {
  const hash = createHash('sha256').update(`${clientId} ${origin} ${browserState} ${salt}`).digest('base64url')
  return `${hash}.${salt}`
}

/** Checks whether a presented `session_state` is that of this client, origin and browser state. */
export function isSessionStateOf(presented: string, clientId: string, origin: string, browserState: string): boolean {
  return isSameText(presented, createSessionState(clientId, origin, browserState, presented.split('.')[1] ?? ''))
}
