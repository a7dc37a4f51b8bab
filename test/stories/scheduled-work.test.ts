/** Two processes, one of which dies by `kill -9` in the middle of scheduled work: the other one finishes it, once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { makeTenant, must } from '../setup/actors.js'
import { createTestDatabase, secretKey } from '../setup/database.js'
import { endProcess, type Process, runCli, startProcess } from '../setup/process.js'
import type { TestApp } from '../setup/start-app.js'

const BACKLOG = 150_000
const ISSUERS = 4

let database: { url: string; drop(): Promise<void> }
let db: pg.Client
let processes: Process[]
let survivor: Process

beforeAll(async () => {
  database = await createTestDatabase()
  db = new pg.Client({ connectionString: database.url })
  await db.connect()
  const one = await startProcess({ DATABASE_URL: database.url, SECRET_KEY: secretKey })
  const { PORT: _, IDP_PORT: __, ...shared } = one.env
  processes = [one, await startProcess(shared)]
  const tenant = await makeTenant(one as unknown as TestApp, 'Scheduled')
  for (let n = 2; n < ISSUERS; n++) must(await tenant.owner.post(`${tenant.A}/issuers`, { name: `Issuer ${n}` }), 201)
})
afterAll(async () => {
  for (const process of processes) await endProcess(process, 'SIGKILL')
  await db.end()
  await database.drop()
})

const numberOf = async (text: string): Promise<number> => Number((await db.query(text)).rows[0].count)
const cli = (...args: string[]) => runCli(args, survivor.env)

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 40_000; !(await isTrue()); await sleep(10))
    if (Date.now() > end) throw new Error(`it did not come true in time:\n${processes.map((one) => one.output())}`)
}

/** The process behind a holder: host:pid:which. */
const isHolder = (holder: string) => (one: Process) => String(one.child.pid) === holder.split(':').at(-2)

test('kill -9 in the middle of a long purge: the other process takes over and finishes; gatehouse jobs shows it', async () => {
  await until(async () => (await numberOf(`SELECT count(*) FROM periodic_jobs WHERE result = 'ok'`)) > 15)
  await db.query(`INSERT INTO revoked_tokens (issuer_id, jti, expires_at)
    SELECT 'iss_1', n, 0 FROM generate_series(1, ${BACKLOG}) AS n`)
  await db.query(`UPDATE periodic_jobs SET next_at = 0 WHERE name = 'purge-expired'`)
  const left = () => numberOf('SELECT count(*) FROM revoked_tokens')
  await until(async () => (await left()) < BACKLOG)
  const { rows } = await db.query(`SELECT holder FROM periodic_jobs WHERE name = 'purge-expired'`)
  await endProcess(processes.find(isHolder(rows[0].holder)), 'SIGKILL')
  survivor = processes.find((one) => !isHolder(rows[0].holder)(one))!
  expect(await left()).toBeGreaterThan(0)
  await until(async () => (await left()) === 0)
  expect(survivor.output()).toContain('a process died while it ran a job; it is taken over')
  await until(async () => {
    const { stdout } = await cli('jobs', '--json')
    const [purge] = JSON.parse(stdout).periodic.filter(({ name }: { name: string }) => name === 'purge-expired')
    return purge.result === 'ok' && purge.holder === null && purge.next_at > Date.now() - 60_000
  })
}, 90_000)

test('the monthly rotation happens once for each issuer, also when its process dies by kill -9 meanwhile', async () => {
  const issuers = await numberOf(`SELECT count(*) FROM issuers`)
  // Without spare keys a rotation takes long enough to die in the middle of it.
  await db.query('DELETE FROM spare_keys')
  // The next keys have begun to sign.
  await db.query('UPDATE signing_keys SET signs_from = signs_from - $1', [40 * 86_400_000])
  await db.query(`UPDATE periodic_jobs SET next_at = 0 WHERE name = 'rotate-keys'`)
  const rotated = () => numberOf(`SELECT count(*) FROM events WHERE type = 'issuer.signing_key.rotated'`)
  await until(async () => (await rotated()) > 0)
  const { rows } = await db.query(`SELECT holder FROM periodic_jobs WHERE name = 'rotate-keys'`)
  expect(isHolder(rows[0].holder)(survivor)).toBe(true)
  await endProcess(survivor, 'SIGKILL')
  expect(await rotated()).toBeLessThan(issuers)
  survivor = await startProcess(survivor.env)
  processes.push(survivor)
  await until(async () => (await rotated()) === issuers)
  // Current and next from the start, and this one.
  expect(await numberOf('SELECT count(*) FROM signing_keys')).toBe(issuers * 3 * 3)
}, 90_000)

test('gatehouse jobs: a table for people; run does one now, retry has failed work done anew', async () => {
  const shown = await cli('jobs')
  expect(shown).toMatchObject({ code: 0 })
  expect(shown.stdout).toMatch(/^PERIODIC JOB +EVERY +LAST RUN +TOOK +RESULT +NEXT RUN +HELD BY$/m)
  expect(shown.stdout).toMatch(/^rotate-keys +5 min +\d{4}-\d\d-\d\dT[\d:]+Z +[\d.]+ (ms|s) +ok +\d{4}-\S+Z/m)
  expect(shown.stdout).toMatch(/^backchannel_logout +0 +0 +0 +-$/m)
  expect(shown.stdout).toMatch(/^WEBHOOKS +WAITING +PAUSED +FAILING +OLDEST DUE\n +0 +0 +0 +-$/m)
  expect(shown.stdout).not.toContain('FAILED FOR GOOD')
  const ran = await cli('jobs', 'run', 'purge-invitations')
  expect({ code: ran.code, stdout: ran.stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^purge-invitations ran in \d/),
  })
  expect(await cli('jobs', 'run', 'nothing')).toMatchObject({
    code: 1,
    output: expect.stringContaining('gatehouse jobs'),
  })
  // A mail whose time is over: done as soon as somebody looks at it.
  await db.query(`INSERT INTO jobs (id, task, payload, run_at, attempts, error, failed_at, created_at)
    VALUES ('job_lost', 'mail', '{"id": "mail_1", "sealed": "", "expiresAt": 0}', 0, 9, 'no route', 1, 1)`)
  const failed = await cli('jobs')
  expect(failed.stdout).toMatch(/^job_lost +mail +9 +1970-\S+ +1970-\S+ +no route$/m)
  expect(failed.stdout).not.toContain('mail_1')
  expect(await cli('jobs', 'retry', 'job_lost')).toMatchObject({ code: 0 })
  await until(async () => (await numberOf(`SELECT count(*) FROM jobs WHERE id = 'job_lost'`)) === 0)
  expect(await cli('jobs', 'retry', 'job_lost')).toMatchObject({ code: 1, output: expect.stringContaining('no job') })
}, 60_000)
