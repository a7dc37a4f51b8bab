/** Password hashing in a child process (src/platform/crypto/hashing.ts). */
import { execFileSync } from 'node:child_process'
import { constants, getPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from '@jest/globals'
import { hashThrottled } from '../../src/platform/crypto/hashing.js'
import { waitUntil } from '../setup/wait-until.js'

/** Returns the process ids of the hashing processes of this process. */
const processes = (): number[] =>
  execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s.*hashing-process\.js/.exec(line))
    .filter((found) => Number(found?.[2]) === process.pid)
    .map((found) => Number(found![1]))

// Ends hashing processes that earlier test files have started.
beforeAll(async () => {
  for (const id of processes()) process.kill(id, 'SIGKILL')
  await waitUntil('the processes of earlier test files have ended', () => processes().length === 0)
})

test('hashes in a child process with a lower priority', async () => {
  const hash = String(await hashThrottled({ password: 'correct horse' }))
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await hashThrottled({ password: 'correct horse', existingHash: hash })).toBe(true)
  expect(await hashThrottled({ password: 'wrong horse', existingHash: hash })).toBe(false)
  expect(processes().map((id) => getPriority(id))).toEqual([constants.priority.PRIORITY_BELOW_NORMAL])
})

test('tasks of a killed child process are completed, and the next task starts a new child process', async () => {
  const [before] = processes()
  const work = Array.from({ length: 4 }, () => hashThrottled({ password: 'correct horse' }))
  process.kill(before!, 'SIGKILL')
  for (const hash of await Promise.all(work)) expect(hash).toMatch(/^\$argon2id/)
  await hashThrottled({ password: 'correct horse' })
  await waitUntil('the killed process is gone', () => !processes().includes(before!))
  const after = processes()
  expect(after).toHaveLength(1)
})

test('no password matches an invalid hash', async () => {
  expect(await hashThrottled({ password: 'correct horse', existingHash: 'no hash' })).toBe(false)
})

test('hashes are throttled by twice the time that the main thread was busy', async () => {
  const quick = { password: 'correct horse', existingHash: 'no hash' }
  await hashThrottled(quick)
  // The delay after the previous task may not have ended. It takes at most 100 ms, and tests cannot observe its end.
  await sleep(110)
  // At most two hashes run in parallel, so the third task waits.
  const tasks = [hashThrottled(quick), hashThrottled(quick), hashThrottled(quick)]
  const began = performance.now()
  while (performance.now() - began < 40);
  await Promise.race(tasks)
  const first = performance.now()
  await Promise.all(tasks)
  expect(performance.now() - first).toBeGreaterThan(75)
})
