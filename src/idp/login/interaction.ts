/**
 * The interaction endpoint (docs/contract.md#login-transactions): identifies the browser, loads the state of its login
 * transaction and handles the submitted form. The step of the form returns a transition. If the step is done,
 * next-step.ts determines the next step. A form is accepted only from the browser to which it was shown, and only if it
 * is the latest form. The consent form has no login transaction (steps/consent.ts).
 */

import type { Context as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import { networkOf } from '../../kernel/network.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { cookieNames } from '../provider.js'
import type { BrowserSession, Interaction, OpenIdContext } from '../provider-types.js'
import { consumeRateLimit } from '../rate-limits.js'
import type { RequestContext } from '../request-context.js'
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
import { maySignUp } from './sign-up.js'
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

/** The state after a transition, and what to send: a redirect, or the page of the step with messages. */
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
  const interaction = await findInteraction(request, ctx, uid)
  if (interaction?.prompt.name === 'consent') return handleConsent(request, ctx, interaction, form ?? {})
  const loginTransaction = await findLoginTransaction(request, ctx, uid, interaction)
  if (!loginTransaction) {
    ctx.status = 400
    return errorPage(ctx, runtime, {}, 'expired')
  }
  const savedSnapshot = await snapshotOf(request, uid)
  const isKnownStep =
    !savedSnapshot || savedSnapshot.state.step === 'done' || Object.hasOwn(steps, savedSnapshot.state.step)
  const snapshot = isKnownStep
    ? (savedSnapshot ?? { state: await createInitialState(request, loginTransaction), version: 0 })
    : await restartAfterUnknownStep(request, loginTransaction, savedSnapshot)
  const view = createView(ctx, runtime.issuer, {
    uiLocales: loginTransaction.param('ui_locales'),
    clientName: loginTransaction.clientName,
    action: new URL(`${runtime.url}/interaction/${uid}`).pathname,
  })
  const loginRequest = { ctx, loginTransaction, snapshot, view }
  if (!isKnownStep) return renderStep(request, loginRequest, [{ key: 'stale' }])
  if (ctx.method === 'POST') return handleSubmission(request, loginRequest, form ?? {})
  const handle = formField({ ...ctx.query }, 'upstream')
  await (handle === undefined
    ? renderStep(request, loginRequest, [])
    : handleUpstreamReturn(request, loginRequest, handle))
}

/** Returns the state to begin with. If users cannot sign up, `prompt=create` begins at sign-in. */
async function createInitialState(request: RequestContext, loginTransaction: LoginTransaction): Promise<LoginState> {
  const state = await loginTransaction.createInitialState()
  return state.step === 'sign_up' && !maySignUp(request, loginTransaction) ? { ...state, step: 'sign_in' } : state
}

/**
 * Restarts a login transaction whose step does not exist in this version of Gatehouse. Its older forms become invalid.
 */
async function restartAfterUnknownStep(
  request: RequestContext,
  loginTransaction: LoginTransaction,
  savedSnapshot: LoginSnapshot,
): Promise<LoginSnapshot> {
  const state: LoginState = loginTransaction.invitation
    ? { ...resetState(savedSnapshot.state, loginTransaction.invitation.email), step: 'invitation' }
    : await createInitialState(request, loginTransaction)
  try {
    await transaction(request.context, (tx) =>
      claimVersion(request, tx, loginTransaction.uid, { ...savedSnapshot, state }),
    )
    return { state, version: savedSnapshot.version + 1 }
  } catch (error) {
    if (!(error instanceof StaleForm)) throw error
    return (await snapshotOf(request, loginTransaction.uid)) ?? { state, version: 0 }
  }
}

const hasInteractionCookie = (ctx: KoaContext, uid: string): boolean =>
  ctx.cookies.get(cookieNames.interaction, { signed: true }) === uid

const findInteraction = async (
  { provider }: RequestContext,
  ctx: KoaContext,
  uid: string,
): Promise<Interaction | undefined> => (hasInteractionCookie(ctx, uid) ? provider.Interaction.find(uid) : undefined)

/**
 * Finds the login transaction with a `uid`; undefined if there is none, it has expired, or the signed interaction
 * cookie of the browser does not contain the `uid`.
 */
async function findLoginTransaction(
  request: RequestContext,
  ctx: KoaContext,
  uid: string,
  knownInteraction?: Interaction,
): Promise<LoginTransaction | undefined> {
  if (!hasInteractionCookie(ctx, uid)) return undefined
  const interaction = knownInteraction ?? (await findInteraction(request, ctx, uid))
  if (interaction) return createAuthorizationTransaction(request, ctx, interaction)
  const snapshot = await snapshotOf(request, uid)
  return snapshot?.state.invitation && createInvitationTransaction(request, uid, snapshot, snapshot.state.invitation)
}

async function renderStep(
  request: RequestContext,
  loginRequest: LoginRequest,
  problems: readonly PageMessage[],
): Promise<void> {
  const { ctx, loginTransaction, snapshot, view } = loginRequest
  const { state, version } = snapshot
  if (state.step === 'done') return sendFinalResponse(request, loginRequest)
  const viewWithToken = { ...view, token: formToken(request, loginTransaction.uid, version) }
  sendPage(
    ctx,
    viewWithToken,
    await steps[state.step].render(request, { state, loginTransaction, view: viewWithToken, version }, problems, {
      ...ctx.query,
    }),
  )
}

async function handleSubmission(request: RequestContext, loginRequest: LoginRequest, form: Form): Promise<void> {
  const { loginTransaction, snapshot, view } = loginRequest

  // 1. The form must be the latest form of this login transaction.
  const { state, version } = snapshot
  if (formVersion(request, loginTransaction.uid, formField(form, 'csrf')) !== version || state.step === 'done')
    return renderStaleForm(request, loginRequest)

  // 2. Submissions are rate-limited by network, in addition to the limits of each user.
  if (await rejectIfRateLimited(request, loginRequest)) return

  // 3. The step returns the transition.
  const transition = await steps[state.step].handleSubmission(request, { state, loginTransaction, view, version }, form)
  await applyTransition(request, loginRequest, transition)
}

/**
 * Handles the return of the browser from an upstream provider. The interaction cookie and the one-time handle replace a
 * form token, so the request is processed like a submitted form.
 */
async function handleUpstreamReturn(
  request: RequestContext,
  loginRequest: LoginRequest,
  handle: string,
): Promise<void> {
  const { loginTransaction, snapshot, view } = loginRequest
  const { state, version } = snapshot
  if (state.step !== 'sign_in') return renderStep(request, loginRequest, [])
  if (await rejectIfRateLimited(request, loginRequest)) return
  const transition = await resumeUpstreamSignIn(request, { state, loginTransaction, view, version }, handle)
  await (transition ? applyTransition(request, loginRequest, transition) : renderStaleForm(request, loginRequest))
}

async function renderStaleForm(request: RequestContext, loginRequest: LoginRequest): Promise<void> {
  const { ctx, loginTransaction, snapshot } = loginRequest
  const currentTransaction = (await findLoginTransaction(request, ctx, loginTransaction.uid)) ?? loginTransaction
  return renderStep(
    request,
    {
      ...loginRequest,
      loginTransaction: currentTransaction,
      snapshot: (await snapshotOf(request, currentTransaction.uid)) ?? snapshot,
    },
    [{ key: 'stale' }],
  )
}

/** Counts the request against the rate limit `login`. If it is exceeded, shows the step again and returns true. */
async function rejectIfRateLimited(request: RequestContext, loginRequest: LoginRequest): Promise<boolean> {
  const { ctx } = loginRequest
  try {
    await consumeRateLimit(request, ctx, 'login', networkOf(request.context.request.ip))
    return false
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'too_many_requests') throw error
    await renderStep(request, loginRequest, [{ key: 'too_many' }])
    for (const [name, value] of Object.entries(error.options.headers ?? {})) ctx.set(name, value)
    ctx.status = 429
    return true
  }
}

/**
 * Applies a transition with all of its database writes, or its replacement if it is refused, and sends the response. Of
 * several submissions of a form, only one is applied.
 */
async function applyTransition(
  request: RequestContext,
  loginRequest: LoginRequest,
  transition: Transition,
): Promise<void> {
  const { ctx, snapshot } = loginRequest
  // Read before the transaction starts, because this read inside of the transaction would need a second connection.
  const browserSession = await request.provider.Session.get(ctx as unknown as OpenIdContext)
  try {
    const { to, problems, redirect } = await runTransition(request, { ...loginRequest, browserSession }, transition)
    if (redirect !== undefined) return redirectTo(ctx, redirect)
    await renderStep(request, { ...loginRequest, snapshot: { state: to, version: snapshot.version + 1 } }, problems)
  } catch (error) {
    request.unitOfWork.discard()
    if (error instanceof StaleForm) return renderStaleForm(request, loginRequest)
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
  request: RequestContext,
  loginRequest: LoginRequest & WithBrowserSession,
  transition: Transition,
  attemptsLeft = 3,
): Promise<TransitionResult> {
  try {
    return await commitTransition(request, loginRequest, transition)
  } catch (error) {
    if (!(error instanceof TransitionRefused) || attemptsLeft === 0) throw error
    return await runTransition(request, loginRequest, error.replacement, attemptsLeft - 1)
  } finally {
    await transition.onSettled?.()
  }
}

/**
 * Commits a transition in one transaction: applies its effects, and if the step is done, determines and prepares the
 * next step.
 * @throws TransitionRefused if the transition cannot be applied, with the transition to apply instead; StaleForm if the
 *   form is not the latest one; LoginAbortedError
 */
async function commitTransition(
  request: RequestContext,
  loginRequest: LoginRequest & WithBrowserSession,
  { to, done, effects, resolveState, redirect, problems = [] }: Transition,
): Promise<TransitionResult> {
  const { browserSession, loginTransaction, snapshot, view } = loginRequest
  const { context, unitOfWork } = request
  return transaction(context, async (tx) => {
    unitOfWork.discard()
    await claimVersion(request, tx, loginTransaction.uid, snapshot)
    const { state } = snapshot
    const { user, since } = state
    const hasEffects = done || effects || resolveState
    if (hasEffects && user && since !== undefined && (await isSignInOutdated(tx, user, since, true)))
      throw new TransitionRefused(staleTransition(state))
    await effects?.(tx)
    const resolvedState = (await resolveState?.(tx)) ?? to
    const proceeded = done
      ? await determineNextStep(request, tx, resolvedState, loginTransaction)
      : { to: resolvedState, problems }
    let nextState = proceeded.to
    if (done && nextState.step !== 'done') {
      const stepContext = { state: nextState, loginTransaction, view, version: snapshot.version + 1 }
      nextState = (await steps[nextState.step].prepare?.(request, tx, stepContext)) ?? nextState
    }
    await save(request, tx, loginTransaction.uid, nextState)
    if (nextState.step === 'done') await loginTransaction.complete(tx, browserSession, nextState)
    await unitOfWork.commit(tx)
    return { to: nextState, problems: proceeded.problems, redirect }
  })
}

const staleTransition = (state: LoginState): Transition => ({
  to: resetState(state, state.username),
  problems: [{ key: 'stale' }],
})

/**
 * Sends the response after the last step, also to a second submission of the last form (a double click). Sends the
 * error page if the last step is not completed.
 */
function sendFinalResponse({ runtime }: RequestContext, { ctx, loginTransaction }: LoginRequest): void {
  if (loginTransaction.sendFinalResponse(ctx)) return
  ctx.status = 400
  errorPage(ctx, runtime, {}, 'expired')
}
