/**
 * Leases. A lease is the right of one owner to work on a row until a time. A worker takes the lease of a free row in
 * one statement, renews it while it works, and releases it with its result. A row is free from the end of its lease on.
 *
 * - After a crash, the lease expires and another worker takes over. It does not know how much was done, so the work
 *   must be idempotent.
 * - A process that was suspended or lost the database for longer than its lease has lost it to the worker that took
 *   over. It continues without knowing, so every statement that renews, records or releases requires `isMine` and
 *   otherwise changes nothing. `runWithLease` notices the loss at the next renewal; until then, both may be working.
 * - An expired lease that no worker has taken over still belongs to its owner, who may renew and release it.
 * - Times are those of the process (`context.now()`), in Unix milliseconds. The clocks of the processes must differ by
 *   much less than a lease lasts (`gatehouse doctor` warns from `limits.clockOffsetWarning`). A process whose clock is
 *   ahead takes over too early and repeats work, but at no time do two owners record results.
 *
 * Each table needs a part of this:
 *
 * - Periodic jobs (periodic-jobs.ts): `runWithLease` renews.
 * - Delivery queues of webhooks (resources/webhooks/delivery-queues.ts): the statement that writes results renews.
 * - Queued jobs (queue.ts): not renewed, because a task declares a duration that no attempt exceeds.
 * - Idempotency keys (graphql/idempotency.ts): not renewed. A request that lost its key is rolled back.
 * - Tokens of the console (console-host/sessions.ts): only taken if free. There is no owner, because the request to the
 *   issuer has a shorter timeout than the lease.
 * - Settlements of top-ups (resources/payments/topup-attempts.ts): other processes only wait until the row is free.
 *   There is no owner, because a late response is recorded too: it says that money was transferred.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Log } from '../log.js'

const processName = `${hostname()}:${process.pid}`

/**
 * Creates the owner of a lease: host name, process ID and random digits. Each statement that takes leases needs a new
 * owner, so that work that has lost a lease cannot write to a later lease of the same process.
 */
export const newLeaseOwner = (): string => `${processName}:${randomUUID().slice(-12)}`

/** Where a table stores its leases, and how long they last. */
export interface LeaseColumns {
  /** The column with the owner, a text that is null before the first lease and after a release. */
  owner?: string
  /** The column with the end of the lease. */
  expiresAt?: string
  /** Milliseconds, or an SQL expression for them. */
  duration: number | string
  /** The alias of the table, for statements in which the columns would be ambiguous. */
  alias?: string
}

/** Parts of SQL statements about a lease. The arguments are SQL expressions, usually parameters such as `$1`. */
export interface LeaseSql {
  /** Condition: the row can be taken. Null if the end of the lease is null. */
  isFree(now: string): string
  /** Condition: an owner has the row. */
  isTaken(now: string): string
  /** Condition: this owner took the row, and no other one has taken it over. */
  isMine(owner: string): string
  /** The end of a lease that begins now. */
  end(now: string): string
  /** Assignments: takes a free row. */
  take(owner: string, now: string): string
  /** Assignment: renews the lease. Also takes a row in a table without an owner column. */
  renew(now: string): string
  /** Assignments: releases the row. @param freeFrom when it can be taken again, immediately by default */
  release(freeFrom?: string): string
}

/** Returns the parts of SQL statements for the leases of one table. */
export function leaseSql({
  owner: ownerColumn = 'lease_owner',
  expiresAt: expiresAtColumn = 'lease_expires_at',
  duration,
  alias,
}: LeaseColumns): LeaseSql {
  const prefix = alias === undefined ? '' : `${alias}.`
  const end = (now: string) => `${now}::bigint + ${duration}`
  const renew = (now: string) => `${expiresAtColumn} = ${end(now)}`
  return {
    isFree: (now) => `${prefix}${expiresAtColumn} <= ${now}::bigint`,
    isTaken: (now) => `(${prefix}${ownerColumn} IS NOT NULL AND ${prefix}${expiresAtColumn} > ${now}::bigint)`,
    isMine: (owner) => `${prefix}${ownerColumn} = ${owner}`,
    end,
    take: (owner, now) => `${ownerColumn} = ${owner}, ${renew(now)}`,
    renew,
    release: (freeFrom = '0') => `${ownerColumn} = NULL, ${expiresAtColumn} = ${freeFrom}`,
  }
}

/** Same as the condition `isFree`, for a row that was read. Both parameters are in Unix milliseconds. */
export const isLeaseFree = (expiresAt: number | bigint, now: number): boolean => Number(expiresAt) <= now

/**
 * Logs that a lease was taken over. Call it for each row that was taken.
 * @param previousOwner the owner before; null if the row was released
 * @param row log fields that name the row
 */
export function logTakeover(log: Log, previousOwner: string | null, row: Record<string, string>): void {
  if (previousOwner !== null) log.warn({ ...row, previousOwner }, 'a lease expired; taking over its work')
}

/**
 * Runs `work` and renews its lease meanwhile. Failed renewals are repeated at the next interval, because the lease may
 * last longer than a short outage of the database.
 * @param renew returns false when another worker has taken over the lease
 * @param interval milliseconds, a small part of the duration of the lease
 * @param work receives a signal that is aborted when the lease is lost. It should then stop soon
 */
export async function runWithLease<T>(
  renew: () => Promise<boolean>,
  interval: number,
  work: (leaseLost: AbortSignal) => Promise<T>,
): Promise<T> {
  const leaseLost = new AbortController()
  const renewal = setInterval(() => {
    renew().then(
      (renewed) => {
        if (renewed) return
        clearInterval(renewal)
        leaseLost.abort()
      },
      () => {},
    )
  }, interval)
  renewal.unref()
  try {
    return await work(leaseLost.signal)
  } finally {
    clearInterval(renewal)
  }
}
