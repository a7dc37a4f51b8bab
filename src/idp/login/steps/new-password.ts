import { ApiError } from '../../../kernel/errors.js'
import { prepareNewPassword, SamePassword } from '../../../resources/credentials/replace-password.js'
import { afterOwnChange } from '../../proof.js'
import { field } from '../../request.js'
import { asUser, scope } from '../../scope.js'
import { newPasswordPage } from '../pages/sign-in.js'
import { isTextKey, type Sentence } from '../pages/texts.js'
import type { Step } from './step.js'

/** The password just used must be changed (temporary, expired, marked by an administrator), or was forgotten. */
export const newPassword: Step = {
  show: ({ view, state }, problems) => newPasswordPage(view, state.user?.username ?? state.username, problems),

  async answer({ state }, form) {
    const { context, runtime } = scope()
    const user = state.user!
    const given = field(form, 'new_password') ?? ''
    if (given === '') return { to: state, problems: [{ key: 'missing' }] }
    try {
      const replace = await prepareNewPassword(context, runtime.issuer, user, given)
      const amr = [...state.amr, 'pwd']
      const to = { ...state, amr, mustChange: false }
      return {
        to,
        done: true,
        becomes: async (inside) => {
          await replace(asUser(inside, user))
          return { ...to, since: afterOwnChange(inside) }
        },
      }
    } catch (error) {
      if (error instanceof SamePassword) return { to: state, problems: [{ key: 'same_password' }] }
      if (error instanceof ApiError && error.code === 'not_found') return { to: state, problems: [{ key: 'barred' }] }
      return { to: state, problems: brokenRules(error) }
    }
  },
}

/**
 * Broken rules of the password policy, as the page says them; the numbers come from the policy's own message.
 * @throws whatever else the error is
 */
export function brokenRules(error: unknown): Sentence[] {
  if (!(error instanceof ApiError) || !error.more.details) throw error
  return error.more.details.map(({ code, message }) => {
    const count = /\d+/.exec(message)?.[0] ?? ''
    return { key: isTextKey(code) ? code : 'refused', places: { count } }
  })
}
