/** Idempotency-Key (docs/contract.md#idempotency-key) for `/v1` and GraphQL. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiClient, type ApiResponse, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import {
  confidentialClient,
  createTenantFixture,
  createTenantResources,
  PASSWORD,
  publicClient,
  type TenantFixture,
  uniqueName,
} from './tenant-fixture.js'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const RETRY_LATER = { error: 'conflict', error_description: expect.any(String), request_id: expect.any(String) }

let app: TestApp
let fixture: TenantFixture
let other: TenantFixture
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  other = await createTenantFixture(app)
})
afterAll(() => app.close())

const post = (path: string, body: object | string | undefined, key: string, api: ApiClient = fixture.owner) =>
  api.post(path, body, { 'idempotency-key': key })
const clientsOf = async (name: string, { owner, I }: TenantFixture = fixture): Promise<AnyJson[]> =>
  (await owner.get(`${I}/clients?name=${encodeURIComponent(name)}`)).body.data

/**
 * Creates the idempotency record of a request in progress.
 * @param leaseExpiresAt when another request may take over, in Unix ms
 */
async function createLeasedRequest(key: string, leaseExpiresAt: number, fingerprint: string): Promise<void> {
  await app.gatehouse.database.prisma.idempotentRequest.create({
    data: {
      accountId: fixture.accountId,
      key,
      fingerprint,
      leaseId: 'someone',
      leaseExpiresAt,
      expiresAt: app.clock.now() + DAY,
    },
  })
}
/** Returns the fingerprint of a request, by sending the request and reading its idempotency record. */
async function fingerprintOf(path: string, body: object): Promise<string> {
  const key = uniqueName('probe')
  expectStatus(await post(path, body, key), 201)
  const where = { accountId_key: { accountId: fixture.accountId, key } }
  return (await app.gatehouse.database.prisma.idempotentRequest.findUniqueOrThrow({ where })).fingerprint
}

test('the same key, path and body replay status, body and ETag with Idempotent-Replayed: true, and create nothing', async () => {
  const body = publicClient()
  const key = uniqueName('key')
  const first = await post(`${fixture.I}/clients`, body, key)
  expect(first.status).toBe(201)
  expect(first.headers.get('idempotent-replayed')).toBeNull()
  // The replay is the stored response, even if the resource has changed in the meantime.
  expectStatus(await fixture.owner.patch(`${fixture.I}/clients/${first.body.data.id}`, { description: 'changed' }), 200)
  for (const _ of [1, 2]) {
    const again = await post(`${fixture.I}/clients`, body, key)
    expect({ status: again.status, text: again.text }).toEqual({ status: 201, text: first.text })
    expect(again.headers.get('etag')).toBe(first.headers.get('etag'))
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  }
  expect(await clientsOf(body.name)).toHaveLength(1)
})

test('the fingerprint includes the path and not the query', async () => {
  const body = publicClient()
  const key = uniqueName('key')
  expectStatus(await post(`${fixture.I}/clients`, body, key), 201)
  expect((await post(`${fixture.I}/users`, body, key)).status).toBe(422)
  const user = { username_type: 'unique', username: uniqueName('u') }
  const response = await post(`${fixture.I}/users`, user, key)
  expect(response.status).toBe(422)
})

test('another body or path is 422 invalid_request', async () => {
  const body = publicClient()
  const key = uniqueName('key')
  expectStatus(await post(`${fixture.I}/clients`, body, key), 201)
  const second = expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name: 'Second' }), 201).data.id
  for (const response of [
    await post(`${fixture.I}/clients`, { ...body, description: 'other' }, key),
    await post(`${fixture.I}/clients`, `${JSON.stringify(body)} `, key),
    await post(`${fixture.A}/issuers/${second}/clients`, body, key),
  ]) {
    expect({ status: response.status, error: response.body.error }).toEqual({ status: 422, error: 'invalid_request' })
  }
  expect(await clientsOf(body.name)).toHaveLength(1)
})

test('20 parallel requests with one key create one resource; the others get 409 conflict with Retry-After, or the replay', async () => {
  const body = publicClient()
  const key = uniqueName('key')
  const responses = await Promise.all(Array.from({ length: 20 }, () => post(`${fixture.I}/clients`, body, key)))
  expect(await clientsOf(body.name)).toHaveLength(1)
  const created = responses.filter(({ status, headers }) => status === 201 && !headers.get('idempotent-replayed'))
  expect(created).toHaveLength(1)
  for (const response of responses) {
    if (response.status === 201) {
      expect(response.text).toBe(created[0]!.text)
    } else {
      expect(response.status).toBe(409)
      expect(response.body).toEqual(RETRY_LATER)
      expect(response.headers.get('retry-after')).toBe('5')
    }
  }
})

test('20 parallel requests to two processes create one resource', async () => {
  const second = await app.startSecondApp()
  const body = publicClient()
  const key = uniqueName('key')
  const elsewhere: ApiClient['post'] = async (path, value, headers) => {
    const response = await fetch(`${second.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: fixture.owner.authorization!, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(value),
    })
    return { status: response.status, headers: response.headers, text: await response.text(), body: {} }
  }
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      post(`${fixture.I}/clients`, body, key, i % 2 ? fixture.owner : { ...fixture.owner, post: elsewhere }),
    ),
  )
  expect(responses.every(({ status }) => status === 201 || status === 409)).toBe(true)
  expect(await clientsOf(body.name)).toHaveLength(1)
})

test.each<[string, () => Promise<ApiResponse>]>([
  ['an issuer with its keys', () => post(`${fixture.A}/issuers`, { name: 'Narrow' }, uniqueName('key'))],
  [
    'a credential, created by a key with few scopes',
    async () => {
      const api = await createRestrictedKey(fixture, { scopes: ['issuers.users.verifiers:manage'] })
      const body = { type: 'password', name: null, password: PASSWORD }
      const { data } = expectStatus(
        await fixture.owner.post(`${fixture.I}/users`, { username_type: 'unique', username: uniqueName('u') }),
        201,
      )
      return post(`${fixture.I}/users/${data.id}/verifiers`, body, uniqueName('key'), api)
    },
  ],
])('%s needs one database connection and no second one while it holds the first', async (_, work) => {
  const { pool } = app.gatehouse.database
  const others = await Promise.all(Array.from({ length: 19 }, () => pool.connect()))
  try {
    expectStatus(await work(), 201)
  } finally {
    for (const connection of others) connection.release()
  }
})

test('while the first request is in progress: 409; with another body: 422; after 60 seconds another request takes over the lease', async () => {
  const path = `${fixture.I}/clients`
  const body = publicClient()
  const fingerprint = await fingerprintOf(path, body)
  const key = uniqueName('crashed')
  await createLeasedRequest(key, app.clock.now() + MINUTE, fingerprint)
  const busy = await post(path, body, key)
  expect({ status: busy.status, error: busy.body.error, retry: busy.headers.get('retry-after') }).toEqual({
    status: 409,
    error: 'conflict',
    retry: '5',
  })
  expect((await post(path, { ...body, description: 'x' }, key)).status).toBe(422)
  app.clock.advance(MINUTE + 1)
  expect((await post(path, body, key)).status).toBe(201)
  expect((await post(path, body, key)).headers.get('idempotent-replayed')).toBe('true')
})

test('a non-2xx response releases the key, also for another body', async () => {
  const key = uniqueName('key')
  const username = uniqueName('taken')
  expectStatus(await fixture.owner.post(`${fixture.I}/users`, { username_type: 'unique', username }), 201)
  expect((await post(`${fixture.I}/users`, { username_type: 'unique', username }, key)).status).toBe(409)
  expect((await post(`${fixture.I}/users`, { username_type: 'unique', username: 'with space' }, key)).status).toBe(400)
  expect(
    (await post(`${fixture.I}/users`, { username_type: 'unique', username: uniqueName('free') }, key)).status,
  ).toBe(201)
})

test('after 24 hours the key can be used again', async () => {
  const key = uniqueName('key')
  const body = publicClient()
  expectStatus(await post(`${fixture.I}/clients`, body, key), 201)
  app.clock.advance(DAY - 1000)
  expect((await post(`${fixture.I}/clients`, body, key)).headers.get('idempotent-replayed')).toBe('true')
  app.clock.advance(1001)
  const again = await post(`${fixture.I}/clients`, body, key)
  expect(again.status).toBe(201)
  expect(again.headers.get('idempotent-replayed')).toBeNull()
  expect(await clientsOf(body.name)).toHaveLength(2)
})

test('a key has 1 to 256 characters; anything else is 400, also where the key is never used', async () => {
  const clients = `${fixture.I}/clients`
  for (const key of ['x', 'y'.repeat(256), 'ümlaut', '"quoted"', 'a, b', '{}']) {
    expect({ key, status: (await post(clients, publicClient(), key)).status }).toEqual({ key, status: 201 })
  }
  for (const key of ['', 'z'.repeat(257)]) {
    for (const [path, body] of [
      [clients, publicClient()],
      [clients, confidentialClient()],
      [`${fixture.A}/api-keys`, { name: 'k', restrictions: {} }],
      [`${fixture.A}/api-keys/${fixture.ids.key_id}/rotate`, {}],
      [`${clients}/${fixture.ids.client_id}/secret/rotate`, undefined],
    ] as const) {
      const response = await post(path, body, key)
      expect({ path, length: key.length, status: response.status, error: response.body.error }).toEqual({
        path,
        length: key.length,
        status: 400,
        error: 'invalid_request',
      })
      expect(response.body.details[0].field).toBe('Idempotency-Key')
    }
  }
})

test('the header is ignored on GET, PATCH and DELETE, whatever its value', async () => {
  const client = `${fixture.I}/clients/${expectStatus(await fixture.owner.post(`${fixture.I}/clients`, publicClient()), 201).data.id}`
  for (const key of ['same', 'z'.repeat(257), '']) {
    const headers = { 'idempotency-key': key }
    expect((await fixture.owner.get(client, headers)).status).toBe(200)
    expect((await fixture.owner.patch(client, { description: uniqueName('d') }, headers)).status).toBe(200)
  }
  const first = await fixture.owner.patch(client, { description: 'a' }, { 'idempotency-key': 'same' })
  const second = await fixture.owner.patch(client, { description: 'b' }, { 'idempotency-key': 'same' })
  expect([first.body.data.description, second.body.data.description]).toEqual(['a', 'b'])
  expect((await fixture.owner.delete(client, { 'idempotency-key': 'z'.repeat(257) })).status).toBe(204)
})

test('the scope is the account: two accounts may use the same key', async () => {
  const key = uniqueName('key')
  const mine = publicClient()
  const theirs = publicClient()
  expectStatus(await post(`${fixture.I}/clients`, mine, key), 201)
  const response = await post(`${other.I}/clients`, theirs, key, other.owner)
  expect({ status: response.status, replayed: response.headers.get('idempotent-replayed') }).toEqual({
    status: 201,
    replayed: null,
  })
  expect(await clientsOf(theirs.name, other)).toHaveLength(1)
})

test('the scope is the account, not the credential: another key of it gets the replay', async () => {
  const key = uniqueName('key')
  const body = publicClient()
  const first = expectStatus(await post(`${fixture.I}/clients`, body, key), 201)
  const colleague = await createRestrictedKey(fixture, {})
  const again = await post(`${fixture.I}/clients`, body, key, colleague)
  expect(again.body).toEqual(first)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
})

test('authorization is checked on a replay as well', async () => {
  const key = uniqueName('key')
  const body = publicClient()
  expectStatus(await post(`${fixture.I}/clients`, body, key), 201)
  const weak = await createRestrictedKey(fixture, { scopes: ['issuers.clients:read'] })
  expect((await post(`${fixture.I}/clients`, body, key, weak)).status).toBe(403)
  const doomed = await createRestrictedKey(fixture, {})
  expectStatus(await fixture.owner.post(`${fixture.A}/api-keys/${doomed.keyId}/block`), 200)
  expect((await post(`${fixture.I}/clients`, body, key, doomed)).status).toBe(401)
})

test('a weaker key never gets the replay of a request that it could not make itself', async () => {
  const key = uniqueName('key')
  const body = publicClient({ settings: { scopes: ['issuers.users:read'] } })
  expectStatus(await post(`${fixture.I}/clients`, body, key), 201)
  const weak = await createRestrictedKey(fixture, { scopes: ['issuers.clients:write'] })
  const refused = await fixture.owner.post(`${fixture.I}/clients`, body)
  expect(refused.status).toBe(201)
  expect((await weak.post(`${fixture.I}/clients`, body)).status).toBe(403)
  const replay = await post(`${fixture.I}/clients`, body, key, weak)
  expect([403, 422]).toContain(replay.status)
  expect(replay.body.data).toBeUndefined()
})

describe('never stored: a retry runs again, and no secret is stored', () => {
  const secrets: string[] = []
  const cases: [string, () => Promise<[string, object | undefined]>][] = [
    ['create API key', async () => [`${fixture.A}/api-keys`, { name: uniqueName('k'), restrictions: { scopes: [] } }]],
    [
      'rotate API key secret',
      async () => [`${fixture.A}/api-keys/${(await createTenantResources(fixture)).ids.key_id}/rotate`, {}],
    ],
    ['create confidential client', async () => [`${fixture.I}/clients`, confidentialClient()]],
    ['rotate client secret', async () => [`${fixture.I}/clients/${fixture.ids.client_id}/secret/rotate`, undefined]],
  ]
  test.each(cases)('%s', async (_, prepare) => {
    const [path, body] = await prepare()
    const key = uniqueName('secret')
    const responses = [await post(path, body, key), await post(path, body, key)]
    for (const {
      status,
      headers,
      body: { data },
    } of responses) {
      expect([200, 201]).toContain(status)
      expect(headers.get('idempotent-replayed')).toBeNull()
      secrets.push(data.secret_plain ?? data.secret)
    }
    expect(new Set(secrets.slice(-2)).size).toBe(2)
    // No record was stored for the key, so that another request can use it.
    expect((await post(`${fixture.I}/clients`, publicClient(), key)).status).toBe(201)
  })

  test('mutations through GraphQL', async () => {
    const { accountId, issuerId } = fixture
    for (const [field, text, variables] of [
      [
        'createApiKey',
        'createApiKey(accountId: $a, input: {name: "k", restrictions: {scopes: []}}, idempotencyKey: $k) { secret: secretPlain }',
        {},
      ],
      [
        'createClient',
        'createClient(accountId: $a, issuerId: $i, input: {name: "c", type: external, confidential: true, settings: {}}, idempotencyKey: $k) { secret }',
        { i: issuerId },
      ],
      [
        'rotateClientSecret',
        `rotateClientSecret(accountId: $a, issuerId: $i, clientId: "${fixture.ids.client_id}", idempotencyKey: $k) { secret }`,
        { i: issuerId },
      ],
    ] as const) {
      const declared = 'i' in variables ? '($a: ID!, $i: ID!, $k: String)' : '($a: ID!, $k: String)'
      const run = () =>
        fixture.owner.graphql(`mutation ${declared} { ${text} }`, { a: accountId, k: `gql-${field}`, ...variables })
      const [one, two] = [await run(), await run()]
      expect(one.body.errors ?? two.body.errors).toBeUndefined()
      const found = [one.body.data[field].secret, two.body.data[field].secret]
      expect(new Set(found).size).toBe(2)
      secrets.push(...found)
    }
    const create = (k: string) =>
      app.operator.graphql(
        'mutation ($k: String) { createAccount(input: {name: "n"}, idempotencyKey: $k) { account { id } apiKey { secretPlain } } }',
        { k },
      )
    const [one, two] = [await create('same'), await create('same')]
    expect(one.body.data.createAccount.account.id).not.toBe(two.body.data.createAccount.account.id)
    secrets.push(one.body.data.createAccount.apiKey.secretPlain, two.body.data.createAccount.apiKey.secretPlain)
  })

  test('no issued secret, password or hash is in the table', async () => {
    const password = `${PASSWORD} ${uniqueName('pw')}`
    const user = expectStatus(
      await fixture.owner.post(`${fixture.I}/users`, { username_type: 'unique', username: uniqueName('u') }),
      201,
    ).data
    const verifier = { type: 'password', name: null, password }
    expectStatus(await post(`${fixture.I}/users/${user.id}/verifiers`, verifier, uniqueName('key')), 201)
    const oidc = { issuer_url: 'https://up.example', client_id: 'c', client_secret: 'upstream-secret-value' }
    expectStatus(
      await post(
        `${fixture.I}/auth-methods`,
        { name: 'Up', method: 'oidc', first_factor_only: true, settings: oidc },
        uniqueName('key'),
      ),
      201,
    )
    const rows = await app.gatehouse.database.query<{ text: string }>(
      'scan',
      'SELECT r::text AS text FROM idempotent_requests r',
      [],
    )
    expect(rows.length).toBeGreaterThan(10)
    const text = rows.map((row) => row.text).join('\n')
    expect(secrets.length).toBeGreaterThan(12)
    for (const secret of [...secrets, password, 'upstream-secret-value', '$argon2id'])
      expect(text.includes(secret)).toBe(false)
  })
})

test('the fingerprint of a body is useless without SECRET_KEY: it is not a plain hash', async () => {
  const body = JSON.stringify(publicClient())
  const path = `${fixture.I}/clients`
  const key = uniqueName('key')
  expectStatus(await post(path, body, key), 201)
  const kept = async () =>
    (await app.gatehouse.database.prisma.idempotentRequest.findFirstOrThrow({ where: { key } })).fingerprint
  const plain = [`${path}\n${body}`, body].map((text) => createHash('sha256').update(text).digest('hex'))
  expect(plain).not.toContain(await kept())
  expect(await kept()).toMatch(/^[0-9a-f]{64}$/)

  // After a rotation of SECRET_KEY the fingerprint of the same request still matches.
  const keys = [8, 7].map((byte) => Buffer.alloc(32, byte).toString('base64')).join()
  const rotated = await startApp({ databaseUrl: app.databaseUrl, roles: ['core'], env: { SECRET_KEY: keys } })
  try {
    const headers = { authorization: fixture.owner.authorization!, 'idempotency-key': key }
    const send = (text: string) => createApiClient(rotated.baseUrl).post(path, text, headers)
    expect((await send(body)).headers.get('idempotent-replayed')).toBe('true')
    expect((await send(JSON.stringify(publicClient()))).status).toBe(422)
  } finally {
    await rotated.close()
  }
})

test('the creation of a public client is replayable', async () => {
  const key = uniqueName('key')
  const body = publicClient({ confidential: false })
  expectStatus(await post(`${fixture.I}/clients`, body, key), 201)
  expect((await post(`${fixture.I}/clients`, body, key)).headers.get('idempotent-replayed')).toBe('true')
})

test('actions are replayable: a repeated block returns the first response, although the key was unblocked since', async () => {
  const { ids } = await createTenantResources(fixture)
  const path = `${fixture.A}/api-keys/${ids.key_id}`
  const key = uniqueName('key')
  const first = expectStatus(await post(`${path}/block`, {}, key), 200)
  expectStatus(await fixture.owner.post(`${path}/unblock`), 200)
  expect((await post(`${path}/block`, {}, key)).body).toEqual(first)
  expect((await fixture.owner.get(path)).body.data.status).toBe('active')
})

test('a response over 512 KB is replayed with its status and an empty body', async () => {
  const big = Array.from({ length: 900 }, (_, i) => `${i}-${'x'.repeat(600)}`)
  const body = publicClient({ settings: { unknown: big } })
  const key = uniqueName('key')
  const first = await post(`${fixture.I}/clients`, body, key)
  expect(first.status).toBe(201)
  expect(first.text.length).toBeGreaterThan(512 * 1024)
  const again = await post(`${fixture.I}/clients`, body, key)
  expect({ status: again.status, text: again.text, replayed: again.headers.get('idempotent-replayed') }).toEqual({
    status: 201,
    text: '',
    replayed: 'true',
  })
})

test('a request that fails at the commit leaves neither the resource nor the idempotency record', async () => {
  const { prisma } = app.gatehouse.database
  const body = publicClient()
  const key = uniqueName('key')
  await prisma.$executeRawUnsafe(
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$",
  )
  await prisma.$executeRawUnsafe(
    'CREATE TRIGGER refuse BEFORE UPDATE ON idempotent_requests FOR EACH ROW WHEN (NEW.status IS NOT NULL) EXECUTE FUNCTION refuse()',
  )
  try {
    expect((await post(`${fixture.I}/clients`, body, key)).status).toBe(500)
  } finally {
    await prisma.$executeRawUnsafe('DROP TRIGGER refuse ON idempotent_requests')
  }
  expect(await clientsOf(body.name)).toHaveLength(0)
  expect((await post(`${fixture.I}/clients`, body, key)).status).toBe(201)
  expect(await clientsOf(body.name)).toHaveLength(1)
})

describe('GraphQL', () => {
  const document =
    'mutation ($a: ID!, $i: ID!, $input: CreateClientInput!, $k: String) { createClient(accountId: $a, issuerId: $i, input: $input, idempotencyKey: $k) { id name } }'
  const input = () => ({ name: uniqueName('Graph'), type: 'external', confidential: false, settings: {} })
  const run = (
    value: object,
    k: string | null,
    api: ApiClient = fixture.owner,
    text = document,
  ): Promise<ApiResponse<AnyJson>> => api.graphql(text, { a: fixture.accountId, i: fixture.issuerId, input: value, k })

  test('the same field and variables are replayed; other variables are 422', async () => {
    const value = input()
    const key = uniqueName('gql')
    const first = await run(value, key)
    expect(first.body.errors).toBeUndefined()
    const again = await run(value, key)
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    // Variables are compared by value, so the order of keys in an object does not matter.
    const turned = await run(Object.fromEntries(Object.entries(value).reverse()), key)
    expect(turned.body).toEqual(first.body)
    const different = await run({ ...value, description: 'x' }, key)
    expect(different.body.errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 422 })
    expect(await clientsOf(value.name)).toHaveLength(1)
  })

  test('a document that differs only in a fragment or its name is 422; one of several operations is replayed', async () => {
    const head = '($a: ID!, $i: ID!, $input: CreateClientInput!, $k: String)'
    const call = 'createClient(accountId: $a, issuerId: $i, input: $input, idempotencyKey: $k) { ...F }'
    const shown = (fields: string, name = 'One') =>
      `mutation ${name} ${head} { ${call} } fragment F on Client { ${fields} }`
    const [value, key] = [input(), uniqueName('gql')]
    const first = await run(value, key, fixture.owner, shown('id name'))
    expect(first.body.errors).toBeUndefined()
    for (const other of [shown('id name settings'), shown('id'), shown('id name', 'Two'), document]) {
      const { errors } = (await run(value, key, fixture.owner, other)).body
      expect(errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 422 })
    }
    expect((await run(value, key, fixture.owner, shown('id name'))).body).toEqual(first.body)

    const query = `${shown('id name')} query Other { me { id } }`
    const variables = { a: fixture.accountId, i: fixture.issuerId, input: value, k: uniqueName('gql') }
    const send = () => fixture.owner.request('POST', '/graphql', { query, variables, operationName: 'One' })
    const [one, two] = [await send(), await send()]
    expect(one.body.data.createClient.name).toBe(value.name)
    expect(two.body).toEqual(one.body)
    expect(await clientsOf(value.name)).toHaveLength(2)
  })

  test('20 parallel mutations with one key create one resource', async () => {
    const value = input()
    const key = uniqueName('gql')
    const responses = await Promise.all(Array.from({ length: 20 }, () => run(value, key)))
    expect(await clientsOf(value.name)).toHaveLength(1)
    for (const { body } of responses)
      if (body.errors) expect(body.errors[0].extensions).toMatchObject({ code: 'CONFLICT', status: 409 })
  })

  test('a failed mutation releases the key', async () => {
    const key = uniqueName('gql')
    const bad = await run({ ...input(), settings: { openid: { redirect_uris: ['javascript:alert(1)'] } } }, key)
    expect(bad.body.errors[0].extensions.status).toBe(400)
    expect((await run(input(), key)).body.errors).toBeUndefined()
  })

  test('an empty or overlong key is 400', async () => {
    for (const key of ['', 'k'.repeat(257)]) {
      expect((await run(input(), key)).body.errors[0].extensions).toMatchObject({
        code: 'INVALID_REQUEST',
        status: 400,
      })
    }
  })

  test('a key inside a fragment is used as well', async () => {
    const value = input()
    const key = uniqueName('gql')
    const call = 'createClient(accountId: $a, issuerId: $i, input: $input, idempotencyKey: $k) { id name }'
    for (const text of [
      `mutation ($a: ID!, $i: ID!, $input: CreateClientInput!, $k: String) { ...F } fragment F on Mutation { ${call} }`,
      `mutation ($a: ID!, $i: ID!, $input: CreateClientInput!, $k: String) { ... on Mutation { ${call} } }`,
      `mutation ($a: ID!, $i: ID!, $input: CreateClientInput!, $k: String) { ... { ...F } } fragment F on Mutation { ... { ${call} } }`,
    ]) {
      const one = await run(value, `${key}${text.length}`, fixture.owner, text)
      const two = await run(value, `${key}${text.length}`, fixture.owner, text)
      expect(one.body.errors).toBeUndefined()
      expect(two.body).toEqual(one.body)
    }
    expect(await clientsOf(value.name)).toHaveLength(3)
  })

  test('a key with several mutations in one document is 400, also through fragments', async () => {
    const call = (alias: string, more = '') =>
      `${alias}: createClient(accountId: $a, issuerId: $i, input: $input${more}) { id }`
    const head = 'mutation ($a: ID!, $i: ID!, $input: CreateClientInput!, $k: String)'
    const key = ', idempotencyKey: $k'
    const value = input()
    for (const text of [
      `${head} { ${call('x', key)} ${call('y')} }`,
      `${head} { ${call('x', key)} ...F } fragment F on Mutation { ${call('y')} }`,
      `${head} { ...F } fragment F on Mutation { ${call('x', key)} ${call('y', key)} }`,
    ]) {
      const response = await run(value, uniqueName('gql'), fixture.owner, text)
      expect(response.body.errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
    }
    expect(await clientsOf(value.name)).toHaveLength(0)
  })

  test('authorization is checked on a replay, and a weaker key never gets the response to a stronger one', async () => {
    const value = input()
    const key = uniqueName('gql')
    expect((await run(value, key)).body.errors).toBeUndefined()
    const reader = await createRestrictedKey(fixture, { scopes: ['issuers.clients:read'] })
    expect((await run(value, key, reader)).body.errors[0].extensions.status).toBe(403)
    const weaker = await createRestrictedKey(fixture, { scopes: ['issuers.clients:write'] })
    const response = await run(value, key, weaker)
    if (response.body.errors) expect([403, 422]).toContain(response.body.errors[0].extensions.status)
    const relations = document.replace('{ id name }', '{ id }').replace('createClient(', 'x: createClient(')
    expect((await run(value, key, fixture.owner, relations)).body.errors[0].extensions.status).toBe(422)
  })

  test('a selection of fields that the caller may not read fails as a whole and stores nothing', async () => {
    const api = await createRestrictedKey(fixture, { scopes: ['issuers:write'] })
    const name = uniqueName('Issuer')
    const text =
      'mutation ($a: ID!, $n: String!) { createIssuer(accountId: $a, input: {name: $n}, idempotencyKey: "rel") { id clients { data { id } } } }'
    const response = await api.graphql(text, { a: fixture.accountId, n: name })
    expect(response.body.errors[0].extensions.status).toBe(403)
    const { data } = expectStatus(await fixture.owner.get(`${fixture.A}/issuers`), 200)
    expect(data.some((issuer: { name: string }) => issuer.name === name)).toBe(false)
  })
})
