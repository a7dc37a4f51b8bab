/**
 * Passwords are hashed in a process of their own that gives way to all others. A hash takes a processor for as long as a
 * hundred tokens do, and among the threads of one process nobody can say who goes first. The process starts with the first
 * hash and ends after twenty seconds without one; what it leaves undone is done here.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism, constants, setPriority } from 'node:os'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import argon2 from 'argon2'
import { fitsHash } from './password-hashes.js'

export interface Task {
  password: string
  /** The hash to compare with, of any kind of password-hashes.ts; without one an Argon2id hash is made. */
  against?: string
}

/** The hash in PHC form, or whether the password fits. */
type Result = string | boolean

interface Pending {
  task: Task
  resolve(result: Result): void
  reject(error: unknown): void
}

// OWASP's and decision D9's figures: 19 MiB, two passes, one lane.
const cost = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** Does the work on a thread of this process. */
export const hashHere = ({ password, against }: Task): Promise<Result> =>
  against === undefined ? argon2.hash(password, cost) : fitsHash(against, password)

const pending = new Map<number, Pending>()
let last = 0
let running: ChildProcess | undefined

// Two at a time leave room for the rest, and where there are only two processors one of them is for the thread that signs
// and answers (security rule 25).
const CONCURRENT_HASHES = Math.max(1, Math.min(2, availableParallelism() - 1))
/** A rest lasts this many times as long as the thread that answers was busy while the hash was made, */
const REST = 2
/** and this many milliseconds at most: a thread that hung for once is no crowd. */
const LONGEST_REST = 100
let atWork = 0
const waiting: (() => void)[] = []

/**
 * Does the work in the process for it, when it is its turn. Where others wait, a rest comes before the next one, the
 * longer the busier the thread that answers: who is let in brings it more to do, and tokens are not to wait for a crowd of
 * people (security rule 25, docs/decisions/0056-hashes-rest.md).
 */
export async function hashInTurn(task: Task): Promise<Result> {
  if (atWork >= CONCURRENT_HASHES) await new Promise<void>((go) => waiting.push(go))
  else atWork++
  const before = performance.eventLoopUtilization()
  try {
    return await hashElsewhere(task)
  } finally {
    const { active } = performance.eventLoopUtilization(before)
    if (waiting.length === 0) atWork--
    else void sleep(Math.min(REST * active, LONGEST_REST)).then(nextInTurn)
  }
}

function nextInTurn(): void {
  const next = waiting.shift()
  if (next) next()
  else atWork--
}

/** Does the work in the process for it. */
function hashElsewhere(task: Task): Promise<Result> {
  return new Promise((resolve, reject) => {
    const number = ++last
    pending.set(number, { task, resolve, reject })
    running ??= start()
    // It keeps this process alive while it works, and no longer.
    running.channel?.ref()
    // Should it be on its way out, `leave` follows.
    running.send({ number, task }, () => {})
  })
}

function finishHere(one: Pending | undefined): void {
  if (one) hashHere(one.task).then(one.resolve, one.reject)
}

function start(): ChildProcess {
  const file = fileURLToPath(new URL('./hashing-process.js', import.meta.url))
  const child = fork(file, { execArgv: [], env: {}, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  try {
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Some sandboxes refuse it; hashes are as good at the common priority.
  }
  child.unref()
  child.on('message', ({ number, result }: { number: number; result?: Result }) => {
    const one = pending.get(number)
    pending.delete(number)
    if (result === undefined) finishHere(one)
    else one?.resolve(result)
    if (pending.size === 0) child.channel?.unref()
  })
  const leave = (): void => {
    if (running !== child) return
    running = undefined
    for (const one of pending.values()) finishHere(one)
    pending.clear()
  }
  child.once('disconnect', leave).once('exit', leave).once('error', leave)
  return child
}
