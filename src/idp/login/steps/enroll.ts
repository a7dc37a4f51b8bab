/** Steps that set up a second factor, a passkey or backup codes during a sign-in. */
import { ApiError } from '../../../kernel/errors.js'
import { parseJson } from '../../../kernel/safe-json.js'
import { truncateText } from '../../../kernel/text.js'
import type { Context } from '../../../platform/context.js'
import { generateBackupCodes, prepareBackupCodes } from '../../../resources/credentials/backup-codes.js'
import { passkey } from '../../../resources/credentials/passkey.js'
import { createPasskeyChallenge } from '../../../resources/credentials/passkey-challenge.js'
import type { SignInUser } from '../../../resources/credentials/sign-in.js'
import { totpEnrollment, verifyEnrollmentCode } from '../../../resources/credentials/totp.js'
import { lockVerifierOwner, requireVerifierOwner } from '../../../resources/credentials/verifier-kind.js'
import { type RequestContext, withUserActor } from '../../request-context.js'
import { type Form, formField } from '../../request-input.js'
import { type LoginState, resetState } from '../login-state.js'
import { backupCodesPage, enrollPasskeyPage, enrollTotpPage } from '../pages/enroll.js'
import { relyingParty } from '../passkeys.js'
import { enrollmentSteps } from '../second-factors.js'
import { type Step, type StepContext, type Transition, TransitionRefused } from './step.js'

const userPathOf = ({ accountId, issuerId, id: userId }: SignInUser) => ({ accountId, issuerId, userId })

/** Sets up an authenticator app with a new secret, which the user confirms with a code. */
export const enrollTotp: Step = {
  async prepare(_, tx, { state, view }) {
    const user = state.user!
    const userContext = withUserActor(tx, user)
    const owner = await requireVerifierOwner(userContext, userPathOf(user))
    const issuerName = truncateText(view.name.replace(/[:\p{Cc}]/gu, ' ').trim(), 100)
    const begin = await totpEnrollment.prepare(userContext, owner, { type: 'totp_enrollment', issuerName })
    const { enrollmentId = '', provisioningUri = '' } = await begin(userContext)
    return { ...state, enrolling: { id: enrollmentId, encryptedSecret: tx.encryptor.encrypt(provisioningUri) } }
  },

  render: (request, { view, state }, problems) =>
    enrollTotpPage(
      view,
      request.context.encryptor.decrypt(state.enrolling!.encryptedSecret!),
      { others: otherEnrollmentSteps(request, state) },
      problems,
    ),

  async handleSubmission(request, stepContext, form) {
    const navigation = navigationTransition(request, stepContext, form)
    if (navigation) return navigation
    const code = (formField(form, 'code') ?? '').trim().slice(0, 32)
    if (code === '') return { to: stepContext.state, problems: [{ key: 'missing' }] }
    const { state } = stepContext
    const proof = { enrollmentId: state.enrolling!.id, code }
    return enrollmentTransition(request, stepContext, 'totp', ['otp', 'mfa'], (context, user) =>
      verifyEnrollmentCode(context, userPathOf(user), proof),
    )
  },
}

/** Creates a passkey. */
export const enrollPasskey: Step = {
  async prepare(request, tx, { state }) {
    const user = state.user!
    const { rpId } = relyingParty(request)
    const { challengeId, options } = await createPasskeyChallenge(withUserActor(tx, user), userPathOf(user), { rpId })
    return { ...state, enrolling: { id: challengeId, options } }
  },

  render: (request, { view, state }, problems) =>
    enrollPasskeyPage(view, state.enrolling!.options!, { others: otherEnrollmentSteps(request, state) }, problems),

  async handleSubmission(request, stepContext, form) {
    const navigation = navigationTransition(request, stepContext, form)
    if (navigation) return navigation
    const credential = parseObject(formField(form, 'credential') ?? '')
    if (!credential) return { to: stepContext.state, problems: [{ key: 'passkey_failed' }] }
    const challengeId = stepContext.state.enrolling!.id
    return enrollmentTransition(request, stepContext, 'passkey', ['hwk', 'mfa'], async (context, user) => {
      const owner = await requireVerifierOwner(context, userPathOf(user))
      const save = await passkey.prepare(context, owner, { type: 'passkey', credential, challengeId })
      return async (tx) => {
        await lockVerifierOwner(tx, owner)
        return save(tx)
      }
    })
  },
}

/**
 * Creates the transition of a submitted enrollment. After a wrong code, the user can enter another one. An enrollment
 * that is used, expired or without attempts left is replaced by a new one, and so is a passkey challenge after any
 * error.
 * @param verifyAnswer verifies the submission and returns the function that saves the credential
 */
async function enrollmentTransition(
  request: RequestContext,
  stepContext: StepContext,
  method: 'totp' | 'passkey',
  amr: readonly string[],
  verifyAnswer: (context: Context, user: SignInUser) => Promise<(tx: Context) => Promise<unknown>>,
): Promise<Transition> {
  const { state } = stepContext
  const user = state.user!
  try {
    const saveCredential = await verifyAnswer(withUserActor(request.context, user), user)
    const { enrolling: _, ...rest } = state
    const provedFactors = { amr: [...state.amr, ...amr], methods: [...state.methods, method] }
    return {
      to: { ...rest, ...provedFactors, offersBackupCodes: true },
      done: true,
      effects: async (tx) => {
        try {
          await saveCredential(withUserActor(tx, user))
        } catch (error) {
          throw new TransitionRefused(refusalTransition(request, stepContext, method, error))
        }
      },
    }
  } catch (error) {
    return refusalTransition(request, stepContext, method, error)
  }
}

/**
 * Creates the transition of a failed enrollment.
 * @throws the error if it is unexpected
 */
function refusalTransition(
  request: RequestContext,
  stepContext: StepContext,
  method: 'totp' | 'passkey',
  error: unknown,
): Transition {
  if (!(error instanceof ApiError)) throw error
  const { state } = stepContext
  // The user has set up an authenticator app in the meantime, for example in another window. The next step asks for its
  // code.
  if (error.code === 'conflict' && method === 'totp') return { to: state, done: true }
  if (method === 'totp' && error.code === 'invalid_request') return { to: state, problems: [{ key: 'app_code_wrong' }] }
  if (!['not_found', 'invalid_request', 'conflict'].includes(error.code)) throw error
  const key = method === 'totp' ? 'enrollment_expired' : 'passkey_refused'
  return { to: state, problems: [{ key }], resolveState: (tx) => restartEnrollment(request, tx, stepContext, state) }
}

const restartEnrollment = async (
  request: RequestContext,
  tx: Context,
  stepContext: StepContext,
  state: LoginState,
): Promise<LoginState> => {
  const step = state.step === 'enroll_passkey' ? enrollPasskey : enrollTotp
  return step.prepare!(request, tx, { ...stepContext, state })
}

const otherEnrollmentSteps = (request: RequestContext, { step }: LoginState) =>
  enrollmentSteps(request).filter((name) => name !== step)

/** Switches to the other kind of factor, or back to the sign-in page; undefined for any other button. */
function navigationTransition(request: RequestContext, stepContext: StepContext, form: Form): Transition | undefined {
  const { state } = stepContext
  const action = formField(form, 'method')
  if (action === 'back') return { to: resetState(state, state.username) }
  const step = otherEnrollmentSteps(request, state).find((name) => name === action)
  return step && { to: state, resolveState: (tx) => restartEnrollment(request, tx, stepContext, { ...state, step }) }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Shows new backup codes. Their hashes are stored when the user confirms that the codes are saved. */
export const issueBackupCodes: Step = {
  async prepare(_, tx, { state }) {
    return { ...state, enrolling: { id: '', encryptedSecret: tx.encryptor.encrypt(generateBackupCodes().join(' ')) } }
  },

  render: (request, { view, state }) => backupCodesPage(view, decryptBackupCodes(request, state)),

  async handleSubmission(request, { state }, form) {
    if (formField(form, 'method') !== 'kept') return { to: state }
    const user = state.user!
    const { enrolling: _, offersBackupCodes: __, ...rest } = state
    const saveBackupCodes = prepareBackupCodes(request.context, decryptBackupCodes(request, state))
    return {
      to: rest,
      done: true,
      effects: async (tx) => {
        await lockVerifierOwner(tx, user)
        await saveBackupCodes(withUserActor(tx, user), user)
      },
    }
  },
}

const decryptBackupCodes = ({ context }: RequestContext, { enrolling }: LoginState): string[] =>
  context.encryptor.decrypt(enrolling!.encryptedSecret!).split(' ')
