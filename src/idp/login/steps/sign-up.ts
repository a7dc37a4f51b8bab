import { ApiError } from '../../../kernel/errors.js'
import { newId } from '../../../kernel/ids.js'
import { startOf } from '../../../kernel/text.js'
import { hashPassword } from '../../../platform/secrets.js'
import { findForMail } from '../../../resources/credentials/mail-owner.js'
import { checkPassword, passwordPolicyOf } from '../../../resources/credentials/password-policy.js'
import { usernameKeyOf } from '../../../resources/users/usernames.js'
import { type Form, field } from '../../request.js'
import { scope } from '../../scope.js'
import type { Journey } from '../journey.js'
import { sendSecret } from '../mail.js'
import { signUpPage } from '../pages/sign-up.js'
import type { Sentence } from '../pages/texts.js'
import {
  addressFault,
  makeAccount,
  maySignUp,
  type SignUpWay,
  signedUp,
  signUpWays,
  wantsApproval,
  wantsProof,
} from '../sign-up.js'
import { anew, draftOf, type LoginState, type SignUp } from '../state.js'
import { brokenRules } from './new-password.js'
import { type Move, Refused, type Step } from './step.js'

/** An account of one's own. Where the address must be proved first, the page does not tell whether it is known. */
export const signUp: Step = {
  show({ view, state, journey }, problems) {
    const email = journey.invitation?.email ?? state.username
    const { profile, reason } = state.signUp ?? {}
    const typed = { email, name: profile?.['name'] ?? '', reason: reason ?? '' }
    const asks = { ways: signUpWays(), asksReason: wantsApproval(), invited: journey.invitation !== undefined }
    return signUpPage(view, { ...typed, ...asks }, problems)
  },

  async answer({ state, journey, view }, form) {
    const named = field(form, 'method')
    const [main, ...others] = signUpWays()
    if (named === 'back' || main === undefined || !maySignUp(journey)) return { to: anew(state, state.username) }
    const way = others.find((one) => one === named) ?? main
    const email = startOf((journey.invitation?.email ?? field(form, 'username') ?? '').trim(), 254)
    const { details, problems } = await read(form, email, way)
    const to: LoginState = { ...state, username: email, signUp: draftOf(details) }
    const fault = addressFault(journey, email)
    if (fault) problems.unshift({ key: fault })
    if (problems.length > 0) return { to, problems }

    const { context, runtime } = scope()
    const taken = await findForMail(context, runtime.issuer.id, usernameKeyOf(email))
    if (!wantsProof(journey, way)) {
      if (taken) return { to, problems: [{ key: 'taken' }] }
      return way === 'passkey'
        ? { to: { ...to, step: 'sign_up_passkey', signUp: details } }
        : make(to, journey, details)
    }
    return sendSecret(
      { ...to, step: 'email_code', signUp: details },
      {
        journey,
        view,
        purpose: 'sign_up',
        email,
        address: email,
        user: null,
        ...(taken ? { instead: 'already_registered' as const } : {}),
      },
    )
  },
}

/** What the form says, and what is wrong with it. */
async function read(form: Form, email: string, way: SignUpWay): Promise<{ details: SignUp; problems: Sentence[] }> {
  const { context, runtime } = scope()
  const name = startOf((field(form, 'name') ?? '').trim(), 200)
  const reason = startOf((field(form, 'reason') ?? '').trim(), 1000) || null
  const profile: Record<string, string> = name === '' ? {} : { name }
  const details: SignUp = { email, passwordHash: null, profile, reason }
  if (way === 'passkey') return { details: { ...details, userId: newId('usr', context.now()) }, problems: [] }
  if (way === 'mail') return { details, problems: [] }
  const password = field(form, 'new_password') ?? ''
  if (email === '' || password === '') return { details, problems: [{ key: 'missing' }] }
  try {
    await checkPassword(
      context,
      passwordPolicyOf(runtime.issuer),
      password,
      { username: email, profile },
      'new_password',
    )
  } catch (error) {
    return { details, problems: brokenRules(error) }
  }
  return { details: { ...details, passwordHash: await hashPassword(password) }, problems: [] }
}

function make(state: LoginState, journey: Journey, details: SignUp): Move {
  const to = { ...state, signUp: details }
  return {
    to,
    done: true,
    becomes: async (inside) => {
      try {
        return signedUp(inside, to, await makeAccount(inside, journey, details, false), false)
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'conflict') throw error
        throw new Refused({ to: { ...state, step: 'sign_up' }, problems: [{ key: 'taken' }] })
      }
    },
  }
}
