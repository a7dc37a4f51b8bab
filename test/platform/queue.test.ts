/** The queue of promised work: nothing lost, nobody twice, whoever dies is taken over. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Gatehouse } from '../../src/platform/context.js'
import { transaction } from '../../src/platform/database.js'
import { type Jobs, systemContext } from '../../src/platform/jobs.js'
import { type Attempt, enqueue, type Outcome, startWorker, type Task, workOff } from '../../src/platform/queue.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let second: TestApp
const workers: Jobs[] = []

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  second = await app.second()
})
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop()
  await app.gatehouse.tools.prisma.job.deleteMany()
})
afterAll(() => app.close())

interface Done {
  by: string
  n: number
  attempt: Attempt
}

/** A task that notes what it did; `how` decides what comes of it. */
function noting(
  name: string,
  how: (done: Done) => Outcome | Promise<Outcome> = () => 'done',
  more: Partial<Task> = {},
) {
  const done: Done[] = []
  const as = (by: string): Task => ({
    name,
    attempts: 3,
    delay: (failed) => failed * 1000,
    lease: 10_000,
    parallel: 8,
    async run(_, payload, attempt) {
      const one = { by, n: (payload as { n: number }).n, attempt }
      done.push(one)
      return how(one)
    },
    ...more,
  })
  return { done, as }
}
const put = (task: string, ...numbers: number[]) =>
  enqueue(
    systemContext(app.gatehouse),
    task,
    numbers.map((n) => ({ n })),
  )
const work = (gatehouse: Gatehouse, ...tasks: Task[]): Jobs => {
  const worker = startWorker(gatehouse, tasks)
  workers.push(worker)
  return worker
}
const left = () => app.gatehouse.tools.prisma.job.count({ where: { failedAt: null } })
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 8000; !(await isTrue()); await new Promise((go) => setTimeout(go, 10)))
    if (Date.now() > end) throw new Error('it did not come true in time')
}

test('what a transaction promises is done after its commit; what is rolled back was never promised', async () => {
  const { done, as } = noting('commit')
  work(app.gatehouse, as('a'))
  const failed = transaction(systemContext(app.gatehouse), async (inside) => {
    await enqueue(inside, 'commit', [{ n: 1 }])
    throw new Error('no')
  })
  await expect(failed).rejects.toThrow('no')
  await transaction(systemContext(app.gatehouse), async (inside) => {
    await enqueue(inside, 'commit', [{ n: 2 }])
    await new Promise((go) => setTimeout(go, 50))
    expect(done).toEqual([])
  })
  await until(async () => (await left()) === 0)
  expect(done.map(({ n }) => n)).toEqual([2])
})

test('two processes share the work, and each job is done once', async () => {
  const { done, as } = noting('shared')
  work(app.gatehouse, as('a'))
  work(second.gatehouse, as('b'))
  const numbers = Array.from({ length: 300 }, (_, n) => n)
  await Promise.all([put('shared', ...numbers.slice(0, 150)), put('shared', ...numbers.slice(150))])
  await until(async () => (await left()) === 0)
  expect(done.map(({ n }) => n).sort((a, b) => a - b)).toEqual(numbers)
})

test('a notice of another process wakes the worker', async () => {
  const { done, as } = noting('woken')
  work(second.gatehouse, as('b'))
  // The first look has found nothing, the next one is seconds away.
  await new Promise((go) => setTimeout(go, 300))
  const began = Date.now()
  await put('woken', 1)
  await until(() => done.length === 1)
  expect(Date.now() - began).toBeLessThan(4000)
})

test('a worker that dies is taken over when its lease ends, not before; and should it come back, it changes nothing', async () => {
  let revive = (_: Outcome): void => undefined
  const { done, as } = noting('crash', ({ by }) =>
    by === 'dead'
      ? new Promise<Outcome>((go) => {
          revive = go
        })
      : 'failed',
  )
  await put('crash', 1)
  void workOff(app.gatehouse, [as('dead')])
  await until(() => done.length === 1)
  await workOff(second.gatehouse, [as('heir')])
  expect(done).toHaveLength(1)
  app.clock.advance(10_001)
  await workOff(second.gatehouse, [as('heir')])
  expect(done.map(({ by, attempt }) => [by, attempt.number])).toEqual([
    ['dead', 1],
    ['heir', 2],
  ])
  revive('done')
  await new Promise((go) => setTimeout(go, 100))
  expect(await left()).toBe(1)
})

test('a failed attempt is made again after its delay, and given up after the last', async () => {
  const { done, as } = noting('fails', ({ n }) => {
    if (n === 1) throw new Error('on purpose')
    return 'failed'
  })
  await put('fails', 2)
  await workOff(app.gatehouse, [as('a')])
  expect(done.map(({ attempt }) => attempt)).toEqual([{ number: 1, last: false }])
  app.clock.advance(500)
  await workOff(app.gatehouse, [as('a')])
  expect(done).toHaveLength(1)
  app.clock.advance(500)
  await workOff(app.gatehouse, [as('a')])
  app.clock.advance(2000)
  await workOff(app.gatehouse, [as('a')])
  expect(done.map(({ attempt }) => attempt)).toEqual([
    { number: 1, last: false },
    { number: 2, last: false },
    { number: 3, last: true },
  ])
  expect(await left()).toBe(0)
})

test('the other side may say when to come again; what is postponed does not count as tried', async () => {
  const outcomes: Outcome[] = [
    { retryAt: app.clock.now() + 60_000 },
    { postponeTo: app.clock.now() + 120_000 },
    { postponeTo: app.clock.now() + 180_000 },
    'failed',
    'done',
  ]
  const { done, as } = noting('later', () => outcomes.shift()!)
  await put('later', 1)
  for (let n = 0; n < 4; n++) {
    await workOff(app.gatehouse, [as('a')])
    expect(done).toHaveLength(n + 1)
    app.clock.advance(60_000)
  }
  await workOff(app.gatehouse, [as('a')])
  expect(done.map(({ attempt }) => attempt.number)).toEqual([1, 2, 2, 2, 3])
  expect(await left()).toBe(0)
})

test('work for later waits; tasks that a worker does not know are left alone', async () => {
  const { done, as } = noting('known')
  await enqueue(systemContext(app.gatehouse), 'known', [{ n: 1 }], app.clock.now() + 5000)
  await put('of a newer version', 9)
  await workOff(app.gatehouse, [as('a')])
  expect(done).toEqual([])
  app.clock.advance(5000)
  await workOff(app.gatehouse, [as('a')])
  expect(done.map(({ n }) => n)).toEqual([1])
  expect(await left()).toBe(1)
})

test('no more attempts at the same time than the task allows; stopping waits for those under way and takes no more', async () => {
  let open = 0
  let most = 0
  let release = (): void => undefined
  const gate = new Promise<void>((go) => {
    release = go
  })
  const { done, as } = noting(
    'few',
    async (): Promise<Outcome> => {
      most = Math.max(most, ++open)
      await gate
      open--
      return 'done'
    },
    { parallel: 3 },
  )
  await put('few', 1, 2, 3, 4, 5)
  const worker = work(app.gatehouse, as('a'))
  await until(() => open === 3)
  let stopped = false
  const stopping = worker.stop().then(() => {
    stopped = true
  })
  await new Promise((go) => setTimeout(go, 50))
  expect(stopped).toBe(false)
  release()
  await stopping
  expect([most, done.length, await left()]).toEqual([3, 3, 2])
})

test('a job that takes its process down with it does not do so for ever', async () => {
  const { done, as } = noting('poison', () => new Promise<Outcome>(() => undefined))
  await put('poison', 1)
  for (let n = 0; n < 8; n++) {
    void workOff(app.gatehouse, [as('a')])
    await new Promise((go) => setTimeout(go, 30))
    app.clock.advance(10_001)
  }
  expect(done.length).toBeLessThanOrEqual(5)
  await until(async () => (await left()) === 0)
})
