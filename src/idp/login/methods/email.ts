/** Signing in by mail: a code to type, or a link to open in the same browser. */
import { findForMail } from '../../../resources/credentials/mail-owner.js'
import { usernameKeyOf } from '../../../resources/users/usernames.js'
import { scope } from '../../scope.js'
import { sendSecret } from '../mail.js'
import { mailSignUp } from '../sign-up.js'
import type { FirstFactor } from './method.js'

/**
 * Sends a code or link to the address of this username. Whether there is such a user, the page does not tell; where
 * the method lets people sign up, an address that nobody has begins a new account.
 */
const byMail =
  (step: 'email_code' | 'email_link'): FirstFactor =>
  async ({ state, journey, view }, _form, method) => {
    const { context, runtime } = scope()
    const { username } = state
    if (username === '') return { to: state, problems: [{ key: 'username_missing' }] }
    const owner = await findForMail(context, runtime.issuer.id, usernameKeyOf(username))
    const fresh = !owner && method.signup ? mailSignUp(journey, username) : undefined
    const email = owner?.email ?? fresh?.email ?? null
    const purpose = fresh ? 'sign_up' : 'sign_in'
    return sendSecret(
      { ...state, ...(fresh ? { signUp: fresh } : {}), step },
      { journey, view, purpose, email, address: username, user: owner?.user ?? null },
    )
  }

export const emailOtp = byMail('email_code')
export const emailLink = byMail('email_link')
