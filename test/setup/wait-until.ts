/** Helpers that wait until a condition is true, so that tests need not wait for a fixed time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { DatabaseHandle } from '../../src/platform/postgres/database.js'

export interface WaitOptions {
  /** Milliseconds after which `waitUntil` throws; 20,000 by default. */
  limit?: number
  /** Milliseconds between two checks; 20 by default. */
  interval?: number
  /** Returns text for the error message, for example the output of a process. */
  details?: () => unknown
}

/**
 * Waits until the condition returns a truthy value, and returns the value.
 * @param description completes the error message "timed out after 20 s waiting until …"
 * @throws Error after the limit, with the description; every error of the condition
 */
export async function waitUntil<Value>(
  description: string,
  condition: () => Value | Promise<Value>,
  { limit = 20_000, interval = 20, details }: WaitOptions = {},
): Promise<Value> {
  const end = performance.now() + limit
  for (;;) {
    const value = await condition()
    if (value) return value
    if (performance.now() > end) {
      const suffix = details ? `:\n${details()}` : ''
      throw new Error(`timed out after ${limit / 1000} s waiting until ${description}${suffix}`)
    }
    await sleep(interval)
  }
}

/**
 * Waits until at least this many statements in the current database wait for a lock.
 * @param connection must not be in a transaction, because PostgreSQL reads pg_stat_activity once in each transaction
 */
export async function waitForLockWaiters(connection: Pick<pg.Pool, 'query'>, count: number): Promise<void> {
  const text = `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  let waiting: { query: string }[] = []
  await waitUntil(
    `${count} statements wait for a lock`,
    async () => {
      waiting = (await connection.query<{ query: string }>(text)).rows
      return waiting.length >= count
    },
    { details: () => waiting.map(({ query }) => query).join('\n') },
  )
}

/**
 * Counts the statements that complete through `database.query`, by the name of the prepared statement. A test can wait
 * for a higher count until a background loop has polled again. `restore` ends the counting.
 */
export function countStatements(database: DatabaseHandle): { completed(name: string): number; restore(): void } {
  const counts = new Map<string, number>()
  const handle = database as { query: DatabaseHandle['query'] }
  const { query } = handle
  handle.query = async (name, text, values) => {
    const rows = await query(name, text, values)
    counts.set(name, (counts.get(name) ?? 0) + 1)
    return rows as never
  }
  return {
    completed: (name) => counts.get(name) ?? 0,
    restore() {
      handle.query = query
    },
  }
}
