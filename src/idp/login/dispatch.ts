/**
 * Signing in (security rule 22): which browser is this, where does it stand, and what does its answer move. A step
 * decides, this file moves: the answer is taken only by the browser that was asked, only for the form shown last.
 */
import type { Context as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import { seconds } from '../../kernel/time.js'
import { recordSignIn } from '../../resources/credentials/sign-in.js'
import { endSessions } from '../../resources/sessions/sessions.js'
import { readClient } from '../client.js'
import type { Interaction } from '../library.js'
import { spend } from '../limits.js'
import { cookieNames } from '../provider.js'
import { type Form, field } from '../request.js'
import { asUser, scope } from '../scope.js'
import { errorPage } from './pages/error.js'
import { sendPage, type View, viewOf } from './pages/layout.js'
import { closedPage } from './pages/sign-in.js'
import type { Sentence } from './pages/texts.js'
import {
  formToken,
  formVersion,
  type LoginState,
  move,
  StaleForm,
  type Standing,
  type StepName,
  standingOf,
} from './state.js'
import { newPassword } from './steps/new-password.js'
import { password } from './steps/password.js'
import type { Step } from './steps/step.js'

/** Every step by its name. */
const steps: Readonly<Record<StepName, Step>> = { password, new_password: newPassword }

/** GET and POST of `/interaction/{uid}`. */
export async function dispatchLogin(ctx: KoaContext, uid: string, form: Form | undefined): Promise<void> {
  const interaction = await interactionOf(ctx, uid)
  const { runtime } = scope()
  if (!interaction) {
    ctx.status = 400
    return errorPage(ctx, runtime, {}, 'expired')
  }
  // Also finds out whether the issuer still signs anybody in.
  const client = await readClient(String(interaction.params['client_id']))
  const standing = await standingOf(uid, textOf(interaction, 'login_hint'))
  const view = viewOf(ctx, runtime.issuer, {
    uiLocales: textOf(interaction, 'ui_locales'),
    clientName: client?.name,
    action: new URL(`${runtime.url}/interaction/${uid}`).pathname,
  })
  if (ctx.method !== 'POST') return show(ctx, view, uid, standing, [])
  await answer(ctx, view, interaction, standing, form ?? {})
}

/** The interaction of this browser: the signed cookie must name the one in the path. */
async function interactionOf(ctx: KoaContext, uid: string): Promise<Interaction | undefined> {
  if (ctx.cookies.get(cookieNames.interaction, { signed: true }) !== uid) return undefined
  return scope().runtime.provider.Interaction.find(uid)
}

const textOf = (interaction: Interaction, name: string): string | undefined => {
  const value = interaction.params[name]
  return typeof value === 'string' ? value : undefined
}

/** Is the first factor that this state asks for switched off at the issuer? */
const isClosed = ({ step }: LoginState): boolean =>
  step === 'password' && !scope().runtime.issuer.methods.includes('password')

async function show(
  ctx: KoaContext,
  view: View,
  uid: string,
  { state, version }: Standing,
  problems: readonly Sentence[],
): Promise<void> {
  if (state.step === 'done') return goOn(ctx, await interactionOf(ctx, uid))
  if (isClosed(state)) {
    sendPage(ctx, view, closedPage(view))
    return
  }
  const shown = { ...view, token: formToken(uid, version) }
  sendPage(ctx, shown, steps[state.step].show(shown, state, problems))
}

async function answer(
  ctx: KoaContext,
  view: View,
  interaction: Interaction,
  standing: Standing,
  form: Form,
): Promise<void> {
  const { context, writes } = scope()
  const { uid } = interaction
  const stale = async () => show(ctx, view, uid, await standingOf(uid, undefined), [{ key: 'stale' }])

  // 1. The form is one that we showed, and it is the one that we showed last.
  const version = formVersion(uid, field(form, 'csrf'))
  if (version !== standing.version || standing.state.step === 'done') return stale()
  if (isClosed(standing.state)) return show(ctx, view, uid, standing, [])

  // 2. Guessing has a price per address, too.
  try {
    await spend(ctx, context, 'login', context.request.ip ?? '')
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'too_many_requests') throw error
    await show(ctx, view, uid, standing, [{ key: 'too_many' }])
    for (const [name, value] of Object.entries(error.more.headers ?? {})) ctx.set(name, value)
    ctx.status = 429
    return
  }

  // 3. The step decides.
  const { to, effects, problems = [] } = await steps[standing.state.step].answer(standing.state, form)

  // 4. The move and all that it brings about, or nothing: of two answers to one form the first counts.
  writes.change((inside) => move(inside, uid, standing, to))
  if (effects) writes.change(effects)
  if (to.step === 'done') await finish(interaction, to)
  try {
    await writes.flush(context)
  } catch (error) {
    writes.forget()
    if (error instanceof StaleForm) return stale()
    throw error
  }
  if (to.step !== 'done') return show(ctx, view, uid, { state: to, version: standing.version + 1 }, problems)
  goOn(ctx, interaction)
}

/**
 * Back to the library, which answers the application. Also for whoever clicked twice: the browser shows the answer to
 * the second click.
 */
function goOn(ctx: KoaContext, interaction: Interaction | undefined): void {
  if (!interaction?.result) {
    ctx.status = 400
    errorPage(ctx, scope().runtime, {}, 'expired')
    return
  }
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Location', interaction.returnTo)
  ctx.body = ''
}

/** All steps are done: the library may go on, with who signed in and how. */
async function finish(interaction: Interaction, { user, amr, methods }: LoginState): Promise<void> {
  const { context, runtime, writes } = scope()
  const person = user!
  const { id: issuerId, accountId } = runtime.issuer
  const before = interaction.session
  if (before?.uid && before.accountId !== person.id) {
    // Somebody else was signed in with this browser: that ends here, so that nobody acts for the other.
    const { uid } = before
    writes.change(async (inside) => {
      await endSessions(
        inside,
        { accountId, issuerId },
        { browserUid: uid },
        { reason: 'user_logout', browserToo: true },
      )
      await inside.db.idpArtifact.deleteMany({ where: { issuerId, kind: 'Session', uid } })
    })
    delete interaction.session
  }
  const ts = seconds(context.now())
  const acr = acrOf(textOf(interaction, 'acr_values'), methods)
  interaction.result = {
    login: { accountId: person.id, acr, amr: [...new Set(amr)], ts, remember: true },
    select_account: {},
  }
  await interaction.persist()
  writes.change((inside) => recordSignIn(asUser(inside, person), person, String(interaction.params['client_id']), amr))
}

/** The first of the requested contexts that the methods used fulfil; without a wish the general one (spec 5.3). */
function acrOf(requested: string | undefined, methods: readonly string[]): string {
  const fulfilled = ['urn:svc:assurance:loa1', ...methods.map((method) => `urn:svc:method:${method}`)]
  return (requested ?? '').split(' ').find((acr) => fulfilled.includes(acr)) ?? fulfilled[0]!
}
