/** First factors by email: a code that the user enters, or a link that the user opens in the browser of the sign-in. */
import { findUserWithEmail } from '../../../resources/credentials/mailbox.js'
import { usernameKeyOf } from '../../../resources/users/usernames.js'
import { sendEmailChallenge } from '../email-challenge.js'
import { emailSignUpDetails } from '../sign-up.js'
import type { FirstFactor } from './method.js'

/**
 * Creates a first factor that sends a code or link to the email address of the user. The page does not reveal whether
 * the user exists. If the method and the rules for sign-up allow it, an unknown address starts a sign-up.
 */
const createEmailMethod =
  (step: 'email_code' | 'email_link'): FirstFactor =>
  async (request, { state, loginTransaction, view }, _form, method) => {
    const { context, runtime } = request
    const { username } = state
    if (username === '') return { to: state, problems: [{ key: 'username_missing' }] }
    const owner = await findUserWithEmail(context, runtime.issuer.id, usernameKeyOf(username))
    const newSignUp = !owner && method.signup ? emailSignUpDetails(request, loginTransaction, username) : undefined
    const email = owner?.email ?? newSignUp?.email ?? null
    const purpose = newSignUp ? 'sign_up' : 'sign_in'
    return sendEmailChallenge(
      request,
      { ...state, ...(newSignUp ? { signUp: newSignUp } : {}), step },
      { loginTransaction, view, purpose, email, enteredAddress: username, user: owner?.user ?? null },
    )
  }

export const emailOtp = createEmailMethod('email_code')
export const emailLink = createEmailMethod('email_link')
