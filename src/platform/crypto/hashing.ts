/**
 * Hashes passwords in a child process with a lower scheduling priority, because one hash takes as much processor time
 * as signing a hundred tokens, and Node.js cannot give the threads of one process different priorities. The child
 * process starts for the first hash and exits after `limits.hashingProcessIdleTimeout` without a task. Tasks that the
 * child process did not finish run in this process.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism, constants, setPriority } from 'node:os'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import argon2 from 'argon2'
import { limits } from '../../kernel/limits.js'
import { matchesPasswordHash } from './password-hashes.js'

export interface HashTask {
  password: string
  /**
   * The hash against which the password is verified, in any format of password-hashes.ts. Without it, the task creates
   * an Argon2id hash of the password.
   */
  existingHash?: string
}

/** For a task without `existingHash` the new hash in PHC format; otherwise whether the password matches. */
type HashResult = string | boolean

interface PendingHash {
  task: HashTask
  resolve(result: HashResult): void
  reject(error: unknown): void
}

// 19 MiB, 2 iterations, parallelism 1: OWASP Password Storage Cheat Sheet and docs/contract.md#password-policy.
const argon2Options = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** Runs a task in this process. */
export const runHashTask = ({ password, existingHash }: HashTask): Promise<HashResult> =>
  existingHash === undefined ? argon2.hash(password, argon2Options) : matchesPasswordHash(existingHash, password)

const pending = new Map<number, PendingHash>()
let lastTaskNumber = 0
let hashProcess: ChildProcess | undefined

// If there are several processors, one stays free for the main thread (docs/contract.md#password-hashing-capacity).
const CONCURRENT_HASHES = Math.max(1, Math.min(limits.maxConcurrentPasswordHashes, availableParallelism() - 1))
/** The delay before the next task is the time for which the main thread was busy during the last task, times this. */
const THROTTLE_FACTOR = 2
let activeHashes = 0
const waitingTasks: (() => void)[] = []

/**
 * Runs a task in the child process. At most `CONCURRENT_HASHES` tasks run at the same time. While further tasks wait,
 * the next one starts after a delay that grows with the load of the main thread, so that password sign-ins do not slow
 * down token requests (docs/contract.md#password-hashing-capacity, docs/decisions/0045-password-hashing-throttle.md).
 */
export async function hashThrottled(task: HashTask): Promise<HashResult> {
  if (activeHashes >= CONCURRENT_HASHES) await new Promise<void>((go) => waitingTasks.push(go))
  else activeHashes++
  const loopUtilization = performance.eventLoopUtilization()
  try {
    return await hashInChildProcess(task)
  } finally {
    const { active } = performance.eventLoopUtilization(loopUtilization)
    if (waitingTasks.length === 0) activeHashes--
    else void sleep(Math.min(THROTTLE_FACTOR * active, limits.maxPasswordHashDelay)).then(startNextTask)
  }
}

function startNextTask(): void {
  const next = waitingTasks.shift()
  if (next) next()
  else activeHashes--
}

function hashInChildProcess(task: HashTask): Promise<HashResult> {
  return new Promise((resolve, reject) => {
    const number = ++lastTaskNumber
    pending.set(number, { task, resolve, reject })
    hashProcess ??= startHashProcess()
    // The IPC channel keeps this process alive only while a task is pending.
    hashProcess.channel?.ref()
    // Sending fails if the child process is exiting. `onProcessEnd` then runs the task in this process.
    hashProcess.send({ number, task }, () => {})
  })
}

function finishInThisProcess(pendingHash: PendingHash | undefined): void {
  if (pendingHash) runHashTask(pendingHash.task).then(pendingHash.resolve, pendingHash.reject)
}

function startHashProcess(): ChildProcess {
  const file = fileURLToPath(new URL('./hashing-process.js', import.meta.url))
  const child = fork(file, { execArgv: [], env: {}, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  try {
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Some sandboxes forbid changing priorities. The child process then has the normal priority.
  }
  child.unref()
  child.on('message', ({ number, result }: { number: number; result?: HashResult }) => {
    const pendingHash = pending.get(number)
    pending.delete(number)
    if (result === undefined) finishInThisProcess(pendingHash)
    else pendingHash?.resolve(result)
    if (pending.size === 0) child.channel?.unref()
  })
  const onProcessEnd = (): void => {
    if (hashProcess !== child) return
    hashProcess = undefined
    for (const pendingHash of pending.values()) finishInThisProcess(pendingHash)
    pending.clear()
  }
  child.once('disconnect', onProcessEnd).once('exit', onProcessEnd).once('error', onProcessEnd)
  return child
}
