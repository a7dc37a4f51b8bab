/**
 * Verifies a password at sign-in (docs/contract.md#rate-limits, docs/contract.md#equal-answers-and-lockout). The
 * response is the same for an unknown user, a wrong password and a locked user, and the response time is equalized.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { hashPassword, isCurrentHash, sha256, verifyPassword } from '../../platform/crypto/secrets.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'
import type { InIssuer } from '../resource-path.js'
import { verifyDummyHash } from './dummy-hashes.js'
import { recordFailedAttempt, recordSuccessfulAttempt, startAttempt } from './failed-attempts.js'
import { isPasswordExpired, passwordPolicyOf } from './password-policy.js'

export interface SignInUser extends InIssuer {
  id: string
  username: string
  status: string
}

export type PasswordDecision =
  /**
   * The user is unknown, is locked or has no valid password, the password is wrong, or the attempt waited too long. The
   * response must not show which of these applies.
   */
  | { outcome: 'refused' }
  /** The password is correct, but the user's status does not allow a sign-in. */
  | { outcome: 'inactive'; user: SignInUser }
  /** The password is correct. After `must_change` the user has to set a new password. */
  | { outcome: 'must_change' | 'passed'; user: SignInUser; verifier: CheckedVerifier }

/** A verifier whose secret was checked before the transaction. */
export interface CheckedVerifier {
  id: string
  /** When the checked secret was set (Unix milliseconds), to detect that the secret was changed after the check. */
  secretSetAt: number | null
}

/** A user with the password to check. The columns of the password are null if the user has none. */
interface CandidateRow {
  userId: string
  username: string
  status: string
  verifierId: string | null
  type: string
  hash: string | null
  mustChange: boolean
  expiresAt: number | null
  secretSetAt: number | null
}

/**
 * Selects a user with the password or temporary password that was set last. Expired temporary passwords are left out.
 * Passwords that were set earlier cannot be used, so that one hash is verified for every user and the response time
 * does not show which users have several passwords.
 */
const candidateText = `
  SELECT u.id AS "userId", u.username, u.status, v.id AS "verifierId", v.type, v.hash, v.must_change AS "mustChange",
    v.expires_at AS "expiresAt", v.secret_set_at AS "secretSetAt"
  FROM users u
  LEFT JOIN verifiers v ON v.user_id = u.id AND v.issuer_id = u.issuer_id AND v.hash IS NOT NULL
    AND (v.type = 'password' OR (v.type = 'temporary_password' AND v.expires_at > $3))
  WHERE u.issuer_id = $1 AND u.username_key = $2 AND u.status NOT IN ('deleted', 'pending_deletion')
  ORDER BY coalesce(v.secret_set_at, v.created_at) DESC, v.id DESC LIMIT 1`

const method = 'password'

/**
 * Verifies the password of a user. Counts a failure, locks the user after too many failures, and records the events of
 * both. A refusal returns only after a multiple of `limits.signInRefusalTimeStep`, so that the response time shows less
 * about the reason of the refusal. Replaces an imported hash before the outcomes `must_change` and `passed`. After
 * these outcomes, call `recordCredentialVerification`.
 * @param issuer the issuer of the user, with the settings that contain the password policy
 * @param usernameKey the normalized username
 */
export async function verifySignInPassword(
  context: Context,
  issuer: InIssuer & { settings: unknown },
  usernameKey: string,
  password: string,
): Promise<PasswordDecision> {
  const startedAt = performance.now()
  const decision = await decidePasswordSignIn(context, issuer, usernameKey, password)
  if (decision.outcome === 'refused')
    await sleep(limits.signInRefusalTimeStep - ((performance.now() - startedAt) % limits.signInRefusalTimeStep))
  return decision
}

async function decidePasswordSignIn(
  context: Context,
  issuer: InIssuer & { settings: unknown },
  usernameKey: string,
  password: string,
): Promise<PasswordDecision> {
  const { accountId, issuerId } = issuer
  const values = [issuerId, usernameKey, context.now()]
  const [row] = await context.database.query<CandidateRow & Record<string, unknown>>(
    'sign-in-candidate',
    candidateText,
    values,
  )
  const user = row && { accountId, issuerId, id: row.userId, username: row.username, status: row.status }
  // Failures for an unknown username are counted too, so that an unknown username is locked like a known one.
  const subject = user?.id ?? `unknown:${sha256(`${issuerId} ${usernameKey}`).slice(0, 32)}`

  if (!(await startAttempt(context, subject))) {
    await verifyPassword(null, password)
    await verifyDummyHash(context, issuer, usernameKey, [], password)
    await recordSignInFailure(context, issuer, user, { method, reason: 'locked' })
    return { outcome: 'refused' }
  }

  const isCorrect = await verifyPassword(row?.hash, password)
  if (!user || !row.verifierId || !isCorrect) {
    await verifyDummyHash(context, issuer, usernameKey, row?.hash ? [row.hash] : [], password)
    const lockedUntil = await recordFailedAttempt(context, subject)
    await recordSignInFailure(context, issuer, user, {
      method,
      reason: !user ? 'unknown_user' : row.verifierId ? 'wrong_password' : 'no_password',
      lockedUntil,
    })
    return { outcome: 'refused' }
  }
  await recordSuccessfulAttempt(context, subject)
  if (user.status !== 'active') {
    await recordSignInFailure(context, issuer, user, { method, reason: user.status })
    return { outcome: 'inactive', user }
  }
  const { verifierId, hash, type, expiresAt, secretSetAt } = row
  if (!isCurrentHash(hash!)) await replaceImportedHash(context, verifierId, hash!, password)
  const policy = passwordPolicyOf(issuer)
  const now = context.now()
  const mustChange =
    row.mustChange ||
    type === 'temporary_password' ||
    (expiresAt !== null && expiresAt <= now) ||
    isPasswordExpired(policy, secretSetAt ?? now, now)
  return { outcome: mustChange ? 'must_change' : 'passed', user, verifier: { id: verifierId, secretSetAt } }
}

/**
 * Replaces an imported hash, or a hash with older parameters, with an Argon2id hash with the current parameters. This
 * is possible only at a sign-in, because the password is known only then.
 */
async function replaceImportedHash(
  context: Context,
  verifierId: string,
  hash: string,
  password: string,
): Promise<void> {
  const text = `UPDATE verifiers SET hash = $3 WHERE id = $1 AND hash = $2`
  await context.database.query('replace-imported-hash', text, [verifierId, hash, await hashPassword(password)])
}

/**
 * Records the events of a failed sign-in. If it is called outside of a transaction, the events are kept even if the
 * request fails later.
 * @param user undefined if the user is unknown
 * @param failure `method`: the authentication method. `reason`: the value of `data.reason` in the event. `lockedUntil`:
 *   the end of the lock (Unix milliseconds) if this failure locked the user, otherwise null.
 */
export async function recordSignInFailure(
  context: Context,
  { accountId, issuerId }: InIssuer,
  user: SignInUser | undefined,
  { method, reason, lockedUntil = null }: { method: string; reason: string; lockedUntil?: number | null },
): Promise<void> {
  const eventSubject = {
    accountId,
    issuerId,
    userId: user?.id ?? null,
    target: user ? { type: 'user', id: user.id } : { type: 'issuer', id: issuerId },
  }
  await transaction(context, async (tx) => {
    if (user && reason.startsWith('wrong_'))
      await recordEvent(tx, 'user.verification.failed', { ...eventSubject, data: { method } })
    await recordEvent(tx, 'user.login.failed', { ...eventSubject, data: { method, reason } })
    if (user && lockedUntil !== null)
      await recordEvent(tx, 'user.locked', { ...eventSubject, data: { until: lockedUntil } })
  })
}

const usedText = `
  UPDATE verifiers SET last_used_at = $4 WHERE id = $1 AND issuer_id = $2 AND user_id = $3
    AND (NOT $5::boolean OR secret_set_at IS NOT DISTINCT FROM $6::bigint) RETURNING 1`

/**
 * Records that a credential was verified: sets its `last_used_at` and records `user.verification.succeeded`. Call it in
 * the transaction of the sign-in step.
 * @param verifier the ID of the verifier, or a `CheckedVerifier` if the secret was checked before the transaction;
 *   undefined for a sign-in without a verifier, such as a code by email
 * @returns false if the verifier has been deleted or its secret has been changed since the check; then nothing is
 *   recorded
 */
export async function recordCredentialVerification(
  context: Context,
  user: SignInUser,
  method: string,
  verifier?: string | CheckedVerifier,
): Promise<boolean> {
  const { accountId, issuerId, id } = user
  if (verifier !== undefined) {
    const isChecked = typeof verifier !== 'string'
    const [verifierId, secretSetAt] = isChecked ? [verifier.id, verifier.secretSetAt] : [verifier, null]
    const values = [verifierId, issuerId, id, context.now(), isChecked, secretSetAt]
    const [used] = await context.query('verifier-used', usedText, values)
    if (!used) return false
  }
  const target = { type: 'user', id }
  await recordEvent(context, 'user.verification.succeeded', {
    accountId,
    issuerId,
    userId: id,
    target,
    data: { method },
  })
  return true
}

/**
 * Records `user.login.succeeded`. Call it in the transaction that completes the sign-in.
 * @param amr the authentication methods of the sign-in (RFC 8176)
 */
export async function recordSignInSuccess(
  context: Context,
  user: SignInUser,
  clientId: string,
  amr: readonly string[],
): Promise<void> {
  const { accountId, issuerId, id } = user
  const target = { type: 'user', id }
  await recordEvent(context, 'user.login.succeeded', {
    accountId,
    issuerId,
    userId: id,
    clientId,
    target,
    data: { amr: [...amr] },
  })
}
