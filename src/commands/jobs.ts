/** `gatehouse jobs`: what there is to do, how it went, and a push for what does not go on by itself. */
import type { Config } from '../config.js'
import { snake } from '../kernel/names.js'
import { DAY, HOUR, MINUTE, SECOND } from '../kernel/time.js'
import { runNow } from '../platform/jobs.js'
import { failedJobs, type PeriodicState, periodicStates, queueStates, retryJob } from '../platform/overview.js'
import { sendingState } from '../resources/webhooks/watching.js'
import { schedule } from '../schedule.js'
import { tasks } from '../tasks.js'
import { inDeployment, say } from './deployment.js'

/** Failed work shown at most, the latest first. */
const FAILED_SHOWN = 50

/** `gatehouse jobs`. */
export async function list(config: Config, { json }: { json?: boolean }): Promise<void> {
  await inDeployment(config, async (context) => {
    const periodic = await periodicStates(context, schedule)
    const queue = await queueStates(context, tasks)
    const failed = await failedJobs(context, FAILED_SHOWN)
    const [webhooks] = await sendingState(context)
    if (json) {
      const every = new Map(schedule.map((job) => [job.name, job.every]))
      const withInterval = periodic.map((state) => ({ ...state, every: every.get(state.name) }))
      const rows = { periodic: withInterval.map(snaked), queue: queue.map(snaked), failed: failed.map(snaked) }
      say(JSON.stringify({ ...rows, webhooks: snaked(webhooks!) }))
      return
    }
    table(
      ['PERIODIC JOB', 'EVERY', 'LAST RUN', 'TOOK', 'RESULT', 'NEXT RUN', 'HELD BY'],
      periodic.map((state) => [
        state.name,
        lasting(schedule.find(({ name }) => name === state.name)!.every),
        moment(state.endedAt),
        state.took === null ? '-' : lasting(state.took),
        resultOf(state),
        moment(state.nextAt),
        state.holder ? `${state.holder} since ${moment(state.startedAt)}` : '-',
      ]),
    )
    say('')
    table(
      ['QUEUED WORK', 'WAITING', 'RUNNING', 'FAILED', 'OLDEST'],
      queue.map(({ task, waiting, running, failed: lost, oldestAt }) => [
        task,
        ...[waiting, running, lost].map(String),
        moment(oldestAt),
      ]),
    )
    say('')
    table(
      ['WEBHOOKS', 'WAITING', 'PAUSED', 'FAILING', 'OLDEST DUE'],
      [['', ...[webhooks!.waiting, webhooks!.paused, webhooks!.failing].map(String), moment(webhooks!.oldestDueAt)]],
    )
    if (failed.length === 0) return
    say('')
    table(
      ['FAILED FOR GOOD', 'TASK', 'ATTEMPTS', 'PROMISED', 'FAILED', 'ERROR'],
      failed.map(({ id, task, attempts, createdAt, failedAt, error }) => [
        id,
        task,
        String(attempts),
        moment(createdAt),
        moment(failedAt),
        error ?? '-',
      ]),
    )
    say('Have one tried again: gatehouse jobs retry <id>')
  })
}

/** `gatehouse jobs run`. Exit code 1 when the run failed, as the text says. */
export async function run(config: Config, { json }: { json?: boolean }, name: string): Promise<void> {
  const job = schedule.find((one) => one.name === name)
  if (!job) throw new Error(`There is no periodic job ${name}; gatehouse jobs shows them all.`)
  await inDeployment(config, async (context) => {
    const result = await runNow(context, job)
    const [state] = await periodicStates(context, [job])
    if (!result) throw new Error(`${name} is being run by ${state?.holder ?? 'another process'} just now.`)
    if (result === 'failed') throw new Error(`${name} failed: ${state?.error}`)
    if (json) say(JSON.stringify({ name, result, took: state?.took ?? null }))
    else say(`${name} ran in ${lasting(state?.took ?? 0)}.`)
  })
}

/** `gatehouse jobs retry`. */
export async function retry(config: Config, { json }: { json?: boolean }, id: string): Promise<void> {
  await inDeployment(config, async (context) => {
    if (!(await retryJob(context, id))) throw new Error(`There is no job ${id} that waits or failed.`)
    say(json ? JSON.stringify({ id, state: 'waiting' }) : `${id} is tried again by the next free worker.`)
  })
}

/** One row of JSON, in the words of the REST contract. */
const snaked = (row: object): object =>
  Object.fromEntries(Object.entries(row).map(([key, value]) => [snake(key), value]))

const moment = (at: number | null): string => (at ? new Date(at).toISOString().replace(/\.\d+Z$/, 'Z') : '-')

const resultOf = ({ result, failures, error }: PeriodicState): string =>
  result === 'failed' ? `failed (${failures}): ${error?.slice(0, 60)}` : (result ?? '-')

/** A span of milliseconds in the largest unit that does not hide it. */
function lasting(span: number): string {
  const units: [string, number][] = [
    ['d', DAY],
    ['h', HOUR],
    ['min', MINUTE],
    ['s', SECOND],
  ]
  const [unit, size] = units.find(([, length]) => span >= length) ?? ['ms', 1]
  return `${Math.round((span / size) * 10) / 10} ${unit}`
}

function table(head: string[], rows: string[][]): void {
  const all = [head, ...rows]
  const widths = head.map((_, at) => Math.max(...all.map((row) => row[at]!.length)))
  for (const row of all)
    say(
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    )
}
