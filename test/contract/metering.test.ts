/**
 * Priced operations (docs/contract.md#account-ledger-and-payment-method-fields): the charge and the operation commit
 * together or not at all.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createAccount, expectStatus } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { testSecretKey } from '../setup/database.js'
import { createPayer, type Facilitator, startFacilitator } from '../setup/facilitator.js'
import { runCli } from '../setup/process.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { uniqueName } from './tenant-fixture.js'

const prices = { createIssuer: 100, createApiKey: 100, domains: 7, createDomain: 10, updatePaymentMethod: 1 }

let app: TestApp
let facilitator: Facilitator
beforeAll(async () => {
  facilitator = await startFacilitator()
  app = await startApp({ roles: ['core'], env: facilitator.env, prices })
})
afterAll(async () => {
  await app.close()
  await facilitator.close()
})

interface Customer {
  owner: ApiClient
  A: string
  accountId: string
  ledger(): Promise<AnyJson[]>
}

/**
 * Creates an account.
 * @param credit its balance, in micro-USD
 * @param gated whether it gets a payment method, so that it must pay for priced operations
 */
async function customer(credit: number, gated = true): Promise<Customer> {
  const { owner, accountId } = await createAccount(app)
  const A = `/v1/accounts/${accountId}`
  if (gated) expectStatus(await owner.post(`${A}/payment-methods`, { type: 'x402' }), 201)
  if (credit > 0) {
    const payment = { 'payment-signature': createPayer().createPaymentHeader(credit) }
    expectStatus(await owner.post(`${A}/credits/topups`, { amount_μusd: credit }, payment), 200)
  }
  return {
    owner,
    A,
    accountId,
    ledger: async () => expectStatus(await owner.get(`${A}/credits/ledger?limit=100`), 200).data,
  }
}
const issuersOf = async ({ owner, A }: Customer): Promise<AnyJson[]> =>
  expectStatus(await owner.get(`${A}/issuers?limit=100`), 200).data

test('a gated account without credit gets 402 for a priced operation, and nothing is changed', async () => {
  const poor = await customer(99)
  const response = await poor.owner.post(`${poor.A}/issuers`, { name: 'I' })
  expect({ status: response.status, error: response.body.error }).toEqual({ status: 402, error: 'payment_required' })
  expect(response.headers.get('payment-required')).toBeNull()
  expect(await issuersOf(poor)).toEqual([])
  expect(await poor.ledger()).toHaveLength(1)
  const broke = await customer(0)
  expect((await broke.owner.get(`${broke.A}/domains`)).status).toBe(402)
  const text = 'mutation ($a: ID!) { createIssuer(accountId: $a, input: {name: "I"}) { id } }'
  const { errors } = (await broke.owner.graphql(text, { a: broke.accountId })).body
  expect(errors[0].extensions).toMatchObject({ code: 'PAYMENT_REQUIRED', status: 402 })
})

test('the ledger shows the charge, also for priced reads and GraphQL; operations without a price are free', async () => {
  const rich = await customer(1000)
  expectStatus(await rich.owner.post(`${rich.A}/issuers`, { name: 'I' }), 201)
  expectStatus(await rich.owner.get(`${rich.A}/domains`), 200)
  const text = 'mutation ($a: ID!) { createIssuer(accountId: $a, input: {name: "I"}) { id clients { data { id } } } }'
  expect((await rich.owner.graphql(text, { a: rich.accountId })).body.errors).toBeUndefined()
  expectStatus(await rich.owner.get(rich.A), 200)
  expect(
    (await rich.ledger()).map((entry) => [entry.type, entry.amount_μusd, entry.balance_μusd, entry.description]),
  ).toEqual([
    ['charge', -100, 793, 'createIssuer'],
    ['charge', -7, 893, 'domains'],
    ['charge', -100, 900, 'createIssuer'],
    ['topup', 1000, 1000, null],
  ])
})

test('a failed operation is not charged', async () => {
  const rich = await customer(1000)
  expect((await rich.owner.post(`${rich.A}/issuers`, { name: '' })).status).toBe(400)
  const host = `${uniqueName('paid')}.example.com`
  expectStatus(await rich.owner.post(`${rich.A}/domains`, { host }), 201)
  expect((await rich.owner.post(`${rich.A}/domains`, { host })).status).toBe(409)
  const keyed = { 'idempotency-key': uniqueName('key') }
  expect((await rich.owner.post(`${rich.A}/domains`, { host }, keyed)).status).toBe(409)
  expect((await rich.ledger())[0]).toMatchObject({ balance_μusd: 990, description: 'createDomain' })
})

test('a replayed idempotent POST is never charged, through REST and GraphQL', async () => {
  const rich = await customer(1000)
  const keyed = { 'idempotency-key': uniqueName('key') }
  for (const replayed of [null, 'true', 'true']) {
    const response = await rich.owner.post(`${rich.A}/issuers`, { name: 'I' }, keyed)
    expect([response.status, response.headers.get('idempotent-replayed')]).toEqual([201, replayed])
  }
  const text = 'mutation ($a: ID!) { createIssuer(accountId: $a, input: {name: "I"}, idempotencyKey: "k") { id } }'
  for (const _ of [1, 2, 3]) expectStatus(await rich.owner.graphql(text, { a: rich.accountId }), 200)
  expect((await rich.ledger()).map((entry) => entry.balance_μusd)).toEqual([800, 900, 1000])
  expect(await issuersOf(rich)).toHaveLength(2)
})

test('50 parallel priced operations never make the balance negative', async () => {
  const rich = await customer(1050)
  const second = await app.startSecondApp()
  const elsewhere = (body: object) =>
    fetch(`${second.baseUrl}${rich.A}/api-keys`, {
      method: 'POST',
      headers: { authorization: rich.owner.authorization!, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const key = (n: number) => ({ name: `key ${n}`, restrictions: { scopes: [] } })
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, n) => (n % 2 ? rich.owner.post(`${rich.A}/api-keys`, key(n)) : elsewhere(key(n)))),
  )
  const created = responses.filter(({ status }) => status === 201)
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201, 402]))
  expect(created).toHaveLength(10)
  // The list contains the key of the owner and the ten created keys.
  expect(expectStatus(await rich.owner.get(`${rich.A}/api-keys?limit=100`), 200).data).toHaveLength(11)
  const [latest] = await rich.ledger()
  expect(latest!.balance_μusd).toBe(50)
  const balances = (await rich.ledger()).map((entry) => entry.balance_μusd)
  expect(balances).toEqual([...balances].sort((a, b) => a - b))
})

test('an account that is not gated pays nothing for priced operations', async () => {
  const free = await customer(0, false)
  expectStatus(await free.owner.post(`${free.A}/issuers`, { name: 'I' }), 201)
  expect(await free.ledger()).toEqual([])
})

test('the OpenAPI document lists 402 for priced operations', async () => {
  const { paths } = (await app.operator.get('/openapi.json')).body
  expect(Object.keys(paths['/v1/accounts/{account_id}/issuers'].post.responses)).toContain('402')
  expect(Object.keys(paths['/v1/accounts/{account_id}/issuers'].get.responses)).not.toContain('402')
})

test('a price table with an operation that cannot have a price prevents the start', async () => {
  for (const wrong of [{ nothing: 1 }, { createTopup: 1 }, { createIssuer: 0 }, { createIssuer: 1.5 }, { me: 1 }]) {
    const starting = startApp({
      databaseUrl: app.databaseUrl,
      roles: ['core'],
      prices: wrong as Record<string, number>,
    })
    await expect(starting).rejects.toThrow(Object.keys(wrong)[0]!)
  }
})

test('gatehouse billing: shows the billing mode of an account and its reason; an operator override takes effect immediately and records an event', async () => {
  const { DATABASE_URL, SECRET_KEY, DATA_DIR } = {
    DATABASE_URL: app.databaseUrl,
    SECRET_KEY: testSecretKey,
    DATA_DIR: app.gatehouse.config.dataDir,
  }
  const billing = (...words: string[]) => runCli(['billing', ...words], { DATABASE_URL, SECRET_KEY, DATA_DIR })
  const rich = await customer(500)
  const { accountId, owner, A } = rich
  const shown = await billing('show', accountId, '--json')
  expect(JSON.parse(shown.stdout)).toEqual({
    id: accountId,
    billing_mode: 'gated',
    override: null,
    has_active_payment_method: true,
    balance_micro_usd: 500,
    open_payments: [],
  })
  expectStatus(await owner.post(`${A}/issuers`, { name: 'One' }), 201)
  expect(await billing('override', accountId, 'ungated')).toMatchObject({
    code: 0,
    stdout: `The billing mode of ${accountId} is now ungated.\n`,
  })
  expect(expectStatus(await owner.get(A), 200).data.billing_mode).toBe('ungated')
  expectStatus(await owner.post(`${A}/issuers`, { name: 'Two' }), 201)
  expect((await billing('show', accountId)).stdout).toMatch(
    /^billing mode {2}ungated \(set by an operator\)\ncredit {8}400 micro-USD$/m,
  )
  const [event] = expectStatus(await owner.get(`${A}/events?event_types=account.updated`), 200).data
  expect(event).toMatchObject({
    auth_type: 'system',
    changes: { billing_mode: { old: 'gated', new: 'ungated' } },
  })
  expect(await billing('override', accountId, 'none')).toMatchObject({
    stdout: `The billing mode of ${accountId} is now gated.\n`,
  })
  expectStatus(await owner.post(`${A}/issuers`, { name: 'Three' }), 201)
  expect((await rich.ledger())[0]).toMatchObject({ type: 'charge', balance_μusd: 300 })
  expect(await billing('override', accountId, 'free')).toMatchObject({ code: 2 })
  expect(await billing('show', `acc_${'0'.repeat(26)}`)).toMatchObject({ code: 1 })
})
