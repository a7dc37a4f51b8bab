/** Import of users of another product in batches through GraphQL, as in the console (docs/decisions/0038). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import bcrypt from 'bcrypt'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let tenant: Tenant
let hash: string

beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app, 'Acme')
  hash = await bcrypt.hash('correct horse battery staple', 4)
})
afterAll(() => app.close())

const mutation = `mutation ($accountId: ID!, $issuerId: ID!, $input: ImportUsersInput!) {
  importUsers(accountId: $accountId, issuerId: $issuerId, input: $input) {
    source read imported known refused withoutPassword totp hashes weak continuation
    refusals { line externalId reason message fix }
    users { line externalId userId usernameHash }
  }
}`

const auth0 = (name: string, more: object = {}) =>
  JSON.stringify({ user_id: `auth0|${name}`, email: `${name}@example.com`, password_hash: hash, ...more })
const numbered = (texts: string[], from = 1) => texts.map((text, at) => ({ line: from + at, text }))

async function send(input: object, to: Tenant = tenant, by: ApiClient = to.owner): Promise<AnyJson> {
  const variables = { accountId: to.accountId, issuerId: to.issuerId, input: { dryRun: false, last: true, ...input } }
  const { body } = await by.graphql(mutation, variables)
  return body.errors ? body.errors[0] : body.data.importUsers
}
const finished = async () =>
  expectStatus(await tenant.owner.get(`${tenant.A}/events?event_types=user.import.finished`), 200).data as AnyJson[]
const names = async () =>
  (await app.gatehouse.database.prisma.user.findMany({ where: { issuerId: tenant.issuerId } })).map(
    (row) => row.username,
  )

test('a dry run reports the result and writes nothing', async () => {
  const records = numbered([auth0('ada'), auth0('grace', { mfa_factors: [{ sms: { value: '1' } }] }), 'no JSON'], 7)
  const result = await send({ dryRun: true, records })
  expect(result).toMatchObject({ source: 'auth0', read: 3, imported: 1, refused: 2, hashes: { bcrypt: 1 } })
  expect(result.users).toEqual([
    { line: 7, externalId: 'auth0|ada', userId: null, usernameHash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
  ])
  expect(result.refusals).toEqual([
    expect.objectContaining({ line: 8, externalId: 'auth0|grace', reason: 'unsupported_credential' }),
    expect.objectContaining({ line: 9, externalId: null, reason: 'invalid_json' }),
  ])
  expect(await names()).toEqual([])
  expect(await finished()).toEqual([])
})

test('batches form one import: one event with all counts, and the event of each user names the importer', async () => {
  const first = await send({ records: numbered([auth0('ada'), auth0('bob')]), last: false })
  expect(first).toMatchObject({ imported: 2, read: 2 })
  expect(await finished()).toEqual([])
  // The product was detected from the first batch. The records of this batch alone would not identify the product.
  const records = numbered([JSON.stringify({ email: 'cleo@example.com' }), auth0('ada')], 3)
  const second = await send({ records, continues: first.continuation })
  expect(second).toMatchObject({ source: 'auth0', imported: 1, known: 1, withoutPassword: 1 })
  expect((await names()).sort()).toEqual(['ada@example.com', 'bob@example.com', 'cleo@example.com'])
  expect(await finished()).toEqual([
    expect.objectContaining({ data: { source: 'auth0', read: 4, imported: 3, known: 1, refused: 0 } }),
  ])
  const created = expectStatus(await tenant.owner.get(`${tenant.A}/events?event_types=user.created`), 200)
    .data as AnyJson[]
  expect(created.map(({ actor }) => actor.type)).toEqual(['api_key', 'api_key', 'api_key'])
  expect(JSON.stringify([first, second, created])).not.toContain(hash)
})

test('a batch that is sent again finds its users already imported', async () => {
  const records = numbered([auth0('dora')])
  const [one, two] = await Promise.all([send({ records }), send({ records })])
  expect([one.imported + two.imported, one.known + two.known]).toEqual([1, 1])
})

test('a name that occurs twice in a file has the same hash in two batches of a dry run', async () => {
  const [one, two] = await Promise.all([
    send({ dryRun: true, records: numbered([auth0('twin')]) }),
    send({ dryRun: true, records: numbered([JSON.stringify({ user_id: 'x', email: 'TWIN@example.com' })], 2) }),
  ])
  expect(one.users[0].usernameHash).toBe(two.users[0].usernameHash)
})

test('a value of the wrong type is refused with its line; the rest of the batch is imported', async () => {
  const hostile: Record<string, object> = {
    algorithm: { password_hash: undefined, custom_password_hash: { algorithm: { toString: 1 } } },
    encoding: {
      password_hash: undefined,
      custom_password_hash: { algorithm: 'bcrypt', hash: { value: { toString: 1 }, encoding: { toString: 1 } } },
    },
    name: { name: 'x'.repeat(501) },
    given: { given_name: '\u{1f600}'.repeat(400) },
  }
  const records = numbered([...Object.entries(hostile).map(([name, more]) => auth0(name, more)), auth0('fine')])
  const result = await send({ records, dryRun: true })
  expect(result).toMatchObject({ read: 5, imported: 1, refused: 4 })
  expect(result.refusals.map(({ line }: AnyJson) => line)).toEqual([1, 2, 3, 4])
})

describe('input', () => {
  test.each<[string, string, string]>([
    ['text that is not JSON', '{"a":', 'invalid_json'],
    ['a NUL', '{"user_id":"x\\u0000","email":"x@example.com"}', 'invalid_json'],
    ['a lone surrogate', '{"user_id":"x","email":"x@example.com","name":"\\ud800"}', 'invalid_json'],
    ['a list', '[]', 'invalid_record'],
    ['a missing username', '{"user_id":"x"}', 'no_username'],
    ['an invalid email address', '{"user_id":"x","email":"none"}', 'invalid_username'],
    ['a number too large', '{"user_id":"x","email":"x@example.com","user_metadata":{"n":1e999}}', 'invalid_json'],
    ['a __proto__ key', '{"user_id":"x","email":"x@example.com","user_metadata":{"__proto__":1}}', 'invalid_json'],
    [
      'nesting',
      `{"user_id":"x","email":"x@example.com","user_metadata":${'['.repeat(40)}${']'.repeat(40)}}`,
      'invalid_json',
    ],
    [
      'an unknown hash format',
      '{"user_id":"x","email":"x@example.com","password_hash":"$9$x"}',
      'unsupported_credential',
    ],
  ])('%s refuses only its own line', async (_, text, reason) => {
    const result = await send({ source: 'auth0', dryRun: false, records: numbered([text, auth0('ada')]) })
    expect(result).toMatchObject({ known: 1, refused: 1, refusals: [{ line: 1, reason }] })
  })

  test.each<[string, object, RegExp]>([
    [
      'records of an unknown product',
      { records: [{ line: 1, text: '{}' }] },
      /^source: is required if it cannot be detected/,
    ],
    ['nothing', { records: [] }, /^source: is required if it cannot be detected/],
    ['an invalid continuation', { continues: 'x', records: [] }, /^continues: must be/],
    [
      'too many records',
      { records: Array.from({ length: 1001 }, () => ({ line: 1, text: '' })) },
      /^records: must have at most/,
    ],
  ])('%s is an invalid request', async (_, input, message) => {
    const result = await send(input)
    expect(result).toMatchObject({ message: expect.stringMatching(message), extensions: { status: 400 } })
  })

  test('an import cannot use the continuation of a dry run', async () => {
    const { continuation } = await send({ records: numbered([auth0('zoe')]), dryRun: true, last: false })
    const refused = await send({ records: [], continues: continuation })
    expect(refused.message).toMatch(/must be the continuation/)
  })

  test('a continuation token is bound to its issuer', async () => {
    const other = await createTenant(app, 'Other')
    const { continuation } = await send({ records: numbered([auth0('eve')]), dryRun: true })
    const result = await send({ continues: continuation, records: [] }, other)
    expect(result.extensions).toMatchObject({ status: 400, details: [{ field: 'continues' }] })
  })
})

describe('access', () => {
  test.each<[string[], number | undefined]>([
    [['issuers.users:write', 'issuers.users.verifiers:write'], undefined],
    [['issuers.users:manage', 'issuers.users.verifiers:manage'], undefined],
    [['issuers.users:write'], 403],
    [['issuers.users.verifiers:write'], 403],
    [['issuers.users:read', 'issuers.users.verifiers:write'], 403],
  ])('a key with %j: %j', async (scopes, status) => {
    const created = expectStatus(
      await tenant.owner.post(`${tenant.A}/api-keys`, { name: 'x', restrictions: { scopes } }),
      201,
    ).data
    const key = createApiClient(app.baseUrl, { id: created.id, secret: created.secret_plain })
    const result = await send({ records: numbered([auth0('ada')]) }, tenant, key)
    expect(result.extensions?.status).toBe(status)
  })

  test('an issuer of another account is not found', async () => {
    const other = await createTenant(app, 'Other')
    const result = await send({ records: numbered([auth0('mallory')]) }, tenant, other.owner)
    expect(result.extensions).toMatchObject({ status: 404 })
  })

  test('importing into the console issuer requires full authority, because its users can own accounts', async () => {
    const [home] = (await app.gatehouse.database.prisma.deployment.findMany({
      where: { name: 'console' },
    })) as AnyJson[]
    const issuerId = home!.value.issuer_id as string
    const row = await app.gatehouse.database.prisma.issuer.findUniqueOrThrow({ where: { id: issuerId } })
    const scopes = ['issuers.users:manage', 'issuers.users.verifiers:manage']
    const path = `/v1/accounts/${row.accountId}/api-keys`
    const created = expectStatus(await app.operator.post(path, { name: 'x', restrictions: { scopes } }), 201).data
    const key = createApiClient(app.baseUrl, { id: created.id, secret: created.secret_plain })
    const at = { ...tenant, accountId: row.accountId, issuerId }
    expect((await send({ records: numbered([auth0('ada')]) }, at, key)).extensions).toMatchObject({ status: 403 })
    expect(await send({ records: numbered([auth0('ada')]), dryRun: true }, at, app.operator)).toMatchObject({
      imported: 1,
    })
  })
})
