import { ApiError } from '../../../kernel/errors.js'
import { parseJson } from '../../../kernel/gate.js'
import { keepPasskey } from '../../../resources/credentials/passkey.js'
import { newcomerOptions, registeredBy } from '../../../resources/credentials/passkey-challenge.js'
import { type Form, field } from '../../request.js'
import { asUser } from '../../scope.js'
import { newcomerPasskeyPage } from '../pages/sign-up.js'
import { ceremonyOf } from '../passkeys.js'
import { makeAccount, maySignUp, signedUp, signUpWays } from '../sign-up.js'
import { anew, draftOf, type LoginState } from '../state.js'
import { type Move, Refused, type Step } from './step.js'

/** An account with a passkey instead of a password: both are made at once, or neither is. */
export const signUpPasskey: Step = {
  async show(asked, problems) {
    const { view, state } = asked
    const { email, userId } = state.signUp!
    const { challenge, rpId } = ceremonyOf(asked)
    const options = await newcomerOptions({ id: userId!, username: email, brand: view.name, rpId, challenge })
    return newcomerPasskeyPage(view, email, options, problems)
  },

  async answer(asked, form) {
    const { state, journey } = asked
    if (field(form, 'method') === 'back') return { to: again(state) }
    if (!maySignUp(journey) || !signUpWays().includes('passkey'))
      return { to: anew(state, state.username), problems: [{ key: 'stale' }] }
    const credential = credentialIn(form)
    if (!credential) return { to: state, problems: [{ key: 'passkey_failed' }] }
    const { challenge, rpId, origin } = ceremonyOf(asked, credential)
    const made = await registeredBy(credential, { challenge, rp_id: rpId, origin })
    const refusal: Move = { to: state, problems: [{ key: 'passkey_refused' }] }
    if (!made) return refusal
    const { signUp } = state
    const proved = signUp!.proved === true
    return {
      to: state,
      done: true,
      becomes: async (inside) => {
        const user = await makeAccount(inside, journey, signUp!, proved).catch(
          instead({ to: again(state), problems: [{ key: 'taken' }] }),
        )
        await keepPasskey(asUser(inside, user), user, made).catch(instead(refusal))
        return signedUp(inside, state, user, proved)
      },
    }
  },
}

/** The form before this one, filled in as it was. */
const again = (state: LoginState): LoginState => ({
  ...anew(state, state.username),
  step: 'sign_up',
  signUp: draftOf(state.signUp!),
})

/** What is made of a conflict. @throws Refused, and whatever else the error is */
const instead =
  (move: Move) =>
  (error: unknown): never => {
    throw error instanceof ApiError && error.code === 'conflict' ? new Refused(move) : error
  }

function credentialIn(form: Form): object | undefined {
  try {
    const value = parseJson(field(form, 'credential') ?? '')
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
