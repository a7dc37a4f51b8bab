/** The outermost middleware of every server: measures and logs requests, and handles errors and unknown paths. */
import type { Middleware, ParameterizedContext } from 'koa'
import type { Role } from '../config.js'
import { ApiError } from '../kernel/errors.js'
import type { Gatehouse } from '../platform/context.js'
import { hasBody } from '../platform/http/body.js'
import { isBodyPending, sendEarlyResponse } from '../platform/http/early-responses.js'
import { type ErrorFormat, respondWithError } from '../platform/http/error-response.js'
import { requestInfo } from '../platform/http/request.js'
import { type EndSpan, traceRequest } from '../platform/tracing.js'

/**
 * The error format of unknown paths, and of handlers without a format of their own, such as the console and the setup
 * page.
 */
const defaultErrorFormat: ErrorFormat = {
  write(ctx, { code, message }, requestId) {
    ctx.body = { error: code, error_description: message, request_id: requestId }
  },
}

/**
 * Creates the outermost middleware of a server. Handlers can set `ctx.state.route` to the route template, so that
 * metric labels contain no IDs; the label of other requests is `other`.
 * @param state `draining` is true during shutdown; connections are then closed after each response
 */
export function createBaseMiddleware(gatehouse: Gatehouse, server: Role, state: { draining: boolean }): Middleware {
  const { metrics, log, config } = gatehouse
  const publicUrl = { core: config.baseUrl, idp: config.idpUrl, worker: undefined }[server]
  // Strict-Transport-Security (RFC 6797) depends on the public URL, because a proxy may terminate TLS. Custom domains
  // have the scheme of IDP_URL.
  const isSecure = publicUrl !== undefined && new URL(publicUrl).protocol === 'https:'
  const handleRequest: (...args: [...Parameters<Middleware>, EndSpan?]) => Promise<void> = async (
    ctx,
    next,
    endTrace,
  ) => {
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
        throw new ApiError('not_found', 'There is no endpoint at this path.')
      }
    } catch (error) {
      respondWithError(ctx, { log, request: requestInfo(gatehouse, ctx.req) }, error, defaultErrorFormat)
    }
    finishUnreadRequest(ctx)
  }
  return (ctx, next) => traceRequest(ctx.req, (endTrace) => handleRequest(ctx, next, endTrace))
}

/**
 * If the client is still sending the request body, sends the response in a way that does not interrupt the client. Does
 * nothing for streams.
 */
function finishUnreadRequest(ctx: ParameterizedContext): void {
  const { req, res, body } = ctx
  if (ctx.respond === false || !hasBody(req) || !isBodyPending(req)) return
  if (body !== null && typeof body === 'object' && 'pipe' in body) return
  const isText = typeof body === 'string' || Buffer.isBuffer(body)
  ctx.respond = false
  sendEarlyResponse(req, res, body === null || body === undefined ? '' : isText ? body : JSON.stringify(body))
}
