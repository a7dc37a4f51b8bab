/**
 * Runs periodic jobs: each run is executed by one of all processes. The table `periodic_jobs` contains the next run and
 * the lease of each job (lease.ts). A process that lost its lease aborts the job's stop signal and records nothing
 * about the run. It may have done part of the work, so jobs must be idempotent. Times are in milliseconds.
 */
import { randomInt } from 'node:crypto'
import { system } from '../../kernel/context.js'
import { newId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import { SECOND } from '../../kernel/time.js'
import { type Context, contextFor, type Gatehouse } from '../context.js'
import { safeErrorMessage } from '../serialize-error.js'
import { leaseSql, logTakeover, newLeaseOwner, runWithLease } from './lease.js'

export interface PeriodicJob {
  name: string
  /** The interval between runs in milliseconds. */
  every: number
  /** Long jobs check `context.stopSignal` between batches (batch-delete.ts). */
  run(context: Context): Promise<void>
}

export interface BackgroundWorker {
  /** Starts no more runs and waits for the running ones. */
  stop(): Promise<void>
}

/** How one run ended; `interrupted`: its process stopped or lost the lease before the end. */
export type RunResult = 'succeeded' | 'failed' | 'interrupted'

/** Creates a context for background work, with the system as actor. */
export const systemContext = (gatehouse: Gatehouse, stopSignal?: AbortSignal): Context => ({
  ...contextFor(gatehouse, system, {
    id: newId('req', gatehouse.now()),
    ip: null,
    userAgent: null,
    method: null,
    path: null,
  }),
  ...(stopSignal && { stopSignal }),
})

export const periodicJobLease = leaseSql({ duration: limits.periodicJobLeaseDuration })

const registerJobsSql = `
  INSERT INTO periodic_jobs (name, next_run_at) SELECT name, $2::bigint FROM unnest($1::text[]) AS name
  ON CONFLICT (name) DO NOTHING`

/**
 * A next run more than two intervals ahead was written by a process with a wrong clock or a longer interval; it counts
 * as due.
 */
const isDueSql = '(next_run_at <= $4::bigint OR next_run_at > $4::bigint + 2 * every)'
const leaseJobsSql = `
  WITH free AS (
    SELECT j.name, j.lease_owner FROM periodic_jobs j JOIN unnest($2::text[], $3::bigint[]) AS asked(name, every) USING (name)
    WHERE ${periodicJobLease.isFree('$4')} AND ($5::boolean OR ${isDueSql})
    FOR UPDATE OF j SKIP LOCKED)
  UPDATE periodic_jobs j SET ${periodicJobLease.take('$1', '$4')}, started_at = $4::bigint
  FROM free WHERE j.name = free.name
  RETURNING j.name, free.lease_owner AS "previousOwner"`
const renewLeaseSql = `
  UPDATE periodic_jobs SET ${periodicJobLease.renew('$3')} WHERE name = $1 AND ${periodicJobLease.isMine('$2')} RETURNING name`
const finishRunSql = `
  UPDATE periodic_jobs SET ${periodicJobLease.release()}, next_run_at = $3::bigint, ended_at = $4::bigint, duration_ms = $5::int,
    result = $6, error = $7,
    succeeded_at = CASE WHEN $6 = 'succeeded' THEN $4::bigint ELSE succeeded_at END,
    consecutive_failures = CASE $6
      WHEN 'succeeded' THEN 0 WHEN 'failed' THEN consecutive_failures + 1 ELSE consecutive_failures END
  WHERE name = $1 AND ${periodicJobLease.isMine('$2')}
  RETURNING name`
const nextRunSql =
  'SELECT min(greatest(next_run_at, lease_expires_at)) AS at FROM periodic_jobs WHERE name = ANY ($1::text[])'

/** A run that this process has leased. */
interface LeasedRun {
  job: PeriodicJob
  leaseOwner: string
}

/** @param ignoreSchedule leases the jobs even if they are not due */
async function leaseDueJobs(
  gatehouse: Gatehouse,
  jobs: readonly PeriodicJob[],
  ignoreSchedule = false,
): Promise<LeasedRun[]> {
  const { database, now, log } = gatehouse
  const leaseOwner = newLeaseOwner()
  const values = [leaseOwner, jobs.map(({ name }) => name), jobs.map(({ every }) => every), now(), ignoreSchedule]
  const rows = await database.query<{ name: string; previousOwner: string | null }>(
    'periodic-lease',
    leaseJobsSql,
    values,
  )
  return rows.map(({ name, previousOwner }) => {
    logTakeover(log, previousOwner, { job: name })
    return { job: jobs.find((job) => job.name === name)!, leaseOwner }
  })
}

/** Runs a leased job and records the result, unless another process has taken over the lease. */
async function executeRun(gatehouse: Gatehouse, run: LeasedRun, stopping: AbortSignal): Promise<RunResult> {
  const { database, now, log, metrics } = gatehouse
  const { job, leaseOwner } = run
  const renew = async () =>
    (await database.query('periodic-renew-lease', renewLeaseSql, [job.name, leaseOwner, now()])).length > 0

  const began = performance.now()
  let result: RunResult
  let errorMessage: string | null = null
  try {
    result = await runWithLease(renew, limits.periodicJobLeaseRenewalInterval, async (leaseLost) => {
      const stop = AbortSignal.any([stopping, leaseLost])
      await job.run(systemContext(gatehouse, stop))
      return stop.aborted ? 'interrupted' : 'succeeded'
    })
  } catch (error) {
    result = 'failed'
    errorMessage = errorSummary(error)
    log.error({ err: error, job: job.name }, 'periodic job failed; retrying at its next scheduled run')
  }
  const elapsed = Math.round(performance.now() - began)
  metrics.periodicRuns.inc({ job: job.name, result })
  metrics.periodicDuration.observe({ job: job.name }, elapsed / 1000)
  const endedAt = now()
  // An interrupted job is due immediately, so that another process continues it. Otherwise the time until the next run
  // varies by up to 10 % of the interval, so that jobs with the same interval do not always run together.
  const nextRunAt =
    result === 'interrupted' ? endedAt : endedAt + Math.round(job.every * (0.9 + randomInt(0, 201) / 1000))
  try {
    await database.query('periodic-finish', finishRunSql, [
      job.name,
      leaseOwner,
      nextRunAt,
      endedAt,
      elapsed,
      result,
      errorMessage,
    ])
  } catch (error) {
    // The lease expires, and a process runs the job again.
    log.warn({ err: error, job: job.name }, 'could not record the result of a periodic job')
  }
  return result
}

/**
 * Returns a one-line summary of an error for operators: the database's own message or the last line, at most 200
 * characters.
 */
export function errorSummary(error: unknown): string {
  const last = safeErrorMessage(error).trim().split('\n').at(-1)?.trim() ?? ''
  return (/Message: `(.*)`$/.exec(last)?.[1] ?? last).slice(0, 200)
}

/** Runs each job when it is due and no other process has leased it, until stopped. */
export function startPeriodicJobs(gatehouse: Gatehouse, jobs: readonly PeriodicJob[]): BackgroundWorker {
  const names = jobs.map(({ name }) => name)
  const stopping = new AbortController()
  const running = new Set<Promise<unknown>>()
  let registered = false
  let polling: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const scheduleNextPoll = (delay: number): void => {
    clearTimeout(timer)
    if (stopping.signal.aborted) return
    timer = setTimeout(poll, delay)
    timer.unref()
  }

  function poll(): void {
    polling ??= startDueRuns()
      .catch((error) => {
        gatehouse.log.warn({ err: error }, 'could not read periodic jobs; retrying')
        return limits.periodicJobRetryInterval
      })
      .then((wait) => {
        polling = undefined
        scheduleNextPoll(wait)
      })
  }

  /** @returns the time until the next poll, in milliseconds */
  async function startDueRuns(): Promise<number> {
    if (!registered) await registerJobs(gatehouse, jobs)
    registered = true
    for (const leasedRun of await leaseDueJobs(gatehouse, jobs)) {
      const run = executeRun(gatehouse, leasedRun, stopping.signal).finally(() => running.delete(run))
      running.add(run)
    }
    const [next] = await gatehouse.database.query<{ at: number | null }>('periodic-next-due', nextRunSql, [names])
    return Math.max(
      limits.minPeriodicJobPollInterval,
      Math.min(limits.maxPeriodicJobPollInterval, (next?.at ?? 0) - gatehouse.now()),
    )
  }

  scheduleNextPoll(randomInt(0, SECOND / 5))
  return {
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await polling
      await Promise.all(running)
    },
  }
}

/** Inserts missing rows for the jobs; new jobs are due immediately. */
async function registerJobs({ database, now }: Gatehouse, jobs: readonly PeriodicJob[]): Promise<void> {
  await database.query('periodic-register', registerJobsSql, [jobs.map(({ name }) => name), now()])
}

/**
 * Runs a job immediately in this process, even if it is not due. For the command line.
 * @returns undefined when another process is running it
 */
export async function runJobNow(gatehouse: Gatehouse, job: PeriodicJob): Promise<RunResult | undefined> {
  await registerJobs(gatehouse, [job])
  const [run] = await leaseDueJobs(gatehouse, [job], true)
  return run && executeRun(gatehouse, run, new AbortController().signal)
}
