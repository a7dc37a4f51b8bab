/** Runs periodic work: each job in one process at a time, whichever comes first, by an advisory lock. */
import { randomInt } from 'node:crypto'
import { system } from '../kernel/context.js'
import { newId } from '../kernel/ids.js'
import { SECOND } from '../kernel/time.js'
import { type Context, contextFor, type Gatehouse } from './context.js'

export interface PeriodicJob {
  name: string
  /** Milliseconds between two runs. */
  every: number
  run(context: Context): Promise<void>
}

export interface Jobs {
  /** Starts no more runs and waits for those under way. */
  stop(): Promise<void>
}

/** A context for work that nobody asked for. */
export const systemContext = (gatehouse: Gatehouse): Context =>
  contextFor(gatehouse, system, {
    id: newId('req', gatehouse.now()),
    ip: null,
    userAgent: null,
    method: null,
    path: null,
  })

/** Runs each job soon after start and then at its interval, give or take a tenth, so that processes do not march in step. */
export function startJobs(gatehouse: Gatehouse, jobs: readonly PeriodicJob[]): Jobs {
  const timers = new Map<string, NodeJS.Timeout>()
  const running = new Set<Promise<void>>()
  let stopped = false

  function plan(job: PeriodicJob, wait: number): void {
    if (stopped) return
    const timer = setTimeout(() => {
      const run = once(gatehouse, job)
        .catch((error) =>
          gatehouse.log.error({ err: error, job: job.name }, 'a job failed; it runs again at its next turn'),
        )
        .finally(() => {
          running.delete(run)
          plan(job, job.every * (0.9 + randomInt(0, 201) / 1000))
        })
      running.add(run)
    }, wait)
    timer.unref()
    timers.set(job.name, timer)
  }

  for (const job of jobs) plan(job, randomInt(0, SECOND / 2))
  return {
    async stop() {
      stopped = true
      for (const timer of timers.values()) clearTimeout(timer)
      await Promise.allSettled(running)
    },
  }
}

/** The lock lives on one connection and ends with it, so a crashed run frees it. */
async function once(gatehouse: Gatehouse, job: PeriodicJob): Promise<void> {
  const client = await gatehouse.tools.pool.connect()
  try {
    const lock = `job:${job.name}`
    const { rows } = await client.query('SELECT pg_try_advisory_lock(hashtext($1)) AS taken', [lock])
    if (!rows[0].taken) return
    try {
      await job.run(systemContext(gatehouse))
    } finally {
      await client.query('SELECT pg_advisory_unlock(hashtext($1))', [lock])
    }
  } finally {
    client.release()
  }
}
