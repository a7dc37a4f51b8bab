/** The relations of notes and webhook deliveries: their statements, required scopes and tenants. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTenantFixture, publicClient, type TenantFixture, uniqueName } from '../contract/tenant-fixture.js'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let fixture: TenantFixture
let other: Tenant

beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  other = await createTenant(app, 'Other')
})
afterAll(() => app.close())

const createUser = async ({ owner, I }: Tenant, name: string): Promise<string> => {
  const body = { username_type: 'unique', username: uniqueName('user'), profile: { name } }
  return expectStatus(await owner.post(`${I}/users`, body), 201).data.id
}

const createClient = async (): Promise<string> =>
  expectStatus(await fixture.owner.post(`${fixture.I}/clients`, publicClient()), 201).data.id

const createNote = async (subject: object, api: ApiClient = fixture.owner): Promise<string> =>
  expectStatus(await api.post(`${fixture.A}/notes`, { content: 'About this', ...subject }), 201).data.id

const about = (subject_type: string, subject_id: string) => ({
  subject_type,
  subject_id,
  ...(['user', 'org'].includes(subject_type) && { issuer_id: fixture.issuerId }),
})

/** Sets the principal that created a note. Users of other issuers than the console issuer cannot create notes. */
const setAuthor = (id: string, createdBy: string | null) =>
  app.gatehouse.database.prisma.note.update({ where: { id }, data: { createdBy } })

const noteDocument = `query ($accountId: ID!, $noteId: ID!) {
  note(accountId: $accountId, noteId: $noteId) {
    content
    subject { __typename ... on User { id username } ... on Organization { id } ... on Issuer { id } ... on Client { id } }
    author { type id name user { id username } apiKey { id name } }
  }
}`
const readNote = async (api: ApiClient, noteId: string): Promise<AnyJson> =>
  (await api.graphql(noteDocument, { accountId: fixture.accountId, noteId })).body

/** Returns the path and code of each error. */
const errorsOf = ({ errors = [] }: AnyJson) =>
  errors.map(({ path, extensions }: AnyJson) => [path.join('.'), extensions.code])

/** Returns the number of statements that a request causes, without notifications. */
async function countStatements(work: () => Promise<unknown>): Promise<number> {
  const { pool } = app.gatehouse.database
  const query = pool.query.bind(pool) as (...given: AnyJson[]) => AnyJson
  let count = 0
  const counting = (...given: AnyJson[]) => {
    if (!String(given[0].text ?? given[0]).includes('pg_notify')) count++
    return query(...given)
  }
  Object.assign(pool, { query: counting })
  await work().finally(() => Object.assign(pool, { query }))
  return count
}

describe('note.subject', () => {
  test.each(['user', 'org', 'issuer', 'client'])('is the %s', async (type) => {
    const typenames: Record<string, string> = { user: 'User', org: 'Organization', issuer: 'Issuer', client: 'Client' }
    const id = type === 'user' ? await createUser(fixture, 'Ada') : (fixture.ids as AnyJson)[`${type}_id`]
    const body = await readNote(fixture.owner, await createNote(about(type, id)))
    expect(body.errors).toBeUndefined()
    expect(body.data.note.subject).toMatchObject({ __typename: typenames[type], id })
    // Usernames are hashed, as in lists.
    if (type === 'user') expect(body.data.note.subject.username).not.toMatch(/^user/)
  })

  test('needs the read scope of its type; the note itself is still returned', async () => {
    const scopes = ['notes:read', 'issuers.clients:read']
    const key = await createRestrictedKey(fixture, { scopes })
    for (const type of ['user', 'org', 'issuer']) {
      const id = (fixture.ids as AnyJson)[`${type}_id`]
      const body = await readNote(key, await createNote(about(type, id)))
      expect(body.data.note).toMatchObject({ content: 'About this', subject: null })
      expect(errorsOf(body)).toContainEqual(['note.subject', 'INSUFFICIENT_SCOPE'])
    }
    const body = await readNote(key, await createNote(about('client', fixture.ids.client_id)))
    expect(body.data.note.subject.id).toBe(fixture.ids.client_id)
    expect(errorsOf(body)).toEqual([['note.author.apiKey', 'INSUFFICIENT_SCOPE']])
  })

  test('is null for a deleted resource and for a resource of another account', async () => {
    const clientId = await createClient()
    const noteId = await createNote(about('client', clientId))
    expectStatus(await fixture.owner.delete(`${fixture.I}/clients/${clientId}`), 204)
    const body = await readNote(fixture.owner, noteId)
    expect([body.data.note.subject, body.errors]).toEqual([null, undefined])
    const theirUserId = await createUser(other, 'Eve')
    const data = { subjectType: 'user', subjectId: theirUserId, issuerId: fixture.issuerId }
    await app.gatehouse.database.prisma.note.update({ where: { id: noteId }, data })
    expect((await readNote(fixture.owner, noteId)).data.note.subject).toBeNull()
  })
})

describe('note.author', () => {
  const noteBy = async (createdBy: string | null): Promise<string> => {
    const id = await createNote(about('issuer', fixture.issuerId))
    await setAuthor(id, createdBy)
    return id
  }

  test('is the API key of the account', async () => {
    const { keyId, ...key } = await createRestrictedKey(fixture, { scopes: ['notes:write'] })
    const noteId = await createNote(about('issuer', fixture.issuerId), key)
    expect((await readNote(fixture.owner, noteId)).data.note.author).toEqual({
      type: 'api_key',
      id: keyId,
      name: 'restricted',
      user: null,
      apiKey: { id: keyId, name: 'restricted' },
    })
  })

  test('is the user, or the personal token with its owner', async () => {
    const id = await createUser(fixture, 'Ada Lovelace')
    const body = { type: 'personal_token', name: 'script', restrictions: {} }
    const token = expectStatus(await fixture.owner.post(`${fixture.I}/users/${id}/tokens`, body), 201).data
    const user = { id, username: expect.not.stringMatching(/^user/) }
    const expected = [
      { type: 'user', id, name: 'Ada Lovelace', user, apiKey: null },
      { type: 'personal_token', id: token.id, name: 'script', user, apiKey: null },
    ]
    for (const author of expected) {
      const response = await readNote(fixture.owner, await noteBy(author.id))
      expect(response.errors).toBeUndefined()
      expect(response.data.note.author).toEqual(author)
    }
    expectStatus(await fixture.owner.delete(`${fixture.I}/users/${id}`), 202)
    for (const author of expected) {
      const response = await readNote(fixture.owner, await noteBy(author.id))
      expect(response.data.note.author).toEqual({ ...author, name: null, user: null })
    }
  })

  test('without an author, the note is of Gatehouse itself', async () => {
    const author = { type: 'system', id: null, name: null, user: null, apiKey: null }
    expect((await readNote(fixture.owner, await noteBy(null))).data.note.author).toEqual(author)
  })

  test('user and apiKey need the read scope; type, id and name do not', async () => {
    const key = await createRestrictedKey(fixture, { scopes: ['notes:read', 'issuers:read'] })
    const id = await createUser(fixture, 'Ada')
    const body = await readNote(key, await noteBy(id))
    expect(body.data.note.author).toEqual({ type: 'user', id, name: 'Ada', user: null, apiKey: null })
    expect(errorsOf(body)).toEqual([['note.author.user', 'INSUFFICIENT_SCOPE']])
  })

  test('user and apiKey of another account are null with the error NOT_FOUND', async () => {
    const theirKey = await createRestrictedKey(other, {})
    const authors = [
      [await createUser(other, 'Eve'), 'user'],
      [theirKey.keyId, 'apiKey'],
    ] as const
    for (const [id, relation] of authors) {
      const body = await readNote(fixture.owner, await noteBy(id))
      expect(body.data.note.author).toMatchObject({ id, user: null, apiKey: null })
      expect(errorsOf(body)).toEqual([[`note.author.${relation}`, 'NOT_FOUND']])
    }
  })
})

test('subjects and authors of a list are one statement per type, for any number of notes', async () => {
  const document = `query ($accountId: ID!) { notes(accountId: $accountId, limit: 100) { data { id subjectId
    subject { ... on User { id } ... on Organization { id } ... on Issuer { id } ... on Client { id } }
    author { id name user { id } apiKey { id } } } } }`
  const read = async () => {
    const { body } = await fixture.owner.graphql(document, { accountId: fixture.accountId })
    for (const { subjectId, subject } of body.data.notes.data) if (subject) expect(subject.id).toBe(subjectId)
    return body.data.notes.data.length
  }
  const count = await countStatements(read)
  const notesBefore = await read()
  for (let n = 0; n < 3; n++) {
    await setAuthor(await createNote(about('user', await createUser(fixture, 'Ada'))), fixture.ids.user_id)
    await createNote(about('client', await createClient()))
  }
  expect([await countStatements(read), await read()]).toEqual([count, notesBefore + 6])
})

describe('relations of webhook deliveries', () => {
  const document = `query ($accountId: ID!, $webhookId: ID!, $limit: Int, $cursor: String) {
    webhook(accountId: $accountId, webhookId: $webhookId) {
      deliveries(limit: $limit, cursor: $cursor) {
        data { id eventId eventType event { id type } webhook { id stats { successRate } } } nextCursor hasMore
      }
    }
  }`
  let webhookId: string
  const read = async (page: object = {}, api: ApiClient = fixture.owner): Promise<AnyJson> =>
    (await api.graphql(document, { accountId: fixture.accountId, webhookId, ...page })).body

  beforeAll(async () => {
    const body = { url: 'https://example.com/events', event_types: ['user.created'] }
    webhookId = expectStatus(await fixture.owner.post(`${fixture.A}/webhooks`, body), 201).data.id
    await createUser(fixture, 'Ada')
  })

  test('event and webhook are one statement each, for any number of deliveries', async () => {
    const count = await countStatements(read)
    for (let n = 0; n < 3; n++) await createUser(fixture, 'Ada')
    expect(await countStatements(read)).toBe(count)
    const { data } = (await read()).data.webhook.deliveries
    expect(data).toHaveLength(4)
    for (const delivery of data)
      expect(delivery).toMatchObject({
        event: { id: delivery.eventId, type: 'user.created' },
        webhook: { id: webhookId, stats: { successRate: null } },
      })
  })

  test('deliveries has further pages', async () => {
    const all = (await read()).data.webhook.deliveries.data.map(({ id }: AnyJson) => id)
    const first = (await read({ limit: 3 })).data.webhook.deliveries
    const second = (await read({ limit: 3, cursor: first.nextCursor })).data.webhook.deliveries
    expect([...first.data, ...second.data].map(({ id }: AnyJson) => id)).toEqual(all)
    expect([first.hasMore, second.hasMore]).toEqual([true, false])
  })

  test('event needs events:read; the delivery itself is still returned', async () => {
    const body = await read({ limit: 1 }, await createRestrictedKey(fixture, { scopes: ['webhooks:read'] }))
    expect(body.data.webhook.deliveries.data[0]).toMatchObject({ event: null, webhook: { id: webhookId } })
    expect(errorsOf(body)).toEqual([['webhook.deliveries.data.0.event', 'INSUFFICIENT_SCOPE']])
  })

  test('a test event has no event in the audit log', async () => {
    const test = `mutation ($accountId: ID!, $webhookId: ID!) {
      testWebhook(accountId: $accountId, webhookId: $webhookId) { eventType event { id } webhook { id } } }`
    const { body } = await fixture.owner.graphql(test, { accountId: fixture.accountId, webhookId })
    expect(body.errors).toBeUndefined()
    expect(body.data.testWebhook).toEqual({ eventType: 'webhook.test', event: null, webhook: { id: webhookId } })
  })
})
