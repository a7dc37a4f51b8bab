/**
 * A process is killed between the settlement and the credit of a payment. The next process credits the payment once.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { createAccount, expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { createTestDatabase, testSecretKey } from '../setup/database.js'
import { createPayer, type Facilitator, NETWORK, startFacilitator } from '../setup/facilitator.js'
import { type GatehouseProcess, startProcess, stopProcess } from '../setup/process.js'
import type { TestApp } from '../setup/start-app.js'
import { waitForLockWaiters, waitUntil } from '../setup/wait-until.js'

let facilitator: Facilitator
let database: Awaited<ReturnType<typeof createTestDatabase>>
let folder: string
let client: pg.Client
let running: GatehouseProcess

beforeAll(async () => {
  facilitator = await startFacilitator()
  database = await createTestDatabase()
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-topup-'))
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  running = await start()
})
afterAll(async () => {
  await stopProcess(running)
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
    SECRET_KEY: testSecretKey,
    BOOTSTRAP_API_KEY: key,
    LOG_LEVEL: 'warn',
  })

/** Creates an account with a payment method through the running process. */
async function createPayingAccount(): Promise<{ owner: ApiClient; accountId: string; A: string; methodId: string }> {
  const { owner, accountId } = await createAccount({ ...running } as unknown as TestApp)
  const A = `/v1/accounts/${accountId}`
  const { id } = expectStatus(await owner.post(`${A}/payment-methods`, { type: 'x402' }), 201).data
  return { owner, accountId, A, methodId: id }
}

/** Returns a client with the same API key that sends requests to the running process. */
function reconnectClient({ authorization }: ApiClient): ApiClient {
  const [id = '', ...rest] = Buffer.from(authorization!.replace('Basic ', ''), 'base64').toString().split(':')
  return createApiClient(running.baseUrl, { id, secret: rest.join(':') })
}

const stateOf = async (accountId: string): Promise<string | undefined> =>
  (await client.query('SELECT state FROM topup_attempts WHERE account_id = $1', [accountId])).rows[0]?.state
const waitForCredit = (accountId: string) =>
  waitUntil('the payment is credited', async () => (await stateOf(accountId)) === 'credited', {
    details: () => running.output(),
  })
/** Ends the settlement leases and makes the queued reconciliation jobs due now. */
const expireSettlement = async () => {
  await client.query('UPDATE topup_attempts SET settlement_lease_expires_at = 0')
  await client.query("UPDATE jobs SET run_at = 0 WHERE task = 'reconcile_topup'")
  await client.query("SELECT pg_notify('gatehouse', 'jobs:reconcile_topup')")
}

test('after a kill before the response of the facilitator, a settled payment is credited once by the next process', async () => {
  const { owner, accountId, A } = await createPayingAccount()
  const payer = createPayer()
  const payment = { 'payment-signature': payer.createPaymentHeader(5_000_000) }
  const { child, exited } = running
  // The facilitator settles the payment, and the process is killed before it receives the response.
  facilitator.queueBehaviors(payer, 'settle', (correctBody) => {
    child.kill('SIGKILL')
    return correctBody
  })
  await expect(owner.post(`${A}/credits/topups`, { amount_μusd: 5_000_000 }, payment)).rejects.toThrow()
  expect(await exited).toBe('SIGKILL')
  expect(facilitator.transfers(payer)).toHaveLength(1)
  expect(await stateOf(accountId)).toBe('settling')

  running = await start()
  await expireSettlement()
  await waitForCredit(accountId)
  expect(facilitator.transfers(payer)).toHaveLength(1)
  const api = reconnectClient(owner)
  const ledger: AnyJson[] = expectStatus(await api.get(`${A}/credits/ledger`), 200).data
  const reference = `${NETWORK}:${facilitator.transfers(payer)[0]!.transaction}`
  expect(ledger.map((entry) => [entry.amount_μusd, entry.balance_μusd, entry.payment_reference])).toEqual([
    [5_000_000, 5_000_000, reference],
  ])
  // Repeating the request returns the existing credit.
  const repeated = expectStatus(await api.post(`${A}/credits/topups`, { amount_μusd: 5_000_000 }, payment), 200)
  expect(repeated.data).toMatchObject({ id: ledger[0].id, payment_reference: reference })
}, 60_000)

test('after a kill between settlement and credit, the next process credits the payment without another settle request', async () => {
  const { owner, accountId, A, methodId } = await createPayingAccount()
  const payer = createPayer()
  const headers = {
    'payment-signature': payer.createPaymentHeader(7),
    'idempotency-key': randomBytes(8).toString('hex'),
  }
  // The credit waits for the row of the payment method, which this transaction locks.
  await client.query('BEGIN')
  await client.query('SELECT id FROM payment_methods WHERE id = $1 FOR UPDATE', [methodId])
  const result = owner.post(`${A}/credits/topups`, { amount_μusd: 7 }, headers).catch(() => 'connection lost')
  const monitor = new pg.Client({ connectionString: database.url })
  await monitor.connect()
  try {
    await waitForLockWaiters(monitor, 1)
  } finally {
    await monitor.end()
  }
  running.child.kill('SIGKILL')
  expect(await running.exited).toBe('SIGKILL')
  expect(await result).toBe('connection lost')
  await client.query('ROLLBACK')
  expect(await stateOf(accountId)).toBe('settled')

  running = await start()
  await expireSettlement()
  await waitForCredit(accountId)
  expect(facilitator.callCount(payer, 'settle')).toBe(1)
  const ledger: AnyJson[] = expectStatus(await reconnectClient(owner).get(`${A}/credits/ledger`), 200).data
  expect(ledger.map((entry) => entry.balance_μusd)).toEqual([7])
}, 60_000)
