/**
 * Passkeys on the hosted pages: what a browser is asked to sign, and what its answer is worth. The challenge is derived
 * from the interaction and the version of the form that carries it. The row of that interaction takes one answer per
 * version, so a challenge is good once, in one browser, and need not be written down before anybody answers.
 */
import { createHmac } from 'node:crypto'
import { parseJson } from '../../kernel/gate.js'
import {
  type Ceremony,
  checkAssertion,
  type KnownPasskey,
  usePasskey,
} from '../../resources/credentials/passkey-assertion.js'
import { recordFailure, recordVerification, type SignInUser } from '../../resources/credentials/sign-in.js'
import { type Form, field } from '../request.js'
import { asUser, scope } from '../scope.js'
import { type Asked, type Move, Refused } from './steps/step.js'

/** How long a browser may take to ask for a finger or a face (milliseconds). */
const PATIENCE = 300_000

/** The relying party of the pages: the host that they are served under. */
export function relyingParty(): { rpId: string; origin: string } {
  const { hostname, origin } = new URL(scope().runtime.url)
  return { rpId: hostname, origin }
}

/**
 * What an answer to the form of this version must be bound to.
 * @param answer of a browser, if it has answered: its challenge may be one that an older key of this deployment made
 */
export function ceremonyOf(
  { journey, version }: Pick<Asked, 'journey' | 'version'>,
  answer?: object | string,
): Ceremony {
  const { context, runtime } = scope()
  const challenges = context.sealer
    .deriveEach('challenges for passkeys')
    .map((key) =>
      createHmac('sha256', key).update(`${runtime.issuer.id} ${journey.uid} ${version}`).digest('base64url'),
    )
  const answered = challenges.length > 1 && answer ? challengeIn(answer) : undefined
  const challenge = challenges.find((made) => made === answered) ?? challenges[0]!
  return { challenge, ...relyingParty() }
}

/** What a browser says that it has signed; whether it did is for the ceremony to find out. */
function challengeIn(answer: object | string): unknown {
  try {
    const parsed = typeof answer === 'string' ? parseJson(answer) : answer
    const { clientDataJSON } = (parsed as { response: { clientDataJSON: string } }).response
    return (parseJson(Buffer.from(clientDataJSON, 'base64url').toString()) as { challenge?: unknown }).challenge
  } catch {
    return undefined
  }
}

/**
 * What the browser is asked for, PublicKeyCredentialRequestOptionsJSON.
 * @param known the passkeys that may answer; none where the passkey itself says who signs in
 */
export function requestOptions(asked: Pick<Asked, 'journey' | 'version'>, known: readonly KnownPasskey[] = []): object {
  const { challenge, rpId } = ceremonyOf(asked)
  return { challenge, rpId, timeout: PATIENCE, userVerification: 'required', allowCredentials: [...known] }
}

/**
 * The move that an answer of a passkey leads to. With a person's finger, face or PIN it is two factors in one.
 * @param who has to be the owner; null where the passkey says who signs in
 */
export async function passkeyMove(asked: Asked, form: Form, who: SignInUser | null): Promise<Move> {
  const { context, runtime } = scope()
  const { state } = asked
  const issuer = { accountId: runtime.issuer.accountId, issuerId: runtime.issuer.id }
  const answer = field(form, 'credential') ?? ''
  if (answer === '') return { to: state, problems: [{ key: 'passkey_failed' }] }
  const refusal: Move = { to: state, problems: [{ key: 'passkey_refused' }] }
  const verdict = await checkAssertion(context, issuer, answer, ceremonyOf(asked, answer), who?.id ?? null)
  const failed = (reason: string, user: SignInUser | undefined) =>
    recordFailure(context, issuer, user, { method: 'passkey', reason })
  if (verdict.outcome === 'refused') {
    await failed(verdict.reason, who ?? verdict.user)
    return refusal
  }
  const { user, used } = verdict
  if (user.status !== 'active') {
    await failed(user.status, user)
    return { to: { ...state, user, methods: [] }, done: true }
  }
  let grew = true
  return {
    to: {
      ...state,
      user,
      username: user.username,
      amr: [...state.amr, 'hwk', 'mfa'],
      methods: [...state.methods, 'passkey'],
    },
    done: true,
    effects: async (inside) => {
      grew = await usePasskey(inside, user, used)
      if (!grew) throw new Refused(refusal)
      await recordVerification(asUser(inside, user), user, 'passkey', used.verifierId)
    },
    ended: async () => {
      if (!grew) await failed('wrong_sign_count', user)
    },
  }
}
