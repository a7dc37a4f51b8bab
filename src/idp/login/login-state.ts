/**
 * The state of a login transaction (docs/contract.md#login-transactions): a row that is updated with optimistic
 * locking. A form contains the version for which it was shown, with a keyed hash of the version and the uid, so that it
 * is accepted only once, in order, and in its login transaction.
 */
import { createHmac } from 'node:crypto'
import { limits } from '../../kernel/limits.js'
import { truncateText } from '../../kernel/text.js'
import type { Context } from '../../platform/context.js'
import { isSameText } from '../../platform/crypto/secrets.js'
import type { UpstreamIdentity } from '../../resources/credentials/linked-identity.js'
import type { SignInUser } from '../../resources/credentials/sign-in.js'
import type { PendingInvitation } from '../../resources/organizations/invitation-acceptance.js'
import type { RequestContext } from '../request-context.js'

/** The second factors, the preferred one first. Each name is also the name of the step that asks for the factor. */
export const factors = ['passkey', 'totp', 'backup_codes'] as const
export type Factor = (typeof factors)[number]

/** The steps, in no particular order. next-step.ts determines which step follows a completed step. */
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

/** The purpose of a code or link by email, which determines what the code or link proves. */
export type MailPurpose = 'sign_in' | 'sign_up' | 'verify' | 'reset'

/** A code or link by email. The state contains only its keyed hash. */
export interface EmailChallenge {
  purpose: MailPurpose
  email: string
  hash: string
  /** Unix milliseconds. */
  expiresAt: number
  attempts: number
  /** No submission can be correct, because no code or link was sent. */
  isDummy: boolean
  /** The user who signs in, resets the password or verifies the address; null for sign-up or an unknown username. */
  user: SignInUser | null
}

/** A sign-in with an upstream provider, and the response of the provider (upstream/attempt.ts). */
export interface UpstreamAttempt {
  methodId: string
  /** SHA-256 of the `state` parameter. */
  hash: string
  /** The encrypted PKCE verifier and nonce. */
  encryptedBindings: string
  /** URL of the page that the browser returns to after the response. */
  returnTo: string
  /** Unix milliseconds. */
  expiresAt: number
  /** SHA-256 of the handle, which only the browser that returned from the provider knows. Set with the response. */
  handle?: string
  /** The encrypted authorization response. Removed when it is consumed. */
  encryptedResponse?: string
}

/** An upstream account that can be linked once the user has signed in as an owner of its email address. */
export interface LinkCandidate extends UpstreamIdentity {
  /** Display name of the provider. */
  name: string
  /** The email address, verified by the provider. */
  email: string
  /** Ids of the users to whom the account can be linked. */
  ownerIds: string[]
}

/** The data of a sign-up, which the user has entered or an upstream provider has sent. */
export interface SignUpDetails {
  email: string
  /** Null for sign-up without a password, and in the data that fills the form again (`withoutPassword`). */
  passwordHash: string | null
  profile: Record<string, string>
  /** Why the user signs up, for the administrator who approves the account; null if not entered. */
  reason: string | null
  /** Id of the new user. Set only for sign-up with a passkey, because a passkey contains the id of its user. */
  userId?: string
  /** The email address was verified with a code or link in this login transaction. */
  emailProved?: boolean
}

/** Returns the data with which the sign-up form is filled again, without the hash of the password. */
export const withoutPassword = ({ email, profile, reason }: SignUpDetails): SignUpDetails => ({
  email,
  passwordHash: null,
  profile,
  reason,
})

/** A credential that is being set up. */
export interface PendingEnrollment {
  /** Id of the enrollment of an authenticator app, or of the passkey challenge; empty for backup codes. */
  id: string
  /** The encrypted URI for an authenticator app, or the encrypted backup codes. */
  encryptedSecret?: string
  /** WebAuthn options for the browser; only for a passkey. */
  options?: object
}

/** The invitation of this login transaction. */
export interface InvitationFacts extends PendingInvitation {
  /** SHA-256 of the invitation token. */
  tokenHash: string
}

/** The recovery link of this login transaction (docs/decisions/0053). */
export interface RecoveryState {
  user: SignInUser
  /** SHA-256 of the link's token. */
  tokenHash: string
  /** Ids of the credentials that the user has lost. They are removed when the recovery is completed. */
  lostCredentialIds: string[]
  /**
   * A second factor is among the lost credentials. A new one is set up unless the sign-in uses another second factor or
   * no method for it is enabled.
   */
  lostSecondFactor: boolean
  /** The link was consumed in this login transaction. */
  consumed?: boolean
  /** The lost credentials were removed. */
  completed?: boolean
}

export interface LoginState {
  step: StepName | 'done'
  /** The username or email address that forms show: as last entered, or from a source such as `login_hint`. */
  username: string
  /**
   * The user who has proved the first factor, signed up or used a recovery link in this login transaction or, with
   * `reusesSession`, the user of the browser session; null before that.
   */
  user: SignInUser | null
  /** Unix milliseconds. A credential change at or after this time ends the sign-in (`isSignInOutdated`). */
  since?: number
  /** Proved factors as `amr` values (RFC 8176); with `reusesSession`, those of the browser session. */
  amr: string[]
  /** Proved factors as kinds of authentication methods, in the order of use. */
  methods: string[]
  /** The email address that the user has proved by signing in, or resetting the password, by email. */
  provenEmail?: string
  /** `user` is the user of the existing browser session, who has not signed in again in this login transaction. */
  reusesSession?: boolean
  /** The user must set a new password (steps/new-password.ts). */
  mustChangePassword?: boolean
  /** The second factors of which the user must use one, the preferred one first. */
  factors?: Factor[]
  enrolling?: PendingEnrollment
  /** The user has set up a second factor, or used or lost the backup codes, so new ones are offered. */
  offersBackupCodes?: boolean
  emailChallenge?: EmailChallenge
  signUp?: SignUpDetails
  upstream?: UpstreamAttempt
  /** The upstream account that a user is asked to link after signing in as an owner of its email address. */
  linkOffer?: LinkCandidate
  /** The upstream account that is linked, if still allowed, as soon as no second factor is pending. */
  pendingLink?: LinkCandidate
  /** The invitation, in a login transaction that accepts one. */
  invitation?: InvitationFacts
  recovery?: RecoveryState
  /** The organization that the user has chosen, or the only possible one; undefined before that. */
  orgId?: string | null
}

export interface LoginSnapshot {
  state: LoginState
  /** Incremented by every transition and restart; 0 if no state is saved yet. */
  version: number
}

/** Returns the state of a sign-in that starts with the step `sign_in`. */
export const initialState = (username = ''): LoginState => ({
  step: 'sign_in',
  username: truncateText(username, 254),
  user: null,
  amr: [],
  methods: [],
})

/** Returns the state of a restarted sign-in, which keeps only the invitation and the offer to link an account. */
export const resetState = ({ invitation, linkOffer }: LoginState, username = ''): LoginState => ({
  ...initialState(username),
  ...(invitation ? { invitation } : {}),
  ...(linkOffer ? { linkOffer } : {}),
})

const selectSnapshotSql =
  'SELECT state, version FROM login_states WHERE issuer_id = $1 AND uid = $2 AND expires_at > $3'

/** Returns the saved state of a login transaction; undefined if no state is saved yet, or if it has expired. */
export async function snapshotOf(
  { context, runtime }: RequestContext,
  uid: string,
): Promise<LoginSnapshot | undefined> {
  const values = [runtime.issuer.id, uid, context.now()]
  const [snapshot] = await context.query<LoginSnapshot & Record<string, unknown>>(
    'login-snapshot',
    selectSnapshotSql,
    values,
  )
  return snapshot
}

/** The version is not the current one, for example because the form was already submitted. */
export class StaleForm extends Error {}

const insertStateSql = `
  INSERT INTO login_states (issuer_id, uid, state, account_id, version, expires_at)
  VALUES ($1, $2, $3::jsonb, $4, 1, $5) ON CONFLICT DO NOTHING RETURNING 1`
const claimVersionSql = `
  UPDATE login_states SET state = $3::jsonb, version = version + 1
  WHERE issuer_id = $1 AND uid = $2 AND version = $4 RETURNING 1`
const saveSql = 'UPDATE login_states SET state = $3::jsonb WHERE issuer_id = $1 AND uid = $2'

/**
 * Saves the state of a snapshot as the next version, so that only one of several concurrent submissions is applied.
 * The others wait until the transaction of the first one has ended. Must be the first write of the transaction.
 * @throws StaleForm if the version of the snapshot is not the current one
 */
export async function claimVersion(
  { runtime }: RequestContext,
  tx: Context,
  uid: string,
  { state, version }: LoginSnapshot,
): Promise<void> {
  const { id: issuerId, accountId } = runtime.issuer
  const values = [issuerId, uid, JSON.stringify(state)]
  const claimedRows = await (version === 0
    ? tx.query('login-insert', insertStateSql, [
        ...values,
        accountId,
        tx.now() + limits.interactionLifetimeSeconds * 1000,
      ])
    : tx.query('login-claim-version', claimVersionSql, [...values, version]))
  if (claimedRows.length === 0) throw new StaleForm()
}

/** Saves the next state. `claimVersion` must have been called in this transaction. */
export async function save({ runtime }: RequestContext, tx: Context, uid: string, state: LoginState): Promise<void> {
  await tx.query('login-save', saveSql, [runtime.issuer.id, uid, JSON.stringify(state)])
}

/**
 * Returns the value of the hidden field `csrf` of a form: the version with a keyed hash.
 * @param purpose what the form belongs to, such as the uid of a login transaction
 */
export function formToken(request: RequestContext, purpose: string, version: number): string {
  return formTokensOfAllKeys(request, purpose, version)[0]!
}

/**
 * Returns form tokens with each key of the deployment, the current key first, so that a form stays valid during a
 * rotation of SECRET_KEY.
 */
function formTokensOfAllKeys({ context, runtime }: RequestContext, purpose: string, version: number): string[] {
  return context.encryptor.deriveKeys('forms of the hosted pages').map((key) => {
    const signature = createHmac('sha256', key).update(`${runtime.issuer.id} ${purpose} ${version}`).digest('base64url')
    return `${version}.${signature}`
  })
}

/**
 * Returns the version for which a form was shown; undefined if the token is invalid.
 * @param token the submitted value of `formToken`
 */
export function formVersion(request: RequestContext, purpose: string, token: string | undefined): number | undefined {
  const version = Number(/^(\d{1,9})\./.exec(token ?? '')?.[1] ?? Number.NaN)
  if (!Number.isInteger(version)) return undefined
  return formTokensOfAllKeys(request, purpose, version).some((valid) => isSameText(valid, token!)) ? version : undefined
}
