/** Users of another product, brought in portions through GraphQL as the console does (decision 0047). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import bcrypt from 'bcrypt'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import { type Api, apiAs, type Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let tenant: Tenant
let hash: string

beforeAll(async () => {
  app = await startApp()
  tenant = await makeTenant(app, 'Acme')
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

async function send(input: object, to: Tenant = tenant, by: Api = to.owner): Promise<Loose> {
  const variables = { accountId: to.accountId, issuerId: to.issuerId, input: { dryRun: false, last: true, ...input } }
  const { body } = await by.graphql(mutation, variables)
  return body.errors ? body.errors[0] : body.data.importUsers
}
const finished = async () =>
  must(await tenant.owner.get(`${tenant.A}/events?event_types=user.import.finished`), 200).data as Loose[]
const names = async () =>
  (await app.gatehouse.tools.prisma.user.findMany({ where: { issuerId: tenant.issuerId } })).map((row) => row.username)

test('a dry run says what would be and writes nothing', async () => {
  const records = numbered([auth0('ada'), auth0('grace', { mfa_factors: [{ sms: { value: '1' } }] }), 'no JSON'], 7)
  const answer = await send({ dryRun: true, records })
  expect(answer).toMatchObject({ source: 'auth0', read: 3, imported: 1, refused: 2, hashes: { bcrypt: 1 } })
  expect(answer.users).toEqual([
    { line: 7, externalId: 'auth0|ada', userId: null, usernameHash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
  ])
  expect(answer.refusals).toEqual([
    expect.objectContaining({ line: 8, externalId: 'auth0|grace', reason: 'unsupported_credential' }),
    expect.objectContaining({ line: 9, externalId: null, reason: 'invalid_json' }),
  ])
  expect(await names()).toEqual([])
  expect(await finished()).toEqual([])
})

test('portions are one import: one event with all counts, and each user’s own tells who brought it', async () => {
  const first = await send({ records: numbered([auth0('ada'), auth0('bob')]), last: false })
  expect(first).toMatchObject({ imported: 2, read: 2 })
  expect(await finished()).toEqual([])
  // The product was seen in the first portion: this record alone says nothing of it.
  const records = numbered([JSON.stringify({ email: 'cleo@example.com' }), auth0('ada')], 3)
  const second = await send({ records, continues: first.continuation })
  expect(second).toMatchObject({ source: 'auth0', imported: 1, known: 1, withoutPassword: 1 })
  expect((await names()).sort()).toEqual(['ada@example.com', 'bob@example.com', 'cleo@example.com'])
  expect(await finished()).toEqual([
    expect.objectContaining({ data: { source: 'auth0', read: 4, imported: 3, known: 1, refused: 0 } }),
  ])
  const created = must(await tenant.owner.get(`${tenant.A}/events?event_types=user.created`), 200).data as Loose[]
  expect(created.map(({ actor }) => actor.type)).toEqual(['api_key', 'api_key', 'api_key'])
  expect(JSON.stringify([first, second, created])).not.toContain(hash)
})

test('a portion that is sent again finds its users here', async () => {
  const records = numbered([auth0('dora')])
  const [one, two] = await Promise.all([send({ records }), send({ records })])
  expect([one.imported + two.imported, one.known + two.known]).toEqual([1, 1])
})

test('a name that comes twice in a file has the same hash in two portions of a dry run', async () => {
  const [one, two] = await Promise.all([
    send({ dryRun: true, records: numbered([auth0('twin')]) }),
    send({ dryRun: true, records: numbered([JSON.stringify({ user_id: 'x', email: 'TWIN@example.com' })], 2) }),
  ])
  expect(one.users[0].usernameHash).toBe(two.users[0].usernameHash)
})

test('what stands where another thing should is refused with its line; the rest of the portion is taken', async () => {
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
  const answer = await send({ records, dryRun: true })
  expect(answer).toMatchObject({ read: 5, imported: 1, refused: 4 })
  expect(answer.refusals.map(({ line }: Loose) => line)).toEqual([1, 2, 3, 4])
})

describe('what may be sent', () => {
  test.each<[string, string, string]>([
    ['text that is no JSON', '{"a":', 'invalid_json'],
    ['a NUL', '{"user_id":"x\\u0000","email":"x@example.com"}', 'invalid_json'],
    ['half a pair of surrogates', '{"user_id":"x","email":"x@example.com","name":"\\ud800"}', 'invalid_json'],
    ['a list', '[]', 'invalid_record'],
    ['nobody’s name', '{"user_id":"x"}', 'no_username'],
    ['an address that is none', '{"user_id":"x","email":"none"}', 'invalid_username'],
    ['a number too large', '{"user_id":"x","email":"x@example.com","user_metadata":{"n":1e999}}', 'invalid_json'],
    ['the prototype', '{"user_id":"x","email":"x@example.com","user_metadata":{"__proto__":1}}', 'invalid_json'],
    [
      'nesting',
      `{"user_id":"x","email":"x@example.com","user_metadata":${'['.repeat(40)}${']'.repeat(40)}}`,
      'invalid_json',
    ],
    [
      'a hash that nobody knows',
      '{"user_id":"x","email":"x@example.com","password_hash":"$9$x"}',
      'unsupported_credential',
    ],
  ])('%s refuses its line alone', async (_, text, reason) => {
    const answer = await send({ source: 'auth0', dryRun: false, records: numbered([text, auth0('ada')]) })
    expect(answer).toMatchObject({ known: 1, refused: 1, refusals: [{ line: 1, reason }] })
  })

  test.each<[string, object, RegExp]>([
    ['records of no product', { records: [{ line: 1, text: '{}' }] }, /^source: is not to be seen/],
    ['nothing', { records: [] }, /^source: is not to be seen/],
    ['a continuation that is none', { continues: 'x', records: [] }, /^continues: is not/],
    [
      'too many',
      { records: Array.from({ length: 1001 }, () => ({ line: 1, text: '' })) },
      /^records: must hold at most/,
    ],
  ])('%s is an invalid request', async (_, input, message) => {
    const answer = await send(input)
    expect(answer).toMatchObject({ message: expect.stringMatching(message), extensions: { status: 400 } })
  })

  test('no import goes on from a rehearsal: it would tell of users that nobody has', async () => {
    const { continuation } = await send({ records: numbered([auth0('zoe')]), dryRun: true, last: false })
    const refused = await send({ records: [], continues: continuation })
    expect(refused.message).toMatch(/not the continuation/)
  })

  test('a continuation belongs to its issuer', async () => {
    const other = await makeTenant(app, 'Other')
    const { continuation } = await send({ records: numbered([auth0('eve')]), dryRun: true })
    const answer = await send({ continues: continuation, records: [] }, other)
    expect(answer.extensions).toMatchObject({ status: 400, details: [{ field: 'continues' }] })
  })
})

describe('who may', () => {
  test.each<[string[], number | undefined]>([
    [['issuers.users:write', 'issuers.users.verifiers:write'], undefined],
    [['issuers.users:manage', 'issuers.users.verifiers:manage'], undefined],
    [['issuers.users:write'], 403],
    [['issuers.users.verifiers:write'], 403],
    [['issuers.users:read', 'issuers.users.verifiers:write'], 403],
  ])('a key with %j: %j', async (scopes, status) => {
    const made = must(
      await tenant.owner.post(`${tenant.A}/api-keys`, { name: 'x', restrictions: { scopes } }),
      201,
    ).data
    const key = apiAs(app.baseUrl, { id: made.id, secret: made.secret_plain })
    const answer = await send({ records: numbered([auth0('ada')]) }, tenant, key)
    expect(answer.extensions?.status).toBe(status)
  })

  test('an issuer of somebody else is not there', async () => {
    const other = await makeTenant(app, 'Stranger')
    const answer = await send({ records: numbered([auth0('mallory')]) }, tenant, other.owner)
    expect(answer.extensions).toMatchObject({ status: 404 })
  })

  test('who is imported into the console’s issuer could own accounts: that is for all authority alone', async () => {
    const [home] = (await app.gatehouse.tools.prisma.deployment.findMany({ where: { name: 'console' } })) as Loose[]
    const issuerId = home!.value.issuer_id as string
    const row = await app.gatehouse.tools.prisma.issuer.findUniqueOrThrow({ where: { id: issuerId } })
    const scopes = ['issuers.users:manage', 'issuers.users.verifiers:manage']
    const path = `/v1/accounts/${row.accountId}/api-keys`
    const made = must(await app.operator.post(path, { name: 'x', restrictions: { scopes } }), 201).data
    const key = apiAs(app.baseUrl, { id: made.id, secret: made.secret_plain })
    const at = { ...tenant, accountId: row.accountId, issuerId }
    expect((await send({ records: numbered([auth0('ada')]) }, at, key)).extensions).toMatchObject({ status: 403 })
    expect(await send({ records: numbered([auth0('ada')]), dryRun: true }, at, app.operator)).toMatchObject({
      imported: 1,
    })
  })
})
