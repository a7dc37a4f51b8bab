/**
 * Users and their verifiers (docs/contract.md#users, docs/contract.md#credentials, docs/contract.md#user-endpoints,
 * docs/contract.md#password-policy, docs/contract.md#verifier-operations, docs/contract.md#common-field-rules).
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { createTenantFixture, PASSWORD, type TenantFixture, uniqueName } from './tenant-fixture.js'

const DAY = 86_400_000

let app: TestApp
let fixture: TenantFixture
let users: string
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  users = `${fixture.I}/users`
})
afterAll(() => app.close())

const errorFieldsOf = (response: { body: AnyJson }): string[] =>
  (response.body.details ?? []).map(({ field }: AnyJson) => field)
const create = async (more: object = {}) =>
  expectStatus(await fixture.owner.post(users, { username_type: 'unique', username: uniqueName('user'), ...more }), 201)
    .data

describe('usernames', () => {
  const table: [string, string, boolean][] = [
    ['email', 'ada@example.com', true],
    ['email', 'Ada.Lovelace+tag@Sub.Example.COM', true],
    ['email', "o'brien@example.com", true],
    ['email', 'jörg@example.com', true],
    ['email', 'ada', false],
    ['email', 'ada@', false],
    ['email', '@example.com', false],
    ['email', 'ada@@example.com', false],
    ['email', 'a b@example.com', false],
    ['email', ' ada2@example.com', false],
    ['email', 'ada@example.com\n', false],
    ['email', 'ada@exa_mple.com', false],
    ['email', 'ada@-example.com', false],
    ['email', 'ada@example..com', false],
    ['email', '"<script>"@example.com', false],
    ['email', 'ada@example.com, eve@example.com', false],
    ['email', `${'a'.repeat(65)}@example.com`, false],
    ['email', `a@${'b.'.repeat(130)}com`, false],
    ['phone', '+4915112345678', true],
    ['phone', '+1234567', true],
    ['phone', '4915112345678', false],
    ['phone', '+0915112345678', false],
    ['phone', '+49 151 12345678', false],
    ['phone', '+49151123456789012', false],
    ['phone', '+４９１５１１２３４５６７８', false],
    ['unique', 'ada', true],
    ['unique', 'Ådå-42_x.y', true],
    ['unique', '名前', true],
    ['unique', '', false],
    ['unique', ' ', false],
    ['unique', 'a b', false],
    ['unique', 'a\u00a0b', false],
    ['unique', 'a\u200bb', false],
    ['unique', 'a\u202eb', false],
    ['unique', 'a\u0007b', false],
    ['unique', 'x'.repeat(129), false],
  ]
  test.each(table)('%s %j: %s', async (username_type, username, good) => {
    const response = await fixture.owner.post(users, { username_type, username })
    expect({ status: response.status, fields: good ? [] : errorFieldsOf(response) }).toEqual({
      status: good ? 201 : 400,
      fields: good ? [] : ['username'],
    })
    if (good) expect(response.body.data).toMatchObject({ username_type, username })
  })

  test('a username that is taken is 409 in any spelling', async () => {
    expectStatus(await fixture.owner.post(users, { username_type: 'email', username: 'Taken@Example.com' }), 201)
    for (const [username_type, username] of [
      ['email', 'taken@example.com'],
      ['email', 'TAKEN@EXAMPLE.COM'],
      ['unique', 'taken@example.com'],
      ['unique', 'ｔａｋｅｎ@example.com'],
    ]) {
      const response = await fixture.owner.post(users, { username_type, username })
      expect({ username, status: response.status, error: response.body.error }).toEqual({
        username,
        status: 409,
        error: 'conflict',
      })
    }
    const { id } = await create()
    expect(
      (await fixture.owner.patch(`${users}/${id}`, { username_type: 'email', username: 'taken@example.com' })).status,
    ).toBe(409)
    const other = expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name: 'Other pool' }), 201).data.id
    expectStatus(
      await fixture.owner.post(`${fixture.A}/issuers/${other}/users`, {
        username_type: 'email',
        username: 'taken@example.com',
      }),
      201,
    )
  })

  test('20 parallel creations of one username create one user; the others are 409', async () => {
    const username = uniqueName('race')
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => fixture.owner.post(users, { username_type: 'unique', username })),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
  })

  test('parallel renames to one username leave one owner', async () => {
    const created = await Promise.all(Array.from({ length: 6 }, () => create()))
    const username = uniqueName('wanted')
    const responses = await Promise.all(created.map(({ id }) => fixture.owner.patch(`${users}/${id}`, { username })))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(5).fill(409)])
  })

  test('a rename is validated against the username type, old or new', async () => {
    const { id } = await create()
    expect((await fixture.owner.patch(`${users}/${id}`, { username_type: 'email' })).status).toBe(400)
    expect((await fixture.owner.patch(`${users}/${id}`, { username_type: 'phone', username: '123' })).status).toBe(400)
    expect(
      expectStatus(
        await fixture.owner.patch(`${users}/${id}`, { username_type: 'email', username: 'renamed@example.com' }),
        200,
      ).data.username,
    ).toBe('renamed@example.com')
    // After a rename, another user can have the old username.
    const before = await create()
    expectStatus(await fixture.owner.patch(`${users}/${before.id}`, { username: uniqueName('new') }), 200)
    expectStatus(await fixture.owner.post(users, { username_type: 'unique', username: before.username }), 201)
  })

  test('lists show sha256: and a hash, equal for each spelling and different per issuer; GET shows the plain username', async () => {
    const user = expectStatus(
      await fixture.owner.post(users, { username_type: 'email', username: 'Hashed@Example.com' }),
      201,
    ).data
    const hash = async () =>
      expectStatus(await fixture.owner.get(`${users}?limit=100`), 200).data.find(({ id }: AnyJson) => id === user.id)
        .username
    const first = await hash()
    expect(first).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect((await fixture.owner.get(`${users}?limit=100`)).text).not.toMatch(/hashed@example/i)
    expect((await fixture.owner.get(`${users}/${user.id}`)).body.data.username).toBe('Hashed@Example.com')
    expectStatus(await fixture.owner.patch(`${users}/${user.id}`, { username: 'HASHED@example.com' }), 200)
    expect(await hash()).toBe(first)
    const other = expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name: 'Other' }), 201).data.id
    expectStatus(
      await fixture.owner.post(`${fixture.A}/issuers/${other}/users`, {
        username_type: 'email',
        username: 'hashed@example.com',
      }),
      201,
    )
    expect((await fixture.owner.get(`${fixture.A}/issuers/${other}/users`)).body.data[0].username).not.toBe(first)
  })
})

test('all documented user fields are returned as they were sent; email_verified is false by default', async () => {
  const body = {
    username_type: 'email',
    username: 'whole@example.com',
    profile: { name: 'W', nested: { a: [1] } },
    security: { a: 1 },
    compliance: { b: 2 },
    preferences: { c: 3 },
    custom_fields: { camelCase: 1, snake_case: 2 },
    scopes: ['orders:read'],
    metadata: { m: 1 },
    signup_reason: 'r',
    triggered_rule: 't',
    region: 'eu',
  }
  const { data } = expectStatus(await fixture.owner.post(users, body), 201)
  expect(data).toEqual({
    ...body,
    id: expect.stringMatching(/^usr_/),
    account_id: fixture.accountId,
    issuer_id: fixture.issuerId,
    requires_approval: false,
    email_verified: false,
    status: 'active',
    status_at: data.created_at,
    status_reason: null,
    status_by: null,
    approval: null,
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
  })
  expect((await fixture.owner.get(`${users}/${data.id}`)).body.data).toEqual(data)
  const patch = {
    profile: { name: 'X' },
    security: {},
    compliance: {},
    preferences: {},
    custom_fields: { z: 1 },
    scopes: [],
    approval: { by: 'x' },
  }
  const patched = expectStatus(
    await fixture.owner.patch(`${users}/${data.id}`, { ...patch, metadata: { m: null, n: { a: null } } }),
    200,
  ).data
  expect(patched).toEqual({ ...data, ...patch, metadata: { n: { a: null } }, updated_at: patched.updated_at })
})

test('searchable fields have at most 500 characters, as text or in JSON; other claims are not limited', async () => {
  const { owner, I } = fixture
  const path = `${I}/users`
  const username = `${uniqueName('long')}@example.com`
  for (const name of ['name', 'given_name', 'family_name', 'email']) {
    for (const value of ['x'.repeat(501), { long: randomBytes(3000).toString('hex') }]) {
      const profile = { [name]: value }
      const { details } = expectStatus(await owner.post(path, { username_type: 'email', username, profile }), 400)
      expect(details).toEqual([expect.objectContaining({ field: `profile.${name}`, code: 'too_big' })])
    }
  }
  const profile = { name: randomBytes(250).toString('hex'), story: 'x'.repeat(9000) }
  const { id } = expectStatus(await owner.post(path, { username_type: 'email', username, profile }), 201).data
  expectStatus(await owner.patch(`${path}/${id}`, { profile: { given_name: 'x'.repeat(501) } }), 400)
  expectStatus(await owner.patch(`${path}/${id}`, { profile: { given_name: 'Ada' } }), 200)
})

test('metadata is merged at the top level and stays within its limits', async () => {
  const { id } = await create({ metadata: { a: { x: 1 }, b: 1 } })
  expect(
    expectStatus(await fixture.owner.patch(`${users}/${id}`, { metadata: { a: { y: 2 }, c: 3 } }), 200).data.metadata,
  ).toEqual({ a: { y: 2 }, b: 1, c: 3 })
  const many = Object.fromEntries(Array.from({ length: 48 }, (_, i) => [`k${i}`, 1]))
  const over = await fixture.owner.patch(`${users}/${id}`, { metadata: many })
  expect({ status: over.status, fields: errorFieldsOf(over) }).toEqual({ status: 400, fields: ['metadata'] })
})

describe('states', () => {
  test('active, suspended and blocked can be set; actor, time and reason are stored', async () => {
    const { id } = await create()
    const path = `${users}/${id}`
    for (const status of ['suspended', 'active', 'blocked', 'active'] as const) {
      const { data } = expectStatus(await fixture.owner.patch(path, { status, status_reason: `to ${status}` }), 200)
      expect(data).toMatchObject({
        status,
        status_reason: `to ${status}`,
        status_by: expect.stringMatching(/^ak_/),
        status_at: expect.any(Number),
      })
    }
    expect(
      expectStatus(await fixture.owner.patch(path, { status: 'suspended', status_by: 'desk', status_at: 5 }), 200).data,
    ).toMatchObject({ status_by: 'desk', status_at: 5, status_reason: null })
    for (const status of ['disabled', 'deleted', 'pending_approval', 'pending_deletion', 'x', null]) {
      expect({ status, got: (await fixture.owner.patch(path, { status })).status }).toEqual({ status, got: 400 })
      expect({
        status,
        got: (await fixture.owner.post(users, { username_type: 'unique', username: uniqueName('u'), status })).status,
      }).toEqual({ status, got: 400 })
    }
  })

  test('requires_approval starts in pending_approval, which no PATCH can change', async () => {
    const user = await create({ requires_approval: true, signup_reason: 'please' })
    expect(user.status).toBe('pending_approval')
    const response = await fixture.owner.patch(`${users}/${user.id}`, { status: 'active' })
    expect({ status: response.status, fields: errorFieldsOf(response) }).toEqual({ status: 400, fields: ['status'] })
    expect(
      (
        await fixture.owner.post(users, {
          username_type: 'unique',
          username: uniqueName('u'),
          requires_approval: true,
          status: 'active',
        })
      ).status,
    ).toBe(400)
  })

  test('DELETE is 202; then GET and PATCH are 404, a repeated DELETE is 202, and the username is available', async () => {
    const user = await create()
    const path = `${users}/${user.id}`
    expect((await fixture.owner.delete(path)).status).toBe(202)
    expect([
      (await fixture.owner.get(path)).status,
      (await fixture.owner.patch(path, { profile: {} })).status,
      (await fixture.owner.get(`${path}/verifiers`)).status,
    ]).toEqual([404, 404, 404])
    expect(
      (await fixture.owner.post(`${path}/verifiers`, { type: 'password', name: null, password: PASSWORD })).status,
    ).toBe(404)
    expect((await fixture.owner.delete(path)).status).toBe(202)
    expect(
      expectStatus(await fixture.owner.get(`${users}?limit=100`), 200).data.map(({ id }: AnyJson) => id),
    ).not.toContain(user.id)
    expectStatus(await fixture.owner.post(users, { username_type: 'unique', username: user.username }), 201)
    expect((await fixture.owner.delete(`${users}/usr_${'0'.repeat(26)}`)).status).toBe(404)
  })

  test('the list filters by status and refuses unknown ones', async () => {
    const { id } = await create({ status: 'suspended' })
    const ids = async (status: string) =>
      expectStatus(await fixture.owner.get(`${users}?status=${status}&limit=100`), 200).data.map(
        (user: AnyJson) => user.id,
      )
    expect(await ids('suspended')).toContain(id)
    expect(await ids('active')).not.toContain(id)
    expect([await ids('disabled'), await ids('deleted')]).toEqual([[], []])
    expect((await fixture.owner.get(`${users}?status=nothing`)).status).toBe(400)
  })
})

test('a caller cannot grant a user platform scopes that it lacks', async () => {
  const writer = await createRestrictedKey(fixture, { scopes: ['issuers.users:write'] })
  const refused = await writer.post(users, {
    username_type: 'unique',
    username: uniqueName('u'),
    scopes: ['issuers.users:delete'],
  })
  expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 403, error: 'insufficient_scope' })
  const user = expectStatus(
    await writer.post(users, {
      username_type: 'unique',
      username: uniqueName('u'),
      scopes: ['issuers.users:write', 'orders:read'],
    }),
    201,
  ).data
  expect((await writer.patch(`${users}/${user.id}`, { scopes: ['svc:all'] })).status).toBe(403)
  expectStatus(await fixture.owner.patch(`${users}/${user.id}`, { scopes: ['svc:all'] }), 200)
  expectStatus(await writer.patch(`${users}/${user.id}`, { scopes: ['svc:all', 'x'] }), 200)
})

test('GraphQL search matches prefixes of username, name and email, and has no wildcards', async () => {
  const word = uniqueName('needle').replaceAll('-', '')
  const one = await create({ username: `${word}-user` })
  const two = await create({ profile: { name: `${word.toUpperCase()} Name` } })
  const three = await create({ profile: { email: `${word}@example.com` } })
  const find = async (search: string) => {
    const query =
      'query ($a: ID!, $i: ID!, $s: String) { users(accountId: $a, issuerId: $i, search: $s, limit: 100) { data { id username } } }'
    const { body } = await fixture.owner.graphql(query, { a: fixture.accountId, i: fixture.issuerId, s: search })
    expect(body.errors).toBeUndefined()
    for (const { username } of body.data.users.data) expect(username).toMatch(/^sha256:/)
    return body.data.users.data.map(({ id }: AnyJson) => id)
  }
  expect(new Set(await find(word))).toEqual(new Set([one.id, two.id, three.id]))
  expect(await find(`${word}-USER`)).toEqual([one.id])
  for (const search of ['%', '_', `%${word}`, `_${word.slice(1)}`, '\\', '%\\', `${word.slice(1)}`])
    expect({ search, found: await find(search) }).toEqual({ search, found: [] })
})

describe('verifiers', () => {
  let user: { id: string; path: string; username: string }
  beforeAll(async () => {
    const { id, username } = await create({ profile: { given_name: 'Augusta' } })
    user = { id, username, path: `${users}/${id}/verifiers` }
  })
  const temporary = (more: object = {}) => ({
    type: 'temporary_password',
    name: 'T',
    password: PASSWORD,
    expires_at: app.clock.now() + DAY,
    ...more,
  })

  test('a password is hashed and never returned', async () => {
    const created = expectStatus(
      await fixture.owner.post(user.path, {
        type: 'password',
        name: 'Main',
        description: 'd',
        metadata: { a: 1 },
        password: PASSWORD,
        must_change: true,
      }),
      201,
    )
    expect(created.data).toEqual({
      id: expect.stringMatching(/^vrf_/),
      user_id: user.id,
      type: 'password',
      name: 'Main',
      description: 'd',
      metadata: { a: 1 },
      must_change: true,
      expires_at: null,
      last_used_at: null,
      created_by: expect.stringMatching(/^ak_/),
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
    })
    for (const { text } of [
      await fixture.owner.get(user.path),
      await fixture.owner.get(`${user.path}/${created.data.id}`),
    ])
      expect(text).not.toMatch(/argon|hash|correct horse/)
    const [row] = await app.gatehouse.database.query<{ hash: string }>(
      'verifier-hash',
      'SELECT hash FROM verifiers WHERE id = $1',
      [created.data.id],
    )
    expect(row!.hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })

  test('a second password is 409, also under 8 parallel requests', async () => {
    expect((await fixture.owner.post(user.path, { type: 'password', name: null, password: PASSWORD })).status).toBe(409)
    const { id } = await create()
    const responses = await Promise.all(
      Array.from({ length: 8 }, () =>
        fixture.owner.post(`${users}/${id}/verifiers`, { type: 'password', name: null, password: PASSWORD }),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
  })

  test('a temporary password is valid for at most 7 days, and several may exist', async () => {
    const { data } = expectStatus(await fixture.owner.post(user.path, temporary({ created_by: 'desk' })), 201)
    expect(data).toMatchObject({ type: 'temporary_password', must_change: true, created_by: 'desk' })
    expectStatus(await fixture.owner.post(user.path, temporary({ expires_at: app.clock.now() + 7 * DAY - 1000 })), 201)
    for (const expires_at of [app.clock.now() + 7 * DAY + 60_000, app.clock.now() - 1, 0, -1, 1.5, '1', null]) {
      const response = await fixture.owner.post(user.path, temporary({ expires_at }))
      expect({ expires_at, status: response.status, fields: errorFieldsOf(response) }).toEqual({
        expires_at,
        status: 400,
        fields: ['expires_at'],
      })
    }
    expect((await fixture.owner.post(user.path, temporary({ must_change: false }))).status).toBe(400)
    expect(
      (await fixture.owner.post(user.path, { type: 'password', name: null, password: PASSWORD, created_by: 'x' }))
        .status,
    ).toBe(400)
  })

  test('the name field is required; it may be null for a password, but not for a temporary_password', async () => {
    const { id } = await create()
    const path = `${users}/${id}/verifiers`
    const without = await fixture.owner.post(path, { type: 'password', password: PASSWORD })
    expect({ status: without.status, fields: errorFieldsOf(without) }).toEqual({ status: 400, fields: ['name'] })
    expectStatus(await fixture.owner.post(path, { type: 'password', name: null, password: PASSWORD }), 201)
    for (const name of [undefined, null, '']) {
      const response = await fixture.owner.post(path, { ...temporary(), name })
      expect({ name, status: response.status, fields: errorFieldsOf(response) }).toEqual({
        name,
        status: 400,
        fields: ['name'],
      })
    }
    const { id: user } = expectStatus(await fixture.owner.post(path, temporary()), 201).data
    expect(errorFieldsOf(await fixture.owner.patch(`${path}/${user}`, { name: null }))).toEqual(['name'])
    expectStatus(await fixture.owner.patch(`${path}/${user}`, { name: 'Desk' }), 200)
  })

  test.each([
    ['zq7#kfw', 'password_too_short'],
    ['x'.repeat(129), 'password_too_long'],
    ['password1', 'password_too_common'],
    ['PASSWORD1', 'password_too_common'],
    ['qwertyuiop', 'password_too_common'],
    ['my-augusta-secret', 'password_contains_user_info'],
  ])('%j is refused as %s', async (password, code) => {
    const { id } = await create({ profile: { given_name: 'Augusta' } })
    const response = await fixture.owner.post(`${users}/${id}/verifiers`, { type: 'password', name: null, password })
    expect(response.status).toBe(400)
    expect(response.body.details).toEqual([{ field: 'password', code, message: expect.any(String) }])
    expect(response.text).not.toContain(password)
  })

  test('the password policy of the issuer applies, and spaces and Unicode are allowed', async () => {
    const issuer = expectStatus(
      await fixture.owner.post(`${fixture.A}/issuers`, {
        name: 'Strict',
        settings: {
          security: {
            password_policy: {
              min_length: 12,
              require_digit: true,
              require_symbol: true,
              require_uppercase: true,
              require_lowercase: true,
              history: 2,
            },
          },
        },
      }),
      201,
    ).data
    const pool = `${fixture.A}/issuers/${issuer.id}/users`
    const { id } = expectStatus(
      await fixture.owner.post(pool, { username_type: 'unique', username: 'strict' }),
      201,
    ).data
    const path = `${pool}/${id}/verifiers`
    const bad = await fixture.owner.post(path, { type: 'password', name: null, password: '.........' })
    expect(bad.body.details.map(({ code }: AnyJson) => code).sort()).toEqual([
      'password_needs_digit',
      'password_needs_lowercase',
      'password_needs_uppercase',
      'password_too_short',
    ])
    const user = expectStatus(
      await fixture.owner.post(path, { type: 'password', name: null, password: 'Grün 9 Bäume!' }),
      201,
    ).data
    const change = (password: string) => fixture.owner.patch(`${path}/${user.id}`, { password })
    expect((await change('Grün 9 Bäume!')).body.details[0].code).toBe('password_used_before')
    expectStatus(await change('Grün 9 Bäume!!'), 200)
    expect((await change('Grün 9 Bäume!')).body.details[0].code).toBe('password_used_before')
    expectStatus(await change('Grün 9 Bäume!!!'), 200)
    expectStatus(await change('Grün 9 Bäume!'), 200)
  })

  test('PATCH and DELETE of a verifier; after the deletion, and below another user, a verifier is 404', async () => {
    const created = expectStatus(await fixture.owner.post(user.path, temporary()), 201).data
    const path = `${user.path}/${created.id}`
    expect(
      expectStatus(await fixture.owner.patch(path, { name: 'N', description: null, metadata: { b: 1 } }), 200).data,
    ).toMatchObject({ name: 'N', description: null, metadata: { b: 1 } })
    for (const body of [
      { password: `${PASSWORD}2` },
      { expires_at: app.clock.now() + 100 * DAY },
      { type: 'password' },
      { hash: 'x' },
    ])
      expect((await fixture.owner.patch(path, body)).status).toBe(400)
    expect((await fixture.owner.delete(path)).status).toBe(204)
    expect([
      (await fixture.owner.delete(path)).status,
      (await fixture.owner.get(path)).status,
      (await fixture.owner.patch(path, {})).status,
    ]).toEqual([404, 404, 404])
    const { id } = await create()
    const [first] = expectStatus(await fixture.owner.get(user.path), 200).data
    expect((await fixture.owner.get(`${users}/${id}/verifiers/${first.id}`)).status).toBe(404)
  })

  test('unknown types are 400', async () => {
    for (const type of ['passkey', 'x', 'magic_link', 'oauth', '', null, 1]) {
      const response = await fixture.owner.post(user.path, { type, name: null, password: PASSWORD })
      expect({ type, status: response.status }).toEqual({ type, status: 400 })
    }
  })
})
