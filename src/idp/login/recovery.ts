/**
 * The recovery link of an administrator (decision 0067). The browser that opens it is sent to sign in to the console, and
 * there begins with the step `recovery` instead of a username. Opening it uses nothing up, because programs open links too.
 */
import type { Context as KoaContext } from 'koa'
import { networkOf } from '../../kernel/network.js'
import { sha256 } from '../../platform/secrets.js'
import { openRecovery, RECOVERY_LIFE } from '../../resources/credentials/recovery.js'
import { requireOpen } from '../client.js'
import { spend } from '../limits.js'
import { type Form, field } from '../request.js'
import { scope } from '../scope.js'
import { errorPage } from './pages/error.js'
import { beginning, type LoginState } from './state.js'

const COOKIE = 'gatehouse_recovery'

/** GET of `/recovery?token=…`. */
export async function beginRecovery(ctx: KoaContext, query: Form): Promise<void> {
  const { context, runtime } = scope()
  await spend(ctx, context, 'authorize', networkOf(context.request.ip))
  await requireOpen()
  const token = field(query, 'token') ?? ''
  if (!(await openRecovery(context, runtime.issuer.id, token))) {
    ctx.status = 400
    return errorPage(ctx, runtime, {}, 'recovery_gone')
  }
  const options = { path: runtime.address.pathname, signed: true, httpOnly: true, sameSite: 'lax' } as const
  ctx.cookies.set(COOKIE, token, { ...options, maxAge: RECOVERY_LIFE })
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Referrer-Policy', 'no-referrer')
  // Also a browser that is signed in already is to sign in again.
  ctx.set('Location', `${context.config.baseUrl}/console/sign-in?max_age=0`)
  ctx.body = ''
}

/** How signing in begins in a browser that has opened a recovery link which still works. */
export async function recoveryState(ctx: KoaContext): Promise<LoginState | undefined> {
  const token = ctx.cookies.get(COOKIE, { signed: true })
  if (!token) return undefined
  const { context, runtime } = scope()
  const user = await openRecovery(context, runtime.issuer.id, token)
  if (!user) return undefined
  const recovery = { user, tokenHash: sha256(token), lost: [], lostFactor: false }
  return { ...beginning(user.username), step: 'recovery', recovery }
}
