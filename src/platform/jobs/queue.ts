/**
 * The job queue (transactional outbox): `enqueue` inserts a row in the transaction that causes the work, and a worker
 * of any process runs it soon after the commit. The worker has a lease on the job (lease.ts); if it crashes, another
 * worker runs the job again. Jobs run at least once, so they must be idempotent. Times are in milliseconds.
 */
import { newId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import type { Context, Gatehouse } from '../context.js'
import { type Prisma } from '../postgres/database.js'
import { translateDatabaseError } from '../postgres/errors.js'
import { listen, notify } from '../postgres/notifications.js'
import { deleteInBatches } from './batch-delete.js'
import { leaseSql, logTakeover, newLeaseOwner } from './lease.js'
import { type BackgroundWorker, errorSummary, systemContext } from './periodic-jobs.js'

/** The outcome of an attempt. An exception counts as `failed` and is logged. */
export type JobOutcome =
  | 'done'
  | 'failed'
  /** Failed, and the remote server has specified when to retry (Unix milliseconds). */
  | { retryAt: number }
  /** Not attempted: runs again at this time (Unix milliseconds) and does not count as an attempt. */
  | { postponeUntil: number }

export interface JobAttempt {
  /** Starts at 1. */
  readonly number: number
  /** True when no attempt follows a failure of this one. */
  readonly isLast: boolean
}

/** The definition of one type of job. */
export interface Task {
  readonly name: string
  readonly maxAttempts: number
  /** The delay before the next attempt, in milliseconds. */
  retryDelay(failedAttempts: number): number
  /** Must be longer than an attempt can take: after this time (milliseconds) another worker takes the job. */
  readonly leaseDuration: number
  /** The maximum number of parallel attempts per process. */
  readonly concurrency: number
  run(context: Context, payload: unknown, attempt: JobAttempt): Promise<JobOutcome>
}

interface JobRow {
  id: string
  task: string
  payload: unknown
  attempts: number
  leaseOwner: string
}

/**
 * Enqueues jobs in the current transaction.
 * @param payloads one job each; must not contain secrets, because payloads are stored in plain text
 * @param runAt Unix milliseconds
 */
export async function enqueue(
  context: Context,
  task: string,
  payloads: readonly Prisma.InputJsonObject[],
  runAt = context.now(),
): Promise<void> {
  if (payloads.length === 0) return
  const createdAt = context.now()
  const rows = payloads.map((payload) => ({ id: newId('job', createdAt), task, payload, runAt, createdAt }))
  await context.db.job.createMany({ data: rows })
  await notify(context, 'jobs', task)
}

/** `run_at` is also the end of the lease: when it expires, the job is due. */
export const jobLease = leaseSql({ expiresAt: 'run_at', duration: '$3::bigint' })

const leaseJobsSql = `
  WITH free AS (
    SELECT id, lease_owner FROM jobs WHERE task = $1 AND failed_at IS NULL AND ${jobLease.isFree('$2')}
    ORDER BY run_at LIMIT $4::int FOR UPDATE SKIP LOCKED)
  UPDATE jobs SET ${jobLease.take('$5', '$2')}, attempts = attempts + 1 FROM free WHERE jobs.id = free.id
  RETURNING jobs.id, task, payload, attempts, jobs.lease_owner AS "leaseOwner", free.lease_owner AS "previousOwner"`
const deleteJobSql = `DELETE FROM jobs WHERE id = $1 AND ${jobLease.isMine('$2')}`
const rescheduleJobSql = `
  UPDATE jobs SET ${jobLease.release('$3::bigint')}, attempts = $4::int, error = $5
  WHERE id = $1 AND ${jobLease.isMine('$2')}`
const failJobSql = `
  UPDATE jobs SET ${jobLease.release('$3::bigint')}, failed_at = $3::bigint, error = $4
  WHERE id = $1 AND ${jobLease.isMine('$2')}`
const nextDueSql = 'SELECT min(run_at) AS at FROM jobs WHERE task = ANY($1::text[]) AND failed_at IS NULL'

/** Runs queued jobs of the given tasks until stopped. */
export function startQueueWorker(gatehouse: Gatehouse, tasks: readonly Task[]): BackgroundWorker {
  const running = new Map(tasks.map((task) => [task, new Set<Promise<void>>()]))
  let stopped = false
  let polling = false
  let pollAgain = false
  let timer: NodeJS.Timeout | undefined

  const scheduleNextPoll = (delay: number): void => {
    clearTimeout(timer)
    if (stopped) return
    timer = setTimeout(poll, delay)
    timer.unref()
  }

  function poll(): void {
    if (polling) {
      pollAgain = true
      return
    }
    polling = true
    pollAgain = false
    void startDueJobs()
      .catch((error) => {
        gatehouse.log.warn({ err: error }, 'could not read the job queue; retrying')
        return limits.jobPollInterval
      })
      .then((wait) => {
        polling = false
        scheduleNextPoll(pollAgain ? 0 : wait)
      })
  }

  /** Leases jobs up to the concurrency limits. @returns the time until the next poll, in milliseconds */
  async function startDueJobs(): Promise<number> {
    for (const [task, inFlight] of running) {
      const freeSlots = task.concurrency - inFlight.size
      if (stopped || freeSlots <= 0) continue
      for (const job of await leaseDueJobs(gatehouse, task, freeSlots)) {
        const work = runAttempt(gatehouse, task, job).finally(() => {
          inFlight.delete(work)
          poll()
        })
        inFlight.add(work)
      }
    }
    const tasksWithFreeSlots = tasks
      .filter((task) => running.get(task)!.size < task.concurrency)
      .map(({ name }) => name)
    const [next] = await gatehouse.database.query<{ at: number | null }>('jobs-next-due', nextDueSql, [
      tasksWithFreeSlots,
    ])
    return Math.max(
      limits.minJobPollInterval,
      Math.min(limits.jobPollInterval, next?.at == null ? limits.jobPollInterval : next.at - gatehouse.now()),
    )
  }

  const subscription = listen(gatehouse.database, gatehouse.log, {
    onNotification: (topic) => {
      if (topic === 'jobs') poll()
    },
    onReconnect: poll,
  })
  scheduleNextPoll(0)
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await subscription.close()
      await Promise.all([...running.values()].flatMap((inFlight) => [...inFlight]))
    },
  }
}

/** Runs all due jobs, including those that become due in the meantime, then returns. For the command line and tests. */
export async function runDueJobs(gatehouse: Gatehouse, tasks: readonly Task[]): Promise<void> {
  for (let found = true; found; ) {
    found = false
    for (const task of tasks) {
      const jobs = await leaseDueJobs(gatehouse, task, task.concurrency)
      if (jobs.length > 0) found = true
      await Promise.all(jobs.map((job) => runAttempt(gatehouse, task, job)))
    }
  }
}

async function leaseDueJobs(
  { database, now, log }: Gatehouse,
  { name, leaseDuration }: Task,
  maxJobs: number,
): Promise<JobRow[]> {
  const values = [name, now(), leaseDuration, maxJobs, newLeaseOwner()]
  const rows = await database.query<JobRow & { previousOwner: string | null }>('jobs-lease', leaseJobsSql, values)
  for (const { id, previousOwner } of rows) logTakeover(log, previousOwner, { task: name, job: id })
  return rows
}

/** Runs one attempt and updates the job. Changes nothing if the lease has expired and another worker has the job. */
async function runAttempt(
  gatehouse: Gatehouse,
  task: Task,
  { id, payload, leaseOwner, attempts }: JobRow,
): Promise<void> {
  const { database, log, metrics, now } = gatehouse
  const isLast = attempts >= task.maxAttempts
  let outcome: JobOutcome = 'failed'
  let errorMessage: string | null = null
  try {
    // A job that crashes its process must not be retried without limit.
    if (attempts > task.maxAttempts + limits.maxLostJobLeases)
      throw new Error(
        `The last attempt of this job was repeated ${limits.maxLostJobLeases} times and always ended without a result, probably because the job crashes its process.`,
      )
    outcome = await task.run(systemContext(gatehouse), payload, { number: attempts, isLast })
  } catch (error) {
    errorMessage = errorSummary(error)
    log.error({ err: error, task: task.name, job: id }, 'job failed')
  }
  const postponed = typeof outcome === 'object' && 'postponeUntil' in outcome
  const result = outcome === 'done' ? 'succeeded' : postponed ? 'postponed' : isLast ? 'failed' : 'retried'
  metrics.jobAttempts.inc({ task: task.name, outcome: result })
  try {
    if (result === 'succeeded') {
      await database.query('jobs-done', deleteJobSql, [id, leaseOwner])
    } else if (result === 'failed') {
      await database.query('jobs-failed', failJobSql, [id, leaseOwner, now(), errorMessage])
    } else {
      const nextRunAt =
        typeof outcome === 'string'
          ? now() + task.retryDelay(attempts)
          : 'postponeUntil' in outcome
            ? outcome.postponeUntil
            : outcome.retryAt
      await database.query('jobs-reschedule', rescheduleJobSql, [
        id,
        leaseOwner,
        Math.ceil(nextRunAt),
        postponed ? attempts - 1 : attempts,
        errorMessage,
      ])
    }
  } catch (error) {
    // The lease expires, and a worker runs the job again.
    log.warn({ err: translateDatabaseError(error), task: task.name, job: id }, 'could not record the result of a job')
  }
}

/** Deletes failed jobs after `failedJobRetention`. A periodic job. */
export async function purgeFailedJobs(context: Context): Promise<void> {
  await deleteInBatches(context, 'jobs', 'failed_at <= $1::bigint', context.now() - limits.failedJobRetention)
}
