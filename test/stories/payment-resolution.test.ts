/**
 * Manual resolution of payments with an unknown outcome (docs/contract.md#payment-challenge): exactly once, also under
 * concurrent requests.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { runDueJobs } from '../../src/platform/jobs/queue.js'
import { creditFoundPayment, rejectUnresolved } from '../../src/resources/payments/manual-resolution.js'
import { tasks } from '../../src/schedule.js'
import { createAccount, expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { testSecretKey } from '../setup/database.js'
import { createPayer, type Facilitator, NETWORK, startFacilitator } from '../setup/facilitator.js'
import { runCli } from '../setup/process.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const HOUR = 3_600_000
const MINUTE = 60_000
let app: TestApp
let facilitator: Facilitator
beforeAll(async () => {
  facilitator = await startFacilitator()
  app = await startApp({ roles: ['core'], env: facilitator.env })
})
afterAll(async () => {
  await app.close()
  await facilitator.close()
})

const db = () => app.gatehouse.database.prisma
const context = () => systemContext(app.gatehouse)
const transactionOf = (digit: string) => `0x${digit.repeat(64)}`
const billing = (...words: string[]) =>
  runCli(['billing', ...words], {
    DATABASE_URL: app.databaseUrl,
    SECRET_KEY: testSecretKey,
    DATA_DIR: app.gatehouse.config.dataDir,
  })

/**
 * Creates a payment of 5 micro-USD with an unknown outcome, because the response of the facilitator is lost.
 * @param isDone whether the facilitator has settled the payment
 * @param resolve whether the retries of the outbox job are over, so that an operator must resolve the payment
 */
async function createUnknownPayment({ isDone = true, resolve = true } = {}) {
  const { owner, accountId } = await createAccount(app)
  const A = `/v1/accounts/${accountId}`
  const method = expectStatus(await owner.post(`${A}/payment-methods`, { type: 'x402' }), 201).data
  const payer = createPayer()
  const payment = payer.createPaymentHeader(5)
  const no = { body: { success: false, errorReason: 'insufficient_funds', transaction: '' } }
  facilitator.queueBehaviors(payer, 'settle', isDone ? 'lose_answer' : 'hang_up', ...Array(20).fill(no))
  const pay = () => owner.post(`${A}/credits/topups`, { amount_μusd: 5 }, { 'payment-signature': payment })
  expect((await pay()).status).toBe(502)
  const { id } = await db().topupAttempt.findFirstOrThrow({ where: { accountId } })
  if (resolve) {
    // Sets the state that the payment has after the last retry of the outbox job.
    await db().topupAttempt.update({ where: { id }, data: { state: 'unresolved', reason: 'outcome_unknown' } })
    await db().job.deleteMany({ where: { task: 'reconcile_topup' } })
  }
  const recordedEvents = await eventsRecordedFromNow(app, accountId)
  const ledger = async () => expectStatus(await owner.get(`${A}/credits/ledger`), 200).data as AnyJson[]
  return { id, accountId, owner, A, method, payer, pay, ledger, recordedEvents }
}

test('billing show lists the payment, billing credit credits it with its transaction, and repeating the command changes nothing', async () => {
  const { id, accountId, payer, pay, ledger, recordedEvents } = await createUnknownPayment()
  const shown = JSON.parse((await billing('show', accountId, '--json')).stdout)
  expect(shown.open_payments).toMatchObject([{ id, state: 'unresolved', amount_micro_usd: 5 }])
  const { transaction } = facilitator.transfers(payer)[0]!
  for (const wrong of ['0x12', `eip155:1:${transaction}`]) {
    const { code, output } = await billing('credit', id, '--transaction', wrong)
    expect(code).toBe(1)
    expect(output).toMatch(
      /^--transaction: must be a transaction id on \S+ \(0x followed by 64 hexadecimal digits\), .* "\S+:"\.\n$/,
    )
    expect(output).toContain(`with the prefix "${NETWORK}:"`)
  }
  // The function reports the name of its parameter, not the name of the command line option.
  await expect(creditFoundPayment(context(), id, '0x12')).rejects.toThrow(/^transaction: must be/)

  for (const form of [transaction, `${NETWORK}:${transaction.toUpperCase().replace('0X', '0x')}`]) {
    const { code, stdout } = await billing('credit', id, '--transaction', form, '--json')
    expect({ code, output: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      output: { id, account_id: accountId, state: 'credited', payment_reference: `${NETWORK}:${transaction}` },
    })
  }
  expect((await ledger()).map(({ type, amount_μusd }) => [type, amount_μusd])).toEqual([['topup', 5]])
  expect((await recordedEvents()).map(({ type }) => type)).toEqual(['credits.topup.succeeded'])
  expect(expectStatus(await pay(), 200).data.payment_reference).toBe(`${NETWORK}:${transaction}`)
  expect(JSON.parse((await billing('show', accountId, '--json')).stdout).open_payments).toEqual([])

  const other = await billing('credit', id, '--transaction', transactionOf('a'))
  expect(other).toMatchObject({ code: 1, output: expect.stringContaining('was credited with') })
  const rejected = await billing('reject', id)
  expect(rejected).toMatchObject({ code: 1, output: expect.stringContaining('was credited with') })
  expect(await ledger()).toHaveLength(1)
})

test('billing reject ends the payment with an event, and the account can pay again, also with the same payment', async () => {
  const { id, accountId, pay, ledger, recordedEvents, payer } = await createUnknownPayment({ isDone: false })
  for (const _ of [1, 2]) {
    const { code, stdout } = await billing('reject', id, '--json')
    expect({ code, output: JSON.parse(stdout) }).toEqual({
      code: 0,
      output: { id, account_id: accountId, state: 'refused', reason: 'rejected_by_operator' },
    })
  }
  expect((await recordedEvents()).map(({ type }) => type)).toEqual(['credits.topup.failed'])
  const late = await billing('credit', id, '--transaction', transactionOf('b'))
  expect(late).toMatchObject({ code: 1, output: expect.stringContaining('was refused') })
  facilitator.queueBehaviors(payer, 'settle')
  expectStatus(await pay(), 200)
  expect(await ledger()).toHaveLength(1)
})

test('an unknown id is an error with one sentence', async () => {
  for (const words of [
    ['reject', 'top_none'],
    ['credit', 'top_none', '--transaction', transactionOf('a')],
  ])
    expect(await billing(...words)).toMatchObject({ code: 1, output: 'There is no such payment.\n' })
})

test('a payment found on chain after its method was removed is a conflict and not credited', async () => {
  const { id, owner, A, method, payer, ledger, recordedEvents } = await createUnknownPayment()
  expectStatus(await owner.delete(`${A}/payment-methods/${method.id}`), 204)
  const { transaction } = facilitator.transfers(payer)[0]!
  const { code, stdout } = await billing('credit', id, '--transaction', transaction, '--json')
  expect({ code, output: JSON.parse(stdout) }).toMatchObject({
    code: 1,
    output: { state: 'conflict', reason: 'payment_method_revoked', payment_reference: `${NETWORK}:${transaction}` },
  })
  expect(await ledger()).toEqual([])
  expect((await recordedEvents()).map(({ type }) => type)).toEqual(['payment_method.deleted', 'credits.topup.failed'])
})

test('one transaction is credited once, also when two payments name it in parallel', async () => {
  const [one, other] = [await createUnknownPayment(), await createUnknownPayment()]
  const name = transactionOf('c')
  const states = await Promise.all([one, other].map(({ id }) => creditFoundPayment(context(), id, name)))
  expect(states.map(({ state }) => state).sort()).toEqual(['conflict', 'credited'])
  expect([...(await one.ledger()), ...(await other.ledger())]).toHaveLength(1)
})

describe('exactly once', () => {
  test('20 operators credit and reject in parallel: exactly one action takes effect', async () => {
    const { id, ledger, recordedEvents } = await createUnknownPayment()
    const name = transactionOf('d')
    const words = Array.from({ length: 20 }, (_, at) =>
      at % 2 === 0 ? creditFoundPayment(context(), id, name) : rejectUnresolved(context(), id),
    )
    await Promise.allSettled(words)
    const { state } = await db().topupAttempt.findUniqueOrThrow({ where: { id } })
    expect(await ledger()).toHaveLength(state === 'credited' ? 1 : 0)
    expect((await recordedEvents()).map(({ type }) => type)).toEqual([
      state === 'credited' ? 'credits.topup.succeeded' : 'credits.topup.failed',
    ])
  })

  test('the outbox job finds the settlement while operators credit it: one credit, one event', async () => {
    for (let round = 0; round < 10; round++) {
      const { id, ledger, recordedEvents, payer } = await createUnknownPayment({ resolve: false })
      facilitator.queueBehaviors(payer, 'settle')
      app.clock.advance(MINUTE)
      const { transaction } = facilitator.transfers(payer)[0]!
      const credit = () => creditFoundPayment(context(), id, transaction).catch(() => undefined)
      await Promise.all([runDueJobs(app.gatehouse, tasks), credit(), credit()])
      await runDueJobs(app.gatehouse, tasks)
      expect((await db().topupAttempt.findUniqueOrThrow({ where: { id } })).state).toBe('credited')
      expect(await ledger()).toHaveLength(1)
      expect((await recordedEvents()).map(({ type }) => type)).toEqual(['credits.topup.succeeded'])
    }
  })

  test('while the outbox job still queries the facilitator, the payment cannot be rejected, because it may still succeed', async () => {
    const { id, payer, ledger } = await createUnknownPayment({ resolve: false })
    const { code, output } = await billing('reject', id)
    expect({ code, output }).toMatchObject({
      code: 1,
      output: expect.stringContaining('still being checked with the facilitator'),
    })
    facilitator.queueBehaviors(payer, 'settle')
    app.clock.advance(HOUR)
    await runDueJobs(app.gatehouse, tasks)
    expect(await ledger()).toHaveLength(1)
  })

  test('if the process dies between the decision and the credit, the outbox job credits the payment', async () => {
    const { id, ledger } = await createUnknownPayment()
    await creditFoundPayment(context(), id, transactionOf('e'))
    // Restores the state between the decision and the credit, which are two transactions.
    await db().ledgerEntry.deleteMany({ where: { transactionId: transactionOf('e') } })
    await db().topupAttempt.update({ where: { id }, data: { state: 'settled', entryId: null } })
    expect(await db().job.count({ where: { task: 'reconcile_topup' } })).toBeGreaterThan(0)
    app.clock.advance(MINUTE)
    await runDueJobs(app.gatehouse, tasks)
    expect(await ledger()).toHaveLength(1)
  })
})
