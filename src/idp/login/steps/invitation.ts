import { formField } from '../../request-input.js'
import { invitationPage } from '../pages/invitation.js'
import { maySignUp } from '../sign-up.js'
import type { Step } from './step.js'

/** Shows the invitation; the user continues with sign-in or sign-up. */
export const invitation: Step = {
  render: (request, { view, state, loginTransaction }, problems) =>
    invitationPage(view, state.invitation!, maySignUp(request, loginTransaction), problems),

  async handleSubmission(request, { state, loginTransaction }, form) {
    const choosesSignUp = formField(form, 'method') === 'sign_up' && maySignUp(request, loginTransaction)
    return { to: { ...state, step: choosesSignUp ? 'sign_up' : 'sign_in' } }
  },
}
