/**
 * Checking a password at sign-in (decisions D19, security rule 21). Unknown user, wrong password and locked user get
 * one answer in one time.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../platform/context.js'
import { transaction } from '../../platform/database.js'
import { hashPassword, isOurHash, sha256, verifyPassword } from '../../platform/secrets.js'
import { emit } from '../events/events.js'
import type { InIssuer } from '../place.js'
import { settleFailure, settleSuccess, startAttempt } from './attempts.js'
import { spendOtherKind } from './decoys.js'
import { isOutworn, passwordPolicyOf } from './password-policy.js'

export interface SignInUser extends InIssuer {
  id: string
  username: string
  status: string
}

export type PasswordVerdict =
  /** Unknown, wrong, locked: which of them, nobody is told. */
  | { outcome: 'refused' }
  /** The password fits, but this user may not sign in now. */
  | { outcome: 'barred'; user: SignInUser }
  | { outcome: 'must_change' | 'passed'; user: SignInUser; verifier: Checked }

/** A verifier as it was when it was looked at. */
export interface Checked {
  id: string
  /** When its secret was set: another one may have been set since (Unix milliseconds). */
  secretSetAt: number | null
}

/** A user with the password that counts; without one its columns are null. */
interface Row {
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
 * Of a password and temporary ones beside it, the one that was set last counts, as where a new one takes the place of
 * the old one. So there is one hash to compute for everybody, and the time of a refusal does not tell who has several.
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

/** Refusals go out at multiples of this time (milliseconds), so that a row more or less to write does not show. */
const TICK = 50

/**
 * Does this password sign this user in? Writes the failure, the lock and their events; what follows a success is the
 * caller's, see `recordVerification` and `recordSignIn`.
 * @param issuer whose user pool it is, with the settings that hold the password policy
 * @param usernameKey the username as it is compared
 */
export async function checkSignInPassword(
  context: Context,
  issuer: InIssuer & { settings: unknown },
  usernameKey: string,
  password: string,
): Promise<PasswordVerdict> {
  const began = performance.now()
  const verdict = await verdictOn(context, issuer, usernameKey, password)
  if (verdict.outcome === 'refused') await sleep(TICK - ((performance.now() - began) % TICK))
  return verdict
}

async function verdictOn(
  context: Context,
  issuer: InIssuer & { settings: unknown },
  usernameKey: string,
  password: string,
): Promise<PasswordVerdict> {
  const { accountId, issuerId } = issuer
  const values = [issuerId, usernameKey, context.now()]
  const [row] = await context.tools.query<Row & Record<string, unknown>>('sign-in-candidate', candidateText, values)
  const user = row && { accountId, issuerId, id: row.userId, username: row.username, status: row.status }
  // A name that nobody has is counted like one that somebody has: the same statements, the same lock.
  const subject = user?.id ?? `unknown:${sha256(`${issuerId} ${usernameKey}`).slice(0, 32)}`

  if (!(await startAttempt(context, subject))) {
    await verifyPassword(null, password)
    await spendOtherKind(context, issuer, usernameKey, [], password)
    await recordFailure(context, issuer, user, { method, reason: 'locked' })
    return { outcome: 'refused' }
  }

  const fits = await verifyPassword(row?.hash, password)
  if (!user || !row.verifierId || !fits) {
    await spendOtherKind(context, issuer, usernameKey, row?.hash ? [row.hash] : [], password)
    const lockedUntil = await settleFailure(context, subject)
    await recordFailure(context, issuer, user, {
      method,
      reason: !user ? 'unknown_user' : row.verifierId ? 'wrong_password' : 'no_password',
      lockedUntil,
    })
    return { outcome: 'refused' }
  }
  await settleSuccess(context, subject)
  if (user.status !== 'active') {
    await recordFailure(context, issuer, user, { method, reason: user.status })
    return { outcome: 'barred', user }
  }
  const { verifierId, hash, type, expiresAt, secretSetAt } = row
  if (!isOurHash(hash!)) await keepOurHash(context, verifierId, hash!, password)
  const policy = passwordPolicyOf(issuer)
  const now = context.now()
  const mustChange =
    row.mustChange ||
    type === 'temporary_password' ||
    (expiresAt !== null && expiresAt <= now) ||
    isOutworn(policy, secretSetAt ?? now, now)
  return { outcome: mustChange ? 'must_change' : 'passed', user, verifier: { id: verifierId, secretSetAt } }
}

/** A hash that came with an import is replaced by one of ours: now, and only now, the password is known. */
async function keepOurHash(context: Context, verifierId: string, hash: string, password: string): Promise<void> {
  const text = `UPDATE verifiers SET hash = $3 WHERE id = $1 AND hash = $2`
  await context.tools.query('keep-our-hash', text, [verifierId, hash, await hashPassword(password)])
}

/**
 * A credential was refused: the events of it. Outside of a transaction they stand, whatever becomes of the request.
 * @param lockedUntil Unix milliseconds, where this failure locked the user
 */
export async function recordFailure(
  context: Context,
  { accountId, issuerId }: InIssuer,
  user: SignInUser | undefined,
  { method, reason, lockedUntil = null }: { method: string; reason: string; lockedUntil?: number | null },
): Promise<void> {
  const about = {
    accountId,
    issuerId,
    userId: user?.id ?? null,
    target: user ? { type: 'user', id: user.id } : { type: 'issuer', id: issuerId },
  }
  await transaction(context, async (inside) => {
    if (user && reason.startsWith('wrong_'))
      await emit(inside, 'user.verification.failed', { ...about, data: { method } })
    await emit(inside, 'user.login.failed', { ...about, data: { method, reason } })
    if (user && lockedUntil !== null) await emit(inside, 'user.locked', { ...about, data: { until: lockedUntil } })
  })
}

const usedText = `
  UPDATE verifiers SET last_used_at = $4 WHERE id = $1 AND issuer_id = $2 AND user_id = $3
    AND (NOT $5::boolean OR secret_set_at IS NOT DISTINCT FROM $6::bigint) RETURNING 1`

/**
 * A credential was checked and fits: its last use, where it is kept as a verifier, and its event. Call it in the
 * transaction of the step.
 * @param verifier its id; for a secret that was looked at before the transaction, also which one that was
 * @returns false for a verifier that has gone meanwhile, or has another secret; then nothing is written
 */
export async function recordVerification(
  context: Context,
  user: SignInUser,
  method: string,
  verifier?: string | Checked,
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
  await emit(context, 'user.verification.succeeded', { accountId, issuerId, userId: id, target, data: { method } })
  return true
}

/** All steps of a sign-in are done. Call it in the transaction that completes it. */
export async function recordSignIn(
  context: Context,
  user: SignInUser,
  clientId: string,
  amr: readonly string[],
): Promise<void> {
  const { accountId, issuerId, id } = user
  const target = { type: 'user', id }
  await emit(context, 'user.login.succeeded', {
    accountId,
    issuerId,
    userId: id,
    clientId,
    target,
    data: { amr: [...amr] },
  })
}
