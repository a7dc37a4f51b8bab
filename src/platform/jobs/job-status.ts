/** Reads the state of periodic jobs and of the job queue over all processes, for `gatehouse jobs` and the metrics. */
import type { Context, Gatehouse } from '../context.js'
import { registerGauge, shareInFlight } from '../metrics.js'
import { sql } from '../postgres/database.js'
import { notify } from '../postgres/notifications.js'
import { type PeriodicJob, periodicJobLease } from './periodic-jobs.js'
import { jobLease, type Task } from './queue.js'

/** The state of a periodic job. Times are in Unix milliseconds. A value that does not exist is null. */
export interface PeriodicState {
  name: string
  nextRunAt: number | null
  /** The lease owner of the current run, see `newLeaseOwner`. */
  leaseOwner: string | null
  startedAt: number | null
  endedAt: number | null
  durationMs: number | null
  result: string | null
  error: string | null
  succeededAt: number | null
  /** Failed runs since the last success. */
  consecutiveFailures: number
}

/** The number of queued jobs of one task. */
export interface QueueState {
  task: string
  waiting: number
  running: number
  failed: number
  /** When the oldest waiting or running job was enqueued, in Unix milliseconds; null if there is none. */
  oldestAt: number | null
}

/** A queued job that has used all its attempts. The payload is not shown because it may contain personal data. */
export interface FailedJob {
  id: string
  task: string
  attempts: number
  error: string | null
  createdAt: number
  failedAt: number
}

const periodicStatesSql = `
  SELECT known.name, j.next_run_at AS "nextRunAt",
    CASE WHEN ${periodicJobLease.isTaken('$2')} THEN j.lease_owner END AS "leaseOwner",
    j.started_at AS "startedAt", j.ended_at AS "endedAt", j.duration_ms AS "durationMs", j.result, j.error, j.succeeded_at AS "succeededAt",
    coalesce(j.consecutive_failures, 0) AS "consecutiveFailures"
  FROM unnest($1::text[]) WITH ORDINALITY AS known(name, n) LEFT JOIN periodic_jobs j USING (name) ORDER BY known.n`

/** Returns the states in the order of `jobs`. */
export const periodicStates = ({ database, now }: Gatehouse, jobs: readonly PeriodicJob[]): Promise<PeriodicState[]> =>
  database.query<PeriodicState & Record<string, unknown>>('periodic-states', periodicStatesSql, [
    jobs.map(({ name }) => name),
    now(),
  ])

/** A job with an expired lease counts as waiting. */
const queueStatesSql = `
  SELECT task, count(id) FILTER (WHERE failed_at IS NULL AND NOT ${jobLease.isTaken('$2')})::int AS waiting,
    count(id) FILTER (WHERE failed_at IS NULL AND ${jobLease.isTaken('$2')})::int AS running,
    count(failed_at)::int AS failed, min(created_at) FILTER (WHERE failed_at IS NULL) AS "oldestAt"
  FROM unnest($1::text[]) AS known(task) FULL JOIN jobs USING (task) GROUP BY task ORDER BY task`

/** Returns the states of the tasks of this version, and of any other tasks in the queue. */
export const queueStates = ({ database, now }: Gatehouse, tasks: readonly Task[]): Promise<QueueState[]> =>
  database.query<QueueState & Record<string, unknown>>('queue-states', queueStatesSql, [
    tasks.map(({ name }) => name),
    now(),
  ])

const failedJobsSql = `
  SELECT id, task, attempts, error, created_at AS "createdAt", failed_at AS "failedAt" FROM jobs
  WHERE failed_at IS NOT NULL ORDER BY failed_at DESC LIMIT $1::int`

/** Returns the most recently failed jobs. */
export const failedJobs = ({ database }: Gatehouse, limit: number): Promise<FailedJob[]> =>
  database.query<FailedJob & Record<string, unknown>>('queue-failed', failedJobsSql, [limit])

/** Resets the attempts of a failed job; runs a job that waits for its next attempt immediately. */
const retryJobSql = `
  UPDATE jobs SET run_at = $2::bigint, attempts = CASE WHEN failed_at IS NULL THEN attempts ELSE 0 END, failed_at = NULL
  WHERE id = $1 AND NOT ${jobLease.isTaken('$2')} RETURNING task`

/** Schedules a queued job to run now, in any worker. @returns false when the job does not exist or is running */
export async function retryJob(context: Context, id: string): Promise<boolean> {
  const [job] = await sql<{ task: string }>(context.db, retryJobSql, id, context.now())
  if (job) await notify(context, 'jobs', job.task)
  return job !== undefined
}

/** Gauges of periodic jobs and of the queue, over all processes. */
export function registerJobMetrics(gatehouse: Gatehouse, jobs: readonly PeriodicJob[], tasks: readonly Task[]): void {
  const { registry } = gatehouse.metrics
  const periodic = shareInFlight(() => periodicStates(gatehouse, jobs))
  const queue = shareInFlight(() => queueStates(gatehouse, tasks))
  registerGauge(
    registry,
    'gatehouse_periodic_job_last_success_timestamp_seconds',
    'When a periodic job last succeeded, in any process (Unix seconds); absent before its first success.',
    ['job'],
    async (set) => {
      for (const { name, succeededAt } of await periodic()) if (succeededAt) set({ job: name }, succeededAt / 1000)
    },
  )
  registerGauge(
    registry,
    'gatehouse_periodic_job_consecutive_failures',
    'Failed runs of a periodic job since its latest success, over all processes.',
    ['job'],
    async (set) => {
      for (const { name, consecutiveFailures } of await periodic()) set({ job: name }, consecutiveFailures)
    },
  )
  registerGauge(
    registry,
    'gatehouse_jobs',
    'Queued jobs over all processes, by task and state (waiting, running, failed).',
    ['task', 'state'],
    async (set) => {
      for (const { task, waiting, running, failed } of await queue()) {
        for (const [state, count] of Object.entries({ waiting, running, failed })) set({ task, state }, count)
      }
    },
  )
  registerGauge(
    registry,
    'gatehouse_oldest_job_age_seconds',
    'Age of the oldest queued job that has not succeeded or failed, by task; 0 when there is none.',
    ['task'],
    async (set) => {
      const now = gatehouse.now()
      for (const { task, oldestAt } of await queue()) set({ task }, oldestAt ? (now - oldestAt) / 1000 : 0)
    },
  )
}
