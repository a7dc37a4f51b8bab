/** Periodic work: one process runs each job at its turn, whoever dies is taken over, and all of it can be seen. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Context, Gatehouse } from '../../src/platform/context.js'
import { type Jobs, type PeriodicJob, runNow, startJobs, systemContext } from '../../src/platform/jobs.js'
import { failedJobs, periodicStates, queueStates, retryJob } from '../../src/platform/overview.js'
import { enqueue, purgeFailedJobs, type Task, workOff } from '../../src/platform/queue.js'
import { inPortions } from '../../src/platform/sweep.js'
import { makeTenant, must } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const MINUTE = 60_000

let app: TestApp
let second: TestApp
const started: Jobs[] = []

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  second = await app.second()
})
afterEach(async () => {
  for (const jobs of started.splice(0)) await jobs.stop()
  await app.gatehouse.tools.prisma.periodicJob.deleteMany()
  await app.gatehouse.tools.prisma.job.deleteMany()
})
afterAll(() => app.close())

function start(gatehouse: Gatehouse, ...jobs: PeriodicJob[]): Jobs {
  const running = startJobs(gatehouse, jobs)
  started.push(running)
  return running
}

/** A job that notes who ran it. */
function noting(name: string, run: (by: string, context: Context) => Promise<void> = async () => {}) {
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

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !(await isTrue()); await sleep(20))
    if (Date.now() > end) throw new Error('it did not come true in time')
}

const stateOf = async (job: PeriodicJob) => (await periodicStates(app.gatehouse, [job]))[0]!
const hasEnded = (job: PeriodicJob) => async () => (await stateOf(job)).endedAt !== null
const row = (name: string) => ({ where: { name } })
const metricsOf = async ({ baseUrl }: TestApp) => (await fetch(`${baseUrl}/metrics`)).text()

test('of two processes one runs a job at its turn, and once; then the next turn', async () => {
  const { runs, as } = noting('shared', () => sleep(300))
  start(app.gatehouse, as('a'))
  start(second.gatehouse, as('b'))
  await until(hasEnded(as('')))
  expect(runs).toHaveLength(1)
  app.clock.advance(MINUTE * 1.2)
  await until(() => runs.length > 1)
  await sleep(500)
  expect(runs).toHaveLength(2)
})

test('a process that dies while it runs a job is taken over when its hold ends, not before', async () => {
  const { runs, as } = noting('crash')
  const now = app.clock.now()
  const dead = { holder: 'dead:1:000000', heldUntil: now + 15_000, startedAt: now, nextAt: now }
  await app.gatehouse.tools.prisma.periodicJob.create({ data: { name: 'crash', ...dead } })
  start(second.gatehouse, as('heir'))
  await sleep(600)
  expect(runs).toEqual([])
  expect(await stateOf(as(''))).toMatchObject({ holder: 'dead:1:000000', endedAt: null })
  app.clock.advance(15_001)
  await until(hasEnded(as('')))
  expect(runs).toEqual(['heir'])
  expect(await stateOf(as(''))).toMatchObject({ holder: null, result: 'ok' })
})

test('a process that stood still and was overtaken is told to stop, and writes nothing about the run', async () => {
  let release = (): void => {}
  const gate = new Promise<void>((go) => {
    release = go
  })
  const stops: boolean[] = []
  const { runs, as } = noting('slow', async (by, { stop }) => {
    if (by === 'heir') return
    await gate
    stops.push(stop!.aborted)
  })
  start(app.gatehouse, as('slow'))
  await until(() => runs.length === 1)
  // As if the clock had gone on while it stood still.
  await app.gatehouse.tools.prisma.periodicJob.update({ ...row('slow'), data: { heldUntil: 0 } })
  start(second.gatehouse, as('heir'))
  await until(hasEnded(as('')))
  const state = await stateOf(as(''))
  // Its next renewal finds that the run is another one's.
  await sleep(5500)
  release()
  await until(() => stops.length === 1)
  await sleep(100)
  expect(runs).toEqual(['slow', 'heir'])
  expect(stops).toEqual([true])
  expect(await stateOf(as(''))).toEqual(state)
})

test('a job that fails is logged, counted, shown and run again at its next turn, not earlier', async () => {
  let works = false
  const { runs, as } = noting('fails', async () => {
    if (!works) throw new Error('Invalid invocation:\n\nthe disk is full')
  })
  const lines: unknown[] = []
  const log = { ...app.gatehouse.log, error: (line: unknown) => lines.push(line) } as unknown as Gatehouse['log']
  start({ ...app.gatehouse, log }, as('a'))
  await until(hasEnded(as('')))
  expect(lines).toEqual([expect.objectContaining({ job: 'fails' })])
  expect(await stateOf(as(''))).toMatchObject({
    result: 'failed',
    error: 'the disk is full',
    failures: 1,
    succeededAt: null,
    nextAt: expect.any(Number),
  })
  await sleep(300)
  expect(runs).toHaveLength(1)
  works = true
  app.clock.advance(MINUTE * 1.2)
  await until(async () => (await stateOf(as(''))).succeededAt !== null)
  expect(await stateOf(as(''))).toMatchObject({ result: 'ok', error: null, failures: 0 })
  const text = await metricsOf(app)
  expect(text).toContain('gatehouse_periodic_job_runs_total{job="fails",result="failed"} 1')
  expect(text).toContain('gatehouse_periodic_job_runs_total{job="fails",result="ok"} 1')
  expect(text).toContain('gatehouse_periodic_job_duration_seconds_count{job="fails"} 2')
})

test('a process that stops ends long work after the portion in hand, and the rest is not left for the next turn', async () => {
  let portions = 0
  const { as } = noting('long', (_, context) =>
    inPortions(context, 1, async () => {
      portions++
      await sleep(20)
      return portions < 100 ? 1 : 0
    }),
  )
  const jobs = start(app.gatehouse, as('a'))
  await until(() => portions > 3)
  await jobs.stop()
  expect(portions).toBeLessThan(100)
  const state = await stateOf(as(''))
  expect(state).toMatchObject({ result: 'stopped', holder: null, nextAt: state.endedAt, succeededAt: null })
  start(second.gatehouse, as('b'))
  await until(async () => (await stateOf(as(''))).result === 'ok')
  expect(portions).toBe(100)
})

test('a turn written by a clock that ran ahead is not waited for', async () => {
  const { runs, as } = noting('ahead')
  const nextAt = app.clock.now() + 365 * 86_400_000
  await app.gatehouse.tools.prisma.periodicJob.create({ data: { name: 'ahead', nextAt } })
  start(app.gatehouse, as('a'))
  await until(() => runs.length === 1)
})

test('run now: also before its turn, but not while somebody else has it', async () => {
  const { runs, as } = noting('now')
  expect(await runNow(app.gatehouse, as('a'))).toBe('ok')
  expect(await runNow(second.gatehouse, as('b'))).toBe('ok')
  const held = { holder: 'other', heldUntil: app.clock.now() + 15_000 }
  await app.gatehouse.tools.prisma.periodicJob.update({ ...row('now'), data: held })
  expect(await runNow(app.gatehouse, as('a'))).toBeUndefined()
  expect(runs).toEqual(['a', 'b'])
})

test('queued work: waiting, running and failed by task with the oldest; what failed is kept, tried again, and leaves after a week', async () => {
  let works = false
  let release = (): void => {}
  const gate = new Promise<void>((go) => {
    release = go
  })
  const task: Task = {
    name: 'odd',
    attempts: 1,
    delay: () => 1000,
    lease: 10_000,
    parallel: 10,
    async run(_, payload) {
      if ((payload as { wait?: boolean }).wait) await gate
      else if (!works) throw new Error('nobody listens')
      return 'done'
    },
  }
  const context = systemContext(app.gatehouse)
  const state = async () => (await queueStates(app.gatehouse, [task]))[0]
  expect(await state()).toEqual({ task: 'odd', waiting: 0, running: 0, failed: 0, oldestAt: null })
  const oldestAt = app.clock.now()
  await enqueue(context, 'odd', [{ wait: true }])
  const working = workOff(app.gatehouse, [task])
  await until(async () => (await state())?.running === 1)
  await enqueue(context, 'odd', [{ n: 1 }])
  await workOff(second.gatehouse, [task])
  await enqueue(context, 'odd', [{ n: 2 }])
  expect(await state()).toEqual({ task: 'odd', waiting: 1, running: 1, failed: 1, oldestAt: expect.any(Number) })
  expect(Math.abs((await state())!.oldestAt! - oldestAt)).toBeLessThan(1000)
  release()
  await working
  const failed = await failedJobs(context, 10)
  expect(failed.map(({ task: name, attempts, error }) => [name, attempts, error])).toEqual([
    ['odd', 1, 'nobody listens'],
    ['odd', 1, 'nobody listens'],
  ])
  works = true
  expect(await retryJob(context, failed[0]!.id)).toBe(true)
  expect(await retryJob(context, 'job_unknown')).toBe(false)
  await workOff(app.gatehouse, [task])
  expect(await state()).toMatchObject({ waiting: 0, running: 0, failed: 1 })
  app.clock.advance(7 * 86_400_000 - 5000)
  await purgeFailedJobs(context)
  expect(await state()).toMatchObject({ failed: 1 })
  app.clock.advance(10_000)
  await purgeFailedJobs(context)
  expect(await state()).toMatchObject({ failed: 0 })
})

test('metrics tell of all processes: successes of periodic jobs, the queue by task and state, what waits for webhooks', async () => {
  const { schedule } = await import('../../src/schedule.js')
  const job = schedule.find(({ name }) => name === 'purge-challenges')!
  expect(await runNow(second.gatehouse, job)).toBe('ok')
  await enqueue(systemContext(app.gatehouse), 'mail', [{}])
  const { owner, A } = await makeTenant(app, 'Told')
  expect(await metricsOf(app)).toContain('gatehouse_webhooks_oldest_due_seconds 0')
  const hook = { url: 'https://hooks.example.com/', event_types: ['issuer.created'], auth: 'none' }
  must(await owner.post(`${A}/webhooks`, hook), 201)
  must(await owner.post(`${A}/issuers`, { name: 'Told of' }), 201)
  app.clock.advance(5000)
  const text = await metricsOf(app)
  expect(text).toContain('gatehouse_webhooks{state="waiting"} 1')
  expect(text).toContain('gatehouse_webhooks{state="paused"} 0')
  expect(text).toMatch(/^gatehouse_webhooks_oldest_due_seconds [1-9]/m)
  expect(text).toMatch(/^gatehouse_periodic_job_last_success_timestamp_seconds\{job="purge-challenges"\} \d{10}/m)
  expect(text).toContain('gatehouse_periodic_job_failures{job="rotate-keys"} 0')
  expect(text).toContain('gatehouse_queue_jobs{task="mail",state="waiting"} 1')
  expect(text).toContain('gatehouse_queue_jobs{task="backchannel_logout",state="failed"} 0')
  expect(text).toMatch(/^gatehouse_queue_oldest_job_seconds\{task="mail"\} [1-9]/m)
})
