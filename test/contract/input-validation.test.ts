/**
 * Validation of requests and of the input of operations, for `/v1` and GraphQL (docs/contract.md#errors,
 * docs/contract.md#request-bodies, docs/contract.md#input-checks).
 */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { routes } from '../../src/rest/routes.js'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import {
  createTenantFixture,
  publicClient,
  requestBodies,
  routePath,
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

const INVALID = {
  error: 'invalid_request',
  error_description: expect.any(String),
  request_id: expect.stringMatching(/^req_/),
}

function expectInvalid(response: { status: number; body: AnyJson; headers: Headers }, fields?: string[]): void {
  expect(response.body).toMatchObject(INVALID)
  expect(response.status).toBe(400)
  expect(response.headers.get('content-type')).toContain('application/json')
  if (fields === undefined) return
  expect(response.body.details.map(({ field }: AnyJson) => field).sort()).toEqual([...fields].sort())
  for (const detail of response.body.details) {
    expect(Object.keys(detail).sort()).toEqual(['code', 'field', 'message'])
    expect(detail.code).toMatch(/^[a-z_]+$/)
  }
}

const nested = (depth: number, inner = '1') => `${'{"a":'.repeat(depth)}${inner}${'}'.repeat(depth)}`
const clients = () => `${fixture.I}/clients`
/** Returns the body of a POST of a client with this JSON text as `metadata`. */
const withMetadata = (text: string) =>
  `{"name":"Gate","type":"external","confidential":false,"settings":{},"metadata":${text}}`

const refusedTexts: [string, string][] = [
  ['NUL in a value', withMetadata('{"a":"x\\u0000y"}')],
  ['NUL in a key', withMetadata('{"a\\u0000":1}')],
  ['a lone high surrogate', withMetadata('{"a":"\\ud83d"}')],
  ['a lone low surrogate', withMetadata('{"a":"\\ude00x"}')],
  ['a lone surrogate in a key', withMetadata('{"\\ud83d":1}')],
  ['33 levels', withMetadata(nested(32))],
  ['an array 40 deep', withMetadata(`{"a":${'['.repeat(40)}${']'.repeat(40)}}`)],
  ['an array 200,000 deep', withMetadata(`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`)],
  ['1e400', withMetadata('{"a":1e400}')],
  ['-1e400', withMetadata('{"a":-1e400}')],
  ['2^53', withMetadata('{"a":9007199254740992}')],
  ['-2^53', withMetadata('{"a":-9007199254740992}')],
  ['1e308, an unsafe integer', withMetadata('{"a":1e308}')],
  ['__proto__', withMetadata('{"__proto__":{"x":1}}')],
  ['__proto__ with escapes', withMetadata('{"\\u005f_proto__":{"x":1}}')],
  ['constructor', withMetadata('{"a":{"constructor":{"prototype":{"x":1}}}}')],
  ['prototype', withMetadata('{"a":[{"prototype":1}]}')],
  [
    '__proto__ at the top level',
    '{"__proto__":{"name":"x"},"name":"x","type":"external","confidential":false,"settings":{}}',
  ],
  ['truncated JSON', '{"name":'],
  ['a trailing comma', '{"name":"x",}'],
  ['two documents', '{} {}'],
  ['NaN', withMetadata('{"a":NaN}')],
  ['a comment', '{/* */}'],
  ['single quotes', "{'name':'x'}"],
  ['an array', '[]'],
  ['a string', '"x"'],
  ['null', 'null'],
  ['a number', '7'],
  ['true', 'true'],
]

describe('the input check refuses with 400', () => {
  test.each(refusedTexts)('%s', async (_, text) => {
    expectInvalid(await fixture.owner.post(clients(), text))
    expectInvalid(await fixture.owner.patch(`${clients()}/${fixture.ids.client_id}`, text))
  })

  test('unusual but valid input is accepted', async () => {
    for (const text of [
      '{"a":9007199254740991}',
      '{"a":1.5e-300}',
      '{"a":"\\ud83d\\ude00"}',
      '{"":""}',
      '{"a":"\\u0001\\u001f\\u007f"}',
      nested(30),
      '{"toString":1,"hasOwnProperty":2,"__proto":3}',
    ]) {
      const response = await fixture.owner.post(clients(), withMetadata(text))
      expect({ text, status: response.status, body: response.status === 201 ? '' : response.text }).toEqual({
        text,
        status: 201,
        body: '',
      })
      expect(response.body.data.metadata).toEqual(JSON.parse(text))
    }
  })

  test('invalid UTF-8', async () => {
    const body = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff, 0xfe, 0xc3]), Buffer.from('"}')])
    const response = await fetch(`${app.baseUrl}${clients()}`, {
      method: 'POST',
      headers: { authorization: fixture.owner.authorization!, 'content-type': 'application/json' },
      body,
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject(INVALID)
  })

  test('a query with NUL, and repeated or unknown parameters', async () => {
    expectInvalid(await fixture.owner.get(`${clients()}?name=%00`))
    expectInvalid(await fixture.owner.get(`${clients()}?name=a&name=b`), ['name'])
    expectInvalid(await fixture.owner.get(`${clients()}?limit=1&limit=1&cursor=x&foo=1`), ['foo', 'limit'])
    expectInvalid(await fixture.owner.get(`${clients()}?Limit=1`), ['Limit'])
    expectInvalid(await fixture.owner.get(`${clients()}?__proto__=1&constructor=2&toString=3`), [
      '__proto__',
      'constructor',
      'toString',
    ])
    expectInvalid(await fixture.owner.get(`${fixture.I}?limit=1`), ['limit'])
    expectInvalid(await fixture.owner.post(`${clients()}?name=x`, publicClient()), ['name'])
    expectInvalid(await fixture.owner.delete(`${clients()}/${fixture.ids.client_id}?force=true`), ['force'])
  })

  test('a path with NUL or invalid escapes', async () => {
    for (const id of ['%00', '%ZZ', '%', '%E0%A4%A', '%ff', 'a%00b']) {
      expectInvalid(await fixture.owner.get(`${clients()}/${id}`))
    }
  })
})

describe('the same checks apply to GraphQL', () => {
  const document =
    'mutation ($a: ID!, $i: ID!, $m: JSONObject) { createClient(accountId: $a, issuerId: $i, input: {name: "G", type: external, confidential: false, settings: {}, metadata: $m}) { metadata } }'
  const post = (variables: string, query = document) =>
    fixture.owner.request(
      'POST',
      '/graphql',
      `{"query":${JSON.stringify(query)},"variables":{"a":"${fixture.accountId}","i":"${fixture.issuerId}","m":${variables}}}`,
    )

  test.each([
    '{"a":"\\u0000"}',
    '{"a":"\\ud800"}',
    nested(40),
    '{"a":1e400}',
    '{"a":9007199254740992}',
    '{"__proto__":{}}',
    '{"a":{"constructor":1}}',
  ])('in variables: %s', async (text) => {
    const response = await post(text)
    expect(response.status).toBe(400)
    expect(response.body.errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
  })

  test.each([
    '{a: "x\\u0000"}',
    '{a: "\\ud800"}',
    '{a: "\\u{0}"}',
    `${'{a: '.repeat(40)}1${'}'.repeat(40)}`,
    '{a: 1e400}',
    '{a: 9007199254740992}',
    '{a: [-9007199254740993]}',
    '{__proto__: {x: 1}}',
    '{a: {constructor: 1}}',
    '{a: [{prototype: 1}]}',
  ])('in literals of the document: %s', async (literal) => {
    for (const query of [
      document.replace('$m}', `${literal}}`),
      document.replace('$m: JSONObject', `$m: JSONObject = ${literal}`),
    ]) {
      const response = await fixture.owner.graphql(query, { a: fixture.accountId, i: fixture.issuerId, m: undefined })
      expect({ query, status: response.status }).toEqual({ query, status: 400 })
      expect(response.body.errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
    }
  })

  test('a name, a search, a cursor and an id as literals of the document', async () => {
    const place = `accountId: "${fixture.accountId}", issuerId: "${fixture.issuerId}"`
    for (const query of [
      `{ users(${place}, search: "\\u0000") { data { id } } }`,
      `{ clients(${place}, name: "\\u0000") { data { id } } }`,
      `{ users(${place}, cursor: "\\u0000") { data { id } } }`,
      `{ user(${place}, userId: "\\u0000") { id } }`,
      '{ account(accountId: "\\u0000") { id } }',
      `mutation { createUser(${place}, input: {usernameType: unique, username: "a\\u0000"}) { id } }`,
    ]) {
      const response = await fixture.owner.graphql(query)
      expect(response.body.errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
    }
  })

  test('values of a wrong type are errors of the client', async () => {
    const key = (expiresAt: string) =>
      `mutation { createApiKey(accountId: "${fixture.accountId}", input: {name: "k", restrictions: {scopes: []}, expiresAt: ${expiresAt}}) { id } }`
    for (const query of [
      key('1.5'),
      key('"1"'),
      key('true'),
      key('99999999999999999999'),
      `{ users(accountId: "a", issuerId: "b", limit: 99999999999) { data { id } } }`,
      `{ users(accountId: "a", issuerId: "b", status: nothing) { data { id } } }`,
      key('1').replace('{scopes: []}', '7'),
    ]) {
      const response = await fixture.owner.graphql(query)
      expect({ query, extensions: response.body.errors[0].extensions }).toMatchObject({
        query,
        extensions: { code: 'INVALID_REQUEST', status: 400 },
      })
    }
    const variable = await fixture.owner.graphql(
      'mutation ($a: ID!, $e: Timestamp) { createApiKey(accountId: $a, input: {name: "k", restrictions: {}, expiresAt: $e}) { id } }',
      { a: fixture.accountId, e: 1.5 },
    )
    expect(variable.body.errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
  })
})

describe('errors in a body', () => {
  test('are reported in one response, each with its REST field path', async () => {
    const response = await fixture.owner.post(clients(), {
      name: 7,
      typ: 'external',
      type: 'other',
      confidential: 'yes',
      logo_url: 1,
      logoUrl: 'x',
    })
    expectInvalid(response, ['name', 'typ', 'type', 'confidential', 'logo_url', 'logoUrl', 'settings'])
  })

  test('unknown and read-only fields', async () => {
    const all = [
      'id',
      'account_id',
      'issuer_id',
      'created_at',
      'updated_at',
      'secrets',
      'toString',
      'to_string',
      'constructor_',
      'has_own_property',
    ]
    const more = Object.fromEntries(all.map((name) => [name, 'x']))
    expectInvalid(await fixture.owner.post(clients(), { ...publicClient(), ...more }), all)
    expectInvalid(
      await fixture.owner.patch(`${clients()}/${fixture.ids.client_id}`, {
        ...more,
        type: 'internal',
        confidential: false,
        secret: 'x',
      }),
      [...all, 'type', 'confidential', 'secret'],
    )
    expectInvalid(await fixture.owner.patch(fixture.A, { billing_mode: 'ungated', system: true, id: 'x' }), [
      'billing_mode',
      'system',
      'id',
    ])
    expectInvalid(
      await fixture.owner.patch(`${fixture.I}/users/${fixture.ids.user_id}`, {
        username_hash: 'x',
        purge_at: 1,
        requires_approval: true,
      }),
      ['username_hash', 'purge_at', 'requires_approval'],
    )
    expectInvalid(
      await fixture.owner.patch(`${fixture.A}/api-keys/${fixture.ids.key_id}`, {
        status: 'blocked',
        secret: 'x',
        secret_hint: 'x',
      }),
      ['status', 'secret', 'secret_hint'],
    )
  })

  test('missing required fields', async () => {
    expectInvalid(await fixture.owner.post(`${fixture.A}/issuers`, {}), ['name'])
    expectInvalid(await fixture.owner.post(`${fixture.A}/issuers`), ['name'])
    expectInvalid(await fixture.owner.post(clients(), {}), ['name', 'type', 'confidential', 'settings'])
    expectInvalid(await fixture.owner.post(`${fixture.I}/users`, {}), ['username_type', 'username'])
    expectInvalid(await fixture.owner.post(`${fixture.I}/auth-methods`, {}), ['name', 'method'])
    expectInvalid(await fixture.owner.post(`${fixture.A}/api-keys`, {}), ['name', 'restrictions'])
    expectInvalid(
      await fixture.owner.post(`${fixture.I}/users/${fixture.ids.user_id}/verifiers`, { type: 'password' }),
      ['name', 'password'],
    )
    expectInvalid(
      await fixture.owner.post(`${fixture.I}/users/${fixture.ids.user_id}/verifiers`, {
        type: 'temporary_password',
        name: 'n',
      }),
      ['password', 'expires_at'],
    )
  })

  const collections: [string, () => string, () => Record<string, unknown>, string[], string[]][] = [
    [
      'issuers',
      () => `${fixture.A}/issuers`,
      () => ({ name: uniqueName('I') }),
      ['description'],
      ['name', 'links', 'available_scopes', 'status', 'settings', 'metadata'],
    ],
    [
      'clients',
      clients,
      publicClient,
      ['description', 'logo_url', 'secret'],
      ['name', 'type', 'confidential', 'settings', 'metadata'],
    ],
    [
      'users',
      () => `${fixture.I}/users`,
      () => ({ username_type: 'unique', username: uniqueName('u') }),
      ['signup_reason', 'triggered_rule', 'region'],
      [
        'username',
        'username_type',
        'profile',
        'security',
        'compliance',
        'preferences',
        'custom_fields',
        'scopes',
        'metadata',
        'requires_approval',
        'email_verified',
        'status',
      ],
    ],
    [
      'auth methods',
      () => `${fixture.I}/auth-methods`,
      () => ({ name: uniqueName('m'), method: 'passkey' }),
      [],
      ['name', 'method', 'enabled_login', 'enabled_signup', 'featured', 'first_factor_only', 'settings'],
    ],
  ]
  test.each(collections)(
    'null in %s is accepted only where the field is nullable',
    async (_, path, body, nullable, others) => {
      for (const name of nullable)
        expect({ name, status: (await fixture.owner.post(path(), { ...body(), [name]: null })).status }).toEqual({
          name,
          status: 201,
        })
      for (const name of others) expectInvalid(await fixture.owner.post(path(), { ...body(), [name]: null }), [name])
    },
  )

  test('an absent field is unchanged, null clears it', async () => {
    const created = expectStatus(
      await fixture.owner.post(clients(), publicClient({ description: 'd', logo_url: 'https://x.example/l.png' })),
      201,
    ).data
    const path = `${clients()}/${created.id}`
    const one = expectStatus(await fixture.owner.patch(path, { name: 'Renamed' }), 200).data
    expect(one).toMatchObject({ name: 'Renamed', description: 'd', logo_url: 'https://x.example/l.png' })
    const two = expectStatus(await fixture.owner.patch(path, { description: null }), 200).data
    expect(two).toMatchObject({ description: null, logo_url: 'https://x.example/l.png' })
    expect(expectStatus(await fixture.owner.patch(path, {}), 200).data).toMatchObject({
      name: 'Renamed',
      description: null,
    })
  })

  test('lengths and sizes', async () => {
    expectInvalid(await fixture.owner.post(clients(), publicClient({ name: 'x'.repeat(201) })), ['name'])
    expectInvalid(await fixture.owner.post(clients(), publicClient({ name: '   ' })), ['name'])
    expectInvalid(
      await fixture.owner.post(
        clients(),
        publicClient({ metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, 1])) }),
      ),
      ['metadata'],
    )
    expectInvalid(await fixture.owner.post(clients(), publicClient({ metadata: { a: 'x'.repeat(16_384) } })), [
      'metadata',
    ])
    expect(
      (
        await fixture.owner.post(
          clients(),
          publicClient({ metadata: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, 1])) }),
        )
      ).status,
    ).toBe(201)
    for (const logo_url of [
      'x',
      '/logo.png',
      'javascript:alert(1)',
      'ftp://x.example/',
      'https://u:p@x.example/',
      'https://x.example/\\',
      ' https://x.example',
      'https://x.example/\n',
    ]) {
      expectInvalid(await fixture.owner.post(clients(), publicClient({ logo_url })), ['logo_url'])
    }
  })
})

describe('methods, paths and content types', () => {
  test('405 with Allow, 404 for unknown paths', async () => {
    for (const path of new Set(routes.map(({ path }) => path))) {
      const allowed = routes.filter((route) => route.path === path).map(({ method }) => method)
      for (const method of ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS', 'REPORT'].filter(
        (name) => !allowed.includes(name as 'GET'),
      )) {
        const response = await fixture.owner.request(method, routePath({ path }, fixture.ids))
        expect({ method, path, status: response.status, error: response.body.error }).toEqual({
          method,
          path,
          status: 405,
          error: 'method_not_allowed',
        })
        for (const name of allowed) expect(response.headers.get('allow')).toContain(name)
      }
    }
    for (const path of [
      '/v1',
      '/v1/',
      '/v1/account',
      '/v1/accounts/',
      `${fixture.A}/`,
      `${fixture.A}/nothing`,
      `${fixture.I}/clients/`,
      `${fixture.I}/clients//`,
      `${fixture.I}//clients`,
      '/v2/accounts',
      '/V1/accounts',
      '/v1/Accounts',
      `${fixture.A}/issuers/${fixture.issuerId}/clients/x/y`,
      '/nothing',
      '/v1/accounts/../accounts//',
    ]) {
      const response = await fixture.owner.get(path)
      expect({ path, status: response.status, error: response.body.error }).toEqual({
        path,
        status: 404,
        error: 'not_found',
      })
    }
  })

  test('HEAD is GET without a body', async () => {
    for (const path of ['/v1/accounts', fixture.A, `${fixture.A}/nothing`, `${fixture.I}/clients?limit=0`]) {
      const [get, head] = [await fixture.owner.get(path), await fixture.owner.request('HEAD', path)]
      expect({ path, status: head.status, text: head.text }).toEqual({ path, status: get.status, text: '' })
    }
  })

  test('415 for a body whose Content-Type is not JSON', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
      'application/jsonp',
      'text/json',
      'json',
      'application/json-patch+json',
    ]) {
      const response = await fixture.owner.request('POST', clients(), JSON.stringify(publicClient()), {
        'content-type': type,
      })
      expect({ type, status: response.status, error: response.body.error }).toEqual({
        type,
        status: 415,
        error: 'unsupported_media_type',
      })
      expect(response.body.details[0].field).toBe('Content-Type')
    }
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON',
      'application/json ;charset=UTF-8',
    ]) {
      expect({
        type,
        status: (
          await fixture.owner.request('POST', clients(), JSON.stringify(publicClient()), { 'content-type': type })
        ).status,
      }).toEqual({ type, status: 201 })
    }
    const merge = await fixture.owner.request('PATCH', fixture.I, '{"description":"m"}', {
      'content-type': 'application/merge-patch+json',
    })
    expect(merge.status).toBe(200)
  })

  test('a body on a request that takes none is 400, an empty object is accepted', async () => {
    const rotate = `${clients()}/${fixture.ids.client_id}/secret/rotate`
    expect((await fixture.owner.post(rotate, { secret: 'x'.repeat(40) })).status).toBe(400)
    expect((await fixture.owner.post(rotate, [])).status).toBe(400)
    expect((await fixture.owner.post(rotate, {})).status).toBe(200)
    expect((await fixture.owner.post(rotate)).status).toBe(200)
    expect((await fixture.owner.request('DELETE', `${clients()}/cli_${'0'.repeat(26)}`, { a: 1 })).status).toBe(400)
  })

  test('more than 1 MiB is 413, by Content-Length or while reading', async () => {
    const large = withMetadata(`{"a":"${'x'.repeat(1024 * 1024)}"}`)
    const response = await fixture.owner.post(clients(), large)
    expect({ status: response.status, error: response.body.error }).toEqual({ status: 413, error: 'payload_too_large' })
    const chunks = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`
    for (const path of [clients(), '/graphql']) {
      const status = await rawStatus(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${fixture.owner.authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.repeat(20)}`,
      )
      expect({ path, status }).toEqual({ path, status: 413 })
    }
    expect((await fixture.owner.get(fixture.A)).status).toBe(200)
  })

  test('a body shorter than its Content-Length ends only its own request', async () => {
    const socket = connect(Number(new URL(app.baseUrl).port), '127.0.0.1')
    const text = `POST ${clients()} HTTP/1.1\r\nHost: x\r\nAuthorization: ${fixture.owner.authorization}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{`
    await new Promise((done) => socket.write(text, done))
    socket.destroy()
    expect((await fixture.owner.get(fixture.A)).status).toBe(200)
  })

  test('invalid HTTP requests are refused with 400', async () => {
    for (const text of [
      'GET /v1/accounts HTTP/9.9\r\n\r\n',
      'HELLO\r\n\r\n',
      `GET /v1/accounts HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
      `POST ${clients()} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ]) {
      expect([400, 431, 505]).toContain(await rawStatus(text))
    }
    for (const target of [
      '//evil.example/v1/accounts',
      'http://evil.example/v1/accounts',
      '*',
      '/v1/accounts?%',
      '/%',
      '/%00',
      '/v1/%2e%2e/accounts',
      '/v1/accounts;x=1',
      '/\\v1\\accounts',
    ]) {
      const status = await rawStatus(
        `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${fixture.owner.authorization}\r\n\r\n`,
      )
      expect({ target, fine: status >= 200 && status < 500 }).toEqual({ target, fine: true })
    }
  })
})

/** Sends a raw HTTP request and returns the status of the response. */
function rawStatus(text: string): Promise<number> {
  return new Promise((done, fail) => {
    const socket = connect(Number(new URL(app.baseUrl).port), '127.0.0.1', () => socket.write(text))
    let response = ''
    socket.on('data', (chunk) => {
      response += chunk.toString('latin1')
      if (response.includes('\r\n')) {
        done(Number(response.split(' ')[1]))
        socket.destroy()
      }
    })
    socket.on('error', (error) => (response === '' ? fail(error) : undefined))
    socket.on('close', () => fail(new Error(`the connection closed without a response: ${response}`)))
  })
}

/** Returns a function that returns pseudorandom numbers from 0 to 1. The same seed gives the same numbers (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

describe('no request of a caller causes a 5xx', () => {
  const random = numbers(20261121)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const hostile: unknown[] = [
    null,
    true,
    false,
    0,
    -1,
    1,
    1.5,
    1e21,
    -1e21,
    253_402_300_799_999,
    253_402_300_800_000,
    9_007_199_254_740_991,
    '',
    ' ',
    'x',
    '\t',
    '\u0001',
    '\u007f',
    '\u200b',
    '\u202e',
    '\ufeff',
    '\u{1f600}',
    'ﷺ'.repeat(128),
    'ß',
    'İ',
    'é',
    '\u0301'.repeat(200),
    "'",
    '"',
    "' OR 1=1 --",
    '"; DROP TABLE users; --',
    '$1',
    '%',
    '_',
    '\\',
    '\\\\',
    '%%%',
    '#{7*7}',
    '{{7*7}}',
    '<script>alert(1)</script>',
    '../../etc/passwd',
    '\r\nX-Evil: 1',
    'null',
    'undefined',
    'NaN',
    'true',
    '[object Object]',
    'x'.repeat(300),
    'x'.repeat(3000),
    'y'.repeat(20_000),
    [],
    {},
    [[]],
    [null],
    [{}],
    ['a', 1, null],
    { a: null },
    { a: { b: { c: [1, 2, { d: 'e' }] } } },
    { $ne: 1 },
    { set: 1 },
    { increment: 1 },
    { length: 1e9 },
    ['issuers.users:read'],
    ['a'.repeat(200)],
    [' '],
    ['"'],
    { scopes: ['svc:all'] },
    { issuer_ids: [1] },
    { ip_allowlist: ['::/0', '0.0.0.0/0', '1', 'x'] },
    { openid: { redirect_uris: ['https://a.example', 'javascript:x'] } },
    { openid: [] },
    { openid: { grant_types: 'x' } },
    { security: { password_policy: { min_length: 1e9, max_length: -1 } } },
    'active',
    'deleted',
    'suspended',
    'email',
    'password',
    'a@b.example',
    '+4915112345678',
    'https://a.example/',
    'cli_01m7y61pgbe43t5m5s7b4p8jgh',
    'usr_',
    1.7e12,
  ]
  const words = [
    'limit',
    'cursor',
    'status',
    'name',
    'search',
    '',
    'a[b]',
    '__proto__',
    'id',
    '%00',
    '%',
    '%zz',
    '&&',
    '=',
  ]
  const headers: Record<string, string[]> = {
    'if-match': [
      '*',
      '"1"',
      'W/"1"',
      '""',
      '"',
      ',,,',
      '"1',
      '\t',
      `"${'9'.repeat(400)}"`,
      `${'"1",'.repeat(500)}"2"`,
      '"\u00ff"',
    ],
    'if-none-match': ['*', '"1"', ',,', 'W/', `${'"1",'.repeat(500)}`],
    'idempotency-key': ['k', '', ' ', 'x'.repeat(256), 'x'.repeat(257), '\u00ff', "'", '\\', '%00'],
    'content-type': [
      'application/json',
      'application/json;charset=utf-16',
      'text/plain',
      '',
      ';',
      'application/json; boundary="',
    ],
    'x-forwarded-for': ['1.2.3.4', 'x'.repeat(5000), ',,,', '\u00ff'],
    'user-agent': ['\u00ff\u0080', 'x'.repeat(5000), ''],
    'accept-encoding': ['gzip', '*;q=0', ';;'],
    'content-encoding': ['gzip', 'br', 'x'],
    expect: ['100-continue'],
    range: ['bytes=0-1', 'x'],
    accept: ['text/html', 'x', '*/*;q=0'],
    cookie: ['a=b; a=c', ';;;', '\u00ff'],
  }
  const plain = (value: unknown) =>
    encodeURIComponent(typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value))

  function hostileBody(operation: string): string | undefined {
    const good = requestBodies[operation]?.() as Record<string, unknown> | undefined
    if (!good || random() < 0.05) return pick(['', '{}', '[]', 'null', '{"a":', '\u0000', '{"name":"x"}', '"\\ud800"'])
    const extra = [
      'name',
      'status',
      'settings',
      'metadata',
      'scopes',
      'restrictions',
      'expires_at',
      'username',
      'username_type',
      'profile',
      'domains',
      'owner_user_id',
      'logo_url',
      'tags',
      'method',
      'type',
      'password',
      'region',
      'secret',
      'new_secret',
      'hint',
      'by',
      'reason',
      'available_scopes',
      'links',
      'description',
      'status_at',
      'approval',
      'first_factor_only',
      'must_change',
      'custom_fields',
    ]
    for (let i = 0; i < 1 + random() * 3; i++) good[pick(random() < 0.5 ? Object.keys(good) : extra)] = pick(hostile)
    return JSON.stringify(good)
  }

  test.each([1, 2, 3])('hostile paths, queries, headers and bodies on all routes (%i)', async () => {
    for (let turn = 0; turn < 3; turn++) {
      for (const route of routes) {
        // A destructive request gets an invalid account id, so that it does not delete resources of the fixture.
        const ids = Object.fromEntries(
          Object.entries(fixture.ids).map(([key, id]) => [
            key,
            random() < 0.15 ? String(pick(hostile)).slice(0, 2000).toWellFormed() : id,
          ]),
        ) as unknown as TenantFixture['ids']
        const isDestructive =
          route.method === 'DELETE' || route.path.endsWith('/revoke') || route.path.endsWith('/block')
        if (isDestructive) ids.account_id = String(pick(hostile)).slice(0, 2000).toWellFormed()
        const path =
          routePath(route, ids) + (random() < 0.3 ? `?${pick(words)}=${plain(pick(hostile)).slice(0, 4000)}` : '')
        const chosen = Object.fromEntries(
          Object.entries(headers).flatMap(([name, values]) =>
            random() < 0.12 && name !== 'expect' ? [[name, pick(values)]] : [],
          ),
        )
        const body = route.method === 'GET' ? undefined : hostileBody(route.operation)
        const sent = { 'content-type': 'application/json', ...chosen }
        const response = await fetch(`${app.baseUrl}${path}`, {
          method: route.method,
          headers: { ...sent, authorization: fixture.owner.authorization! },
          ...(body !== undefined && { body }),
        })
        const text = await response.text()
        const observed = {
          route: `${route.method} ${path.slice(0, 300)}`,
          headers: chosen,
          body: body?.slice(0, 400),
          text: text.slice(0, 300),
          status: response.status,
        }
        expect({ ...observed, fine: response.status >= 200 && response.status < 500 }).toEqual({
          ...observed,
          fine: true,
        })
        if (response.status >= 400)
          expect(JSON.parse(text)).toMatchObject({ error: expect.any(String), error_description: expect.any(String) })
        expect(text).not.toMatch(/prisma|node_modules|at \w+ \(|SELECT |violates/i)
      }
    }
    expect((await fixture.owner.get(fixture.A)).status).toBe(200)
  })

  test('hostile GraphQL variables', async () => {
    const documents = [
      'mutation ($v: CreateUserInput!) { createUser(PLACE, input: $v) { id } }',
      'mutation ($v: CreateClientInput!) { createClient(PLACE, input: $v) { id } }',
      'mutation ($v: UpdateIssuerInput!) { updateIssuer(PLACE, input: $v) { id } }',
      'query ($v: String) { users(PLACE, search: $v) { data { id } } }',
      'query ($v: String) { users(PLACE, cursor: $v) { data { id } } }',
      'query ($v: String) { clients(PLACE, name: $v) { data { id } } }',
      'query ($v: Int) { clients(PLACE, limit: $v) { data { id } } }',
      'query ($v: ID!) { user(PLACE, userId: $v) { id } }',
    ].map((text) => text.replace('PLACE', `accountId: "${fixture.accountId}", issuerId: "${fixture.issuerId}"`))
    for (const query of documents) {
      for (const value of hostile) {
        const wrapped =
          query.includes('Input!') && typeof value === 'string'
            ? { username: value, usernameType: 'unique', name: value }
            : value
        const response = await fixture.owner.graphql(query, { v: wrapped })
        const worst = Math.max(
          response.status,
          ...(response.body.errors ?? []).map((error: AnyJson) => error.extensions.status),
        )
        expect({ query, value, worst, text: worst >= 500 ? response.text : '' }).toEqual({
          query,
          value,
          worst,
          text: '',
        })
      }
    }
  })
})
