import type { Context as KoaContext } from 'koa'
import { networkOf } from '../../../kernel/network.js'
import { consumeRateLimit } from '../../rate-limits.js'
import type { RequestContext } from '../../request-context.js'
import type { Form } from '../../request-input.js'
import { errorPage } from '../pages/error.js'
import { saveResponse } from './attempt.js'

/**
 * GET and POST of `/callback/{method_id}`, the redirect URI of upstream providers. Browsers send a cross-site form
 * (Apple) without cookies. Therefore this endpoint only saves the response, and redirects the browser to the
 * interaction endpoint, to which the browser sends its cookie.
 */
export async function handleUpstreamCallback(
  request: RequestContext,
  ctx: KoaContext,
  methodId: string,
  form: Form,
): Promise<void> {
  const { context, runtime } = request
  await consumeRateLimit(request, ctx, 'authorize', networkOf(context.request.ip))
  const target = await saveResponse(request, methodId, form)
  if (target === undefined) {
    ctx.status = 400
    return errorPage(ctx, runtime, {}, 'expired')
  }
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Referrer-Policy', 'no-referrer')
  ctx.set('Location', target)
  ctx.body = ''
}
