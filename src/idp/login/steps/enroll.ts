/** Getting a second factor, where one is asked for and the person has none. */
import { ApiError } from '../../../kernel/errors.js'
import { parseJson } from '../../../kernel/gate.js'
import { startOf } from '../../../kernel/text.js'
import type { Context } from '../../../platform/context.js'
import { keepBackupCodes, newBackupCodes } from '../../../resources/credentials/backup-codes.js'
import { lockOwner, requireOwner } from '../../../resources/credentials/kind.js'
import { passkey } from '../../../resources/credentials/passkey.js'
import { challengePasskey } from '../../../resources/credentials/passkey-challenge.js'
import type { SignInUser } from '../../../resources/credentials/sign-in.js'
import { proveEnrollment, totpEnrollment } from '../../../resources/credentials/totp.js'
import { type Form, field } from '../../request.js'
import { asUser, scope } from '../../scope.js'
import { codesPage, enrollPasskeyPage, enrollTotpPage } from '../pages/enroll.js'
import { relyingParty } from '../passkeys.js'
import { enrolments } from '../second-factors.js'
import { anew, type LoginState } from '../state.js'
import { type Asked, type Move, Refused, type Step } from './step.js'

const placeOf = ({ accountId, issuerId, id: userId }: SignInUser) => ({ accountId, issuerId, userId })

/** An authenticator app learns a secret, and shows that it has it. */
export const enrollTotp: Step = {
  async enter(inside, { state, view }) {
    const user = state.user!
    const here = asUser(inside, user)
    const owner = await requireOwner(here, placeOf(user))
    const issuerName = startOf(view.name.replace(/[:\p{Cc}]/gu, ' ').trim(), 100)
    const begin = await totpEnrollment.prepare(here, owner, { type: 'totp_enrollment', issuerName })
    const { enrollmentId = '', provisioningUri = '' } = await begin(here)
    return { ...state, enrolling: { id: enrollmentId, sealed: inside.sealer.seal(provisioningUri) } }
  },

  show: ({ view, state }, problems) =>
    enrollTotpPage(view, scope().context.sealer.open(state.enrolling!.sealed!), { others: others(state) }, problems),

  async answer(asked, form) {
    const turn = elsewhere(asked, form)
    if (turn) return turn
    const code = (field(form, 'code') ?? '').trim().slice(0, 32)
    if (code === '') return { to: asked.state, problems: [{ key: 'missing' }] }
    const { state } = asked
    const proof = { enrollmentId: state.enrolling!.id, code }
    return enrolled(asked, 'totp', ['otp', 'mfa'], (context, user) => proveEnrollment(context, placeOf(user), proof))
  },
}

/** A new passkey answers a challenge. */
export const enrollPasskey: Step = {
  async enter(inside, { state }) {
    const user = state.user!
    const { rpId } = relyingParty()
    const { challengeId, options } = await challengePasskey(asUser(inside, user), placeOf(user), { rpId })
    return { ...state, enrolling: { id: challengeId, options } }
  },

  show: ({ view, state }, problems) =>
    enrollPasskeyPage(view, state.enrolling!.options!, { others: others(state) }, problems),

  async answer(asked, form) {
    const turn = elsewhere(asked, form)
    if (turn) return turn
    const credential = objectOf(field(form, 'credential') ?? '')
    if (!credential) return { to: asked.state, problems: [{ key: 'passkey_failed' }] }
    const challengeId = asked.state.enrolling!.id
    return enrolled(asked, 'passkey', ['hwk', 'mfa'], async (context, user) => {
      const owner = await requireOwner(context, placeOf(user))
      const keep = await passkey.prepare(context, owner, { type: 'passkey', credential, challengeId })
      return async (inside) => {
        await lockOwner(inside, owner)
        return keep(inside)
      }
    })
  },
}

/**
 * The move of an answered enrolment. One that is used up or out of time gives way to a new one; a wrong code may be
 * tried again.
 * @param prove checks the answer at once, and returns what keeps the new credential
 */
async function enrolled(
  asked: Asked,
  method: 'totp' | 'passkey',
  amr: readonly string[],
  prove: (context: Context, user: SignInUser) => Promise<(inside: Context) => Promise<unknown>>,
): Promise<Move> {
  const { state } = asked
  const user = state.user!
  try {
    const keep = await prove(asUser(scope().context, user), user)
    const { enrolling: _, ...rest } = state
    const proved = { amr: [...state.amr, ...amr], methods: [...state.methods, method] }
    return {
      to: { ...rest, ...proved, offersCodes: true },
      done: true,
      effects: async (inside) => {
        try {
          await keep(asUser(inside, user))
        } catch (error) {
          throw new Refused(refusal(asked, method, error))
        }
      },
    }
  } catch (error) {
    return refusal(asked, method, error)
  }
}

/** @throws whatever else the error is */
function refusal(asked: Asked, method: 'totp' | 'passkey', error: unknown): Move {
  if (!(error instanceof ApiError)) throw error
  const { state } = asked
  // Somebody gave them the credential meanwhile, in another window perhaps: then that one is asked for.
  if (error.code === 'conflict' && method === 'totp') return { to: state, done: true }
  if (method === 'totp' && error.code === 'invalid_request') return { to: state, problems: [{ key: 'app_code_wrong' }] }
  if (!['not_found', 'invalid_request', 'conflict'].includes(error.code)) throw error
  const key = method === 'totp' ? 'enrolment_spent' : 'passkey_refused'
  return { to: state, problems: [{ key }], becomes: (inside) => entered(inside, asked, state) }
}

const entered = async (inside: Context, asked: Asked, state: LoginState): Promise<LoginState> => {
  const step = state.step === 'enroll_passkey' ? enrollPasskey : enrollTotp
  return step.enter!(inside, { ...asked, state })
}

const others = ({ step }: LoginState) => enrolments().filter((name) => name !== step)

/** The other kind of factor, or back to who they are. */
function elsewhere(asked: Asked, form: Form): Move | undefined {
  const { state } = asked
  const named = field(form, 'method')
  if (named === 'back') return { to: anew(state, state.username) }
  const step = others(state).find((name) => name === named)
  return step && { to: state, becomes: (inside) => entered(inside, asked, { ...state, step }) }
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Codes to keep, shown this once; they count from the moment when the person says that they have them. */
export const newCodes: Step = {
  async enter(inside, { state }) {
    return { ...state, enrolling: { id: '', sealed: inside.sealer.seal(newBackupCodes().join(' ')) } }
  },

  show: ({ view, state }) => codesPage(view, codesIn(state)),

  async answer({ state }, form) {
    if (field(form, 'method') !== 'kept') return { to: state }
    const user = state.user!
    const { enrolling: _, offersCodes: __, ...rest } = state
    const keep = keepBackupCodes(scope().context, codesIn(state))
    return {
      to: rest,
      done: true,
      effects: async (inside) => {
        await lockOwner(inside, user)
        await keep(asUser(inside, user), user)
      },
    }
  },
}

const codesIn = ({ enrolling }: LoginState): string[] => scope().context.sealer.open(enrolling!.sealed!).split(' ')
