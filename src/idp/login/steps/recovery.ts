import { consumeRecovery, losableVerifiers } from '../../../resources/credentials/recovery.js'
import { field } from '../../request.js'
import { asUser, scope } from '../../scope.js'
import { methodsOf } from '../methods/index.js'
import { recoveryPage } from '../pages/recovery.js'
import { factors } from '../second-factors.js'
import { anew, type Recovery } from '../state.js'
import { Refused, type Step } from './step.js'

const isFactor = (type: string): boolean => factors.some((factor) => factor === type)

/** The owner of a recovery link says which credentials are lost. They do not count from then on (flow.ts). */
export const recovery: Step = {
  async show({ view, state }, problems) {
    const { user } = state.recovery!
    return recoveryPage(view, user.username, await losableVerifiers(scope().context, user), problems)
  },

  async answer({ state }, form) {
    const { context, runtime } = scope()
    const { user, tokenHash } = state.recovery!
    if (field(form, 'method') !== 'recover') return { to: anew(state, user.username) }
    const lost = (await losableVerifiers(context, user)).filter(({ id }) => field(form, `lost_${id}`) === 'yes')
    const lostFactor = lost.some(({ type }) => isFactor(type))
    const after: Recovery = { user, tokenHash, lost: lost.map(({ id }) => id), lostFactor, consumed: true }
    const to = { ...state, user, recovery: after, mustChange: methodsOf('password').length > 0 }
    return {
      to: lost.some(({ type }) => type === 'backup_codes') ? { ...to, offersCodes: true } : to,
      done: true,
      effects: async (inside) => {
        if (await consumeRecovery(asUser(inside, user), runtime.issuer, user, tokenHash)) return
        throw new Refused({ to: anew(state, user.username), problems: [{ key: 'recovery_gone' }] })
      },
    }
  },
}
