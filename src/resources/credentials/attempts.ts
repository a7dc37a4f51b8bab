/**
 * Counting failed sign-ins (decisions D19), across methods and processes. At most as many passwords of a user are
 * looked at at one moment as may still be wrong, so that guesses sent together buy nothing; the others wait their turn,
 * so that people, or programs, who sign in together with the right one are not locked out.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { DAY, HOUR, MINUTE, SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'

/** Failures until the first lock; it lasts a minute and doubles with each further failure, up to an hour. */
const FAILURES_UNTIL_LOCK = 5
const FIRST_LOCK = MINUTE
const LONGEST_LOCK = HOUR
/** Failures this old (milliseconds) are forgotten. */
const MEMORY = DAY
/** An attempt that has not ended by then died with its process. */
const LONGEST_ATTEMPT = 10 * SECOND
/** How long to wait between two looks for a turn, and in all (milliseconds). */
const TURN = 25
const PATIENCE = 10 * SECOND

const startText = `
  INSERT INTO login_failures AS f (user_id, failures, pending, locked_until, updated_at) VALUES ($1, 0, 1, NULL, $2::bigint)
  ON CONFLICT (user_id) DO UPDATE SET
    failures = CASE WHEN f.updated_at < $2::bigint - ${MEMORY} THEN 0 ELSE f.failures END,
    pending = CASE WHEN f.updated_at < $2::bigint - ${LONGEST_ATTEMPT} THEN 1 ELSE f.pending + 1 END,
    updated_at = $2::bigint
  WHERE (f.locked_until IS NULL OR f.locked_until <= $2::bigint)
    AND (f.pending < greatest(${FAILURES_UNTIL_LOCK} - f.failures, 1) OR f.updated_at < $2::bigint - ${LONGEST_ATTEMPT})
  RETURNING true AS started`
const lockedText = 'SELECT locked_until > $2::bigint AS locked FROM login_failures WHERE user_id = $1'

/** Turns that this process has, or asks for: while they are as many as there can be, the others need not ask. */
const underWay = new Map<string, Set<NodeJS.Timeout>>()

function enter(subject: string): void {
  const attempts = underWay.get(subject) ?? new Set()
  // Whoever never says how it ended.
  attempts.add(setTimeout(() => leave(subject), LONGEST_ATTEMPT).unref())
  underWay.set(subject, attempts)
}

function leave(subject: string): void {
  const attempts = underWay.get(subject)
  const [first] = attempts ?? []
  clearTimeout(first)
  if (!first || !attempts?.delete(first) || attempts.size > 0) return
  underWay.delete(subject)
}

/**
 * Waits for a turn to try a credential of this subject. Whoever gets one says how it ended: `settleFailure`,
 * `settleSuccess` or `abandonAttempt`.
 * @returns false when nothing may be tried now: the subject is locked, or too many try at once
 */
export async function startAttempt(context: Context, subject: string): Promise<boolean> {
  const until = performance.now() + PATIENCE
  for (; performance.now() < until; await sleep(TURN)) {
    if ((underWay.get(subject)?.size ?? 0) >= FAILURES_UNTIL_LOCK) continue
    enter(subject)
    const verdict = await askForTurn(context, subject).catch((error) => {
      leave(subject)
      throw error
    })
    if (verdict === 'started') return true
    leave(subject)
    if (verdict === 'locked') return false
  }
  return false
}

async function askForTurn({ tools, now }: Context, subject: string): Promise<'started' | 'locked' | 'later'> {
  const [started] = await tools.query<{ started: boolean }>('attempt-start', startText, [subject, now()])
  if (started) return 'started'
  const [row] = await tools.query<{ locked: boolean | null }>('attempt-locked', lockedText, [subject, now()])
  return row?.locked ? 'locked' : 'later'
}

const failureText = `
  UPDATE login_failures f SET failures = f.failures + 1, pending = greatest(f.pending - 1, 0), updated_at = $2::bigint,
    locked_until = CASE WHEN f.failures + 1 >= ${FAILURES_UNTIL_LOCK} THEN
      $2::bigint + least(${LONGEST_LOCK}, ${FIRST_LOCK} * 2 ^ least(f.failures + 1 - ${FAILURES_UNTIL_LOCK}, 20))::bigint END
  WHERE f.user_id = $1
  RETURNING f.locked_until AS "lockedUntil"`

/** The credential was wrong. @returns until when (Unix milliseconds) the subject is locked now, or null */
export async function settleFailure(context: Context, subject: string): Promise<number | null> {
  const values = [subject, context.now()]
  const [row] = await context.tools
    .query<{ lockedUntil: number | null }>('attempt-failure', failureText, values)
    .finally(() => leave(subject))
  return row?.lockedUntil ?? null
}

const successText = `
  WITH gone AS (DELETE FROM login_failures WHERE user_id = $1 AND pending <= 1 RETURNING 1)
  UPDATE login_failures SET failures = 0, pending = pending - 1, locked_until = NULL
  WHERE user_id = $1 AND NOT EXISTS (SELECT 1 FROM gone)`

/** The credential was right: the count begins anew. */
export async function settleSuccess(context: Context, subject: string): Promise<void> {
  await context.tools.query('attempt-success', successText, [subject]).finally(() => leave(subject))
}

const abandonText = 'UPDATE login_failures SET pending = greatest(pending - 1, 0) WHERE user_id = $1'

/** The credential was not looked at after all: the turn goes back, and nothing is counted. */
export async function abandonAttempt(context: Context, subject: string): Promise<void> {
  await context.tools.query('attempt-abandon', abandonText, [subject]).finally(() => leave(subject))
}

const forgetText = `UPDATE login_failures SET failures = 0, locked_until = NULL WHERE user_id = ANY($1)`

/** Lifts the locks of a user's first and second factor. Attempts under way count from zero. */
export async function forgetFailures(inside: Context, userId: string): Promise<void> {
  await inside.query('attempt-forget', forgetText, [[userId, `second:${userId}`]])
}
