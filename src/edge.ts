/** The outermost layer of every server: measures and logs each request, and answers what no room answered. */
import type { Middleware, ParameterizedContext } from 'koa'
import { contextOfStranger } from './access/admit.js'
import type { Role } from './config.js'
import { apiErrorOf } from './graphql/errors.js'
import { ApiError } from './kernel/errors.js'
import type { Gatehouse } from './platform/context.js'
import { endEarly, isSending } from './platform/early-answers.js'
import { hasBody } from './platform/http.js'
import { type EndOfTrace, traceRequest } from './platform/tracing.js'

/** Rooms put the template of their route into `ctx.state.route`; ids never become labels. */
export function mountEdge(gatehouse: Gatehouse, server: Role, state: { draining: boolean }): Middleware {
  const { metrics, log, config } = gatehouse
  const address = { core: config.baseUrl, idp: config.idpUrl, worker: undefined }[server]
  // RFC 6797, for the public address that proxies serve over TLS. Custom domains have the scheme of IDP_URL.
  const isSecure = address !== undefined && new URL(address).protocol === 'https:'
  const answer: (...args: [...Parameters<Middleware>, EndOfTrace?]) => Promise<void> = async (ctx, next, endTrace) => {
    const started = performance.now()
    ctx.set('X-Content-Type-Options', 'nosniff')
    if (isSecure) ctx.set('Strict-Transport-Security', 'max-age=31536000')
    if (state.draining) ctx.set('Connection', 'close')
    ctx.res.once('close', () => {
      const elapsed = (performance.now() - started) / 1000
      const route = (ctx.state['route'] as string | undefined) ?? 'other'
      const status = ctx.res.statusCode
      metrics.requests.observe({ server, method: ctx.method, route, status: String(status) }, elapsed)
      const facts = {
        server,
        method: ctx.method,
        path: ctx.path,
        status,
        ms: Math.round(elapsed * 1000),
        request_id: ctx.res.getHeader('X-Request-Id'),
      }
      if (route !== 'probe') log.debug(facts, 'request')
      endTrace?.({ server, route, status, requestId: facts.request_id?.toString() })
    })
    try {
      await next()
      if (ctx.status === 404 && ctx.body === undefined && ctx.respond !== false) {
        throw new ApiError('not_found', 'There is no such address.')
      }
    } catch (error) {
      const { request } = contextOfStranger(gatehouse, ctx.req)
      const known = apiErrorOf(error, log, request.id)
      ctx.set(known.more.headers ?? {})
      ctx.status = known.status
      ctx.body = { error: known.code, error_description: known.message, request_id: request.id }
    }
    endBeforeBody(ctx)
  }
  return (ctx, next) => traceRequest(ctx.req, (endTrace) => answer(ctx, next, endTrace))
}

/** An answer that comes before its request was read to the end reaches the client all the same. */
function endBeforeBody(ctx: ParameterizedContext): void {
  const { req, res, body } = ctx
  if (ctx.respond === false || !hasBody(req) || !isSending(req)) return
  if (body !== null && typeof body === 'object' && 'pipe' in body) return
  const isText = typeof body === 'string' || Buffer.isBuffer(body)
  ctx.respond = false
  endEarly(req, res, body === null || body === undefined ? '' : isText ? body : JSON.stringify(body))
}
