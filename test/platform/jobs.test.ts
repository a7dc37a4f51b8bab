/** Periodic jobs: one process runs a due job, and another process takes the job over after a crash. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Context, Gatehouse } from '../../src/platform/context.js'
import { runInBatches } from '../../src/platform/jobs/batch-delete.js'
import { failedJobs, periodicStates, queueStates, retryJob } from '../../src/platform/jobs/job-status.js'
import {
  type BackgroundWorker,
  type PeriodicJob,
  runJobNow,
  startPeriodicJobs,
  systemContext,
} from '../../src/platform/jobs/periodic-jobs.js'
import { enqueue, purgeFailedJobs, runDueJobs, type Task } from '../../src/platform/jobs/queue.js'
import { createTenant, expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { countStatements, waitUntil } from '../setup/wait-until.js'

const MINUTE = 60_000

let app: TestApp
let second: TestApp
const started: BackgroundWorker[] = []

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  second = await app.startSecondApp()
})
afterEach(async () => {
  for (const jobs of started.splice(0)) await jobs.stop()
  await app.gatehouse.database.prisma.periodicJob.deleteMany()
  await app.gatehouse.database.prisma.job.deleteMany()
})
afterAll(() => app.close())

function start(gatehouse: Gatehouse, ...jobs: PeriodicJob[]): BackgroundWorker {
  const running = startPeriodicJobs(gatehouse, jobs)
  started.push(running)
  return running
}

/** Creates a promise that `release` resolves. */
function createGate(): { gate: Promise<void>; release(): void } {
  let release = (): void => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  return { gate, release }
}

/** Creates a job that records which process runs it. */
function createRecordingJob(name: string, run: (by: string, context: Context) => Promise<void> = async () => {}) {
  const runs: string[] = []
  const as = (by: string): PeriodicJob => ({
    name,
    every: MINUTE,
    run(context) {
      runs.push(by)
      return run(by, context)
    },
  })
  return { runs, as }
}

const stateOf = async (job: PeriodicJob) => (await periodicStates(app.gatehouse, [job]))[0]!
const waitForEnd = (job: PeriodicJob) =>
  waitUntil(`the run of ${job.name} has ended`, async () => (await stateOf(job)).endedAt !== null)

/** Waits until the worker of each application has polled the table again and has started the due jobs. */
async function waitForPolls(...apps: TestApp[]): Promise<void> {
  const counters = apps.map(({ gatehouse }) => countStatements(gatehouse.database))
  const poll = 'periodic-next-due'
  try {
    // A poll that was in progress may have read the table before this call, so the function waits for two polls.
    await waitUntil('each worker has polled', () => counters.every(({ completed }) => completed(poll) >= 2))
  } finally {
    for (const { restore } of counters) restore()
  }
}

const row = (name: string) => ({ where: { name } })
const metricsOf = async ({ baseUrl }: TestApp) => (await fetch(`${baseUrl}/metrics`)).text()

test('of two processes, one runs a due job, once per interval', async () => {
  const { gate, release } = createGate()
  const { runs, as } = createRecordingJob('shared', () => gate)
  start(app.gatehouse, as('a'))
  start(second.gatehouse, as('b'))
  await waitForPolls(app, second)
  expect(runs).toHaveLength(1)
  release()
  await waitForEnd(as(''))
  app.clock.advance(MINUTE * 1.2)
  await waitUntil('the second run has started', () => runs.length > 1)
  await waitForPolls(app, second)
  expect(runs).toHaveLength(2)
})

test('another process takes over a job only when the lease of a crashed process has expired', async () => {
  const { runs, as } = createRecordingJob('crash')
  const now = app.clock.now()
  const dead = { leaseOwner: 'dead:1:000000', leaseExpiresAt: now + 15_000, startedAt: now, nextRunAt: now }
  await app.gatehouse.database.prisma.periodicJob.create({ data: { name: 'crash', ...dead } })
  start(second.gatehouse, as('second'))
  await waitForPolls(second)
  expect(runs).toEqual([])
  expect(await stateOf(as(''))).toMatchObject({ leaseOwner: 'dead:1:000000', endedAt: null })
  app.clock.advance(15_001)
  await waitForEnd(as(''))
  expect(runs).toEqual(['second'])
  expect(await stateOf(as(''))).toMatchObject({ leaseOwner: null, result: 'succeeded' })
})

test('a process that lost its lease gets the stop signal and records nothing about the run', async () => {
  const { gate, release } = createGate()
  let signal: AbortSignal | undefined
  const { runs, as } = createRecordingJob('slow', async (by, { stopSignal }) => {
    if (by === 'second') return
    signal = stopSignal
    await gate
  })
  start(app.gatehouse, as('slow'))
  await waitUntil('the run has started', () => runs.length === 1)
  // Ends the lease, as if the process had been suspended for a long time.
  await app.gatehouse.database.prisma.periodicJob.update({ ...row('slow'), data: { leaseExpiresAt: 0 } })
  start(second.gatehouse, as('second'))
  await waitForEnd(as(''))
  const state = await stateOf(as(''))
  await waitUntil('the next renewal finds that the lease is lost', () => signal!.aborted)
  const statements = countStatements(app.gatehouse.database)
  release()
  await waitUntil('the run has tried to record its result', () => statements.completed('periodic-finish') === 1)
  statements.restore()
  expect(runs).toEqual(['slow', 'second'])
  expect(await stateOf(as(''))).toEqual(state)
})

test('a failed run is logged, counted and stored, and the job runs again after its interval', async () => {
  let succeeds = false
  const { runs, as } = createRecordingJob('fails', async () => {
    if (!succeeds) throw new Error('Invalid invocation:\n\nthe disk is full')
  })
  const lines: unknown[] = []
  const log = { ...app.gatehouse.log, error: (line: unknown) => lines.push(line) } as unknown as Gatehouse['log']
  start({ ...app.gatehouse, log }, as('a'))
  await waitForEnd(as(''))
  expect(lines).toEqual([expect.objectContaining({ job: 'fails' })])
  expect(await stateOf(as(''))).toMatchObject({
    result: 'failed',
    error: 'the disk is full',
    consecutiveFailures: 1,
    succeededAt: null,
    nextRunAt: expect.any(Number),
  })
  await waitForPolls(app)
  expect(runs).toHaveLength(1)
  succeeds = true
  app.clock.advance(MINUTE * 1.2)
  await waitUntil('a run has succeeded', async () => (await stateOf(as(''))).succeededAt !== null)
  expect(await stateOf(as(''))).toMatchObject({ result: 'succeeded', error: null, consecutiveFailures: 0 })
  const text = await metricsOf(app)
  expect(text).toContain('gatehouse_periodic_job_runs_total{job="fails",result="failed"} 1')
  expect(text).toContain('gatehouse_periodic_job_runs_total{job="fails",result="succeeded"} 1')
  expect(text).toContain('gatehouse_periodic_job_duration_seconds_count{job="fails"} 2')
})

test('a stopping process ends a long run after the current batch, and another process continues immediately', async () => {
  let batches = 0
  const { as } = createRecordingJob('long', (_, context) =>
    runInBatches(context, 1, async () => {
      batches++
      // Takes time, so that the process stops during the run.
      await sleep(20)
      return batches < 100 ? 1 : 0
    }),
  )
  const jobs = start(app.gatehouse, as('a'))
  await waitUntil('four batches are done', () => batches > 3)
  await jobs.stop()
  expect(batches).toBeLessThan(100)
  const state = await stateOf(as(''))
  expect(state).toMatchObject({ result: 'interrupted', leaseOwner: null, nextRunAt: state.endedAt, succeededAt: null })
  start(second.gatehouse, as('b'))
  await waitUntil('a run has succeeded', async () => (await stateOf(as(''))).result === 'succeeded')
  expect(batches).toBe(100)
})

test('a job is due if its next run is later than its interval allows, as after a wrong clock', async () => {
  const { runs, as } = createRecordingJob('ahead')
  const nextRunAt = app.clock.now() + 365 * 86_400_000
  await app.gatehouse.database.prisma.periodicJob.create({ data: { name: 'ahead', nextRunAt } })
  start(app.gatehouse, as('a'))
  await waitUntil('the job has run', () => runs.length === 1)
})

test('runJobNow runs a job that is not due, but not while another process has its lease', async () => {
  const { runs, as } = createRecordingJob('now')
  expect(await runJobNow(app.gatehouse, as('a'))).toBe('succeeded')
  expect(await runJobNow(second.gatehouse, as('b'))).toBe('succeeded')
  const held = { leaseOwner: 'other', leaseExpiresAt: app.clock.now() + 15_000 }
  await app.gatehouse.database.prisma.periodicJob.update({ ...row('now'), data: held })
  expect(await runJobNow(app.gatehouse, as('a'))).toBeUndefined()
  expect(runs).toEqual(['a', 'b'])
})

test('the queue state counts waiting, running and failed jobs; failed jobs can be retried and are deleted after a week', async () => {
  let succeeds = false
  const { gate, release } = createGate()
  const task: Task = {
    name: 'odd',
    maxAttempts: 1,
    retryDelay: () => 1000,
    leaseDuration: 10_000,
    concurrency: 10,
    async run(_, payload) {
      if ((payload as { wait?: boolean }).wait) await gate
      else if (!succeeds) throw new Error('no connection')
      return 'done'
    },
  }
  const context = systemContext(app.gatehouse)
  const state = async () => (await queueStates(app.gatehouse, [task]))[0]
  expect(await state()).toEqual({ task: 'odd', waiting: 0, running: 0, failed: 0, oldestAt: null })
  const oldestAt = app.clock.now()
  await enqueue(context, 'odd', [{ wait: true }])
  const working = runDueJobs(app.gatehouse, [task])
  await waitUntil('the job is running', async () => (await state())?.running === 1)
  await enqueue(context, 'odd', [{ n: 1 }])
  await runDueJobs(second.gatehouse, [task])
  await enqueue(context, 'odd', [{ n: 2 }])
  expect(await state()).toEqual({ task: 'odd', waiting: 1, running: 1, failed: 1, oldestAt: expect.any(Number) })
  expect(Math.abs((await state())!.oldestAt! - oldestAt)).toBeLessThan(1000)
  release()
  await working
  const failed = await failedJobs(context, 10)
  expect(failed.map(({ task: name, attempts, error }) => [name, attempts, error])).toEqual([
    ['odd', 1, 'no connection'],
    ['odd', 1, 'no connection'],
  ])
  succeeds = true
  expect(await retryJob(context, failed[0]!.id)).toBe(true)
  expect(await retryJob(context, 'job_unknown')).toBe(false)
  await runDueJobs(app.gatehouse, [task])
  expect(await state()).toMatchObject({ waiting: 0, running: 0, failed: 1 })
  app.clock.advance(7 * 86_400_000 - 5000)
  await purgeFailedJobs(context)
  expect(await state()).toMatchObject({ failed: 1 })
  app.clock.advance(10_000)
  await purgeFailedJobs(context)
  expect(await state()).toMatchObject({ failed: 0 })
})

test('metrics include periodic jobs, the queue and webhook deliveries of all processes', async () => {
  const { schedule } = await import('../../src/schedule.js')
  const job = schedule.find(({ name }) => name === 'purge-challenges')!
  expect(await runJobNow(second.gatehouse, job)).toBe('succeeded')
  await enqueue(systemContext(app.gatehouse), 'mail', [{}])
  const { owner, A } = await createTenant(app, 'Notified')
  expect(await metricsOf(app)).toContain('gatehouse_webhook_oldest_due_delivery_age_seconds 0')
  const hook = { url: 'https://hooks.example.com/', event_types: ['issuer.created'], auth: 'none' }
  expectStatus(await owner.post(`${A}/webhooks`, hook), 201)
  expectStatus(await owner.post(`${A}/issuers`, { name: 'Created' }), 201)
  app.clock.advance(5000)
  const text = await metricsOf(app)
  expect(text).toContain('gatehouse_webhooks{state="due"} 1')
  expect(text).toContain('gatehouse_webhooks{state="circuit_open"} 0')
  expect(text).toMatch(/^gatehouse_webhook_oldest_due_delivery_age_seconds [1-9]/m)
  expect(text).toMatch(/^gatehouse_periodic_job_last_success_timestamp_seconds\{job="purge-challenges"\} \d{10}/m)
  expect(text).toContain('gatehouse_periodic_job_consecutive_failures{job="rotate-keys"} 0')
  expect(text).toContain('gatehouse_jobs{task="mail",state="waiting"} 1')
  expect(text).toContain('gatehouse_jobs{task="backchannel_logout",state="failed"} 0')
  expect(text).toMatch(/^gatehouse_oldest_job_age_seconds\{task="mail"\} [1-9]/m)
})
