/** First factors by email: a code to enter, or a link to open in the same browser. */
import { findUserWithEmail } from '../../../resources/credentials/mailbox.js'
import { usernameKeyOf } from '../../../resources/users/usernames.js'
import { sendEmailChallenge } from '../email-challenge.js'
import { emailSignUpDetails } from '../sign-up.js'
import type { FirstFactor } from './method.js'

/**
 * Sends a code or link to the address of the username. The page does not reveal whether the user exists. If the method
 * allows sign-up, an unknown address starts a new account.
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
