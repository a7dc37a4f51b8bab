/** A process that dies between settlement and credit: the payment is credited once, by whoever starts next (issue: payments). */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { makeAccount, must } from '../setup/actors.js'
import { type Api, apiAs, type Loose } from '../setup/api.js'
import { createTestDatabase, secretKey } from '../setup/database.js'
import { type Facilitator, NETWORK, newPayer, startFacilitator } from '../setup/facilitator.js'
import { endProcess, type Process, startProcess } from '../setup/process.js'
import type { TestApp } from '../setup/start-app.js'

let facilitator: Facilitator
let database: Awaited<ReturnType<typeof createTestDatabase>>
let folder: string
let client: pg.Client
let running: Process

beforeAll(async () => {
  facilitator = await startFacilitator()
  database = await createTestDatabase()
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-topup-'))
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  running = await start()
})
afterAll(async () => {
  await endProcess(running)
  await client.end()
  await facilitator.close()
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

const key = `ak_${'0'.repeat(26)}:${'k'.repeat(40)}`
const start = () =>
  startProcess({
    ...facilitator.env,
    DATABASE_URL: database.url,
    DATA_DIR: folder,
    SECRET_KEY: secretKey,
    BOOTSTRAP_API_KEY: key,
    LOG_LEVEL: 'warn',
  })

/** An account with a payment method, in the process that runs. */
async function open(): Promise<{ owner: Api; accountId: string; A: string; methodId: string }> {
  const { owner, accountId } = await makeAccount({ ...running } as unknown as TestApp)
  const A = `/v1/accounts/${accountId}`
  const { id } = must(await owner.post(`${A}/payment-methods`, { type: 'x402' }), 201).data
  return { owner, accountId, A, methodId: id }
}

/** The same caller in the next process. */
function again({ authorization }: Api): Api {
  const [id = '', ...rest] = Buffer.from(authorization!.replace('Basic ', ''), 'base64').toString().split(':')
  return apiAs(running.baseUrl, { id, secret: rest.join(':') })
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !(await isTrue()); await sleep(20))
    if (Date.now() > end) throw new Error(`it did not come true in time:\n${running.output()}`)
}
const stateOf = async (accountId: string): Promise<string | undefined> =>
  (await client.query('SELECT state FROM topup_attempts WHERE account_id = $1', [accountId])).rows[0]?.state
/** As if this much time had passed for the work that waits. */
const timePasses = async () => {
  await client.query('UPDATE topup_attempts SET settling_until = 0')
  await client.query("UPDATE jobs SET run_at = 0 WHERE task = 'reconcile_topup'")
  await client.query("SELECT pg_notify('gatehouse', 'jobs:reconcile_topup')")
}

test('killed before the facilitator’s answer arrives: it had settled, and is credited once after restart', async () => {
  const { owner, accountId, A } = await open()
  const payer = newPayer()
  const payment = { 'payment-signature': payer.pay(5_000_000) }
  const { child, ended } = running
  // The transfer is done, the answer finds nobody.
  facilitator.tell(payer, 'settle', (truth) => {
    child.kill('SIGKILL')
    return truth
  })
  await expect(owner.post(`${A}/credits/topups`, { amount_μusd: 5_000_000 }, payment)).rejects.toThrow()
  expect(await ended).toBe('SIGKILL')
  expect(facilitator.transfers(payer)).toHaveLength(1)
  expect(await stateOf(accountId)).toBe('settling')

  running = await start()
  await timePasses()
  await until(async () => (await stateOf(accountId)) === 'credited')
  expect(facilitator.transfers(payer)).toHaveLength(1)
  const api = again(owner)
  const ledger: Loose[] = must(await api.get(`${A}/credits/ledger`), 200).data
  const reference = `${NETWORK}:${facilitator.transfers(payer)[0]!.transaction}`
  expect(ledger.map((entry) => [entry.amount_μusd, entry.balance_μusd, entry.payment_reference])).toEqual([
    [5_000_000, 5_000_000, reference],
  ])
  // Who repeats the request gets the credit that there is.
  const late = must(await api.post(`${A}/credits/topups`, { amount_μusd: 5_000_000 }, payment), 200)
  expect(late.data).toMatchObject({ id: ledger[0].id, payment_reference: reference })
}, 60_000)

test('killed between the outcome and the credit: credited once after restart, without asking anybody', async () => {
  const { owner, accountId, A, methodId } = await open()
  const payer = newPayer()
  const headers = { 'payment-signature': payer.pay(7), 'idempotency-key': randomBytes(8).toString('hex') }
  // The credit waits for the payment method, which somebody holds.
  await client.query('BEGIN')
  await client.query('SELECT id FROM payment_methods WHERE id = $1 FOR UPDATE', [methodId])
  const answer = owner.post(`${A}/credits/topups`, { amount_μusd: 7 }, headers).catch(() => 'nobody there')
  const watch = new pg.Client({ connectionString: database.url })
  await watch.connect()
  try {
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%payment_methods%'"
    await until(async () => (await watch.query(waiting)).rows.length > 0)
  } finally {
    await watch.end()
  }
  running.child.kill('SIGKILL')
  expect(await running.ended).toBe('SIGKILL')
  expect(await answer).toBe('nobody there')
  await client.query('ROLLBACK')
  expect(await stateOf(accountId)).toBe('settled')

  running = await start()
  await timePasses()
  await until(async () => (await stateOf(accountId)) === 'credited')
  expect(facilitator.asked(payer, 'settle')).toBe(1)
  const ledger: Loose[] = must(await again(owner).get(`${A}/credits/ledger`), 200).data
  expect(ledger.map((entry) => entry.balance_μusd)).toEqual([7])
}, 60_000)
