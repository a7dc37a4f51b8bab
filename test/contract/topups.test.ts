/**
 * Top-ups by x402 v2 (docs/contract.md#payment-challenge, docs/contract.md#account-and-payment-endpoints,
 * docs/contract.md#rate-limits) with a facilitator that fails, stalls, gives false results and responds late.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { runDueJobs } from '../../src/platform/jobs/queue.js'
import { tasks } from '../../src/schedule.js'
import { createAccount, createRestrictedKey, expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiClient, type ApiResponse, createApiClient } from '../setup/api.js'
import {
  ASSET,
  createPayer,
  createPaymentRequirements,
  decode,
  encode,
  type Facilitator,
  NETWORK,
  PAY_TO,
  type Payer,
  startFacilitator,
} from '../setup/facilitator.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

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

/** An account with a payment method, and a wallet that can pay. */
interface PaymentAccount {
  accountId: string
  owner: ApiClient
  A: string
  methodId: string
  payer: Payer
  /** Requests a top-up of an amount in micro-USD, with a PAYMENT-SIGNATURE header if `payment` is given. */
  pay(amount: unknown, payment?: string, more?: Record<string, string>): Promise<ApiResponse<AnyJson>>
  ledger(): Promise<AnyJson[]>
  balance(): Promise<number>
  recordedEvents: Awaited<ReturnType<typeof eventsRecordedFromNow>>
}

async function open(method: object = {}, at = app): Promise<PaymentAccount> {
  const { owner, accountId } = await createAccount(at)
  const A = `/v1/accounts/${accountId}`
  const { id } = expectStatus(await owner.post(`${A}/payment-methods`, { type: 'x402', ...method }), 201).data
  const ledger = async () => expectStatus(await owner.get(`${A}/credits/ledger`), 200).data
  return {
    accountId,
    owner,
    A,
    methodId: id,
    payer: createPayer(),
    pay: (amount, payment, more = {}) =>
      owner.post(
        `${A}/credits/topups`,
        { amount_μusd: amount },
        { ...(payment && { 'payment-signature': payment }), ...more },
      ),
    ledger,
    balance: async () => (await ledger())[0]?.balance_μusd ?? 0,
    recordedEvents: await eventsRecordedFromNow(at, accountId),
  }
}
const attemptOf = ({ accountId }: PaymentAccount) =>
  app.gatehouse.database.prisma.topupAttempt.findFirstOrThrow({ where: { accountId }, orderBy: { createdAt: 'desc' } })

const tooClear = /ECONN|127\.0\.0\.1|Error:|\bat \//

test('a top-up without a payment is 402 with PAYMENT-REQUIRED, and the same object in the body', async () => {
  const account = await open()
  const response = await account.pay(5_000_000)
  expect(response.status).toBe(402)
  const challenge = decode(response.headers.get('payment-required'))
  expect(challenge).toEqual({
    x402Version: 2,
    error: 'PAYMENT-SIGNATURE header is required',
    resource: {
      url: `${app.baseUrl}${account.A}/credits/topups`,
      description: expect.any(String),
      mimeType: 'application/json',
    },
    accepts: [
      {
        scheme: 'exact',
        network: NETWORK,
        amount: '5000000',
        asset: ASSET,
        payTo: PAY_TO,
        maxTimeoutSeconds: 60,
        extra: { name: 'USDC', version: '2' },
      },
    ],
    extensions: { 'payment-identifier': { info: { required: false }, schema: expect.any(Object) } },
  })
  expect(response.body).toEqual({
    error: 'payment_required',
    error_description: expect.any(String),
    request_id: expect.stringMatching(/^req_/),
    payment_required: challenge,
  })
  expect(response.headers.get('access-control-expose-headers')).toBe('PAYMENT-REQUIRED, PAYMENT-RESPONSE')
  expect(response.headers.get('payment-response')).toBeNull()
  expect(response.headers.get('etag')).toBeNull()
})

test('a top-up that fulfills the challenge is settled, credited, and recorded in ledger and event', async () => {
  const account = await open()
  const requirements = (await account.pay(5_000_000)).body.payment_required.accepts[0]
  const response = await account.pay(5_000_000, account.payer.createPaymentHeader(0, { requirements }))
  const { data } = expectStatus(response, 200)
  const [transfer] = facilitator.transfers(account.payer)
  const reference = `${NETWORK}:${transfer!.transaction}`
  expect(data).toEqual({
    id: expect.stringMatching(/^led_/),
    amount_μusd: 5_000_000,
    balance_μusd: 5_000_000,
    payment_reference: reference,
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
  })
  expect(decode(response.headers.get('payment-response'))).toEqual({
    success: true,
    transaction: transfer!.transaction,
    network: NETWORK,
    payer: account.payer.address,
  })
  expect(response.headers.get('etag')).toBe(`"${data.updated_at}"`)
  expect(response.headers.get('access-control-expose-headers')).toBe('PAYMENT-REQUIRED, PAYMENT-RESPONSE')
  const second = expectStatus(await account.pay(7, account.payer.createPaymentHeader(7)), 200).data
  expect(second).toMatchObject({ amount_μusd: 7, balance_μusd: 5_000_007 })
  expect(await account.ledger()).toEqual([
    expect.objectContaining({ id: second.id, amount_μusd: 7, balance_μusd: 5_000_007 }),
    { ...data, type: 'topup', description: null },
  ])
  const events = await account.recordedEvents('credits.')
  expect(events.map(({ type, target }) => [type, target.id])).toEqual([
    ['credits.topup.succeeded', data.id],
    ['credits.topup.succeeded', second.id],
  ])
  expect(events[0]!.data).toEqual({
    amount_μusd: 5_000_000,
    balance_μusd: 5_000_000,
    payer: account.payer.address,
    payment_reference: reference,
  })
})

test('amounts 1 and 10^12 are accepted; 0, negative, fractional, textual, null and larger ones are 400', async () => {
  const account = await open()
  for (const amount of [1, 1_000_000_000_000])
    expectStatus(await account.pay(amount, account.payer.createPaymentHeader(amount)), 200)
  expect(await account.balance()).toBe(1_000_000_000_001)
  for (const amount of [0, -1, 1.5, '5', null, [5], true, 1_000_000_000_001, 2 ** 53, undefined]) {
    const { status, body } = await account.pay(amount, account.payer.createPaymentHeader(5))
    expect({ amount, status, error: body.error }).toEqual({ amount, status: 400, error: 'invalid_request' })
    if (body.details) expect(body.details[0].field).toBe('amount_μusd')
  }
  const micro = await account.owner.post(`${account.A}/credits/topups`, { 'amount_\u00b5usd': 9 })
  expect([micro.status, micro.body.payment_required.accepts[0].amount]).toEqual([402, '9'])
})

test('a malformed PAYMENT-SIGNATURE is 400', async () => {
  const account = await open()
  const good = decode(account.payer.createPaymentHeader(5))
  const bad: string[] = [
    '%%%',
    'bm8ganNvbg==',
    encode([]),
    encode('x'),
    encode(null),
    encode({ ...good, x402Version: 1 }),
    encode({ ...good, accepted: undefined }),
    encode({ ...good, payload: 'x' }),
    encode({ ...good, extensions: [] }),
    Buffer.from([0xff, 0xfe, 0x00]).toString('base64'),
    Buffer.from('{"__proto__": {"x": 1}}').toString('base64'),
    Buffer.from(JSON.stringify({ ...good, payload: { n: '\0' } })).toString('base64'),
    ...['short', 'x'.repeat(129), 'sixteen.chars.or.', 17].map((identifier) =>
      encode({ ...good, extensions: { 'payment-identifier': { info: { required: false, id: identifier } } } }),
    ),
  ]
  for (const payment of bad) {
    const { status, body } = await account.pay(5, payment)
    expect({ payment: payment.slice(0, 40), status, error: body.error }).toEqual({
      payment: payment.slice(0, 40),
      status: 400,
      error: 'invalid_request',
    })
    expect(body.details[0].field).toMatch(/^PAYMENT-SIGNATURE(\.(x402Version|accepted|payload|extensions)\b.*)?$/)
  }
  expect(facilitator.callCount(account.payer, 'verify')).toBe(0)
})

test('accepted must equal the offer: otherwise a new challenge is returned, and the facilitator is not called', async () => {
  const account = await open()
  const changes: ((payment: AnyJson) => void)[] = [
    (payment) => (payment.accepted.amount = '4'),
    (payment) => (payment.accepted.payTo = account.payer.address),
    (payment) => (payment.accepted.asset = PAY_TO),
    (payment) => (payment.accepted.network = 'eip155:1'),
    (payment) => (payment.accepted.scheme = 'upto'),
    (payment) => (payment.accepted.extra = {}),
    (payment) => (payment.accepted = {}),
    // These changes make the signed values differ from those in `accepted`.
    (payment) => (payment.payload.authorization.value = '4'),
    (payment) => (payment.payload.authorization.to = account.payer.address),
  ]
  for (const change of changes) {
    const response = await account.pay(5, account.payer.createPaymentHeader(5, { modify: change }))
    expect({ change: String(change), status: response.status }).toEqual({ change: String(change), status: 402 })
    expect(decode(response.headers.get('payment-required')).accepts).toEqual([createPaymentRequirements(5)])
  }
  expect(facilitator.callCount(account.payer, 'verify')).toBe(0)
  // Addresses of eip155 networks are case-insensitive.
  const lower = (payment: AnyJson) => {
    payment.accepted = { ...payment.accepted, payTo: PAY_TO.toLowerCase(), asset: ASSET.toLowerCase() }
  }
  expectStatus(await account.pay(5, account.payer.createPaymentHeader(5, { modify: lower })), 200)
})

test('a payment that the facilitator finds invalid is 402 and not settled', async () => {
  const account = await open()
  const forged = account.payer.createPaymentHeader(5, {
    modify: (payment) => (payment.payload.authorization.from = createPayer().address),
  })
  const broken = account.payer.createPaymentHeader(5, {
    modify: (payment) => (payment.payload.authorization.nonce = `0x${'1'.repeat(64)}`),
  })
  for (const payment of [forged, broken]) {
    const response = await account.pay(5, payment)
    expect(response.status).toBe(402)
    expect(response.body.payment_required.error).toContain('invalid_exact_evm_payload_signature')
  }
  expect(await account.ledger()).toEqual([])
  expect((await account.recordedEvents('credits.')).map(({ type, data }) => [type, data.reason])).toEqual([
    ['credits.topup.failed', 'invalid_exact_evm_payload_signature'],
    ['credits.topup.failed', 'invalid_exact_evm_payload_signature'],
  ])
})

test('a payer outside allowed_payer_wallets is 402; a listed one can pay, in any case of its address', async () => {
  const payer = createPayer()
  const account = await open({ allowed_payer_wallets: [`0x${payer.address.slice(2).toUpperCase()}`] })
  const unlisted = await account.pay(5, account.payer.createPaymentHeader(5))
  expect({ status: unlisted.status, error: unlisted.body.error }).toEqual({ status: 402, error: 'payment_required' })
  expect(facilitator.callCount(account.payer, 'settle')).toBe(0)
  expectStatus(await account.pay(5, payer.createPaymentHeader(5)), 200)
  expectStatus(
    await account.owner.patch(`${account.A}/payment-methods/${account.methodId}`, { allowed_payer_wallets: [] }),
    200,
  )
  expect((await account.pay(5, payer.createPaymentHeader(5))).status).toBe(402)
})

test('a payment is refused if the facilitator returns another payer than the signer', async () => {
  const friend = createPayer()
  const account = await open({ allowed_payer_wallets: [friend.address] })
  facilitator.queueBehaviors(account.payer, 'verify', { body: { isValid: true, payer: friend.address } })
  expect((await account.pay(5, account.payer.createPaymentHeader(5))).status).toBe(502)
  expect(facilitator.callCount(account.payer, 'settle')).toBe(0)
})

test('a failed settlement is 402 with PAYMENT-RESPONSE; the same payment can be retried', async () => {
  const account = await open()
  const payment = account.payer.createPaymentHeader(5)
  const no = {
    success: false,
    errorReason: 'insufficient_funds',
    transaction: '',
    network: NETWORK,
    payer: account.payer.address,
  }
  facilitator.queueBehaviors(
    account.payer,
    'settle',
    { body: no },
    { status: 400, body: { ...no, errorReason: '<b>secret</b>' } },
  )
  for (const reason of ['insufficient_funds', 'settlement_failed']) {
    const response = await account.pay(5, payment)
    expect(response.status).toBe(402)
    expect(decode(response.headers.get('payment-response'))).toEqual({
      success: false,
      errorReason: reason,
      transaction: '',
      network: NETWORK,
    })
    expect(decode(response.headers.get('payment-required'))).toEqual(response.body.payment_required)
  }
  expect(await account.ledger()).toEqual([])
  expectStatus(await account.pay(5, payment), 200)
  expect((await account.recordedEvents('credits.')).map(({ type }) => type.split('.').at(-1))).toEqual([
    'failed',
    'failed',
    'succeeded',
  ])
})

describe('an unavailable facilitator', () => {
  test('a verification without a clear result is 502: nothing was paid', async () => {
    const moods = [
      'hang_up',
      { status: 500, body: { isValid: true } },
      { status: 503, body: 'busy' },
      { body: 'garbage' },
      { body: '[]' },
      { body: { isValid: 'yes' } },
      { status: 401, body: { error: 'no key' } },
      { body: `{"isValid": true, "pad": "${'x'.repeat(100_000)}"}` },
      { body: `{"isValid": true, "pad": "${'x'.repeat(10_000_000)}"}` },
      { status: 307, body: { isValid: true }, headers: { location: '/settle' } },
    ] as const
    const account = await open()
    facilitator.queueBehaviors(account.payer, 'verify', ...moods)
    for (const mood of moods) {
      const { status, body, text } = await account.pay(5, account.payer.createPaymentHeader(5))
      const about = JSON.stringify(mood).slice(0, 80)
      expect({ about, status, error: body.error }).toEqual({ about, status: 502, error: 'bad_gateway' })
      expect(text).not.toMatch(tooClear)
    }
    expect(facilitator.transfers(account.payer)).toEqual([])
    expectStatus(await account.pay(5, account.payer.createPaymentHeader(5)), 200)
  })

  const lies = (transaction: unknown, more: object = {}) => ({
    body: { success: true, transaction, network: NETWORK, ...more },
  })
  const moods = [
    ['closes the connection', 'hang_up'],
    ['answers 500', { status: 500, body: {} }],
    ['returns an invalid body', { body: '<html>' }],
    ['reports success without a transaction', lies('')],
    ['reports success with a truncated transaction', lies('0x12')],
    ['reports success for another network', lies(`0x${'a'.repeat(64)}`, { network: 'eip155:1' })],
    ['reports success for another amount', lies(`0x${'b'.repeat(64)}`, { amount: '4' })],
    ['reports success for another payer', lies(`0x${'c'.repeat(64)}`, { payer: PAY_TO })],
    ['reports success in ten megabytes', lies(`0x${'d'.repeat(64)}`, { pad: 'x'.repeat(10_000_000) })],
    ['redirects', { status: 308, body: {}, headers: { location: '/settle' } }],
    ['settles, and the response is lost', 'lose_answer'],
  ] as const
  test.each(moods)('a settlement with an unknown outcome is 502 and reconciled: it %s', async (_, mood) => {
    const account = await open()
    const payment = account.payer.createPaymentHeader(5)
    facilitator.queueBehaviors(account.payer, 'settle', mood)
    const response = await account.pay(5, payment)
    expect({ status: response.status, error: response.body.error }).toEqual({ status: 502, error: 'bad_gateway' })
    expect(response.body.error_description).toContain('Do not sign another payment')
    // A repeated request is 409 with Retry-After and causes no second settlement.
    const again = await account.pay(5, payment)
    expect({ status: again.status, retry: again.headers.get('retry-after') }).toEqual({ status: 409, retry: '60' })
    expect(facilitator.callCount(account.payer, 'settle')).toBe(1)
    app.clock.advance(MINUTE)
    await runDueJobs(app.gatehouse, tasks)
    expect(facilitator.transfers(account.payer)).toHaveLength(1)
    expect((await account.ledger()).map((entry) => entry.amount_μusd)).toEqual([5])
    // After the reconciliation, the same request returns the result.
    const late = expectStatus(await account.pay(5, payment), 200)
    expect(late.data.payment_reference).toBe(`${NETWORK}:${facilitator.transfers(account.payer)[0]!.transaction}`)
    await runDueJobs(app.gatehouse, tasks)
    expect(await account.balance()).toBe(5)
    expect((await attemptOf(account)).request).toBeNull()
  })

  test('a failure after an unknown outcome is not conclusive: it is queried again, and finally left to an operator', async () => {
    const account = await open()
    const payment = account.payer.createPaymentHeader(5)
    const no = { body: { success: false, errorReason: 'insufficient_funds', transaction: '' } }
    facilitator.queueBehaviors(account.payer, 'settle', 'hang_up', ...Array(20).fill(no))
    expect((await account.pay(5, payment)).status).toBe(502)
    for (let hour = 0; hour < 20; hour++) {
      app.clock.advance(HOUR)
      await runDueJobs(app.gatehouse, tasks)
    }
    expect((await attemptOf(account)).state).toBe('unresolved')
    expect(facilitator.callCount(account.payer, 'settle')).toBe(13)
    expect((await account.recordedEvents('credits.')).map(({ type, data }) => [type, data.reason])).toEqual([
      ['credits.topup.failed', 'outcome_unknown'],
    ])
    const response = await account.pay(5, payment)
    expect({ status: response.status, retryable: response.body.retryable }).toEqual({ status: 409, retryable: false })
    expect(await app.gatehouse.database.prisma.job.count()).toBe(0)
  }, 60_000)

  test('a failed transaction can still succeed on chain: it is 402 and reconciled', async () => {
    const account = await open()
    const payment = account.payer.createPaymentHeader(5)
    facilitator.queueBehaviors(account.payer, 'settle', (truth) => ({
      ...truth,
      success: false,
      errorReason: 'confirmation_timeout',
    }))
    const { status, body } = await account.pay(5, payment)
    expect(status).toBe(402)
    expect(body.error_description).toMatch(/can still succeed.*Do not sign another payment/)
    app.clock.advance(MINUTE)
    await runDueJobs(app.gatehouse, tasks)
    expect(await account.balance()).toBe(5)
    expect(facilitator.transfers(account.payer)).toHaveLength(1)
  })

  test('a payment is not settled if its method was removed in the meantime', async () => {
    const account = await open()
    facilitator.queueBehaviors(account.payer, 'settle', 'hang_up')
    expect((await account.pay(5, account.payer.createPaymentHeader(5))).status).toBe(502)
    expectStatus(await account.owner.delete(`${account.A}/payment-methods/${account.methodId}`), 204)
    app.clock.advance(MINUTE)
    await runDueJobs(app.gatehouse, tasks)
    expect(facilitator.transfers(account.payer)).toEqual([])
    expect((await attemptOf(account)).state).toBe('unresolved')
  })
})

test('a payment to the account that was settled elsewhere is credited when the facilitator returns its transaction', async () => {
  const account = await open()
  const payment = account.payer.createPaymentHeader(5)
  const transaction = `0x${randomBytes(32).toString('hex')}`
  facilitator.queueBehaviors(account.payer, 'settle', {
    body: { success: false, errorReason: 'payment_already_settled', transaction, network: NETWORK },
  })
  expect(expectStatus(await account.pay(5, payment), 200).data.payment_reference).toBe(`${NETWORK}:${transaction}`)
})

test('a transaction is credited once, whatever the facilitator returns: the second is 409 with payment_reference', async () => {
  const [one, two] = [await open(), await open()]
  const { payment_reference } = expectStatus(await one.pay(5, one.payer.createPaymentHeader(5)), 200).data
  const { transaction } = facilitator.transfers(one.payer)[0]!
  // The facilitator returns the transaction in its own spelling and in upper case.
  for (const reported of [transaction, `0x${transaction.slice(2).toUpperCase()}`]) {
    facilitator.queueBehaviors(two.payer, 'settle', {
      body: { success: true, transaction: reported, network: NETWORK },
    })
    const response = await two.pay(5, two.payer.createPaymentHeader(5))
    expect({ status: response.status, body: response.body }).toEqual({
      status: 409,
      body: expect.objectContaining({ error: 'conflict', payment_reference, retryable: false }),
    })
  }
  expect([await one.balance(), await two.balance()]).toEqual([5, 0])
})

test('of parallel payments for which the facilitator returns the same transaction, one is credited', async () => {
  const tills = await Promise.all(Array.from({ length: 6 }, () => open()))
  const transaction = `0x${randomBytes(32).toString('hex')}`
  for (const { payer } of tills)
    facilitator.queueBehaviors(payer, 'settle', { body: { success: true, transaction, network: NETWORK } })
  const responses = await Promise.all(tills.map((account) => account.pay(5, account.payer.createPaymentHeader(5))))
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409])
})

test('100 parallel top-ups with the same payment: exactly one credit; the others get the same response or 409', async () => {
  const account = await open()
  const second = await app.startSecondApp()
  const elsewhere = { ...account.owner, ...apiOf(second, account.owner) }
  const payment = account.payer.createPaymentHeader(5)
  const responses = await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      (n % 2 ? account.owner : elsewhere).post(
        `${account.A}/credits/topups`,
        { amount_μusd: 5 },
        { 'payment-signature': payment },
      ),
    ),
  )
  const paid = responses.filter(({ status }) => status === 200)
  expect(paid.length).toBeGreaterThan(0)
  expect(new Set(paid.map(({ body }) => body.data.id)).size).toBe(1)
  // A payment that is verified after the settlement is 402, because its nonce was used.
  for (const { status } of responses) expect([200, 402, 409]).toContain(status)
  expect(facilitator.transfers(account.payer)).toHaveLength(1)
  expect(facilitator.callCount(account.payer, 'settle')).toBe(1)
  expect((await account.ledger()).map((entry) => entry.balance_μusd)).toEqual([5])
  expect(expectStatus(await account.pay(5, payment), 200).data.id).toBe(paid[0]!.body.data.id)
})

function apiOf(at: TestApp, { authorization }: ApiClient): ApiClient {
  const [id = '', ...rest] = Buffer.from(authorization!.replace('Basic ', ''), 'base64').toString().split(':')
  return createApiClient(at.baseUrl, { id, secret: rest.join(':') })
}

test('20 parallel payments of one account are all credited, and the ledger adds up', async () => {
  const account = await open()
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, n) => account.pay(n + 1, createPayer().createPaymentHeader(n + 1))),
  )
  expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
  const entries = (await account.ledger()).reverse()
  let sum = 0
  for (const { amount_μusd, balance_μusd } of entries) {
    sum += amount_μusd
    expect(balance_μusd).toBe(sum)
  }
  expect(sum).toBe(210)
})

test('a payment is bound to the account and amount that it was created for', async () => {
  const [mine, theirs] = [await open(), await open()]
  const payment = mine.payer.createPaymentHeader(5)
  expectStatus(await mine.pay(5, payment), 200)
  expect((await theirs.pay(5, payment)).status).toBe(409)
  expect(await theirs.balance()).toBe(0)
  // A payment with the equivalent ECDSA signature (with n - s for s) is the same payment.
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const flipped = mine.payer.createPaymentHeader(5, { nonce: decode(payment).payload.authorization.nonce })
  const other = decode(flipped)
  const { signature } = other.payload
  const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
  other.payload.signature = `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`
  const response = await mine.pay(5, encode(other))
  expect([200, 409]).toContain(response.status)
  expect(await mine.balance()).toBe(5)
})

describe('the method changes between settlement and credit', () => {
  /** Makes the facilitator run a function during the next settlement. The function gets the path of the payment method. */
  const during = (account: PaymentAccount, work: (path: string) => Promise<unknown>) =>
    facilitator.queueBehaviors(account.payer, 'settle', async (truth) => {
      await work(`${account.A}/payment-methods/${account.methodId}`)
      return truth
    })

  test.each([
    ['revoked', (account: PaymentAccount, path: string) => account.owner.delete(path)],
    [
      'allowed_payer_wallets restricted',
      (account: PaymentAccount, path: string) => account.owner.patch(path, { allowed_payer_wallets: [PAY_TO] }),
    ],
    [
      'disabled for more than 15 seconds',
      async (account: PaymentAccount, path: string) => {
        expectStatus(await account.owner.patch(path, { enabled: false }), 200)
        app.clock.advance(15_001)
      },
    ],
  ])('%s: 409 with payment_reference, not retryable', async (_, change) => {
    const account = await open()
    during(account, (path) => change(account, path))
    const payment = account.payer.createPaymentHeader(5)
    const response = await account.pay(5, payment)
    const reference = `${NETWORK}:${facilitator.transfers(account.payer)[0]!.transaction}`
    expect({ status: response.status, body: response.body }).toEqual({
      status: 409,
      body: {
        error: 'conflict',
        error_description: expect.any(String),
        request_id: expect.any(String),
        payment_reference: reference,
        retryable: false,
      },
    })
    expect(await account.ledger()).toEqual([])
    const [event] = await account.recordedEvents('credits.')
    expect([event!.type, event!.data.payment_reference]).toEqual(['credits.topup.failed', reference])
    app.clock.advance(HOUR)
    await runDueJobs(app.gatehouse, tasks)
    expect(await account.ledger()).toEqual([])
  })

  test('disabled for at most 15 seconds: the settlement in progress is completed, a new one is 400', async () => {
    const account = await open()
    during(account, async (path) => {
      expectStatus(await account.owner.patch(path, { enabled: false }), 200)
      app.clock.advance(13_000)
    })
    expectStatus(await account.pay(5, account.payer.createPaymentHeader(5)), 200)
    const late = await account.pay(5, account.payer.createPaymentHeader(5))
    expect({ status: late.status, error: late.body.error }).toEqual({ status: 400, error: 'invalid_request' })
  })
})

describe('payment-identifier and Idempotency-Key', () => {
  const identifier = () => `pay_${randomBytes(16).toString('hex')}`

  test('the same payment-identifier with the same payment returns the same response, with another payment 409', async () => {
    const account = await open()
    const id = identifier()
    const payment = account.payer.createPaymentHeader(5, { identifier: id })
    const first = expectStatus(await account.pay(5, payment), 200)
    expect(expectStatus(await account.pay(5, payment), 200)).toEqual(first)
    const other = await account.pay(5, account.payer.createPaymentHeader(5, { identifier: id }))
    expect({ status: other.status, error: other.body.error }).toEqual({ status: 409, error: 'conflict' })
    expect(facilitator.transfers(account.payer)).toHaveLength(1)
    // Another account can use the same identifier, and the same account can use it again after 24 hours.
    const another = await open()
    expectStatus(await another.pay(5, another.payer.createPaymentHeader(5, { identifier: id })), 200)
    app.clock.advance(24 * HOUR + 1)
    expectStatus(await account.pay(5, account.payer.createPaymentHeader(5, { identifier: id })), 200)
  })

  test('10 parallel payments with one payment-identifier: one is settled', async () => {
    const account = await open()
    const id = identifier()
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => account.pay(5, account.payer.createPaymentHeader(5, { identifier: id }))),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
    expect(facilitator.transfers(account.payer)).toHaveLength(1)
  })

  test('402 releases the Idempotency-Key, so the paid retry can use it and is replayed afterwards', async () => {
    const account = await open()
    const headers = { 'idempotency-key': identifier() }
    expect((await account.pay(5, undefined, headers)).status).toBe(402)
    const first = await account.pay(5, account.payer.createPaymentHeader(5), headers)
    expectStatus(first, 200)
    const again = await account.pay(5, undefined, headers)
    expect({ status: again.status, text: again.text }).toEqual({ status: 200, text: first.text })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await account.pay(6, undefined, headers)).status).toBe(422)
    expect(await account.balance()).toBe(5)
  })
})

test('GraphQL: the payment is an argument, and the error contains the challenge', async () => {
  const account = await open()
  const text = `mutation ($a: ID!, $p: String, $k: String) {
    createTopup(accountId: $a, input: {amountMicroUsd: 1000000000000}, paymentSignature: $p, idempotencyKey: $k) {
      id amountMicroUsd balanceMicroUsd paymentReference settlement
    }
  }`
  const a = account.accountId
  const response = await account.owner.graphql(text, { a })
  const { extensions } = response.body.errors[0]
  expect(extensions).toMatchObject({ code: 'PAYMENT_REQUIRED', status: 402 })
  const [requirements] = extensions.payment_required.accepts
  const variables = { a, p: account.payer.createPaymentHeader(0, { requirements }), k: 'once' }
  const paid = (await account.owner.graphql(text, variables)).body
  expect(paid.data.createTopup).toMatchObject({
    amountMicroUsd: 1_000_000_000_000,
    settlement: { success: true, network: NETWORK },
  })
  const again = await account.owner.graphql(text, variables)
  expect(again.body).toEqual(paid)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  const list = '{ ledgerEntries(accountId: "ACCOUNT") { data { type amountMicroUsd paymentReference } } }'
  expect((await account.owner.graphql(list.replace('ACCOUNT', a))).body.data.ledgerEntries.data).toEqual([
    { type: 'topup', amountMicroUsd: 1_000_000_000_000, paymentReference: paid.data.createTopup.paymentReference },
  ])
})

test('a top-up requires the separate scope credits:manage', async () => {
  const account = await open()
  const as = (scopes: string[]) => createRestrictedKey({ ...account, I: '', issuerId: '' } as AnyJson, { scopes })
  const path = `${account.A}/credits/topups`
  const payment = { 'payment-signature': account.payer.createPaymentHeader(5) }
  const weak = await as(['credits:read', 'credits:write', 'payment_methods:manage'])
  expect((await weak.post(path, { amount_μusd: 5 }, payment)).status).toBe(403)
  expectStatus(await (await as(['credits:manage'])).post(path, { amount_μusd: 5 }, payment), 200)
})

test('without an active method, and without configured payments, it is 400', async () => {
  const account = await open()
  expectStatus(await account.owner.delete(`${account.A}/payment-methods/${account.methodId}`), 204)
  expect((await account.pay(5)).status).toBe(400)
  const plain = await startApp({ databaseUrl: app.databaseUrl, roles: ['core'] })
  try {
    const other = await open({}, { ...plain, operator: apiOf(plain, app.operator) })
    expect((await other.pay(5, other.payer.createPaymentHeader(5))).status).toBe(400)
  } finally {
    await plain.close()
  }
})

test('ten top-ups a minute per account, then 429 with Retry-After', async () => {
  const limited = await startApp({
    databaseUrl: app.databaseUrl,
    roles: ['core'],
    env: { ...facilitator.env, RATE_LIMITS: 'default' },
  })
  try {
    const account = await open({}, { ...limited, operator: apiOf(limited, app.operator) })
    for (let n = 0; n < 10; n++) expect((await account.pay(5)).status).toBe(402)
    const refused = await account.pay(5)
    expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 429, error: 'too_many_requests' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  } finally {
    await limited.close()
  }
})

test('the ledger is listed newest first, in pages', async () => {
  const account = await open()
  for (const amount of [1, 2, 3, 4, 5])
    expectStatus(await account.pay(amount, account.payer.createPaymentHeader(amount)), 200)
  const seen: number[] = []
  for (let cursor = ''; ; ) {
    const page = expectStatus(await account.owner.get(`${account.A}/credits/ledger?limit=2${cursor}`), 200)
    seen.push(...page.data.map((entry: AnyJson) => entry.amount_μusd))
    if (!page.has_more) break
    cursor = `&cursor=${page.next_cursor}`
  }
  expect(seen).toEqual([5, 4, 3, 2, 1])
})

test('the database contains no reusable part of a payment in plain text', async () => {
  const account = await open()
  facilitator.queueBehaviors(account.payer, 'settle', 'hang_up')
  const payment = account.payer.createPaymentHeader(5)
  expect((await account.pay(5, payment)).status).toBe(502)
  const { signature } = decode(payment).payload
  const attempt = await attemptOf(account)
  expect(attempt.request).not.toBeNull()
  const jobs = await app.gatehouse.database.prisma.job.findMany()
  const events = await app.gatehouse.database.prisma.event.findMany({ where: { accountId: account.accountId } })
  const text = JSON.stringify([attempt, jobs, events], (_, value) =>
    typeof value === 'bigint' ? Number(value) : value,
  )
  expect(text.toLowerCase()).not.toContain(signature.slice(2, 66))
})

test('a settled payment that cannot be credited immediately is 503, and credited by the outbox job', async () => {
  const account = await open()
  const { prisma } = app.gatehouse.database
  await prisma.$executeRawUnsafe(
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$",
  )
  await prisma.$executeRawUnsafe(
    'CREATE TRIGGER refuse BEFORE INSERT ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse()',
  )
  const payment = account.payer.createPaymentHeader(5)
  try {
    const response = await account.pay(5, payment)
    expect({ status: response.status, error: response.body.error }).toEqual({ status: 503, error: 'unavailable' })
    expect((await account.pay(5, payment)).status).toBe(409)
  } finally {
    await prisma.$executeRawUnsafe('DROP TRIGGER refuse ON ledger_entries')
  }
  app.clock.advance(MINUTE)
  await runDueJobs(app.gatehouse, tasks)
  expect(await account.balance()).toBe(5)
  expectStatus(await account.pay(5, payment), 200)
  expect(facilitator.callCount(account.payer, 'settle')).toBe(1)
})

test('a facilitator that stalls: 502 after 8 and 20 seconds, and a settlement is reconciled once', async () => {
  const waits: number[] = []
  const hasty = await startApp({
    databaseUrl: app.databaseUrl,
    clock: app.clock,
    roles: ['core'],
    env: facilitator.env,
    // Divides the timeouts of outbound requests by ten, so that the test is faster.
    outbound: (own) => ({
      ...own,
      send(request) {
        waits.push(request.timeout)
        return own.send({ ...request, timeout: request.timeout / 10 })
      },
    }),
  })
  try {
    const tills: PaymentAccount[] = []
    for (const question of ['verify', 'settle'] as const) {
      const account = await open({}, { ...hasty, operator: apiOf(hasty, app.operator) })
      facilitator.queueBehaviors(account.payer, question, 'silence')
      expect((await account.pay(5, account.payer.createPaymentHeader(5))).status).toBe(502)
      expect(facilitator.transfers(account.payer)).toEqual([])
      tills.push(account)
    }
    expect(waits).toEqual([8000, 8000, 20_000])
    app.clock.advance(MINUTE)
    await runDueJobs(app.gatehouse, tasks)
    for (const [n, account] of tills.entries()) {
      expect(facilitator.transfers(account.payer)).toHaveLength(n)
      expect(await account.balance()).toBe(5 * n)
    }
  } finally {
    await hasty.close()
  }
})
