import { startOf } from '../../../kernel/text.js'
import { field } from '../../request.js'
import { scope } from '../../scope.js'
import { chosen, firstFactors, methodsOf, offered } from '../methods/index.js'
import { closedPage, signInPage } from '../pages/sign-in.js'
import { requestOptions } from '../passkeys.js'
import { maySignUp } from '../sign-up.js'
import { anew } from '../state.js'
import type { Step } from './step.js'

/** The first factor: one form for all of them, its buttons say which. */
export const signIn: Step = {
  show(asked, problems) {
    const { view, state, journey } = asked
    const { issuer } = scope().runtime
    const methods = offered(issuer)
    if (methods.length === 0) return closedPage(view)
    const passkeys = requestOptions(asked)
    return signInPage(view, { username: state.username, methods, passkeys, signUp: maySignUp(journey) }, problems)
  },

  async answer(asked, form) {
    const { state, journey } = asked
    const username = startOf((field(form, 'username') ?? state.username).trim(), 254)
    const named = field(form, 'method')
    const fresh = anew(state, username)
    if (named === 'sign_up' && maySignUp(journey)) return { to: { ...fresh, step: 'sign_up' } }
    if (named === 'reset' && methodsOf('password').length > 0) return { to: { ...fresh, step: 'reset' } }
    // The link was used, or has expired, while its page was open.
    if (named === 'recover') return { to: fresh, problems: [{ key: 'recovery_gone' }] }
    const method = chosen(scope().runtime.issuer, named)
    if (!method) return { to: fresh }
    return firstFactors[method.kind]!({ ...asked, state: fresh }, form, method)
  },
}
