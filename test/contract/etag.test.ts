/** ETag and If-Match (spec 4.1, decisions D21), for every resource that has them. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Route, routes } from '../../src/rest/routes.js'
import { must } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { bodies, fresh, makeWorld, publicClient, type World } from './world.js'

let app: TestApp
let world: World
beforeAll(async () => {
  app = await startApp()
  world = await makeWorld(app)
})
afterAll(() => app.close())

interface Kind {
  /** Makes one and answers its path. */
  make(): Promise<string>
  patch(): object
  /** The status of DELETE; undefined where there is none. */
  deletion?: 202 | 204
  /** What a GET after the deletion answers. */
  after?: 404 | 200
}

/** Paths of this route. */
const fitting = ({ path }: Route) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`)

const making = (collection: () => string, body: () => object) => async () =>
  `${collection()}/${must(await world.owner.post(collection(), body()), 201).data.id}`

const kinds: [string, Kind][] = [
  ['account', { make: async () => world.A, patch: bodies['updateAccount']! }],
  [
    'issuer',
    {
      make: making(() => `${world.A}/issuers`, bodies['createIssuer']!),
      patch: bodies['updateIssuer']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'auth method',
    {
      make: making(() => `${world.I}/auth-methods`, bodies['createAuthMethod']!),
      patch: bodies['updateAuthMethod']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'client',
    {
      make: making(() => `${world.I}/clients`, publicClient),
      patch: bodies['updateClient']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'user',
    {
      make: making(() => `${world.I}/users`, bodies['createUser']!),
      patch: bodies['updateUser']!,
      deletion: 202,
      after: 404,
    },
  ],
  [
    'organization',
    {
      make: making(() => `${world.I}/organizations`, bodies['createOrganization']!),
      patch: bodies['updateOrganization']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'organization group',
    {
      make: making(() => `${world.I}/organizations/${world.ids.org_id}/groups`, bodies['createOrganizationGroup']!),
      patch: bodies['updateOrganizationGroup']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'API key of an organization',
    {
      make: making(() => `${world.I}/organizations/${world.ids.org_id}/api-keys`, bodies['createOrganizationApiKey']!),
      patch: bodies['updateOrganizationApiKey']!,
      deletion: 204,
      after: 200,
    },
  ],
  [
    'API key',
    {
      make: making(() => `${world.A}/api-keys`, bodies['createApiKey']!),
      patch: bodies['updateApiKey']!,
      deletion: 204,
      after: 200,
    },
  ],
  [
    'agent',
    {
      make: making(() => `${world.I}/agents`, bodies['createAgent']!),
      patch: bodies['updateAgent']!,
      deletion: 204,
      after: 404,
    },
  ],
  [
    'note',
    {
      make: making(
        () => `${world.A}/notes`,
        () => bodies['createNote']!(world.ids),
      ),
      patch: bodies['updateNote']!,
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
  const tag = async () => (await world.owner.get(path)).headers.get('etag')!

  test('a 200 carries a strong ETag: the quoted updated_at in milliseconds', async () => {
    const read = await world.owner.get(path)
    expect(read.headers.get('etag')).toBe(`"${read.body.data.updated_at}"`)
    expect(Number.isSafeInteger(read.body.data.updated_at)).toBe(true)
    const written = await world.owner.patch(path, patch())
    expect(written.status).toBe(200)
    expect(written.headers.get('etag')).toBe(`"${written.body.data.updated_at}"`)
    expect(written.headers.get('etag')).not.toBe(read.headers.get('etag'))
    expect((await world.owner.get(path)).headers.get('etag')).toBe(written.headers.get('etag'))
  })

  test('If-Match takes one quoted value, a list of which any may equal, and *', async () => {
    for (const value of [
      async () => await tag(),
      async () => `"0", ${await tag()}`,
      async () => `${await tag()},"0"`,
      async () => ` "0" , "a,b" ,${await tag()} `,
      async () => '*',
      async () => ' * ',
    ]) {
      const given = await value()
      const answer = await world.owner.patch(path, patch(), { 'if-match': given })
      expect({ given, status: answer.status }).toEqual({ given, status: 200 })
    }
  })

  test('a value that does not match is 412 with exactly the body of spec 4.1, and changes nothing', async () => {
    for (const given of ['"0"', '"1", "2"', '"a,b"', `"${(await tag()).slice(1, -1)}0"`]) {
      const before = await world.owner.get(path)
      for (const answer of [
        await world.owner.patch(path, patch(), { 'if-match': given }),
        ...(deletion ? [await world.owner.delete(path, { 'if-match': given })] : []),
      ]) {
        expect({ given, status: answer.status }).toEqual({ given, status: 412 })
        const { request_id, ...body } = answer.body
        expect(request_id).toMatch(/^req_/)
        expect(body).toEqual({
          error: 'precondition_failed',
          error_description: expect.any(String),
          currentETag: before.headers.get('etag'),
          retryable: false,
        })
        expect(answer.headers.get('etag')).toBeNull()
      }
      expect((await world.owner.get(path)).text).toBe(before.text)
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
      const answer = await world.owner.patch(path, patch(), { 'if-match': given })
      expect({ given, status: answer.status, error: answer.body.error }).toEqual({
        given,
        status: 400,
        error: 'invalid_request',
      })
      expect(answer.body.details).toEqual([{ field: 'If-Match', code: 'invalid_format', message: expect.any(String) }])
      expect(answer.body.error_description).toMatch(/^If-Match: takes /)
      if (deletion) expect((await world.owner.delete(path, { 'if-match': given })).status).toBe(400)
    }
    expect(await tag()).toBe(current)
  })

  test('without If-Match the request is applied unconditionally', async () => {
    expect((await world.owner.patch(path, patch())).status).toBe(200)
  })

  test('updated_at rises strictly with every write, however quick', async () => {
    const seen: number[] = []
    for (let i = 0; i < 50; i++) seen.push(must(await world.owner.patch(path, patch()), 200).data.updated_at)
    for (let i = 1; i < seen.length; i++) expect(seen[i]).toBeGreaterThan(seen[i - 1]!)
  })

  test('of 20 parallel PATCHes with the same If-Match exactly one is 200, the others 412', async () => {
    const current = await tag()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => world.owner.patch(path, patch(), { 'if-match': current })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(412)])
    const winner = answers.find(({ status }) => status === 200)!
    expect(await tag()).toBe(winner.headers.get('etag'))
  })

  test('If-None-Match with the current tag is 304 without a body, otherwise 200', async () => {
    const current = await tag()
    // What shows more than its row is told anew each time; see below.
    if (routes.some((route) => route.derived && route.method === 'GET' && fitting(route).test(path))) {
      expect((await world.owner.get(path, { 'if-none-match': current })).status).toBe(200)
      return
    }
    for (const given of [current, `W/${current}`, `"0", ${current}`, '*']) {
      const answer = await world.owner.get(path, { 'if-none-match': given })
      expect({ given, status: answer.status, text: answer.text }).toEqual({ given, status: 304, text: '' })
      expect(answer.headers.get('etag')).toBe(current)
    }
    expect((await world.owner.get(path, { 'if-none-match': '"0"' })).status).toBe(200)
  })

  test('HEAD answers the ETag of GET and no body', async () => {
    const answer = await world.owner.request('HEAD', path)
    expect({ status: answer.status, text: answer.text, etag: answer.headers.get('etag') }).toEqual({
      status: 200,
      text: '',
      etag: await tag(),
    })
  })

  test('DELETE obeys If-Match; its answer has no ETag; If-Match on something absent is 404', async () => {
    if (!deletion) {
      expect((await world.owner.delete(path)).status).toBe(405)
      return
    }
    const current = await tag()
    must(await world.owner.patch(path, patch()), 200)
    expect((await world.owner.delete(path, { 'if-match': current })).status).toBe(412)
    const gone = await world.owner.delete(path, { 'if-match': await tag() })
    expect({ status: gone.status, text: gone.text, etag: gone.headers.get('etag') }).toEqual({
      status: deletion,
      text: '',
      etag: null,
    })
    expect((await world.owner.get(path)).status).toBe(after)
    if (after === 404) {
      expect((await world.owner.patch(path, patch(), { 'if-match': '"1"' })).status).toBe(404)
      expect((await world.owner.patch(path, patch(), { 'if-match': '*' })).status).toBe(404)
    }
    expect((await world.owner.delete(path, { 'if-match': '*' })).status).toBe(deletion === 202 ? 202 : 404)
    const never = path.replace(/_[0-9a-z]{26}$/, `_${'0'.repeat(26)}`)
    expect((await world.owner.patch(never, patch(), { 'if-match': '"1"' })).status).toBe(404)
    expect((await world.owner.delete(never, { 'if-match': '"1"' })).status).toBe(404)
  })

  test('of 20 parallel DELETEs with the same If-Match exactly one succeeds', async () => {
    if (!deletion) return
    const other = await make()
    const current = (await world.owner.get(other)).headers.get('etag')!
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => world.owner.delete(other, { 'if-match': current })),
    )
    const good = answers.filter(({ status }) => status === deletion)
    // A second deletion of a user is 202 again (spec section 3); of everything else it is 404, or 412 when it came between.
    if (deletion === 204) expect(good).toHaveLength(1)
    expect(answers.every(({ status }) => [deletion, 404, 412].includes(status))).toBe(true)
  })
})

test('what shows more than its row is never a stale 304: effective scopes, states off the clock, counts', async () => {
  const { owner, A, I, ids } = await makeWorld(app)
  const O = `${I}/organizations/${ids.org_id}`
  const expires_at = app.clock.now() + 60_000
  const key = must(await owner.post(`${A}/api-keys`, { name: 'k', restrictions: {}, expires_at }), 201).data
  const member = `${O}/members/${ids.member_id}`
  const group = `${O}/groups/${ids.group_id}`
  const session = `${I}/sessions/${ids.session_id}`
  const paths = [A, member, group, `${A}/api-keys/${key.id}`, session]
  const tags = await Promise.all(paths.map(async (path) => (await owner.get(path)).headers.get('etag')!))
  const again = () => Promise.all(paths.map((path, index) => owner.get(path, { 'if-none-match': tags[index]! })))

  must(await owner.post(`${A}/domains`, { host: `${fresh('new')}.example.com` }), 201)
  must(await owner.patch(group, { scopes: ['orders:read'] }), 200)
  must(await owner.patch(O, { default_member_scopes: ['bills:read'] }), 200)
  app.clock.advance(60_000)
  const seen = await again()
  expect(seen.map(({ status }) => status)).toEqual(paths.map(() => 200))
  expect(seen[1]!.body.data.effective_scopes).toEqual(['bills:read', 'orders:read'])
  expect(seen[3]!.body.data.status).toBe('expired')
  tags[2] = seen[2]!.headers.get('etag')!
  must(await owner.delete(`${I}/users/${ids.member_id}`), 202)
  expect((await again())[2]!.body.data.member_count).toBe(0)
})

test('a 201 carries the ETag, and so do actions that answer one resource', async () => {
  const { owner, A, I, ids } = world
  for (const answer of [
    await owner.post(`${I}/clients`, publicClient()),
    await owner.post(`${I}/clients/${ids.client_id}/secret/rotate`),
    await owner.post(`${A}/api-keys/${ids.key_id}/rotate`),
    await owner.post(`${A}/api-keys/${ids.key_id}/block`),
    await owner.post(`${A}/api-keys/${ids.key_id}/unblock`),
    await owner.post(`${A}/api-keys/${ids.key_id}/revoke`),
  ]) {
    expect([200, 201]).toContain(answer.status)
    expect(answer.headers.get('etag')).toBe(`"${answer.body.data.updated_at}"`)
  }
})

test('never updated, the tag is created_at', async () => {
  const { data } = must(await world.owner.post(`${world.I}/clients`, publicClient()), 201)
  expect(data.updated_at).toBe(data.created_at)
})

test('lists and errors carry no ETag', async () => {
  const { owner, A, I, ids } = world
  for (const path of [
    '/v1/accounts',
    `${A}/issuers`,
    `${A}/api-keys`,
    `${I}/clients`,
    `${I}/users`,
    `${I}/auth-methods`,
    `${I}/users/${ids.user_id}/verifiers`,
  ]) {
    const answer = await owner.get(path, { 'if-none-match': '*' })
    expect({ path, status: answer.status, etag: answer.headers.get('etag') }).toEqual({ path, status: 200, etag: null })
  }
  expect((await owner.get(`${A}/nothing`)).headers.get('etag')).toBeNull()
})

test('verifiers are no If-Match resources: the header is ignored', async () => {
  const path = `${world.I}/users/${world.ids.user_id}/verifiers/${world.ids.verifier_id}`
  expect((await world.owner.patch(path, { description: 'x' }, { 'if-match': '"0"' })).status).toBe(200)
  expect((await world.owner.delete(path, { 'if-match': '"0"' })).status).toBe(204)
})

test('details name the header in /v1 as it is written, and in GraphQL the argument', async () => {
  const path = `${world.I}/clients/${world.ids.client_id}`
  const { body } = await world.owner.patch(path, { name: 'n' }, { 'if-match': 'bare' })
  expect(body.details.map(({ field }: { field: string }) => field)).toEqual(['If-Match'])
  const text =
    'mutation ($a: ID!, $i: ID!, $c: ID!) { updateClient(accountId: $a, issuerId: $i, clientId: $c, input: {}, ifMatch: "bare") { id } }'
  const variables = { a: world.accountId, i: world.issuerId, c: world.ids.client_id }
  const [error] = (await world.owner.graphql(text, variables)).body.errors
  expect(error.extensions.details).toEqual([{ ...body.details[0], field: 'ifMatch' }])
})

test('If-Match on POST and GET is ignored', async () => {
  const headers = { 'if-match': '"0"' }
  expect((await world.owner.post(`${world.I}/clients`, publicClient(), headers)).status).toBe(201)
  expect((await world.owner.get(world.I, headers)).status).toBe(200)
})

test('parallel merge patches of different settings keys without If-Match lose nothing', async () => {
  const { owner, A, I } = world
  const client = `${I}/clients/${must(await owner.post(`${I}/clients`, publicClient()), 201).data.id}`
  const user = `${I}/users/${must(await owner.post(`${I}/users`, { username_type: 'unique', username: fresh('u') }), 201).data.id}`
  const issuer = `${A}/issuers/${must(await owner.post(`${A}/issuers`, { name: 'Merge' }), 201).data.id}`
  const names = Array.from({ length: 8 }, (_, i) => `k${i}`)
  for (const [path, field] of [
    [client, 'settings'],
    [issuer, 'settings'],
    [user, 'metadata'],
  ] as const) {
    const answers = await Promise.all(names.map((name) => owner.patch(path, { [field]: { [name]: name } })))
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200))
    const { data } = must(await owner.get(path), 200)
    for (const name of names) expect(data[field][name]).toBe(name)
  }
})

test('parallel writers on a merged field are many, and each gets an answer that is no 5xx', async () => {
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => world.owner.patch(world.I, { settings: { [`n${i}`]: i } })),
  )
  const good = answers.flatMap(({ status }, i) => (status === 200 ? [i] : []))
  expect(answers.filter(({ status }) => status !== 200 && status !== 409).map(({ text }) => text)).toEqual([])
  const { data } = must(await world.owner.get(world.I), 200)
  for (const i of good) expect(data.settings[`n${i}`]).toBe(i)
})

test('GraphQL: ifMatch is the same rule', async () => {
  const { owner, accountId, issuerId } = world
  const ask = (ifMatch: string | null) =>
    owner.graphql(
      'mutation ($a: ID!, $i: ID!, $m: String) { updateIssuer(accountId: $a, issuerId: $i, input: {description: "g"}, ifMatch: $m) { updatedAt } }',
      { a: accountId, i: issuerId, m: ifMatch },
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
