import { ApiError } from '../../../kernel/errors.js'
import { newId } from '../../../kernel/ids.js'
import { truncateText } from '../../../kernel/text.js'
import { hashPassword } from '../../../platform/crypto/secrets.js'
import { findUserWithEmail } from '../../../resources/credentials/mailbox.js'
import { checkNewPassword, passwordPolicyOf } from '../../../resources/credentials/password-policy.js'
import { usernameKeyOf } from '../../../resources/users/usernames.js'
import type { RequestContext } from '../../request-context.js'
import { type Form, formField } from '../../request-input.js'
import { sendEmailChallenge } from '../email-challenge.js'
import { type LoginState, resetState, type SignUpDetails, withoutPassword } from '../login-state.js'
import type { LoginTransaction } from '../login-transaction.js'
import { signUpPage } from '../pages/sign-up.js'
import type { PageMessage } from '../pages/texts.js'
import {
  addressError,
  createAccount,
  enabledSignUpMethods,
  isApprovalRequired,
  isEmailProofRequired,
  maySignUp,
  type SignUpMethod,
  stateAfterSignUp,
} from '../sign-up.js'
import { violatedRules } from './new-password.js'
import { type Step, type Transition, TransitionRefused } from './step.js'

/**
 * Creates an account. If the address must be verified first, the page does not reveal whether the address has an
 * account.
 */
export const signUp: Step = {
  render(request, { view, state, loginTransaction }, problems) {
    const email = loginTransaction.invitation?.email ?? state.username
    const { profile, reason } = state.signUp ?? {}
    const typed = { email, name: profile?.['name'] ?? '', reason: reason ?? '' }
    const options = {
      methods: enabledSignUpMethods(request),
      asksReason: isApprovalRequired(request),
      isInvited: loginTransaction.invitation !== undefined,
    }
    return signUpPage(view, { ...typed, ...options }, problems)
  },

  async handleSubmission(request, { state, loginTransaction, view }, form) {
    const action = formField(form, 'method')
    const [primaryMethod, ...otherMethods] = enabledSignUpMethods(request)
    if (action === 'back' || primaryMethod === undefined || !maySignUp(request, loginTransaction))
      return { to: resetState(state, state.username) }
    const method = otherMethods.find((one) => one === action) ?? primaryMethod
    const email = truncateText((loginTransaction.invitation?.email ?? formField(form, 'username') ?? '').trim(), 254)
    const { details, problems } = await readForm(request, form, email, method)
    const to: LoginState = { ...state, username: email, signUp: withoutPassword(details) }
    const addressErrorKey = addressError(request, loginTransaction, email)
    if (addressErrorKey) problems.unshift({ key: addressErrorKey })
    if (problems.length > 0) return { to, problems }

    const { context, runtime } = request
    const existingUser = await findUserWithEmail(context, runtime.issuer.id, usernameKeyOf(email))
    if (!isEmailProofRequired(request, loginTransaction, method)) {
      if (existingUser) return { to, problems: [{ key: 'taken' }] }
      return method === 'passkey'
        ? { to: { ...to, step: 'sign_up_passkey', signUp: details } }
        : createAccountTransition(request, to, loginTransaction, details)
    }
    return sendEmailChallenge(
      request,
      { ...to, step: 'email_code', signUp: details },
      {
        loginTransaction,
        view,
        purpose: 'sign_up',
        email,
        enteredAddress: email,
        user: null,
        ...(existingUser ? { replacementMessage: 'already_registered' as const } : {}),
      },
    )
  },
}

/** Reads the form, and returns its data and the violated rules. */
async function readForm(
  { context, runtime }: RequestContext,
  form: Form,
  email: string,
  method: SignUpMethod,
): Promise<{ details: SignUpDetails; problems: PageMessage[] }> {
  const name = truncateText((formField(form, 'name') ?? '').trim(), 200)
  const reason = truncateText((formField(form, 'reason') ?? '').trim(), 1000) || null
  const profile: Record<string, string> = name === '' ? {} : { name }
  const details: SignUpDetails = { email, passwordHash: null, profile, reason }
  if (method === 'passkey') return { details: { ...details, userId: newId('usr', context.now()) }, problems: [] }
  if (method === 'mail') return { details, problems: [] }
  const password = formField(form, 'new_password') ?? ''
  if (email === '' || password === '') return { details, problems: [{ key: 'missing' }] }
  try {
    await checkNewPassword(
      context,
      passwordPolicyOf(runtime.issuer),
      password,
      { username: email, profile },
      'new_password',
    )
  } catch (error) {
    return { details, problems: violatedRules(error) }
  }
  return { details: { ...details, passwordHash: await hashPassword(password) }, problems: [] }
}

function createAccountTransition(
  request: RequestContext,
  state: LoginState,
  loginTransaction: LoginTransaction,
  details: SignUpDetails,
): Transition {
  const to = { ...state, signUp: details }
  return {
    to,
    done: true,
    resolveState: async (tx) => {
      try {
        return stateAfterSignUp(tx, to, await createAccount(request, tx, loginTransaction, details, false), false)
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'conflict') throw error
        throw new TransitionRefused({ to: { ...state, step: 'sign_up' }, problems: [{ key: 'taken' }] })
      }
    },
  }
}
