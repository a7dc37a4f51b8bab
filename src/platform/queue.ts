/**
 * Work that is promised by one transaction and done by another: `enqueue` writes a row with the change that promises it,
 * a worker of any process takes it, soon after the commit. One worker takes a job, for the length of a lease; if it dies,
 * the job comes back and another one takes it. So a job is done at least once, and almost always once: what it does must
 * bear being done again. Times in milliseconds.
 */
import { newId } from '../kernel/ids.js'
import { DAY, SECOND } from '../kernel/time.js'
import type { Context, Gatehouse } from './context.js'
import { type Prisma, translated } from './database.js'
import { causeOf, type Jobs, newHolder, systemContext } from './jobs.js'
import { announce, listen } from './notify.js'
import { sweep } from './sweep.js'

/** How an attempt ended. Throwing is `failed`, too, and gets into the log. */
export type Outcome =
  | 'done'
  | 'failed'
  /** Failed, and the other side has said when to come again. */
  | { retryAt: number }
  /** Not tried at all: comes again then, and does not count as an attempt. */
  | { postponeTo: number }

export interface Attempt {
  /** From 1. */
  readonly number: number
  /** No further one follows when this fails. */
  readonly last: boolean
}

/** One kind of work. */
export interface Task {
  readonly name: string
  /** How often it is tried at most. */
  readonly attempts: number
  /** How long to wait after this many failed attempts. */
  delay(failed: number): number
  /** Longer than an attempt can take: after this somebody else takes the job. */
  readonly lease: number
  /** Attempts at the same time, in one process. */
  readonly parallel: number
  run(context: Context, payload: unknown, attempt: Attempt): Promise<Outcome>
}

interface JobRow {
  id: string
  task: string
  payload: unknown
  runAt: number
  attempts: number
}

/** Without a notice, and where nothing is planned, the table is looked at this often. */
const LOOK_INTERVAL = 5 * SECOND
/** A last attempt whose process died is made again, this often. */
const LEASES_TO_LOSE = 2
/** What was given up can be looked at and tried again for as long. */
const FAILED_KEPT = 7 * DAY

/**
 * Promises work, in the transaction that gives a reason for it.
 * @param payloads one job each; nothing secret, for they lie in the database as they are
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
  await announce(context, 'jobs', task)
}

/** `run_at` is the proof of the taker: nobody else gets the same end of a lease. */
const takeText = `
  UPDATE jobs SET attempts = attempts + 1, run_at = $2::bigint + $3::bigint, holder = $5
  WHERE id IN (
    SELECT id FROM jobs WHERE task = $1 AND failed_at IS NULL AND run_at <= $2::bigint
    ORDER BY run_at LIMIT $4::int FOR UPDATE SKIP LOCKED
  )
  RETURNING id, task, payload, run_at AS "runAt", attempts`
const doneText = 'DELETE FROM jobs WHERE id = $1 AND run_at = $2::bigint'
const againText = `
  UPDATE jobs SET run_at = $3::bigint, attempts = $4::int, error = $5, holder = NULL
  WHERE id = $1 AND run_at = $2::bigint`
const failedText = `
  UPDATE jobs SET failed_at = $3::bigint, error = $4, holder = NULL WHERE id = $1 AND run_at = $2::bigint`
const nextText = 'SELECT min(run_at) AS at FROM jobs WHERE task = ANY($1::text[]) AND failed_at IS NULL'

/** Works on the queue until stopped; of tasks that it does not know it keeps its hands off. */
export function startWorker(gatehouse: Gatehouse, tasks: readonly Task[]): Jobs {
  const holder = newHolder()
  const running = new Map(tasks.map((task) => [task, new Set<Promise<void>>()]))
  let stopped = false
  let looking = false
  let again = false
  let timer: NodeJS.Timeout | undefined

  const plan = (wait: number): void => {
    clearTimeout(timer)
    if (stopped) return
    timer = setTimeout(look, wait)
    timer.unref()
  }

  function look(): void {
    if (looking) {
      again = true
      return
    }
    looking = true
    again = false
    void round()
      .catch((error) => {
        gatehouse.log.warn({ err: error }, 'the queue cannot be read; trying again')
        return LOOK_INTERVAL
      })
      .then((wait) => {
        looking = false
        plan(again ? 0 : wait)
      })
  }

  /** Takes as much as there is room for. @returns how long to wait for the next look */
  async function round(): Promise<number> {
    for (const [task, under] of running) {
      const room = task.parallel - under.size
      if (stopped || room <= 0) continue
      for (const job of await take(gatehouse, holder, task, room)) {
        const work = attempt(gatehouse, task, job).finally(() => {
          under.delete(work)
          look()
        })
        under.add(work)
      }
    }
    const free = tasks.filter((task) => running.get(task)!.size < task.parallel).map(({ name }) => name)
    const [next] = await gatehouse.tools.query<{ at: number | null }>('jobs-next', nextText, [free])
    return Math.max(10, Math.min(LOOK_INTERVAL, next?.at == null ? LOOK_INTERVAL : next.at - gatehouse.now()))
  }

  const subscription = listen(gatehouse.tools, gatehouse.log, {
    onNotice: (topic) => {
      if (topic === 'jobs') look()
    },
    onReconnect: look,
  })
  plan(0)
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await subscription.close()
      await Promise.all([...running.values()].flatMap((under) => [...under]))
    },
  }
}

/** Does everything that is due, and what falls due by doing it, then returns: for the command line and for tests. */
export async function workOff(gatehouse: Gatehouse, tasks: readonly Task[]): Promise<void> {
  const holder = newHolder()
  for (let found = true; found; ) {
    found = false
    for (const task of tasks) {
      const jobs = await take(gatehouse, holder, task, task.parallel)
      if (jobs.length > 0) found = true
      await Promise.all(jobs.map((job) => attempt(gatehouse, task, job)))
    }
  }
}

function take(gatehouse: Gatehouse, holder: string, { name, lease }: Task, room: number): Promise<JobRow[]> {
  const values = [name, gatehouse.now(), lease, room, holder]
  return gatehouse.tools.query<JobRow & Record<string, unknown>>('jobs-take', takeText, values)
}

/** One attempt, and what becomes of the job. Whoever was overtaken by the end of their lease changes nothing. */
async function attempt(gatehouse: Gatehouse, task: Task, { id, payload, runAt, attempts }: JobRow): Promise<void> {
  const { tools, log, metrics, now } = gatehouse
  const last = attempts >= task.attempts
  let outcome: Outcome = 'failed'
  let cause: string | null = null
  try {
    // Whatever this job does to its process, it does not do it for ever.
    if (attempts > task.attempts + LEASES_TO_LOSE) throw new Error('every attempt ended with its process')
    outcome = await task.run(systemContext(gatehouse), payload, { number: attempts, last })
  } catch (error) {
    cause = causeOf(error)
    log.error({ err: error, task: task.name, job: id }, 'a job failed')
  }
  const postponed = typeof outcome === 'object' && 'postponeTo' in outcome
  const end = outcome === 'done' ? 'done' : postponed ? 'postponed' : last ? 'failed' : 'again'
  metrics.queueAttempts.inc({ task: task.name, outcome: end })
  try {
    if (end === 'done') {
      await tools.query('jobs-done', doneText, [id, runAt])
    } else if (end === 'failed') {
      await tools.query('jobs-failed', failedText, [id, runAt, now(), cause])
    } else {
      const due =
        typeof outcome === 'string'
          ? now() + task.delay(attempts)
          : 'postponeTo' in outcome
            ? outcome.postponeTo
            : outcome.retryAt
      await tools.query('jobs-again', againText, [
        id,
        runAt,
        Math.ceil(due),
        postponed ? attempts - 1 : attempts,
        cause,
      ])
    }
  } catch (error) {
    // The lease ends by itself; then the job is taken again.
    log.warn({ err: translated(error), task: task.name, job: id }, 'the end of a job could not be written')
  }
}

/** Removes work that was given up a week ago. A periodic job. */
export async function purgeFailedJobs(context: Context): Promise<void> {
  await sweep(context, 'jobs', 'failed_at <= $1::bigint', context.now() - FAILED_KEPT)
}
