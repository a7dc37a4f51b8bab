/**
 * The session check (docs/contract.md#session-check, OpenID Connect Session Management 1.0): the page that applications
 * load in an iframe, and the endpoint that the script of the page calls. The endpoint reads the session from the
 * database, so the check detects a revocation by an administrator as well as a logout.
 */
import type { Context as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import { parseJsonBody, readBody } from '../../platform/http/body.js'
import { contentSecurityPolicy, hashSource, pageHeaders } from '../../platform/http/html-page.js'
import { readClient } from '../client/client.js'
import type { RequestContext } from '../request-context.js'
import { browserStateOf, isSessionStateOf } from '../session/browser-state.js'

/**
 * The script of the page (OpenID Connect Session Management 1.0 section 3.2). It posts `changed`, `unchanged` or
 * `error` to the origin that sent the message. `unchanged` is cached for four seconds, because applications check about
 * every two seconds. If the state cannot be determined (no cookies in iframes, no connection), the script does not post
 * `changed`, so that the application does not sign the user out.
 */
const script = `
(() => {
  const CACHE_LIFETIME = 4000
  let cached = { key: '', at: 0 }
  async function check(text, origin) {
    const [, client_id, session_state] = /^([!-~]+) ([!-~]+)$/.exec(text) ?? []
    if (!session_state) return 'error'
    const key = text + ' ' + origin
    if (cached.key === key && performance.now() - cached.at < CACHE_LIFETIME) return 'unchanged'
    if (document.hasStorageAccess && !(await document.hasStorageAccess())) return 'error'
    const answer = await fetch('check-session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_id, session_state, origin }),
    })
    if (answer.status === 400) return 'error'
    if (!answer.ok) return 'unchanged'
    if (!(await answer.json()).valid) return 'changed'
    cached = { key, at: performance.now() }
    return 'unchanged'
  }
  addEventListener('message', async ({ data, origin, source }) => {
    if (source === null || source === window || origin === 'null') return
    const answer = typeof data === 'string' ? await check(data, origin).catch(() => 'unchanged') : 'error'
    source.postMessage(answer, origin)
  })
})()
`

const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Session check</title></head><body><script>${script}</script></body></html>\n`

const policy = contentSecurityPolicy({
  'script-src': hashSource(script),
  'connect-src': "'self'",
  'form-action': "'none'",
  // Other sites may embed only this page, which is safe because it shows nothing that a user could click.
  'frame-ancestors': '*',
})

/** GET of `/check-session.html`, with the same response for every caller. */
export function serveCheckSessionPage(ctx: KoaContext): void {
  ctx.set(pageHeaders(policy, { 'Cache-Control': 'public, max-age=3600' }))
  ctx.type = 'html'
  ctx.body = page
}

const invalidRequest = (description: string): ApiError => new ApiError('invalid_request', description)

const activeSessionText = `
  SELECT 1 AS live FROM sessions
  WHERE issuer_id = $1 AND browser_uid = $2 AND client_id = $3 AND status = 'active' AND expires_at > $4 LIMIT 1`

/**
 * POST of `/check-session`: checks whether `session_state` belongs to the current sign-in of the browser, and whether
 * the sign-in has an active session with the client.
 * @throws invalid_request if the body is not JSON with valid values of `client_id`, `session_state` and `origin`, if
 *   the client is unknown or not active, or if no redirect URI of the client has the origin
 */
export async function checkSession(request: RequestContext, ctx: KoaContext): Promise<void> {
  const { client_id: clientId, session_state: state, origin } = await readCheckRequest(ctx)
  const client = await readClient(request, clientId)
  if (client?.status !== 'active') throw invalidRequest('client_id is not the id of an active client of this issuer')
  const redirectUris = client.settings.openid?.redirect_uris ?? []
  // 'null' is the origin of every URI with a private-use scheme, so it identifies no client.
  if (origin === 'null' || !redirectUris.some((uri) => new URL(uri).origin === origin)) {
    throw invalidRequest('origin is not the origin of a registered redirect URI')
  }
  const { context, runtime } = request
  const browserState = browserStateOf(ctx)
  const isSameSignIn = browserState !== undefined && isSessionStateOf(state, clientId, origin, browserState)
  const values = [runtime.issuer.id, browserState, clientId, context.now()]
  const valid =
    isSameSignIn && (await context.database.query('idp-check-session', activeSessionText, values)).length > 0
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { valid }
}

async function readCheckRequest(
  ctx: KoaContext,
): Promise<{ client_id: string; session_state: string; origin: string }> {
  // Only JSON is accepted, because another site can send a form without a CORS preflight.
  if (!ctx.is('application/json')) throw invalidRequest('the body must be JSON; send Content-Type: application/json')
  const text = await readBody(ctx.req, limits.maxSessionCheckBodyBytes)
  const body = parseJsonBody(text, 'the body is not valid JSON')
  const values = { ...(body as object) } as Record<string, unknown>
  for (const name of ['client_id', 'session_state', 'origin']) {
    const value = values[name]
    if (typeof value !== 'string' || value === '' || value.length > 2048)
      throw invalidRequest(`${name} must be a string of 1 to 2048 characters`)
  }
  return values as { client_id: string; session_state: string; origin: string }
}
