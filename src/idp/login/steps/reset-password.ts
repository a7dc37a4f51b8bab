import { truncateText } from '../../../kernel/text.js'
import { findUserWithEmail } from '../../../resources/credentials/mailbox.js'
import { usernameKeyOf } from '../../../resources/users/usernames.js'
import { formField } from '../../request-input.js'
import { sendEmailChallenge } from '../email-challenge.js'
import { resetState } from '../login-state.js'
import { resetPage } from '../pages/mail.js'
import type { Step } from './step.js'

/** Starts the reset of a forgotten password: sends a code, which then replaces the password as the first factor. */
export const reset: Step = {
  render: (_, { view, state }, problems) => resetPage(view, state.username, problems),

  async handleSubmission(request, { state, loginTransaction, view }, form) {
    const { context, runtime } = request
    if (formField(form, 'method') === 'back') return { to: resetState(state, state.username) }
    const username = truncateText((formField(form, 'username') ?? '').trim(), 254)
    const to = { ...state, username }
    if (username === '') return { to, problems: [{ key: 'username_missing' }] }
    const owner = await findUserWithEmail(context, runtime.issuer.id, usernameKeyOf(username))
    return sendEmailChallenge(
      request,
      { ...to, step: 'email_code' },
      {
        loginTransaction,
        view,
        purpose: 'reset',
        email: owner?.email ?? null,
        enteredAddress: username,
        user: owner?.user ?? null,
      },
    )
  },
}
