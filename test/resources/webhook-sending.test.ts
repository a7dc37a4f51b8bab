/** What webhooks send, and what becomes of it (spec 6.2, section 8, decisions D4), to a receiver that fails in every way. */
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { openOutbound } from '../../src/platform/outbound.js'
import { packageRoot } from '../../src/platform/package-root.js'
import { must } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { listenTo } from '../setup/events.js'
import { freePorts } from '../setup/start-app.js'
import { Hooks, until } from './hooks.js'

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]

let hooks: Hooks
beforeAll(async () => {
  hooks = await Hooks.make()
})
afterEach(() => hooks.clear())
afterAll(() => hooks.close())

// Receivers look at their own clock: before these tests move ours.
test('examples/webhooks/node.mjs believes what is signed, once, and nothing else', async () => {
  const [port] = await freePorts(1)
  const made = await hooks.hook({ url: `http://127.0.0.1:${port}/` })
  const child = spawn(process.execPath, [join(packageRoot, 'examples/webhooks/node.mjs')], {
    env: { PORT: String(port), SIGNATURE_SECRET: made.signature_secret_plain },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    await until(() => output.includes('listening'))
    await hooks.happen()
    await hooks.send()
    const [delivery] = await hooks.deliveries(made)
    expect(delivery).toMatchObject({ status: 'delivered', last_response_status: 204 })
    await until(() => output.includes(`user.created ${delivery.event_id}`))
    const forged = {
      method: 'POST',
      headers: { 'x-webhook-signature': `t=${Math.floor(Date.now() / 1000)},v1=00` },
      body: '{}',
    }
    expect((await fetch(`http://127.0.0.1:${port}/`, forged)).status).toBe(401)
    expect((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })).status).toBe(401)
    await hooks.patch(made, { auth: 'bearer+signature' })
    await hooks.happen()
    await hooks.send()
    expect((await hooks.deliveries(made))[0]).toMatchObject({ status: 'delivered' })
  } finally {
    child.kill()
    await once(child, 'exit')
  }
})

describe('D4', () => {
  test('the body is the event record in an envelope; the signed bytes are the sent bytes, for both headers', async () => {
    const { signature_secret_plain: secret, ...webhook } = await hooks.hook()
    await hooks.happen()
    await hooks.send()
    const [{ body, headers, told: envelope }] = hooks.receiver.notices as [(typeof hooks.receiver.notices)[number]]
    const [delivery] = await hooks.deliveries(webhook)
    const event = must(await hooks.tenant.owner.get(`${hooks.tenant.A}/events/${delivery.event_id}`), 200).data
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
    expect((await hooks.read(webhook)).stats).toEqual({ success_rate: 1, last_delivery_at: delivery.last_attempt_at })
  })

  test.each(['none', 'bearer', 'bearer+signature'])('auth %s: exactly its headers', async (auth) => {
    const made = await hooks.hook({ auth })
    await hooks.happen()
    await hooks.send()
    const { headers } = hooks.receiver.notices[0]!
    expect(headers['authorization']).toBe(auth === 'none' ? undefined : `Bearer ${made.bearer_token_plain}`)
    const signed = ['x-webhook-signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature']
    expect(signed.map((name) => name in headers)).toEqual(signed.map(() => auth === 'bearer+signature'))
  })

  test('during a rotation both keys sign, after 24 hours the new one alone', async () => {
    const before = await hooks.hook()
    const after = await hooks.patch(before, { auth: 'bearer+signature' })
    const verified = async () => {
      hooks.receiver.notices.length = 0
      await hooks.happen()
      await hooks.send()
      const { body, headers } = hooks.receiver.notices[0]!
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
    hooks.app.clock.advance(24 * HOUR)
    expect(await verified()).toEqual([
      [false, false],
      [true, true],
    ])
  })

  test('a body beyond 20 KB leaves out what may be long', async () => {
    const webhook = await hooks.hook({ event_types: ['account.updated'] })
    const description = 'x'.repeat(9000)
    must(await hooks.tenant.owner.patch(hooks.tenant.A, { description: `${description}1`, logo_url: null }), 200)
    must(await hooks.tenant.owner.patch(hooks.tenant.A, { description: 'é'.repeat(9000) }), 200)
    await hooks.send()
    expect((await hooks.deliveries(webhook)).map(({ status }) => status)).toEqual(['delivered', 'delivered'])
    const sizes = hooks.receiver.notices.map(({ body, told: { data } }) => [
      Buffer.byteLength(body) <= 20 * 1024,
      data.truncated ?? false,
    ])
    expect(sizes.sort()).toEqual([
      [true, false],
      [true, true],
    ])
  })
})

describe('what is no success', () => {
  test.each<[string, () => void, number | null, RegExp]>([
    ['500', () => hooks.answering(500), 500, /^The answer was 500\.$/],
    ['404', () => hooks.answering(404), 404, /404/],
    [
      'a redirect, which is not followed',
      () => hooks.answering(302, { location: `${hooks.receiver.url}/other` }),
      302,
      /302/,
    ],
    ['a 304', () => hooks.answering(304), 304, /304/],
    ['a cut connection', () => (hooks.receiver.answer = (res) => void res.destroy()), null, /^There was no answer/],
    [
      'garbage',
      () => (hooks.receiver.answer = (res) => void res.socket?.end('garbage\r\n\r\n')),
      null,
      /^There was no answer/,
    ],
  ])('%s', async (_, prepare, status, error) => {
    prepare()
    const webhook = await hooks.hook()
    await hooks.happen()
    await hooks.send()
    const [delivery] = await hooks.deliveries(webhook)
    expect(delivery).toMatchObject({
      status: 'failing',
      attempt_count: 1,
      last_response_status: status,
      last_error: expect.stringMatching(error),
    })
    const wait = delivery.next_attempt_at - delivery.last_attempt_at
    expect([wait >= 900, wait < 3000]).toEqual([true, true])
    expect(hooks.receiver.at('/other')).toEqual([])
    expect((await hooks.read(webhook)).stats).toEqual({ success_rate: 0, last_delivery_at: null })
    hooks.receiver.answer = (res) => void res.writeHead(299).end('thanks')
    hooks.app.clock.advance(3 * SECOND)
    await hooks.send()
    const [after] = await hooks.deliveries(webhook)
    expect(after).toMatchObject({ status: 'delivered', attempt_count: 2, last_response_status: 299, last_error: null })
    expect((await hooks.read(webhook)).stats.success_rate).toBe(0.5)
    if (status !== null) expect(new Set(hooks.came()).size).toBe(1)
    if (status !== null) expect(new Set(hooks.receiver.notices.map(({ body }) => body)).size).toBe(1)
  })

  test('Retry-After is honoured up to an hour', async () => {
    hooks.answering(503, { 'retry-after': '600' })
    const webhook = await hooks.hook()
    await hooks.happen()
    await hooks.send()
    const [delivery] = await hooks.deliveries(webhook)
    expect(delivery.next_attempt_at - delivery.last_attempt_at).toBeGreaterThanOrEqual(600 * SECOND)
    expect(delivery.next_attempt_at - delivery.last_attempt_at).toBeLessThan(610 * SECOND)
  })

  test('rule 17: a name that leads to a private address is refused when connecting, though it looked public before', async () => {
    const webhook = await hooks.hook({ url: 'https://rebinds.example.com/in' })
    await hooks.happen()
    const strict = openOutbound({
      allowPrivate: false,
      lookup: (_, options, callback) =>
        options.all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4),
    })
    await hooks.send({ ...hooks.app.gatehouse, outbound: strict })
    await strict.close()
    expect(await hooks.deliveries(webhook)).toMatchObject([
      { status: 'failing', last_error: 'The address is not a public one.' },
    ])
  })
})

describe('the circuit breaker', () => {
  /** Attempts that came in one round of sending. */
  const round = async () => {
    const before = hooks.receiver.notices.length
    await hooks.send()
    return hooks.receiver.notices.length - before
  }
  const lane = (webhook: Loose) =>
    hooks.app.gatehouse.tools.prisma.webhookLane.findUniqueOrThrow({ where: { webhookId: webhook.id } })

  test('opens after 5 failed attempts for 60 s, doubling to 15 min; half-open lets one through; events are pending meanwhile, not dropped', async () => {
    hooks.answering(500)
    const webhook = await hooks.hook()
    await hooks.happen()
    for (let n = 0; n < 5; n++) {
      expect(await round()).toBe(1)
      hooks.app.clock.advance(20 * SECOND)
    }
    await hooks.happen(3)
    expect(await round()).toBe(0)
    expect((await hooks.deliveries(webhook)).filter(({ status }) => status === 'pending')).toHaveLength(3)
    hooks.app.clock.advance(40 * SECOND)
    for (const minutes of [2, 4, 8, 15, 15]) {
      expect([minutes, await round()]).toEqual([minutes, 1])
      expect(Number((await lane(webhook)).openFor)).toBe(minutes * MINUTE)
      hooks.app.clock.advance(minutes * MINUTE - 5 * SECOND)
      expect(await round()).toBe(0)
      hooks.app.clock.advance(10 * SECOND)
    }
    hooks.answering(200)
    expect(await round()).toBeGreaterThanOrEqual(3)
    hooks.app.clock.advance(HOUR)
    await hooks.send()
    expect((await hooks.deliveries(webhook)).map(({ status }) => status)).toEqual(Array(4).fill('delivered'))
    expect(await lane(webhook)).toMatchObject({ failures: 0, openFor: 0n, openUntil: 0n, holder: null })
  })

  test('failing after 20 failed attempts in a row, with its event; any 2xx makes it active', async () => {
    hooks.answering(500)
    const webhook = await hooks.hook()
    const events = await listenTo(hooks.app, hooks.tenant.accountId)
    await hooks.happen(2)
    let rounds = 0
    for (; (await hooks.read(webhook)).status === 'active' && rounds < 40; rounds++) {
      await hooks.send()
      hooks.app.clock.advance(20 * MINUTE)
    }
    expect((await lane(webhook)).failures).toBe(20)
    expect(await events('webhook.')).toMatchObject([
      {
        type: 'webhook.failing',
        target: { id: webhook.id },
        data: { consecutive_failures: 20, last_error: 'The answer was 500.' },
      },
    ])
    expect((await hooks.read(webhook)).status).toBe('failing')
    expect(must(await hooks.tenant.owner.get(`${hooks.tenant.A}/webhooks?status=active`), 200).data).toHaveLength(1)
    // A failing webhook is told of what happens, all the same.
    hooks.answering(200)
    hooks.app.clock.advance(2 * HOUR)
    await hooks.happen()
    await hooks.send()
    expect((await hooks.read(webhook)).status).toBe('active')
    expect((await events('webhook.')).at(-1)).toMatchObject({
      type: 'webhook.updated',
      changes: { status: { old: 'failing', new: 'active' } },
    })
    expect((await hooks.deliveries(webhook)).map(({ status }) => status)).toEqual(Array(3).fill('delivered'))
  })

  test('section 8: 40 attempts, then failed; a delivery that failed for good makes the webhook failing', async () => {
    hooks.answering(500)
    const webhook = await hooks.hook()
    await hooks.happen()
    await hooks.app.gatehouse.tools.query('late', 'UPDATE webhook_deliveries SET attempt_count = 38, status = $1', [
      'failing',
    ])
    await hooks.send()
    expect((await hooks.deliveries(webhook))[0]).toMatchObject({ status: 'failing', attempt_count: 39 })
    hooks.app.clock.advance(2 * HOUR)
    await hooks.send()
    expect((await hooks.deliveries(webhook))[0]).toMatchObject({
      status: 'failed',
      attempt_count: 40,
      next_attempt_at: null,
    })
    hooks.app.clock.advance(2 * HOUR)
    expect(await round()).toBe(0)
    expect((await hooks.read(webhook)).status).toBe('failing')
  })

  test('PATCH status active closes it', async () => {
    hooks.answering(500)
    const webhook = await hooks.hook()
    await hooks.happen(8)
    await hooks.send()
    expect(await round()).toBe(0)
    hooks.answering(200)
    await hooks.patch(webhook, { status: 'active' })
    hooks.app.clock.advance(5 * SECOND)
    expect(await round()).toBe(8)
  })
})

test('while a webhook is disabled nothing is sent; what waited goes out when it is active again', async () => {
  const webhook = await hooks.hook()
  await hooks.happen()
  await hooks.patch(webhook, { status: 'disabled' })
  await hooks.happen()
  await hooks.send()
  expect(hooks.receiver.notices).toEqual([])
  await hooks.patch(webhook, { status: 'active' })
  await hooks.send()
  expect(hooks.receiver.notices).toHaveLength(1)
})

describe('redelivery', () => {
  const run = async (text: string, variables: object): Promise<Loose> =>
    (await hooks.tenant.owner.graphql(text, { a: hooks.tenant.accountId, ...variables })).body
  const one =
    'mutation ($a: ID!, $w: ID!, $d: ID!) { redeliverWebhookDelivery(accountId: $a, webhookId: $w, deliveryId: $d) { id eventId status attemptCount } }'
  const span =
    'mutation ($a: ID!, $w: ID!, $i: RedeliverInput!) { redeliverWebhookDeliveries(accountId: $a, webhookId: $w, input: $i) { count } }'
  const trial = 'mutation ($a: ID!, $w: ID!) { testWebhook(accountId: $a, webhookId: $w) { id eventType } }'

  test('of one delivery: a new record, the same event with the same id; what still waits is tried at once', async () => {
    const webhook = await hooks.hook()
    await hooks.happen()
    await hooks.send()
    const [first] = await hooks.deliveries(webhook)
    const again = (await run(one, { w: webhook.id, d: first.id })).data.redeliverWebhookDelivery
    expect(again).toEqual({
      id: expect.not.stringMatching(first.id),
      eventId: first.event_id,
      status: 'pending',
      attemptCount: 0,
    })
    await hooks.send()
    expect(hooks.came()).toEqual([first.event_id, first.event_id])
    expect(hooks.receiver.notices[1]!.body).toBe(hooks.receiver.notices[0]!.body)

    hooks.answering(503, { 'retry-after': '3600' })
    await hooks.happen()
    await hooks.send()
    const [waits] = await hooks.deliveries(webhook)
    hooks.answering(204)
    expect((await run(one, { w: webhook.id, d: waits.id })).data.redeliverWebhookDelivery.id).toBe(waits.id)
    await hooks.send()
    expect((await hooks.deliveries(webhook))[0]).toMatchObject({ id: waits.id, status: 'delivered', attempt_count: 2 })
  })

  test('of a span of time: what failed for good, or what was delivered, each event once', async () => {
    const webhook = await hooks.hook()
    const began = hooks.app.clock.now()
    await hooks.happen(4)
    await hooks.send()
    const rows = await hooks.deliveries(webhook)
    await hooks.app.gatehouse.tools.query(
      'fail',
      `UPDATE webhook_deliveries SET status = 'failed' WHERE id = ANY ($1)`,
      [rows.slice(0, 2).map(({ id }) => id)],
    )
    hooks.receiver.notices.length = 0
    const count = async (i: object) => (await run(span, { w: webhook.id, i })).data.redeliverWebhookDeliveries.count
    hooks.app.clock.advance(1)
    expect(await count({ after: began })).toBe(2)
    await hooks.send()
    expect(hooks.came().sort()).toEqual(
      rows
        .slice(0, 2)
        .map((row) => row.event_id)
        .sort(),
    )
    expect(await count({ after: began, before: rows[1].created_at, status: 'success' })).toBe(2)
    expect(await count({ after: hooks.app.clock.now() + 1 })).toBe(0)
    expect((await run(span, { w: webhook.id, i: { after: -1 } })).errors[0].extensions.status).toBe(400)
  })

  test('a test event goes to its webhook alone, whatever that listens to, and is not in the trail', async () => {
    const webhook = await hooks.hook({ event_types: ['note.created'] })
    await hooks.hook({ event_types: null, url: `${hooks.receiver.url}/all` })
    const made = (await run(trial, { w: webhook.id })).data.testWebhook
    expect(made.eventType).toBe('webhook.test')
    await hooks.send()
    const [notice] = hooks.receiver.at('/in')
    expect(notice!.told).toMatchObject({ type: 'webhook.test', data: { target: { type: 'webhook', id: webhook.id } } })
    expect(notice!.headers['webhook-id']).toBe(notice!.told.id)
    expect(hooks.receiver.at('/all').filter(({ told: { type } }) => type === 'webhook.test')).toEqual([])
    expect((await hooks.tenant.owner.get(`${hooks.tenant.A}/events/${notice!.told.id}`)).status).toBe(404)
    expect(await hooks.deliveries(webhook, '&event_type=webhook.test')).toHaveLength(1)
    await hooks.patch(webhook, { status: 'disabled' })
    expect((await run(trial, { w: webhook.id })).errors[0].extensions.status).toBe(409)
  })
})
