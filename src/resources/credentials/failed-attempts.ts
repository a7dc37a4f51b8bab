/**
 * Counts failed sign-ins of a user with one kind of credential (password, code by email, second factor), over all
 * processes, and locks this kind after `limits.signInFailuresUntilLock` failures (docs/contract.md#rate-limits). The
 * number of concurrent attempts for a user is limited to the number of failures that are left until the lock, but at
 * least one, so that an attacker cannot try more passwords by sending them concurrently. Further attempts wait up to
 * `limits.signInAttemptWaitTimeout` before they fail, so that concurrent sign-ins with the right password succeed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'

const startText = `
  INSERT INTO login_failures AS f (user_id, failures, pending_attempts, locked_until, updated_at) VALUES ($1, 0, 1, NULL, $2::bigint)
  ON CONFLICT (user_id) DO UPDATE SET
    failures = CASE WHEN f.updated_at < $2::bigint - ${limits.signInFailureRetention} THEN 0 ELSE f.failures END,
    pending_attempts = CASE WHEN f.updated_at < $2::bigint - ${limits.signInAttemptTimeout} THEN 1 ELSE f.pending_attempts + 1 END,
    updated_at = $2::bigint
  WHERE (f.locked_until IS NULL OR f.locked_until <= $2::bigint)
    AND (f.pending_attempts < greatest(${limits.signInFailuresUntilLock} - f.failures, 1) OR f.updated_at < $2::bigint - ${limits.signInAttemptTimeout})
  RETURNING true AS started`
const lockedText = 'SELECT locked_until > $2::bigint AS locked FROM login_failures WHERE user_id = $1'

/**
 * The attempts of this process that are running or asking the database to start, by subject. The value is one timer per
 * attempt. If a subject has `limits.signInFailuresUntilLock` of these attempts, further attempts wait without a query.
 */
const pendingAttempts = new Map<string, Set<NodeJS.Timeout>>()

function addPendingAttempt(subject: string): void {
  const attempts = pendingAttempts.get(subject) ?? new Set()
  // Removes the attempt if the caller never reports its result.
  attempts.add(setTimeout(() => removePendingAttempt(subject), limits.signInAttemptTimeout).unref())
  pendingAttempts.set(subject, attempts)
}

function removePendingAttempt(subject: string): void {
  const attempts = pendingAttempts.get(subject)
  const [first] = attempts ?? []
  clearTimeout(first)
  if (!first || !attempts?.delete(first) || attempts.size > 0) return
  pendingAttempts.delete(subject)
}

/**
 * Waits until a credential of this subject may be checked. If the function returns true, the caller must report
 * the result with `recordFailedAttempt`, `recordSuccessfulAttempt` or `abandonAttempt`.
 * @param subject the key of the counter: a user ID for passwords, `mail:<key>` for codes by email, `second:<user ID>`
 *   for second factors, or `unknown:<hash>` for passwords of an unknown username
 * @returns false if the subject is locked, or if the wait took longer than `limits.signInAttemptWaitTimeout`
 */
export async function startAttempt(context: Context, subject: string): Promise<boolean> {
  const deadline = performance.now() + limits.signInAttemptWaitTimeout
  for (; performance.now() < deadline; await sleep(limits.signInAttemptPollInterval)) {
    if ((pendingAttempts.get(subject)?.size ?? 0) >= limits.signInFailuresUntilLock) continue
    addPendingAttempt(subject)
    const result = await requestAttempt(context, subject).catch((error) => {
      removePendingAttempt(subject)
      throw error
    })
    if (result === 'started') return true
    removePendingAttempt(subject)
    if (result === 'locked') return false
  }
  return false
}

async function requestAttempt({ database, now }: Context, subject: string): Promise<'started' | 'locked' | 'later'> {
  const [started] = await database.query<{ started: boolean }>('attempt-start', startText, [subject, now()])
  if (started) return 'started'
  const [row] = await database.query<{ locked: boolean | null }>('attempt-locked', lockedText, [subject, now()])
  return row?.locked ? 'locked' : 'later'
}

const failureText = `
  UPDATE login_failures f SET failures = f.failures + 1, pending_attempts = greatest(f.pending_attempts - 1, 0), updated_at = $2::bigint,
    locked_until = CASE WHEN f.failures + 1 >= ${limits.signInFailuresUntilLock} THEN
      $2::bigint + least(${limits.maxSignInLockDuration}, ${limits.initialSignInLockDuration} * 2 ^ least(f.failures + 1 - ${limits.signInFailuresUntilLock}, 20))::bigint END
  WHERE f.user_id = $1
  RETURNING f.locked_until AS "lockedUntil"`

/**
 * Ends an attempt with a wrong credential and counts the failure.
 * @returns the end of the lock (Unix milliseconds) if the subject is locked now, otherwise null
 */
export async function recordFailedAttempt(context: Context, subject: string): Promise<number | null> {
  const values = [subject, context.now()]
  const [row] = await context.database
    .query<{ lockedUntil: number | null }>('attempt-failure', failureText, values)
    .finally(() => removePendingAttempt(subject))
  return row?.lockedUntil ?? null
}

const successText = `
  WITH gone AS (DELETE FROM login_failures WHERE user_id = $1 AND pending_attempts <= 1 RETURNING 1)
  UPDATE login_failures SET failures = 0, pending_attempts = pending_attempts - 1, locked_until = NULL
  WHERE user_id = $1 AND NOT EXISTS (SELECT 1 FROM gone)`

/** Ends an attempt with a correct credential and resets the number of failures and the lock. */
export async function recordSuccessfulAttempt(context: Context, subject: string): Promise<void> {
  await context.database.query('attempt-success', successText, [subject]).finally(() => removePendingAttempt(subject))
}

const abandonText = 'UPDATE login_failures SET pending_attempts = greatest(pending_attempts - 1, 0) WHERE user_id = $1'

/** Ends an attempt whose credential was not checked. The number of failures does not change. */
export async function abandonAttempt(context: Context, subject: string): Promise<void> {
  await context.database.query('attempt-abandon', abandonText, [subject]).finally(() => removePendingAttempt(subject))
}

const resetText = `UPDATE login_failures SET failures = 0, locked_until = NULL WHERE user_id = ANY($1)`

/**
 * Resets the failures and locks of a user's password and second factors. A failure of an attempt in progress counts as
 * the first one.
 */
export async function resetFailedAttempts(tx: Context, userId: string): Promise<void> {
  await tx.query('attempt-reset', resetText, [[userId, `second:${userId}`]])
}
