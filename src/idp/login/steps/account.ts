import { field } from '../../request.js'
import { accountPage } from '../pages/choices.js'
import { anew } from '../state.js'
import type { Step } from './step.js'

/** `prompt=select_account`: go on as the one who is signed in, or as somebody else. */
export const account: Step = {
  show: ({ view, state }, problems) => accountPage(view, state.user?.username ?? '', problems),

  async answer({ state }, form) {
    if (field(form, 'method') === 'other') return { to: anew(state) }
    return { to: state, done: true }
  },
}
