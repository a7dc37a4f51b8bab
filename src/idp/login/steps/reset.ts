import { startOf } from '../../../kernel/text.js'
import { findForMail } from '../../../resources/credentials/mail-owner.js'
import { usernameKeyOf } from '../../../resources/users/usernames.js'
import { field } from '../../request.js'
import { scope } from '../../scope.js'
import { sendSecret } from '../mail.js'
import { resetPage } from '../pages/mail.js'
import { anew } from '../state.js'
import type { Step } from './step.js'

/** A forgotten password: a code to the user's address stands in for it, once. */
export const reset: Step = {
  show: ({ view, state }, problems) => resetPage(view, state.username, problems),

  async answer({ state, journey, view }, form) {
    const { context, runtime } = scope()
    if (field(form, 'method') === 'back') return { to: anew(state, state.username) }
    const username = startOf((field(form, 'username') ?? '').trim(), 254)
    const to = { ...state, username }
    if (username === '') return { to, problems: [{ key: 'username_missing' }] }
    const owner = await findForMail(context, runtime.issuer.id, usernameKeyOf(username))
    return sendSecret(
      { ...to, step: 'email_code' },
      { journey, view, purpose: 'reset', email: owner?.email ?? null, address: username, user: owner?.user ?? null },
    )
  },
}
