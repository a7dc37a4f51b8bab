import { consumeBackupCode } from '../../../resources/credentials/backup-codes.js'
import { passkeyDescriptorsOf } from '../../../resources/credentials/passkey-assertion.js'
import { consumeTotpCode } from '../../../resources/credentials/totp.js'
import { type Form, formField } from '../../request-input.js'
import { resetState } from '../login-state.js'
import { factorCodePage, factorPasskeyPage, noFactorPage } from '../pages/factors.js'
import { passkeyRequestOptions, passkeyTransition, relyingParty } from '../passkeys.js'
import { codeTransition } from '../second-factors.js'
import type { Step, StepContext, Transition } from './step.js'

/** Asks for a passkey of the user who has passed the first factor. */
export const passkeyFactor: Step = {
  async render(request, stepContext, problems) {
    const { state, view } = stepContext
    const allowedPasskeys = await passkeyDescriptorsOf(request.context, state.user!, relyingParty(request).rpId)
    return factorPasskeyPage(view, state, passkeyRequestOptions(request, stepContext, allowedPasskeys), problems)
  },
  handleSubmission: async (request, stepContext, form) =>
    navigationTransition(stepContext, form) ?? passkeyTransition(request, stepContext, form, stepContext.state.user),
}

/** Asks for the six-digit code of an authenticator app. */
export const totp: Step = {
  render: (_, { view, state }, problems) => factorCodePage(view, state, 'totp', problems),
  handleSubmission: (request, stepContext, form) =>
    submitCode(stepContext, form, (code) =>
      codeTransition(request, stepContext.state, 'totp', async (tx, path) => {
        const verifierId = await consumeTotpCode(tx, path, code)
        return verifierId === undefined ? undefined : { verifierId }
      }),
    ),
}

/** Asks for one of the backup codes. */
export const backupCodes: Step = {
  render: (_, { view, state }, problems) => factorCodePage(view, state, 'backup_codes', problems),
  handleSubmission: (request, stepContext, form) =>
    submitCode(stepContext, form, (code) =>
      codeTransition(request, stepContext.state, 'backup_codes', async (tx, path) => {
        const used = await consumeBackupCode(tx, path, code)
        return used && { verifierId: used.verifierId, isLastCode: used.left === 0 }
      }),
    ),
}

async function submitCode(
  stepContext: StepContext,
  form: Form,
  createTransition: (code: string) => Promise<Transition>,
): Promise<Transition> {
  const navigation = navigationTransition(stepContext, form)
  if (navigation) return navigation
  const code = (formField(form, 'code') ?? '').trim()
  if (code === '') return { to: stepContext.state, problems: [{ key: 'missing' }] }
  return createTransition(code.slice(0, 64))
}

/** Switches to another factor of the user, or back to the sign-in page; undefined for any other button. */
function navigationTransition({ state }: StepContext, form: Form): Transition | undefined {
  const action = formField(form, 'method')
  if (action === 'back') return { to: resetState(state, state.username) }
  const otherFactor = state.factors?.find((factor) => factor !== state.step && factor === action)
  return otherFactor && { to: { ...state, step: otherFactor } }
}

/** Says that the second factors of the user cannot be used on this host. */
export const noFactor: Step = {
  render: (_, { view }) => noFactorPage(view),
  handleSubmission: async (_, { state }) => ({ to: resetState(state, state.username) }),
}
