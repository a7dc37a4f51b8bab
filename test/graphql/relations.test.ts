/**
 * The number of SQL statements of a request: in GraphQL one per relation, for any number of rows, and in `/v1` one per
 * GET request. The statement of the authentication is not counted.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { sdl } from '../../src/graphql/schema.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { transaction } from '../../src/platform/postgres/transaction.js'
import { addLedgerEntry } from '../../src/resources/payments/credits.js'
import { routes } from '../../src/rest/routes.js'
import {
  createTenantFixture,
  publicClient,
  sendRouteRequest,
  type TenantFixture,
  uniqueName,
} from '../contract/tenant-fixture.js'
import { Realm } from '../idp/realm.js'
import { createMachineClient, createPersonalTokenClient, createTenant, expectStatus } from '../setup/actors.js'
import { type AnyJson, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let fixture: TenantFixture
/** Texts of the statements that the application has sent since `statementsDuring` was called. */
const sent: string[] = []

beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  for (let i = 0; i < 4; i++) {
    const { id } = expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name: `Issuer ${i}` }), 201).data
    for (let n = 0; n < 3; n++)
      expectStatus(await fixture.owner.post(`${fixture.A}/issuers/${id}/clients`, publicClient()), 201)
  }
  expectStatus(await fixture.owner.patch(fixture.A, { domains: [{ host: 'a.example' }] }), 200)
  const entry = { accountId: fixture.accountId, type: 'adjustment', amountMicroUsd: 5, description: null } as const
  await transaction(systemContext(app.gatehouse), (tx) => addLedgerEntry(tx, entry))
  const { pool } = app.gatehouse.database
  const query = pool.query.bind(pool) as (...given: AnyJson[]) => AnyJson
  Object.assign(pool, {
    query: (...given: AnyJson[]) => {
      sent.push(typeof given[0] === 'string' ? given[0] : given[0].text)
      return query(...given)
    },
  })
})
afterAll(() => app.close())

/** Returns true for the statement that authenticates an API key or an access token. */
const isAuthentication = (text: string) => /api_keys k JOIN accounts|LEFT JOIN personal_tokens p/.test(text)

/** Returns the statements that a function causes, without the authentication of the caller. */
async function statementsDuring(work: () => Promise<unknown>): Promise<string[]> {
  sent.length = 0
  await work()
  expect(sent.filter(isAuthentication)).toHaveLength(1)
  // Ignores the notifications of earlier changes, which may be sent at the same time.
  return sent.filter((text) => !isAuthentication(text) && !text.includes('pg_notify'))
}

test('account, issuers and clients are one statement each, for any number of rows', async () => {
  const query =
    'query ($id: ID!) { account(accountId: $id) { id domains { host } issuers(limit: 10) { data { id name clients(limit: 10) { data { id name issuerId } hasMore nextCursor } } } } }'
  let body: AnyJson
  const texts = await statementsDuring(async () => {
    body = (await fixture.owner.graphql(query, { id: fixture.accountId })).body
  })
  expect(body.errors).toBeUndefined()
  const issuers = body.data.account.issuers.data
  expect(issuers).toHaveLength(5)
  expect(issuers.map((issuer: AnyJson) => issuer.clients.data.length)).toEqual([3, 3, 3, 3, 1])
  for (const issuer of issuers) for (const client of issuer.clients.data) expect(client.issuerId).toBe(issuer.id)
  expect({ count: texts.length, texts }).toEqual({ count: 3, texts })
})

test('a list of accounts loads the issuers, and their clients, with one statement each', async () => {
  for (let i = 0; i < 3; i++) await createTenant(app)
  const accounts = await statementsDuring(() =>
    app.operator.graphql(
      '{ accounts(limit: 20) { data { id domains { host } issuers(limit: 2) { data { id clients(limit: 2) { data { id } } } } } } }',
    ),
  )
  expect({ count: accounts.length, accounts }).toEqual({ count: 3, accounts })
})

test('aliases of a relation with different page sizes have different results', async () => {
  const query =
    'query ($id: ID!) { account(accountId: $id) { one: issuers(limit: 1) { data { id } hasMore } two: issuers(limit: 2) { data { id } hasMore } all: issuers { data { id } hasMore } } }'
  const { body } = await fixture.owner.graphql(query, { id: fixture.accountId })
  const { one, two, all } = body.data.account
  expect([one.data.length, two.data.length, all.data.length]).toEqual([1, 2, 5])
  expect([one.hasMore, two.hasMore, all.hasMore]).toEqual([true, true, false])
})

test('results are not cached between requests', async () => {
  const query = 'query ($id: ID!) { account(accountId: $id) { issuers(limit: 1) { data { description } } } }'
  const read = async () =>
    (await fixture.owner.graphql(query, { id: fixture.accountId })).body.data.account.issuers.data[0].description
  const [newest] = expectStatus(await fixture.owner.get(`${fixture.A}/issuers?limit=1`), 200).data
  expectStatus(await fixture.owner.patch(`${fixture.A}/issuers/${newest.id}`, { description: 'one' }), 200)
  expect(await read()).toBe('one')
  expectStatus(await fixture.owner.patch(`${fixture.A}/issuers/${newest.id}`, { description: 'two' }), 200)
  expect(await read()).toBe('two')
})

test.each(routes.filter(({ method }) => method === 'GET').map((route) => [`GET ${route.path}`, route] as const))(
  '%s needs one statement besides the authentication',
  async (_, route) => {
    const texts = await statementsDuring(async () =>
      expect((await sendRouteRequest(fixture.owner, route, fixture.ids)).status).toBe(200),
    )
    // Some routes need a second statement: API keys of an organization depend on the status of the organization, and
    // event counts depend on the event up to which counts are precomputed.
    const allowed = /OrganizationApiKeys?$|EventAggregate$/.test(route.operation) ? 2 : 1
    expect({ few: texts.length <= allowed, texts }).toEqual({ few: true, texts })
  },
)

test('a request with an access token of a machine client, a user or a personal token needs one statement besides the authentication', async () => {
  const scopes = ['issuers.clients:read']
  const username = `${uniqueName('ada')}@example.com`
  const realm = new Realm(app, fixture)
  const id = await realm.createUser(username)
  expectStatus(await fixture.owner.patch(`${fixture.I}/users/${id}`, { scopes }), 200)
  const client = await realm.createClient({ allowed_resources: [app.baseUrl] }, { settings: { scopes } })
  const params = { resource: app.baseUrl, scope: `openid ${scopes}` }
  const { access_token } = await realm.signInForTokens(client, username, params)
  for (const api of [
    await createMachineClient(fixture, scopes),
    createApiClient(app.baseUrl, access_token),
    await createPersonalTokenClient(fixture, id),
  ]) {
    // The first request also loads the signing key.
    expectStatus(await api.get(`${fixture.I}/clients`), 200)
    const texts = await statementsDuring(async () => expectStatus(await api.get(`${fixture.I}/clients`), 200))
    expect({ count: texts.length, texts }).toEqual({ count: 1, texts })
  }
})

test('graphql/schema.graphql is up to date; npm run sdl writes it', () => {
  expect(readFileSync(join(packageRoot, 'graphql/schema.graphql'), 'utf8')).toBe(sdl())
})

test('page types have the fields data, nextCursor and hasMore, and field names contain no underscore', () => {
  const text = sdl()
  for (const [, name, body] of text.matchAll(/type (\w+Page) \{([^}]*)\}/g)) {
    expect({ name, fields: [...body!.matchAll(/^ {2}(\w+):/gm)].map(([, field]) => field).sort() }).toEqual({
      name,
      fields: ['data', 'hasMore', 'nextCursor'],
    })
  }
  expect(text).not.toMatch(/^ {2}\w*_\w*[(:]/m)
})
