/**
 * The session check (spec 4.17, OpenID Connect Session Management 1.0): a page that applications keep in an iframe and
 * ask, and the address that this page asks. Whether a session lives is known here alone, so that an administrator's
 * decision is seen as soon as a logout.
 */
import { createHash } from 'node:crypto'
import type { Context as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import { gateFault } from '../../kernel/gate.js'
import { readBody } from '../../platform/http.js'
import { browserStateOf, fitsSessionState } from '../browser-state.js'
import { readClient } from '../client.js'
import { scope } from '../scope.js'

/** Far more than the three members need (bytes). */
const MAX_BODY = 16 * 1024

/**
 * Section 3.2. The page's only word to the outside is one of `changed`, `unchanged`, `error`, said to the origin that
 * asked. A good answer is believed for a few seconds, for applications ask every other second; where nobody can tell
 * (no cookies in iframes, no connection) nobody is signed out.
 */
const script = `
(() => {
  const BELIEVED = 4000
  let known = { question: '', at: 0 }
  async function verdict(text, origin) {
    const [, client_id, session_state] = /^([!-~]+) ([!-~]+)$/.exec(text) ?? []
    if (!session_state) return 'error'
    const question = text + ' ' + origin
    if (known.question === question && performance.now() - known.at < BELIEVED) return 'unchanged'
    if (document.hasStorageAccess && !(await document.hasStorageAccess())) return 'error'
    const answer = await fetch('check-session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_id, session_state, origin }),
    })
    if (answer.status === 400) return 'error'
    if (!answer.ok) return 'unchanged'
    if (!(await answer.json()).valid) return 'changed'
    known = { question, at: performance.now() }
    return 'unchanged'
  }
  addEventListener('message', async ({ data, origin, source }) => {
    if (source === null || source === window || origin === 'null') return
    const answer = typeof data === 'string' ? await verdict(data, origin).catch(() => 'unchanged') : 'error'
    source.postMessage(answer, origin)
  })
})()
`

const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Session check</title></head><body><script>${script}</script></body></html>\n`

const policy = [
  "default-src 'none'",
  `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  // The only page that others may show: it looks like nothing, and there is nothing to click.
  'frame-ancestors *',
].join('; ')

/** GET of `/check-session.html`: the same for everybody. */
export function serveCheckSessionPage(ctx: KoaContext): void {
  ctx.set('Content-Security-Policy', policy)
  ctx.set('Cache-Control', 'public, max-age=3600')
  ctx.set('Referrer-Policy', 'no-referrer')
  ctx.type = 'html'
  ctx.body = page
}

const invalid = (description: string): ApiError => new ApiError('invalid_request', description)

const liveText = `
  SELECT 1 AS live FROM sessions
  WHERE issuer_id = $1 AND browser_uid = $2 AND client_id = $3 AND status = 'active' AND expires_at > $4 LIMIT 1`

/**
 * POST of `/check-session`: is this still the sign-in that the application was told of, and does its session live?
 * @throws invalid_request for a body without its three members, and for an origin that is not the client's
 */
export async function checkSession(ctx: KoaContext): Promise<void> {
  const { client_id: clientId, session_state: state, origin } = await readQuestion(ctx)
  const client = await readClient(clientId)
  if (client?.status !== 'active') throw invalid('client_id is unknown')
  const callbacks = client.settings.openid?.redirect_uris ?? []
  // 'null' is the origin of every private-use scheme, and nobody's.
  if (origin === 'null' || !callbacks.some((uri) => new URL(uri).origin === origin)) {
    throw invalid('origin matches no registered redirect URI')
  }
  const { context, runtime } = scope()
  const browser = browserStateOf(ctx)
  const same = browser !== undefined && fitsSessionState(state, clientId, origin, browser)
  const values = [runtime.issuer.id, browser, clientId, context.now()]
  const valid = same && (await context.tools.query('idp-check-session', liveText, values)).length > 0
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { valid }
}

async function readQuestion(ctx: KoaContext): Promise<{ client_id: string; session_state: string; origin: string }> {
  // JSON alone: forms can be sent from anywhere without asking.
  if (!ctx.is('application/json')) throw invalid('the body must be JSON; send Content-Type: application/json')
  let body: unknown
  try {
    body = JSON.parse(await readBody(ctx.req, MAX_BODY))
  } catch (error) {
    throw error instanceof ApiError ? error : invalid('the body is not JSON')
  }
  const fault = gateFault(body)
  if (fault) throw invalid(fault)
  const values = { ...(body as object) } as Record<string, unknown>
  for (const name of ['client_id', 'session_state', 'origin']) {
    const value = values[name]
    if (typeof value !== 'string' || value === '' || value.length > 2048) throw invalid(`${name} is required`)
  }
  return values as { client_id: string; session_state: string; origin: string }
}
