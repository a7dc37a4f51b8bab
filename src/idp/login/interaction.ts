/**
 * The interaction endpoint (docs/contract.md#login-transactions): identifies the browser, loads its login state and
 * applies the submitted form. A step decides on a transition and next-step.ts on the step that follows. A form is
 * accepted only from the browser that it was shown to, and only if it is the latest one.
 */

import type { Context as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import { networkOf } from '../../kernel/network.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { cookieNames } from '../provider.js'
import type { BrowserSession, Interaction, OpenIdContext } from '../provider-types.js'
import { consumeRateLimit } from '../rate-limits.js'
import { type RequestContext, requestContext } from '../request-context.js'
import { type Form, formField } from '../request-input.js'
import { isSignInOutdated } from '../session/authentication-requirements.js'
import { createInvitationTransaction } from './invitation.js'
import {
  claimVersion,
  formToken,
  formVersion,
  type LoginSnapshot,
  type LoginState,
  resetState,
  StaleForm,
  save,
  snapshotOf,
} from './login-state.js'
import { createAuthorizationTransaction, LoginAbortedError, type LoginTransaction } from './login-transaction.js'
import { resumeUpstreamSignIn } from './methods/upstream.js'
import { determineNextStep } from './next-step.js'
import { errorPage } from './pages/error.js'
import { createView, sendPage, type View } from './pages/layout.js'
import type { PageMessage } from './pages/texts.js'
import { handleConsent } from './steps/consent.js'
import { steps } from './steps/index.js'
import { type Transition, TransitionRefused } from './steps/step.js'

/** One request of a browser within a login transaction. */
interface LoginRequest {
  ctx: KoaContext
  loginTransaction: LoginTransaction
  snapshot: LoginSnapshot
  view: View
}

/** The browser session at the time of the transition. */
interface WithBrowserSession {
  browserSession: BrowserSession
}

/** The state after a transition, and the messages to show. */
interface TransitionResult {
  to: LoginState
  problems: readonly PageMessage[]
  redirect?: string | undefined
}

/** GET and POST of `/interaction/{uid}`. */
export async function handleInteraction(
  request: RequestContext,
  ctx: KoaContext,
  uid: string,
  form: Form | undefined,
): Promise<void> {
  const { runtime } = request
  const interaction = await findInteraction(ctx, uid)
  if (interaction?.prompt.name === 'consent') return handleConsent(ctx, interaction, form ?? {})
  const loginTransaction = await findLoginTransaction(ctx, uid, interaction)
  if (!loginTransaction) {
    ctx.status = 400
    return errorPage(ctx, runtime, {}, 'expired')
  }
  const savedSnapshot = await snapshotOf(uid)
  const isKnownStep =
    !savedSnapshot || savedSnapshot.state.step === 'done' || Object.hasOwn(steps, savedSnapshot.state.step)
  const snapshot = isKnownStep
    ? (savedSnapshot ?? { state: await loginTransaction.createInitialState(), version: 0 })
    : await restartAfterUnknownStep(loginTransaction, savedSnapshot)
  const view = createView(ctx, runtime.issuer, {
    uiLocales: loginTransaction.param('ui_locales'),
    clientName: loginTransaction.clientName,
    action: new URL(`${runtime.url}/interaction/${uid}`).pathname,
  })
  const loginRequest = { ctx, loginTransaction, snapshot, view }
  if (!isKnownStep) return renderStep(loginRequest, [{ key: 'stale' }])
  if (ctx.method === 'POST') return handleSubmission(loginRequest, form ?? {})
  const handle = formField({ ...ctx.query }, 'upstream')
  await (handle === undefined ? renderStep(loginRequest, []) : handleUpstreamReturn(loginRequest, handle))
}

/** Restarts the login transaction if its step does not exist in this release. Forms shown before become invalid. */
async function restartAfterUnknownStep(
  loginTransaction: LoginTransaction,
  savedSnapshot: LoginSnapshot,
): Promise<LoginSnapshot> {
  const { context } = requestContext()
  const state: LoginState = loginTransaction.invitation
    ? { ...resetState(savedSnapshot.state, loginTransaction.invitation.email), step: 'invitation' }
    : await loginTransaction.createInitialState()
  try {
    await transaction(context, (tx) => claimVersion(tx, loginTransaction.uid, { ...savedSnapshot, state }))
    return { state, version: savedSnapshot.version + 1 }
  } catch (error) {
    if (!(error instanceof StaleForm)) throw error
    return (await snapshotOf(loginTransaction.uid)) ?? { state, version: 0 }
  }
}

const hasInteractionCookie = (ctx: KoaContext, uid: string): boolean =>
  ctx.cookies.get(cookieNames.interaction, { signed: true }) === uid

const findInteraction = async (ctx: KoaContext, uid: string): Promise<Interaction | undefined> =>
  hasInteractionCookie(ctx, uid) ? requestContext().provider.Interaction.find(uid) : undefined

/** Finds the login transaction of this browser: the signed cookie must name the `uid` of the path. */
async function findLoginTransaction(
  ctx: KoaContext,
  uid: string,
  knownInteraction?: Interaction,
): Promise<LoginTransaction | undefined> {
  if (!hasInteractionCookie(ctx, uid)) return undefined
  const interaction = knownInteraction ?? (await findInteraction(ctx, uid))
  if (interaction) return createAuthorizationTransaction(ctx, interaction)
  const snapshot = await snapshotOf(uid)
  return snapshot?.state.invitation && createInvitationTransaction(uid, snapshot, snapshot.state.invitation)
}

async function renderStep(loginRequest: LoginRequest, problems: readonly PageMessage[]): Promise<void> {
  const { ctx, loginTransaction, snapshot, view } = loginRequest
  const { state, version } = snapshot
  if (state.step === 'done') return sendFinalResponse(loginRequest)
  const viewWithToken = { ...view, token: formToken(loginTransaction.uid, version) }
  sendPage(
    ctx,
    viewWithToken,
    await steps[state.step].render({ state, loginTransaction, view: viewWithToken, version }, problems, {
      ...ctx.query,
    }),
  )
}

async function handleSubmission(loginRequest: LoginRequest, form: Form): Promise<void> {
  const { loginTransaction, snapshot, view } = loginRequest

  // 1. The form was shown by us, and it is the latest one.
  const { state, version } = snapshot
  if (formVersion(loginTransaction.uid, formField(form, 'csrf')) !== version || state.step === 'done')
    return renderStaleForm(loginRequest)

  // 2. Attempts are rate-limited per network as well.
  if (await rejectIfRateLimited(loginRequest)) return

  // 3. The step decides.
  const transition = await steps[state.step].handleSubmission({ state, loginTransaction, view, version }, form)
  await applyTransition(loginRequest, transition)
}

/**
 * Handles the return from an upstream provider. The cookie and the one-time handle authenticate it, so it is processed
 * like a submitted form.
 */
async function handleUpstreamReturn(loginRequest: LoginRequest, handle: string): Promise<void> {
  const { loginTransaction, snapshot, view } = loginRequest
  const { state, version } = snapshot
  if (state.step !== 'sign_in') return renderStep(loginRequest, [])
  if (await rejectIfRateLimited(loginRequest)) return
  const transition = await resumeUpstreamSignIn({ state, loginTransaction, view, version }, handle)
  await (transition ? applyTransition(loginRequest, transition) : renderStaleForm(loginRequest))
}

async function renderStaleForm(loginRequest: LoginRequest): Promise<void> {
  const { ctx, loginTransaction, snapshot } = loginRequest
  const currentTransaction = (await findLoginTransaction(ctx, loginTransaction.uid)) ?? loginTransaction
  return renderStep(
    {
      ...loginRequest,
      loginTransaction: currentTransaction,
      snapshot: (await snapshotOf(currentTransaction.uid)) ?? snapshot,
    },
    [{ key: 'stale' }],
  )
}

/** Consumes the rate limit; if it is exceeded, shows the step again with a message. */
async function rejectIfRateLimited(loginRequest: LoginRequest): Promise<boolean> {
  const { ctx } = loginRequest
  const request = requestContext()
  try {
    await consumeRateLimit(request, ctx, 'login', networkOf(request.context.request.ip))
    return false
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'too_many_requests') throw error
    await renderStep(loginRequest, [{ key: 'too_many' }])
    for (const [name, value] of Object.entries(error.options.headers ?? {})) ctx.set(name, value)
    ctx.status = 429
    return true
  }
}

/**
 * Applies a transition with all of its effects, or nothing. Of two submissions of one form, only the first is applied.
 */
async function applyTransition(loginRequest: LoginRequest, transition: Transition): Promise<void> {
  const { ctx, snapshot } = loginRequest
  // Read before the transaction starts: inside it, this read would need a second connection.
  const browserSession = await requestContext().provider.Session.get(ctx as unknown as OpenIdContext)
  try {
    const { to, problems, redirect } = await runTransition({ ...loginRequest, browserSession }, transition)
    if (redirect !== undefined) return redirectTo(ctx, redirect)
    await renderStep({ ...loginRequest, snapshot: { state: to, version: snapshot.version + 1 } }, problems)
  } catch (error) {
    requestContext().unitOfWork.discard()
    if (error instanceof StaleForm) return renderStaleForm(loginRequest)
    if (error instanceof LoginAbortedError) return error.respond(ctx)
    throw error
  }
}

function redirectTo(ctx: KoaContext, address: string): void {
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Referrer-Policy', 'no-referrer')
  ctx.set('Location', address)
  ctx.body = ''
}

/** Runs a transition. If it is refused, runs its replacement, which can be refused as well, up to three times. */
async function runTransition(
  loginRequest: LoginRequest & WithBrowserSession,
  transition: Transition,
  attemptsLeft = 3,
): Promise<TransitionResult> {
  try {
    return await commitTransition(loginRequest, transition)
  } catch (error) {
    if (!(error instanceof TransitionRefused) || attemptsLeft === 0) throw error
    return await runTransition(loginRequest, error.replacement, attemptsLeft - 1)
  } finally {
    await transition.onSettled?.()
  }
}

/**
 * Commits a transition in one transaction: applies the effects, and if the step is done, determines and prepares the
 * next one.
 * @throws TransitionRefused with a replacement that explains the reason
 */
async function commitTransition(
  loginRequest: LoginRequest & WithBrowserSession,
  { to, done, effects, resolveState, redirect, problems = [] }: Transition,
): Promise<TransitionResult> {
  const { browserSession, loginTransaction, snapshot, view } = loginRequest
  const { context, unitOfWork } = requestContext()
  return transaction(context, async (tx) => {
    unitOfWork.discard()
    await claimVersion(tx, loginTransaction.uid, snapshot)
    const { state } = snapshot
    const { user, since } = state
    const hasEffects = done || effects || resolveState
    if (hasEffects && user && since !== undefined && (await isSignInOutdated(tx, user, since, true)))
      throw new TransitionRefused(staleTransition(state))
    await effects?.(tx)
    const resolvedState = (await resolveState?.(tx)) ?? to
    const proceeded = done
      ? await determineNextStep(tx, resolvedState, loginTransaction)
      : { to: resolvedState, problems }
    let nextState = proceeded.to
    if (done && nextState.step !== 'done') {
      const stepContext = { state: nextState, loginTransaction, view, version: snapshot.version + 1 }
      nextState = (await steps[nextState.step].prepare?.(tx, stepContext)) ?? nextState
    }
    await save(tx, loginTransaction.uid, nextState)
    if (nextState.step === 'done') await loginTransaction.complete(tx, browserSession, nextState)
    await unitOfWork.commit(tx)
    return { to: nextState, problems: proceeded.problems, redirect }
  })
}

const staleTransition = (state: LoginState): Transition => ({
  to: resetState(state, state.username),
  problems: [{ key: 'stale' }],
})

/** Also serves a second click on the same button, whose response the browser shows. */
function sendFinalResponse({ ctx, loginTransaction }: LoginRequest): void {
  if (loginTransaction.sendFinalResponse(ctx)) return
  ctx.status = 400
  errorPage(ctx, requestContext().runtime, {}, 'expired')
}
