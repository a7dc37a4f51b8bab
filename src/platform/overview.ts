/** What there is to do and how it went, over all processes: for `gatehouse jobs` and for the metrics. */
import type { Context, Gatehouse } from './context.js'
import { sql } from './database.js'
import type { PeriodicJob } from './jobs.js'
import { gauge, shared } from './metrics.js'
import { announce } from './notify.js'
import type { Task } from './queue.js'

/** A row of the schedule as it stands. Moments in Unix milliseconds, `took` in milliseconds; null: never yet. */
export interface PeriodicState {
  name: string
  nextAt: number | null
  /** The process that runs it now. */
  holder: string | null
  startedAt: number | null
  endedAt: number | null
  took: number | null
  result: string | null
  error: string | null
  succeededAt: number | null
  /** Since the latest success. */
  failures: number
}

/** How much of one task there is. */
export interface QueueState {
  task: string
  waiting: number
  running: number
  failed: number
  /** When the oldest that is not done was promised, in Unix milliseconds. */
  oldestAt: number | null
}

/** A job of the queue that nobody tries any more. Its payload stays where it is: it may name people. */
export interface FailedJob {
  id: string
  task: string
  attempts: number
  error: string | null
  createdAt: number
  failedAt: number
}

const periodicText = `
  SELECT asked.name, j.next_at AS "nextAt", CASE WHEN j.held_until > $2::bigint THEN j.holder END AS holder,
    j.started_at AS "startedAt", j.ended_at AS "endedAt", j.took, j.result, j.error, j.succeeded_at AS "succeededAt",
    coalesce(j.failures, 0) AS failures
  FROM unnest($1::text[]) WITH ORDINALITY AS asked(name, n) LEFT JOIN periodic_jobs j USING (name) ORDER BY asked.n`

/** In the order of the schedule. */
export const periodicStates = ({ tools, now }: Gatehouse, jobs: readonly PeriodicJob[]): Promise<PeriodicState[]> =>
  tools.query<PeriodicState & Record<string, unknown>>('periodic-states', periodicText, [
    jobs.map(({ name }) => name),
    now(),
  ])

/** A job whose lease is over waits, whoever had it. */
const queueText = `
  SELECT task, count(id) FILTER (WHERE failed_at IS NULL AND (holder IS NULL OR run_at <= $2::bigint))::int AS waiting,
    count(id) FILTER (WHERE failed_at IS NULL AND holder IS NOT NULL AND run_at > $2::bigint)::int AS running,
    count(failed_at)::int AS failed, min(created_at) FILTER (WHERE failed_at IS NULL) AS "oldestAt"
  FROM unnest($1::text[]) AS known(task) FULL JOIN jobs USING (task) GROUP BY task ORDER BY task`

/** The tasks of this version, and whatever else lies in the queue. */
export const queueStates = ({ tools, now }: Gatehouse, tasks: readonly Task[]): Promise<QueueState[]> =>
  tools.query<QueueState & Record<string, unknown>>('queue-states', queueText, [tasks.map(({ name }) => name), now()])

const failedText = `
  SELECT id, task, attempts, error, created_at AS "createdAt", failed_at AS "failedAt" FROM jobs
  WHERE failed_at IS NOT NULL ORDER BY failed_at DESC LIMIT $1::int`

/** The latest ones. */
export const failedJobs = ({ tools }: Gatehouse, limit: number): Promise<FailedJob[]> =>
  tools.query<FailedJob & Record<string, unknown>>('queue-failed', failedText, [limit])

/** What was given up begins anew; what waits for its next attempt is tried now. */
const retryText = `
  UPDATE jobs SET run_at = $2::bigint, attempts = CASE WHEN failed_at IS NULL THEN attempts ELSE 0 END, failed_at = NULL
  WHERE id = $1 AND holder IS NULL RETURNING task`

/** Has a job of the queue tried again, by whichever worker is there. @returns false when there is none, or it is under way */
export async function retryJob(context: Context, id: string): Promise<boolean> {
  const [job] = await sql<{ task: string }>(context.db, retryText, id, context.now())
  if (job) await announce(context, 'jobs', job.task)
  return job !== undefined
}

/** Gauges of periodic jobs and of the queue, over all processes. */
export function watchWork(gatehouse: Gatehouse, jobs: readonly PeriodicJob[], tasks: readonly Task[]): void {
  const { registry } = gatehouse.metrics
  const periodic = shared(() => periodicStates(gatehouse, jobs))
  const queue = shared(() => queueStates(gatehouse, tasks))
  gauge(
    registry,
    'gatehouse_periodic_job_last_success_timestamp_seconds',
    'When a periodic job last succeeded, in whatever process (Unix seconds); absent before its first success.',
    ['job'],
    async (set) => {
      for (const { name, succeededAt } of await periodic()) if (succeededAt) set({ job: name }, succeededAt / 1000)
    },
  )
  gauge(
    registry,
    'gatehouse_periodic_job_failures',
    'Failed runs of a periodic job since its latest success, over all processes.',
    ['job'],
    async (set) => {
      for (const { name, failures } of await periodic()) set({ job: name }, failures)
    },
  )
  gauge(
    registry,
    'gatehouse_queue_jobs',
    'Queued work over all processes, by task and state (waiting, running, failed).',
    ['task', 'state'],
    async (set) => {
      for (const { task, waiting, running, failed } of await queue()) {
        for (const [state, count] of Object.entries({ waiting, running, failed })) set({ task, state }, count)
      }
    },
  )
  gauge(
    registry,
    'gatehouse_queue_oldest_job_seconds',
    'Age of the oldest queued work that is not done, by task; 0 when there is none.',
    ['task'],
    async (set) => {
      const now = gatehouse.now()
      for (const { task, oldestAt } of await queue()) set({ task }, oldestAt ? (now - oldestAt) / 1000 : 0)
    },
  )
}
