/** Top-ups by x402 v2 (spec 4.2, section 8, decisions D18, D19) with a facilitator that fails, stalls, lies and is late. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { workOff } from '../../src/platform/queue.js'
import { tasks } from '../../src/tasks.js'
import { keyWith, makeAccount, must } from '../setup/actors.js'
import { type Answer, type Api, apiAs, type Loose } from '../setup/api.js'
import { listenTo } from '../setup/events.js'
import {
  ASSET,
  decode,
  encode,
  type Facilitator,
  NETWORK,
  newPayer,
  PAY_TO,
  type Payer,
  requirementsOf,
  startFacilitator,
} from '../setup/facilitator.js'
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

/** An account with a payment method, and a wallet to pay with. */
interface Till {
  accountId: string
  owner: Api
  A: string
  methodId: string
  payer: Payer
  /** Tops up with this payment. */
  pay(amount: unknown, payment?: string, more?: Record<string, string>): Promise<Answer<Loose>>
  ledger(): Promise<Loose[]>
  balance(): Promise<number>
  told: Awaited<ReturnType<typeof listenTo>>
}

async function open(method: object = {}, at = app): Promise<Till> {
  const { owner, accountId } = await makeAccount(at)
  const A = `/v1/accounts/${accountId}`
  const { id } = must(await owner.post(`${A}/payment-methods`, { type: 'x402', ...method }), 201).data
  const ledger = async () => must(await owner.get(`${A}/credits/ledger`), 200).data
  return {
    accountId,
    owner,
    A,
    methodId: id,
    payer: newPayer(),
    pay: (amount, payment, more = {}) =>
      owner.post(
        `${A}/credits/topups`,
        { amount_μusd: amount },
        { ...(payment && { 'payment-signature': payment }), ...more },
      ),
    ledger,
    balance: async () => (await ledger())[0]?.balance_μusd ?? 0,
    told: await listenTo(at, accountId),
  }
}
const attemptOf = ({ accountId }: Till) =>
  app.gatehouse.tools.prisma.topupAttempt.findFirstOrThrow({ where: { accountId }, orderBy: { createdAt: 'desc' } })

const tooClear = /ECONN|127\.0\.0\.1|Error:|\bat \//

test('top-up without a payment: 402 with PAYMENT-REQUIRED, and the same object in the body', async () => {
  const till = await open()
  const answer = await till.pay(5_000_000)
  expect(answer.status).toBe(402)
  const challenge = decode(answer.headers.get('payment-required'))
  expect(challenge).toEqual({
    x402Version: 2,
    error: 'PAYMENT-SIGNATURE header is required',
    resource: {
      url: `${app.baseUrl}${till.A}/credits/topups`,
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
  expect(answer.body).toEqual({
    error: 'payment_required',
    error_description: expect.any(String),
    request_id: expect.stringMatching(/^req_/),
    payment_required: challenge,
  })
  expect(answer.headers.get('access-control-expose-headers')).toBe('PAYMENT-REQUIRED, PAYMENT-RESPONSE')
  expect(answer.headers.get('payment-response')).toBeNull()
  expect(answer.headers.get('etag')).toBeNull()
})

test('top-up: the challenge is answered, the payment settled and credited; ledger and event say so', async () => {
  const till = await open()
  const requirements = (await till.pay(5_000_000)).body.payment_required.accepts[0]
  const answer = await till.pay(5_000_000, till.payer.pay(0, { requirements }))
  const { data } = must(answer, 200)
  const [transfer] = facilitator.transfers(till.payer)
  const reference = `${NETWORK}:${transfer!.transaction}`
  expect(data).toEqual({
    id: expect.stringMatching(/^led_/),
    amount_μusd: 5_000_000,
    balance_μusd: 5_000_000,
    payment_reference: reference,
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
  })
  expect(decode(answer.headers.get('payment-response'))).toEqual({
    success: true,
    transaction: transfer!.transaction,
    network: NETWORK,
    payer: till.payer.address,
  })
  expect(answer.headers.get('etag')).toBe(`"${data.updated_at}"`)
  expect(answer.headers.get('access-control-expose-headers')).toBe('PAYMENT-REQUIRED, PAYMENT-RESPONSE')
  const second = must(await till.pay(7, till.payer.pay(7)), 200).data
  expect(second).toMatchObject({ amount_μusd: 7, balance_μusd: 5_000_007 })
  expect(await till.ledger()).toEqual([
    expect.objectContaining({ id: second.id, amount_μusd: 7, balance_μusd: 5_000_007 }),
    { ...data, type: 'topup', description: null },
  ])
  const told = await till.told('credits.')
  expect(told.map(({ type, target }) => [type, target.id])).toEqual([
    ['credits.topup.succeeded', data.id],
    ['credits.topup.succeeded', second.id],
  ])
  expect(told[0]!.data).toEqual({
    amount_μusd: 5_000_000,
    balance_μusd: 5_000_000,
    payer: till.payer.address,
    payment_reference: reference,
  })
})

test('amounts 1 and 10^12 are taken; 0, negative, fractions, text, null and more are 400', async () => {
  const till = await open()
  for (const amount of [1, 1_000_000_000_000]) must(await till.pay(amount, till.payer.pay(amount)), 200)
  expect(await till.balance()).toBe(1_000_000_000_001)
  for (const amount of [0, -1, 1.5, '5', null, [5], true, 1_000_000_000_001, 2 ** 53, undefined]) {
    const { status, body } = await till.pay(amount, till.payer.pay(5))
    expect({ amount, status, error: body.error }).toEqual({ amount, status: 400, error: 'invalid_request' })
    if (body.details) expect(body.details[0].field).toBe('amount_μusd')
  }
  const micro = await till.owner.post(`${till.A}/credits/topups`, { 'amount_\u00b5usd': 9 })
  expect([micro.status, micro.body.payment_required.accepts[0].amount]).toEqual([402, '9'])
})

test('a PAYMENT-SIGNATURE that cannot be read is 400', async () => {
  const till = await open()
  const good = decode(till.payer.pay(5))
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
    const { status, body } = await till.pay(5, payment)
    expect({ payment: payment.slice(0, 40), status, error: body.error }).toEqual({
      payment: payment.slice(0, 40),
      status: 400,
      error: 'invalid_request',
    })
    expect(body.details[0].field).toMatch(/^PAYMENT-SIGNATURE(\.(x402Version|accepted|payload|extensions)\b.*)?$/)
  }
  expect(facilitator.asked(till.payer, 'verify')).toBe(0)
})

test('accepted must be what is offered: anything else is a new challenge, and the facilitator is not asked', async () => {
  const till = await open()
  const changes: ((payment: Loose) => void)[] = [
    (payment) => (payment.accepted.amount = '4'),
    (payment) => (payment.accepted.payTo = till.payer.address),
    (payment) => (payment.accepted.asset = PAY_TO),
    (payment) => (payment.accepted.network = 'eip155:1'),
    (payment) => (payment.accepted.scheme = 'upto'),
    (payment) => (payment.accepted.extra = {}),
    (payment) => (payment.accepted = {}),
    // What is signed says something else than what is accepted.
    (payment) => (payment.payload.authorization.value = '4'),
    (payment) => (payment.payload.authorization.to = till.payer.address),
  ]
  for (const change of changes) {
    const answer = await till.pay(5, till.payer.pay(5, { change }))
    expect({ change: String(change), status: answer.status }).toEqual({ change: String(change), status: 402 })
    expect(decode(answer.headers.get('payment-required')).accepts).toEqual([requirementsOf(5)])
  }
  expect(facilitator.asked(till.payer, 'verify')).toBe(0)
  // Addresses of eip155 are the same in any case.
  const lower = (payment: Loose) => {
    payment.accepted = { ...payment.accepted, payTo: PAY_TO.toLowerCase(), asset: ASSET.toLowerCase() }
  }
  must(await till.pay(5, till.payer.pay(5, { change: lower })), 200)
})

test('a payment that the facilitator finds invalid is 402, and nothing is settled', async () => {
  const till = await open()
  const forged = till.payer.pay(5, {
    change: (payment) => (payment.payload.authorization.from = newPayer().address),
  })
  const broken = till.payer.pay(5, {
    change: (payment) => (payment.payload.authorization.nonce = `0x${'1'.repeat(64)}`),
  })
  for (const payment of [forged, broken]) {
    const answer = await till.pay(5, payment)
    expect(answer.status).toBe(402)
    expect(answer.body.payment_required.error).toContain('invalid_exact_evm_payload_signature')
  }
  expect(await till.ledger()).toEqual([])
  expect((await till.told('credits.')).map(({ type, data }) => [type, data.reason])).toEqual([
    ['credits.topup.failed', 'invalid_exact_evm_payload_signature'],
    ['credits.topup.failed', 'invalid_exact_evm_payload_signature'],
  ])
})

test('a payer outside of allowed_payer_wallets is 402; one inside pays, whatever the case of its address', async () => {
  const payer = newPayer()
  const till = await open({ allowed_payer_wallets: [`0x${payer.address.slice(2).toUpperCase()}`] })
  const stranger = await till.pay(5, till.payer.pay(5))
  expect({ status: stranger.status, error: stranger.body.error }).toEqual({ status: 402, error: 'payment_required' })
  expect(facilitator.asked(till.payer, 'settle')).toBe(0)
  must(await till.pay(5, payer.pay(5)), 200)
  must(await till.owner.patch(`${till.A}/payment-methods/${till.methodId}`, { allowed_payer_wallets: [] }), 200)
  expect((await till.pay(5, payer.pay(5))).status).toBe(402)
})

test('a facilitator that names another payer than the one who signed is not believed', async () => {
  const friend = newPayer()
  const till = await open({ allowed_payer_wallets: [friend.address] })
  facilitator.tell(till.payer, 'verify', { body: { isValid: true, payer: friend.address } })
  expect((await till.pay(5, till.payer.pay(5))).status).toBe(502)
  expect(facilitator.asked(till.payer, 'settle')).toBe(0)
})

test('a settlement that fails is 402 with PAYMENT-RESPONSE; the same payment may be tried again', async () => {
  const till = await open()
  const payment = till.payer.pay(5)
  const no = {
    success: false,
    errorReason: 'insufficient_funds',
    transaction: '',
    network: NETWORK,
    payer: till.payer.address,
  }
  facilitator.tell(till.payer, 'settle', { body: no }, { status: 400, body: { ...no, errorReason: '<b>secret</b>' } })
  for (const reason of ['insufficient_funds', 'settlement_failed']) {
    const answer = await till.pay(5, payment)
    expect(answer.status).toBe(402)
    expect(decode(answer.headers.get('payment-response'))).toEqual({
      success: false,
      errorReason: reason,
      transaction: '',
      network: NETWORK,
    })
    expect(decode(answer.headers.get('payment-required'))).toEqual(answer.body.payment_required)
  }
  expect(await till.ledger()).toEqual([])
  must(await till.pay(5, payment), 200)
  expect((await till.told('credits.')).map(({ type }) => type.split('.').at(-1))).toEqual([
    'failed',
    'failed',
    'succeeded',
  ])
})

describe('an unavailable facilitator', () => {
  test('verification without a clear answer is 502: nothing was paid', async () => {
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
    const till = await open()
    facilitator.tell(till.payer, 'verify', ...moods)
    for (const mood of moods) {
      const { status, body, text } = await till.pay(5, till.payer.pay(5))
      const about = JSON.stringify(mood).slice(0, 80)
      expect({ about, status, error: body.error }).toEqual({ about, status: 502, error: 'bad_gateway' })
      expect(text).not.toMatch(tooClear)
    }
    expect(facilitator.transfers(till.payer)).toEqual([])
    must(await till.pay(5, till.payer.pay(5)), 200)
  })

  const lies = (transaction: unknown, more: object = {}) => ({
    body: { success: true, transaction, network: NETWORK, ...more },
  })
  const moods = [
    ['hangs up', 'hang_up'],
    ['answers 500', { status: 500, body: {} }],
    ['answers garbage', { body: '<html>' }],
    ['says yes without a transaction', lies('')],
    ['says yes with half a transaction', lies('0x12')],
    ['says yes for another network', lies(`0x${'a'.repeat(64)}`, { network: 'eip155:1' })],
    ['says yes for another amount', lies(`0x${'b'.repeat(64)}`, { amount: '4' })],
    ['says yes for another payer', lies(`0x${'c'.repeat(64)}`, { payer: PAY_TO })],
    ['says yes in ten megabytes', lies(`0x${'d'.repeat(64)}`, { pad: 'x'.repeat(10_000_000) })],
    ['redirects', { status: 308, body: {}, headers: { location: '/settle' } }],
    ['settles, and its answer gets lost', 'lose_answer'],
  ] as const
  test.each(moods)('a settlement whose outcome is unknown is 502 and reconciled: it %s', async (_, mood) => {
    const till = await open()
    const payment = till.payer.pay(5)
    facilitator.tell(till.payer, 'settle', mood)
    const answer = await till.pay(5, payment)
    expect({ status: answer.status, error: answer.body.error }).toEqual({ status: 502, error: 'bad_gateway' })
    expect(answer.body.error_description).toContain('do not sign another payment')
    // Who sends it again is told to wait, and nothing is settled a second time.
    const again = await till.pay(5, payment)
    expect({ status: again.status, retry: again.headers.get('retry-after') }).toEqual({ status: 409, retry: '60' })
    expect(facilitator.asked(till.payer, 'settle')).toBe(1)
    app.clock.advance(MINUTE)
    await workOff(app.gatehouse, tasks)
    expect(facilitator.transfers(till.payer)).toHaveLength(1)
    expect((await till.ledger()).map((entry) => entry.amount_μusd)).toEqual([5])
    // Now it is what it would have been.
    const late = must(await till.pay(5, payment), 200)
    expect(late.data.payment_reference).toBe(`${NETWORK}:${facilitator.transfers(till.payer)[0]!.transaction}`)
    await workOff(app.gatehouse, tasks)
    expect(await till.balance()).toBe(5)
    expect((await attemptOf(till)).request).toBeNull()
  })

  test('a no after an unknown outcome proves nothing: it is asked again, and left to people in the end', async () => {
    const till = await open()
    const payment = till.payer.pay(5)
    const no = { body: { success: false, errorReason: 'insufficient_funds', transaction: '' } }
    facilitator.tell(till.payer, 'settle', 'hang_up', ...Array(20).fill(no))
    expect((await till.pay(5, payment)).status).toBe(502)
    for (let hour = 0; hour < 20; hour++) {
      app.clock.advance(HOUR)
      await workOff(app.gatehouse, tasks)
    }
    expect((await attemptOf(till)).state).toBe('unresolved')
    expect(facilitator.asked(till.payer, 'settle')).toBe(13)
    expect((await till.told('credits.')).map(({ type, data }) => [type, data.reason])).toEqual([
      ['credits.topup.failed', 'outcome_unknown'],
    ])
    const answer = await till.pay(5, payment)
    expect({ status: answer.status, retryable: answer.body.retryable }).toEqual({ status: 409, retryable: false })
    expect(await app.gatehouse.tools.prisma.job.count()).toBe(0)
  }, 60_000)

  test('a failed transaction may still come through: it is 402, and looked after', async () => {
    const till = await open()
    const payment = till.payer.pay(5)
    facilitator.tell(till.payer, 'settle', (truth) => ({
      ...truth,
      success: false,
      errorReason: 'confirmation_timeout',
    }))
    expect((await till.pay(5, payment)).status).toBe(402)
    app.clock.advance(MINUTE)
    await workOff(app.gatehouse, tasks)
    expect(await till.balance()).toBe(5)
    expect(facilitator.transfers(till.payer)).toHaveLength(1)
  })

  test('nothing more is taken for a method that was removed meanwhile', async () => {
    const till = await open()
    facilitator.tell(till.payer, 'settle', 'hang_up')
    expect((await till.pay(5, till.payer.pay(5))).status).toBe(502)
    must(await till.owner.delete(`${till.A}/payment-methods/${till.methodId}`), 204)
    app.clock.advance(MINUTE)
    await workOff(app.gatehouse, tasks)
    expect(facilitator.transfers(till.payer)).toEqual([])
    expect((await attemptOf(till)).state).toBe('unresolved')
  })
})

test('a payment that was settled elsewhere, to us, is credited: the facilitator says so with its transaction', async () => {
  const till = await open()
  const payment = till.payer.pay(5)
  const transaction = `0x${randomBytes(32).toString('hex')}`
  facilitator.tell(till.payer, 'settle', {
    body: { success: false, errorReason: 'payment_already_settled', transaction, network: NETWORK },
  })
  expect(must(await till.pay(5, payment), 200).data.payment_reference).toBe(`${NETWORK}:${transaction}`)
})

test('a transaction is credited once, whatever the facilitator says: the second is 409 with payment_reference', async () => {
  const [one, two] = [await open(), await open()]
  const { payment_reference } = must(await one.pay(5, one.payer.pay(5)), 200).data
  const { transaction } = facilitator.transfers(one.payer)[0]!
  // Also written in another way.
  for (const told of [transaction, `0x${transaction.slice(2).toUpperCase()}`]) {
    facilitator.tell(two.payer, 'settle', { body: { success: true, transaction: told, network: NETWORK } })
    const answer = await two.pay(5, two.payer.pay(5))
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 409,
      body: expect.objectContaining({ error: 'conflict', payment_reference, retryable: false }),
    })
  }
  expect([await one.balance(), await two.balance()]).toEqual([5, 0])
})

test('two payments that claim one transaction in parallel: one credit', async () => {
  const tills = await Promise.all(Array.from({ length: 6 }, () => open()))
  const transaction = `0x${randomBytes(32).toString('hex')}`
  for (const { payer } of tills)
    facilitator.tell(payer, 'settle', { body: { success: true, transaction, network: NETWORK } })
  const answers = await Promise.all(tills.map((till) => till.pay(5, till.payer.pay(5))))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409])
})

test('100 parallel top-ups with the same payment: exactly one credit; the others get it too, or 409', async () => {
  const till = await open()
  const second = await app.second()
  const elsewhere = { ...till.owner, ...apiOf(second, till.owner) }
  const payment = till.payer.pay(5)
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      (n % 2 ? till.owner : elsewhere).post(
        `${till.A}/credits/topups`,
        { amount_μusd: 5 },
        { 'payment-signature': payment },
      ),
    ),
  )
  const paid = answers.filter(({ status }) => status === 200)
  expect(paid.length).toBeGreaterThan(0)
  expect(new Set(paid.map(({ body }) => body.data.id)).size).toBe(1)
  // Who comes to be verified after the settlement hears that the nonce is used.
  for (const { status } of answers) expect([200, 402, 409]).toContain(status)
  expect(facilitator.transfers(till.payer)).toHaveLength(1)
  expect(facilitator.asked(till.payer, 'settle')).toBe(1)
  expect((await till.ledger()).map((entry) => entry.balance_μusd)).toEqual([5])
  expect(must(await till.pay(5, payment), 200).data.id).toBe(paid[0]!.body.data.id)
})

function apiOf(at: TestApp, { authorization }: Api): Api {
  const [id = '', ...rest] = Buffer.from(authorization!.replace('Basic ', ''), 'base64').toString().split(':')
  return apiAs(at.baseUrl, { id, secret: rest.join(':') })
}

test('20 parallel payments of one account are all credited, and the ledger adds up', async () => {
  const till = await open()
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => till.pay(n + 1, newPayer().pay(n + 1))))
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
  const entries = (await till.ledger()).reverse()
  let sum = 0
  for (const { amount_μusd, balance_μusd } of entries) {
    sum += amount_μusd
    expect(balance_μusd).toBe(sum)
  }
  expect(sum).toBe(210)
})

test('a payment belongs to the account and amount that it was made for', async () => {
  const [mine, theirs] = [await open(), await open()]
  const payment = mine.payer.pay(5)
  must(await mine.pay(5, payment), 200)
  expect((await theirs.pay(5, payment)).status).toBe(409)
  expect(await theirs.balance()).toBe(0)
  // The same signature, in the other form that ECDSA allows, is the same payment.
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const flipped = mine.payer.pay(5, { nonce: decode(payment).payload.authorization.nonce })
  const other = decode(flipped)
  const { signature } = other.payload
  const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
  other.payload.signature = `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`
  const answer = await mine.pay(5, encode(other))
  expect([200, 409]).toContain(answer.status)
  expect(await mine.balance()).toBe(5)
})

describe('the method changes between settlement and credit', () => {
  /** Does something to the method while the facilitator settles. */
  const during = (till: Till, work: (path: string) => Promise<unknown>) =>
    facilitator.tell(till.payer, 'settle', async (truth) => {
      await work(`${till.A}/payment-methods/${till.methodId}`)
      return truth
    })

  test.each([
    ['revoked', (till: Till, path: string) => till.owner.delete(path)],
    [
      'its allow-list tightened',
      (till: Till, path: string) => till.owner.patch(path, { allowed_payer_wallets: [PAY_TO] }),
    ],
    [
      'disabled for more than 15 seconds',
      async (till: Till, path: string) => {
        must(await till.owner.patch(path, { enabled: false }), 200)
        app.clock.advance(15_001)
      },
    ],
  ])('%s: 409 with payment_reference, not to be tried again', async (_, change) => {
    const till = await open()
    during(till, (path) => change(till, path))
    const payment = till.payer.pay(5)
    const answer = await till.pay(5, payment)
    const reference = `${NETWORK}:${facilitator.transfers(till.payer)[0]!.transaction}`
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 409,
      body: {
        error: 'conflict',
        error_description: expect.any(String),
        request_id: expect.any(String),
        payment_reference: reference,
        retryable: false,
      },
    })
    expect(await till.ledger()).toEqual([])
    const [told] = await till.told('credits.')
    expect([told!.type, told!.data.payment_reference]).toEqual(['credits.topup.failed', reference])
    app.clock.advance(HOUR)
    await workOff(app.gatehouse, tasks)
    expect(await till.ledger()).toEqual([])
  })

  test('disabled for 15 seconds at most: the settlement under way is completed, a new one is 400', async () => {
    const till = await open()
    during(till, async (path) => {
      must(await till.owner.patch(path, { enabled: false }), 200)
      app.clock.advance(13_000)
    })
    must(await till.pay(5, till.payer.pay(5)), 200)
    const late = await till.pay(5, till.payer.pay(5))
    expect({ status: late.status, error: late.body.error }).toEqual({ status: 400, error: 'invalid_request' })
  })
})

describe('payment-identifier and Idempotency-Key', () => {
  const identifier = () => `pay_${randomBytes(16).toString('hex')}`

  test('the same payment-identifier with the same payment answers the same, with another payment 409', async () => {
    const till = await open()
    const id = identifier()
    const payment = till.payer.pay(5, { identifier: id })
    const first = must(await till.pay(5, payment), 200)
    expect(must(await till.pay(5, payment), 200)).toEqual(first)
    const other = await till.pay(5, till.payer.pay(5, { identifier: id }))
    expect({ status: other.status, error: other.body.error }).toEqual({ status: 409, error: 'conflict' })
    expect(facilitator.transfers(till.payer)).toHaveLength(1)
    // It is the account's own name for it, and good for 24 hours.
    const neighbour = await open()
    must(await neighbour.pay(5, neighbour.payer.pay(5, { identifier: id })), 200)
    app.clock.advance(24 * HOUR + 1)
    must(await till.pay(5, till.payer.pay(5, { identifier: id })), 200)
  })

  test('10 parallel payments with one payment-identifier: one is settled', async () => {
    const till = await open()
    const id = identifier()
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => till.pay(5, till.payer.pay(5, { identifier: id }))),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
    expect(facilitator.transfers(till.payer)).toHaveLength(1)
  })

  test('trap 10: 402 releases the Idempotency-Key, so the paid retry may use it; then it is replayed', async () => {
    const till = await open()
    const headers = { 'idempotency-key': identifier() }
    expect((await till.pay(5, undefined, headers)).status).toBe(402)
    const first = await till.pay(5, till.payer.pay(5), headers)
    must(first, 200)
    const again = await till.pay(5, undefined, headers)
    expect({ status: again.status, text: again.text }).toEqual({ status: 200, text: first.text })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await till.pay(6, undefined, headers)).status).toBe(422)
    expect(await till.balance()).toBe(5)
  })
})

test('by GraphQL: the payment is an argument, and the challenge stands in the error', async () => {
  const till = await open()
  const text = `mutation ($a: ID!, $p: String, $k: String) {
    createTopup(accountId: $a, input: {amountMicroUsd: 1000000000000}, paymentSignature: $p, idempotencyKey: $k) {
      id amountMicroUsd balanceMicroUsd paymentReference settlement
    }
  }`
  const a = till.accountId
  const asked = await till.owner.graphql(text, { a })
  const { extensions } = asked.body.errors[0]
  expect(extensions).toMatchObject({ code: 'PAYMENT_REQUIRED', status: 402 })
  const [requirements] = extensions.payment_required.accepts
  const variables = { a, p: till.payer.pay(0, { requirements }), k: 'once' }
  const paid = (await till.owner.graphql(text, variables)).body
  expect(paid.data.createTopup).toMatchObject({
    amountMicroUsd: 1_000_000_000_000,
    settlement: { success: true, network: NETWORK },
  })
  const again = await till.owner.graphql(text, variables)
  expect(again.body).toEqual(paid)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  const list = '{ ledgerEntries(accountId: "ACCOUNT") { data { type amountMicroUsd paymentReference } } }'
  expect((await till.owner.graphql(list.replace('ACCOUNT', a))).body.data.ledgerEntries.data).toEqual([
    { type: 'topup', amountMicroUsd: 1_000_000_000_000, paymentReference: paid.data.createTopup.paymentReference },
  ])
})

test('a top-up needs credits:manage, a scope of its own', async () => {
  const till = await open()
  const as = (scopes: string[]) => keyWith({ ...till, I: '', issuerId: '' } as Loose, { scopes })
  const path = `${till.A}/credits/topups`
  const payment = { 'payment-signature': till.payer.pay(5) }
  const weak = await as(['credits:read', 'credits:write', 'payment_methods:manage'])
  expect((await weak.post(path, { amount_μusd: 5 }, payment)).status).toBe(403)
  must(await (await as(['credits:manage'])).post(path, { amount_μusd: 5 }, payment), 200)
})

test('without an active method it is 400, and so it is where payments are not set up', async () => {
  const till = await open()
  must(await till.owner.delete(`${till.A}/payment-methods/${till.methodId}`), 204)
  expect((await till.pay(5)).status).toBe(400)
  const plain = await startApp({ databaseUrl: app.databaseUrl, roles: ['core'] })
  try {
    const other = await open({}, { ...plain, operator: apiOf(plain, app.operator) })
    expect((await other.pay(5, other.payer.pay(5))).status).toBe(400)
  } finally {
    await plain.close()
  }
})

test('D19: ten top-ups a minute per account, then 429 with Retry-After', async () => {
  const limited = await startApp({
    databaseUrl: app.databaseUrl,
    roles: ['core'],
    env: { ...facilitator.env, RATE_LIMITS: 'default' },
  })
  try {
    const till = await open({}, { ...limited, operator: apiOf(limited, app.operator) })
    for (let n = 0; n < 10; n++) expect((await till.pay(5)).status).toBe(402)
    const refused = await till.pay(5)
    expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 429, error: 'too_many_requests' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  } finally {
    await limited.close()
  }
})

test('the ledger comes most recent first, in pages', async () => {
  const till = await open()
  for (const amount of [1, 2, 3, 4, 5]) must(await till.pay(amount, till.payer.pay(amount)), 200)
  const seen: number[] = []
  for (let cursor = ''; ; ) {
    const page = must(await till.owner.get(`${till.A}/credits/ledger?limit=2${cursor}`), 200)
    seen.push(...page.data.map((entry: Loose) => entry.amount_μusd))
    if (!page.has_more) break
    cursor = `&cursor=${page.next_cursor}`
  }
  expect(seen).toEqual([5, 4, 3, 2, 1])
})

test('nothing of a payment that could be used lies open in the database', async () => {
  const till = await open()
  facilitator.tell(till.payer, 'settle', 'hang_up')
  const payment = till.payer.pay(5)
  expect((await till.pay(5, payment)).status).toBe(502)
  const { signature } = decode(payment).payload
  const attempt = await attemptOf(till)
  expect(attempt.request).not.toBeNull()
  const jobs = await app.gatehouse.tools.prisma.job.findMany()
  const events = await app.gatehouse.tools.prisma.event.findMany({ where: { accountId: till.accountId } })
  const text = JSON.stringify([attempt, jobs, events], (_, value) =>
    typeof value === 'bigint' ? Number(value) : value,
  )
  expect(text.toLowerCase()).not.toContain(signature.slice(2, 66))
})

test('a settled payment that cannot be credited at once is 503, and credited by the queue', async () => {
  const till = await open()
  const { prisma } = app.gatehouse.tools
  await prisma.$executeRawUnsafe(
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$",
  )
  await prisma.$executeRawUnsafe(
    'CREATE TRIGGER refuse BEFORE INSERT ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse()',
  )
  const payment = till.payer.pay(5)
  try {
    const answer = await till.pay(5, payment)
    expect({ status: answer.status, error: answer.body.error }).toEqual({ status: 503, error: 'unavailable' })
    expect((await till.pay(5, payment)).status).toBe(409)
  } finally {
    await prisma.$executeRawUnsafe('DROP TRIGGER refuse ON ledger_entries')
  }
  app.clock.advance(MINUTE)
  await workOff(app.gatehouse, tasks)
  expect(await till.balance()).toBe(5)
  must(await till.pay(5, payment), 200)
  expect(facilitator.asked(till.payer, 'settle')).toBe(1)
})

test('a facilitator that stalls: 502 in the end, after 8 and 20 seconds, and a settlement is made up for once', async () => {
  const waits: number[] = []
  const hasty = await startApp({
    databaseUrl: app.databaseUrl,
    clock: app.clock,
    roles: ['core'],
    env: facilitator.env,
    // The same as with the time that it asks for, only sooner.
    outbound: (own) => ({
      ...own,
      send(request) {
        waits.push(request.timeout)
        return own.send({ ...request, timeout: request.timeout / 10 })
      },
    }),
  })
  try {
    const tills: Till[] = []
    for (const question of ['verify', 'settle'] as const) {
      const till = await open({}, { ...hasty, operator: apiOf(hasty, app.operator) })
      facilitator.tell(till.payer, question, 'silence')
      expect((await till.pay(5, till.payer.pay(5))).status).toBe(502)
      expect(facilitator.transfers(till.payer)).toEqual([])
      tills.push(till)
    }
    expect(waits).toEqual([8000, 8000, 20_000])
    app.clock.advance(MINUTE)
    await workOff(app.gatehouse, tasks)
    for (const [n, till] of tills.entries()) {
      expect(facilitator.transfers(till.payer)).toHaveLength(n)
      expect(await till.balance()).toBe(5 * n)
    }
  } finally {
    await hasty.close()
  }
})
