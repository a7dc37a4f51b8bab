/** `gatehouse jobs`: shows periodic and queued jobs, runs a periodic job now, and retries a queued job. */
import type { Config } from '../config.js'
import { snakeCase } from '../kernel/field-names.js'
import { limits } from '../kernel/limits.js'
import { DAY, HOUR, MINUTE, SECOND } from '../kernel/time.js'
import { failedJobs, type PeriodicState, periodicStates, queueStates, retryJob } from '../platform/jobs/job-status.js'
import { runJobNow } from '../platform/jobs/periodic-jobs.js'
import { deliveryBacklog } from '../resources/webhooks/delivery-metrics.js'
import { schedule, tasks } from '../schedule.js'
import { print, withDeployment } from './deployment.js'

/** `gatehouse jobs list`. */
export async function list(config: Config, { json }: { json?: boolean }): Promise<void> {
  await withDeployment(config, async (context) => {
    const periodic = await periodicStates(context, schedule)
    const queue = await queueStates(context, tasks)
    const failed = await failedJobs(context, limits.maxShownFailedJobs)
    const [webhooks] = await deliveryBacklog(context)
    if (json) {
      const every = new Map(schedule.map((job) => [job.name, job.every]))
      const withInterval = periodic.map((state) => ({ ...state, every: every.get(state.name) }))
      const rows = {
        periodic: withInterval.map(toSnakeCaseKeys),
        queue: queue.map(toSnakeCaseKeys),
        failed: failed.map(toSnakeCaseKeys),
      }
      print(JSON.stringify({ ...rows, webhooks: toSnakeCaseKeys(webhooks!) }))
      return
    }
    printTable(
      ['PERIODIC JOB', 'EVERY', 'LAST RUN', 'DURATION', 'RESULT', 'NEXT RUN', 'LEASE OWNER'],
      periodic.map((state) => [
        state.name,
        formatDuration(schedule.find(({ name }) => name === state.name)!.every),
        formatTime(state.endedAt),
        state.durationMs === null ? '-' : formatDuration(state.durationMs),
        resultOf(state),
        formatTime(state.nextRunAt),
        state.leaseOwner ? `${state.leaseOwner} since ${formatTime(state.startedAt)}` : '-',
      ]),
    )
    print('')
    printTable(
      ['QUEUED JOBS', 'WAITING', 'RUNNING', 'FAILED', 'OLDEST'],
      queue.map(({ task, waiting, running, failed: failedCount, oldestAt }) => [
        task,
        ...[waiting, running, failedCount].map(String),
        formatTime(oldestAt),
      ]),
    )
    print('')
    printTable(
      ['WEBHOOKS', 'DUE', 'CIRCUIT OPEN', 'FAILING', 'OLDEST DUE'],
      [
        [
          '',
          ...[webhooks!.due, webhooks!.circuitOpen, webhooks!.failing].map(String),
          formatTime(webhooks!.oldestDueAt),
        ],
      ],
    )
    if (failed.length === 0) return
    print('')
    printTable(
      ['FAILED JOBS', 'TASK', 'ATTEMPTS', 'CREATED', 'FAILED', 'ERROR'],
      failed.map(({ id, task, attempts, createdAt, failedAt, error }) => [
        id,
        task,
        String(attempts),
        formatTime(createdAt),
        formatTime(failedAt),
        error ?? '-',
      ]),
    )
    print('Retry one: gatehouse jobs retry <id>')
  })
}

/** `gatehouse jobs run`. @throws Error if the job does not exist, is already running, or failed */
export async function run(config: Config, { json }: { json?: boolean }, name: string): Promise<void> {
  const job = schedule.find((row) => row.name === name)
  if (!job) throw new Error(`There is no periodic job ${name}; gatehouse jobs lists them.`)
  await withDeployment(config, async (context) => {
    const result = await runJobNow(context, job)
    const [state] = await periodicStates(context, [job])
    if (!result)
      throw new Error(`${name} is already running; the lease owner is ${state?.leaseOwner ?? 'another process'}.`)
    if (result === 'failed') throw new Error(`${name} failed: ${state?.error}`)
    if (json) print(JSON.stringify({ name, result, duration_ms: state?.durationMs ?? null }))
    else print(`${name} ran in ${formatDuration(state?.durationMs ?? 0)}.`)
  })
}

/** `gatehouse jobs retry`. */
export async function retry(config: Config, { json }: { json?: boolean }, id: string): Promise<void> {
  await withDeployment(config, async (context) => {
    if (!(await retryJob(context, id))) throw new Error(`There is no waiting or failed job ${id}.`)
    print(json ? JSON.stringify({ id, state: 'waiting' }) : `The next free worker retries ${id}.`)
  })
}

/** Converts the keys of a row to snake case, as in the REST API. */
const toSnakeCaseKeys = (row: object): object =>
  Object.fromEntries(Object.entries(row).map(([key, value]) => [snakeCase(key), value]))

const formatTime = (at: number | null): string => (at ? new Date(at).toISOString().replace(/\.\d+Z$/, 'Z') : '-')

const resultOf = ({ result, consecutiveFailures, error }: PeriodicState): string =>
  result === 'failed' ? `failed (${consecutiveFailures}): ${error?.slice(0, 60)}` : (result ?? '-')

/** Formats a duration (milliseconds) in the largest unit in which it is at least 1, such as `1.5 h`. */
function formatDuration(duration: number): string {
  const units: [string, number][] = [
    ['d', DAY],
    ['h', HOUR],
    ['min', MINUTE],
    ['s', SECOND],
  ]
  const [unit, size] = units.find(([, length]) => duration >= length) ?? ['ms', 1]
  return `${Math.round((duration / size) * 10) / 10} ${unit}`
}

function printTable(head: string[], rows: string[][]): void {
  const all = [head, ...rows]
  const widths = head.map((_, at) => Math.max(...all.map((row) => row[at]!.length)))
  for (const row of all)
    print(
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    )
}
