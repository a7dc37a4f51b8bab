import { useBackupCode } from '../../../resources/credentials/backup-codes.js'
import { passkeysOf } from '../../../resources/credentials/passkey-assertion.js'
import { verifyTotp } from '../../../resources/credentials/totp.js'
import { type Form, field } from '../../request.js'
import { scope } from '../../scope.js'
import { factorCodePage, factorPasskeyPage, noFactorPage } from '../pages/factors.js'
import { passkeyMove, relyingParty, requestOptions } from '../passkeys.js'
import { codeMove } from '../second-factors.js'
import { anew } from '../state.js'
import type { Asked, Move, Step } from './step.js'

/** A passkey of the one who has said who they are. */
export const passkeyFactor: Step = {
  async show(asked, problems) {
    const { state, view } = asked
    const known = await passkeysOf(scope().context, state.user!, relyingParty().rpId)
    return factorPasskeyPage(view, state, requestOptions(asked, known), problems)
  },
  answer: async (asked, form) => elsewhere(asked, form) ?? passkeyMove(asked, form, asked.state.user),
}

/** The six digits of an authenticator app. */
export const totp: Step = {
  show: ({ view, state }, problems) => factorCodePage(view, state, 'totp', problems),
  answer: (asked, form) =>
    typed(asked, form, (code) =>
      codeMove(asked.state, 'totp', async (inside, place) => {
        const verifierId = await verifyTotp(inside, place, code)
        return verifierId === undefined ? undefined : { verifierId }
      }),
    ),
}

/** One of the codes that were written down for the day when the other factor is lost. */
export const backupCodes: Step = {
  show: ({ view, state }, problems) => factorCodePage(view, state, 'backup_codes', problems),
  answer: (asked, form) =>
    typed(asked, form, (code) =>
      codeMove(asked.state, 'backup_codes', async (inside, place) => {
        const used = await useBackupCode(inside, place, code)
        return used && { verifierId: used.verifierId, last: used.left === 0 }
      }),
    ),
}

async function typed(asked: Asked, form: Form, go: (code: string) => Promise<Move>): Promise<Move> {
  const turn = elsewhere(asked, form)
  if (turn) return turn
  const code = (field(form, 'code') ?? '').trim()
  if (code === '') return { to: asked.state, problems: [{ key: 'missing' }] }
  return go(code.slice(0, 64))
}

/** Another of the factors that they have, or back to who they are. */
function elsewhere({ state }: Asked, form: Form): Move | undefined {
  const named = field(form, 'method')
  if (named === 'back') return { to: anew(state, state.username) }
  const other = state.factors?.find((factor) => factor !== state.step && factor === named)
  return other && { to: { ...state, step: other } }
}

/** Two factors are asked for, and there is no second one to be had. */
export const noFactor: Step = {
  show: ({ view }) => noFactorPage(view),
  answer: async ({ state }) => ({ to: anew(state, state.username) }),
}
