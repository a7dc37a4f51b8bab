/**
 * Where a browser stands in signing in (security rule 22): a row on the server, moved by compare-and-set only. A form
 * carries the version that it was shown for, under a keyed hash, so that it can be answered once, in order, and by the
 * browser that it was shown to.
 */
import { createHmac } from 'node:crypto'
import { startOf } from '../../kernel/text.js'
import type { Context } from '../../platform/context.js'
import { sameText } from '../../platform/secrets.js'
import type { UpstreamIdentity } from '../../resources/credentials/linked-identity.js'
import type { SignInUser } from '../../resources/credentials/sign-in.js'
import type { OpenInvitation } from '../../resources/organizations/accept-invitation.js'
import { scope } from '../scope.js'
import { INTERACTION_LIFETIME } from '../tokens.js'
import type { Factor } from './second-factors.js'

/** The steps, in no particular order: which comes next is for flow.ts to say. */
export type StepName =
  | 'account'
  | 'invitation'
  | 'recovery'
  | 'sign_in'
  | 'sign_up'
  | 'sign_up_passkey'
  | 'reset'
  | 'email_code'
  | 'email_link'
  | 'new_password'
  | Factor
  | 'enroll_totp'
  | 'enroll_passkey'
  | 'new_codes'
  | 'no_factor'
  | 'link'
  | 'organization'
  | 'waiting'

/** Why a code or link was sent by mail, and so what it proves. */
export type MailPurpose = 'sign_in' | 'sign_up' | 'verify' | 'reset'

/** A code or link on its way; only its keyed hash stands here. */
export interface SentSecret {
  purpose: MailPurpose
  email: string
  hash: string
  /** Unix milliseconds. */
  expiresAt: number
  tries: number
  /** No answer is the right one: the address is nobody's, or nothing was to be sent to it. */
  void: boolean
  /** Whose address it is. */
  user: SignInUser | null
}

/** A way out to an upstream provider, and what came back from it: see upstream/attempt.ts. */
export interface UpstreamAttempt {
  methodId: string
  /** SHA-256 of the `state` parameter. */
  hash: string
  /** Sealed: the PKCE verifier and the nonce. */
  sealed: string
  /** The page that the browser which went out has open. */
  returnTo: string
  /** Unix milliseconds. */
  expiresAt: number
  /** SHA-256 of the word that only the browser which came back knows. */
  handle?: string
  /** Sealed: what came back. Gone once it is used. */
  answer?: string
}

/** An account at a provider that can become theirs, once they have signed in as an owner of its address. */
export interface Linking extends UpstreamIdentity {
  /** What people call the provider. */
  name: string
  /** Confirmed by the provider. */
  email: string
  /** Ids of the users who have that address here. */
  owners: string[]
}

/** What somebody who signs up has said so far. */
export interface SignUp {
  email: string
  passwordHash: string | null
  profile: Record<string, string>
  reason: string | null
  /** Of the account to be, where it is made together with a passkey, which holds it. */
  userId?: string
  /** The address was proved already. */
  proved?: boolean
}

/** What the form of somebody who signs up is filled in with again: never the password, in no form. */
export const draftOf = ({ email, profile, reason }: SignUp): SignUp => ({ email, passwordHash: null, profile, reason })

/** A credential in the making. */
export interface Enrolling {
  /** Of the enrolment; empty for backup codes, which have none. */
  id: string
  /** What is shown only here: the URI for an authenticator app, backup codes. */
  sealed?: string
  /** What a browser is asked for. */
  options?: object
}

/** The invitation that somebody came with. */
export interface InvitationFacts extends OpenInvitation {
  /** SHA-256 of its token. */
  tokenHash: string
}

/** The recovery link that somebody came with (decision 0067). */
export interface Recovery {
  user: SignInUser
  /** SHA-256 of its token. */
  tokenHash: string
  /** Ids of the credentials that its owner has lost; they are removed when the recovery is completed. */
  lost: string[]
  /** A second factor is among them, so another one is set up. */
  lostFactor: boolean
  /** The link was used in this sign-in. */
  consumed?: boolean
  completed?: boolean
}

export interface LoginState {
  step: StepName | 'done'
  /** As typed last, to be shown again. */
  username: string
  /** Known from the first factor on. */
  user: SignInUser | null
  /** From when on they are known (Unix milliseconds). */
  since?: number
  /** What was proved, in terms of `amr` (RFC 8176) and of our own methods. */
  amr: string[]
  methods: string[]
  /** The address whose mail they have shown to read in this sign-in. */
  mailbox?: string
  /** The user is the one who is signed in with this browser already, and nothing was proved anew. */
  asBefore?: boolean
  /** The password just proved may not be used again, or there is to be a new one. */
  mustChange?: boolean
  /** The second factors to choose from, the preferred one first. */
  factors?: Factor[]
  enrolling?: Enrolling
  /** They have a new second factor, or no codes left: backup codes go with it. */
  offersCodes?: boolean
  sent?: SentSecret
  signUp?: SignUp
  upstream?: UpstreamAttempt
  /** What they are asked about, having come another way. */
  linking?: Linking
  /** What they have come with: theirs as soon as no second factor stands between them and the account. */
  claimed?: Linking
  /** Set from the beginning on where the journey is that of an invitation. */
  invitation?: InvitationFacts
  recovery?: Recovery
  /** The organization to go on with, chosen by the person; null for none of them. */
  orgId?: string | null
}

export interface Standing {
  state: LoginState
  version: number
}

/** Nothing has been said yet. */
export const beginning = (username = ''): LoginState => ({
  step: 'sign_in',
  username: startOf(username, 254),
  user: null,
  amr: [],
  methods: [],
})

/** The same journey from its first step on, with whoever comes now. */
export const anew = ({ invitation, linking }: LoginState, username = ''): LoginState => ({
  ...beginning(username),
  ...(invitation ? { invitation } : {}),
  ...(linking ? { linking } : {}),
})

const standingText = 'SELECT state, version FROM login_states WHERE issuer_id = $1 AND uid = $2 AND expires_at > $3'

/** How far this interaction has come; undefined for one that nobody has answered yet. */
export async function standingOf(uid: string): Promise<Standing | undefined> {
  const { context, runtime } = scope()
  const values = [runtime.issuer.id, uid, context.now()]
  const [standing] = await context.query<Standing & Record<string, unknown>>('login-standing', standingText, values)
  return standing
}

/** Somebody answered this form already, or it belongs to an earlier step. */
export class StaleForm extends Error {}

const beginText = `
  INSERT INTO login_states (issuer_id, uid, state, account_id, version, expires_at)
  VALUES ($1, $2, $3::jsonb, $4, 1, $5) ON CONFLICT DO NOTHING RETURNING 1`
const claimText = `
  UPDATE login_states SET state = $3::jsonb, version = version + 1
  WHERE issuer_id = $1 AND uid = $2 AND version = $4 RETURNING 1`
const keepText = 'UPDATE login_states SET state = $3::jsonb WHERE issuer_id = $1 AND uid = $2'

/**
 * Takes the turn to answer this version: of several answers at once one goes on, while the others wait for its end. Call
 * it first in the transaction of the move.
 * @throws StaleForm when the version is no longer the current one
 */
export async function claim(inside: Context, uid: string, { state, version }: Standing): Promise<void> {
  const { id: issuerId, accountId } = scope().runtime.issuer
  const values = [issuerId, uid, JSON.stringify(state)]
  const claimed = await (version === 0
    ? inside.query('login-begin', beginText, [...values, accountId, inside.now() + INTERACTION_LIFETIME * 1000])
    : inside.query('login-claim', claimText, [...values, version]))
  if (claimed.length === 0) throw new StaleForm()
}

/** Where the answer leads, by whoever has the turn. */
export async function keep(inside: Context, uid: string, state: LoginState): Promise<void> {
  await inside.query('login-keep', keepText, [scope().runtime.issuer.id, uid, JSON.stringify(state)])
}

/** The hidden field of a form: says which version it was shown for, and that we showed it. */
export function formToken(purpose: string, version: number): string {
  return formTokens(purpose, version)[0]!
}

/** As every key of the deployment makes it, the current one first: a form outlives a change of keys. */
function formTokens(purpose: string, version: number): string[] {
  const { context, runtime } = scope()
  return context.sealer.deriveEach('forms of the hosted pages').map((key) => {
    const seal = createHmac('sha256', key).update(`${runtime.issuer.id} ${purpose} ${version}`).digest('base64url')
    return `${version}.${seal}`
  })
}

/** The version that a form was shown for; undefined when we never showed such a form. */
export function formVersion(purpose: string, token: string | undefined): number | undefined {
  const version = Number(/^(\d{1,9})\./.exec(token ?? '')?.[1] ?? Number.NaN)
  if (!Number.isInteger(version)) return undefined
  return formTokens(purpose, version).some((made) => sameText(made, token!)) ? version : undefined
}
