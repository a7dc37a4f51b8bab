import { limits } from '../../../kernel/limits.js'
import { recordCredentialVerification, verifySignInPassword } from '../../../resources/credentials/sign-in.js'
import { usernameKeyOf } from '../../../resources/users/usernames.js'
import { withUserActor } from '../../request-context.js'
import { formField } from '../../request-input.js'
import { TransitionRefused } from '../steps/step.js'
import type { FirstFactor } from './method.js'

/** Username and password in one form, so that the response does not reveal which one is wrong. */
export const password: FirstFactor = async ({ context, runtime }, { state }, form) => {
  const { id: issuerId, accountId, settings } = runtime.issuer
  const { username } = state
  const submittedPassword = formField(form, 'password') ?? ''
  if (username === '' || submittedPassword === '') return { to: state, problems: [{ key: 'missing' }] }
  if (submittedPassword.length > limits.maxSubmittedPasswordLength) return { to: state, problems: [{ key: 'refused' }] }

  const issuer = { accountId, issuerId, settings }
  const decision = await verifySignInPassword(context, issuer, usernameKeyOf(username), submittedPassword)
  if (decision.outcome === 'refused') return { to: state, problems: [{ key: 'refused' }] }
  const { user } = decision
  if (decision.outcome === 'inactive') return { to: { ...state, user }, done: true }
  const { verifier } = decision
  const amr = [...state.amr, 'pwd']
  const methods = [...state.methods, 'password']
  return {
    to: { ...state, user, amr, methods, mustChangePassword: decision.outcome === 'must_change' },
    done: true,
    effects: async (tx) => {
      const isVerifierPresent = await recordCredentialVerification(withUserActor(tx, user), user, 'password', verifier)
      if (!isVerifierPresent) throw new TransitionRefused({ to: state, problems: [{ key: 'refused' }] })
    },
  }
}
