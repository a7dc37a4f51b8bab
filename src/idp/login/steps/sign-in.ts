import { truncateText } from '../../../kernel/text.js'
import { isFapi2 } from '../../../resources/issuers/settings.js'
import type { RequestContext } from '../../request-context.js'
import { formField } from '../../request-input.js'
import { resetState } from '../login-state.js'
import type { LoginTransaction } from '../login-transaction.js'
import { firstFactors, offeredMethods, selectMethod, signInMethodsOf } from '../methods/index.js'
import { noMethodPage, signInPage } from '../pages/sign-in.js'
import { passkeyRequestOptions } from '../passkeys.js'
import { maySignUp } from '../sign-up.js'
import type { Step } from './step.js'

/** Whether the user can refuse the request of the application (docs/contract.md#fapi-20-security-profile). */
const mayCancel = ({ runtime }: RequestContext, { invitation }: LoginTransaction): boolean =>
  isFapi2(runtime.issuer.settings) && !invitation

/** Asks for the first factor, with one form for all methods. The buttons of the form select the method. */
export const signIn: Step = {
  render(request, stepContext, problems) {
    const { view, state, loginTransaction } = stepContext
    const methods = offeredMethods(request)
    if (methods.length === 0) return noMethodPage(view)
    const passkeyOptions = passkeyRequestOptions(request, stepContext)
    const options = {
      username: state.username,
      methods,
      passkeyOptions,
      maySignUp: maySignUp(request, loginTransaction),
      mayCancel: mayCancel(request, loginTransaction),
    }
    return signInPage(view, options, problems)
  },

  async handleSubmission(request, stepContext, form) {
    const { state, loginTransaction } = stepContext
    const username = truncateText((formField(form, 'username') ?? state.username).trim(), 254)
    const action = formField(form, 'method')
    const freshState = resetState(state, username)
    if (action === 'cancel' && mayCancel(request, loginTransaction)) return { to: { ...freshState, step: 'done' } }
    if (action === 'sign_up' && maySignUp(request, loginTransaction)) return { to: { ...freshState, step: 'sign_up' } }
    if (action === 'reset' && signInMethodsOf(request, 'password').length > 0)
      return { to: { ...freshState, step: 'reset' } }
    // The form is that of the step `recovery`, whose link became invalid while the page was open.
    if (action === 'recover') return { to: freshState, problems: [{ key: 'recovery_gone' }] }
    const method = selectMethod(request, action)
    if (!method) return { to: freshState }
    return firstFactors[method.kind]!(request, { ...stepContext, state: freshState }, form, method)
  },
}
