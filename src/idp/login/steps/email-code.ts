import { ApiError } from '../../../kernel/errors.js'
import { externalCall } from '../../../platform/postgres/transaction.js'
import { lockMailbox, markEmailVerified } from '../../../resources/credentials/mailbox.js'
import { recordCredentialVerification } from '../../../resources/credentials/sign-in.js'
import { type RequestContext, withUserActor } from '../../request-context.js'
import { formField } from '../../request-input.js'
import {
  consumeEmailRateLimit,
  createEmailChallenge,
  sendEmailChallenge,
  verifyEmailChallenge,
} from '../email-challenge.js'
import { type EmailChallenge, type LoginState, type MailPurpose, resetState } from '../login-state.js'
import type { LoginTransaction } from '../login-transaction.js'
import { signInMethodsOf } from '../methods/index.js'
import { codePage, linkPage } from '../pages/mail.js'
import { createAccount, maySignUp, stateAfterSignUp } from '../sign-up.js'
import { type Step, type StepContext, type Transition, TransitionRefused } from './step.js'

/** Asks for a code from an email. What the code proves depends on the purpose of the email. */
export const emailCode: Step = {
  /**
   * Runs only for the purpose `verify`: the issuer requires that the user's email address is verified, and it is not.
   */
  async prepare(request, tx, { state, loginTransaction, view }) {
    const user = state.user!
    const email = (await lockMailbox(tx, user))?.email ?? null
    const challengeRequest = {
      loginTransaction,
      view,
      purpose: 'verify',
      email,
      enteredAddress: user.username,
      user,
    } as const
    if (!(await externalCall(tx, 'email rate limit', () => consumeEmailRateLimit(request, challengeRequest)))) {
      const { emailChallenge } = createEmailChallenge(request, state, { ...challengeRequest, email: null })
      return { ...state, emailChallenge: { ...emailChallenge, email: email ?? emailChallenge.email, expiresAt: 0 } }
    }
    const { emailChallenge, effects } = createEmailChallenge(request, state, challengeRequest)
    await effects(tx)
    return { ...state, emailChallenge }
  },

  render: (_, { view, state }, problems) =>
    codePage(
      view,
      displayedAddress(state),
      wasRateLimited(state) ? [...problems, { key: 'too_many_mails' }] : problems,
    ),
  handleSubmission: (request, stepContext, form) =>
    verifyAnswer(request, stepContext, formField(form, 'code') ?? '', formField(form, 'method')),
}

/**
 * Waits until the user opens the link of an email in the browser that started the sign-in. The page then asks for
 * confirmation, because mail scanners open links, too.
 */
export const emailLink: Step = {
  render: (_, { view, state }, problems, query) =>
    linkPage(view, displayedAddress(state), formField(query, 'link'), problems),
  handleSubmission: (request, stepContext, form) =>
    verifyAnswer(request, stepContext, formField(form, 'link') ?? '', formField(form, 'method')),
}

/** Checks whether no code was sent for the purpose `verify`, because the rate limit was exceeded. */
const wasRateLimited = ({ emailChallenge }: LoginState): boolean =>
  emailChallenge?.purpose === 'verify' && emailChallenge.isDummy

/**
 * Returns the address that the page shows. To a user who has not signed in, the page shows the entered username,
 * because it must not reveal the address of that username.
 */
const displayedAddress = ({ emailChallenge, username }: LoginState): string =>
  emailChallenge!.purpose === 'verify' ? emailChallenge!.email : username

async function verifyAnswer(
  request: RequestContext,
  stepContext: StepContext,
  secret: string,
  action: string | undefined,
): Promise<Transition> {
  const { state, loginTransaction } = stepContext
  const emailChallenge = state.emailChallenge!
  if (action === 'back') return { to: resetState(state, state.username) }
  if (!isStillOffered(request, stepContext, emailChallenge)) return staleTransition(state)
  if (action === 'again') return resendChallenge(request, stepContext, emailChallenge)
  if (secret === '') return { to: state, problems: [{ key: 'missing' }] }
  const decision = await verifyEmailChallenge(request, loginTransaction.uid, emailChallenge, secret)
  if (decision.outcome === 'correct') return applyVerifiedChallenge(request, stepContext, emailChallenge)
  const key = decision.outcome === 'expired' ? 'code_expired' : 'code_wrong'
  return { to: { ...state, emailChallenge: decision.emailChallenge }, problems: [{ key }] }
}

/**
 * Sends a new code or link to the same address, which replaces the previous one. If the previous one was not sent
 * because the address may not get one, the new one is not sent either. If the rate limit is exceeded, the previous one
 * stays.
 */
async function resendChallenge(
  request: RequestContext,
  { state, loginTransaction, view }: StepContext,
  emailChallenge: EmailChallenge,
): Promise<Transition> {
  const { purpose, user } = emailChallenge
  const email = emailChallenge.isDummy && !wasRateLimited(state) ? null : emailChallenge.email
  const enteredAddress = user?.username ?? state.username
  const transition = await sendEmailChallenge(request, state, {
    loginTransaction,
    view,
    purpose,
    email,
    enteredAddress,
    user,
  })
  return transition.problems ? { ...transition, to: state } : transition
}

function applyVerifiedChallenge(
  request: RequestContext,
  { state, loginTransaction }: StepContext,
  emailChallenge: EmailChallenge,
): Transition {
  const { emailChallenge: _, ...rest } = state
  const { purpose, email } = emailChallenge
  if (purpose === 'sign_up') return completeSignUp(request, rest, loginTransaction, email)
  const user = emailChallenge.user!
  const method = state.step === 'email_link' ? 'email_link' : 'email_otp'
  return {
    to: rest,
    done: true,
    resolveState: async (tx) => {
      const userContext = withUserActor(tx, user)
      const mailbox = await lockMailbox(userContext, user)
      if (mailbox?.email !== email) throw new TransitionRefused(addressChangedTransition(rest, purpose))
      await recordCredentialVerification(userContext, user, method)
      if (purpose === 'verify') {
        await markEmailVerified(userContext, user)
        return rest
      }
      // The password of an unclaimed account may be that of an attacker, so the owner of the mailbox replaces it
      // (docs/decisions/0048).
      const replacesPassword =
        mailbox.unclaimed && mailbox.ownPassword && signInMethodsOf(request, 'password').length > 0
      const mustChangePassword = purpose === 'reset' || replacesPassword
      const provedFactors = { provenEmail: email, amr: [...state.amr, 'otp'], methods: [...state.methods, method] }
      return { ...rest, ...provedFactors, user, mustChangePassword }
    },
  }
}

/** Returns the transition for a user whose address has changed: a code to the previous address proves nothing. */
const addressChangedTransition = (state: LoginState, purpose: MailPurpose): Transition =>
  purpose === 'verify' ? { to: state, done: true } : staleTransition(state)

const staleTransition = (state: LoginState): Transition => ({
  to: resetState(state, state.username),
  problems: [{ key: 'stale' }],
})

/**
 * Checks whether the method is still enabled, because the settings may have changed since the email was sent. The
 * purpose `verify` needs no method.
 */
function isStillOffered(
  request: RequestContext,
  { state, loginTransaction }: StepContext,
  { purpose }: EmailChallenge,
): boolean {
  if (purpose === 'verify') return true
  if (purpose === 'sign_up') return maySignUp(request, loginTransaction)
  const kind = purpose === 'reset' ? 'password' : state.step === 'email_link' ? 'email_link' : 'email_otp'
  return signInMethodsOf(request, kind).length > 0
}

/** Creates the account of a verified address, or continues with `sign_up_passkey`, which creates the account. */
function completeSignUp(
  request: RequestContext,
  state: LoginState,
  loginTransaction: LoginTransaction,
  email: string,
): Transition {
  const details = { ...state.signUp!, email, emailProved: true }
  if (details.userId !== undefined) return { to: { ...state, step: 'sign_up_passkey', signUp: details } }
  return {
    to: state,
    done: true,
    resolveState: async (tx) => {
      try {
        return stateAfterSignUp(tx, state, await createAccount(request, tx, loginTransaction, details, true), true)
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'conflict') throw error
        throw new TransitionRefused({ to: resetState(state, email), problems: [{ key: 'taken' }] })
      }
    },
  }
}
