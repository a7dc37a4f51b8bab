/** What an operator says of a payment whose outcome stayed unknown (decisions D18): once, whoever else is at it. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs.js'
import { workOff } from '../../src/platform/queue.js'
import { creditFound, rejectUnresolved } from '../../src/resources/payments/concluding.js'
import { tasks } from '../../src/tasks.js'
import { makeAccount, must } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { secretKey } from '../setup/database.js'
import { listenTo } from '../setup/events.js'
import { type Facilitator, NETWORK, newPayer, startFacilitator } from '../setup/facilitator.js'
import { runCli } from '../setup/process.js'
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

const db = () => app.gatehouse.tools.prisma
const context = () => systemContext(app.gatehouse)
const transactionOf = (digit: string) => `0x${digit.repeat(64)}`
const billing = (...words: string[]) =>
  runCli(['billing', ...words], {
    DATABASE_URL: app.databaseUrl,
    SECRET_KEY: secretKey,
    DATA_DIR: app.gatehouse.config.dataDir,
  })

/** A payment of 5 that the facilitator does, or not, and never tells of. */
async function unknownPayment({ isDone = true, resolve = true } = {}) {
  const { owner, accountId } = await makeAccount(app)
  const A = `/v1/accounts/${accountId}`
  const method = must(await owner.post(`${A}/payment-methods`, { type: 'x402' }), 201).data
  const payer = newPayer()
  const payment = payer.pay(5)
  const no = { body: { success: false, errorReason: 'insufficient_funds', transaction: '' } }
  facilitator.tell(payer, 'settle', isDone ? 'lose_answer' : 'hang_up', ...Array(20).fill(no))
  const pay = () => owner.post(`${A}/credits/topups`, { amount_μusd: 5 }, { 'payment-signature': payment })
  expect((await pay()).status).toBe(502)
  const { id } = await db().topupAttempt.findFirstOrThrow({ where: { accountId } })
  if (resolve) {
    // As if the queue had asked for its three hours.
    await db().topupAttempt.update({ where: { id }, data: { state: 'unresolved', reason: 'outcome_unknown' } })
    await db().job.deleteMany({ where: { task: 'reconcile_topup' } })
  }
  const told = await listenTo(app, accountId)
  const ledger = async () => must(await owner.get(`${A}/credits/ledger`), 200).data as Loose[]
  return { id, accountId, owner, A, method, payer, pay, ledger, told }
}

test('billing show lists it, billing credit credits it with its transaction, and saying it again changes nothing', async () => {
  const { id, accountId, payer, pay, ledger, told } = await unknownPayment()
  const shown = JSON.parse((await billing('show', accountId, '--json')).stdout)
  expect(shown.open_payments).toMatchObject([{ id, state: 'unresolved', amount_micro_usd: 5 }])
  const { transaction } = facilitator.transfers(payer)[0]!
  for (const wrong of ['0x12', `eip155:1:${transaction}`]) {
    const { code, output } = await billing('credit', id, '--transaction', wrong)
    expect(code).toBe(1)
    expect(output).toMatch(/^--transaction: must be a transaction of \S+: 0x and 64 hexadecimal digits, .* "\S+:"\.\n$/)
    expect(output).toContain(`after "${NETWORK}:"`)
  }
  // Whoever calls the rule by itself has no such option.
  await expect(creditFound(context(), id, '0x12')).rejects.toThrow(/^transaction: must be/)

  for (const form of [transaction, `${NETWORK}:${transaction.toUpperCase().replace('0X', '0x')}`]) {
    const { code, stdout } = await billing('credit', id, '--transaction', form, '--json')
    expect({ code, answer: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      answer: { id, account_id: accountId, state: 'credited', payment_reference: `${NETWORK}:${transaction}` },
    })
  }
  expect((await ledger()).map(({ type, amount_μusd }) => [type, amount_μusd])).toEqual([['topup', 5]])
  expect((await told()).map(({ type }) => type)).toEqual(['credits.topup.succeeded'])
  expect(must(await pay(), 200).data.payment_reference).toBe(`${NETWORK}:${transaction}`)
  expect(JSON.parse((await billing('show', accountId, '--json')).stdout).open_payments).toEqual([])

  const other = await billing('credit', id, '--transaction', transactionOf('a'))
  expect(other).toMatchObject({ code: 1, output: expect.stringContaining('was credited for') })
  const rejected = await billing('reject', id)
  expect(rejected).toMatchObject({ code: 1, output: expect.stringContaining('was credited for') })
  expect(await ledger()).toHaveLength(1)
})

test('billing reject ends it with an event, and the account may pay again, also with the same payment', async () => {
  const { id, accountId, pay, ledger, told, payer } = await unknownPayment({ isDone: false })
  for (const _ of [1, 2]) {
    const { code, stdout } = await billing('reject', id, '--json')
    expect({ code, answer: JSON.parse(stdout) }).toEqual({
      code: 0,
      answer: { id, account_id: accountId, state: 'refused', reason: 'rejected_by_operator' },
    })
  }
  expect((await told()).map(({ type }) => type)).toEqual(['credits.topup.failed'])
  const late = await billing('credit', id, '--transaction', transactionOf('b'))
  expect(late).toMatchObject({ code: 1, output: expect.stringContaining('was refused') })
  facilitator.tell(payer, 'settle')
  must(await pay(), 200)
  expect(await ledger()).toHaveLength(1)
})

test('an unknown id is one clear sentence', async () => {
  for (const words of [
    ['reject', 'top_none'],
    ['credit', 'top_none', '--transaction', transactionOf('a')],
  ])
    expect(await billing(...words)).toMatchObject({ code: 1, output: 'There is no such payment.\n' })
})

test('D18: found on the chain after its method was removed, it is a conflict and not credited', async () => {
  const { id, owner, A, method, payer, ledger, told } = await unknownPayment()
  must(await owner.delete(`${A}/payment-methods/${method.id}`), 204)
  const { transaction } = facilitator.transfers(payer)[0]!
  const { code, stdout } = await billing('credit', id, '--transaction', transaction, '--json')
  expect({ code, answer: JSON.parse(stdout) }).toMatchObject({
    code: 1,
    answer: { state: 'conflict', reason: 'payment_method_revoked', payment_reference: `${NETWORK}:${transaction}` },
  })
  expect(await ledger()).toEqual([])
  expect((await told()).map(({ type }) => type)).toEqual(['payment_method.deleted', 'credits.topup.failed'])
})

test('one transaction is credited once, also when it is named for two payments at the same moment', async () => {
  const [one, other] = [await unknownPayment(), await unknownPayment()]
  const name = transactionOf('c')
  const states = await Promise.all([one, other].map(({ id }) => creditFound(context(), id, name)))
  expect(states.map(({ state }) => state).sort()).toEqual(['conflict', 'credited'])
  expect([...(await one.ledger()), ...(await other.ledger())]).toHaveLength(1)
})

describe('exactly once', () => {
  test('20 operators, crediting and rejecting at once: one of the two happens', async () => {
    const { id, ledger, told } = await unknownPayment()
    const name = transactionOf('d')
    const words = Array.from({ length: 20 }, (_, at) =>
      at % 2 === 0 ? creditFound(context(), id, name) : rejectUnresolved(context(), id),
    )
    await Promise.allSettled(words)
    const { state } = await db().topupAttempt.findUniqueOrThrow({ where: { id } })
    expect(await ledger()).toHaveLength(state === 'credited' ? 1 : 0)
    expect((await told()).map(({ type }) => type)).toEqual([
      state === 'credited' ? 'credits.topup.succeeded' : 'credits.topup.failed',
    ])
  })

  test('the queue hears of the settlement while operators credit it: one credit, one event', async () => {
    for (let round = 0; round < 10; round++) {
      const { id, ledger, told, payer } = await unknownPayment({ resolve: false })
      facilitator.tell(payer, 'settle')
      app.clock.advance(MINUTE)
      const { transaction } = facilitator.transfers(payer)[0]!
      const credit = () => creditFound(context(), id, transaction).catch(() => undefined)
      await Promise.all([workOff(app.gatehouse, tasks), credit(), credit()])
      await workOff(app.gatehouse, tasks)
      expect((await db().topupAttempt.findUniqueOrThrow({ where: { id } })).state).toBe('credited')
      expect(await ledger()).toHaveLength(1)
      expect((await told()).map(({ type }) => type)).toEqual(['credits.topup.succeeded'])
    }
  })

  test('while the facilitator is still asked it cannot be rejected: an answer may bring the money', async () => {
    const { id, payer, ledger } = await unknownPayment({ resolve: false })
    const { code, output } = await billing('reject', id)
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining('still being asked for') })
    facilitator.tell(payer, 'settle')
    app.clock.advance(HOUR)
    await workOff(app.gatehouse, tasks)
    expect(await ledger()).toHaveLength(1)
  })

  test('a process that died between the word and the credit: the queue credits it', async () => {
    const { id, ledger } = await unknownPayment()
    await creditFound(context(), id, transactionOf('e'))
    // As it stood before the second transaction.
    await db().ledgerEntry.deleteMany({ where: { transactionId: transactionOf('e') } })
    await db().topupAttempt.update({ where: { id }, data: { state: 'settled', entryId: null } })
    expect(await db().job.count({ where: { task: 'reconcile_topup' } })).toBeGreaterThan(0)
    app.clock.advance(MINUTE)
    await workOff(app.gatehouse, tasks)
    expect(await ledger()).toHaveLength(1)
  })
})
