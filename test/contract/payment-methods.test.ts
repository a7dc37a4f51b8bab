/**
 * Payment methods and the billing mode that results from them
 * (docs/contract.md#account-ledger-and-payment-method-fields, docs/contract.md#domains-and-payments,
 * docs/contract.md#account-and-payment-endpoints).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createAccount, expectStatus } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { createPayer } from '../setup/facilitator.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let owner: ApiClient
let accountId: string
let A: string
let methods: string
beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
})
afterAll(() => app.close())
beforeEach(async () => {
  const account = await createAccount(app)
  owner = account.owner
  accountId = account.accountId
  A = `/v1/accounts/${account.accountId}`
  methods = `${A}/payment-methods`
})

const wallet = createPayer().address
const create = async (more: object = {}): Promise<AnyJson> =>
  expectStatus(await owner.post(methods, { type: 'x402', ...more }), 201).data
const list = async (): Promise<AnyJson[]> => expectStatus(await owner.get(methods), 200).data
const mode = async (): Promise<string> => expectStatus(await owner.get(A), 200).data.billing_mode

test('a payment method is created with all documented fields under their public names', async () => {
  const body = { label: 'Main', allowed_payer_wallets: [wallet], auto_topup_increment_μusd: 25_000_000 }
  const response = await owner.post(methods, { type: 'x402', ...body })
  const { data } = expectStatus(response, 201)
  expect(data).toEqual({
    id: expect.stringMatching(/^pm_/),
    type: 'x402',
    ...body,
    enabled: true,
    status: 'active',
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
  })
  expect(response.headers.get('etag')).toBe(`"${data.updated_at}"`)
  expect(response.text).toContain('"auto_topup_increment_\u03bcusd":25000000')
  expect(await list()).toEqual([data])
})

test('all fields except the type are optional', async () => {
  expect(await create()).toMatchObject({
    label: null,
    allowed_payer_wallets: null,
    auto_topup_increment_μusd: null,
    enabled: true,
  })
})

test('a value of a wrong type and any other invalid value are 400 with the field', async () => {
  const cases: [object, string][] = [
    [{}, 'type'],
    [{ type: 'card' }, 'type'],
    [{ type: 'stripe', token: 'tok_1' }, 'type'],
    [{ type: 'x402', enabled: true }, 'enabled'],
    [{ type: 'x402', label: '' }, 'label'],
    [{ type: 'x402', allowed_payer_wallets: wallet }, 'allowed_payer_wallets'],
    [{ type: 'x402', allowed_payer_wallets: ['0x12'] }, 'allowed_payer_wallets[0]'],
    [{ type: 'x402', allowed_payer_wallets: [null] }, 'allowed_payer_wallets[0]'],
    ...[0, -1, 1.5, '5', 1e12 + 1].map((amount): [object, string] => [
      { type: 'x402', auto_topup_increment_μusd: amount },
      'auto_topup_increment_μusd',
    ]),
    [{ type: 'x402', auto_topup_increment_micro_usd: 5 }, 'auto_topup_increment_micro_usd'],
  ]
  for (const [body, field] of cases) {
    const { status, body: error } = await owner.post(methods, body)
    expect({ body, status, fields: error.details?.map((detail: AnyJson) => detail.field) }).toMatchObject({
      body,
      status: 400,
      fields: expect.arrayContaining([field]),
    })
  }
  expect(await list()).toEqual([])
})

test('U+00B5 is accepted for U+03BC in field names, but not both in one body', async () => {
  const micro = 'auto_topup_increment_\u00b5usd'
  expect(await create({ [micro]: 7 })).toMatchObject({ auto_topup_increment_μusd: 7 })
  const { id } = (await list())[0]
  const both = await owner.patch(`${methods}/${id}`, { [micro]: 8, auto_topup_increment_μusd: 9 })
  expect({ status: both.status, code: both.body.details[0].code }).toEqual({ status: 400, code: 'repeated' })
})

test('one active x402 payment method per account: a second one is 400, also under 10 parallel requests', async () => {
  const responses = await Promise.all(Array.from({ length: 10 }, () => owner.post(methods, { type: 'x402' })))
  expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(400)])
  const { id } = (await list())[0]
  expectStatus(await owner.patch(`${methods}/${id}`, { enabled: false }), 200)
  const second = await create()
  const back = await owner.patch(`${methods}/${id}`, { enabled: true })
  expect({ status: back.status, error: back.body.error }).toEqual({ status: 400, error: 'invalid_request' })
  expectStatus(await owner.delete(`${methods}/${second.id}`), 204)
  expectStatus(await owner.patch(`${methods}/${id}`, { enabled: true }), 200)
})

test('PATCH: an absent field is unchanged, null clears; the type is immutable, and If-Match is ignored', async () => {
  const { id } = await create({ label: 'L', allowed_payer_wallets: [wallet], auto_topup_increment_μusd: 5 })
  const path = `${methods}/${id}`
  expectStatus(await owner.patch(path, { label: 'M' }, { 'if-match': '"1"' }), 200)
  const kept = { label: 'M', allowed_payer_wallets: [wallet], auto_topup_increment_μusd: 5 }
  expect((await list())[0]).toMatchObject(kept)
  const cleared = { label: null, allowed_payer_wallets: null, auto_topup_increment_μusd: null }
  expect(expectStatus(await owner.patch(path, cleared), 200).data).toMatchObject({ ...cleared, enabled: true })
  for (const body of [{ type: 'card' }, { enabled: null }, { status: 'removed' }, { enabled: 'no' }])
    expect((await owner.patch(path, body)).status).toBe(400)
})

test('a field with both micro signs is 400, also if one value is unchanged', async () => {
  const { id } = await create()
  const path = `${methods}/${id}`
  const field = (sign: string) => `auto_topup_increment_${sign}usd`
  expectStatus(await owner.patch(path, { [field('\u03bc')]: 5000 }), 200)
  const response = await owner.patch(path, { [field('\u03bc')]: 5000, [field('\u00b5')]: 6000 })
  expect(response.body.details).toMatchObject([{ field: field('\u03bc'), code: 'repeated' }])
  expect(response.status).toBe(400)
})

test('PATCH of enabled disables and enables a payment method', async () => {
  const { id } = await create()
  expect(expectStatus(await owner.patch(`${methods}/${id}`, { enabled: false }), 200).data).toMatchObject({
    enabled: false,
    status: 'disabled',
  })
  expect(expectStatus(await owner.patch(`${methods}/${id}`, { enabled: true }), 200).data).toMatchObject({
    enabled: true,
    status: 'active',
  })
})

test('DELETE removes a payment method permanently; the list keeps it; PATCH and DELETE of it are 404', async () => {
  const { id } = await create({ label: 'Old' })
  expectStatus(await owner.delete(`${methods}/${id}`), 204)
  const next = await create({ label: 'New' })
  expect((await list()).map((method) => [method.label, method.status, method.enabled])).toEqual([
    ['New', 'active', true],
    ['Old', 'removed', false],
  ])
  expect((await owner.patch(`${methods}/${id}`, { enabled: true })).status).toBe(404)
  expect((await owner.delete(`${methods}/${id}`)).status).toBe(404)
  expectStatus(await owner.patch(`${methods}/${next.id}`, { enabled: false }), 200)
  expectStatus(await owner.delete(`${methods}/${next.id}`), 204)
})

test('billing_mode is gated while an active payment method exists, unless an operator has overridden it', async () => {
  const viaGraphql = async () =>
    (
      await owner.graphql(
        'mutation ($a: ID!) { updateAccount(accountId: $a, input: {description: "d"}) { billingMode } }',
        { a: accountId },
      )
    ).body.data.updateAccount.billingMode
  expect(await mode()).toBe('ungated')
  const { id } = await create()
  expect([await mode(), await viaGraphql()]).toEqual(['gated', 'gated'])
  expect(expectStatus(await owner.get('/v1/accounts'), 200).data[0].billing_mode).toBe('gated')
  expectStatus(await owner.patch(`${methods}/${id}`, { enabled: false }), 200)
  expect([await mode(), await viaGraphql()]).toEqual(['ungated', 'ungated'])
  const override = (billingModeOverride: string | null) =>
    app.gatehouse.database.prisma.account.update({ where: { id: accountId }, data: { billingModeOverride } })
  await override('gated')
  expect(await mode()).toBe('gated')
  expectStatus(await owner.patch(`${methods}/${id}`, { enabled: true }), 200)
  await override('ungated')
  expect([await mode(), await viaGraphql()]).toEqual(['ungated', 'ungated'])
})

test('events of payment methods use the public field names', async () => {
  const since = await eventsRecordedFromNow(app, accountId)
  const { id } = await create({ label: 'A' })
  expectStatus(await owner.patch(`${methods}/${id}`, { enabled: false, auto_topup_increment_μusd: 3 }), 200)
  expectStatus(await owner.delete(`${methods}/${id}`), 204)
  const events = await since('payment_method.')
  expect(events.map(({ type, target }) => [type, target])).toEqual(
    ['created', 'updated', 'deleted'].map((end) => [`payment_method.${end}`, { type: 'payment_method', id }]),
  )
  expect(events[1]!.changes).toEqual({
    enabled: { old: true, new: false },
    status: { old: 'active', new: 'disabled' },
    auto_topup_increment_μusd: { old: null, new: 3 },
  })
})

describe('lists', () => {
  test('payment methods are listed newest first, in pages', async () => {
    const ids: string[] = []
    for (let n = 0; n < 5; n++) {
      const { id } = await create()
      ids.unshift(id)
      expectStatus(await owner.delete(`${methods}/${id}`), 204)
    }
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const page = expectStatus(await owner.get(`${methods}?limit=2${cursor}`), 200)
      seen.push(...page.data.map(({ id }: AnyJson) => id))
      if (!page.has_more) break
      cursor = `&cursor=${page.next_cursor}`
    }
    expect(seen).toEqual(ids)
    expect((await owner.get(`${methods}?cursor=pm_1`)).status).toBe(400)
  })
})
