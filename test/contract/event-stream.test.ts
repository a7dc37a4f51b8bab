/**
 * `eventAdded` over Server-Sent Events: each event is delivered once, in whatever order transactions commit. Also tests
 * which callers may open a stream, and when a stream ends.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { createClient } from 'graphql-sse'
import pg from 'pg'
import { newRow } from '../../src/kernel/ids.js'
import { createAccount, createRestrictedKey, expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { type EventStream, subscribe } from '../setup/event-stream.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { countStatements, waitUntil } from '../setup/wait-until.js'
import { createTenantFixture, type TenantFixture, uniqueName } from './tenant-fixture.js'

let app: TestApp
let second: TestApp
let fixture: TenantFixture
beforeAll(async () => {
  app = await startApp()
  second = await app.startSecondApp()
  fixture = await createTenantFixture(app)
})
afterAll(() => app.close())

const open: EventStream[] = []
afterEach(() => {
  for (const stream of open.splice(0)) stream.close()
})
async function subscribeToEvents(
  options: AnyJson = {},
  api: ApiClient = fixture.owner,
  accountId = fixture.accountId,
): Promise<EventStream> {
  const stream = await subscribe(api, accountId, options)
  open.push(stream)
  return stream
}
const at = (other: TestApp, api: ApiClient): ApiClient => ({ ...api, baseUrl: other.baseUrl })

const change = async () => expectStatus(await fixture.owner.patch(fixture.A, { description: uniqueName('d') }), 200)
const ids = (list: AnyJson[]) => list.map(({ id }) => id)
const stored = async (where: AnyJson = {}): Promise<string[]> =>
  ids(
    await app.gatehouse.database.prisma.event.findMany({
      where: { accountId: fixture.accountId, ...where },
      orderBy: { id: 'asc' },
    }),
  )
const insertText = `INSERT INTO events (id, type, created_at, account_id, auth_type, actor, target, context)
  VALUES ($1, 'account.updated', $2, $3, 'system', '{"type":"system"}', '{"type":"account","id":"x"}', '{}')`

/** Opens a transaction that writes an event. Returns the id of the event and a function that commits. */
async function openEventTransaction(): Promise<{ id: string; commit(): Promise<void> }> {
  const client = new pg.Client(app.databaseUrl)
  await client.connect()
  await client.query('BEGIN')
  const { id, createdAt } = newRow('evt', app.clock.now())
  await client.query(insertText, [id, createdAt, fixture.accountId])
  return {
    id,
    async commit() {
      await client.query('COMMIT')
      await client.end()
    },
  }
}

test('an event of any process is delivered by each process, once, with its id, in the selected fields', async () => {
  const streams = [await subscribeToEvents(), await subscribeToEvents({}, at(second, fixture.owner))]
  const from = (await stored()).at(-1)!
  await change()
  await change()
  expectStatus(await app.operator.patch(fixture.A, { description: uniqueName('d') }), 200)
  const expected = await stored({ id: { gt: from } })
  expect(expected).toHaveLength(3)
  for (const stream of streams) {
    expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(ids(await stream.waitForEvents(3))).toEqual(expected)
    expect(stream.messages.map(({ id, event }) => ({ id, event }))).toEqual(
      expected.map((id) => ({ id, event: 'next' })),
    )
    expect(stream.events()[0]).toEqual({
      id: expected[0],
      type: 'account.updated',
      userId: null,
      target: { id: fixture.accountId },
    })
  }
})

test('filters apply; events of other tenants are not delivered', async () => {
  const user = expectStatus(
    await fixture.owner.post(`${fixture.I}/users`, { username_type: 'unique', username: uniqueName('u') }),
    201,
  )
  const [byType, byUser] = [
    await subscribeToEvents({ types: ['note.created'] }),
    await subscribeToEvents({ user: user.data.id }),
  ]
  const { owner, accountId } = await createAccount(app)
  expectStatus(await owner.patch(`/v1/accounts/${accountId}`, { description: 'theirs' }), 200)
  expectStatus(await fixture.owner.patch(`${fixture.I}/users/${user.data.id}`, { profile: { name: 'x' } }), 200)
  const note = { subject_type: 'issuer', subject_id: fixture.issuerId, content: 'x' }
  expectStatus(await fixture.owner.post(`${fixture.A}/notes`, note), 201)
  expect((await byType.waitForEvents(1)).map(({ type }) => type)).toEqual(['note.created'])
  expect((await byUser.waitForEvents(1)).map(({ type, userId }) => [type, userId])).toEqual([
    ['user.updated', user.data.id],
  ])
})

test('an event that commits late is neither lost nor delivered twice, regardless of the order of the ids', async () => {
  const stream = await subscribeToEvents()
  const early = await openEventTransaction()
  await change()
  const late = await openEventTransaction()
  await change()
  await late.commit()
  await change()
  // The stream has polled the table after the commit of `late`. It sends no event while an older transaction is open.
  const statements = countStatements(app.gatehouse.database)
  await waitUntil('the stream has polled', () => statements.completed('poll-events') >= 3)
  statements.restore()
  expect(stream.events()).toEqual([])
  await early.commit()
  const seen = ids(await stream.waitForEvents(5))
  expect(seen[0]).toBe(early.id)
  expect(new Set(seen).size).toBe(5)
  expect(seen).toContain(late.id)

  // A stream that resumes after any of the events gets the later events in the same order.
  for (const [position, id] of seen.entries()) {
    const again = await subscribeToEvents(position % 2 === 0 ? { after: id } : { lastEventId: id })
    expect(ids(await again.waitForEvents(4 - position))).toEqual(seen.slice(position + 1))
    again.close()
  }
})

test('an event that committed before the stream began is not delivered, even if an older open transaction delays it', async () => {
  const early = await openEventTransaction()
  await change()
  const before = (await stored()).at(-1)!
  const stream = await subscribeToEvents()
  await change()
  await early.commit()
  const [after] = await stored({ id: { gt: before } })
  expect(ids(await stream.waitForEvents(2)).sort()).toEqual([early.id, after].sort())
  // After another event, the stream has still not delivered the event from before its start.
  await change()
  const last = (await stored()).at(-1)!
  expect(ids(await stream.waitForEvents(3)).at(-1)).toBe(last)
})

test('a client that reconnects with Last-Event-ID continues from there, at any process and after its original start', async () => {
  const first = await stored()
  await change()
  await change()
  // Waits until no open transaction delays events, because a client that resumes before that gets some events again.
  const text = 'SELECT event_commit_horizon() > max(commit_position) AS settled FROM events'
  await waitUntil(
    'all events are below the horizon',
    async () => (await app.gatehouse.database.pool.query<{ settled: boolean }>(text)).rows[0]!.settled,
  )
  const all = await stored()
  const stream = await subscribeToEvents({ after: first[0], lastEventId: all.at(-2) }, at(second, fixture.owner))
  expect(ids(await stream.waitForEvents(1))).toEqual(all.slice(-1))
})

test('many writers, and subscribers that reconnect repeatedly: each event once', async () => {
  const from = (await stored()).at(-1)!
  let writing = true
  const seen: string[] = []
  const again = () =>
    subscribe(at(seen.length % 2 === 0 ? app : second, fixture.owner), fixture.accountId, {
      lastEventId: seen.at(-1) ?? from,
    })
  const listener = async () => {
    while (writing) {
      const stream = await again()
      // Ends each stream after 40 ms, so that deliveries are cut off at arbitrary points.
      await sleep(40)
      stream.close()
      await stream.ended
      seen.push(...ids(stream.events()))
    }
  }
  const listening = listener()
  await Promise.all(
    Array.from({ length: 6 }, async () => {
      for (let n = 0; n < 25; n++) await change()
    }),
  )
  writing = false
  await listening
  const all = await stored({ id: { gt: from } })
  const last = await again()
  seen.push(...ids(await last.waitForEvents(all.length - seen.length)))
  last.close()
  expect(new Set(seen).size).toBe(seen.length)
  expect([...seen].sort()).toEqual(all)
})

test('without notifications events still arrive, because streams also poll the table', async () => {
  const stream = await subscribeToEvents()
  await change()
  await stream.waitForEvents(1)
  const kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'gatehouse% listen'"
  await app.gatehouse.database.pool.query(kill)
  await change()
  await stream.waitForEvents(2)
})

test('a stream ends when its caller loses access, before any further event', async () => {
  const key = await createRestrictedKey(fixture, { scopes: ['events:read'] })
  const narrowed = await createRestrictedKey(fixture, { scopes: ['events:read'] })
  const streams = [await subscribeToEvents({}, key), await subscribeToEvents({}, narrowed)]
  const [blocked, cut] = streams as [EventStream, EventStream]
  expectStatus(await fixture.owner.post(`${fixture.A}/api-keys/${key.keyId}/block`), 200)
  expectStatus(await fixture.owner.patch(`${fixture.A}/api-keys/${narrowed.keyId}`, { scopes: ['notes:read'] }), 200)
  await change()
  await Promise.all([blocked.ended, cut.ended])
  const received = (stream: EventStream) =>
    stream.messages.map(({ event, data }) => data?.errors?.[0].extensions.code ?? event)
  expect(blocked.events()).toEqual([])
  expect(received(blocked)).toEqual(['UNAUTHORIZED', 'complete'])
  expect(received(cut).slice(-2)).toEqual(['INSUFFICIENT_SCOPE', 'complete'])
  expect(cut.events().some(({ type }) => type === 'account.updated')).toBe(false)
})

test('the relations of streamed events are current, and need the current scopes of the caller', async () => {
  const key = await createRestrictedKey(fixture, { scopes: ['events:read', 'issuers:read', 'issuers.clients:read'] })
  const rename = (name: string) => fixture.owner.patch(`${fixture.I}/clients/${fixture.ids.client_id}`, { name })
  const document = `subscription ($a: ID!) {
    eventAdded(accountId: $a, eventTypes: ["client.updated"]) { id issuer { id } client { id name } } }`
  const stream = await subscribeToEvents({ document }, key)
  const [first, second] = [uniqueName('App'), uniqueName('App')]
  expectStatus(await rename(first), 200)
  await stream.waitForEvents(1)
  expectStatus(await rename(second), 200)
  await stream.waitForEvents(2)
  const restrictions = { scopes: ['events:read', 'issuers:read'] }
  expectStatus(await fixture.owner.patch(`${fixture.A}/api-keys/${key.keyId}`, restrictions), 200)
  expectStatus(await rename(first), 200)
  await stream.waitForEvents(3)
  const issuer = { id: fixture.issuerId }
  const client = (name: string) => ({ id: fixture.ids.client_id, name })
  expect(stream.events()).toMatchObject([
    { issuer, client: client(first) },
    { issuer, client: client(second) },
    { issuer, client: null },
  ])
  expect(stream.messages.at(-1)?.data.errors).toMatchObject([
    { path: ['eventAdded', 'client'], extensions: { code: 'INSUFFICIENT_SCOPE' } },
  ])
})

test('an idle stream also ends when its credential ends', async () => {
  const { owner, accountId } = await createAccount(app)
  const A = `/v1/accounts/${accountId}`
  const key = await createRestrictedKey(
    { owner, A, accountId } as TenantFixture,
    { scopes: ['events:read'] },
    { expires_at: app.clock.now() + 3000 },
  )
  const stream = await subscribeToEvents({}, key, accountId)
  await stream.ended
  expect(stream.events()).toEqual([])
  expect(stream.messages.at(-1)?.event).toBe('complete')
}, 20_000)

test('a caller without access gets an error before the stream begins', async () => {
  const cases: [ApiClient, string, AnyJson, number, string][] = [
    [createApiClient(app.baseUrl), fixture.accountId, {}, 401, 'UNAUTHORIZED'],
    [await createRestrictedKey(fixture, { scopes: ['notes:read'] }), fixture.accountId, {}, 403, 'INSUFFICIENT_SCOPE'],
    [fixture.owner, `acc_${'0'.repeat(26)}`, {}, 404, 'NOT_FOUND'],
    [app.operator, `acc_${'0'.repeat(26)}`, {}, 404, 'NOT_FOUND'],
    [await createRestrictedKey(fixture, { issuer_ids: [fixture.issuerId] }), fixture.accountId, {}, 404, 'NOT_FOUND'],
    [fixture.owner, fixture.accountId, { types: ['user.eaten'] }, 400, 'INVALID_REQUEST'],
    [fixture.owner, fixture.accountId, { types: [] }, 400, 'INVALID_REQUEST'],
    [fixture.owner, fixture.accountId, { after: 'x' }, 400, 'INVALID_REQUEST'],
    [fixture.owner, fixture.accountId, { after: `evt_${'0'.repeat(26)}` }, 400, 'INVALID_REQUEST'],
    [fixture.owner, fixture.accountId, { document: 'subscription {' }, 400, 'INVALID_REQUEST'],
    [fixture.owner, fixture.accountId, { document: 'subscription { nothing }' }, 400, 'INVALID_REQUEST'],
    [fixture.owner, fixture.accountId, { document: '{ me { id } }' }, 400, 'INVALID_REQUEST'],
    [fixture.owner, fixture.accountId, { document: 7 }, 400, 'INVALID_REQUEST'],
  ]
  for (const [api, accountId, options, status, code] of cases) {
    const { status: found, body } = await subscribeToEvents(options, api, accountId)
    expect({ options, found, code: body?.errors[0].extensions.code }).toEqual({ options, found: status, code })
  }
  const plain = await fixture.owner.graphql('subscription ($a: ID!) { eventAdded(accountId: $a) { id } }', {
    a: fixture.accountId,
  })
  expect(plain.body.errors[0]).toMatchObject({ extensions: { status: 400 } })
  expect(plain.body.errors[0].message).toContain('text/event-stream')
})

test('a credential has at most ten streams; a closed stream no longer counts', async () => {
  const key = await createRestrictedKey(fixture, { scopes: ['events:read'] })
  const streams = await Promise.all(Array.from({ length: 13 }, () => subscribeToEvents({}, key)))
  expect(streams.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), 429, 429, 429])
  expect(streams.find(({ status }) => status === 429)?.headers.get('retry-after')).toMatch(/^\d+$/)
  streams.find(({ status }) => status === 200)!.close()
  const status = await waitUntil('a further stream is accepted', async () => {
    const stream = await subscribeToEvents({}, key)
    return stream.status === 429 ? undefined : stream.status
  })
  expect(status).toBe(200)
})

test('a client that disconnects before the stream begins leaves nothing open', async () => {
  const key = await createRestrictedKey(fixture, { scopes: ['events:read'] })
  const body = JSON.stringify({
    query: 'subscription ($a: ID!) { eventAdded(accountId: $a) { id } }',
    variables: { a: fixture.accountId },
  })
  const headers = {
    Authorization: key.authorization!,
    'Content-Type': 'application/json',
    Accept: 'text/event-stream',
  }
  const comeAndGo = async (wait: number): Promise<void> => {
    const signal = AbortSignal.timeout(wait)
    await fetch(`${app.baseUrl}/graphql`, { method: 'POST', headers, body, signal }).catch(() => {})
  }
  for (let wait = 1; wait <= 30; wait++) await comeAndGo(wait)
  await waitUntil('ten streams are accepted at the same time', async () => {
    const streams = await Promise.all(Array.from({ length: 10 }, () => subscribeToEvents({}, key)))
    for (const stream of streams) stream.close()
    return streams.every(({ status }) => status === 200)
  })
})

test('the package graphql-sse can consume the stream', async () => {
  const client = createClient({
    url: `${app.baseUrl}/graphql`,
    headers: { authorization: fixture.owner.authorization! },
    retryAttempts: 0,
  })
  const results = client.iterate({
    query: 'subscription ($a: ID!) { eventAdded(accountId: $a) { type } }',
    variables: { a: fixture.accountId },
  })
  let received: AnyJson | undefined
  void results.next().then((result) => {
    received = result
  })
  // The stream sends no event from before its start, and the client does not report the start. Therefore events are
  // caused until one arrives.
  await waitUntil('an event has arrived', async () => received ?? void (await change()), { interval: 200 })
  expect(received['value']).toEqual({ data: { eventAdded: { type: 'account.updated' } } })
  await results.return?.()
  client.dispose()
})

test('a process that stops ends its streams without "complete", so that clients reconnect', async () => {
  const third = await app.startSecondApp()
  const stream = await subscribeToEvents({}, at(third, fixture.owner))
  await change()
  await stream.waitForEvents(1)
  await third.close()
  await stream.ended
  expect(stream.messages.map(({ event }) => event)).toEqual(['next'])
})
