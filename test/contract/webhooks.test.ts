/**
 * Webhooks in `/v1` and GraphQL (docs/contract.md#webhooks, docs/contract.md#webhook-endpoints,
 * docs/contract.md#webhook-fields). webhook-sending.test.ts tests the requests to receivers.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { transaction } from '../../src/platform/postgres/transaction.js'
import { recordEvent } from '../../src/resources/events/record-event.js'
import { schedule } from '../../src/schedule.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitForLockWaiters } from '../setup/wait-until.js'
import { storedIdempotentResponses } from './stored-rows.js'

const DAY = 86_400_000
const url = 'https://hooks.example.com/in?key=very-secret'

let app: TestApp
let tenant: Tenant
beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  tenant = await createTenant(app)
})
afterAll(() => app.close())

async function create(body: object = {}, { owner, A } = tenant): Promise<AnyJson> {
  return expectStatus(await owner.post(`${A}/webhooks`, { url, ...body }), 201).data
}
const path = (webhook: AnyJson, { A } = tenant) => `${A}/webhooks/${webhook.id}`
const clear = async () => {
  const { data } = expectStatus(await tenant.owner.get(`${tenant.A}/webhooks?limit=100`), 200)
  for (const webhook of data) expectStatus(await tenant.owner.delete(path(webhook)), 204)
}

describe('fields', () => {
  test('event_types omitted means all events; auth defaults to signature; statistics, and no secrets on read', async () => {
    const webhook = await create()
    expect(webhook).toEqual({
      id: expect.stringMatching(/^whk_/),
      account_id: tenant.accountId,
      name: null,
      description: null,
      url,
      event_types: null,
      auth: 'signature',
      status: 'active',
      stats: { success_rate: null, last_delivery_at: null },
      metadata: {},
      created_at: expect.any(Number),
      updated_at: webhook.created_at,
      bearer_token_plain: null,
      signature_secret_plain: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    })
    const { bearer_token_plain: _, signature_secret_plain: secret, ...shown } = webhook
    expect(expectStatus(await tenant.owner.get(path(webhook)), 200).data).toEqual(shown)
    const list = await tenant.owner.get(`${tenant.A}/webhooks`)
    expect(expectStatus(list, 200).data[0]).toEqual(shown)
    expect(list.text).not.toContain(secret)
    const rows = JSON.stringify(await app.gatehouse.database.query('rows', 'SELECT * FROM webhooks', []))
    expect(rows).not.toContain(secret.slice(6))
  })

  test.each([
    ['none', false, false],
    ['bearer', true, false],
    ['signature', false, true],
    ['bearer+signature', true, true],
  ])('auth %s: secrets are returned once', async (auth, bearer, signature) => {
    await clear()
    const webhook = await create({
      auth,
      name: 'One',
      description: 'd',
      metadata: { a: 1 },
      event_types: ['user.created'],
    })
    expect([webhook.bearer_token_plain !== null, webhook.signature_secret_plain !== null]).toEqual([bearer, signature])
    expect(webhook).toMatchObject({
      auth,
      name: 'One',
      description: 'd',
      metadata: { a: 1 },
      event_types: ['user.created'],
    })
  })

  test.each<[string, object, string]>([
    ['no url', { url: undefined }, 'url'],
    ['an unknown event type', { event_types: ['user.created', 'user.exploded'] }, 'event_types[1]'],
    ['an empty list', { event_types: [] }, 'event_types'],
    ['an unknown auth', { auth: 'basic' }, 'auth'],
    ['a status', { status: 'active' }, 'status'],
    ['a secret supplied by the caller', { signature_secret_plain: 'whsec_x' }, 'signature_secret_plain'],
  ])('%s is 400', async (_, body, field) => {
    const { status, body: error } = await tenant.owner.post(`${tenant.A}/webhooks`, { url, ...body })
    expect([status, error.details[0].field]).toEqual([400, field])
  })

  test.each([
    'http://example.com/',
    'ftp://example.com/',
    'https:example.com',
    'https://',
    'https:///example.com',
    'javascript:alert(1)',
    'https://user:pass@example.com/',
    'https://user@example.com/',
    'https://@example.com/',
    'https://example.com/#part',
    'https://example.com/#',
    'https://example.com/a b',
    'https://exam\tple.com/',
    'https://example.com\\@127.0.0.1/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://0.0.0.0/',
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://192.168.1.1/',
    'https://169.254.169.254/latest/meta-data',
    'https://100.64.0.1/',
    'https://224.0.0.1/',
    'https://[::1]/',
    'https://[::]/',
    'https://[fe80::1]/',
    'https://[fd00::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://a.localhost/',
    'https://metadata.google.internal/',
    'https://printer.local/',
    'https://intranet/',
  ])('unsafe URL %s is refused on create and on update', async (hostile) => {
    const refused = await tenant.owner.post(`${tenant.A}/webhooks`, { url: hostile })
    expect([refused.status, refused.body.details[0].field]).toEqual([400, 'url'])
    const webhook = expectStatus(await tenant.owner.get(`${tenant.A}/webhooks?limit=1`), 200).data[0]
    expect((await tenant.owner.patch(path(webhook), { url: hostile })).status).toBe(400)
  })

  test('an account has at most 20 webhooks, even with parallel requests; deleted webhooks do not count; the 21st is 429', async () => {
    const other = await createTenant(app)
    for (let n = 0; n < 15; n++) await create({}, other)
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => other.owner.post(`${other.A}/webhooks`, { url })),
    )
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(5)
    const refused = responses.filter(({ status }) => status === 429)
    expect([refused.length, refused[0]!.body.error]).toEqual([15, 'too_many_requests'])
    expectStatus(await other.owner.delete(path(responses.find(({ status }) => status === 201)!.body.data, other)), 204)
    await create({}, other)
  })

  test('a creation with bearer or signature is never stored for replay, one without is', async () => {
    await clear()
    const send = (body: object, key: string) =>
      tenant.owner.post(`${tenant.A}/webhooks`, { url, ...body }, { 'idempotency-key': key })
    for (const auth of [undefined, 'bearer', 'signature', 'bearer+signature']) {
      const [one, two] = [await send({ auth }, `w-${auth}`), await send({ auth }, `w-${auth}`)]
      expect([one.status, two.status, two.headers.get('idempotent-replayed')]).toEqual([201, 201, null])
      expect(one.body.data.id).not.toBe(two.body.data.id)
      expect(await storedIdempotentResponses(app)).not.toContain(one.body.data.id)
    }
    const [one, two] = [await send({ auth: 'none' }, 'w-none'), await send({ auth: 'none' }, 'w-none')]
    expect([two.headers.get('idempotent-replayed'), two.body]).toEqual(['true', one.body])
    const document =
      'mutation ($a: ID!, $i: CreateWebhookInput!, $k: String) { createWebhook(accountId: $a, input: $i, idempotencyKey: $k) { id } }'
    const run = async (auth: string) =>
      (await tenant.owner.graphql(document, { a: tenant.accountId, i: { url, auth }, k: `g-${auth}` })).body.data
        .createWebhook
    expect(await run('bearer')).not.toEqual(await run('bearer'))
    expect(await run('none')).toEqual(await run('none'))
  })
})

describe('PATCH', () => {
  test('url, event_types, status, name, description, metadata; null means all events', async () => {
    await clear()
    const webhook = await create({ event_types: ['user.created'] })
    const body = {
      url: 'https://hooks.example.com/other',
      event_types: null,
      status: 'disabled',
      name: 'N',
      metadata: { b: 2 },
    }
    const { data } = expectStatus(await tenant.owner.patch(path(webhook), body), 200)
    expect(data).toMatchObject(body)
    expect([data.bearer_token_plain, data.signature_secret_plain]).toEqual([null, null])
    for (const bad of [
      { status: 'failing' },
      { status: 'deleted' },
      { url: null },
      { auth: null },
      { event_types: [] },
    ])
      expect((await tenant.owner.patch(path(webhook), bad)).status).toBe(400)
  })

  test('new secrets are returned once if auth changes, and only then', async () => {
    await clear()
    const webhook = await create({ auth: 'signature' })
    const same = expectStatus(await tenant.owner.patch(path(webhook), { auth: 'signature' }), 200).data
    expect([same.bearer_token_plain, same.signature_secret_plain]).toEqual([null, null])
    const both = expectStatus(await tenant.owner.patch(path(webhook), { auth: 'bearer+signature' }), 200).data
    expect(both.bearer_token_plain).toMatch(/^[\w-]{43}$/)
    expect(both.signature_secret_plain).toMatch(/^whsec_/)
    expect(both.signature_secret_plain).not.toBe(webhook.signature_secret_plain)
    const none = expectStatus(await tenant.owner.patch(path(webhook), { auth: 'none' }), 200).data
    expect([none.bearer_token_plain, none.signature_secret_plain]).toEqual([null, null])
  })

  test('a change of the origin of the URL creates a new bearer token', async () => {
    await clear()
    const webhook = await create({ auth: 'bearer+signature' })
    const near = expectStatus(
      await tenant.owner.patch(path(webhook), { url: 'https://hooks.example.com/v2' }),
      200,
    ).data
    expect(near.bearer_token_plain).toBeNull()
    const far = expectStatus(
      await tenant.owner.patch(path(webhook), { url: 'https://attacker.example.net/' }),
      200,
    ).data
    expect(far.bearer_token_plain).toMatch(/^[\w-]{43}$/)
    expect(far.bearer_token_plain).not.toBe(webhook.bearer_token_plain)
    expect(far.signature_secret_plain).toBeNull()
  })
})

test('DELETE: 404 from then on, listed only by status, its row removed after 31 days', async () => {
  await clear()
  const webhook = await create()
  expectStatus(await tenant.owner.delete(path(webhook)), 204)
  for (const response of [
    await tenant.owner.get(path(webhook)),
    await tenant.owner.patch(path(webhook), { name: 'x' }),
    await tenant.owner.delete(path(webhook)),
    await tenant.owner.get(`${path(webhook)}/deliveries`),
  ])
    expect(response.status).toBe(404)
  const ids = async (status: string) =>
    expectStatus(await tenant.owner.get(`${tenant.A}/webhooks${status}`), 200).data.map(({ id }: AnyJson) => id)
  expect(await ids('')).toEqual([])
  expect(await ids('?status=deleted')).toContain(webhook.id)
  expect((await tenant.owner.get(`${tenant.A}/webhooks?status=failing`)).status).toBe(400)
  const disabled = await create()
  expectStatus(await tenant.owner.patch(path(disabled), { status: 'disabled' }), 200)
  const active = await create()
  expect([await ids('?status=disabled'), await ids('?status=active')]).toEqual([[disabled.id], [active.id]])

  const purge = () => schedule.find(({ name }) => name === 'purge-webhooks')!.run(systemContext(app.gatehouse))
  const left = () => app.gatehouse.database.prisma.webhook.count({ where: { id: webhook.id } })
  app.clock.advance(31 * DAY - 60_000)
  await purge()
  expect(await left()).toBe(1)
  app.clock.advance(60_000)
  await purge()
  expect(await left()).toBe(0)
  expect(await ids('')).toHaveLength(2)
})

test('events webhook.created, updated and deleted contain the origin, and no path, query or secret', async () => {
  await clear()
  const recordedEvents = await eventsRecordedFromNow(app, tenant.accountId)
  const webhook = await create()
  expectStatus(
    await tenant.owner.patch(path(webhook), { url: 'https://two.example.com/hidden-path', auth: 'bearer' }),
    200,
  )
  expectStatus(await tenant.owner.delete(path(webhook)), 204)
  const events = await recordedEvents('webhook.')
  expect(events.map(({ type }) => type)).toEqual(['webhook.created', 'webhook.updated', 'webhook.deleted'])
  expect(events[1]!.changes).toEqual({
    url: { old: 'https://hooks.example.com', new: 'https://two.example.com' },
    auth: { old: 'signature', new: 'bearer' },
    bearer_token_plain: 'changed',
  })
  for (const word of ['very-secret', 'hidden-path', webhook.signature_secret_plain.slice(6)])
    expect(JSON.stringify(events)).not.toContain(word)
})

describe('deliveries', () => {
  const user = () => tenant.owner.post(`${tenant.I}/users`, { username_type: 'unique', username: `u${Math.random()}` })
  const deliveries = async (webhook: AnyJson, query = '') =>
    expectStatus(await tenant.owner.get(`${path(webhook)}/deliveries${query}`), 200)

  test('are created in the transaction of the event for webhooks that subscribe to its type; disabled webhooks get none', async () => {
    await clear()
    const [all, users, notes, off] = [
      await create(),
      await create({ event_types: ['user.created', 'user.deleted'] }),
      await create({ event_types: ['note.created'] }),
      await create(),
    ]
    expectStatus(await tenant.owner.patch(path(off), { status: 'disabled' }), 200)
    const { id } = expectStatus(await user(), 201).data
    const [delivery] = (await deliveries(users)).data
    expect(delivery).toEqual({
      id: expect.stringMatching(/^dlv_/),
      account_id: tenant.accountId,
      webhook_id: users.id,
      event_id: expect.stringMatching(/^evt_/),
      event_type: 'user.created',
      status: 'pending',
      attempt_count: 0,
      last_response_status: null,
      last_error: null,
      first_attempt_at: null,
      last_attempt_at: null,
      next_attempt_at: expect.any(Number),
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
    })
    const event = expectStatus(await tenant.owner.get(`${tenant.A}/events/${delivery.event_id}`), 200).data
    expect([event.target.id, event.type]).toEqual([id, 'user.created'])
    expect((await deliveries(all, '?event_type=user.created')).data.map((row: AnyJson) => row.event_id)).toEqual([
      event.id,
    ])
    for (const silent of [notes, off]) expect((await deliveries(silent, '?event_type=user.created')).data).toEqual([])
  })

  test('newest first in pages; event_type, status success or failed, after and before', async () => {
    await clear()
    const webhook = await create({ event_types: ['user.created'] })
    for (let n = 0; n < 5; n++) expectStatus(await user(), 201)
    const all = (await deliveries(webhook)).data
    expect(all.map(({ created_at }: AnyJson) => created_at)).toEqual(
      all.map(({ created_at }: AnyJson) => created_at).sort((a: number, b: number) => b - a),
    )
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const page = await deliveries(webhook, `?limit=2${cursor && `&cursor=${cursor}`}`)
      found.push(...page.data.map(({ id }: AnyJson) => id))
      if (!page.has_more) break
      cursor = page.next_cursor
    }
    expect(found).toEqual(all.map(({ id }: AnyJson) => id))
    const { query } = app.gatehouse.database
    for (const [n, status] of ['delivered', 'failing', 'failed', 'delivering'].entries())
      await query(`set-${n}`, 'UPDATE webhook_deliveries SET status = $1 WHERE id = $2', [status, found[n]])
    const ids = async (text: string) => (await deliveries(webhook, text)).data.map(({ id }: AnyJson) => id)
    expect(await ids('?status=success')).toEqual([found[0]])
    expect(await ids('?status=failed')).toEqual([found[1], found[2]])
    expect(await ids('?event_type=user.created&status=failed&limit=1')).toEqual([found[1]])
    expect(await ids('?event_type=user.deleted')).toEqual([])
    const middle = all[2].created_at
    expect(await ids(`?after=${middle}`)).toEqual(found.slice(0, 3))
    expect(await ids(`?before=${middle}`)).toEqual(found.slice(3))
    for (const bad of ['status=pending', 'event_type=user.exploded', 'cursor=x', 'after=x', 'limit=0'])
      expect((await tenant.owner.get(`${path(webhook)}/deliveries?${bad}`)).status).toBe(400)
  })

  const cancel = () => schedule.find(({ name }) => name === 'cancel-deliveries')!.run(systemContext(app.gatehouse))

  test('deleting a webhook also cancels deliveries of an event that commits after the deletion', async () => {
    await clear()
    const gone = await create({ event_types: ['user.created'] })
    const rows = () => app.gatehouse.database.prisma.webhookDelivery.findMany({ where: { webhookId: gone.id } })
    const holder = await app.gatehouse.database.pool.connect()
    await holder.query('SELECT pg_advisory_lock(1)')
    const wait = {
      name: 'wait',
      text: "SELECT set_config('lock_timeout', '0', true), pg_advisory_xact_lock(1)",
      values: () => [],
      onCommitted: () => {},
    }
    const late = transaction(systemContext(app.gatehouse), async (tx) => {
      const { accountId } = tenant
      await recordEvent(tx, 'user.created', { accountId, target: { type: 'user', id: 'usr_late' } })
      // The transaction has written the event and waits before the commit.
      await tx.beforeCommit(wait, null)
    })
    await waitForLockWaiters(holder, 1)
    expectStatus(await tenant.owner.delete(path(gone)), 204)
    await cancel()
    expect(await rows()).toEqual([])
    await holder.query('SELECT pg_advisory_unlock(1)')
    holder.release()
    await late
    expect(await rows()).toMatchObject([{ status: 'pending' }])
    await cancel()
    expect(await rows()).toMatchObject([{ status: 'failed', nextAttemptAt: null }])
  })

  test('deleting a webhook cancels pending deliveries, and records are kept for 14 days', async () => {
    await clear()
    const [gone, kept] = [
      await create({ event_types: ['user.created'] }),
      await create({ event_types: ['user.created'] }),
    ]
    expectStatus(await user(), 201)
    expectStatus(await tenant.owner.delete(path(gone)), 204)
    await cancel()
    const rows = (webhook: AnyJson) =>
      app.gatehouse.database.prisma.webhookDelivery.findMany({ where: { webhookId: webhook.id } })
    expect(await rows(gone)).toMatchObject([
      { status: 'failed', nextAttemptAt: null, lastError: 'The webhook was deleted.' },
    ])
    expect(await rows(kept)).toMatchObject([{ status: 'pending' }])
    const purge = () => schedule.find(({ name }) => name === 'purge-deliveries')!.run(systemContext(app.gatehouse))
    app.clock.advance(14 * DAY - 60_000)
    await purge()
    expect((await rows(kept)).length).toBe(1)
    app.clock.advance(120_000)
    await purge()
    expect((await rows(kept)).length + (await rows(gone)).length).toBe(0)
  })

  test('GraphQL: a webhook with its deliveries and an account with its webhooks', async () => {
    await clear()
    const webhook = await create({ event_types: ['user.created'] })
    expectStatus(await user(), 201)
    const text = `query ($a: ID!) { account(accountId: $a) { webhooks { data { id stats { successRate } deliveries(limit: 1) { data { eventType } } } } } }`
    const { body } = await tenant.owner.graphql(text, { a: tenant.accountId })
    expect(body.data.account.webhooks.data).toEqual([
      { id: webhook.id, stats: { successRate: null }, deliveries: { data: [{ eventType: 'user.created' }] } },
    ])
  })
})

test('deleting an issuer notifies the webhooks of its account, which stay active', async () => {
  await clear()
  const webhook = await create({ event_types: ['issuer.deleted', 'client.deleted'] })
  const issuer = expectStatus(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Short' }), 201).data.id
  expectStatus(await tenant.owner.delete(`${tenant.A}/issuers/${issuer}`), 204)
  expect(expectStatus(await tenant.owner.get(path(webhook)), 200).data.status).toBe('active')
  const { data } = expectStatus(await tenant.owner.get(`${path(webhook)}/deliveries`), 200)
  expect(data.map((row: AnyJson) => row.event_type)).toEqual(['issuer.deleted'])
})
