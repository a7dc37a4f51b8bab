/**
 * Recovery of an administrator (decision 0053). The link that `gatehouse admin recover` prints lets one user sign in
 * once within 15 minutes without the password and without second factors that the user reports as lost. Only the
 * SHA-256 of the link's token is stored. The link becomes invalid when another one is created for the user, when the
 * username changes, when the user is no longer active, and when a credential of the user is added, removed or gets a
 * new secret.
 */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { randomSecret, sha256 } from '../../platform/crypto/secrets.js'
import { sql, type Verifier } from '../../platform/postgres/database.js'
import { emailAddressSql } from '../email-address.js'
import { recordEvent } from '../events/record-event.js'
import { issuerUrl } from '../issuer-url.js'
import { type Sender, sendMessage } from '../messages/messages.js'
import { endSessionsOfUser } from '../sessions/sessions.js'
import { resetFailedAttempts } from './failed-attempts.js'
import type { SignInUser } from './sign-in.js'
import { recordVerifierRemoval } from './verifier-removal.js'

/** SQL: a digest of the username, the status and its time, and the verifiers' IDs and secret dates of the user `u`. */
const credentialsFingerprintSql = `encode(sha256(convert_to(concat_ws(' ', u.username_key, u.status, u.status_at,
    (SELECT string_agg(concat(v.id, ':', coalesce(v.secret_set_at, v.created_at)), ' ' ORDER BY v.id) FROM verifiers v
      WHERE v.user_id = u.id AND v.issuer_id = u.issuer_id)), 'UTF8')), 'hex')`

/** SQL condition: the row `d` of `deployment` is the link with the hash $3, valid for the user `u` at the time $4. */
const validLinkSql = `u.issuer_id = $1 AND u.id = $2 AND u.status = 'active' AND d.name = concat('recovery ', u.id)
  AND d.value->>'hash' = $3 AND (d.value->>'expires_at')::bigint > $4::bigint
  AND d.value->>'credentials' = ${credentialsFingerprintSql}`

const createText = `
  INSERT INTO deployment (name, value)
  SELECT concat('recovery ', u.id),
    jsonb_build_object('hash', $3::text, 'expires_at', $4::bigint, 'credentials', ${credentialsFingerprintSql})
  FROM users u WHERE u.issuer_id = $1 AND u.id = $2
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`

const purgeText = `DELETE FROM deployment WHERE name LIKE 'recovery %' AND (value->>'expires_at')::bigint <= $1::bigint`

export interface RecoveryLink {
  /** The URL with the token, which is not stored. */
  url: string
  /** When the link expires (Unix milliseconds). */
  expiresAt: number
}

/** Creates the recovery link of an active user and invalidates the previous one. Call it in a transaction. */
export async function createRecoveryLink(tx: Context, user: SignInUser): Promise<RecoveryLink> {
  const { accountId, issuerId, id } = user
  const token = `${id}.${randomSecret()}`
  const expiresAt = tx.now() + limits.recoveryLinkLifetime
  await sql(tx.db, purgeText, tx.now())
  await sql(tx.db, createText, issuerId, id, sha256(token), expiresAt)
  await recordEvent(tx, 'user.recovery_link.created', {
    accountId,
    issuerId,
    userId: id,
    target: { type: 'user', id },
    data: { expires_at: expiresAt },
  })
  return { url: `${issuerUrl(tx.config, issuerId)}/recovery?token=${token}`, expiresAt }
}

const findText = `
  SELECT u.id, u.account_id AS "accountId", u.issuer_id AS "issuerId", u.username, u.status
  FROM deployment d, users u WHERE ${validLinkSql}`

/** Returns the user of a recovery link; undefined for an invalid link. Does not consume the link. */
export async function findRecoveryUser(
  context: Context,
  issuerId: string,
  token: string,
): Promise<SignInUser | undefined> {
  const values = [issuerId, userIdOf(token), sha256(token), context.now()]
  const [user] = await context.query<SignInUser & Record<string, unknown>>('recovery-user', findText, values)
  return user
}

const userIdOf = (token: string): string => token.slice(0, Math.max(0, token.indexOf('.')))

const consumeText = `DELETE FROM deployment d USING users u WHERE ${validLinkSql} RETURNING d.name`

/**
 * Consumes a recovery link and notifies the user by email if the user has an email address. Of several concurrent calls
 * only one succeeds. Call it in the transaction of the sign-in step, with the user as the actor.
 * @param tokenHash SHA-256 of the token
 * @returns false for an invalid link
 */
export async function consumeRecoveryLink(
  tx: Context,
  issuer: Sender,
  user: SignInUser,
  tokenHash: string,
): Promise<boolean> {
  const { accountId, issuerId, id } = user
  // Creating a credential and changing a password lock the user's row too, so that these changes cannot commit while
  // the link is checked and consumed.
  await sql(tx.db, 'SELECT id FROM users WHERE id = $1 AND issuer_id = $2 FOR UPDATE', id, issuerId)
  const [used] = await sql(tx.db, consumeText, issuerId, id, tokenHash, tx.now())
  if (!used) return false
  await recordEvent(tx, 'user.recovery_link.used', { accountId, issuerId, userId: id, target: { type: 'user', id } })
  const text = `SELECT ${emailAddressSql} AS email FROM users u WHERE u.id = $1 AND u.issuer_id = $2`
  const [row] = await sql<{ email: string | null }>(tx.db, text, id, issuerId)
  if (row?.email) await sendMessage(tx, issuer, { to: row.email, kind: 'recovery_link_used' })
  return true
}

/** Types of credentials that a user can report as lost. A password is not one of them: the user sets a new one. */
const losableTypes = ['passkey', 'totp', 'backup_codes', 'oauth']

/** Returns the credentials that the user of a recovery link can report as lost, oldest first. */
export async function losableVerifiers(context: Context, user: SignInUser): Promise<Verifier[]> {
  const { id: userId, issuerId } = user
  const where = { userId, issuerId, type: { in: losableTypes } }
  return context.db.verifier.findMany({ where, orderBy: { id: 'asc' } })
}

/**
 * Completes a recovery: deletes the lost credentials and pending enrollments, ends all sessions and unfinished sign-ins
 * of the user, and removes the locks of the password and second factors after failed attempts. Call it in the
 * transaction that saves the new password or, if the user does not set one, in the transaction that consumes the link.
 * @param lost IDs of the verifiers that the user reported as lost
 */
export async function completeRecovery(tx: Context, user: SignInUser, lost: readonly string[]): Promise<void> {
  const { id: userId, issuerId } = user
  const verifiers = (await losableVerifiers(tx, user)).filter(({ id }) => lost.includes(id))
  await tx.db.verifier.deleteMany({ where: { id: { in: verifiers.map(({ id }) => id) }, issuerId } })
  await tx.db.enrollment.deleteMany({ where: { userId, issuerId } })
  await recordVerifierRemoval(tx, verifiers, 'recovered')
  await endSessionsOfUser(tx, user, 'security_event')
  await resetFailedAttempts(tx, userId)
}
