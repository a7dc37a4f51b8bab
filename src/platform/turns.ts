/**
 * Who goes first in a process. Programs ask for tokens in the middle of their own requests; a person who signs in waits for
 * their password to be hashed anyway. What is done for people goes on one step at a time, each after everything that has
 * arrived meanwhile was looked at: otherwise a token waits for a step of everyone who signs in (docs/decisions/0055).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { TransactionConnection } from './transaction-connection.js'

/** What statements know of the work that they are part of. */
export interface Work {
  /** It gives way. */
  readonly patient?: boolean
  /** It is a transaction, which gives way only when it is over: it holds a connection that others may wait for. */
  readonly opens?: boolean
  /** Of that transaction, once Prisma has taken it. */
  connection?: TransactionConnection
}

export const currentWork = new AsyncLocalStorage<Work>()

/** Runs work that gives way to all other behind each statement and each transaction. */
export const patiently = <T>(answer: () => Promise<T>): Promise<T> => currentWork.run({ patient: true }, answer)

/** The result of something asked of the database, when it is the turn of the work that asked for it. */
export async function inTurn<T>(result: Promise<T>): Promise<T> {
  if (!currentWork.getStore()?.patient) return result
  const value = await result
  await turn()
  return value
}

const waiting: (() => void)[] = []

function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(next)
  })
}

/** One step; the next one comes after the event loop has taken in what arrived. */
function next(): void {
  waiting.shift()!()
  if (waiting.length > 0) setImmediate(next)
}
