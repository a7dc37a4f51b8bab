/** Hashing in a process of its own, src/platform/hashing.ts. */
import { execFileSync } from 'node:child_process'
import { constants, getPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from '@jest/globals'
import { hashInTurn } from '../../src/platform/hashing.js'

const processes = (): number[] =>
  execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s.*hashing-process\.js/.exec(line))
    .filter((found) => Number(found?.[2]) === process.pid)
    .map((found) => Number(found![1]))

/** Test files before this one may have left theirs. */
beforeAll(async () => {
  for (const id of processes()) process.kill(id, 'SIGKILL')
  while (processes().length > 0) await sleep(10)
})

test('hashes in a process that gives way to others (security rule 25)', async () => {
  const hash = String(await hashInTurn({ password: 'correct horse' }))
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await hashInTurn({ password: 'correct horse', against: hash })).toBe(true)
  expect(await hashInTurn({ password: 'wrong horse', against: hash })).toBe(false)
  expect(processes().map((id) => getPriority(id))).toEqual([constants.priority.PRIORITY_BELOW_NORMAL])
})

test('what the process leaves undone when it dies is done all the same, and the next work starts another', async () => {
  const [before] = processes()
  const work = Array.from({ length: 4 }, () => hashInTurn({ password: 'correct horse' }))
  process.kill(before!, 'SIGKILL')
  for (const hash of await Promise.all(work)) expect(hash).toMatch(/^\$argon2id/)
  await hashInTurn({ password: 'correct horse' })
  await sleep(10)
  const after = processes()
  expect(after).toHaveLength(1)
  expect(after).not.toEqual([before])
})

test('nothing fits what is no hash', async () => {
  expect(await hashInTurn({ password: 'correct horse', against: 'no hash' })).toBe(false)
})

test('while this thread is busy, a hash waits twice as long after the one before (security rule 25)', async () => {
  const quick = { password: 'correct horse', against: 'no hash' }
  await hashInTurn(quick)
  await sleep(110) // the longest rest
  // One more than are made at once.
  const tasks = [hashInTurn(quick), hashInTurn(quick), hashInTurn(quick)]
  const began = performance.now()
  while (performance.now() - began < 40);
  await Promise.race(tasks)
  const first = performance.now()
  await Promise.all(tasks)
  expect(performance.now() - first).toBeGreaterThan(75)
})
