/**
 * Verifies a password at sign-in (docs/contract.md#rate-limits, docs/contract.md#equal-answers-and-lockout). An unknown
 * user, a wrong password and a locked user get the same response in the same time.
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
  /** Unknown user, wrong password or locked user. The response must not say which. */
  | { outcome: 'refused' }
  /** The password is correct, but the user's status does not allow a sign-in. */
  | { outcome: 'inactive'; user: SignInUser }
  | { outcome: 'must_change' | 'passed'; user: SignInUser; verifier: CheckedVerifier }

/** A verifier in the state in which its secret was checked. */
export interface CheckedVerifier {
  id: string
  /** When its secret was set (Unix milliseconds); detects a later change. */
  secretSetAt: number | null
}

/** A user with the password to check. Its columns are null if the user has none. */
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
 * Of a password and temporary passwords, the one that was set last counts, because a new one replaces the old one. So
 * one hash is verified for every user, and the response time does not show who has several.
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
 * Verifies the password of a user. Records a failure, the lock after too many failures, and their events. Pads the
 * response time of a refusal. After a success the caller calls `recordCredentialVerification` and
 * `recordSignInSuccess`.
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
  // Failures for an unknown username are counted too: the same statements and the same lock.
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

/** Replaces an imported hash by a current one. Only possible now, because only now the password is known. */
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
 * Records the events of a refused credential. Outside of a transaction they are kept even if the request fails later.
 * @param lockedUntil Unix milliseconds, if this failure locked the user
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
 * Records the last use of a correct credential, and its event. Call it in the transaction of the sign-in step.
 * @param verifier its id; for a secret that was checked before the transaction, a `CheckedVerifier`
 * @returns false if the verifier has been deleted or its secret changed in the meantime; then nothing is written
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

/** Records the event of a completed sign-in. Call it in the transaction that completes it. */
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
