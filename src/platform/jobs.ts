/**
 * Periodic work: of all processes one runs each job at its turn. The table `periodic_jobs` says when that is and who has
 * it; the hold lasts for seconds and is renewed while the job runs, so that whoever dies is taken over at once. A process
 * that was overtaken (because it stood still) is told by `stop` and writes nothing about the run; as it may have done
 * part of the work, what a job does must bear being done again. Times in milliseconds.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { hostname } from 'node:os'
import { system } from '../kernel/context.js'
import { newId } from '../kernel/ids.js'
import { SECOND } from '../kernel/time.js'
import { type Context, contextFor, type Gatehouse } from './context.js'
import { messageOf } from './error-facts.js'

export interface PeriodicJob {
  name: string
  /** Milliseconds between two runs. */
  every: number
  /** Long work looks at `context.stop` between its portions (sweep.ts). */
  run(context: Context): Promise<void>
}

export interface Jobs {
  /** Starts no more runs and waits for those under way. */
  stop(): Promise<void>
}

/** How one run ended: `stopped` before its end, with its process. */
export type Result = 'ok' | 'failed' | 'stopped'

/** A hold that nobody renewed is over after this. */
const LEASE = 15 * SECOND
const RENEWAL = 5 * SECOND
/** The table is looked at this often at least. */
const LOOK_INTERVAL = 2 * SECOND
/** While the database is away. */
const AFTER_FAILURE = 5 * SECOND

/** A context for work that nobody asked for. */
export const systemContext = (gatehouse: Gatehouse, stop?: AbortSignal): Context => ({
  ...contextFor(gatehouse, system, {
    id: newId('req', gatehouse.now()),
    ip: null,
    userAgent: null,
    method: null,
    path: null,
  }),
  ...(stop && { stop }),
})

/** How a process is called in the tables: where it runs, and which of those there it is. */
export const newHolder = (): string => `${hostname()}:${process.pid}:${randomBytes(3).toString('hex')}`

const knowText = `
  INSERT INTO periodic_jobs (name, next_at) SELECT name, $2::bigint FROM unnest($1::text[]) AS name
  ON CONFLICT (name) DO NOTHING`

/** A turn that lies further ahead than any can was written by a clock that ran ahead, or when the job ran less often. */
const dueText = '(next_at <= $4::bigint OR next_at > $4::bigint + 2 * every)'
const takeText = `
  WITH free AS (
    SELECT j.name, j.holder FROM periodic_jobs j JOIN unnest($2::text[], $3::bigint[]) AS asked(name, every) USING (name)
    WHERE j.held_until <= $4::bigint AND ($5::boolean OR ${dueText})
    FOR UPDATE OF j SKIP LOCKED)
  UPDATE periodic_jobs j SET holder = $1, held_until = $4::bigint + ${LEASE}, started_at = $4::bigint
  FROM free WHERE j.name = free.name
  RETURNING j.name, free.holder AS "takenFrom"`
const renewText = `
  UPDATE periodic_jobs SET held_until = $4::bigint + ${LEASE} WHERE name = $1 AND holder = $2 AND started_at = $3::bigint
  RETURNING name`
const endText = `
  UPDATE periodic_jobs SET holder = NULL, held_until = 0, next_at = $4::bigint, ended_at = $5::bigint, took = $6::int,
    result = $7, error = $8,
    succeeded_at = CASE WHEN $7 = 'ok' THEN $5::bigint ELSE succeeded_at END,
    failures = CASE $7 WHEN 'ok' THEN 0 WHEN 'failed' THEN failures + 1 ELSE failures END
  WHERE name = $1 AND holder = $2 AND started_at = $3::bigint
  RETURNING name`
const nextText = 'SELECT min(greatest(next_at, held_until)) AS at FROM periodic_jobs WHERE name = ANY ($1::text[])'

/** A run that this process has taken. */
interface Turn {
  job: PeriodicJob
  holder: string
  startedAt: number
}

/** @param anyTime whether or not its turn has come */
async function take(
  gatehouse: Gatehouse,
  holder: string,
  jobs: readonly PeriodicJob[],
  anyTime = false,
): Promise<Turn[]> {
  const { tools, now, log } = gatehouse
  const startedAt = now()
  const values = [holder, jobs.map(({ name }) => name), jobs.map(({ every }) => every), startedAt, anyTime]
  const rows = await tools.query<{ name: string; takenFrom: string | null }>('periodic-take', takeText, values)
  return rows.map(({ name, takenFrom }) => {
    if (takenFrom) log.warn({ job: name, from: takenFrom }, 'a process died while it ran a job; it is taken over')
    return { job: jobs.find((job) => job.name === name)!, holder, startedAt }
  })
}

/** Runs what was taken, and writes down how it went, unless somebody else has it by then. */
async function runTurn(gatehouse: Gatehouse, turn: Turn, stopping: AbortSignal): Promise<Result> {
  const { tools, now, log, metrics } = gatehouse
  const { job, holder, startedAt } = turn
  const mine = [job.name, holder, startedAt]
  const overtaken = new AbortController()
  const stop = AbortSignal.any([stopping, overtaken.signal])
  const renewal = setInterval(() => {
    tools.query('periodic-renew', renewText, [...mine, now()]).then(
      (rows) => rows.length === 0 && overtaken.abort(),
      () => {},
    )
  }, RENEWAL)
  renewal.unref()

  const began = performance.now()
  let result: Result = 'ok'
  let cause: string | null = null
  try {
    await job.run(systemContext(gatehouse, stop))
    if (stop.aborted) result = 'stopped'
  } catch (error) {
    result = 'failed'
    cause = causeOf(error)
    log.error({ err: error, job: job.name }, 'a job failed; it runs again at its next turn')
  } finally {
    clearInterval(renewal)
  }
  const took = Math.round(performance.now() - began)
  metrics.periodicRuns.inc({ job: job.name, result })
  metrics.periodicDuration.observe({ job: job.name }, took / 1000)
  const endedAt = now()
  // What was stopped goes on at once, where somebody else is there to do it. Turns spread by a tenth, so that jobs of one
  // interval do not march in step.
  const nextAt = result === 'stopped' ? endedAt : endedAt + Math.round(job.every * (0.9 + randomInt(0, 201) / 1000))
  try {
    await tools.query('periodic-end', endText, [...mine, nextAt, endedAt, took, result, cause])
  } catch (error) {
    // Its hold ends by itself, and somebody takes over.
    log.warn({ err: error, job: job.name }, 'the end of a run could not be written')
  }
  return result
}

/** What an operator is shown of an error: the database's own message, on the last line, and at most 200 characters. */
export function causeOf(error: unknown): string {
  const last = messageOf(error).trim().split('\n').at(-1)?.trim() ?? ''
  return (/Message: `(.*)`$/.exec(last)?.[1] ?? last).slice(0, 200)
}

/** Runs each job whenever its turn comes and no other process has it, until stopped. */
export function startJobs(gatehouse: Gatehouse, jobs: readonly PeriodicJob[]): Jobs {
  const holder = newHolder()
  const names = jobs.map(({ name }) => name)
  const stopping = new AbortController()
  const running = new Set<Promise<unknown>>()
  let known = false
  let looking: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const plan = (wait: number): void => {
    clearTimeout(timer)
    if (stopping.signal.aborted) return
    timer = setTimeout(look, wait)
    timer.unref()
  }

  function look(): void {
    looking ??= round()
      .catch((error) => {
        gatehouse.log.warn({ err: error }, 'periodic jobs cannot be looked at; trying again')
        return AFTER_FAILURE
      })
      .then((wait) => {
        looking = undefined
        plan(wait)
      })
  }

  /** @returns how long to wait for the next look */
  async function round(): Promise<number> {
    if (!known) await tellJobs(gatehouse, jobs)
    known = true
    for (const turn of await take(gatehouse, holder, jobs)) {
      const run = runTurn(gatehouse, turn, stopping.signal).finally(() => running.delete(run))
      running.add(run)
    }
    const [next] = await gatehouse.tools.query<{ at: number | null }>('periodic-next', nextText, [names])
    return Math.max(50, Math.min(LOOK_INTERVAL, (next?.at ?? 0) - gatehouse.now()))
  }

  plan(randomInt(0, SECOND / 5))
  return {
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await looking
      await Promise.all(running)
    },
  }
}

/** Writes down that there are these jobs; new ones are due now. */
async function tellJobs({ tools, now }: Gatehouse, jobs: readonly PeriodicJob[]): Promise<void> {
  await tools.query('periodic-know', knowText, [jobs.map(({ name }) => name), now()])
}

/**
 * Runs a job now, here, whether or not its turn has come: for the command line.
 * @returns undefined when another process is just running it
 */
export async function runNow(gatehouse: Gatehouse, job: PeriodicJob): Promise<Result | undefined> {
  await tellJobs(gatehouse, [job])
  const [turn] = await take(gatehouse, newHolder(), [job], true)
  return turn && runTurn(gatehouse, turn, new AbortController().signal)
}
