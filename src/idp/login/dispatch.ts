/**
 * Signing in (security rule 22): which browser is this, where does it stand, and what does its answer move. A step
 * decides, flow.ts says what comes next, this file moves: the answer is taken only by the browser that was asked, only
 * for the form shown last.
 */

import type { Context as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import { networkOf } from '../../kernel/network.js'
import { transaction } from '../../platform/database.js'
import type { BrowserSession, Interaction, OpenIdContext } from '../library.js'
import { spend } from '../limits.js'
import { isOutdated } from '../proof.js'
import { cookieNames } from '../provider.js'
import { type Form, field } from '../request.js'
import { scope } from '../scope.js'
import { proceed } from './flow.js'
import { invitationJourney } from './invitation.js'
import { authorizationJourney, DeadEnd, type Journey } from './journey.js'
import { comeBack } from './methods/upstream.js'
import { errorPage } from './pages/error.js'
import { sendPage, type View, viewOf } from './pages/layout.js'
import type { Sentence } from './pages/texts.js'
import {
  anew,
  claim,
  formToken,
  formVersion,
  keep,
  type LoginState,
  StaleForm,
  type Standing,
  standingOf,
} from './state.js'
import { askConsent } from './steps/consent.js'
import { steps } from './steps/index.js'
import { type Move, Refused } from './steps/step.js'

/** One answer of a browser on its way. */
interface Visit {
  ctx: KoaContext
  journey: Journey
  standing: Standing
  view: View
}

/** Who is signed in with the browser while it moves. */
interface Browser {
  signedIn: BrowserSession
}

/** Where a move led, and what to tell the person there. */
interface Outcome {
  to: LoginState
  problems: readonly Sentence[]
  redirect?: string | undefined
}

/** GET and POST of `/interaction/{uid}`. */
export async function dispatchLogin(ctx: KoaContext, uid: string, form: Form | undefined): Promise<void> {
  const { runtime } = scope()
  const interaction = await interactionOf(ctx, uid)
  if (interaction?.prompt.name === 'consent') return askConsent(ctx, interaction, form ?? {})
  const journey = await journeyOf(ctx, uid, interaction)
  if (!journey) {
    ctx.status = 400
    return errorPage(ctx, runtime, {}, 'expired')
  }
  const found = await standingOf(uid)
  const isKnown = !found || found.state.step === 'done' || Object.hasOwn(steps, found.state.step)
  const standing = isKnown ? (found ?? { state: await journey.begin(), version: 0 }) : await mended(journey, found)
  const view = viewOf(ctx, runtime.issuer, {
    uiLocales: journey.param('ui_locales'),
    clientName: journey.clientName,
    action: new URL(`${runtime.url}/interaction/${uid}`).pathname,
  })
  const visit = { ctx, journey, standing, view }
  if (!isKnown) return show(visit, [{ key: 'stale' }])
  if (ctx.method === 'POST') return answer(visit, form ?? {})
  const handle = field({ ...ctx.query }, 'upstream')
  await (handle === undefined ? show(visit, []) : answerFromUpstream(visit, handle))
}

/** A step of another release has no meaning here: the journey begins again, and forms shown before count no more. */
async function mended(journey: Journey, found: Standing): Promise<Standing> {
  const { context } = scope()
  const state: LoginState = journey.invitation
    ? { ...anew(found.state, journey.invitation.email), step: 'invitation' }
    : await journey.begin()
  try {
    await transaction(context, (inside) => claim(inside, journey.uid, { ...found, state }))
    return { state, version: found.version + 1 }
  } catch (error) {
    if (!(error instanceof StaleForm)) throw error
    return (await standingOf(journey.uid)) ?? { state, version: 0 }
  }
}

const isOfBrowser = (ctx: KoaContext, uid: string): boolean =>
  ctx.cookies.get(cookieNames.interaction, { signed: true }) === uid

const interactionOf = async (ctx: KoaContext, uid: string): Promise<Interaction | undefined> =>
  isOfBrowser(ctx, uid) ? scope().provider.Interaction.find(uid) : undefined

/** The journey of this browser: the signed cookie must name the one in the path. */
async function journeyOf(ctx: KoaContext, uid: string, known?: Interaction): Promise<Journey | undefined> {
  if (!isOfBrowser(ctx, uid)) return undefined
  const interaction = known ?? (await interactionOf(ctx, uid))
  if (interaction) return authorizationJourney(ctx, interaction)
  const standing = await standingOf(uid)
  return standing?.state.invitation && invitationJourney(uid, standing, standing.state.invitation)
}

async function show(visit: Visit, problems: readonly Sentence[]): Promise<void> {
  const { ctx, journey, standing, view } = visit
  const { state, version } = standing
  if (state.step === 'done') return leave(visit)
  const shown = { ...view, token: formToken(journey.uid, version) }
  sendPage(
    ctx,
    shown,
    await steps[state.step].show({ state, journey, view: shown, version }, problems, { ...ctx.query }),
  )
}

async function answer(visit: Visit, form: Form): Promise<void> {
  const { journey, standing, view } = visit

  // 1. The form is one that we showed, and it is the one that we showed last.
  const { state, version } = standing
  if (formVersion(journey.uid, field(form, 'csrf')) !== version || state.step === 'done') return stale(visit)

  // 2. Guessing has a price per address, too.
  if (await tooMany(visit)) return

  // 3. The step decides.
  const decided = await steps[state.step].answer({ state, journey, view, version }, form)
  await move(visit, decided)
}

/** Somebody is back from another provider: with the cookie and the handle together that is an answer as well. */
async function answerFromUpstream(visit: Visit, handle: string): Promise<void> {
  const { journey, standing, view } = visit
  const { state, version } = standing
  if (state.step !== 'sign_in') return show(visit, [])
  if (await tooMany(visit)) return
  const decided = await comeBack({ state, journey, view, version }, handle)
  await (decided ? move(visit, decided) : stale(visit))
}

async function stale(visit: Visit): Promise<void> {
  const { ctx, journey, standing } = visit
  const now = (await journeyOf(ctx, journey.uid)) ?? journey
  return show({ ...visit, journey: now, standing: (await standingOf(now.uid)) ?? standing }, [{ key: 'stale' }])
}

/** Counts an answer; where it is one too many, says so. */
async function tooMany(visit: Visit): Promise<boolean> {
  const { ctx } = visit
  const { context } = scope()
  try {
    await spend(ctx, context, 'login', networkOf(context.request.ip))
    return false
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'too_many_requests') throw error
    await show(visit, [{ key: 'too_many' }])
    for (const [name, value] of Object.entries(error.more.headers ?? {})) ctx.set(name, value)
    ctx.status = 429
    return true
  }
}

/** The move and all that it brings about, or nothing: of two answers to one form the first counts. */
async function move(visit: Visit, decided: Move): Promise<void> {
  const { ctx, standing } = visit
  // Asked before the transaction: inside it would take a second connection.
  const signedIn = await scope().provider.Session.get(ctx as unknown as OpenIdContext)
  try {
    const { to, problems, redirect } = await carryOut({ ...visit, signedIn }, decided)
    if (redirect !== undefined) return sendAway(ctx, redirect)
    await show({ ...visit, standing: { state: to, version: standing.version + 1 } }, problems)
  } catch (error) {
    scope().writes.forget()
    if (error instanceof StaleForm) return stale(visit)
    if (error instanceof DeadEnd) return error.show(ctx)
    throw error
  }
}

function sendAway(ctx: KoaContext, address: string): void {
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Referrer-Policy', 'no-referrer')
  ctx.set('Location', address)
  ctx.body = ''
}

/** What takes the place of a refused move may be refused itself, a few times. */
async function carryOut(visit: Visit & Browser, decided: Move, tries = 3): Promise<Outcome> {
  try {
    return await write(visit, decided)
  } catch (error) {
    if (!(error instanceof Refused) || tries === 0) throw error
    return await carryOut(visit, error.instead, tries - 1)
  } finally {
    await decided.ended?.()
  }
}

/**
 * Writes a move. Where the step is done, the next one is looked for with the effects in place, and prepared; all of it
 * is one transaction. A move that the transaction refuses gives way to the one that says why.
 */
async function write(
  visit: Visit & Browser,
  { to, done, effects, becomes, redirect, problems = [] }: Move,
): Promise<Outcome> {
  const { signedIn, journey, standing, view } = visit
  const { context, writes } = scope()
  return transaction(context, async (inside) => {
    writes.forget()
    await claim(inside, journey.uid, standing)
    const { state } = standing
    const { user, since } = state
    const moves = done || effects || becomes
    if (moves && user && since !== undefined && (await isOutdated(inside, user, since, true)))
      throw new Refused(outdated(state))
    await effects?.(inside)
    const made = (await becomes?.(inside)) ?? to
    const then = done ? await proceed(inside, made, journey) : { to: made, problems }
    let next = then.to
    if (done && next.step !== 'done') {
      const asked = { state: next, journey, view, version: standing.version + 1 }
      next = (await steps[next.step].enter?.(inside, asked)) ?? next
    }
    await keep(inside, journey.uid, next)
    if (next.step === 'done') await journey.finish(inside, signedIn, next)
    await writes.flush(inside)
    return { to: next, problems: then.problems, redirect }
  })
}

const outdated = (state: LoginState): Move => ({ to: anew(state, state.username), problems: [{ key: 'stale' }] })

/** Also for whoever clicked twice: the browser shows the answer to the second click. */
function leave({ ctx, journey }: Visit): void {
  if (journey.leave(ctx)) return
  ctx.status = 400
  errorPage(ctx, scope().runtime, {}, 'expired')
}
