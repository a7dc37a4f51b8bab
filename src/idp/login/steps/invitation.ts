import { field } from '../../request.js'
import { invitationPage } from '../pages/invitation.js'
import { maySignUp } from '../sign-up.js'
import type { Step } from './step.js'

/** What the invitation is about; then the person signs in, or makes an account for it. */
export const invitation: Step = {
  show: ({ view, state, journey }, problems) => invitationPage(view, state.invitation!, maySignUp(journey), problems),

  async answer({ state, journey }, form) {
    const signsUp = field(form, 'method') === 'sign_up' && maySignUp(journey)
    return { to: { ...state, step: signsUp ? 'sign_up' : 'sign_in' } }
  },
}
