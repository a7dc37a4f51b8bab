import { ApiError } from '../../../kernel/errors.js'
import { parseJson } from '../../../kernel/safe-json.js'
import { savePasskey } from '../../../resources/credentials/passkey.js'
import { signUpPasskeyOptions, verifyRegistration } from '../../../resources/credentials/passkey-challenge.js'
import { withUserActor } from '../../request-context.js'
import { type Form, formField } from '../../request-input.js'
import { type LoginState, resetState, withoutPassword } from '../login-state.js'
import { signUpPasskeyPage } from '../pages/sign-up.js'
import { createCeremony } from '../passkeys.js'
import { createAccount, enabledSignUpMethods, maySignUp, stateAfterSignUp } from '../sign-up.js'
import { type Step, type Transition, TransitionRefused } from './step.js'

/** Creates an account with a passkey instead of a password. One transaction creates the account and the passkey. */
export const signUpPasskey: Step = {
  async render(request, stepContext, problems) {
    const { view, state } = stepContext
    const { email, userId } = state.signUp!
    const { challenge, rpId } = createCeremony(request, stepContext)
    const options = await signUpPasskeyOptions({ id: userId!, username: email, issuerName: view.name, rpId, challenge })
    return signUpPasskeyPage(view, email, options, problems)
  },

  async handleSubmission(request, stepContext, form) {
    const { state, loginTransaction } = stepContext
    if (formField(form, 'method') === 'back') return { to: backToSignUpForm(state) }
    if (!maySignUp(request, loginTransaction) || !enabledSignUpMethods(request).includes('passkey'))
      return { to: resetState(state, state.username), problems: [{ key: 'stale' }] }
    const credential = parseCredential(form)
    if (!credential) return { to: state, problems: [{ key: 'passkey_failed' }] }
    const { challenge, rpId, origin } = createCeremony(request, stepContext, credential)
    const registration = await verifyRegistration(credential, { challenge, rp_id: rpId, origin })
    const refusedTransition: Transition = { to: state, problems: [{ key: 'passkey_refused' }] }
    if (!registration) return refusedTransition
    const { signUp } = state
    const proved = signUp!.emailProved === true
    return {
      to: state,
      done: true,
      resolveState: async (tx) => {
        const user = await createAccount(request, tx, loginTransaction, signUp!, proved).catch(
          refuseOnConflict({ to: backToSignUpForm(state), problems: [{ key: 'taken' }] }),
        )
        await savePasskey(withUserActor(tx, user), user, registration).catch(refuseOnConflict(refusedTransition))
        return stateAfterSignUp(tx, state, user, proved)
      },
    }
  },
}

/** Returns the state with the sign-up form, which is filled with the entered values. */
const backToSignUpForm = (state: LoginState): LoginState => ({
  ...resetState(state, state.username),
  step: 'sign_up',
  signUp: withoutPassword(state.signUp!),
})

/**
 * Returns an error handler that refuses the transition after a conflict, and throws any other error.
 * @param transition the transition to apply instead
 */
const refuseOnConflict =
  (transition: Transition) =>
  (error: unknown): never => {
    throw error instanceof ApiError && error.code === 'conflict' ? new TransitionRefused(transition) : error
  }

function parseCredential(form: Form): object | undefined {
  try {
    const value = parseJson(formField(form, 'credential') ?? '')
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
