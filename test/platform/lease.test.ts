/** Leases: one worker has a row until a time, others take over after that, and a worker that lost it changes nothing. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { isLeaseFree, leaseSql, logTakeover, newLeaseOwner, runWithLease } from '../../src/platform/jobs/lease.js'
import type { Log } from '../../src/platform/log.js'
import { type DatabaseHandle, openDatabase } from '../../src/platform/postgres/database.js'
import { createTestDatabase } from '../setup/database.js'
import { waitUntil } from '../setup/wait-until.js'

const DURATION = 10_000
const START = 1_000_000

let database: DatabaseHandle
let drop: () => Promise<void>
/** The clock of all workers. */
let now: number

beforeAll(async () => {
  const created = await createTestDatabase({ empty: true })
  database = openDatabase(created.url)
  drop = created.drop
  await database.pool.query(`
    CREATE TABLE work (id text PRIMARY KEY, lease_owner text, lease_expires_at bigint NOT NULL DEFAULT 0, result text);
    CREATE TABLE requests (key text PRIMARY KEY, lease_id text, due_at bigint, status int)`)
})
afterAll(async () => {
  await database.close()
  await drop()
})
beforeEach(async () => {
  now = START
  await database.pool.query(`TRUNCATE work, requests; INSERT INTO work (id) VALUES ('row')`)
})

const lease = leaseSql({ duration: DURATION })
const takeSql = `
  WITH free AS (SELECT id, lease_owner FROM work WHERE ${lease.isFree('$2')} FOR UPDATE SKIP LOCKED)
  UPDATE work SET ${lease.take('$1', '$2')} FROM free WHERE work.id = free.id
  RETURNING free.lease_owner AS "previousOwner"`
const renewSql = `UPDATE work SET ${lease.renew('$2')} WHERE ${lease.isMine('$1')} RETURNING id`
const finishSql = `UPDATE work SET ${lease.release()}, result = $2 WHERE ${lease.isMine('$1')} RETURNING id`

/** A worker of another process each. */
function createWorker() {
  const owner = newLeaseOwner()
  return {
    owner,
    /** Returns the previous owner in an array, which is empty if the row was not free. */
    take: async () =>
      (await database.query<{ previousOwner: string | null }>('take', takeSql, [owner, now])).map(
        ({ previousOwner }) => previousOwner,
      ),
    renew: async () => (await database.query('renew', renewSql, [owner, now])).length === 1,
    finish: async (result: string) => (await database.query('finish', finishSql, [owner, result])).length === 1,
  }
}
const readRow = async () => {
  const [row] = await database.query<{ owner: string | null; expiresAt: number; result: string | null }>(
    'read',
    `SELECT lease_owner AS owner, lease_expires_at AS "expiresAt", result FROM work`,
    [],
  )
  return row!
}

describe('taking', () => {
  test('one of many workers takes a free row', async () => {
    const taken = await Promise.all(Array.from({ length: 10 }, () => createWorker().take()))
    expect(taken.flat()).toEqual([null])
    expect((await readRow()).expiresAt).toBe(START + DURATION)
  })

  test('another worker takes over at the end of the lease, not before, and learns the previous owner', async () => {
    const [dead, heir] = [createWorker(), createWorker()]
    await dead.take()
    now = START + DURATION - 1
    expect(await heir.take()).toEqual([])
    now = START + DURATION
    expect(await heir.take()).toEqual([dead.owner])
    expect(await readRow()).toEqual({ owner: heir.owner, expiresAt: START + 2 * DURATION, result: null })
  })

  test('a released row is free immediately, and has no previous owner', async () => {
    const [first, second] = [createWorker(), createWorker()]
    await first.take()
    expect(await first.finish('first')).toBe(true)
    expect(await second.take()).toEqual([null])
  })

  test('each lease of a process has another owner', () => {
    const owners = Array.from({ length: 1000 }, newLeaseOwner)
    expect(new Set(owners).size).toBe(1000)
    expect(owners[0]).toMatch(new RegExp(`:${process.pid}:[0-9a-f]{12}$`))
  })
})

describe('renewing and losing', () => {
  test('a renewed lease lasts from the renewal on', async () => {
    const [worker, other] = [createWorker(), createWorker()]
    await worker.take()
    now = START + DURATION - 1
    expect(await worker.renew()).toBe(true)
    now = START + 2 * DURATION - 2
    expect(await other.take()).toEqual([])
    now = START + 2 * DURATION - 1
    expect(await other.take()).toEqual([worker.owner])
  })

  test('an expired lease that no worker has taken over can be renewed and released', async () => {
    const worker = createWorker()
    await worker.take()
    now = START + 5 * DURATION
    expect(await worker.renew()).toBe(true)
    now = START + 10 * DURATION
    expect(await worker.finish('late')).toBe(true)
    expect(await readRow()).toEqual({ owner: null, expiresAt: 0, result: 'late' })
  })

  test('a worker that lost its lease cannot renew, record or release, also after the heir has finished', async () => {
    const [suspended, heir] = [createWorker(), createWorker()]
    await suspended.take()
    now = START + DURATION
    await heir.take()
    const row = await readRow()
    expect(await suspended.renew()).toBe(false)
    expect(await suspended.finish('suspended')).toBe(false)
    expect(await readRow()).toEqual(row)
    expect(await heir.finish('heir')).toBe(true)
    expect(await suspended.renew()).toBe(false)
    expect(await suspended.finish('suspended')).toBe(false)
    expect(await readRow()).toEqual({ owner: null, expiresAt: 0, result: 'heir' })
  })
})

describe('columns of a table', () => {
  const custom = leaseSql({ owner: 'lease_id', expiresAt: 'due_at', duration: '$3::bigint', alias: 'r' })
  const insertSql = `
    INSERT INTO requests AS r (key, lease_id, due_at) VALUES ('key', $1, ${custom.end('$2')})
    ON CONFLICT (key) DO UPDATE SET ${custom.take('$1', '$2')} WHERE r.status IS NULL AND ${custom.isFree('$2')}
    RETURNING due_at`
  const takeKey = async (owner: string, duration: number) =>
    (await database.query<{ due_at: number }>('insert', insertSql, [owner, now, duration])).map((row) => row.due_at)

  test('names, an alias and a duration per statement', async () => {
    expect(await takeKey('a', 500)).toEqual([START + 500])
    now = START + 499
    expect(await takeKey('b', 500)).toEqual([])
    now = START + 500
    expect(await takeKey('b', 700)).toEqual([START + 1200])
  })

  test('a row that is released for later is neither taken nor free until then', async () => {
    await takeKey('a', 500)
    const stateSql = `SELECT ${custom.isTaken('$1')} AS taken, ${custom.isFree('$1')} AS free FROM requests r`
    const stateAt = async (at: number) => (await database.query('state', stateSql, [at]))[0]
    expect(await stateAt(START + 499)).toEqual({ taken: true, free: false })
    expect(await stateAt(START + 500)).toEqual({ taken: false, free: true })
    const releaseSql = `UPDATE requests r SET ${custom.release('$2::bigint')} WHERE ${custom.isMine('$1')}`
    await database.query('release', releaseSql, ['a', START + 2000])
    expect(await stateAt(START + 1999)).toEqual({ taken: false, free: false })
    expect(await stateAt(START + 2000)).toEqual({ taken: false, free: true })
  })

  test.each([
    [START - 1, true],
    [START, true],
    [START + 1, false],
  ])('isLeaseFree decides as the statement does (%i: %s)', async (end, free) => {
    await database.query('set-end', 'UPDATE work SET lease_expires_at = $1::bigint', [end])
    expect(isLeaseFree(BigInt(end), now)).toBe(free)
    expect(await createWorker().take()).toEqual(free ? [null] : [])
  })
})

describe('runWithLease', () => {
  const INTERVAL = 5
  /** The statement of the worker, and how often it was called. */
  const counted = (renew: () => Promise<boolean>) => {
    const calls = {
      count: 0,
      renew() {
        calls.count++
        return renew()
      },
    }
    return calls
  }
  /** Timers of the same length fire in the order of their creation, so a remaining renewal timer would fire as well. */
  async function expectNoRenewal(calls: { count: number }): Promise<void> {
    const before = calls.count
    for (let n = 0; n < 3; n++) await sleep(INTERVAL)
    expect(calls.count).toBe(before)
  }

  test('renews until the work is done, and returns its result', async () => {
    const worker = createWorker()
    await worker.take()
    const calls = counted(worker.renew)
    const result = await runWithLease(calls.renew, INTERVAL, async (leaseLost) => {
      for (const later of [3000, 6000, 9000]) {
        now = START + later
        await waitUntil('the lease is renewed', async () => (await readRow()).expiresAt === now + DURATION)
      }
      expect(leaseLost.aborted).toBe(false)
      return 'done'
    })
    expect(result).toBe('done')
    await expectNoRenewal(calls)
  })

  test('aborts the signal at the first renewal after another worker took over, and renews no more', async () => {
    const [suspended, heir] = [createWorker(), createWorker()]
    await suspended.take()
    // No renewal while the process is suspended.
    let isSuspended = true
    const calls = counted(async () => isSuspended || (await suspended.renew()))
    await runWithLease(calls.renew, INTERVAL, async (leaseLost) => {
      now = START + DURATION
      await heir.take()
      const row = await readRow()
      expect(leaseLost.aborted).toBe(false)
      isSuspended = false
      await waitUntil('the worker notices that it lost the lease', () => leaseLost.aborted)
      await expectNoRenewal(calls)
      expect(await readRow()).toEqual(row)
    })
  })

  test('repeats a failed renewal', async () => {
    const worker = createWorker()
    await worker.take()
    const calls = counted(() => (calls.count < 3 ? Promise.reject(new Error('no connection')) : worker.renew()))
    now = START + 3000
    await runWithLease(calls.renew, INTERVAL, async (leaseLost) => {
      await waitUntil('the lease is renewed', async () => (await readRow()).expiresAt === now + DURATION)
      expect(leaseLost.aborted).toBe(false)
    })
  })

  test('stops renewing after an error of the work', async () => {
    const calls = counted(async () => true)
    const failing = runWithLease(calls.renew, INTERVAL, async () => {
      await waitUntil('the lease is renewed', () => calls.count > 0)
      throw new Error('the work failed')
    })
    await expect(failing).rejects.toThrow('the work failed')
    await expectNoRenewal(calls)
  })
})

test('a takeover is logged with the row and the previous owner; taking a released row is not', () => {
  const lines: unknown[] = []
  const log = { warn: (...line: unknown[]) => lines.push(line) } as unknown as Log
  logTakeover(log, null, { job: 'first' })
  logTakeover(log, 'host:1:abc', { job: 'second' })
  expect(lines).toEqual([[{ job: 'second', previousOwner: 'host:1:abc' }, expect.stringContaining('lease expired')]])
})
