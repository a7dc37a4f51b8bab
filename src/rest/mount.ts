import type { Middleware } from 'koa'
import { admit, contextOfStranger } from '../access/admit.js'
import { apiErrorOf } from '../graphql/errors.js'
import type { Gatehouse } from '../platform/context.js'
import { errorBody } from './errors.js'
import { match } from './match.js'
import { exposedHeaders } from './payment.js'
import { readEntries, serve } from './serve.js'

/** `/v1` as Koa middleware: admits the caller, serves the request, writes the answer or the error body. */
export function mountRest(gatehouse: Gatehouse): Middleware {
  const entries = readEntries()
  return async (ctx) => {
    const stranger = contextOfStranger(gatehouse, ctx.req)
    ctx.set('X-Request-Id', stranger.request.id)
    ctx.set('Cache-Control', 'no-store')
    ctx.set(exposedHeaders)
    try {
      const limit = ctx.method === 'GET' || ctx.method === 'HEAD' ? 'core_read' : 'core_write'
      const { context, headers } = await admit(stranger, ctx.get('Authorization') || undefined, limit)
      ctx.set(headers)
      // Now, so that refusals have it as well.
      ctx.state['route'] = match(ctx.method, ctx.path)?.route?.path
      const reply = await serve(entries, context, ctx.req)
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
      const known = apiErrorOf(error, gatehouse.log, stranger.request.id)
      ctx.set(known.more.headers ?? {})
      ctx.status = known.status
      ctx.type = 'application/json'
      ctx.body = errorBody(known, stranger.request.id)
    }
  }
}
