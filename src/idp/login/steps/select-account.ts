import { formField } from '../../request-input.js'
import { resetState } from '../login-state.js'
import { selectAccountPage } from '../pages/choices.js'
import type { Step } from './step.js'

/** `prompt=select_account`: continue as the signed-in user, or sign in as another one. */
export const selectAccount: Step = {
  render: (_, { view, state }, problems) => selectAccountPage(view, state.user?.username ?? '', problems),

  async handleSubmission(_, { state }, form) {
    if (formField(form, 'method') === 'other') return { to: resetState(state) }
    return { to: state, done: true }
  },
}
