/** How many statements an answer costs: one per relation, however many rows; a `/v1` read needs one besides the key's. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { sdl } from '../../src/graphql/schema.js'
import { transaction } from '../../src/platform/database.js'
import { systemContext } from '../../src/platform/jobs.js'
import { packageRoot } from '../../src/platform/package-root.js'
import { addEntry } from '../../src/resources/payments/credits.js'
import { routes } from '../../src/rest/routes.js'
import { fresh, makeWorld, publicClient, send, type World } from '../contract/world.js'
import { Realm } from '../idp/setup.js'
import { machineWith, makeTenant, must, scriptOf } from '../setup/actors.js'
import { apiAs, type Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let world: World
/** Texts of the statements that the application has sent. */
const sent: string[] = []

beforeAll(async () => {
  app = await startApp()
  world = await makeWorld(app)
  for (let i = 0; i < 4; i++) {
    const { id } = must(await world.owner.post(`${world.A}/issuers`, { name: `Issuer ${i}` }), 201).data
    for (let n = 0; n < 3; n++) must(await world.owner.post(`${world.A}/issuers/${id}/clients`, publicClient()), 201)
  }
  must(await world.owner.patch(world.A, { domains: [{ host: 'a.example' }] }), 200)
  const entry = { accountId: world.accountId, type: 'adjustment', amountMicroUsd: 5, description: null } as const
  await transaction(systemContext(app.gatehouse), (inside) => addEntry(inside, entry))
  const { pool } = app.gatehouse.tools
  const query = pool.query.bind(pool) as (...given: Loose[]) => Loose
  Object.assign(pool, {
    query: (...given: Loose[]) => {
      sent.push(typeof given[0] === 'string' ? given[0] : given[0].text)
      return query(...given)
    },
  })
})
afterAll(() => app.close())

/** The one statement that tells who is asking: by the key's row, or by all that a token depends on. */
const isLookUp = (text: string) => /api_keys k JOIN accounts|LEFT JOIN personal_tokens p/.test(text)

/** What a work has sent to the database besides the one look-up of its caller. */
async function statements(work: () => Promise<unknown>): Promise<string[]> {
  sent.length = 0
  await work()
  expect(sent.filter(isLookUp)).toHaveLength(1)
  // Hints about what was written before come whenever they come.
  return sent.filter((text) => !isLookUp(text) && !text.includes('pg_notify'))
}

test('account → issuers → clients is one statement each, for any number of rows', async () => {
  const query =
    'query ($id: ID!) { account(accountId: $id) { id domains { host } issuers(limit: 10) { data { id name clients(limit: 10) { data { id name issuerId } hasMore nextCursor } } } } }'
  let body: Loose
  const texts = await statements(async () => {
    body = (await world.owner.graphql(query, { id: world.accountId })).body
  })
  expect(body.errors).toBeUndefined()
  const issuers = body.data.account.issuers.data
  expect(issuers).toHaveLength(5)
  expect(issuers.map((issuer: Loose) => issuer.clients.data.length)).toEqual([3, 3, 3, 3, 1])
  for (const issuer of issuers) for (const client of issuer.clients.data) expect(client.issuerId).toBe(issuer.id)
  expect({ count: texts.length, texts }).toEqual({ count: 3, texts })
})

test('lists of accounts and issuers load their relations together', async () => {
  for (let i = 0; i < 3; i++) await makeTenant(app)
  const accounts = await statements(() =>
    app.operator.graphql(
      '{ accounts(limit: 20) { data { id domains { host } issuers(limit: 2) { data { id clients(limit: 2) { data { id } } } } } } }',
    ),
  )
  expect({ count: accounts.length, accounts }).toEqual({ count: 3, accounts })
})

test('different page sizes of one relation are not mixed up', async () => {
  const query =
    'query ($id: ID!) { account(accountId: $id) { one: issuers(limit: 1) { data { id } hasMore } two: issuers(limit: 2) { data { id } hasMore } all: issuers { data { id } hasMore } } }'
  const { body } = await world.owner.graphql(query, { id: world.accountId })
  const { one, two, all } = body.data.account
  expect([one.data.length, two.data.length, all.data.length]).toEqual([1, 2, 5])
  expect([one.hasMore, two.hasMore, all.hasMore]).toEqual([true, true, false])
})

test('loaders are forgotten with their request: what another caller changed is seen at once', async () => {
  const query = 'query ($id: ID!) { account(accountId: $id) { issuers(limit: 1) { data { description } } } }'
  const read = async () =>
    (await world.owner.graphql(query, { id: world.accountId })).body.data.account.issuers.data[0].description
  const [newest] = must(await world.owner.get(`${world.A}/issuers?limit=1`), 200).data
  must(await world.owner.patch(`${world.A}/issuers/${newest.id}`, { description: 'one' }), 200)
  expect(await read()).toBe('one')
  must(await world.owner.patch(`${world.A}/issuers/${newest.id}`, { description: 'two' }), 200)
  expect(await read()).toBe('two')
})

test.each(routes.filter(({ method }) => method === 'GET').map((route) => [`GET ${route.path}`, route] as const))(
  '%s costs one statement besides the look at the key',
  async (_, route) => {
    const texts = await statements(async () => expect((await send(world.owner, route, world.ids)).status).toBe(200))
    // A key of an organization needs to know whether that is suspended.
    // Counts of events need to know how far they are kept ready.
    const allowed = /OrganizationApiKeys?$|EventAggregate$/.test(route.operation) ? 2 : 1
    expect({ few: texts.length <= allowed, texts }).toEqual({ few: true, texts })
  },
)

test('a Bearer token costs one look-up as well: of a machine, of a user, of a script of a user', async () => {
  const scopes = ['issuers.clients:read']
  const person = `${fresh('ada')}@example.com`
  const realm = new Realm(app, world)
  const id = await realm.user(person)
  must(await world.owner.patch(`${world.I}/users/${id}`, { scopes }), 200)
  const notebook = await realm.client({ allowed_resources: [app.baseUrl] }, { settings: { scopes } })
  const params = { resource: app.baseUrl, scope: `openid ${scopes}` }
  const { access_token } = await realm.tokens(notebook, person, params)
  for (const api of [await machineWith(world, scopes), apiAs(app.baseUrl, access_token), await scriptOf(world, id)]) {
    // The key that signed it is asked for once per process.
    must(await api.get(`${world.I}/clients`), 200)
    const texts = await statements(async () => must(await api.get(`${world.I}/clients`), 200))
    expect({ count: texts.length, texts }).toEqual({ count: 1, texts })
  }
})

test('graphql/schema.graphql is the schema of this build; write it anew when it is not: sdl()', () => {
  expect(readFileSync(join(packageRoot, 'graphql/schema.graphql'), 'utf8')).toBe(sdl())
})

test('type names are singular nouns, fields are camelCase, lists are {data, nextCursor, hasMore}', () => {
  const text = sdl()
  for (const [, name, body] of text.matchAll(/type (\w+Page) \{([^}]*)\}/g)) {
    expect({ name, fields: [...body!.matchAll(/^ {2}(\w+):/gm)].map(([, field]) => field).sort() }).toEqual({
      name,
      fields: ['data', 'hasMore', 'nextCursor'],
    })
  }
  expect(text).not.toMatch(/^ {2}\w*_\w*[(:]/m)
})
