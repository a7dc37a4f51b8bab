import { ApiError } from '../../../kernel/errors.js'
import { prepareNewPassword, SamePasswordError } from '../../../resources/credentials/replace-password.js'
import { withUserActor } from '../../request-context.js'
import { formField } from '../../request-input.js'
import { timestampAfterOwnChange } from '../../session/authentication-requirements.js'
import { newPasswordPage } from '../pages/sign-in.js'
import { isTextKey, type PageMessage } from '../pages/texts.js'
import type { Step } from './step.js'

/**
 * Asks for a new password, because the old password must be changed (it is temporary, has expired, an administrator
 * requires it, or it may be that of an attacker), the user has forgotten it, or the user signs in with a recovery link.
 */
export const newPassword: Step = {
  render: (_, { view, state }, problems) => newPasswordPage(view, state.user?.username ?? state.username, problems),

  async handleSubmission({ context, runtime }, { state }, form) {
    const user = state.user!
    const submittedPassword = formField(form, 'new_password') ?? ''
    if (submittedPassword === '') return { to: state, problems: [{ key: 'missing' }] }
    try {
      const replacePassword = await prepareNewPassword(context, runtime.issuer, user, submittedPassword)
      const amr = [...state.amr, 'pwd']
      const to = { ...state, amr, mustChangePassword: false }
      return {
        to,
        done: true,
        resolveState: async (tx) => {
          await replacePassword(withUserActor(tx, user))
          return { ...to, since: timestampAfterOwnChange(tx) }
        },
      }
    } catch (error) {
      if (error instanceof SamePasswordError) return { to: state, problems: [{ key: 'same_password' }] }
      if (error instanceof ApiError && error.code === 'not_found') return { to: state, problems: [{ key: 'barred' }] }
      return { to: state, problems: violatedRules(error) }
    }
  },
}

/**
 * Converts violations of the password policy to messages. The number in a message is taken from the error's text.
 * @throws the error if it is unexpected
 */
export function violatedRules(error: unknown): PageMessage[] {
  if (!(error instanceof ApiError) || !error.options.details) throw error
  return error.options.details.map(({ code, message }) => {
    const count = /\d+/.exec(message)?.[0] ?? ''
    return { key: isTextKey(code) ? code : 'refused', params: { count } }
  })
}
