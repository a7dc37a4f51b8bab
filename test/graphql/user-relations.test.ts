/** The users and sessions to which sessions, events and personal tokens refer. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { uniqueName } from '../contract/tenant-fixture.js'
import { createRestrictedKey, createTenant, createUser, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { createSession } from '../setup/sessions.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let tenant: Tenant
/** Each user has a session and a personal token. */
let users: { id: string; sessionId: string; username: string }[]
/** Texts of the statements that the application has sent. */
const sent: string[] = []

beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app)
  users = []
  for (let i = 0; i < 3; i++) users.push(await createSignedInUser(tenant))
  const { pool } = app.gatehouse.database
  const query = pool.query.bind(pool) as (...given: AnyJson[]) => AnyJson
  Object.assign(pool, {
    query: (...given: AnyJson[]) => {
      sent.push(typeof given[0] === 'string' ? given[0] : given[0].text)
      return query(...given)
    },
  })
})
afterAll(() => app.close())

async function createSignedInUser(of: Tenant) {
  const username = `${uniqueName('ada')}@example.com`
  const id = await createUser(of, username)
  const sessionId = await createSession(app, of, id)
  const token = { type: 'personal_token', name: 'script', restrictions: {} }
  expectStatus(await of.owner.post(`${of.I}/users/${id}/tokens`, token), 201)
  return { id, sessionId, username }
}

const eventsQuery = `query ($a: ID!, $limit: Int) { events(accountId: $a, eventTypes: ["session.created"], limit: $limit) { data {
  id userId sessionId user { id username } session { id status user { id username } } } } }`
const tokensQuery = `query ($a: ID!, $i: ID!, $limit: Int) { users(accountId: $a, issuerId: $i, limit: $limit) { data {
  id username tokens { data { user { id username } } } } } }`

const run = async (api: ApiClient, query: string, limit = 50): Promise<AnyJson> =>
  (await api.graphql(query, { a: tenant.accountId, i: tenant.issuerId, limit })).body

async function countStatements(query: string, limit: number): Promise<number> {
  sent.length = 0
  await run(tenant.owner, query, limit)
  return sent.filter((text) => !text.includes('pg_notify')).length
}

test('an event has its user and its session, which has its user, with hashed usernames', async () => {
  const { data, errors } = await run(tenant.owner, eventsQuery)
  expect(errors).toBeUndefined()
  const hash = expect.stringMatching(/^sha256:/)
  expect(data.events.data).toMatchObject(
    [...users].reverse().map(({ id, sessionId }) => {
      const user = { id, username: hash }
      return { userId: id, sessionId, user, session: { id: sessionId, status: 'active', user } }
    }),
  )
})

test('a personal token has its user, with the hashed username of lists', async () => {
  const { data, errors } = await run(tenant.owner, tokensQuery)
  expect(errors).toBeUndefined()
  expect(data.users.data).toHaveLength(3)
  for (const { id, username, tokens } of data.users.data) expect(tokens.data).toEqual([{ user: { id, username } }])
})

test.each([
  ['events', eventsQuery],
  ['personal tokens', tokensQuery],
])('the relations of %s need one statement each, for any number of rows', async (_, query) => {
  const one = await countStatements(query, 1)
  expect(await countStatements(query, 50)).toBe(one)
  // The authentication, the list and two relations.
  expect(one).toBe(4)
})

test('a caller without the scope of a relation gets null and an error for this relation only', async () => {
  const withoutUsers = await createRestrictedKey(tenant, { scopes: ['events:read', 'issuers.sessions:read'] })
  const body = await run(withoutUsers, eventsQuery, 1)
  const { sessionId } = users.at(-1)!
  expect(body.data.events.data).toMatchObject([{ user: null, session: { id: sessionId, user: null } }])
  expect(body.errors.map(({ path }: AnyJson) => path.join('.')).sort()).toEqual([
    'events.data.0.session.user',
    'events.data.0.user',
  ])
  const withoutSessions = await createRestrictedKey(tenant, { scopes: ['events:read', 'issuers.users:read'] })
  const { data, errors } = await run(withoutSessions, eventsQuery, 1)
  expect(data.events.data).toMatchObject([{ user: { id: users.at(-1)!.id }, session: null }])
  expect(errors.map(({ path }: AnyJson) => path.join('.'))).toEqual(['events.data.0.session'])
})

test('users and sessions of another tenant or issuer, and deleted users, are null', async () => {
  const other = await createTenant(app)
  const second = expectStatus(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Second' }), 201).data
  const ofOtherIssuer = await createSignedInUser({
    ...tenant,
    issuerId: second.id,
    I: `${tenant.A}/issuers/${second.id}`,
  })
  const foreign = await createSignedInUser(other)
  const deleted = await createSignedInUser(tenant)
  expectStatus(await tenant.owner.delete(`${tenant.I}/users/${deleted.id}`), 202)
  const ofAccount = `account_id = '${tenant.accountId}' AND type = 'session.created'`
  for (const [replaced, { id, sessionId }] of [
    [users[0]!, foreign],
    [users[1]!, ofOtherIssuer],
  ] as const) {
    await app.gatehouse.database.pool.query(
      `UPDATE events SET user_id = '${id}', session_id = '${sessionId}' WHERE ${ofAccount} AND user_id = '${replaced.id}'`,
    )
  }
  const { data, errors } = await run(tenant.owner, eventsQuery)
  expect(errors).toBeUndefined()
  const byUser = new Map<string, AnyJson>(data.events.data.map((event: AnyJson) => [event.userId, event]))
  expect(byUser.get(foreign.id)).toMatchObject({ user: null, session: null })
  expect(byUser.get(deleted.id)).toMatchObject({ user: null, session: { status: 'revoked', user: null } })
  expect(data.events.data.filter(({ session }: AnyJson) => session?.id === foreign.sessionId)).toEqual([])
  const ofFirstIssuer = data.events.data.filter(
    ({ sessionId, user }: AnyJson) => sessionId === ofOtherIssuer.sessionId && user === null,
  )
  expect(ofFirstIssuer).toHaveLength(1)
})

test('the nested lists of a user have later pages', async () => {
  const { id } = users[0]!
  const newest = await createSession(app, tenant, id)
  const query = (name: string) => `query ($a: ID!, $i: ID!, $u: ID!, $cursor: String) {
    user(accountId: $a, issuerId: $i, userId: $u) { page: ${name}(limit: 1, cursor: $cursor) { data { id } nextCursor hasMore } } }`
  const path = { a: tenant.accountId, i: tenant.issuerId, u: id }
  const page = async (name: string, cursor: string | null = null) =>
    (await tenant.owner.graphql(query(name), { ...path, cursor })).body.data.user.page
  const first = await page('sessions')
  expect(first).toMatchObject({ data: [{ id: newest }], hasMore: true })
  const second = await page('sessions', first.nextCursor)
  expect(second).toEqual({ data: [{ id: expect.stringMatching(/^ses_/) }], nextCursor: null, hasMore: false })
  expect(second.data[0].id < newest).toBe(true)
  for (const name of ['verifiers', 'tokens', 'events']) {
    const { data } = await page(name)
    const after = await page(name, data[0].id)
    expect(after.data.every((row: AnyJson) => row.id < data[0].id)).toBe(true)
  }
})
