/**
 * Codes and links that go out by mail: made, sent and checked. Only a keyed hash stays here, in the state of the one
 * browser that asked; a code is good for five tries and ten minutes.
 */
import { randomInt } from 'node:crypto'
import { MINUTE } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { hmac, randomSecret, sameText, sha256 } from '../../platform/secrets.js'
import { settleFailure, settleSuccess, startAttempt } from '../../resources/credentials/attempts.js'
import { recordFailure, type SignInUser } from '../../resources/credentials/sign-in.js'
import { sendMessage } from '../../resources/messages/messages.js'
import type { MessageKind } from '../../resources/messages/texts.js'
import { usernameKeyOf } from '../../resources/users/usernames.js'
import { scope } from '../scope.js'
import type { Journey } from './journey.js'
import type { View } from './pages/layout.js'
import type { LoginState, MailPurpose, SentSecret } from './state.js'
import type { Move } from './steps/step.js'

/** How long a code or link is good (milliseconds). */
const LIFE = 10 * MINUTE
const TRIES = 5

export interface Letter {
  journey: Journey
  view: View
  purpose: MailPurpose
  /** Where it goes; null when nobody has the address, and then nothing goes out. */
  email: string | null
  /** What the person typed: requests are counted by it, whether or not it is known. */
  address: string
  user: SignInUser | null
  /** What is told instead of a code, where there must not be one. */
  instead?: MessageKind
}

const kinds: Readonly<Record<MailPurpose, MessageKind>> = {
  sign_in: 'sign_in_code',
  sign_up: 'sign_up_code',
  verify: 'verify_code',
  reset: 'reset_code',
}

/** A move to the step in `to`, which asks for what is sent. Too many requests for one address are refused. */
export async function sendSecret(to: LoginState, letter: Letter): Promise<Move> {
  if (!(await mayBeSent(letter))) return { to: { ...to, step: 'sign_in' }, problems: [{ key: 'too_many_mails' }] }
  const { sent, effects } = prepareSecret(to, letter)
  return { to: { ...to, sent }, effects }
}

/**
 * What is counted of this mail, and of answers to it. Anybody can ask for a code in somebody's name, or guess at it. So
 * whoever has shown who they are and confirms an address has counts of their own: strangers cannot use those up.
 */
const counted = (purpose: MailPurpose, user: SignInUser | null, address: string): string =>
  purpose === 'verify'
    ? `verify:${user!.id}`
    : sha256(`${scope().runtime.issuer.id} ${usernameKeyOf(address)}`).slice(0, 32)

/** Counts a mail. @returns false for one too many */
export async function mayBeSent({ purpose, user, address }: Letter): Promise<boolean> {
  const verdict = await scope().context.rateLimiter.spend('mail', counted(purpose, user, address))
  return verdict?.allowed !== false
}

/** Makes a secret for this state. Nobody's address costs the same work, so that the time tells nothing. */
export function prepareSecret(
  { step }: LoginState,
  { journey, view, purpose, email, address, user, instead }: Letter,
): { sent: SentSecret; effects: (inside: Context) => Promise<void> } {
  const { context, runtime } = scope()
  const asLink = step === 'email_link'
  const secret = asLink ? randomSecret() : String(randomInt(0, 1_000_000)).padStart(6, '0')
  const url = `${runtime.url}/interaction/${journey.uid}?link=${secret}`
  const kind = instead ?? (asLink ? 'sign_in_link' : kinds[purpose])
  return {
    sent: {
      purpose,
      email: email ?? address,
      hash: hashesOf(journey.uid, secret)[0]!,
      expiresAt: context.now() + LIFE,
      tries: 0,
      user,
      void: email === null || instead !== undefined,
    },
    effects: (inside) =>
      sendMessage(
        inside,
        runtime.issuer,
        {
          to: email ?? '',
          kind,
          language: view.language,
          places: { minutes: String(LIFE / MINUTE) },
          ...(instead ? {} : asLink ? { url } : { code: secret }),
        },
        LIFE,
      ),
  }
}

/**
 * Bound to the browser's journey: the same digits are of no use anywhere else. The first one is kept; the others are
 * what older keys of this deployment make of it, so that a code from before a rotation still fits.
 */
const hashesOf = (uid: string, secret: string): string[] =>
  scope()
    .context.sealer.deriveEach('codes and links by mail')
    .map((key) => hmac(key, `${scope().runtime.issuer.id} ${uid} ${secret}`))

/** What an answer is worth. `spent`: too old, or guessed at too often; only a new one helps. */
export type SecretVerdict = { outcome: 'right' } | { outcome: 'wrong' | 'spent'; sent: SentSecret }

/**
 * Is this what was sent? A wrong answer counts, for this secret and for the user.
 * @param secret as typed, spaces and hyphens aside
 */
export async function checkSecret(uid: string, sent: SentSecret, secret: string): Promise<SecretVerdict> {
  const { context, runtime } = scope()
  const { id: issuerId, accountId } = runtime.issuer
  const method = secret.length > 12 ? 'email_link' : 'email_otp'
  if (sent.tries >= TRIES || sent.expiresAt <= context.now()) return { outcome: 'spent', sent }
  const user = sent.user ?? undefined
  const { purpose, email } = sent
  const subject = `mail:${purpose === 'verify' || !user ? counted(purpose, sent.user, email) : user.id}`
  const place = { accountId, issuerId }
  if (!(await startAttempt(context, subject))) {
    await recordFailure(context, place, user, { method, reason: 'locked' })
    return { outcome: 'wrong', sent }
  }
  const typed = method === 'email_link' ? secret : secret.replace(/[\s-]/g, '')
  const fits = hashesOf(uid, typed).some((hash) => sameText(hash, sent.hash))
  if (fits && !sent.void) {
    await settleSuccess(context, subject)
    return { outcome: 'right' }
  }
  const lockedUntil = await settleFailure(context, subject)
  await recordFailure(context, place, user, { method, reason: 'wrong_code', lockedUntil })
  const tries = sent.tries + 1
  return { outcome: tries >= TRIES ? 'spent' : 'wrong', sent: { ...sent, tries } }
}
