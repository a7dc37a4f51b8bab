import type { Context as KoaContext } from 'koa'
import { networkOf } from '../../../kernel/network.js'
import { spend } from '../../limits.js'
import type { Form } from '../../request.js'
import { scope } from '../../scope.js'
import { errorPage } from '../pages/error.js'
import { keepAnswer } from './attempt.js'

/**
 * GET and POST of `/callback/{method_id}`, where providers send browsers back to. A form of another site (Apple) comes
 * without our cookies; so nothing is decided here, and the browser is sent on to the page where its cookie counts.
 */
export async function upstreamCallback(ctx: KoaContext, methodId: string, form: Form): Promise<void> {
  const { context, runtime } = scope()
  await spend(ctx, context, 'authorize', networkOf(context.request.ip))
  const target = await keepAnswer(methodId, form)
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
