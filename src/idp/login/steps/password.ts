import { checkSignInPassword, recordVerification } from '../../../resources/credentials/sign-in.js'
import { usernameKeyOf } from '../../../resources/users/usernames.js'
import { field } from '../../request.js'
import { asUser, scope } from '../../scope.js'
import { passwordPage } from '../pages/sign-in.js'
import type { Step } from './step.js'

/** Longer than any password policy allows; hashing more would be work for nothing. */
const MAX_PASSWORD = 1024

/** Username and password, in one form, so that neither says anything about the other. */
export const password: Step = {
  show: (view, { username }, problems) => passwordPage(view, username, problems),

  async answer(state, form) {
    const { context, runtime } = scope()
    const { id: issuerId, accountId, settings } = runtime.issuer
    const username = (field(form, 'username') ?? '').trim().slice(0, 254)
    const given = field(form, 'password') ?? ''
    const again = { ...state, username }
    if (username === '' || given === '') return { to: again, problems: [{ key: 'missing' }] }
    if (given.length > MAX_PASSWORD) return { to: again, problems: [{ key: 'refused' }] }

    const verdict = await checkSignInPassword(
      context,
      { accountId, issuerId, settings },
      usernameKeyOf(username),
      given,
    )
    switch (verdict.outcome) {
      case 'refused':
        return { to: again, problems: [{ key: 'refused' }] }
      case 'barred':
        return {
          to: again,
          problems: [{ key: verdict.user.status === 'pending_approval' ? 'pending_approval' : 'barred' }],
        }
      case 'must_change':
      case 'passed': {
        const { user, verifierId } = verdict
        const step = verdict.outcome === 'passed' ? 'done' : 'new_password'
        return {
          to: { ...again, step, user, amr: [...state.amr, 'pwd'], methods: [...state.methods, 'password'] },
          effects: (inside) => recordVerification(asUser(inside, user), user, verifierId, 'password'),
        }
      }
    }
  },
}
