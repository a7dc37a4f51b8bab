/**
 * The state of a browser at an issuer, as OpenID Connect Session Management 1.0 has it (decisions D23). What stands for
 * it is the id of the browser's sign-in, in a cookie of its own: it gives nobody anything, and has to reach us from an
 * iframe in somebody else's page, which the cookie that lets people in must never do.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { Context as KoaContext } from 'koa'
import { sameText } from '../platform/secrets.js'
import { type OpenIdContext, param } from './library.js'
import type { Runtime } from './runtime.js'
import { scope } from './scope.js'

const COOKIE = 'gatehouse_state'

/** Browsers send a cookie to an iframe only if it is made for that, and make such ones only over https. */
function traits({ url }: Runtime) {
  const { pathname, protocol } = new URL(url)
  const secure = protocol === 'https:'
  return {
    path: pathname,
    httpOnly: true,
    secure,
    sameSite: secure ? ('none' as const) : ('lax' as const),
    signed: false,
  }
}

/** The id of the sign-in that this browser says it has; anybody can say anything. */
export const browserStateOf = (ctx: KoaContext): string | undefined => ctx.cookies.get(COOKIE, { signed: false })

/** After a logout: nothing that was valid is so any more. */
export function forgetBrowserState(ctx: KoaContext): void {
  ctx.cookies.set(COOKIE, null, traits(scope().runtime))
}

/** Puts `session_state` into the answer to an authorization request, and the cookie that it is compared with later. */
export function addSessionState(ctx: OpenIdContext, answer: Record<string, unknown>): void {
  const { origin } = new URL(param(ctx, 'redirect_uri') ?? '')
  const { session, client } = ctx.oidc
  // An application with a scheme of its own has no origin, and no page to watch from.
  if (origin === 'null' || !session || !client) return
  ctx.cookies.set(COOKIE, session.uid, traits(scope().runtime))
  const salt = randomBytes(12).toString('base64url')
  answer['session_state'] = sessionState(client.clientId, origin, session.uid, salt)
}

/** Section 4.2: which sign-in an application was told of, so that only who knows it can say whether it is that one. */
function sessionState(clientId: string, origin: string, browserState: string, salt: string): string {
  const hash = createHash('sha256').update(`${clientId} ${origin} ${browserState} ${salt}`).digest('base64url')
  return `${hash}.${salt}`
}

/** Is this the `session_state` that this browser's sign-in has at this application? */
export function fitsSessionState(given: string, clientId: string, origin: string, browserState: string): boolean {
  return sameText(given, sessionState(clientId, origin, browserState, given.split('.')[1] ?? ''))
}
