/** ETag and If-Match (docs/contract.md#etag-and-if-match) for every resource that supports them. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Route, routes } from '../../src/rest/routes.js'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { createTenantFixture, publicClient, requestBodies, type TenantFixture, uniqueName } from './tenant-fixture.js'

let app: TestApp
let fixture: TenantFixture
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
})
afterAll(() => app.close())

interface Kind {
  /** Creates a resource and returns its path. */
  make(): Promise<string>
  /** Returns the body of a PATCH that changes the resource. */
  patch(): object
  /** The HTTP status of DELETE; undefined if there is no DELETE. */
  deletion?: 202 | 204
  /** The HTTP status of GET after the deletion. */
  after?: 404 | 200
}

/** Matches the paths of a route. */
const fitting = ({ path }: Route) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`)

const creating = (collection: () => string, body: () => object) => async () =>
  `${collection()}/${expectStatus(await fixture.owner.post(collection(), body()), 201).data.id}`

const kinds: [string, Kind][] = [
  ['account', { make: async () => fixture.A, patch: requestBodies['updateAccount']! }],
  [
    'issuer',
    {
      make: creating(() => `${fixture.A}/issuers`, requestBodies['createIssuer']!),
      patch: requestBodies['updateIssuer']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'auth method',
    {
      make: creating(() => `${fixture.I}/auth-methods`, requestBodies['createAuthMethod']!),
      patch: requestBodies['updateAuthMethod']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'client',
    {
      make: creating(() => `${fixture.I}/clients`, publicClient),
      patch: requestBodies['updateClient']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'user',
    {
      make: creating(() => `${fixture.I}/users`, requestBodies['createUser']!),
      patch: requestBodies['updateUser']!,
      deletion: 202,
      after: 404,
    },
  ],
  [
    'organization',
    {
      make: creating(() => `${fixture.I}/organizations`, requestBodies['createOrganization']!),
      patch: requestBodies['updateOrganization']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'organization group',
    {
      make: creating(
        () => `${fixture.I}/organizations/${fixture.ids.org_id}/groups`,
        requestBodies['createOrganizationGroup']!,
      ),
      patch: requestBodies['updateOrganizationGroup']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'API key of an organization',
    {
      make: creating(
        () => `${fixture.I}/organizations/${fixture.ids.org_id}/api-keys`,
        requestBodies['createOrganizationApiKey']!,
      ),
      patch: requestBodies['updateOrganizationApiKey']!,
      deletion: 204,
      after: 200,
    },
  ],
  [
    'API key',
    {
      make: creating(() => `${fixture.A}/api-keys`, requestBodies['createApiKey']!),
      patch: requestBodies['updateApiKey']!,
      deletion: 204,
      after: 200,
    },
  ],
  [
    'agent',
    {
      make: creating(() => `${fixture.I}/agents`, requestBodies['createAgent']!),
      patch: requestBodies['updateAgent']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'note',
    {
      make: creating(
        () => `${fixture.A}/notes`,
        () => requestBodies['createNote']!(fixture.ids),
      ),
      patch: requestBodies['updateNote']!,
      deletion: 204,
      after: 404,
    },
  ],
]

describe.each(kinds)('%s', (_, { make, patch, deletion, after }) => {
  let path: string
  beforeAll(async () => {
    path = await make()
  })
  const tag = async () => (await fixture.owner.get(path)).headers.get('etag')!

  test('a 200 has a strong ETag: the quoted updated_at in milliseconds', async () => {
    const read = await fixture.owner.get(path)
    expect(read.headers.get('etag')).toBe(`"${read.body.data.updated_at}"`)
    expect(Number.isSafeInteger(read.body.data.updated_at)).toBe(true)
    const written = await fixture.owner.patch(path, patch())
    expect(written.status).toBe(200)
    expect(written.headers.get('etag')).toBe(`"${written.body.data.updated_at}"`)
    expect(written.headers.get('etag')).not.toBe(read.headers.get('etag'))
    expect((await fixture.owner.get(path)).headers.get('etag')).toBe(written.headers.get('etag'))
  })

  test('If-Match accepts one quoted value, a list of which one must match, and *', async () => {
    for (const value of [
      async () => await tag(),
      async () => `"0", ${await tag()}`,
      async () => `${await tag()},"0"`,
      async () => ` "0" , "a,b" ,${await tag()} `,
      async () => '*',
      async () => ' * ',
    ]) {
      const given = await value()
      const response = await fixture.owner.patch(path, patch(), { 'if-match': given })
      expect({ given, status: response.status }).toEqual({ given, status: 200 })
    }
  })

  test('a value that does not match is 412 with the documented body, and changes nothing', async () => {
    for (const given of ['"0"', '"1", "2"', '"a,b"', `"${(await tag()).slice(1, -1)}0"`]) {
      const before = await fixture.owner.get(path)
      for (const response of [
        await fixture.owner.patch(path, patch(), { 'if-match': given }),
        ...(deletion ? [await fixture.owner.delete(path, { 'if-match': given })] : []),
      ]) {
        expect({ given, status: response.status }).toEqual({ given, status: 412 })
        const { request_id, ...body } = response.body
        expect(request_id).toMatch(/^req_/)
        expect(body).toEqual({
          error: 'precondition_failed',
          error_description: expect.any(String),
          currentETag: before.headers.get('etag'),
          retryable: false,
        })
        expect(response.headers.get('etag')).toBeNull()
      }
      expect((await fixture.owner.get(path)).text).toBe(before.text)
    }
  })

  test('a weak, unquoted or empty value is 400', async () => {
    const current = await tag()
    for (const given of [
      `W/${current}`,
      `${current}, W/"1"`,
      `w/${current}`,
      current.slice(1, -1),
      `'1'`,
      '"1',
      '""1"',
      '"a" "b"',
      '*, "1"',
      ',',
      '',
    ]) {
      const response = await fixture.owner.patch(path, patch(), { 'if-match': given })
      expect({ given, status: response.status, error: response.body.error }).toEqual({
        given,
        status: 400,
        error: 'invalid_request',
      })
      expect(response.body.details).toEqual([
        { field: 'If-Match', code: 'invalid_format', message: expect.any(String) },
      ])
      expect(response.body.error_description).toMatch(/^If-Match: must /)
      if (deletion) expect((await fixture.owner.delete(path, { 'if-match': given })).status).toBe(400)
    }
    expect(await tag()).toBe(current)
  })

  test('without If-Match the request is applied unconditionally', async () => {
    expect((await fixture.owner.patch(path, patch())).status).toBe(200)
  })

  test('updated_at increases strictly with every write', async () => {
    const seen: number[] = []
    for (let i = 0; i < 50; i++) seen.push(expectStatus(await fixture.owner.patch(path, patch()), 200).data.updated_at)
    for (let i = 1; i < seen.length; i++) expect(seen[i]).toBeGreaterThan(seen[i - 1]!)
  })

  test('of 20 parallel PATCHes with the same If-Match exactly one is 200, the others are 412', async () => {
    const current = await tag()
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => fixture.owner.patch(path, patch(), { 'if-match': current })),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(412)])
    const winner = responses.find(({ status }) => status === 200)!
    expect(await tag()).toBe(winner.headers.get('etag'))
  })

  test('If-None-Match with the current tag is 304 without a body, otherwise 200', async () => {
    const current = await tag()
    // A response with computed fields is never 304, because these fields can change without a new `updated_at`.
    if (routes.some((route) => route.hasDerivedFields && route.method === 'GET' && fitting(route).test(path))) {
      expect((await fixture.owner.get(path, { 'if-none-match': current })).status).toBe(200)
      return
    }
    for (const given of [current, `W/${current}`, `"0", ${current}`, '*']) {
      const response = await fixture.owner.get(path, { 'if-none-match': given })
      expect({ given, status: response.status, text: response.text }).toEqual({ given, status: 304, text: '' })
      expect(response.headers.get('etag')).toBe(current)
    }
    expect((await fixture.owner.get(path, { 'if-none-match': '"0"' })).status).toBe(200)
  })

  test('HEAD returns the ETag of GET and no body', async () => {
    const response = await fixture.owner.request('HEAD', path)
    expect({ status: response.status, text: response.text, etag: response.headers.get('etag') }).toEqual({
      status: 200,
      text: '',
      etag: await tag(),
    })
  })

  test('DELETE checks If-Match; its response has no ETag; If-Match on a missing resource is 404', async () => {
    if (!deletion) {
      expect((await fixture.owner.delete(path)).status).toBe(405)
      return
    }
    const current = await tag()
    expectStatus(await fixture.owner.patch(path, patch()), 200)
    expect((await fixture.owner.delete(path, { 'if-match': current })).status).toBe(412)
    const gone = await fixture.owner.delete(path, { 'if-match': await tag() })
    expect({ status: gone.status, text: gone.text, etag: gone.headers.get('etag') }).toEqual({
      status: deletion,
      text: '',
      etag: null,
    })
    expect((await fixture.owner.get(path)).status).toBe(after)
    if (after === 404) {
      expect((await fixture.owner.patch(path, patch(), { 'if-match': '"1"' })).status).toBe(404)
      expect((await fixture.owner.patch(path, patch(), { 'if-match': '*' })).status).toBe(404)
    }
    expect((await fixture.owner.delete(path, { 'if-match': '*' })).status).toBe(deletion === 202 ? 202 : 404)
    const never = path.replace(/_[0-9a-z]{26}$/, `_${'0'.repeat(26)}`)
    expect((await fixture.owner.patch(never, patch(), { 'if-match': '"1"' })).status).toBe(404)
    expect((await fixture.owner.delete(never, { 'if-match': '"1"' })).status).toBe(404)
  })

  test('of 20 parallel DELETEs with the same If-Match exactly one succeeds', async () => {
    if (!deletion) return
    const other = await make()
    const current = (await fixture.owner.get(other)).headers.get('etag')!
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => fixture.owner.delete(other, { 'if-match': current })),
    )
    const good = responses.filter(({ status }) => status === deletion)
    // A second DELETE of a user is 202 again (docs/contract.md#states-and-transitions). Of other resources it is 404, or
    // 412 if the ETag was compared after the first DELETE.
    if (deletion === 204) expect(good).toHaveLength(1)
    expect(responses.every(({ status }) => [deletion, 404, 412].includes(status))).toBe(true)
  })
})

test('resources with computed fields are never a stale 304: effective scopes, time-dependent states, counts', async () => {
  const { owner, A, I, ids } = await createTenantFixture(app)
  const O = `${I}/organizations/${ids.org_id}`
  const expires_at = app.clock.now() + 60_000
  const key = expectStatus(await owner.post(`${A}/api-keys`, { name: 'k', restrictions: {}, expires_at }), 201).data
  const member = `${O}/members/${ids.member_id}`
  const group = `${O}/groups/${ids.group_id}`
  const session = `${I}/sessions/${ids.session_id}`
  const paths = [A, member, group, `${A}/api-keys/${key.id}`, session]
  const tags = await Promise.all(paths.map(async (path) => (await owner.get(path)).headers.get('etag')!))
  const again = () => Promise.all(paths.map((path, index) => owner.get(path, { 'if-none-match': tags[index]! })))

  expectStatus(await owner.post(`${A}/domains`, { host: `${uniqueName('new')}.example.com` }), 201)
  expectStatus(await owner.patch(group, { scopes: ['orders:read'] }), 200)
  expectStatus(await owner.patch(O, { default_member_scopes: ['bills:read'] }), 200)
  app.clock.advance(60_000)
  const seen = await again()
  expect(seen.map(({ status }) => status)).toEqual(paths.map(() => 200))
  expect(seen[1]!.body.data.effective_scopes).toEqual(['bills:read', 'orders:read'])
  expect(seen[3]!.body.data.status).toBe('expired')
  tags[2] = seen[2]!.headers.get('etag')!
  expectStatus(await owner.delete(`${I}/users/${ids.member_id}`), 202)
  expect((await again())[2]!.body.data.member_count).toBe(0)
})

test('a 201 has the ETag, and so do actions that return one resource', async () => {
  const { owner, A, I, ids } = fixture
  for (const response of [
    await owner.post(`${I}/clients`, publicClient()),
    await owner.post(`${I}/clients/${ids.client_id}/secret/rotate`),
    await owner.post(`${A}/api-keys/${ids.key_id}/rotate`),
    await owner.post(`${A}/api-keys/${ids.key_id}/block`),
    await owner.post(`${A}/api-keys/${ids.key_id}/unblock`),
    await owner.post(`${A}/api-keys/${ids.key_id}/revoke`),
  ]) {
    expect([200, 201]).toContain(response.status)
    expect(response.headers.get('etag')).toBe(`"${response.body.data.updated_at}"`)
  }
})

test('before the first update, the tag is created_at', async () => {
  const { data } = expectStatus(await fixture.owner.post(`${fixture.I}/clients`, publicClient()), 201)
  expect(data.updated_at).toBe(data.created_at)
})

test('lists and errors have no ETag', async () => {
  const { owner, A, I, ids } = fixture
  for (const path of [
    '/v1/accounts',
    `${A}/issuers`,
    `${A}/api-keys`,
    `${I}/clients`,
    `${I}/users`,
    `${I}/auth-methods`,
    `${I}/users/${ids.user_id}/verifiers`,
  ]) {
    const response = await owner.get(path, { 'if-none-match': '*' })
    expect({ path, status: response.status, etag: response.headers.get('etag') }).toEqual({
      path,
      status: 200,
      etag: null,
    })
  }
  expect((await owner.get(`${A}/nothing`)).headers.get('etag')).toBeNull()
})

test('verifiers do not support If-Match: the header is ignored', async () => {
  const path = `${fixture.I}/users/${fixture.ids.user_id}/verifiers/${fixture.ids.verifier_id}`
  expect((await fixture.owner.patch(path, { description: 'x' }, { 'if-match': '"0"' })).status).toBe(200)
  expect((await fixture.owner.delete(path, { 'if-match': '"0"' })).status).toBe(204)
})

test('details name the header in /v1 in its canonical case, and the argument in GraphQL', async () => {
  const path = `${fixture.I}/clients/${fixture.ids.client_id}`
  const { body } = await fixture.owner.patch(path, { name: 'n' }, { 'if-match': 'bare' })
  expect(body.details.map(({ field }: { field: string }) => field)).toEqual(['If-Match'])
  const text =
    'mutation ($a: ID!, $i: ID!, $c: ID!) { updateClient(accountId: $a, issuerId: $i, clientId: $c, input: {}, ifMatch: "bare") { id } }'
  const variables = { a: fixture.accountId, i: fixture.issuerId, c: fixture.ids.client_id }
  const [error] = (await fixture.owner.graphql(text, variables)).body.errors
  expect(error.extensions.details).toEqual([{ ...body.details[0], field: 'ifMatch' }])
})

test('If-Match on POST and GET is ignored', async () => {
  const headers = { 'if-match': '"0"' }
  expect((await fixture.owner.post(`${fixture.I}/clients`, publicClient(), headers)).status).toBe(201)
  expect((await fixture.owner.get(fixture.I, headers)).status).toBe(200)
})

test('parallel merge patches of different settings keys without If-Match lose nothing', async () => {
  const { owner, A, I } = fixture
  const client = `${I}/clients/${expectStatus(await owner.post(`${I}/clients`, publicClient()), 201).data.id}`
  const user = `${I}/users/${expectStatus(await owner.post(`${I}/users`, { username_type: 'unique', username: uniqueName('u') }), 201).data.id}`
  const issuer = `${A}/issuers/${expectStatus(await owner.post(`${A}/issuers`, { name: 'Merge' }), 201).data.id}`
  const names = Array.from({ length: 8 }, (_, i) => `k${i}`)
  for (const [path, field] of [
    [client, 'settings'],
    [issuer, 'settings'],
    [user, 'metadata'],
  ] as const) {
    const responses = await Promise.all(names.map((name) => owner.patch(path, { [field]: { [name]: name } })))
    expect(responses.map(({ status }) => status)).toEqual(names.map(() => 200))
    const { data } = expectStatus(await owner.get(path), 200)
    for (const name of names) expect(data[field][name]).toBe(name)
  }
})

test('many parallel writers on a merged field all get a response below 500', async () => {
  const responses = await Promise.all(
    Array.from({ length: 40 }, (_, i) => fixture.owner.patch(fixture.I, { settings: { [`n${i}`]: i } })),
  )
  const good = responses.flatMap(({ status }, i) => (status === 200 ? [i] : []))
  expect(responses.filter(({ status }) => status !== 200 && status !== 409).map(({ text }) => text)).toEqual([])
  const { data } = expectStatus(await fixture.owner.get(fixture.I), 200)
  for (const i of good) expect(data.settings[`n${i}`]).toBe(i)
})

test('GraphQL: ifMatch follows the same rules', async () => {
  const { owner, accountId, issuerId } = fixture
  const ask = (ifMatch: string | null) =>
    owner.graphql(
      'mutation ($a: ID!, $i: ID!, $d: String, $m: String) { updateIssuer(accountId: $a, issuerId: $i, input: {description: $d}, ifMatch: $m) { updatedAt } }',
      { a: accountId, i: issuerId, d: uniqueName('d'), m: ifMatch },
    )
  const first = await ask(null)
  const tag = `"${first.body.data.updateIssuer.updatedAt}"`
  const second = await ask(tag)
  expect(second.body.errors).toBeUndefined()
  const current = `"${second.body.data.updateIssuer.updatedAt}"`
  expect((await ask(tag)).body.errors[0].extensions).toMatchObject({
    code: 'PRECONDITION_FAILED',
    status: 412,
    currentETag: current,
    retryable: false,
  })
  expect((await ask(`W/${current}`)).body.errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
  expect((await ask('')).body.errors[0].extensions.status).toBe(400)
})
