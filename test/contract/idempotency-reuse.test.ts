/** An Idempotency-Key that is sent again with another body, whatever that body is (spec 4.1), for `/v1` and GraphQL. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { keyWith, must } from '../setup/actors.js'
import { type Api, apiAs, type Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { confidentialClient, fresh, makeWorld, publicClient, type World } from './world.js'

let app: TestApp
let world: World
beforeAll(async () => {
  app = await startApp()
  world = await makeWorld(app)
})
afterAll(() => app.close())

const post = (path: string, body: object | string | undefined, key: string, more: Record<string, string> = {}) =>
  world.owner.post(path, body, { 'idempotency-key': key, ...more })
const REUSED = 'This Idempotency-Key was used for a different request.'

/** Bodies that are refused on their own, with the status that they get under a key of their own. */
const wrongBodies: [what: string, body: () => object | string | undefined, status: number, headers?: object][] = [
  ['another good body', () => publicClient(), 201],
  ['no body', () => undefined, 400],
  ['an empty object', () => ({}), 400],
  ['a missing field', () => ({ ...publicClient(), settings: undefined }), 400],
  ['a wrong type', () => publicClient({ name: 7 }), 400],
  ['a wrong choice', () => publicClient({ type: 'other' }), 400],
  ['an unknown field', () => publicClient({ unheard_of: true }), 400],
  ['a value that the rules refuse', () => publicClient({ name: ' ' }), 400],
  ['settings that the rules refuse', () => publicClient({ settings: { openid: { redirect_uris: ['x'] } } }), 400],
  ['an array', () => '[]', 400],
  ['null', () => 'null', 400],
  ['a string', () => '"x"', 400],
  ['half a document', () => '{"name":', 400],
  ['no JSON at all', () => 'name=App', 400],
  ['a NUL character', () => '{"name":"\\u0000"}', 400],
  ['a key that the gate refuses', () => '{"__proto__":{}}', 400],
  ['40 levels', () => `{"a":${'['.repeat(40)}${']'.repeat(40)}}`, 400],
  ['a body of another media type', () => JSON.stringify(publicClient()), 415, { 'content-type': 'text/plain' }],
  ['a body whose answer is never cached', () => confidentialClient(), 201],
]

describe('the same key with a different body is 422, whatever that body is', () => {
  test.each(wrongBodies)('%s', async (_, body, status, ...[headers = {}]) => {
    const path = `${world.I}/clients`
    const key = fresh('key')
    const first = publicClient()
    const { data } = must(await post(path, first, key), 201)
    const answer = await post(path, body(), key, headers as Record<string, string>)
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 422,
      body: { error: 'invalid_request', error_description: REUSED, request_id: expect.any(String) },
    })
    // The key still belongs to the first request.
    const again = await post(path, first, key)
    expect({ status: again.status, id: again.body.data.id }).toEqual({ status: 201, id: data.id })
    // The body itself is what the table says, and a body that is refused leaves its key to the next one.
    const own = fresh('own')
    expect((await post(path, body(), own, headers as Record<string, string>)).status).toBe(status)
    if (status === 201) return
    expect((await post(path, publicClient(), own)).status).toBe(201)
  })

  test('a body that gives away a scope which the caller lacks; without the key it is 403', async () => {
    const weak = await keyWith(world, { scopes: ['issuers.clients:write'] })
    const path = `${world.I}/clients`
    const key = fresh('key')
    must(await weak.post(path, publicClient(), { 'idempotency-key': key }), 201)
    const strong = publicClient({ settings: { scopes: ['issuers.users:read'] } })
    expect((await weak.post(path, strong, { 'idempotency-key': key })).status).toBe(422)
    expect((await weak.post(path, strong, { 'idempotency-key': fresh('key') })).status).toBe(403)
  })

  test('another path with a body that is wrong there, and a query that is wrong', async () => {
    const body = publicClient()
    const key = fresh('key')
    must(await post(`${world.I}/clients`, body, key), 201)
    expect((await post(`${world.I}/users`, body, key)).status).toBe(422)
    expect((await post(`${world.I}/users/usr_none/verifiers`, {}, key)).status).toBe(422)
    expect((await post(`${world.I}/clients?unheard_of=1`, {}, key)).status).toBe(422)
  })

  test('also for a body that decides whether the answer is cached', async () => {
    const hook = { url: 'https://hooks.example.com/in', event_types: ['webhook.failing'], name: 'spare' }
    const key = fresh('key')
    must(await post(`${world.A}/webhooks`, { ...hook, auth: 'none' }, key), 201)
    for (const body of [{}, { ...hook, auth: 'signature' }, { ...hook, auth: 'none', url: 7 }, '{']) {
      expect((await post(`${world.A}/webhooks`, body, key)).status).toBe(422)
    }
  })

  test('authentication and authorization come first: 401, 403 and 404 say nothing of the key', async () => {
    const path = `${world.I}/clients`
    const key = fresh('key')
    must(await post(path, publicClient(), key), 201)
    const headers = { 'idempotency-key': key }
    const reader = await keyWith(world, { scopes: ['issuers.clients:read'] })
    const foreign = await makeWorld(app, 'Foreign')
    for (const [api, status] of [
      [apiAs(app.baseUrl), 401],
      [reader, 403],
      [foreign.owner, 404],
    ] as [Api, number][]) {
      for (const body of ['{', publicClient()]) expect((await api.post(path, body, headers)).status).toBe(status)
    }
  })

  test('what cannot be read as text is refused as such: 413', async () => {
    const path = `${world.I}/clients`
    const key = fresh('key')
    must(await post(path, publicClient(), key), 201)
    expect((await post(path, publicClient({ description: 'x'.repeat(1_100_000) }), key)).status).toBe(413)
  })
})

describe('GraphQL', () => {
  const head = 'mutation ($a: ID!, $i: ID!, $input: CreateClientInput!, $k: String)'
  const call = 'createClient(accountId: $a, issuerId: $i, input: $input, idempotencyKey: $k) { id name }'
  const input = (more: object = {}) => ({
    name: fresh('Graph'),
    type: 'external',
    confidential: false,
    settings: {},
    ...more,
  })
  const run = (value: unknown, k: string, text = `${head} { ${call} }`, api = world.owner) =>
    api.graphql(text, { a: world.accountId, i: world.issuerId, input: value, k })
  const statusOf = ({ body }: { body: Loose }): number => body.errors?.[0].extensions.status ?? 200

  const inline = (text: string) =>
    `mutation ($a: ID!, $i: ID!, $k: String) { createClient(accountId: $a, issuerId: $i, input: ${text}, idempotencyKey: $k) { id } }`
  const cases: [string, unknown, string?][] = [
    ['other variables', input()],
    ['no input', undefined],
    ['null', null],
    ['an empty input', {}],
    ['a missing field', { name: 'x', type: 'external', confidential: false }],
    ['a wrong type', input({ name: 7 })],
    ['a wrong choice', input({ type: 'other' })],
    ['an unknown field', input({ unheardOf: 1 })],
    ['a list', [1]],
    ['a value that the rules refuse', input({ name: ' ' })],
    ['an input whose answer is never cached', input({ confidential: true })],
    ['a missing field written into the document', undefined, inline('{name: "x"}')],
    ['an unknown field written into the document', undefined, inline('{unheardOf: 1}')],
    ['a wrong type written into the document', undefined, inline('7')],
    ['a field of the answer that does not exist', input(), `${head} { ${call.replace('name', 'nothing')} }`],
  ]
  test.each(cases)('the same key with %s is 422', async (_, value, ...[text]) => {
    const key = fresh('gql')
    const first = input()
    const made = await run(first, key)
    expect(made.body.errors).toBeUndefined()
    const answer = await run(value, key, text)
    expect(answer.body.errors).toHaveLength(1)
    expect(answer.body.errors[0]).toMatchObject({
      message: REUSED,
      extensions: { code: 'INVALID_REQUEST', status: 422, request_id: expect.any(String) },
    })
    expect((await run(first, key)).body).toEqual(made.body)
    // Under a key of its own it is what it is, and where it fails the key is free.
    const own = fresh('own')
    const alone = statusOf(await run(value, own, text))
    expect([200, 400]).toContain(alone)
    if (alone === 400) expect(statusOf(await run(input(), own))).toBe(200)
  })

  test('a key that is the default of a variable counts as well', async () => {
    const key = fresh('gql')
    const text = `${head.replace('$k: String', `$k: String = "${key}"`)} { ${call} }`
    const value = input()
    const send = (of: object) => world.owner.graphql(text, { a: world.accountId, i: world.issuerId, input: of })
    const [one, two] = [await send(value), await send(value)]
    expect(one.body.errors).toBeUndefined()
    expect(two.body).toEqual(one.body)
    expect(statusOf(await send({}))).toBe(422)
  })

  test('authorization comes first', async () => {
    const key = fresh('gql')
    expect(statusOf(await run(input(), key))).toBe(200)
    const reader = await keyWith(world, { scopes: ['issuers.clients:read'] })
    expect(statusOf(await run({}, key, undefined, reader))).toBe(403)
    const foreign = await makeWorld(app, 'Foreign')
    expect(statusOf(await run({}, key, undefined, foreign.owner))).toBe(404)
    expect(statusOf(await run(undefined, key, inline('{unheardOf: 1}'), foreign.owner))).toBe(400)
  })
})

test('a key of an organization does not get what a key of the account with the same scopes was answered', async () => {
  const scopes = ['issuers.organizations.members:write', 'issuers.users:read']
  const ofAccount = await keyWith(world, { scopes })
  const O = `${world.I}/organizations/${world.ids.org_id}`
  const { data } = must(
    await world.owner.post(`${O}/api-keys`, { type: 'api_key', name: fresh('key'), restrictions: { scopes } }),
    201,
  )
  const ofOrganization = apiAs(app.baseUrl, { id: data.id, secret: data.secret_plain })
  const text = `mutation ($a: ID!, $i: ID!, $o: ID!, $m: ID!, $k: String) {
    addOrganizationMember(accountId: $a, issuerId: $i, orgId: $o, input: {memberId: $m}, idempotencyKey: $k) {
      user { username } } }`
  const { account_id, issuer_id, org_id, outsider_id } = world.ids
  const variables = { a: account_id, i: issuer_id, o: org_id, m: outsider_id, k: fresh('member') }
  const { body: first } = await ofAccount.graphql(text, variables)
  expect(first.data.addOrganizationMember.user).not.toBeNull()
  const { body: again } = await ofOrganization.graphql(text, variables)
  expect([again.data, again.errors[0].extensions.status]).toEqual([undefined, 422])
})

describe('the begin of a TOTP enrolment is replayed, and its secret is encrypted at rest', () => {
  const body = { type: 'totp_enrollment', issuer_name: 'Acme' }
  const person = async () => {
    const user = { username_type: 'unique', username: fresh('u') }
    const { id } = must(await world.owner.post(`${world.I}/users`, user), 201).data
    return { id, path: `${world.I}/users/${id}/verifiers` }
  }
  const rowOf = (key: string) =>
    app.gatehouse.tools.prisma.idempotentRequest.findUniqueOrThrow({
      where: { accountId_key: { accountId: world.accountId, key } },
    })

  test('the same key and body give the same answer; another body is 422; without a key each begins its own', async () => {
    const { path } = await person()
    const key = fresh('totp')
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
    expect(must(await world.owner.post(path, body), 201).data.secret).not.toBe(first.body.data.secret)
  })

  test('neither the secret nor the URI stands in the database', async () => {
    const { path } = await person()
    const key = fresh('totp')
    const { data } = must(await post(path, body, key), 201)
    const row = await rowOf(key)
    const kept = JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? Number(value) : value))
    expect(kept).not.toContain(data.secret)
    expect(kept).not.toContain('otpauth')
    expect(row.body).toBe('')
    expect(JSON.parse(app.gatehouse.sealer.open(row.sealed!)).data.secret).toBe(data.secret)
  })

  test('backup codes still run again, and nothing of them is kept', async () => {
    const { path } = await person()
    const key = fresh('codes')
    const [one, two] = [
      await post(path, { type: 'backup_codes' }, key),
      await post(path, { type: 'backup_codes' }, key),
    ]
    expect([one.status, two.status]).toEqual([201, 201])
    expect(two.body.data.codes_plain).not.toEqual(one.body.data.codes_plain)
    await expect(rowOf(key)).rejects.toThrow()
  })

  test('a weaker key does not get the secret again', async () => {
    const { path } = await person()
    const key = fresh('totp')
    must(await post(path, body, key), 201)
    const weak = await keyWith(world, { scopes: ['issuers.users.verifiers:write'] })
    const answer = await weak.post(path, body, { 'idempotency-key': key })
    expect({ status: answer.status, data: answer.body.data }).toEqual({ status: 422, data: undefined })
    const colleague = await keyWith(world, {})
    expect((await colleague.post(path, body, { 'idempotency-key': key })).headers.get('idempotent-replayed')).toBe(
      'true',
    )
  })

  test('the same by GraphQL', async () => {
    const { id } = await person()
    const text = `mutation ($a: ID!, $i: ID!, $u: ID!, $n: String!, $k: String) {
      createVerifier(accountId: $a, issuerId: $i, userId: $u, input: {type: totp_enrollment, issuerName: $n}, idempotencyKey: $k) {
        id ... on TotpEnrollment { secret provisioningUri } } }`
    const key = fresh('totp')
    const run = (n: string) => world.owner.graphql(text, { a: world.accountId, i: world.issuerId, u: id, n, k: key })
    const first = (await run('Acme')).body
    expect(first.data.createVerifier.secret).toMatch(/^[A-Z2-7]{32}$/)
    expect((await run('Acme')).body).toEqual(first)
    expect((await run('Other')).body.errors[0].extensions.status).toBe(422)
    expect(await rowOf(key)).toMatchObject({ body: '', sealed: expect.not.stringContaining('secret') })
  })
})
