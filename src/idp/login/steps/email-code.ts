import { ApiError } from '../../../kernel/errors.js'
import { outside } from '../../../platform/database.js'
import { confirmEmail, mailboxOf } from '../../../resources/credentials/mail-owner.js'
import { recordVerification } from '../../../resources/credentials/sign-in.js'
import { field } from '../../request.js'
import { asUser } from '../../scope.js'
import type { Journey } from '../journey.js'
import { checkSecret, mayBeSent, prepareSecret, sendSecret } from '../mail.js'
import { methodsOf } from '../methods/index.js'
import { codePage, linkPage } from '../pages/mail.js'
import { makeAccount, maySignUp, signedUp } from '../sign-up.js'
import { anew, type LoginState, type MailPurpose, type SentSecret } from '../state.js'
import { type Asked, type Move, Refused, type Step } from './step.js'

/** A code that went out by mail is typed. What it proves depends on why it was sent. */
export const emailCode: Step = {
  /** Only where the issuer wants an address confirmed that nobody has confirmed yet. */
  async enter(inside, { state, journey, view }) {
    const user = state.user!
    const email = (await mailboxOf(inside, user))?.email ?? null
    const letter = { journey, view, purpose: 'verify', email, address: user.username, user } as const
    if (!(await outside(inside, 'may mail be sent', () => mayBeSent(letter)))) {
      const { sent } = prepareSecret(state, { ...letter, email: null })
      return { ...state, sent: { ...sent, email: email ?? sent.email, expiresAt: 0 } }
    }
    const { sent, effects } = prepareSecret(state, letter)
    await effects(inside)
    return { ...state, sent }
  },

  show: ({ view, state }, problems) =>
    codePage(view, addressOn(state), wasHeld(state) ? [...problems, { key: 'too_many_mails' }] : problems),
  answer: (asked, form) => answered(asked, field(form, 'code') ?? '', field(form, 'method')),
}

/** A link that went out by mail was opened in this browser. A page asks first, for programs open links too. */
export const emailLink: Step = {
  show: ({ view, state }, problems, query) => linkPage(view, addressOn(state), field(query, 'link'), problems),
  answer: (asked, form) => answered(asked, field(form, 'link') ?? '', field(form, 'method')),
}

/** Nothing was sent to confirm an address, because so much was sent already. */
const wasHeld = ({ sent }: LoginState): boolean => sent?.purpose === 'verify' && sent.void

/**
 * The address that the page speaks of. Who has not shown yet who they are reads what they typed: which address belongs
 * to a username, and how it is written, is nobody else's business.
 */
const addressOn = ({ sent, username }: LoginState): string => (sent!.purpose === 'verify' ? sent!.email : username)

async function answered(asked: Asked, secret: string, named: string | undefined): Promise<Move> {
  const { state, journey } = asked
  const sent = state.sent!
  if (named === 'back') return { to: anew(state, state.username) }
  if (named === 'again') return again(asked, sent)
  if (!isOffered(asked, sent)) return outdated(state)
  if (secret === '') return { to: state, problems: [{ key: 'missing' }] }
  const verdict = await checkSecret(journey.uid, sent, secret)
  if (verdict.outcome === 'right') return proved(asked, sent)
  const key = verdict.outcome === 'spent' ? 'code_spent' : 'code_wrong'
  return { to: { ...state, sent: verdict.sent }, problems: [{ key }] }
}

/** Another one, to the same address; the one before is good no more. */
async function again({ state, journey, view }: Asked, sent: SentSecret): Promise<Move> {
  const { purpose, user } = sent
  const email = sent.void && !wasHeld(state) ? null : sent.email
  const address = user?.username ?? state.username
  const move = await sendSecret(state, { journey, view, purpose, email, address, user })
  return move.problems ? { ...move, to: state } : move
}

function proved({ state, journey }: Asked, sent: SentSecret): Move {
  const { sent: _, ...rest } = state
  const { purpose, email } = sent
  if (purpose === 'sign_up') return signUp(rest, journey, email)
  const user = sent.user!
  const method = state.step === 'email_link' ? 'email_link' : 'email_otp'
  return {
    to: rest,
    done: true,
    becomes: async (inside) => {
      const here = asUser(inside, user)
      const mailbox = await mailboxOf(here, user)
      if (mailbox?.email !== email) throw new Refused(moved(rest, purpose))
      await recordVerification(here, user, method)
      if (purpose === 'verify') {
        await confirmEmail(here, user)
        return rest
      }
      // The maker's password of an unclaimed account gives way to one of the mailbox's owner (decision 0062).
      const replaces = mailbox.unclaimed && mailbox.ownPassword && methodsOf('password').length > 0
      const mustChange = purpose === 'reset' || replaces
      const proof = { mailbox: email, amr: [...state.amr, 'otp'], methods: [...state.methods, method] }
      return { ...rest, ...proof, user, mustChange }
    },
  }
}

/** The user has another address meanwhile: what was sent to the one before proves nothing. */
const moved = (state: LoginState, purpose: MailPurpose): Move =>
  purpose === 'verify' ? { to: state, done: true } : outdated(state)

const outdated = (state: LoginState): Move => ({ to: anew(state, state.username), problems: [{ key: 'stale' }] })

/** May people still come this way? The issuer may have closed it since the mail went out. */
function isOffered({ state, journey }: Asked, { purpose }: SentSecret): boolean {
  if (purpose === 'verify') return true
  if (purpose === 'sign_up') return maySignUp(journey)
  const kind = purpose === 'reset' ? 'password' : state.step === 'email_link' ? 'email_link' : 'email_otp'
  return methodsOf(kind).length > 0
}

/** The account is made now that the address is known to be theirs; together with a passkey, if it is to have one. */
function signUp(state: LoginState, journey: Journey, email: string): Move {
  const details = { ...state.signUp!, email, proved: true }
  if (details.userId !== undefined) return { to: { ...state, step: 'sign_up_passkey', signUp: details } }
  return {
    to: state,
    done: true,
    becomes: async (inside) => {
      try {
        return signedUp(inside, state, await makeAccount(inside, journey, details, true), true)
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'conflict') throw error
        throw new Refused({ to: anew(state, email), problems: [{ key: 'taken' }] })
      }
    },
  }
}
