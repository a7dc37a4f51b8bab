/**
 * Passkeys on the hosted pages: WebAuthn options and verification. The challenge is derived from the login transaction
 * and the version of its form. Each version accepts one submission, so a challenge is valid once and in one browser,
 * and does not have to be stored. The step `enroll_passkey` uses stored challenges instead.
 */
import { createHmac } from 'node:crypto'
import { limits } from '../../kernel/limits.js'
import { parseJson } from '../../kernel/safe-json.js'
import {
  type Ceremony,
  type PasskeyDescriptor,
  recordPasskeyUse,
  verifyPasskeyAssertion,
} from '../../resources/credentials/passkey-assertion.js'
import {
  recordCredentialVerification,
  recordSignInFailure,
  type SignInUser,
} from '../../resources/credentials/sign-in.js'
import { type RequestContext, withUserActor } from '../request-context.js'
import { type Form, formField } from '../request-input.js'
import { type StepContext, type Transition, TransitionRefused } from './steps/step.js'

/** The WebAuthn relying party: the host of the hosted pages. */
export function relyingParty({ runtime }: RequestContext): { rpId: string; origin: string } {
  const { hostname, origin } = new URL(runtime.url)
  return { rpId: hostname, origin }
}

/**
 * Creates the values that a passkey response to the form of this version must match.
 * @param answer the passkey response, if the browser has sent one. Its challenge is also accepted if it was derived
 *   from an older key in SECRET_KEY.
 */
export function createCeremony(
  request: RequestContext,
  { loginTransaction, version }: Pick<StepContext, 'loginTransaction' | 'version'>,
  answer?: object | string,
): Ceremony {
  const { context, runtime } = request
  const challenges = context.encryptor
    .deriveKeys('challenges for passkeys')
    .map((key) =>
      createHmac('sha256', key).update(`${runtime.issuer.id} ${loginTransaction.uid} ${version}`).digest('base64url'),
    )
  const answeredChallenge = challenges.length > 1 && answer ? readChallenge(answer) : undefined
  const challenge = challenges.find((candidate) => candidate === answeredChallenge) ?? challenges[0]!
  return { challenge, ...relyingParty(request) }
}

/** Returns the challenge in a passkey response that is not yet verified; undefined if the response is malformed. */
function readChallenge(answer: object | string): unknown {
  try {
    const parsed = typeof answer === 'string' ? parseJson(answer) : answer
    const { clientDataJSON } = (parsed as { response: { clientDataJSON: string } }).response
    return (parseJson(Buffer.from(clientDataJSON, 'base64url').toString()) as { challenge?: unknown }).challenge
  } catch {
    return undefined
  }
}

/**
 * Creates the PublicKeyCredentialRequestOptionsJSON for the browser.
 * @param allowedPasskeys the passkeys of the user; empty if the passkey identifies the user
 */
export function passkeyRequestOptions(
  request: RequestContext,
  stepContext: Pick<StepContext, 'loginTransaction' | 'version'>,
  allowedPasskeys: readonly PasskeyDescriptor[] = [],
): object {
  const { challenge, rpId } = createCeremony(request, stepContext)
  return {
    challenge,
    rpId,
    timeout: limits.passkeySignInTimeout,
    userVerification: 'required',
    allowCredentials: [...allowedPasskeys],
  }
}

/**
 * Verifies the passkey response of a form and returns the transition to the next state. A passkey with user
 * verification counts as two factors.
 * @param expectedUser the required owner of the passkey; null if the passkey identifies the user
 */
export async function passkeyTransition(
  request: RequestContext,
  stepContext: StepContext,
  form: Form,
  expectedUser: SignInUser | null,
): Promise<Transition> {
  const { context, runtime } = request
  const { state } = stepContext
  const issuer = { accountId: runtime.issuer.accountId, issuerId: runtime.issuer.id }
  const answer = formField(form, 'credential') ?? ''
  if (answer === '') return { to: state, problems: [{ key: 'passkey_failed' }] }
  const refusedTransition: Transition = { to: state, problems: [{ key: 'passkey_refused' }] }
  const decision = await verifyPasskeyAssertion(
    context,
    issuer,
    answer,
    createCeremony(request, stepContext, answer),
    expectedUser?.id ?? null,
  )
  const recordPasskeyFailure = (reason: string, user: SignInUser | undefined) =>
    recordSignInFailure(context, issuer, user, { method: 'passkey', reason })
  if (decision.outcome === 'refused') {
    await recordPasskeyFailure(decision.reason, expectedUser ?? decision.user)
    return refusedTransition
  }
  const { user, used: assertion } = decision
  if (user.status !== 'active') {
    await recordPasskeyFailure(user.status, user)
    return { to: { ...state, user, methods: [] }, done: true }
  }
  let use: Awaited<ReturnType<typeof recordPasskeyUse>> = 'recorded'
  return {
    to: {
      ...state,
      user,
      username: user.username,
      amr: [...state.amr, 'hwk', 'mfa'],
      methods: [...state.methods, 'passkey'],
    },
    done: true,
    effects: async (tx) => {
      use = await recordPasskeyUse(tx, user, assertion)
      if (use !== 'recorded') throw new TransitionRefused(refusedTransition)
      await recordCredentialVerification(withUserActor(tx, user), user, 'passkey', assertion.verifierId)
    },
    onSettled: async () => {
      if (use !== 'recorded') await recordPasskeyFailure(use, user)
    },
  }
}
