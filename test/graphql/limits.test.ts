/**
 * Limits of documents, refused requests, and the format of errors (docs/contract.md#graphql-limits,
 * docs/contract.md#graphql-api).
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTenantFixture, type TenantFixture } from '../contract/tenant-fixture.js'
import { expectStatus } from '../setup/actors.js'
import { type AnyJson, createApiClient } from '../setup/api.js'
import { subscribe } from '../setup/event-stream.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let fixture: TenantFixture
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
})
afterAll(() => app.close())

const runGraphql = (query: string, variables?: Record<string, unknown>) => fixture.owner.graphql(query, variables)
const inAccount = () => `accountId: "${fixture.accountId}"`
const inIssuer = () => `${inAccount()}, issuerId: "${fixture.issuerId}"`

async function expectRefused(query: string, variables?: Record<string, unknown>): Promise<AnyJson> {
  const { status, body } = await runGraphql(query, variables)
  const short = query.slice(0, 120)
  expect({ short, status, errors: body.errors?.length > 0 }).toEqual({ short, status: 400, errors: true })
  expect(body.data).toBeUndefined()
  for (const { extensions } of body.errors) expect(extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
  return body.errors[0]
}

/** Returns a document in which each fragment spreads the next one twice, so that its expansion has 2^levels fields. */
const nestedFragments = (levels: number) => {
  const fragments = Array.from({ length: levels }, (_, i) => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`)
  return `{ ...F0 } ${fragments.join(' ')} fragment F${levels} on Query { __typename }`
}

test('a document with more than 500 fields or 20 root fields is 400', async () => {
  const aliases = (count: number) => Array.from({ length: count }, (_, i) => `f${i}: id`).join(' ')
  expect((await runGraphql(`{ me { ${aliases(490)} } }`)).status).toBe(200)
  await expectRefused(`{ me { ${aliases(501)} } }`)
  const roots = (count: number) => Array.from({ length: count }, (_, i) => `r${i}: me { id }`).join(' ')
  expect((await runGraphql(`{ ${roots(20)} }`)).status).toBe(200)
  await expectRefused(`{ ${roots(21)} }`)
  await expectRefused(`{ ...F } fragment F on Query { ${roots(21)} }`)
  await expectRefused(`{ ... { ${roots(11)} } ...F } fragment F on Query { ${roots(11).replaceAll('r', 's')} }`)
})

test('the limit of root fields includes mutations, also in fragments', async () => {
  const calls = Array.from({ length: 21 }, (_, i) => `m${i}: deleteIssuer(${inAccount()}, issuerId: "iss_x")`).join(' ')
  await expectRefused(`mutation { ${calls} }`)
  await expectRefused(`mutation { ...F } fragment F on Mutation { ${calls} }`)
})

test('the product of nested page sizes is limited, also with fragments, aliases and variables', async () => {
  const rows = '{ issuers(limit: 100) { data { id clients(limit: 100) { data { id } } } } }'
  await expectRefused(`{ accounts(limit: 100) { data ${rows} } }`)
  await expectRefused(`{ accounts(limit: 100) { ...A } }
    fragment A on AccountPage { data { issuers(limit: 100) { ...I } } }
    fragment I on IssuerPage { data { clients(limit: 100) { ...C } } }
    fragment C on ClientPage { data { id } }`)
  await expectRefused(
    `{ accounts(limit: 100) { ... { data { issuers(limit: 100) { ... on IssuerPage { data { clients(limit: 100) { ... { x: data { id } } } } } } } } } }`,
  )
  const withVariable =
    'query ($n: Int) { accounts(limit: $n) { data { issuers(limit: $n) { data { clients(limit: $n) { data { id } } } } } } }'
  await expectRefused(withVariable, { n: 100 })
  expect((await runGraphql(withVariable, { n: 10 })).status).toBe(200)
  const withDefault = withVariable.replace('$n: Int', '$n: Int = 100')
  await expectRefused(withDefault)
  expect((await runGraphql(withDefault, { n: 10 })).status).toBe(200)
  // A negative page size must not pay for another list.
  await expectRefused(`{ cheap: accounts(limit: -100) { data ${rows} } accounts(limit: 100) { data ${rows} } }`)
  expect(
    (
      await runGraphql(
        `{ accounts(limit: 10) { data { issuers(limit: 10) { data { clients(limit: 10) { data { id } } } } } } }`,
      )
    ).status,
  ).toBe(200)
})

test('the limits of a subscription include the values of its variables', async () => {
  const { accountId, owner } = fixture
  const sessions = (selection: string) => `user { sessions(limit: $n) { data { ${selection} } } }`
  const document = `subscription ($a: ID!, $n: Int = 100) { eventAdded(accountId: $a) { ${sessions(sessions(sessions('id')))} } }`
  for (const n of [undefined, 100]) {
    const { status, body } = await subscribe(owner, accountId, { document, variables: { a: accountId, n } })
    expect({ n, status, code: body.errors[0].extensions.code }).toEqual({ n, status: 400, code: 'INVALID_REQUEST' })
  }
  const stream = await subscribe(owner, accountId, { document, variables: { a: accountId, n: 10 } })
  expect(stream.status).toBe(200)
  stream.close()
})

test('three levels of lists without page sizes are within the limits', async () => {
  const { status, body } = await runGraphql(
    `{ issuers(${inAccount()}) { data { name users { data { username sessions { data { status } } } } } } }`,
  )
  expect({ status, errors: body.errors }).toEqual({ status: 200, errors: undefined })
})

test('fragments that expand exponentially and recursive fragments are refused', async () => {
  await expectRefused(nestedFragments(200))
  await expectRefused(
    `{ me { ...F0 } } ${Array.from({ length: 200 }, (_, i) => `fragment F${i} on Caller { ...F${i + 1} ...F${i + 1} }`).join(' ')} fragment F200 on Caller { id }`,
  )
  // Recursive fragments.
  await expectRefused('{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }')
  await expectRefused('{ me { ...A } } fragment A on Caller { id ...A }')
})

test('a document with more than 5,000 tokens is 400, and one with more than 256 KiB is 413', async () => {
  await expectRefused(`{ me { id ${'id '.repeat(5000)} } }`)
  const large = await runGraphql(`{ me { id } } # ${'x'.repeat(256 * 1024)}`)
  expect(large.status).toBe(413)
  expect(large.body.errors[0].extensions).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', status: 413 })
})

test('deeply nested values and deep introspection are refused', async () => {
  const deep = '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }'
  expect((await runGraphql(deep)).status).toBe(400)
  await expectRefused(`{ me(x: ${'['.repeat(2000)}${']'.repeat(2000)}) { id } }`)
})

test('invalid documents and unknown names are 400 with code and status', async () => {
  for (const query of [
    '',
    '{',
    '{ nothing }',
    // A field with the name of a network error code, which must not be handled as a network error.
    '{ ECONNREFUSED }',
    'query A { me { id } } query B { me { id } }',
    '{ me { id }',
    '{ me }',
    '\u{1F600}',
    '{ me(x: 1) { id } }',
    '{ account { id } }',
    '{ account(accountId: {}) { id } }',
    '{ me { id @nothing } }',
    'fragment F on Query { me { id } }',
    '{ me { ...Missing } }',
  ]) {
    await expectRefused(query)
  }
  for (const body of [
    {},
    { query: null },
    { query: 1 },
    { query: ['{me{id}}'] },
    { query: '{ me { id } }', variables: [] },
    { query: '{ me { id } }', variables: 'x' },
    { query: '{ me { id } }', operationName: 'B' },
    { query: '{ me { id } }', operationName: 1 },
    { query: '{ me { id } }', extensions: 1 },
    [],
    [{ query: '{ me { id } }' }],
    'null',
    '"x"',
    '7',
    '{"query":',
  ]) {
    const response = await fixture.owner.request('POST', '/graphql', body)
    const text = JSON.stringify(body)
    expect({ text, status: response.status, code: response.body.errors?.[0].extensions }).toMatchObject({
      text,
      status: 400,
      code: { code: 'INVALID_REQUEST', status: 400, request_id: expect.stringMatching(/^req_/) },
    })
  }
})

test('a batch of operations is refused', async () => {
  const response = await fixture.owner.request('POST', '/graphql', [
    { query: '{ me { id } }' },
    { query: '{ me { id } }' },
  ])
  expect(response.status).toBe(400)
  expect(response.text).not.toContain('ak_')
})

test('requests that browsers send to other sites without a preflight are refused: GET, forms and plain text', async () => {
  const query = encodeURIComponent('{ me { id } }')
  const get = await fixture.owner.get(`/graphql?query=${query}`)
  expect(get.status).toBeGreaterThanOrEqual(400)
  expect(get.status).toBeLessThan(500)
  expect(get.text).not.toContain('ak_')
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', '']) {
    const response = await fixture.owner.request('POST', '/graphql', JSON.stringify({ query: '{ me { id } }' }), {
      'content-type': type,
    })
    expect({ type, client: response.status >= 400 && response.status < 500 }).toEqual({ type, client: true })
    expect(response.text).not.toContain('ak_')
  }
  const simple = await fixture.owner.get(`/graphql?query=${query}`, { 'apollo-require-preflight': '1' })
  expect({ status: simple.status, allow: simple.headers.get('allow') }).toEqual({ status: 405, allow: 'POST' })
  for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const response = await fixture.owner.request(method, '/graphql')
    expect({ method, client: response.status >= 400 && response.status < 500 }).toEqual({ method, client: true })
  }
})

test('anonymous callers get 401 and no part of the schema', async () => {
  for (const query of ['{ __schema { types { name } } }', '{ __typename }', '{ nothing }', '{', '{ account { id } }']) {
    const response = await createApiClient(app.baseUrl).graphql(query)
    expect(response.status).toBe(401)
    expect(response.body.errors).toHaveLength(1)
    expect(response.body.errors[0].extensions).toMatchObject({ code: 'UNAUTHORIZED', status: 401 })
    expect(response.text).not.toMatch(/Did you mean|Cannot query|Syntax/)
  }
})

test('an error contains code, status, request id and the errors of the input', async () => {
  const response = await runGraphql(
    `mutation { createClient(${inIssuer()}, input: {name: "x", type: external, confidential: false, settings: {openid: {redirect_uris: ["javascript:alert(1)"]}}}) { id } }`,
  )
  expect(response.body.data).toBeNull()
  expect(response.body.errors[0].extensions).toEqual({
    code: 'INVALID_REQUEST',
    status: 400,
    request_id: expect.stringMatching(/^req_/),
    details: [{ field: 'settings.openid.redirect_uris[0]', code: 'invalid_format', message: expect.any(String) }],
  })
  expect(response.headers.get('x-request-id')).toBe(response.body.errors[0].extensions.request_id)
  expect(response.text).not.toMatch(/stack|node_modules|\.ts:/)
})

test('an internal error contains the request id, but neither the cause nor SQL', async () => {
  const { prisma } = app.gatehouse.database
  await prisma.$executeRawUnsafe('ALTER TABLE verifiers RENAME TO hidden')
  try {
    const path = `${fixture.I}/users/${fixture.ids.user_id}/verifiers`
    const rest = await fixture.owner.get(path)
    expect(rest.body).toEqual({
      error: 'internal_error',
      error_description: expect.any(String),
      request_id: expect.stringMatching(/^req_/),
    })
    expect(rest.status).toBe(500)
    const graphql = await runGraphql(`{ verifiers(${inIssuer()}, userId: "${fixture.ids.user_id}") { data { id } } }`)
    expect(graphql.body.errors[0].extensions).toEqual({
      code: 'INTERNAL_ERROR',
      status: 500,
      request_id: expect.any(String),
    })
    for (const { text } of [rest, graphql]) expect(text).not.toMatch(/prisma|relation|public\.|SELECT/i)
  } finally {
    await prisma.$executeRawUnsafe('ALTER TABLE hidden RENAME TO verifiers')
  }
})

test('a failed mutation does not roll back an earlier mutation of the document', async () => {
  const create = (alias: string, name: string) =>
    `${alias}: createIssuer(${inAccount()}, input: {name: "${name}"}) { name }`
  const response = await runGraphql(`mutation { ${create('a', 'First')} ${create('b', ' ')} }`)
  expect(response.body.errors[0].path).toEqual(['b'])
  const { data } = expectStatus(await fixture.owner.get(`${fixture.A}/issuers`), 200)
  expect(data.some((issuer: AnyJson) => issuer.name === 'First')).toBe(true)
})

test('me returns the caller', async () => {
  const { body } = await runGraphql('{ me { type id accountId issuerId scopes } }')
  expect(body.data.me).toEqual({
    type: 'api_key',
    id: expect.stringMatching(/^ak_/),
    accountId: fixture.accountId,
    issuerId: null,
    scopes: ['svc:all'],
  })
})
