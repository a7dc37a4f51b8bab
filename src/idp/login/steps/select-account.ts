import { formField } from '../../request-input.js'
import { resetState } from '../login-state.js'
import { selectAccountPage } from '../pages/choices.js'
import type { Step } from './step.js'

/** Asks whether to continue as the signed-in user or to sign in as another user (`prompt=select_account`). */
export const selectAccount: Step = {
  render: (_, { view, state }, problems) => selectAccountPage(view, state.user?.username ?? '', problems),

  async handleSubmission(_, { state }, form) {
    if (formField(form, 'method') === 'other') return { to: resetState(state) }
    return { to: state, done: true }
  },
}
