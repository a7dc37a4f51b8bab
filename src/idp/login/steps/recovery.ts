import { consumeRecoveryLink, losableVerifiers } from '../../../resources/credentials/recovery.js'
import { withUserActor } from '../../request-context.js'
import { formField } from '../../request-input.js'
import { factors, type RecoveryState, resetState } from '../login-state.js'
import { signInMethodsOf } from '../methods/index.js'
import { recoveryPage } from '../pages/recovery.js'
import { type Step, TransitionRefused } from './step.js'

const isFactor = (type: string): boolean => factors.some((factor) => factor === type)

/** Asks the user of a recovery link which credentials are lost. next-step.ts ignores these credentials from then on. */
export const recovery: Step = {
  async render({ context }, { view, state }, problems) {
    const { user } = state.recovery!
    return recoveryPage(view, user.username, await losableVerifiers(context, user), problems)
  },

  async handleSubmission(request, { state }, form) {
    const { context, runtime } = request
    const { user, tokenHash } = state.recovery!
    if (formField(form, 'method') !== 'recover') return { to: resetState(state, user.username) }
    const lostCredentials = (await losableVerifiers(context, user)).filter(
      ({ id }) => formField(form, `lost_${id}`) === 'yes',
    )
    const lostSecondFactor = lostCredentials.some(({ type }) => isFactor(type))
    const consumedRecovery: RecoveryState = {
      user,
      tokenHash,
      lostCredentialIds: lostCredentials.map(({ id }) => id),
      lostSecondFactor,
      consumed: true,
    }
    const to = {
      ...state,
      user,
      recovery: consumedRecovery,
      mustChangePassword: signInMethodsOf(request, 'password').length > 0,
    }
    return {
      to: lostCredentials.some(({ type }) => type === 'backup_codes') ? { ...to, offersBackupCodes: true } : to,
      done: true,
      effects: async (tx) => {
        if (await consumeRecoveryLink(withUserActor(tx, user), runtime.issuer, user, tokenHash)) return
        throw new TransitionRefused({ to: resetState(state, user.username), problems: [{ key: 'recovery_gone' }] })
      },
    }
  },
}
