import type { Middleware } from 'koa'
import { anonymousContext, authenticateAndRateLimit } from '../access/authenticate-request.js'
import type { Gatehouse } from '../platform/context.js'
import { respondWithError } from '../platform/http/error-response.js'
import { restErrorFormat } from './errors.js'
import { exposedHeaders } from './payment.js'
import { matchRoute } from './route-match.js'
import { loadRouteBindings, serveRequest } from './serve.js'

/**
 * Serves `/v1`: authenticates and rate-limits the caller, runs the operation, and writes the response or error.
 */
export function mountRest(gatehouse: Gatehouse): Middleware {
  const entries = loadRouteBindings()
  return async (ctx) => {
    const anonymous = anonymousContext(gatehouse, ctx.req)
    ctx.set('X-Request-Id', anonymous.request.id)
    ctx.set('Cache-Control', 'no-store')
    ctx.set(exposedHeaders)
    try {
      const limit = ctx.method === 'GET' || ctx.method === 'HEAD' ? 'core_read' : 'core_write'
      const { context, headers } = await authenticateAndRateLimit(anonymous, ctx.req, limit)
      ctx.set(headers)
      // The route is set before the request is served, so that the metrics of error responses have it as a label.
      ctx.state['route'] = matchRoute(ctx.method, ctx.path)?.route?.path
      const reply = await serveRequest(entries, context, ctx.req)
      ctx.set(reply.headers)
      ctx.status = reply.status
      if (reply.body !== '') {
        ctx.type = 'application/json'
        ctx.body = reply.body
      } else {
        ctx.body = null
        ctx.status = reply.status
      }
    } catch (error) {
      respondWithError(ctx, anonymous, error, restErrorFormat)
    }
  }
}
