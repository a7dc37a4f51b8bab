/** Metered operations (decisions D28, spec 4.1 rule 3): what has a price is charged with what it does, or not at all. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { makeAccount, must } from '../setup/actors.js'
import type { Api, Loose } from '../setup/api.js'
import { secretKey } from '../setup/database.js'
import { type Facilitator, newPayer, startFacilitator } from '../setup/facilitator.js'
import { runCli } from '../setup/process.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { fresh } from './world.js'

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
  owner: Api
  A: string
  accountId: string
  ledger(): Promise<Loose[]>
}

/** An account with this much credit; gated by its payment method. */
async function customer(credit: number, gated = true): Promise<Customer> {
  const { owner, accountId } = await makeAccount(app)
  const A = `/v1/accounts/${accountId}`
  if (gated) must(await owner.post(`${A}/payment-methods`, { type: 'x402' }), 201)
  if (credit > 0) {
    const payment = { 'payment-signature': newPayer().pay(credit) }
    must(await owner.post(`${A}/credits/topups`, { amount_μusd: credit }, payment), 200)
  }
  return {
    owner,
    A,
    accountId,
    ledger: async () => must(await owner.get(`${A}/credits/ledger?limit=100`), 200).data,
  }
}
const issuersOf = async ({ owner, A }: Customer): Promise<Loose[]> =>
  must(await owner.get(`${A}/issuers?limit=100`), 200).data

test('a gated account without credit gets 402 for a priced operation, and nothing is done', async () => {
  const poor = await customer(99)
  const answer = await poor.owner.post(`${poor.A}/issuers`, { name: 'I' })
  expect({ status: answer.status, error: answer.body.error }).toEqual({ status: 402, error: 'payment_required' })
  expect(answer.headers.get('payment-required')).toBeNull()
  expect(await issuersOf(poor)).toEqual([])
  expect(await poor.ledger()).toHaveLength(1)
  const broke = await customer(0)
  expect((await broke.owner.get(`${broke.A}/domains`)).status).toBe(402)
  const text = 'mutation ($a: ID!) { createIssuer(accountId: $a, input: {name: "I"}) { id } }'
  const { errors } = (await broke.owner.graphql(text, { a: broke.accountId })).body
  expect(errors[0].extensions).toMatchObject({ code: 'PAYMENT_REQUIRED', status: 402 })
})

test('the charge stands in the ledger, reads and GraphQL included; what has no price is free', async () => {
  const rich = await customer(1000)
  must(await rich.owner.post(`${rich.A}/issuers`, { name: 'I' }), 201)
  must(await rich.owner.get(`${rich.A}/domains`), 200)
  const text = 'mutation ($a: ID!) { createIssuer(accountId: $a, input: {name: "I"}) { id clients { data { id } } } }'
  expect((await rich.owner.graphql(text, { a: rich.accountId })).body.errors).toBeUndefined()
  must(await rich.owner.get(rich.A), 200)
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
  const host = `${fresh('paid')}.example.com`
  must(await rich.owner.post(`${rich.A}/domains`, { host }), 201)
  expect((await rich.owner.post(`${rich.A}/domains`, { host })).status).toBe(409)
  const keyed = { 'idempotency-key': fresh('key') }
  expect((await rich.owner.post(`${rich.A}/domains`, { host }, keyed)).status).toBe(409)
  expect((await rich.ledger())[0]).toMatchObject({ balance_μusd: 990, description: 'createDomain' })
})

test('a replayed idempotent POST is never charged, by REST and by GraphQL', async () => {
  const rich = await customer(1000)
  const keyed = { 'idempotency-key': fresh('key') }
  for (const replayed of [null, 'true', 'true']) {
    const answer = await rich.owner.post(`${rich.A}/issuers`, { name: 'I' }, keyed)
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, replayed])
  }
  const text = 'mutation ($a: ID!) { createIssuer(accountId: $a, input: {name: "I"}, idempotencyKey: "k") { id } }'
  for (const _ of [1, 2, 3]) must(await rich.owner.graphql(text, { a: rich.accountId }), 200)
  expect((await rich.ledger()).map((entry) => entry.balance_μusd)).toEqual([800, 900, 1000])
  expect(await issuersOf(rich)).toHaveLength(2)
})

test('50 parallel priced operations never take the balance below zero', async () => {
  const rich = await customer(1050)
  const second = await app.second()
  const elsewhere = (body: object) =>
    fetch(`${second.baseUrl}${rich.A}/api-keys`, {
      method: 'POST',
      headers: { authorization: rich.owner.authorization!, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const key = (n: number) => ({ name: `key ${n}`, restrictions: { scopes: [] } })
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => (n % 2 ? rich.owner.post(`${rich.A}/api-keys`, key(n)) : elsewhere(key(n)))),
  )
  const made = answers.filter(({ status }) => status === 201)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 402]))
  expect(made).toHaveLength(10)
  // Besides the account's first one.
  expect(must(await rich.owner.get(`${rich.A}/api-keys?limit=100`), 200).data).toHaveLength(11)
  const [latest] = await rich.ledger()
  expect(latest!.balance_μusd).toBe(50)
  const balances = (await rich.ledger()).map((entry) => entry.balance_μusd)
  expect(balances).toEqual([...balances].sort((a, b) => a - b))
})

test('an account that is not gated pays nothing', async () => {
  const free = await customer(0, false)
  must(await free.owner.post(`${free.A}/issuers`, { name: 'I' }), 201)
  expect(await free.ledger()).toEqual([])
})

test('the OpenAPI document foretells 402 where something has a price', async () => {
  const { paths } = (await app.operator.get('/openapi.json')).body
  expect(Object.keys(paths['/v1/accounts/{account_id}/issuers'].post.responses)).toContain('402')
  expect(Object.keys(paths['/v1/accounts/{account_id}/issuers'].get.responses)).not.toContain('402')
})

test('a table of prices that names what cannot have one keeps the product from starting', async () => {
  for (const wrong of [{ nothing: 1 }, { createTopup: 1 }, { createIssuer: 0 }, { createIssuer: 1.5 }, { me: 1 }]) {
    const starting = startApp({
      databaseUrl: app.databaseUrl,
      roles: ['core'],
      prices: wrong as Record<string, number>,
    })
    await expect(starting).rejects.toThrow(Object.keys(wrong)[0]!)
  }
})

test('gatehouse billing: shows how an account is billed and why; the override of an operator counts at once, with an event', async () => {
  const { DATABASE_URL, SECRET_KEY, DATA_DIR } = {
    DATABASE_URL: app.databaseUrl,
    SECRET_KEY: secretKey,
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
  must(await owner.post(`${A}/issuers`, { name: 'One' }), 201)
  expect(await billing('override', accountId, 'ungated')).toMatchObject({
    code: 0,
    stdout: `${accountId} is ungated from now on.\n`,
  })
  expect(must(await owner.get(A), 200).data.billing_mode).toBe('ungated')
  must(await owner.post(`${A}/issuers`, { name: 'Two' }), 201)
  expect((await billing('show', accountId)).stdout).toMatch(
    /^billing mode {2}ungated \(set by an operator\)\ncredit {8}400 micro-USD$/m,
  )
  const [told] = must(await owner.get(`${A}/events?event_types=account.updated`), 200).data
  expect(told).toMatchObject({
    auth_type: 'system',
    changes: { billing_mode: { old: 'gated', new: 'ungated' } },
  })
  expect(await billing('override', accountId, 'none')).toMatchObject({ stdout: `${accountId} is gated from now on.\n` })
  must(await owner.post(`${A}/issuers`, { name: 'Three' }), 201)
  expect((await rich.ledger())[0]).toMatchObject({ type: 'charge', balance_μusd: 300 })
  expect(await billing('override', accountId, 'free')).toMatchObject({ code: 2 })
  expect(await billing('show', `acc_${'0'.repeat(26)}`)).toMatchObject({ code: 1 })
})
