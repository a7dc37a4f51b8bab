/** `eventAdded` over Server-Sent Events: each event once, in whatever order transactions commit; who may, and how long. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { createClient } from 'graphql-sse'
import pg from 'pg'
import { newRow } from '../../src/kernel/ids.js'
import { until } from '../resources/hooks.js'
import { keyWith, makeAccount, must } from '../setup/actors.js'
import { type Api, apiAs, type Loose } from '../setup/api.js'
import { type EventStream, subscribe } from '../setup/event-stream.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { fresh, makeWorld, type World } from './world.js'

let app: TestApp
let second: TestApp
let world: World
beforeAll(async () => {
  app = await startApp()
  second = await app.second()
  world = await makeWorld(app)
})
afterAll(() => app.close())

const open: EventStream[] = []
afterEach(() => {
  for (const stream of open.splice(0)) stream.close()
})
async function listen(options: Loose = {}, api: Api = world.owner, accountId = world.accountId): Promise<EventStream> {
  const stream = await subscribe(api, accountId, options)
  open.push(stream)
  return stream
}
const at = (other: TestApp, api: Api): Api => ({ ...api, baseUrl: other.baseUrl })

const change = async () => must(await world.owner.patch(world.A, { description: fresh('d') }), 200)
const ids = (list: Loose[]) => list.map(({ id }) => id)
const stored = async (where: Loose = {}): Promise<string[]> =>
  ids(
    await app.gatehouse.tools.prisma.event.findMany({
      where: { accountId: world.accountId, ...where },
      orderBy: { id: 'asc' },
    }),
  )
const insertText = `INSERT INTO events (id, type, created_at, account_id, auth_type, actor, target, context)
  VALUES ($1, 'account.updated', $2, $3, 'system', '{"type":"system"}', '{"type":"account","id":"x"}', '{}')`

/** A transaction that has written an event and commits when the test says so. */
async function pending(): Promise<{ id: string; commit(): Promise<void> }> {
  const client = new pg.Client(app.databaseUrl)
  await client.connect()
  await client.query('BEGIN')
  const { id, createdAt } = newRow('evt', app.clock.now())
  await client.query(insertText, [id, createdAt, world.accountId])
  return {
    id,
    async commit() {
      await client.query('COMMIT')
      await client.end()
    },
  }
}

test('what happens at any process is told at each, once, with its id, in the form that was asked for', async () => {
  const streams = [await listen(), await listen({}, at(second, world.owner))]
  const from = (await stored()).at(-1)!
  await change()
  await change()
  must(await app.operator.patch(world.A, { description: fresh('d') }), 200)
  const expected = await stored({ id: { gt: from } })
  expect(expected).toHaveLength(3)
  for (const stream of streams) {
    expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(ids(await stream.until(3))).toEqual(expected)
    expect(stream.messages.map(({ id, event }) => ({ id, event }))).toEqual(
      expected.map((id) => ({ id, event: 'next' })),
    )
    expect(stream.events()[0]).toEqual({
      id: expected[0],
      type: 'account.updated',
      userId: null,
      target: { id: world.accountId },
    })
  }
})

test('filters hold; the events of others are not told', async () => {
  const user = must(await world.owner.post(`${world.I}/users`, { username_type: 'unique', username: fresh('u') }), 201)
  const [byType, byUser] = [await listen({ types: ['note.created'] }), await listen({ user: user.data.id })]
  const { owner, accountId } = await makeAccount(app)
  must(await owner.patch(`/v1/accounts/${accountId}`, { description: 'theirs' }), 200)
  must(await world.owner.patch(`${world.I}/users/${user.data.id}`, { profile: { name: 'x' } }), 200)
  const note = { subject_type: 'issuer', subject_id: world.issuerId, content: 'x' }
  must(await world.owner.post(`${world.A}/notes`, note), 201)
  expect((await byType.until(1)).map(({ type }) => type)).toEqual(['note.created'])
  expect((await byUser.until(1)).map(({ type, userId }) => [type, userId])).toEqual([['user.updated', user.data.id]])
})

test('an event that commits late is neither lost nor told twice, whatever the order of the ids', async () => {
  const stream = await listen()
  const early = await pending()
  await change()
  const late = await pending()
  await change()
  await late.commit()
  await change()
  // Nothing is told that an earlier transaction could still come before.
  await sleep(300)
  expect(stream.events()).toEqual([])
  await early.commit()
  const seen = ids(await stream.until(5))
  expect(seen[0]).toBe(early.id)
  expect(new Set(seen).size).toBe(5)
  expect(seen).toContain(late.id)

  // From each event on, the rest comes in the same order.
  for (const [position, id] of seen.entries()) {
    const again = await listen(position % 2 === 0 ? { after: id } : { lastEventId: id })
    expect(ids(await again.until(4 - position))).toEqual(seen.slice(position + 1))
    again.close()
  }
})

test('what had committed before a stream begins is no news, though a transaction that began earlier holds it back', async () => {
  const early = await pending()
  await change()
  const before = (await stored()).at(-1)!
  const stream = await listen()
  await change()
  await early.commit()
  const [after] = await stored({ id: { gt: before } })
  expect(ids(await stream.until(2)).sort()).toEqual([early.id, after].sort())
  // It goes on, and what it was never told stays untold.
  await change()
  const last = (await stored()).at(-1)!
  expect(ids(await stream.until(3)).at(-1)).toBe(last)
})

test('who comes back with Last-Event-ID goes on from there, also at another process and past what they asked first', async () => {
  const first = await stored()
  await change()
  await change()
  // Who resumes at what a transaction still holds back hears some again.
  const text = 'SELECT event_horizon() > max(place) AS settled FROM events'
  await until(async () => (await app.gatehouse.tools.pool.query<{ settled: boolean }>(text)).rows[0]!.settled)
  const all = await stored()
  const stream = await listen({ after: first[0], lastEventId: all.at(-2) }, at(second, world.owner))
  expect(ids(await stream.until(1))).toEqual(all.slice(-1))
})

test('many writers and listeners that are cut off again and again: each event once', async () => {
  const from = (await stored()).at(-1)!
  let writing = true
  const seen: string[] = []
  const again = () =>
    subscribe(at(seen.length % 2 === 0 ? app : second, world.owner), world.accountId, {
      lastEventId: seen.at(-1) ?? from,
    })
  const listener = async () => {
    while (writing) {
      const stream = await again()
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
  seen.push(...ids(await last.until(all.length - seen.length)))
  last.close()
  expect(new Set(seen).size).toBe(seen.length)
  expect([...seen].sort()).toEqual(all)
})

test('without notices events still come: the table is the truth', async () => {
  const stream = await listen()
  await change()
  await stream.until(1)
  const kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'gatehouse% notices'"
  await app.gatehouse.tools.pool.query(kill)
  await change()
  await stream.until(2)
})

test('a stream ends with the right to listen, before anything more is told', async () => {
  const key = await keyWith(world, { scopes: ['events:read'] })
  const narrowed = await keyWith(world, { scopes: ['events:read'] })
  const streams = [await listen({}, key), await listen({}, narrowed)]
  const [blocked, cut] = streams as [EventStream, EventStream]
  must(await world.owner.post(`${world.A}/api-keys/${key.keyId}/block`), 200)
  must(await world.owner.patch(`${world.A}/api-keys/${narrowed.keyId}`, { scopes: ['notes:read'] }), 200)
  await change()
  await Promise.all([blocked.ended, cut.ended])
  const told = (stream: EventStream) =>
    stream.messages.map(({ event, data }) => data?.errors?.[0].extensions.code ?? event)
  expect(blocked.events()).toEqual([])
  expect(told(blocked)).toEqual(['UNAUTHORIZED', 'complete'])
  expect(told(cut).slice(-2)).toEqual(['INSUFFICIENT_SCOPE', 'complete'])
  expect(cut.events().some(({ type }) => type === 'account.updated')).toBe(false)
})

test('a stream without news ends as well when its credential does', async () => {
  const { owner, accountId } = await makeAccount(app)
  const A = `/v1/accounts/${accountId}`
  const key = await keyWith(
    { owner, A, accountId } as World,
    { scopes: ['events:read'] },
    { expires_at: app.clock.now() + 3000 },
  )
  const stream = await listen({}, key, accountId)
  await stream.ended
  expect(stream.events()).toEqual([])
  expect(stream.messages.at(-1)?.event).toBe('complete')
}, 20_000)

test('who may not listen is told so before the stream begins', async () => {
  const cases: [Api, string, Loose, number, string][] = [
    [apiAs(app.baseUrl), world.accountId, {}, 401, 'UNAUTHORIZED'],
    [await keyWith(world, { scopes: ['notes:read'] }), world.accountId, {}, 403, 'INSUFFICIENT_SCOPE'],
    [world.owner, `acc_${'0'.repeat(26)}`, {}, 404, 'NOT_FOUND'],
    [app.operator, `acc_${'0'.repeat(26)}`, {}, 404, 'NOT_FOUND'],
    [await keyWith(world, { issuer_ids: [world.issuerId] }), world.accountId, {}, 404, 'NOT_FOUND'],
    [world.owner, world.accountId, { types: ['user.eaten'] }, 400, 'INVALID_REQUEST'],
    [world.owner, world.accountId, { types: [] }, 400, 'INVALID_REQUEST'],
    [world.owner, world.accountId, { after: 'x' }, 400, 'INVALID_REQUEST'],
    [world.owner, world.accountId, { after: `evt_${'0'.repeat(26)}` }, 400, 'INVALID_REQUEST'],
    [world.owner, world.accountId, { document: 'subscription {' }, 400, 'INVALID_REQUEST'],
    [world.owner, world.accountId, { document: 'subscription { nothing }' }, 400, 'INVALID_REQUEST'],
    [world.owner, world.accountId, { document: '{ me { id } }' }, 400, 'INVALID_REQUEST'],
    [world.owner, world.accountId, { document: 7 }, 400, 'INVALID_REQUEST'],
  ]
  for (const [api, accountId, options, status, code] of cases) {
    const { status: found, body } = await listen(options, api, accountId)
    expect({ options, found, code: body?.errors[0].extensions.code }).toEqual({ options, found: status, code })
  }
  const plain = await world.owner.graphql('subscription ($a: ID!) { eventAdded(accountId: $a) { id } }', {
    a: world.accountId,
  })
  expect(plain.body.errors[0]).toMatchObject({ extensions: { status: 400 } })
  expect(plain.body.errors[0].message).toContain('text/event-stream')
})

test('a credential has ten streams at most; one that was closed makes room', async () => {
  const key = await keyWith(world, { scopes: ['events:read'] })
  const streams = await Promise.all(Array.from({ length: 13 }, () => listen({}, key)))
  expect(streams.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), 429, 429, 429])
  expect(streams.find(({ status }) => status === 429)?.headers.get('retry-after')).toMatch(/^\d+$/)
  streams.find(({ status }) => status === 200)!.close()
  let status = 429
  for (let tries = 0; status === 429 && tries < 100; tries++) {
    status = (await listen({}, key)).status
    await sleep(10)
  }
  expect(status).toBe(200)
})

test('who goes away before the stream begins leaves nothing open', async () => {
  const key = await keyWith(world, { scopes: ['events:read'] })
  const body = JSON.stringify({
    query: 'subscription ($a: ID!) { eventAdded(accountId: $a) { id } }',
    variables: { a: world.accountId },
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
  const statuses = new Set<number>()
  for (let tries = 0; !statuses.has(200) && tries < 200; tries++) {
    const streams = await Promise.all(Array.from({ length: 10 }, () => listen({}, key)))
    statuses.clear()
    if (streams.every(({ status }) => status === 200)) statuses.add(200)
    for (const stream of streams) stream.close()
    await sleep(20)
  }
  expect([...statuses]).toEqual([200])
})

test('the package graphql-sse understands it', async () => {
  const client = createClient({
    url: `${app.baseUrl}/graphql`,
    headers: { authorization: world.owner.authorization! },
    retryAttempts: 0,
  })
  const results = client.iterate({
    query: 'subscription ($a: ID!) { eventAdded(accountId: $a) { type } }',
    variables: { a: world.accountId },
  })
  let answer: Loose | undefined
  const next = results.next().then((it) => {
    answer = it
  })
  // What commits before the stream has begun is not told, and nothing says when it has.
  while (!answer) {
    await change()
    await Promise.race([next, sleep(200)])
  }
  expect(answer['value']).toEqual({ data: { eventAdded: { type: 'account.updated' } } })
  await results.return?.()
  client.dispose()
})

test('a process that stops ends its streams without «complete», so that their clients come again', async () => {
  const third = await app.second()
  const stream = await listen({}, at(third, world.owner))
  await change()
  await stream.until(1)
  await third.close()
  await stream.ended
  expect(stream.messages.map(({ event }) => event)).toEqual(['next'])
})
