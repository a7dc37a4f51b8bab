/**
 * Webhook requests and their retries (docs/contract.md#webhook-delivery-rules,
 * docs/contract.md#webhook-payload-and-signature) with a receiver that fails in many ways.
 */
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { openOutbound } from '../../src/platform/outbound/outbound.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { freePorts } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'
import { WebhookFixture } from './webhook-fixture.js'

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]

let fixture: WebhookFixture
beforeAll(async () => {
  fixture = await WebhookFixture.create()
})
afterEach(() => fixture.reset())
afterAll(() => fixture.close())

// The example checks timestamps against the clock of the machine, so this test must run before other tests advance the
// clock of the application.
test('examples/webhooks/node.mjs accepts a correctly signed request once, and nothing else', async () => {
  const [port] = await freePorts(1)
  const webhook = await fixture.createWebhook({ url: `http://127.0.0.1:${port}/` })
  const child = spawn(process.execPath, [join(packageRoot, 'examples/webhooks/node.mjs')], {
    env: { PORT: String(port), SIGNATURE_SECRET: webhook.signature_secret_plain },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    await waitUntil('the receiver listens', () => output.includes('listening'))
    await fixture.triggerEvents()
    await fixture.sendDueDeliveries()
    const [delivery] = await fixture.listDeliveries(webhook)
    expect(delivery).toMatchObject({ status: 'delivered', last_response_status: 204 })
    await waitUntil('the receiver has printed the event', () => output.includes(`user.created ${delivery.event_id}`))
    const forged = {
      method: 'POST',
      headers: { 'x-webhook-signature': `t=${Math.floor(Date.now() / 1000)},v1=00` },
      body: '{}',
    }
    expect((await fetch(`http://127.0.0.1:${port}/`, forged)).status).toBe(401)
    expect((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })).status).toBe(401)
    await fixture.updateWebhook(webhook, { auth: 'bearer+signature' })
    await fixture.triggerEvents()
    await fixture.sendDueDeliveries()
    expect((await fixture.listDeliveries(webhook))[0]).toMatchObject({ status: 'delivered' })
  } finally {
    child.kill()
    await once(child, 'exit')
  }
})

describe('requests', () => {
  test('the body is the event record in an envelope; the signed bytes are the sent bytes, for both headers', async () => {
    const { signature_secret_plain: secret, ...webhook } = await fixture.createWebhook()
    await fixture.triggerEvents()
    await fixture.sendDueDeliveries()
    const [{ body, headers, event: envelope }] = fixture.receiver.requests as [
      (typeof fixture.receiver.requests)[number],
    ]
    const [delivery] = await fixture.listDeliveries(webhook)
    const event = expectStatus(
      await fixture.tenant.owner.get(`${fixture.tenant.A}/events/${delivery.event_id}`),
      200,
    ).data
    expect(envelope).toEqual({
      id: event.id,
      type: 'user.created',
      timestamp: new Date(event.created_at).toISOString(),
      data: event,
    })
    expect([headers['content-type'], headers['user-agent']]).toEqual(['application/json', 'Gatehouse-Webhooks/1'])
    expect(headers['authorization']).toBeUndefined()
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers['x-webhook-signature']!) ?? []
    expect(Math.abs(Number(t) - Date.now() / 1000)).toBeLessThan(60)
    const key = Buffer.from(secret.slice(6), 'base64')
    expect(v1).toBe(createHmac('sha256', key).update(`${t}.${body}`).digest('hex'))
    expect([headers['webhook-id'], headers['webhook-timestamp']]).toEqual([event.id, t])
    expect(new StandardWebhook(secret).verify(body, headers)).toEqual(envelope)
    expect(() => new StandardWebhook(secret).verify(body.replace('user', 'User'), headers)).toThrow()
    expect(delivery).toMatchObject({
      status: 'delivered',
      attempt_count: 1,
      last_response_status: 204,
      next_attempt_at: null,
    })
    expect((await fixture.getWebhook(webhook)).stats).toEqual({
      success_rate: 1,
      last_delivery_at: delivery.last_attempt_at,
    })
  })

  test.each(['none', 'bearer', 'bearer+signature'])('auth %s: exactly its headers', async (auth) => {
    const webhook = await fixture.createWebhook({ auth })
    await fixture.triggerEvents()
    await fixture.sendDueDeliveries()
    const { headers } = fixture.receiver.requests[0]!
    expect(headers['authorization']).toBe(auth === 'none' ? undefined : `Bearer ${webhook.bearer_token_plain}`)
    const signed = ['x-webhook-signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature']
    expect(signed.map((name) => name in headers)).toEqual(signed.map(() => auth === 'bearer+signature'))
  })

  test('during a rotation both keys sign, after 24 hours only the new one', async () => {
    const before = await fixture.createWebhook()
    const after = await fixture.updateWebhook(before, { auth: 'bearer+signature' })
    const verified = async () => {
      fixture.receiver.requests.length = 0
      await fixture.triggerEvents()
      await fixture.sendDueDeliveries()
      const { body, headers } = fixture.receiver.requests[0]!
      const at = { ...headers, 'webhook-timestamp': headers['webhook-timestamp']! }
      const own = [...headers['x-webhook-signature']!.matchAll(/v1=([0-9a-f]+)/g)].map(([, value]) => value)
      return [before, after].map(({ signature_secret_plain: secret }) => {
        const key = Buffer.from(secret.slice(6), 'base64')
        const t = at['webhook-timestamp']
        const standard = createHmac('sha256', key).update(`${headers['webhook-id']}.${t}.${body}`).digest('base64')
        return [
          own.includes(createHmac('sha256', key).update(`${t}.${body}`).digest('hex')),
          headers['webhook-signature']!.split(' ').includes(`v1,${standard}`),
        ]
      })
    }
    expect(await verified()).toEqual([
      [true, true],
      [true, true],
    ])
    fixture.app.clock.advance(24 * HOUR)
    expect(await verified()).toEqual([
      [false, false],
      [true, true],
    ])
  })

  test('a body over 20 KB omits the fields of variable length', async () => {
    const webhook = await fixture.createWebhook({ event_types: ['account.updated'] })
    const description = 'x'.repeat(9000)
    expectStatus(
      await fixture.tenant.owner.patch(fixture.tenant.A, { description: `${description}1`, logo_url: null }),
      200,
    )
    expectStatus(await fixture.tenant.owner.patch(fixture.tenant.A, { description: 'é'.repeat(9000) }), 200)
    await fixture.sendDueDeliveries()
    expect((await fixture.listDeliveries(webhook)).map(({ status }) => status)).toEqual(['delivered', 'delivered'])
    const sizes = fixture.receiver.requests.map(({ body, event: { data } }) => [
      Buffer.byteLength(body) <= 20 * 1024,
      data.truncated ?? false,
    ])
    expect(sizes.sort()).toEqual([
      [true, false],
      [true, true],
    ])
  })
})

describe('failed attempts', () => {
  test.each<[string, () => void, number | null, RegExp]>([
    ['500', () => fixture.respondWith(500), 500, /^The receiver responded with status 500\.$/],
    ['404', () => fixture.respondWith(404), 404, /404/],
    [
      'a redirect, which is not followed',
      () => fixture.respondWith(302, { location: `${fixture.receiver.url}/other` }),
      302,
      /302/,
    ],
    ['a 304', () => fixture.respondWith(304), 304, /304/],
    [
      'a cut connection',
      () => (fixture.receiver.respond = (res) => void res.destroy()),
      null,
      /^The server could not be reached/,
    ],
    [
      'garbage',
      () => (fixture.receiver.respond = (res) => void res.socket?.end('garbage\r\n\r\n')),
      null,
      /^The server could not be reached/,
    ],
  ])('%s', async (_, prepare, status, error) => {
    prepare()
    const webhook = await fixture.createWebhook()
    await fixture.triggerEvents()
    await fixture.sendDueDeliveries()
    const [delivery] = await fixture.listDeliveries(webhook)
    expect(delivery).toMatchObject({
      status: 'failing',
      attempt_count: 1,
      last_response_status: status,
      last_error: expect.stringMatching(error),
    })
    const wait = delivery.next_attempt_at - delivery.last_attempt_at
    expect([wait >= 900, wait < 3000]).toEqual([true, true])
    expect(fixture.receiver.requestsTo('/other')).toEqual([])
    expect((await fixture.getWebhook(webhook)).stats).toEqual({ success_rate: 0, last_delivery_at: null })
    fixture.receiver.respond = (res) => void res.writeHead(299).end('thanks')
    fixture.app.clock.advance(3 * SECOND)
    await fixture.sendDueDeliveries()
    const [after] = await fixture.listDeliveries(webhook)
    expect(after).toMatchObject({ status: 'delivered', attempt_count: 2, last_response_status: 299, last_error: null })
    expect((await fixture.getWebhook(webhook)).stats.success_rate).toBe(0.5)
    if (status !== null) expect(new Set(fixture.receivedEventIds()).size).toBe(1)
    if (status !== null) expect(new Set(fixture.receiver.requests.map(({ body }) => body)).size).toBe(1)
  })

  test('Retry-After is respected up to an hour', async () => {
    fixture.respondWith(503, { 'retry-after': '600' })
    const webhook = await fixture.createWebhook()
    await fixture.triggerEvents()
    await fixture.sendDueDeliveries()
    const [delivery] = await fixture.listDeliveries(webhook)
    expect(delivery.next_attempt_at - delivery.last_attempt_at).toBeGreaterThanOrEqual(600 * SECOND)
    expect(delivery.next_attempt_at - delivery.last_attempt_at).toBeLessThan(610 * SECOND)
  })

  test('a host that resolves to a private address is refused on connect, even if it was public before', async () => {
    const webhook = await fixture.createWebhook({ url: 'https://rebinds.example.com/in' })
    await fixture.triggerEvents()
    const strict = openOutbound({
      allowPrivate: false,
      lookup: (_, options, callback) =>
        options.all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4),
    })
    await fixture.sendDueDeliveries({ ...fixture.app.gatehouse, outbound: strict })
    await strict.close()
    expect(await fixture.listDeliveries(webhook)).toMatchObject([
      { status: 'failing', last_error: 'The address is not public.' },
    ])
  })
})

describe('the circuit breaker', () => {
  /** Sends the due deliveries once, and returns the number of received requests. */
  const round = async () => {
    const before = fixture.receiver.requests.length
    await fixture.sendDueDeliveries()
    return fixture.receiver.requests.length - before
  }
  const deliveryQueueOf = (webhook: AnyJson) =>
    fixture.app.gatehouse.database.prisma.webhookDeliveryQueue.findUniqueOrThrow({ where: { webhookId: webhook.id } })

  test('opens after 5 failed attempts for 60 s, doubling to 15 min; half-open allows one attempt; deliveries stay pending meanwhile', async () => {
    fixture.respondWith(500)
    const webhook = await fixture.createWebhook()
    await fixture.triggerEvents()
    for (let n = 0; n < 5; n++) {
      expect(await round()).toBe(1)
      fixture.app.clock.advance(20 * SECOND)
    }
    await fixture.triggerEvents(3)
    expect(await round()).toBe(0)
    expect((await fixture.listDeliveries(webhook)).filter(({ status }) => status === 'pending')).toHaveLength(3)
    fixture.app.clock.advance(40 * SECOND)
    for (const minutes of [2, 4, 8, 15, 15]) {
      expect([minutes, await round()]).toEqual([minutes, 1])
      expect(Number((await deliveryQueueOf(webhook)).breakerOpenMs)).toBe(minutes * MINUTE)
      fixture.app.clock.advance(minutes * MINUTE - 5 * SECOND)
      expect(await round()).toBe(0)
      fixture.app.clock.advance(10 * SECOND)
    }
    fixture.respondWith(200)
    expect(await round()).toBeGreaterThanOrEqual(3)
    fixture.app.clock.advance(HOUR)
    await fixture.sendDueDeliveries()
    expect((await fixture.listDeliveries(webhook)).map(({ status }) => status)).toEqual(Array(4).fill('delivered'))
    expect(await deliveryQueueOf(webhook)).toMatchObject({
      consecutiveFailures: 0,
      breakerOpenMs: 0n,
      breakerOpenUntil: 0n,
      leaseOwner: null,
    })
  })

  test('failing after 20 consecutive failed attempts, with its event; any 2xx makes it active', async () => {
    fixture.respondWith(500)
    const webhook = await fixture.createWebhook()
    const events = await eventsRecordedFromNow(fixture.app, fixture.tenant.accountId)
    await fixture.triggerEvents(2)
    let rounds = 0
    for (; (await fixture.getWebhook(webhook)).status === 'active' && rounds < 40; rounds++) {
      await fixture.sendDueDeliveries()
      fixture.app.clock.advance(20 * MINUTE)
    }
    expect((await deliveryQueueOf(webhook)).consecutiveFailures).toBe(20)
    expect(await events('webhook.')).toMatchObject([
      {
        type: 'webhook.failing',
        target: { id: webhook.id },
        data: { consecutive_failures: 20, last_error: 'The receiver responded with status 500.' },
      },
    ])
    expect((await fixture.getWebhook(webhook)).status).toBe('failing')
    expect(
      expectStatus(await fixture.tenant.owner.get(`${fixture.tenant.A}/webhooks?status=active`), 200).data,
    ).toHaveLength(1)
    // Events still create deliveries for a failing webhook.
    fixture.respondWith(200)
    fixture.app.clock.advance(2 * HOUR)
    await fixture.triggerEvents()
    await fixture.sendDueDeliveries()
    expect((await fixture.getWebhook(webhook)).status).toBe('active')
    expect((await events('webhook.')).at(-1)).toMatchObject({
      type: 'webhook.updated',
      changes: { status: { old: 'failing', new: 'active' } },
    })
    expect((await fixture.listDeliveries(webhook)).map(({ status }) => status)).toEqual(Array(3).fill('delivered'))
  })

  test('40 attempts, then failed; a permanently failed delivery makes the webhook failing', async () => {
    fixture.respondWith(500)
    const webhook = await fixture.createWebhook()
    await fixture.triggerEvents()
    await fixture.app.gatehouse.database.query(
      'late',
      'UPDATE webhook_deliveries SET attempt_count = 38, status = $1',
      ['failing'],
    )
    await fixture.sendDueDeliveries()
    expect((await fixture.listDeliveries(webhook))[0]).toMatchObject({ status: 'failing', attempt_count: 39 })
    fixture.app.clock.advance(2 * HOUR)
    await fixture.sendDueDeliveries()
    expect((await fixture.listDeliveries(webhook))[0]).toMatchObject({
      status: 'failed',
      attempt_count: 40,
      next_attempt_at: null,
    })
    fixture.app.clock.advance(2 * HOUR)
    expect(await round()).toBe(0)
    expect((await fixture.getWebhook(webhook)).status).toBe('failing')
  })

  test('PATCH to status active closes the circuit breaker', async () => {
    fixture.respondWith(500)
    const webhook = await fixture.createWebhook()
    await fixture.triggerEvents(8)
    await fixture.sendDueDeliveries()
    expect(await round()).toBe(0)
    fixture.respondWith(200)
    await fixture.updateWebhook(webhook, { status: 'active' })
    fixture.app.clock.advance(5 * SECOND)
    expect(await round()).toBe(8)
  })
})

test('while a webhook is disabled nothing is sent; pending deliveries are sent when it is active again', async () => {
  const webhook = await fixture.createWebhook()
  await fixture.triggerEvents()
  await fixture.updateWebhook(webhook, { status: 'disabled' })
  await fixture.triggerEvents()
  await fixture.sendDueDeliveries()
  expect(fixture.receiver.requests).toEqual([])
  await fixture.updateWebhook(webhook, { status: 'active' })
  await fixture.sendDueDeliveries()
  expect(fixture.receiver.requests).toHaveLength(1)
})

describe('redelivery', () => {
  const run = async (text: string, variables: object): Promise<AnyJson> =>
    (await fixture.tenant.owner.graphql(text, { a: fixture.tenant.accountId, ...variables })).body
  const one =
    'mutation ($a: ID!, $w: ID!, $d: ID!) { redeliverWebhookDelivery(accountId: $a, webhookId: $w, deliveryId: $d) { id eventId status attemptCount } }'
  const span =
    'mutation ($a: ID!, $w: ID!, $i: RedeliverInput!) { redeliverWebhookDeliveries(accountId: $a, webhookId: $w, input: $i) { count } }'
  const trial = 'mutation ($a: ID!, $w: ID!) { testWebhook(accountId: $a, webhookId: $w) { id eventType } }'

  test('of one delivery: a new record, the same event with the same id; a pending delivery is attempted immediately', async () => {
    const webhook = await fixture.createWebhook()
    await fixture.triggerEvents()
    await fixture.sendDueDeliveries()
    const [first] = await fixture.listDeliveries(webhook)
    const again = (await run(one, { w: webhook.id, d: first.id })).data.redeliverWebhookDelivery
    expect(again).toEqual({
      id: expect.not.stringMatching(first.id),
      eventId: first.event_id,
      status: 'pending',
      attemptCount: 0,
    })
    await fixture.sendDueDeliveries()
    expect(fixture.receivedEventIds()).toEqual([first.event_id, first.event_id])
    expect(fixture.receiver.requests[1]!.body).toBe(fixture.receiver.requests[0]!.body)

    fixture.respondWith(503, { 'retry-after': '3600' })
    await fixture.triggerEvents()
    await fixture.sendDueDeliveries()
    const [waits] = await fixture.listDeliveries(webhook)
    fixture.respondWith(204)
    expect((await run(one, { w: webhook.id, d: waits.id })).data.redeliverWebhookDelivery.id).toBe(waits.id)
    await fixture.sendDueDeliveries()
    expect((await fixture.listDeliveries(webhook))[0]).toMatchObject({
      id: waits.id,
      status: 'delivered',
      attempt_count: 2,
    })
  })

  test('of a time range: failed or delivered events, each event once', async () => {
    const webhook = await fixture.createWebhook()
    const began = fixture.app.clock.now()
    await fixture.triggerEvents(4)
    await fixture.sendDueDeliveries()
    const rows = await fixture.listDeliveries(webhook)
    await fixture.app.gatehouse.database.query(
      'fail',
      `UPDATE webhook_deliveries SET status = 'failed' WHERE id = ANY ($1)`,
      [rows.slice(0, 2).map(({ id }) => id)],
    )
    fixture.receiver.requests.length = 0
    const count = async (i: object) => (await run(span, { w: webhook.id, i })).data.redeliverWebhookDeliveries.count
    fixture.app.clock.advance(1)
    expect(await count({ after: began })).toBe(2)
    await fixture.sendDueDeliveries()
    expect(fixture.receivedEventIds().sort()).toEqual(
      rows
        .slice(0, 2)
        .map((row) => row.event_id)
        .sort(),
    )
    expect(await count({ after: began, before: rows[1].created_at, status: 'success' })).toBe(2)
    expect(await count({ after: fixture.app.clock.now() + 1 })).toBe(0)
    expect((await run(span, { w: webhook.id, i: { after: -1 } })).errors[0].extensions.status).toBe(400)
  })

  test('of a time range: pending deliveries are not duplicated, also by parallel requests', async () => {
    const webhook = await fixture.createWebhook()
    const began = fixture.app.clock.now()
    await fixture.triggerEvents(3)
    await fixture.app.gatehouse.database.query(
      'fail-all',
      `UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL`,
      [],
    )
    fixture.app.clock.advance(1)
    const count = async () =>
      (await run(span, { w: webhook.id, i: { after: began } })).data.redeliverWebhookDeliveries.count
    const counts = await Promise.all([count(), count(), count()])
    expect(counts.sort()).toEqual([0, 0, 3])
    expect(await count()).toBe(0)
    await fixture.sendDueDeliveries()
    expect(fixture.receivedEventIds()).toHaveLength(3)
  })

  test('a test event goes only to its webhook, regardless of its event types, and is not in the audit log', async () => {
    const webhook = await fixture.createWebhook({ event_types: ['note.created'] })
    await fixture.createWebhook({ event_types: null, url: `${fixture.receiver.url}/all` })
    const created = (await run(trial, { w: webhook.id })).data.testWebhook
    expect(created.eventType).toBe('webhook.test')
    await fixture.sendDueDeliveries()
    const [notice] = fixture.receiver.requestsTo('/in')
    expect(notice!.event).toMatchObject({ type: 'webhook.test', data: { target: { type: 'webhook', id: webhook.id } } })
    expect(notice!.headers['webhook-id']).toBe(notice!.event.id)
    expect(fixture.receiver.requestsTo('/all').filter(({ event: { type } }) => type === 'webhook.test')).toEqual([])
    expect((await fixture.tenant.owner.get(`${fixture.tenant.A}/events/${notice!.event.id}`)).status).toBe(404)
    expect(await fixture.listDeliveries(webhook, '&event_type=webhook.test')).toHaveLength(1)
    await fixture.updateWebhook(webhook, { status: 'disabled' })
    expect((await run(trial, { w: webhook.id })).errors[0].extensions.status).toBe(409)
  })
})
