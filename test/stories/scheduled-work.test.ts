/**
 * Of two processes, one is killed during a periodic job. The other process completes the job, and each step runs once.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { createTenant, expectStatus } from '../setup/actors.js'
import { createTestDatabase, testSecretKey } from '../setup/database.js'
import { type GatehouseProcess, runCli, startProcess, stopProcess } from '../setup/process.js'
import type { TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

const BACKLOG = 150_000
const ISSUERS = 4

let database: { url: string; drop(): Promise<void> }
let db: pg.Client
let processes: GatehouseProcess[]
let survivor: GatehouseProcess

beforeAll(async () => {
  database = await createTestDatabase()
  db = new pg.Client({ connectionString: database.url })
  await db.connect()
  const first = await startProcess({ DATABASE_URL: database.url, SECRET_KEY: testSecretKey })
  const { PORT: _, IDP_PORT: __, ...shared } = first.env
  processes = [first, await startProcess(shared)]
  const tenant = await createTenant(first as unknown as TestApp, 'Scheduled')
  for (let n = 2; n < ISSUERS; n++)
    expectStatus(await tenant.owner.post(`${tenant.A}/issuers`, { name: `Issuer ${n}` }), 201)
})
afterAll(async () => {
  for (const process of processes) await stopProcess(process, 'SIGKILL')
  await db.end()
  await database.drop()
})

const numberOf = async (text: string): Promise<number> => Number((await db.query(text)).rows[0].count)
const cli = (...args: string[]) => runCli(args, survivor.env)

const output = { limit: 40_000, interval: 10, details: () => processes.map((process) => process.output()) }

/** Returns a function that finds the process of a lease owner, which is `host:pid:number`. */
const isLeaseOwner = (leaseOwner: string) => (process: GatehouseProcess) =>
  String(process.child.pid) === leaseOwner.split(':').at(-2)

test('after kill -9 during a long purge, the other process completes the purge, and gatehouse jobs shows the success', async () => {
  const succeeded = `SELECT count(*) FROM periodic_jobs WHERE result = 'succeeded'`
  await waitUntil('the periodic jobs have run', async () => (await numberOf(succeeded)) > 15, output)
  await db.query(`INSERT INTO revoked_tokens (issuer_id, jti, expires_at)
    SELECT 'iss_1', n, 0 FROM generate_series(1, ${BACKLOG}) AS n`)
  await db.query(`UPDATE periodic_jobs SET next_run_at = 0 WHERE name = 'purge-expired'`)
  const left = () => numberOf('SELECT count(*) FROM revoked_tokens')
  await waitUntil('the purge has begun', async () => (await left()) < BACKLOG, output)
  const { rows } = await db.query(`SELECT lease_owner FROM periodic_jobs WHERE name = 'purge-expired'`)
  await stopProcess(processes.find(isLeaseOwner(rows[0].lease_owner)), 'SIGKILL')
  survivor = processes.find((process) => !isLeaseOwner(rows[0].lease_owner)(process))!
  expect(await left()).toBeGreaterThan(0)
  await waitUntil('the purge is complete', async () => (await left()) === 0, output)
  expect(survivor.output()).toContain('a lease expired; taking over its work')
  const isRecorded = async () => {
    const { stdout } = await cli('jobs', '--json')
    const [purge] = JSON.parse(stdout).periodic.filter(({ name }: { name: string }) => name === 'purge-expired')
    return purge.result === 'succeeded' && purge.lease_owner === null && purge.next_run_at > Date.now() - 60_000
  }
  await waitUntil('gatehouse jobs shows the success', isRecorded, output)
}, 90_000)

test('a key rotation runs once for each issuer, also when the process is killed during the job', async () => {
  const issuers = await numberOf(`SELECT count(*) FROM issuers`)
  // Without spare keys, the rotation takes long enough to be killed before its end.
  await db.query('DELETE FROM spare_keys')
  // Moves the start of the next keys into the past, so that they sign now and the rotation creates new next keys.
  await db.query('UPDATE signing_keys SET signs_from = signs_from - $1', [40 * 86_400_000])
  await db.query(`UPDATE periodic_jobs SET next_run_at = 0 WHERE name = 'rotate-keys'`)
  const rotated = () => numberOf(`SELECT count(*) FROM events WHERE type = 'issuer.signing_key.rotated'`)
  await waitUntil('one issuer has new keys', async () => (await rotated()) > 0, output)
  const { rows } = await db.query(`SELECT lease_owner FROM periodic_jobs WHERE name = 'rotate-keys'`)
  expect(isLeaseOwner(rows[0].lease_owner)(survivor)).toBe(true)
  await stopProcess(survivor, 'SIGKILL')
  expect(await rotated()).toBeLessThan(issuers)
  survivor = await startProcess(survivor.env)
  processes.push(survivor)
  await waitUntil('all issuers have new keys', async () => (await rotated()) === issuers, output)
  // Each of the three algorithms has the two first keys and the key that the rotation created.
  expect(await numberOf('SELECT count(*) FROM signing_keys')).toBe(issuers * 3 * 3)
}, 90_000)

test('gatehouse jobs prints a table, jobs run starts a periodic job, and jobs retry runs a failed job again', async () => {
  const shown = await cli('jobs')
  expect(shown).toMatchObject({ code: 0 })
  expect(shown.stdout).toMatch(/^PERIODIC JOB +EVERY +LAST RUN +DURATION +RESULT +NEXT RUN +LEASE OWNER$/m)
  expect(shown.stdout).toMatch(/^rotate-keys +5 min +\d{4}-\d\d-\d\dT[\d:]+Z +[\d.]+ (ms|s) +succeeded +\d{4}-\S+Z/m)
  expect(shown.stdout).toMatch(/^backchannel_logout +0 +0 +0 +-$/m)
  expect(shown.stdout).toMatch(/^WEBHOOKS +DUE +CIRCUIT OPEN +FAILING +OLDEST DUE\n +0 +0 +0 +-$/m)
  expect(shown.stdout).not.toContain('FAILED JOBS')
  const ran = await cli('jobs', 'run', 'purge-invitations')
  expect({ code: ran.code, stdout: ran.stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^purge-invitations ran in \d/),
  })
  expect(await cli('jobs', 'run', 'nothing')).toMatchObject({
    code: 1,
    output: expect.stringContaining('gatehouse jobs'),
  })
  // The email has expired, so the job completes without sending the email.
  await db.query(`INSERT INTO jobs (id, task, payload, run_at, attempts, error, failed_at, created_at)
    VALUES ('job_lost', 'mail', '{"id": "mail_1", "encrypted": "", "expiresAt": 0}', 0, 9, 'no route', 1, 1)`)
  const failed = await cli('jobs')
  expect(failed.stdout).toMatch(/^job_lost +mail +9 +1970-\S+ +1970-\S+ +no route$/m)
  expect(failed.stdout).not.toContain('mail_1')
  expect(await cli('jobs', 'retry', 'job_lost')).toMatchObject({ code: 0 })
  await waitUntil(
    'the retried job is done',
    async () => (await numberOf(`SELECT count(*) FROM jobs WHERE id = 'job_lost'`)) === 0,
  )
  expect(await cli('jobs', 'retry', 'job_lost')).toMatchObject({
    code: 1,
    output: expect.stringContaining('no waiting or failed job'),
  })
}, 60_000)
