/**
 * Recovery of an administrator (decision 0067): a link that `gatehouse admin recover` prints replaces all credentials of
 * one user for one sign-in within 15 minutes. Only its SHA-256 is stored. It ends early when another one is created, when the
 * user is no longer active, and with every change of the user's credentials.
 */
import { MINUTE } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sql, type Verifier } from '../../platform/database.js'
import { randomSecret, sha256 } from '../../platform/secrets.js'
import { emit } from '../events/events.js'
import { issuerUrl } from '../issuer-url.js'
import { addressSql } from '../mail-address.js'
import { type Sender, sendMessage } from '../messages/messages.js'
import { endSessionsOfUser } from '../sessions/sessions.js'
import { forgetFailures } from './attempts.js'
import { recordRemoval } from './removal.js'
import type { SignInUser } from './sign-in.js'

/** How long a recovery link works (milliseconds). */
export const RECOVERY_LIFE = 15 * MINUTE

/** SQL: what a link of the user `u` relies on. After any change of a credential or of the status it is another text. */
const credentialsSql = `encode(sha256(convert_to(concat_ws(' ', u.username_key, u.status, u.status_at,
    (SELECT string_agg(concat(v.id, ':', coalesce(v.secret_set_at, v.created_at)), ' ' ORDER BY v.id) FROM verifiers v
      WHERE v.user_id = u.id AND v.issuer_id = u.issuer_id)), 'UTF8')), 'hex')`

/** SQL: the link in row `d` of the deployment is the one with the hash $3 and works at the time $4 for the user `u`. */
const worksSql = `u.issuer_id = $1 AND u.id = $2 AND u.status = 'active' AND d.name = concat('recovery ', u.id)
  AND d.value->>'hash' = $3 AND (d.value->>'expires_at')::bigint > $4::bigint
  AND d.value->>'credentials' = ${credentialsSql}`

const createText = `
  INSERT INTO deployment (name, value)
  SELECT concat('recovery ', u.id),
    jsonb_build_object('hash', $3::text, 'expires_at', $4::bigint, 'credentials', ${credentialsSql})
  FROM users u WHERE u.issuer_id = $1 AND u.id = $2
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`

const sweepText = `DELETE FROM deployment WHERE name LIKE 'recovery %' AND (value->>'expires_at')::bigint <= $1::bigint`

export interface RecoveryLink {
  /** Shown once. */
  url: string
  /** Unix milliseconds. */
  expiresAt: number
}

/** Creates the recovery link of an active user and ends the one before. Call it in a transaction. */
export async function createRecoveryLink(inside: Context, user: SignInUser): Promise<RecoveryLink> {
  const { accountId, issuerId, id } = user
  const token = `${id}.${randomSecret()}`
  const expiresAt = inside.now() + RECOVERY_LIFE
  await sql(inside.db, sweepText, inside.now())
  await sql(inside.db, createText, issuerId, id, sha256(token), expiresAt)
  await emit(inside, 'user.recovery_link.created', {
    accountId,
    issuerId,
    userId: id,
    target: { type: 'user', id },
    data: { expires_at: expiresAt },
  })
  return { url: `${issuerUrl(inside.config, issuerId)}/recovery?token=${token}`, expiresAt }
}

const openText = `
  SELECT u.id, u.account_id AS "accountId", u.issuer_id AS "issuerId", u.username, u.status
  FROM deployment d, users u WHERE ${worksSql}`

/** Whose recovery link this is; undefined for one that does not work. Opening it changes nothing. */
export async function openRecovery(context: Context, issuerId: string, token: string): Promise<SignInUser | undefined> {
  const values = [issuerId, userIn(token), sha256(token), context.now()]
  const [user] = await context.query<SignInUser & Record<string, unknown>>('recovery-open', openText, values)
  return user
}

const userIn = (token: string): string => token.slice(0, Math.max(0, token.indexOf('.')))

const consumeText = `DELETE FROM deployment d USING users u WHERE ${worksSql} RETURNING d.name`

/**
 * Uses a recovery link up: of several attempts at once, in whatever processes, one succeeds. The user is notified. Call it
 * in the transaction of the step, as that user.
 * @param tokenHash SHA-256 of the token
 * @returns false for a link that does not work
 */
export async function consumeRecovery(
  inside: Context,
  issuer: Sender,
  user: SignInUser,
  tokenHash: string,
): Promise<boolean> {
  const { accountId, issuerId, id } = user
  // Changes of credentials lock this row too.
  await sql(inside.db, 'SELECT id FROM users WHERE id = $1 AND issuer_id = $2 FOR UPDATE', id, issuerId)
  const [used] = await sql(inside.db, consumeText, issuerId, id, tokenHash, inside.now())
  if (!used) return false
  await emit(inside, 'user.recovery_link.used', { accountId, issuerId, userId: id, target: { type: 'user', id } })
  const text = `SELECT ${addressSql} AS email FROM users u WHERE u.id = $1 AND u.issuer_id = $2`
  const [row] = await sql<{ email: string | null }>(inside.db, text, id, issuerId)
  if (row?.email) await sendMessage(inside, issuer, { to: row.email, kind: 'recovery_link_used' })
  return true
}

/** Types of the credentials that people can lose; a password gives way to a new one. */
const losable = ['passkey', 'totp', 'backup_codes', 'oauth']

/** What the owner of a recovery link may have lost, oldest first. */
export async function losableVerifiers(context: Context, user: SignInUser): Promise<Verifier[]> {
  const { id: userId, issuerId } = user
  const where = { userId, issuerId, type: { in: losable } }
  return context.db.verifier.findMany({ where, orderBy: { id: 'asc' } })
}

/**
 * Completes a recovery: removes the lost credentials, ends all sessions and unfinished sign-ins, and lifts the lock after
 * failed attempts. Call it in the transaction that saves the new password, or, if there is none, that uses the link up.
 * @param lost ids of verifiers
 */
export async function completeRecovery(inside: Context, user: SignInUser, lost: readonly string[]): Promise<void> {
  const { id: userId, issuerId } = user
  const verifiers = (await losableVerifiers(inside, user)).filter(({ id }) => lost.includes(id))
  await inside.db.verifier.deleteMany({ where: { id: { in: verifiers.map(({ id }) => id) }, issuerId } })
  await inside.db.enrollment.deleteMany({ where: { userId, issuerId } })
  await recordRemoval(inside, verifiers, 'recovered')
  await endSessionsOfUser(inside, user, 'security_event')
  await forgetFailures(inside, userId)
}
