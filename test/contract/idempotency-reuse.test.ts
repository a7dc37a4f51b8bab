/**
 * Reuse of an Idempotency-Key with another body, valid or invalid (docs/contract.md#idempotency-key), for `/v1` and
 * GraphQL.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import {
  confidentialClient,
  createTenantFixture,
  publicClient,
  type TenantFixture,
  uniqueName,
} from './tenant-fixture.js'

let app: TestApp
let fixture: TenantFixture
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
})
afterAll(() => app.close())

const post = (path: string, body: object | string | undefined, key: string, more: Record<string, string> = {}) =>
  fixture.owner.post(path, body, { 'idempotency-key': key, ...more })
const REUSED = 'This Idempotency-Key was used for a different request. Use a new key.'

/** Bodies that differ from the first one, with the status that each gets under a new key. Most are invalid. */
const wrongBodies: [what: string, body: () => object | string | undefined, status: number, headers?: object][] = [
  ['another valid body', () => publicClient(), 201],
  ['no body', () => undefined, 400],
  ['an empty object', () => ({}), 400],
  ['a missing field', () => ({ ...publicClient(), settings: undefined }), 400],
  ['a wrong type', () => publicClient({ name: 7 }), 400],
  ['an unknown enum value', () => publicClient({ type: 'other' }), 400],
  ['an unknown field', () => publicClient({ unheard_of: true }), 400],
  ['a value that the operation refuses', () => publicClient({ name: ' ' }), 400],
  ['settings that the operation refuses', () => publicClient({ settings: { openid: { redirect_uris: ['x'] } } }), 400],
  ['an array', () => '[]', 400],
  ['null', () => 'null', 400],
  ['a string', () => '"x"', 400],
  ['truncated JSON', () => '{"name":', 400],
  ['text that is not JSON', () => 'name=App', 400],
  ['a NUL character', () => '{"name":"\\u0000"}', 400],
  ['a key that the input check refuses', () => '{"__proto__":{}}', 400],
  ['40 levels', () => `{"a":${'['.repeat(40)}${']'.repeat(40)}}`, 400],
  ['a body of another media type', () => JSON.stringify(publicClient()), 415, { 'content-type': 'text/plain' }],
  ['a body whose response is never stored', () => confidentialClient(), 201],
]

describe('the same key with a different body is 422, even if that body is invalid', () => {
  test.each(wrongBodies)('%s', async (_, body, status, ...[headers = {}]) => {
    const path = `${fixture.I}/clients`
    const key = uniqueName('key')
    const first = publicClient()
    const { data } = expectStatus(await post(path, first, key), 201)
    const response = await post(path, body(), key, headers as Record<string, string>)
    expect({ status: response.status, body: response.body }).toEqual({
      status: 422,
      body: { error: 'invalid_request', error_description: REUSED, request_id: expect.any(String) },
    })
    // The key still returns the response to the first request.
    const again = await post(path, first, key)
    expect({ status: again.status, id: again.body.data.id }).toEqual({ status: 201, id: data.id })
    // Under a new key, the body gets the status in the table, and the key of a refused body can be used again.
    const own = uniqueName('own')
    expect((await post(path, body(), own, headers as Record<string, string>)).status).toBe(status)
    if (status === 201) return
    expect((await post(path, publicClient(), own)).status).toBe(201)
  })

  test('a body that grants a scope that the caller lacks; without the key it is 403', async () => {
    const weak = await createRestrictedKey(fixture, { scopes: ['issuers.clients:write'] })
    const path = `${fixture.I}/clients`
    const key = uniqueName('key')
    expectStatus(await weak.post(path, publicClient(), { 'idempotency-key': key }), 201)
    const strong = publicClient({ settings: { scopes: ['issuers.users:read'] } })
    expect((await weak.post(path, strong, { 'idempotency-key': key })).status).toBe(422)
    expect((await weak.post(path, strong, { 'idempotency-key': uniqueName('key') })).status).toBe(403)
  })

  test('another path with a body that is invalid there, and an invalid query', async () => {
    const body = publicClient()
    const key = uniqueName('key')
    expectStatus(await post(`${fixture.I}/clients`, body, key), 201)
    expect((await post(`${fixture.I}/users`, body, key)).status).toBe(422)
    expect((await post(`${fixture.I}/users/usr_none/verifiers`, {}, key)).status).toBe(422)
    expect((await post(`${fixture.I}/clients?unheard_of=1`, {}, key)).status).toBe(422)
  })

  test('the rule also applies to a body that determines whether the response is stored', async () => {
    const hook = { url: 'https://hooks.example.com/in', event_types: ['webhook.failing'], name: 'spare' }
    const key = uniqueName('key')
    expectStatus(await post(`${fixture.A}/webhooks`, { ...hook, auth: 'none' }, key), 201)
    for (const body of [{}, { ...hook, auth: 'signature' }, { ...hook, auth: 'none', url: 7 }, '{']) {
      expect((await post(`${fixture.A}/webhooks`, body, key)).status).toBe(422)
    }
  })

  test('authentication and authorization come first: 401, 403 and 404 do not reveal the key', async () => {
    const path = `${fixture.I}/clients`
    const key = uniqueName('key')
    expectStatus(await post(path, publicClient(), key), 201)
    const headers = { 'idempotency-key': key }
    const reader = await createRestrictedKey(fixture, { scopes: ['issuers.clients:read'] })
    const foreign = await createTenantFixture(app, 'Foreign')
    for (const [api, status] of [
      [createApiClient(app.baseUrl), 401],
      [reader, 403],
      [foreign.owner, 404],
    ] as [ApiClient, number][]) {
      for (const body of ['{', publicClient()]) expect((await api.post(path, body, headers)).status).toBe(status)
    }
  })

  test('a body that cannot be decoded as text is refused as such: 413', async () => {
    const path = `${fixture.I}/clients`
    const key = uniqueName('key')
    expectStatus(await post(path, publicClient(), key), 201)
    expect((await post(path, publicClient({ description: 'x'.repeat(1_100_000) }), key)).status).toBe(413)
  })
})

describe('GraphQL', () => {
  const head = 'mutation ($a: ID!, $i: ID!, $input: CreateClientInput!, $k: String)'
  const call = 'createClient(accountId: $a, issuerId: $i, input: $input, idempotencyKey: $k) { id name }'
  const input = (more: object = {}) => ({
    name: uniqueName('Graph'),
    type: 'external',
    confidential: false,
    settings: {},
    ...more,
  })
  const run = (value: unknown, k: string, text = `${head} { ${call} }`, api = fixture.owner) =>
    api.graphql(text, { a: fixture.accountId, i: fixture.issuerId, input: value, k })
  const statusOf = ({ body }: { body: AnyJson }): number => body.errors?.[0].extensions.status ?? 200

  const inline = (text: string) =>
    `mutation ($a: ID!, $i: ID!, $k: String) { createClient(accountId: $a, issuerId: $i, input: ${text}, idempotencyKey: $k) { id } }`
  const cases: [string, unknown, string?][] = [
    ['other variables', input()],
    ['no input', undefined],
    ['null', null],
    ['an empty input', {}],
    ['a missing field', { name: 'x', type: 'external', confidential: false }],
    ['a wrong type', input({ name: 7 })],
    ['an unknown enum value', input({ type: 'other' })],
    ['an unknown field', input({ unheardOf: 1 })],
    ['a list', [1]],
    ['a value that the operation refuses', input({ name: ' ' })],
    ['an input whose response is never stored', input({ confidential: true })],
    ['a missing field in a literal', undefined, inline('{name: "x"}')],
    ['an unknown field in a literal', undefined, inline('{unheardOf: 1}')],
    ['a wrong type in a literal', undefined, inline('7')],
    ['a selected field that does not exist', input(), `${head} { ${call.replace('name', 'nothing')} }`],
  ]
  test.each(cases)('the same key with %s is 422', async (_, value, ...[text]) => {
    const key = uniqueName('gql')
    const first = input()
    const response = await run(first, key)
    expect(response.body.errors).toBeUndefined()
    const httpResponse = await run(value, key, text)
    expect(httpResponse.body.errors).toHaveLength(1)
    expect(httpResponse.body.errors[0]).toMatchObject({
      message: REUSED,
      extensions: { code: 'INVALID_REQUEST', status: 422, request_id: expect.any(String) },
    })
    expect((await run(first, key)).body).toEqual(response.body)
    // Under a new key the request gets its own result, and the key of a failed request can be used again.
    const own = uniqueName('own')
    const alone = statusOf(await run(value, own, text))
    expect([200, 400]).toContain(alone)
    if (alone === 400) expect(statusOf(await run(input(), own))).toBe(200)
  })

  test('a key in the default value of a variable is used as well', async () => {
    const key = uniqueName('gql')
    const text = `${head.replace('$k: String', `$k: String = "${key}"`)} { ${call} }`
    const value = input()
    const send = (of: object) => fixture.owner.graphql(text, { a: fixture.accountId, i: fixture.issuerId, input: of })
    const [one, two] = [await send(value), await send(value)]
    expect(one.body.errors).toBeUndefined()
    expect(two.body).toEqual(one.body)
    expect(statusOf(await send({}))).toBe(422)
  })

  test('authorization comes first', async () => {
    const key = uniqueName('gql')
    expect(statusOf(await run(input(), key))).toBe(200)
    const reader = await createRestrictedKey(fixture, { scopes: ['issuers.clients:read'] })
    expect(statusOf(await run({}, key, undefined, reader))).toBe(403)
    const foreign = await createTenantFixture(app, 'Foreign')
    expect(statusOf(await run({}, key, undefined, foreign.owner))).toBe(404)
    expect(statusOf(await run(undefined, key, inline('{unheardOf: 1}'), foreign.owner))).toBe(400)
  })
})

test('an organization key does not get the response to an account key with the same scopes', async () => {
  const scopes = ['issuers.organizations.members:write', 'issuers.users:read']
  const ofAccount = await createRestrictedKey(fixture, { scopes })
  const O = `${fixture.I}/organizations/${fixture.ids.org_id}`
  const { data } = expectStatus(
    await fixture.owner.post(`${O}/api-keys`, { type: 'api_key', name: uniqueName('key'), restrictions: { scopes } }),
    201,
  )
  const ofOrganization = createApiClient(app.baseUrl, { id: data.id, secret: data.secret_plain })
  const text = `mutation ($a: ID!, $i: ID!, $o: ID!, $m: ID!, $k: String) {
    addOrganizationMember(accountId: $a, issuerId: $i, orgId: $o, input: {memberId: $m}, idempotencyKey: $k) {
      user { username } } }`
  const { account_id, issuer_id, org_id, outsider_id } = fixture.ids
  const variables = { a: account_id, i: issuer_id, o: org_id, m: outsider_id, k: uniqueName('member') }
  const { body: first } = await ofAccount.graphql(text, variables)
  expect(first.data.addOrganizationMember.user).not.toBeNull()
  const { body: again } = await ofOrganization.graphql(text, variables)
  expect([again.data, again.errors[0].extensions.status]).toEqual([undefined, 422])
})

describe('the start of a TOTP enrollment is replayed, and its secret is encrypted at rest', () => {
  const body = { type: 'totp_enrollment', issuer_name: 'Acme' }
  const person = async () => {
    const user = { username_type: 'unique', username: uniqueName('u') }
    const { id } = expectStatus(await fixture.owner.post(`${fixture.I}/users`, user), 201).data
    return { id, path: `${fixture.I}/users/${id}/verifiers` }
  }
  const rowOf = (key: string) =>
    app.gatehouse.database.prisma.idempotentRequest.findUniqueOrThrow({
      where: { accountId_key: { accountId: fixture.accountId, key } },
    })

  test('the same key and body return the same response; another body is 422; without a key each request starts its own enrollment', async () => {
    const { path } = await person()
    const key = uniqueName('totp')
    const first = await post(path, body, key)
    expect(first.status).toBe(201)
    for (const _ of [1, 2]) {
      const again = await post(path, body, key)
      expect({ status: again.status, text: again.text }).toEqual({ status: 201, text: first.text })
      expect(again.headers.get('etag')).toBe(first.headers.get('etag'))
      expect(again.headers.get('idempotent-replayed')).toBe('true')
    }
    for (const other of [{ ...body, issuer_name: 'Other' }, { type: 'totp_enrollment' }, '{', { type: 'backup_codes' }])
      expect((await post(path, other, key)).status).toBe(422)
    expect(expectStatus(await fixture.owner.post(path, body), 201).data.secret).not.toBe(first.body.data.secret)
  })

  test('the database contains neither the secret nor the URI in plain text', async () => {
    const { path } = await person()
    const key = uniqueName('totp')
    const { data } = expectStatus(await post(path, body, key), 201)
    const row = await rowOf(key)
    const kept = JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? Number(value) : value))
    expect(kept).not.toContain(data.secret)
    expect(kept).not.toContain('otpauth')
    expect(row.body).toBe('')
    expect(JSON.parse(app.gatehouse.encryptor.decrypt(row.encryptedResponse!)).data.secret).toBe(data.secret)
  })

  test('backup codes are generated again, and none of them is stored for replay', async () => {
    const { path } = await person()
    const key = uniqueName('codes')
    const [one, two] = [
      await post(path, { type: 'backup_codes' }, key),
      await post(path, { type: 'backup_codes' }, key),
    ]
    expect([one.status, two.status]).toEqual([201, 201])
    expect(two.body.data.codes_plain).not.toEqual(one.body.data.codes_plain)
    await expect(rowOf(key)).rejects.toThrow()
  })

  test('an API key with fewer scopes does not get the secret again', async () => {
    const { path } = await person()
    const key = uniqueName('totp')
    expectStatus(await post(path, body, key), 201)
    const weak = await createRestrictedKey(fixture, { scopes: ['issuers.users.verifiers:write'] })
    const response = await weak.post(path, body, { 'idempotency-key': key })
    expect({ status: response.status, data: response.body.data }).toEqual({ status: 422, data: undefined })
    const colleague = await createRestrictedKey(fixture, {})
    expect((await colleague.post(path, body, { 'idempotency-key': key })).headers.get('idempotent-replayed')).toBe(
      'true',
    )
  })

  test('the start of an enrollment is replayed through GraphQL', async () => {
    const { id } = await person()
    const text = `mutation ($a: ID!, $i: ID!, $u: ID!, $n: String!, $k: String) {
      createVerifier(accountId: $a, issuerId: $i, userId: $u, input: {type: totp_enrollment, issuerName: $n}, idempotencyKey: $k) {
        id ... on TotpEnrollment { secret provisioningUri } } }`
    const key = uniqueName('totp')
    const run = (n: string) =>
      fixture.owner.graphql(text, { a: fixture.accountId, i: fixture.issuerId, u: id, n, k: key })
    const first = (await run('Acme')).body
    expect(first.data.createVerifier.secret).toMatch(/^[A-Z2-7]{32}$/)
    expect((await run('Acme')).body).toEqual(first)
    expect((await run('Other')).body.errors[0].extensions.status).toBe(422)
    expect(await rowOf(key)).toMatchObject({ body: '', encryptedResponse: expect.not.stringContaining('secret') })
  })
})
