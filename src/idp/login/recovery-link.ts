/**
 * Recovery links of administrators (docs/decisions/0053). A browser that opens a valid link is redirected to the
 * sign-in of the console, which starts with the step `recovery`. Opening the link does not consume it, because software
 * that scans messages opens links too.
 */
import type { Context as KoaContext } from 'koa'
import { limits } from '../../kernel/limits.js'
import { networkOf } from '../../kernel/network.js'
import { sha256 } from '../../platform/crypto/secrets.js'
import { findRecoveryUser } from '../../resources/credentials/recovery.js'
import { requireActiveIssuer } from '../client/client.js'
import { consumeRateLimit } from '../rate-limits.js'
import type { RequestContext } from '../request-context.js'
import { type Form, formField } from '../request-input.js'
import { initialState, type LoginState } from './login-state.js'
import { errorPage } from './pages/error.js'

const RECOVERY_COOKIE = 'gatehouse_recovery'

/** GET of `/recovery?token=…`. */
export async function handleRecoveryLink(request: RequestContext, ctx: KoaContext, query: Form): Promise<void> {
  const { context, runtime } = request
  await consumeRateLimit(request, ctx, 'authorize', networkOf(context.request.ip))
  await requireActiveIssuer(request)
  const token = formField(query, 'token') ?? ''
  if (!(await findRecoveryUser(context, runtime.issuer.id, token))) {
    ctx.status = 400
    return errorPage(ctx, runtime, {}, 'recovery_gone')
  }
  const options = { path: runtime.parsedUrl.pathname, signed: true, httpOnly: true, sameSite: 'lax' } as const
  ctx.cookies.set(RECOVERY_COOKIE, token, { ...options, maxAge: limits.recoveryLinkLifetime })
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Referrer-Policy', 'no-referrer')
  // `max_age=0`: a browser that is already signed in must sign in again.
  ctx.set('Location', `${context.config.baseUrl}/console/sign-in?max_age=0`)
  ctx.body = ''
}

/** Returns the initial state in a browser that has opened a recovery link that is still valid; otherwise undefined. */
export async function createRecoveryState(
  { context, runtime }: RequestContext,
  ctx: KoaContext,
): Promise<LoginState | undefined> {
  const token = ctx.cookies.get(RECOVERY_COOKIE, { signed: true })
  if (!token) return undefined
  const user = await findRecoveryUser(context, runtime.issuer.id, token)
  if (!user) return undefined
  const recovery = { user, tokenHash: sha256(token), lostCredentialIds: [], lostSecondFactor: false }
  return { ...initialState(user.username), step: 'recovery', recovery }
}
