/** The job queue: jobs are not lost, run once, and are taken over from a crashed worker. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Gatehouse } from '../../src/platform/context.js'
import { type BackgroundWorker, systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import {
  enqueue,
  type JobAttempt,
  type JobOutcome,
  runDueJobs,
  startQueueWorker,
  type Task,
} from '../../src/platform/jobs/queue.js'
import { transaction } from '../../src/platform/postgres/transaction.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { countStatements, waitUntil } from '../setup/wait-until.js'

let app: TestApp
let second: TestApp
const workers: BackgroundWorker[] = []

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  second = await app.startSecondApp()
})
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop()
  await app.gatehouse.database.prisma.job.deleteMany()
})
afterAll(() => app.close())

interface Done {
  by: string
  n: number
  attempt: JobAttempt
}

/** Creates a task that records its runs; `outcomeOf` returns the outcome of a run. */
function createRecordingTask(
  name: string,
  outcomeOf: (done: Done) => JobOutcome | Promise<JobOutcome> = () => 'done',
  more: Partial<Task> = {},
) {
  const done: Done[] = []
  const as = (by: string): Task => ({
    name,
    maxAttempts: 3,
    retryDelay: (failed) => failed * 1000,
    leaseDuration: 10_000,
    concurrency: 8,
    async run(_, payload, attempt) {
      const entry = { by, n: (payload as { n: number }).n, attempt }
      done.push(entry)
      return outcomeOf(entry)
    },
    ...more,
  })
  return { done, as }
}
const enqueueNumbers = (task: string, ...numbers: number[]) =>
  enqueue(
    systemContext(app.gatehouse),
    task,
    numbers.map((n) => ({ n })),
  )
const startTestWorker = (gatehouse: Gatehouse, ...tasks: Task[]): BackgroundWorker => {
  const worker = startQueueWorker(gatehouse, tasks)
  workers.push(worker)
  return worker
}
const queuedJobCount = () => app.gatehouse.database.prisma.job.count({ where: { failedAt: null } })
const waitForEmptyQueue = () => waitUntil('the queue is empty', async () => (await queuedJobCount()) === 0)

test('a job runs after the commit of its transaction; a rolled back job does not run', async () => {
  const { done, as } = createRecordingTask('commit')
  startTestWorker(app.gatehouse, as('a'))
  const failed = transaction(systemContext(app.gatehouse), async (tx) => {
    await enqueue(tx, 'commit', [{ n: 1 }])
    throw new Error('no')
  })
  await expect(failed).rejects.toThrow('no')
  await transaction(systemContext(app.gatehouse), async (tx) => {
    await enqueue(tx, 'commit', [{ n: 2 }])
    // Another job, whose transaction commits now, runs. The job of this transaction does not.
    await enqueueNumbers('commit', 3)
    await waitUntil('the other job is done', () => done.length > 0)
    expect(done.map(({ n }) => n)).toEqual([3])
  })
  await waitForEmptyQueue()
  expect(done.map(({ n }) => n)).toEqual([3, 2])
})

test('two processes share the jobs, and each job runs once', async () => {
  const { done, as } = createRecordingTask('shared')
  startTestWorker(app.gatehouse, as('a'))
  startTestWorker(second.gatehouse, as('b'))
  const numbers = Array.from({ length: 300 }, (_, n) => n)
  await Promise.all([
    enqueueNumbers('shared', ...numbers.slice(0, 150)),
    enqueueNumbers('shared', ...numbers.slice(150)),
  ])
  await waitForEmptyQueue()
  expect(done.map(({ n }) => n).sort((a, b) => a - b)).toEqual(numbers)
})

test('a notification from another process wakes the worker', async () => {
  const { done, as } = createRecordingTask('woken')
  const statements = countStatements(second.gatehouse.database)
  startTestWorker(second.gatehouse, as('b'))
  // The worker polls at its start and when LISTEN is active. The third poll is five seconds later.
  await waitUntil('the worker has polled', () => statements.completed('jobs-next-due') >= 2)
  statements.restore()
  const began = Date.now()
  await enqueueNumbers('woken', 1)
  await waitUntil('the job is done', () => done.length === 1)
  expect(Date.now() - began).toBeLessThan(4000)
})

test('another worker takes over a job only when the lease has expired; the first worker then changes nothing', async () => {
  let finish = (_: JobOutcome): void => undefined
  const { done, as } = createRecordingTask('crash', ({ by }) =>
    by === 'dead'
      ? new Promise<JobOutcome>((go) => {
          finish = go
        })
      : 'failed',
  )
  await enqueueNumbers('crash', 1)
  const dead = runDueJobs(app.gatehouse, [as('dead')])
  await waitUntil('the job has started', () => done.length === 1)
  await runDueJobs(second.gatehouse, [as('second')])
  expect(done).toHaveLength(1)
  app.clock.advance(10_001)
  await runDueJobs(second.gatehouse, [as('successor')])
  expect(done.map(({ by, attempt }) => [by, attempt.number])).toEqual([
    ['dead', 1],
    ['successor', 2],
  ])
  finish('done')
  await dead
  expect(await queuedJobCount()).toBe(1)
})

test('a failed attempt is retried after its delay, and the job fails after the last attempt', async () => {
  const { done, as } = createRecordingTask('fails', ({ n }) => {
    if (n === 1) throw new Error('on purpose')
    return 'failed'
  })
  await enqueueNumbers('fails', 2)
  await runDueJobs(app.gatehouse, [as('a')])
  expect(done.map(({ attempt }) => attempt)).toEqual([{ number: 1, isLast: false }])
  app.clock.advance(500)
  await runDueJobs(app.gatehouse, [as('a')])
  expect(done).toHaveLength(1)
  app.clock.advance(500)
  await runDueJobs(app.gatehouse, [as('a')])
  app.clock.advance(2000)
  await runDueJobs(app.gatehouse, [as('a')])
  expect(done.map(({ attempt }) => attempt)).toEqual([
    { number: 1, isLast: false },
    { number: 2, isLast: false },
    { number: 3, isLast: true },
  ])
  expect(await queuedJobCount()).toBe(0)
})

test('an outcome can set the time of the next attempt; a postponed job does not use an attempt', async () => {
  const outcomes: JobOutcome[] = [
    { retryAt: app.clock.now() + 60_000 },
    { postponeUntil: app.clock.now() + 120_000 },
    { postponeUntil: app.clock.now() + 180_000 },
    'failed',
    'done',
  ]
  const { done, as } = createRecordingTask('later', () => outcomes.shift()!)
  await enqueueNumbers('later', 1)
  for (let n = 0; n < 4; n++) {
    await runDueJobs(app.gatehouse, [as('a')])
    expect(done).toHaveLength(n + 1)
    app.clock.advance(60_000)
  }
  await runDueJobs(app.gatehouse, [as('a')])
  expect(done.map(({ attempt }) => attempt.number)).toEqual([1, 2, 2, 2, 3])
  expect(await queuedJobCount()).toBe(0)
})

test('a job waits until its run time, and jobs of unknown tasks are not changed', async () => {
  const { done, as } = createRecordingTask('known')
  await enqueue(systemContext(app.gatehouse), 'known', [{ n: 1 }], app.clock.now() + 5000)
  await enqueueNumbers('of a newer version', 9)
  await runDueJobs(app.gatehouse, [as('a')])
  expect(done).toEqual([])
  app.clock.advance(5000)
  await runDueJobs(app.gatehouse, [as('a')])
  expect(done.map(({ n }) => n)).toEqual([1])
  expect(await queuedJobCount()).toBe(1)
})

test('the task limits parallel attempts, and a stopping worker waits for running attempts and starts no others', async () => {
  let open = 0
  let maxOpen = 0
  let release = (): void => undefined
  const gate = new Promise<void>((go) => {
    release = go
  })
  const { done, as } = createRecordingTask(
    'few',
    async (): Promise<JobOutcome> => {
      maxOpen = Math.max(maxOpen, ++open)
      await gate
      open--
      return 'done'
    },
    { concurrency: 3 },
  )
  await enqueueNumbers('few', 1, 2, 3, 4, 5)
  const worker = startTestWorker(app.gatehouse, as('a'))
  await waitUntil('three attempts run', () => open === 3)
  let stopped = false
  const stopping = worker.stop().then(() => {
    stopped = true
  })
  // When an idle worker has stopped, the busy worker would have stopped too if `stop` did not wait for attempts.
  await startTestWorker(second.gatehouse, as('b')).stop()
  expect(stopped).toBe(false)
  release()
  await stopping
  expect([maxOpen, done.length, await queuedJobCount()]).toEqual([3, 3, 2])
})

test('a job whose process crashes in each attempt fails after five attempts', async () => {
  const { done, as } = createRecordingTask('poison', () => new Promise<JobOutcome>(() => undefined))
  await enqueueNumbers('poison', 1)
  // The task has three attempts. A job whose lease expired gets two more.
  for (let n = 1; n <= 5; n++) {
    void runDueJobs(app.gatehouse, [as('a')])
    await waitUntil(`attempt ${n} has started`, () => done.length === n)
    app.clock.advance(10_001)
  }
  await runDueJobs(app.gatehouse, [as('a')])
  expect(done).toHaveLength(5)
  expect(await queuedJobCount()).toBe(0)
})
