/**
 * Creates, sends and verifies codes and links by email. The state of the login transaction that requested a code or
 * link contains only its keyed hash. A code or link expires after ten minutes or five failed attempts.
 */
import { randomInt } from 'node:crypto'
import { limits } from '../../kernel/limits.js'
import { MINUTE } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { hmac, isSameText, randomSecret, sha256 } from '../../platform/crypto/secrets.js'
import {
  recordFailedAttempt,
  recordSuccessfulAttempt,
  startAttempt,
} from '../../resources/credentials/failed-attempts.js'
import { recordSignInFailure, type SignInUser } from '../../resources/credentials/sign-in.js'
import type { MessageKind } from '../../resources/messages/message-texts.js'
import { sendMessage } from '../../resources/messages/messages.js'
import { usernameKeyOf } from '../../resources/users/usernames.js'
import type { RequestContext } from '../request-context.js'
import type { EmailChallenge, LoginState, MailPurpose } from './login-state.js'
import type { LoginTransaction } from './login-transaction.js'
import type { View } from './pages/layout.js'
import type { Transition } from './steps/step.js'

export interface EmailChallengeRequest {
  loginTransaction: LoginTransaction
  view: View
  purpose: MailPurpose
  /** The recipient; null if no email is sent, for example because the entered username belongs to no user. */
  email: string | null
  /**
   * The username or address as entered, by which emails are counted, whether or not it belongs to a user; the username
   * for the purpose `verify`.
   */
  enteredAddress: string
  /** The user who signs in, resets the password or verifies the address; null for sign-up or an unknown username. */
  user: SignInUser | null
  /** A message that is sent instead of a code, because the address already has an account. */
  replacementMessage?: MessageKind
}

const messageKinds: Readonly<Record<MailPurpose, MessageKind>> = {
  sign_in: 'sign_in_code',
  sign_up: 'sign_up_code',
  verify: 'verify_code',
  reset: 'reset_code',
}

/**
 * Returns a transition to the step in `to`, which asks for the code or link. The transition also sends the email. If
 * the rate limit is exceeded, returns a transition to the step `sign_in` instead.
 */
export async function sendEmailChallenge(
  request: RequestContext,
  to: LoginState,
  challengeRequest: EmailChallengeRequest,
): Promise<Transition> {
  if (!(await consumeEmailRateLimit(request, challengeRequest)))
    return { to: { ...to, step: 'sign_in' }, problems: [{ key: 'too_many_mails' }] }
  const { emailChallenge, effects } = createEmailChallenge(request, to, challengeRequest)
  return { to: { ...to, emailChallenge }, effects }
}

/**
 * Returns the key by which emails are counted, and failed attempts for an address without a user or for the purpose
 * `verify`: a hash of the entered address, or the user id for the purpose `verify`. Anyone can request codes for any
 * address, and guess them, but must not exhaust the limits of a user who has already signed in and verifies an address.
 */
const rateLimitKey = (
  { runtime }: RequestContext,
  purpose: MailPurpose,
  user: SignInUser | null,
  address: string,
): string =>
  purpose === 'verify' ? `verify:${user!.id}` : sha256(`${runtime.issuer.id} ${usernameKeyOf(address)}`).slice(0, 32)

/**
 * Counts an email against the rate limit of the entered address or, for the purpose `verify`, of the user.
 * @returns false if the limit is exceeded
 */
export async function consumeEmailRateLimit(
  request: RequestContext,
  { purpose, user, enteredAddress }: EmailChallengeRequest,
): Promise<boolean> {
  const decision = await request.context.rateLimiter.consume(
    'mail',
    rateLimitKey(request, purpose, user, enteredAddress),
  )
  return decision?.allowed !== false
}

/**
 * Creates a code or link. For an unknown address, the work is the same, so that the duration does not reveal whether
 * the address is known.
 * @returns the challenge to store, and the database writes that send the email
 */
export function createEmailChallenge(
  request: RequestContext,
  { step }: LoginState,
  { loginTransaction, view, purpose, email, enteredAddress, user, replacementMessage }: EmailChallengeRequest,
): { emailChallenge: EmailChallenge; effects: (tx: Context) => Promise<void> } {
  const { context, runtime } = request
  const asLink = step === 'email_link'
  const secret = asLink ? randomSecret() : String(randomInt(0, 1_000_000)).padStart(6, '0')
  const url = `${runtime.url}/interaction/${loginTransaction.uid}?link=${secret}`
  const kind = replacementMessage ?? (asLink ? 'sign_in_link' : messageKinds[purpose])
  return {
    emailChallenge: {
      purpose,
      email: email ?? enteredAddress,
      hash: challengeHashes(request, loginTransaction.uid, secret)[0]!,
      expiresAt: context.now() + limits.emailCodeLifetime,
      attempts: 0,
      user,
      isDummy: email === null || replacementMessage !== undefined,
    },
    effects: (tx) =>
      sendMessage(
        tx,
        runtime.issuer,
        {
          to: email ?? '',
          kind,
          language: view.language,
          placeholders: { minutes: String(limits.emailCodeLifetime / MINUTE) },
          ...(replacementMessage ? {} : asLink ? { url } : { code: secret }),
        },
        limits.emailCodeLifetime,
      ),
  }
}

/**
 * Returns the keyed hashes of a code or link. They include the uid of the login transaction, so that a code is valid
 * only in its login transaction. The first hash is stored. The others use older keys of the deployment, so that a code
 * from before a rotation of SECRET_KEY still matches.
 */
const challengeHashes = ({ context, runtime }: RequestContext, uid: string, secret: string): string[] =>
  context.encryptor
    .deriveKeys('codes and links by mail')
    .map((key) => hmac(key, `${runtime.issuer.id} ${uid} ${secret}`))

/** Result of an attempt. `expired`: the code is too old or had too many attempts, so that the user needs a new code. */
export type EmailChallengeDecision =
  | { outcome: 'correct' }
  | { outcome: 'wrong' | 'expired'; emailChallenge: EmailChallenge }

/**
 * Verifies a code or link. A wrong code or link counts as a failed attempt for this challenge and for the user, or,
 * without a user, for the entered address. During a lock, every code is wrong.
 * @param secret as entered; spaces and hyphens in a code are ignored
 */
export async function verifyEmailChallenge(
  request: RequestContext,
  uid: string,
  emailChallenge: EmailChallenge,
  secret: string,
): Promise<EmailChallengeDecision> {
  const { context, runtime } = request
  const { id: issuerId, accountId } = runtime.issuer
  const method = secret.length > 12 ? 'email_link' : 'email_otp'
  if (emailChallenge.attempts >= limits.maxEmailCodeAttempts || emailChallenge.expiresAt <= context.now())
    return { outcome: 'expired', emailChallenge }
  const user = emailChallenge.user ?? undefined
  const { purpose, email } = emailChallenge
  const subject = `mail:${purpose === 'verify' || !user ? rateLimitKey(request, purpose, emailChallenge.user, email) : user.id}`
  const issuerPath = { accountId, issuerId }
  if (!(await startAttempt(context, subject))) {
    await recordSignInFailure(context, issuerPath, user, { method, reason: 'locked' })
    return { outcome: 'wrong', emailChallenge }
  }
  const normalizedSecret = method === 'email_link' ? secret : secret.replace(/[\s-]/g, '')
  const matches = challengeHashes(request, uid, normalizedSecret).some((hash) => isSameText(hash, emailChallenge.hash))
  if (matches && !emailChallenge.isDummy) {
    await recordSuccessfulAttempt(context, subject)
    return { outcome: 'correct' }
  }
  const lockedUntil = await recordFailedAttempt(context, subject)
  await recordSignInFailure(context, issuerPath, user, { method, reason: 'wrong_code', lockedUntil })
  const attempts = emailChallenge.attempts + 1
  return {
    outcome: attempts >= limits.maxEmailCodeAttempts ? 'expired' : 'wrong',
    emailChallenge: { ...emailChallenge, attempts },
  }
}
