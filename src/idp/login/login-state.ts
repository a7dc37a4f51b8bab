/**
 * The state of a sign-in (docs/contract.md#login-transactions): a row that is updated with optimistic locking. A form
 * carries the version that it was shown for under a keyed hash, so that it can be submitted once, in order, and by the
 * browser that it was shown to.
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

/** Steps that prove a second factor, the preferred one first. */
export const factors = ['passkey', 'totp', 'backup_codes'] as const
export type Factor = (typeof factors)[number]

/** The steps, in no particular order; next-step.ts determines which one follows. */
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

/** Why a code or link was sent by email, which determines what it proves. */
export type MailPurpose = 'sign_in' | 'sign_up' | 'verify' | 'reset'

/** A code or link that was sent by email. Only its keyed hash is stored. */
export interface EmailChallenge {
  purpose: MailPurpose
  email: string
  hash: string
  /** Unix milliseconds. */
  expiresAt: number
  attempts: number
  /** No submission can be correct: the address belongs to no user, or nothing was sent to it. */
  isDummy: boolean
  /** The user with this address. */
  user: SignInUser | null
}

/** A sign-in with an upstream provider and its response, see upstream/attempt.ts. */
export interface UpstreamAttempt {
  methodId: string
  /** SHA-256 of the `state` parameter. */
  hash: string
  /** The PKCE verifier and the nonce. */
  encryptedBindings: string
  /** The page that this browser has open. */
  returnTo: string
  /** Unix milliseconds. */
  expiresAt: number
  /** SHA-256 of the handle, which only the browser that returned knows. */
  handle?: string
  /** The authorization response. Removed when it is consumed. */
  encryptedResponse?: string
}

/** An upstream account that can be linked once the user has signed in as an owner of its email address. */
export interface LinkCandidate extends UpstreamIdentity {
  /** Display name of the provider. */
  name: string
  /** The email address, verified by the provider. */
  email: string
  /** Ids of the users with this email address. */
  ownerIds: string[]
}

/** The data that a user has entered to sign up. */
export interface SignUpDetails {
  email: string
  passwordHash: string | null
  profile: Record<string, string>
  reason: string | null
  /** Id of the new user, if it is created together with a passkey, which contains it. */
  userId?: string
  /** The email address has been verified already. */
  emailProved?: boolean
}

/** The data to fill the sign-up form with again, without the password or its hash. */
export const withoutPassword = ({ email, profile, reason }: SignUpDetails): SignUpDetails => ({
  email,
  passwordHash: null,
  profile,
  reason,
})

/** A credential that is being set up. */
export interface PendingEnrollment {
  /** Id of the enrollment; empty for backup codes, which have none. */
  id: string
  /** Shown only on this page: the URI for an authenticator app, or the backup codes. */
  encryptedSecret?: string
  /** WebAuthn options for the browser. */
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
  /** A second factor is among the lost credentials, so a new one is set up. */
  lostSecondFactor: boolean
  /** The link was consumed in this sign-in. */
  consumed?: boolean
  completed?: boolean
}

export interface LoginState {
  step: StepName | 'done'
  /** As last entered, to be shown again. */
  username: string
  /** Set after the first factor. */
  user: SignInUser | null
  /** Unix milliseconds. A credential change at or after this time ends the sign-in. */
  since?: number
  /** Proved factors as `amr` values (RFC 8176), and as our own methods. */
  amr: string[]
  methods: string[]
  /** The email address that this sign-in has proved. */
  provenEmail?: string
  /** The user of the existing browser session, without new proof. */
  reusesSession?: boolean
  /** The password must be changed: it is no longer accepted, or was forgotten. */
  mustChangePassword?: boolean
  /** The second factors that the user can use, the preferred one first. */
  factors?: Factor[]
  enrolling?: PendingEnrollment
  /** The user has set up a second factor or used the last backup code, so backup codes are offered. */
  offersBackupCodes?: boolean
  emailChallenge?: EmailChallenge
  signUp?: SignUpDetails
  upstream?: UpstreamAttempt
  /** The upstream account that the user is asked to link. */
  linkOffer?: LinkCandidate
  /** The upstream account that is linked as soon as no second factor is pending. */
  pendingLink?: LinkCandidate
  /** Set from the start in the login transaction of an invitation. */
  invitation?: InvitationFacts
  recovery?: RecoveryState
  /** The organization that the user has chosen; null for none. */
  orgId?: string | null
}

export interface LoginSnapshot {
  state: LoginState
  version: number
}

/** The state before any form was submitted. */
export const initialState = (username = ''): LoginState => ({
  step: 'sign_in',
  username: truncateText(username, 254),
  user: null,
  amr: [],
  methods: [],
})

/** Restarts the login transaction at its first step, without a user. */
export const resetState = ({ invitation, linkOffer }: LoginState, username = ''): LoginState => ({
  ...initialState(username),
  ...(invitation ? { invitation } : {}),
  ...(linkOffer ? { linkOffer } : {}),
})

const selectSnapshotSql =
  'SELECT state, version FROM login_states WHERE issuer_id = $1 AND uid = $2 AND expires_at > $3'

/** Returns the saved state of an interaction; undefined if no form was submitted yet. */
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

/** The form was submitted already, or belongs to an earlier step. */
export class StaleForm extends Error {}

const insertStateSql = `
  INSERT INTO login_states (issuer_id, uid, state, account_id, version, expires_at)
  VALUES ($1, $2, $3::jsonb, $4, 1, $5) ON CONFLICT DO NOTHING RETURNING 1`
const claimVersionSql = `
  UPDATE login_states SET state = $3::jsonb, version = version + 1
  WHERE issuer_id = $1 AND uid = $2 AND version = $4 RETURNING 1`
const saveSql = 'UPDATE login_states SET state = $3::jsonb WHERE issuer_id = $1 AND uid = $2'

/**
 * Claims a version, so that of concurrent submissions exactly one continues; the others wait for the end of its
 * transaction. Must be the first write of the transaction.
 * @throws StaleForm if the version is not the current one
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

/** Saves the next state. The version must have been claimed. */
export async function save({ runtime }: RequestContext, tx: Context, uid: string, state: LoginState): Promise<void> {
  await tx.query('login-save', saveSql, [runtime.issuer.id, uid, JSON.stringify(state)])
}

/** Returns the value of a form's hidden field: the version, signed for this purpose. */
export function formToken(request: RequestContext, purpose: string, version: number): string {
  return formTokensOfAllKeys(request, purpose, version)[0]!
}

/**
 * Form tokens of all keys of the deployment, the current one first, so that a form stays valid during a rotation of
 * SECRET_KEY.
 */
function formTokensOfAllKeys({ context, runtime }: RequestContext, purpose: string, version: number): string[] {
  return context.encryptor.deriveKeys('forms of the hosted pages').map((key) => {
    const signature = createHmac('sha256', key).update(`${runtime.issuer.id} ${purpose} ${version}`).digest('base64url')
    return `${version}.${signature}`
  })
}

/** Returns the version that a form was shown for; undefined if the token is invalid. */
export function formVersion(request: RequestContext, purpose: string, token: string | undefined): number | undefined {
  const version = Number(/^(\d{1,9})\./.exec(token ?? '')?.[1] ?? Number.NaN)
  if (!Number.isInteger(version)) return undefined
  return formTokensOfAllKeys(request, purpose, version).some((made) => isSameText(made, token!)) ? version : undefined
}
