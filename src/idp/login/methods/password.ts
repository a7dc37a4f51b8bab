import { checkSignInPassword, recordVerification } from '../../../resources/credentials/sign-in.js'
import { usernameKeyOf } from '../../../resources/users/usernames.js'
import { field } from '../../request.js'
import { asUser, scope } from '../../scope.js'
import { Refused } from '../steps/step.js'
import type { FirstFactor } from './method.js'

/** Longer than any password policy allows; hashing more would be work for nothing. */
const MAX_PASSWORD = 1024

/** Username and password, in one form, so that neither says anything about the other. */
export const password: FirstFactor = async ({ state }, form) => {
  const { context, runtime } = scope()
  const { id: issuerId, accountId, settings } = runtime.issuer
  const { username } = state
  const given = field(form, 'password') ?? ''
  if (username === '' || given === '') return { to: state, problems: [{ key: 'missing' }] }
  if (given.length > MAX_PASSWORD) return { to: state, problems: [{ key: 'refused' }] }

  const issuer = { accountId, issuerId, settings }
  const verdict = await checkSignInPassword(context, issuer, usernameKeyOf(username), given)
  if (verdict.outcome === 'refused') return { to: state, problems: [{ key: 'refused' }] }
  const { user } = verdict
  if (verdict.outcome === 'barred') return { to: { ...state, user }, done: true }
  const { verifier } = verdict
  const amr = [...state.amr, 'pwd']
  const methods = [...state.methods, 'password']
  return {
    to: { ...state, user, amr, methods, mustChange: verdict.outcome === 'must_change' },
    done: true,
    effects: async (inside) => {
      const isThere = await recordVerification(asUser(inside, user), user, 'password', verifier)
      if (!isThere) throw new Refused({ to: state, problems: [{ key: 'refused' }] })
    },
  }
}
