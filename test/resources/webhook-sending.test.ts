/** What webhooks send, and when again (spec 6.2, section 8, decisions D4), against a receiver that fails in every way. */
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import type { Gatehouse } from '../../src/platform/context.js'
import type { Jobs } from '../../src/platform/jobs.js'
import { openOutbound } from '../../src/platform/outbound.js'
import { packageRoot } from '../../src/platform/package-root.js'
import { ATTEMPTS, delayAfter, retryAfter } from '../../src/resources/webhooks/attempt.js'
import { sendDue, startSending } from '../../src/resources/webhooks/sending.js'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { listenTo } from '../setup/events.js'
import { type Receiver, startReceiver } from '../setup/receiver.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]

let app: TestApp
let tenant: Tenant
let receiver: Receiver
const senders: Jobs[] = []

beforeAll(async () => {
  app = await startApp({ roles: ['core'], env: { ALLOW_PRIVATE_NETWORKS: 'true' } })
  receiver = await startReceiver()
})
beforeEach(async () => {
  tenant = await makeTenant(app)
})
afterEach(async () => {
  for (const sender of senders.splice(0)) await sender.stop()
  receiver.notices.length = 0
  receiver.answer = (res) => void res.writeHead(204).end()
  await app.gatehouse.tools.prisma.webhookDelivery.deleteMany()
})
afterAll(async () => {
  await app.close()
  await receiver.close()
})

let count = 0
const told = () => ({ username_type: 'unique', username: `u${++count}` })
/** Something happens: one event that the webhooks of these tests want. */
const happen = async (times = 1, { owner, I } = tenant) => {
  for (let n = 0; n < times; n++) must(await owner.post(`${I}/users`, told()), 201)
}
async function hook(body: object = {}, { owner, A } = tenant): Promise<Loose> {
  const url = `${receiver.url}/in`
  return must(await owner.post(`${A}/webhooks`, { url, event_types: ['user.created'], ...body }), 201).data
}
const path = (webhook: Loose) => `${tenant.A}/webhooks/${webhook.id}`
const read = async (webhook: Loose) => must(await tenant.owner.get(path(webhook)), 200).data
const deliveries = async (webhook: Loose, query = ''): Promise<Loose[]> =>
  must(await tenant.owner.get(`${path(webhook)}/deliveries?limit=100${query}`), 200).data
const send = (gatehouse: Gatehouse = app.gatehouse) => sendDue(gatehouse)
const answering = (status: number, headers: Record<string, string> = {}) => {
  receiver.answer = (res) => void res.writeHead(status, headers).end()
}
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 10_000; !(await isTrue()); await new Promise((go) => setTimeout(go, 10)))
    if (Date.now() > end) throw new Error('it did not come true in time')
}

describe('D4', () => {
  test('the body is the event record in an envelope; the signed bytes are the sent bytes, for both headers', async () => {
    const { signature_secret_plain: secret, ...webhook } = await hook()
    await happen()
    await send()
    const [{ body, headers, told: envelope }] = receiver.notices as [(typeof receiver.notices)[number]]
    const [delivery] = await deliveries(webhook)
    const event = must(await tenant.owner.get(`${tenant.A}/events/${delivery.event_id}`), 200).data
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
    expect((await read(webhook)).stats).toEqual({ success_rate: 1, last_delivery_at: delivery.last_attempt_at })
  })

  test.each(['none', 'bearer', 'bearer+signature'])('auth %s: exactly its headers', async (auth) => {
    const made = await hook({ auth })
    await happen()
    await send()
    const { headers } = receiver.notices[0]!
    expect(headers['authorization']).toBe(auth === 'none' ? undefined : `Bearer ${made.bearer_token_plain}`)
    const signed = ['x-webhook-signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature']
    expect(signed.map((name) => name in headers)).toEqual(signed.map(() => auth === 'bearer+signature'))
  })

  test('during a rotation both keys sign, after 24 hours the new one alone', async () => {
    const before = await hook()
    const after = must(await tenant.owner.patch(path(before), { auth: 'bearer+signature' }), 200).data
    const verified = async () => {
      receiver.notices.length = 0
      await happen()
      await send()
      const { body, headers } = receiver.notices[0]!
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
    app.clock.advance(24 * HOUR)
    expect(await verified()).toEqual([
      [false, false],
      [true, true],
    ])
  })

  test('a body beyond 20 KB leaves out what may be long', async () => {
    const webhook = await hook({ event_types: ['account.updated'] })
    const description = 'x'.repeat(9000)
    must(await tenant.owner.patch(tenant.A, { description: `${description}1`, logo_url: null }), 200)
    must(await tenant.owner.patch(tenant.A, { description: 'é'.repeat(9000) }), 200)
    await send()
    expect((await deliveries(webhook)).map(({ status }) => status)).toEqual(['delivered', 'delivered'])
    const sizes = receiver.notices.map(({ body, told: { data } }) => [
      Buffer.byteLength(body) <= 20 * 1024,
      data.truncated ?? false,
    ])
    expect(sizes.sort()).toEqual([
      [true, false],
      [true, true],
    ])
  })

  test('retry: min(3600, 2^(n-1)) seconds after attempt n, give or take a tenth: 40 attempts in 28.1 hours', () => {
    const middle = Array.from({ length: ATTEMPTS - 1 }, (_, n) => delayAfter(n + 1, 0.5))
    expect(middle.slice(0, 5)).toEqual([1000, 2000, 4000, 8000, 16_000])
    expect([middle[11], middle[12], middle[38]]).toEqual([2_048_000, HOUR, HOUR])
    expect(middle.reduce((sum, delay) => sum + delay)).toBe(101_295_000)
    expect([delayAfter(1, 0), delayAfter(1, 1), delayAfter(39, 0), delayAfter(39, 1)]).toEqual([
      900,
      1100,
      0.9 * HOUR,
      1.1 * HOUR,
    ])
  })

  test.each<[string | undefined, number]>([
    [undefined, 0],
    ['120', 120 * SECOND],
    ['86400', HOUR],
    ['-5', 0],
    ['soon', 0],
    ['Sat, 21 Nov 2026 00:00:30 GMT', 30 * SECOND],
    ['Fri, 20 Nov 2026 00:00:00 GMT', 0],
    ['9'.repeat(400), 0],
  ])('Retry-After: %s', (header, wait) => {
    expect(retryAfter(header, Date.UTC(2026, 10, 21))).toBe(wait)
  })
})

describe('what is no success', () => {
  test.each<[string, () => void, number | null, RegExp]>([
    ['500', () => answering(500), 500, /^The answer was 500\.$/],
    ['404', () => answering(404), 404, /404/],
    ['a redirect, which is not followed', () => answering(302, { location: `${receiver.url}/other` }), 302, /302/],
    ['a 304', () => answering(304), 304, /304/],
    ['a cut connection', () => (receiver.answer = (res) => void res.destroy()), null, /^There was no answer/],
    [
      'garbage',
      () => (receiver.answer = (res) => void res.socket?.end('garbage\r\n\r\n')),
      null,
      /^There was no answer/,
    ],
  ])('%s', async (_, prepare, status, error) => {
    prepare()
    const webhook = await hook()
    await happen()
    await send()
    const [delivery] = await deliveries(webhook)
    expect(delivery).toMatchObject({
      status: 'failing',
      attempt_count: 1,
      last_response_status: status,
      last_error: expect.stringMatching(error),
    })
    const wait = delivery.next_attempt_at - delivery.last_attempt_at
    expect([wait >= 900, wait < 3000]).toEqual([true, true])
    expect(receiver.at('/other')).toEqual([])
    expect((await read(webhook)).stats).toEqual({ success_rate: 0, last_delivery_at: null })
    receiver.answer = (res) => void res.writeHead(299).end('thanks')
    app.clock.advance(3 * SECOND)
    await send()
    const [after] = await deliveries(webhook)
    expect(after).toMatchObject({ status: 'delivered', attempt_count: 2, last_response_status: 299, last_error: null })
    expect((await read(webhook)).stats.success_rate).toBe(0.5)
    if (status !== null) expect(new Set(receiver.notices.map(({ told: { id } }) => id)).size).toBe(1)
    if (status !== null) expect(new Set(receiver.notices.map(({ body }) => body)).size).toBe(1)
  })

  test('Retry-After is honoured up to an hour', async () => {
    answering(503, { 'retry-after': '600' })
    const webhook = await hook()
    await happen()
    await send()
    const [delivery] = await deliveries(webhook)
    expect(delivery.next_attempt_at - delivery.last_attempt_at).toBeGreaterThanOrEqual(600 * SECOND)
    expect(delivery.next_attempt_at - delivery.last_attempt_at).toBeLessThan(610 * SECOND)
  })

  test('rule 17: a name that leads to a private address is refused when connecting, though it looked public before', async () => {
    const webhook = await hook({ url: 'https://rebinds.example.com/in' })
    await happen()
    const strict = openOutbound({
      allowPrivate: false,
      lookup: (_, options, callback) =>
        options.all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4),
    })
    await send({ ...app.gatehouse, outbound: strict })
    await strict.close()
    expect(await deliveries(webhook)).toMatchObject([
      { status: 'failing', last_error: 'The address is not a public one.' },
    ])
  })
})

describe('the circuit breaker', () => {
  /** Attempts that came in one round of sending. */
  const round = async () => {
    const before = receiver.notices.length
    await send()
    return receiver.notices.length - before
  }
  const lane = (webhook: Loose) =>
    app.gatehouse.tools.prisma.webhookLane.findUniqueOrThrow({ where: { webhookId: webhook.id } })

  test('opens after 5 failed attempts for 60 s, doubling to 15 min; half-open lets one through; events are pending meanwhile, not dropped', async () => {
    answering(500)
    const webhook = await hook()
    await happen()
    for (let n = 0; n < 5; n++) {
      expect(await round()).toBe(1)
      app.clock.advance(20 * SECOND)
    }
    await happen(3)
    expect(await round()).toBe(0)
    expect((await deliveries(webhook)).filter(({ status }) => status === 'pending')).toHaveLength(3)
    app.clock.advance(40 * SECOND)
    for (const minutes of [2, 4, 8, 15, 15]) {
      expect([minutes, await round()]).toEqual([minutes, 1])
      expect(Number((await lane(webhook)).openFor)).toBe(minutes * MINUTE)
      app.clock.advance(minutes * MINUTE - 5 * SECOND)
      expect(await round()).toBe(0)
      app.clock.advance(10 * SECOND)
    }
    answering(200)
    expect(await round()).toBeGreaterThanOrEqual(3)
    app.clock.advance(HOUR)
    await send()
    expect((await deliveries(webhook)).map(({ status }) => status)).toEqual(Array(4).fill('delivered'))
    expect(await lane(webhook)).toMatchObject({ failures: 0, openFor: 0n, openUntil: 0n, holder: null })
  })

  test('failing after 20 failed attempts in a row, with its event; any 2xx makes it active', async () => {
    answering(500)
    const webhook = await hook()
    const events = await listenTo(app, tenant.accountId)
    await happen(2)
    let rounds = 0
    for (; (await read(webhook)).status === 'active' && rounds < 40; rounds++) {
      await send()
      app.clock.advance(20 * MINUTE)
    }
    expect((await lane(webhook)).failures).toBe(20)
    expect(await events('webhook.')).toMatchObject([
      {
        type: 'webhook.failing',
        target: { id: webhook.id },
        data: { consecutive_failures: 20, last_error: 'The answer was 500.' },
      },
    ])
    expect((await read(webhook)).status).toBe('failing')
    expect(must(await tenant.owner.get(`${tenant.A}/webhooks?status=active`), 200).data).toHaveLength(1)
    // A failing webhook is told of what happens, all the same.
    answering(200)
    app.clock.advance(2 * HOUR)
    await happen()
    await send()
    expect((await read(webhook)).status).toBe('active')
    expect((await events('webhook.')).at(-1)).toMatchObject({
      type: 'webhook.updated',
      changes: { status: { old: 'failing', new: 'active' } },
    })
    expect((await deliveries(webhook)).map(({ status }) => status)).toEqual(Array(3).fill('delivered'))
  })

  test('section 8: 40 attempts, then failed; a delivery that failed for good makes the webhook failing', async () => {
    answering(500)
    const webhook = await hook()
    await happen()
    await app.gatehouse.tools.query('late', 'UPDATE webhook_deliveries SET attempt_count = 38, status = $1', [
      'failing',
    ])
    await send()
    expect((await deliveries(webhook))[0]).toMatchObject({ status: 'failing', attempt_count: 39 })
    app.clock.advance(2 * HOUR)
    await send()
    expect((await deliveries(webhook))[0]).toMatchObject({ status: 'failed', attempt_count: 40, next_attempt_at: null })
    app.clock.advance(2 * HOUR)
    expect(await round()).toBe(0)
    expect((await read(webhook)).status).toBe('failing')
  })

  test('PATCH status active closes it', async () => {
    answering(500)
    const webhook = await hook()
    await happen(8)
    await send()
    expect(await round()).toBe(0)
    answering(200)
    must(await tenant.owner.patch(path(webhook), { status: 'active' }), 200)
    app.clock.advance(5 * SECOND)
    expect(await round()).toBe(8)
  })
})

test('while a webhook is disabled nothing is sent; what waited goes out when it is active again', async () => {
  const webhook = await hook()
  await happen()
  must(await tenant.owner.patch(path(webhook), { status: 'disabled' }), 200)
  await happen()
  await send()
  expect(receiver.notices).toEqual([])
  must(await tenant.owner.patch(path(webhook), { status: 'active' }), 200)
  await send()
  expect(receiver.notices).toHaveLength(1)
})

describe('redelivery', () => {
  const run = async (text: string, variables: object): Promise<Loose> =>
    (await tenant.owner.graphql(text, { a: tenant.accountId, ...variables })).body
  const one =
    'mutation ($a: ID!, $w: ID!, $d: ID!) { redeliverWebhookDelivery(accountId: $a, webhookId: $w, deliveryId: $d) { id eventId status attemptCount } }'
  const span =
    'mutation ($a: ID!, $w: ID!, $i: RedeliverInput!) { redeliverWebhookDeliveries(accountId: $a, webhookId: $w, input: $i) { count } }'
  const trial = 'mutation ($a: ID!, $w: ID!) { testWebhook(accountId: $a, webhookId: $w) { id eventType } }'

  test('of one delivery: a new record, the same event with the same id; what still waits is tried at once', async () => {
    const webhook = await hook()
    await happen()
    await send()
    const [first] = await deliveries(webhook)
    const again = (await run(one, { w: webhook.id, d: first.id })).data.redeliverWebhookDelivery
    expect(again).toEqual({
      id: expect.not.stringMatching(first.id),
      eventId: first.event_id,
      status: 'pending',
      attemptCount: 0,
    })
    await send()
    expect(receiver.notices.map(({ told: { id } }) => id)).toEqual([first.event_id, first.event_id])
    expect(receiver.notices[1]!.body).toBe(receiver.notices[0]!.body)

    answering(503, { 'retry-after': '3600' })
    await happen()
    await send()
    const [waits] = await deliveries(webhook)
    answering(204)
    expect((await run(one, { w: webhook.id, d: waits.id })).data.redeliverWebhookDelivery.id).toBe(waits.id)
    await send()
    expect((await deliveries(webhook))[0]).toMatchObject({ id: waits.id, status: 'delivered', attempt_count: 2 })
  })

  test('of a span of time: what failed for good, or what was delivered, each event once', async () => {
    const webhook = await hook()
    const began = app.clock.now()
    await happen(4)
    await send()
    const rows = await deliveries(webhook)
    await app.gatehouse.tools.query('fail', `UPDATE webhook_deliveries SET status = 'failed' WHERE id = ANY ($1)`, [
      rows.slice(0, 2).map(({ id }) => id),
    ])
    receiver.notices.length = 0
    const count = async (i: object) => (await run(span, { w: webhook.id, i })).data.redeliverWebhookDeliveries.count
    app.clock.advance(1)
    expect(await count({ after: began })).toBe(2)
    await send()
    expect(receiver.notices.map(({ told: { id } }) => id).sort()).toEqual(
      rows
        .slice(0, 2)
        .map((row) => row.event_id)
        .sort(),
    )
    expect(await count({ after: began, before: rows[1].created_at, status: 'success' })).toBe(2)
    expect(await count({ after: app.clock.now() + 1 })).toBe(0)
    expect((await run(span, { w: webhook.id, i: { after: -1 } })).errors[0].extensions.status).toBe(400)
  })

  test('a test event goes to its webhook alone, whatever that listens to, and is not in the trail', async () => {
    const webhook = await hook({ event_types: ['note.created'] })
    await hook({ event_types: null, url: `${receiver.url}/all` })
    const made = (await run(trial, { w: webhook.id })).data.testWebhook
    expect(made.eventType).toBe('webhook.test')
    await send()
    const [notice] = receiver.at('/in')
    expect(notice!.told).toMatchObject({ type: 'webhook.test', data: { target: { type: 'webhook', id: webhook.id } } })
    expect(new StandardWebhook(webhook.signature_secret_plain).verify(notice!.body, notice!.headers)).toBeTruthy()
    expect(receiver.at('/all').filter(({ told: { type } }) => type === 'webhook.test')).toEqual([])
    expect((await tenant.owner.get(`${tenant.A}/events/${notice!.told.id}`)).status).toBe(404)
    expect(await deliveries(webhook, '&event_type=webhook.test')).toHaveLength(1)
    must(await tenant.owner.patch(path(webhook), { status: 'disabled' }), 200)
    expect((await run(trial, { w: webhook.id })).errors[0].extensions.status).toBe(409)
  })
})

describe('a running worker', () => {
  const start = (gatehouse: Gatehouse = app.gatehouse) => {
    const sender = startSending(gatehouse)
    senders.push(sender)
    return sender
  }
  const done = async (webhook: Loose) => (await deliveries(webhook)).every(({ status }) => status === 'delivered')

  test('sends soon after the commit', async () => {
    start()
    await hook()
    await new Promise((go) => setTimeout(go, 400))
    const began = Date.now()
    await happen()
    await until(() => receiver.notices.length === 1)
    expect(Date.now() - began).toBeLessThan(4000)
  })

  test('a receiver that stalls delays nobody else', async () => {
    const stalled: (() => void)[] = []
    receiver.answer = (res, notice) => {
      const accept = (): void => void res.writeHead(204).end()
      if (notice.path === '/stalls') stalled.push(accept)
      else accept()
    }
    const [slow, fine] = [await hook({ url: `${receiver.url}/stalls` }), await hook()]
    await happen(60)
    start()
    await until(() => done(fine))
    expect(stalled.length).toBeLessThanOrEqual(16)
    expect((await deliveries(slow)).some(({ status }) => status === 'delivered')).toBe(false)
    await until(async () => {
      for (const accept of stalled.splice(0)) accept()
      return done(slow)
    })
  })

  test('two workers: each delivery once', async () => {
    const second = await app.second()
    const hooks = [
      await hook(),
      await hook({ url: `${receiver.url}/two` }),
      await hook({ url: `${receiver.url}/three` }),
    ]
    start()
    start(second.gatehouse)
    await Promise.all(Array.from({ length: 4 }, () => happen(15)))
    for (const webhook of hooks) await until(() => done(webhook))
    expect(receiver.notices).toHaveLength(180)
    expect(new Set(receiver.notices.map(({ path: at, told: { id } }) => `${at} ${id}`)).size).toBe(180)
  })

  test('a deleted webhook gets nothing more, though much was taken already; stopping waits for what is under way', async () => {
    receiver.answer = (res) => void setTimeout(() => res.writeHead(204).end(), 300)
    const webhook = await hook()
    await happen(60)
    const sender = start()
    await until(() => receiver.notices.length >= 4)
    must(await tenant.owner.delete(path(webhook)), 204)
    await new Promise((go) => setTimeout(go, 400))
    const came = receiver.notices.length
    await new Promise((go) => setTimeout(go, 800))
    expect(receiver.notices.length).toBe(came)
    expect(came).toBeLessThan(60)

    const other = await hook()
    await happen(3)
    await until(() => receiver.notices.length === came + 3)
    await sender.stop()
    expect(await deliveries(other)).toMatchObject(Array(3).fill({ status: 'delivered' }))
  })
})

test('a worker that dies is taken over when its lease ends; what it had in hand is sent again with the same id, and nothing stays delivering', async () => {
  receiver.answer = () => undefined
  const webhook = await hook()
  await happen(3)
  const dead = startSending(app.gatehouse)
  await until(() => receiver.notices.length === 3)
  receiver.answer = (res) => void res.writeHead(204).end()
  const ids = receiver.notices.map(({ told: { id } }) => id)
  await send()
  expect((await deliveries(webhook)).map(({ status }) => status)).toEqual(Array(3).fill('delivering'))
  app.clock.advance(46 * SECOND)
  await send()
  expect(await deliveries(webhook)).toMatchObject(Array(3).fill({ status: 'delivered', attempt_count: 2 }))
  expect(
    receiver.notices
      .slice(3)
      .map(({ told: { id } }) => id)
      .sort(),
  ).toEqual(ids.sort())
  // It was not dead but slow: what it writes now changes nothing.
  await receiver.close()
  receiver = await startReceiver()
  await dead.stop()
  expect(await deliveries(webhook)).toMatchObject(Array(3).fill({ status: 'delivered', attempt_count: 2 }))
  expect((await read(webhook)).stats.success_rate).toBe(1)
})

test('examples/webhooks/node.mjs believes what is signed, once, and nothing else', async () => {
  const [port] = await freePorts(1)
  const made = await hook({ url: `http://127.0.0.1:${port}/` })
  const child = spawn(process.execPath, [join(packageRoot, 'examples/webhooks/node.mjs')], {
    env: { PORT: String(port), SIGNATURE_SECRET: made.signature_secret_plain },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    await until(() => output.includes('listening'))
    await happen()
    await send()
    const [delivery] = await deliveries(made)
    expect(delivery).toMatchObject({ status: 'delivered', last_response_status: 204 })
    await until(() => output.includes(`user.created ${delivery.event_id}`))
    const forged = {
      method: 'POST',
      headers: { 'x-webhook-signature': `t=${Math.floor(Date.now() / 1000)},v1=00` },
      body: '{}',
    }
    expect((await fetch(`http://127.0.0.1:${port}/`, forged)).status).toBe(401)
    expect((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })).status).toBe(401)
    must(await tenant.owner.patch(path(made), { auth: 'bearer+signature' }), 200)
    await happen()
    await send()
    expect((await deliveries(made))[0]).toMatchObject({ status: 'delivered' })
  } finally {
    child.kill()
    await once(child, 'exit')
  }
})
