/**
 * Delivery workers (docs/contract.md#webhook-delivery-rules) send deliveries soon and once, do not delay one webhook
 * because of another, and take over the deliveries of a worker that has crashed.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Gatehouse } from '../../src/platform/context.js'
import type { BackgroundWorker } from '../../src/platform/jobs/periodic-jobs.js'
import { startWebhookDelivery } from '../../src/resources/webhooks/delivery-worker.js'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { countStatements, waitUntil } from '../setup/wait-until.js'
import { startWebhookReceiver } from '../setup/webhook-receiver.js'
import { WebhookFixture } from './webhook-fixture.js'

let fixture: WebhookFixture
const senders: BackgroundWorker[] = []
beforeAll(async () => {
  fixture = await WebhookFixture.create()
})
afterEach(async () => {
  for (const sender of senders.splice(0)) await sender.stop()
  await fixture.reset()
})
afterAll(() => fixture.close())

describe('a running worker', () => {
  const start = (gatehouse: Gatehouse = fixture.app.gatehouse) => {
    const sender = startWebhookDelivery(gatehouse)
    senders.push(sender)
    return sender
  }
  const done = async (webhook: AnyJson) =>
    (await fixture.listDeliveries(webhook)).every(({ status }) => status === 'delivered')

  test('sends soon after the commit', async () => {
    await fixture.createWebhook()
    const statements = countStatements(fixture.app.gatehouse.database)
    start()
    // The worker polls at its start and when the LISTEN connection is established. The next poll is five seconds later, so
    // a delivery that arrives earlier was caused by the notification.
    await waitUntil('the worker has polled', () => statements.completed('webhooks-due') >= 2)
    statements.restore()
    const began = Date.now()
    await fixture.triggerEvents()
    await waitUntil('the delivery has arrived', () => fixture.receiver.requests.length === 1)
    expect(Date.now() - began).toBeLessThan(4000)
  })

  test('a receiver that stalls delays no other receiver', async () => {
    const stalled: (() => void)[] = []
    fixture.receiver.respond = (res, notice) => {
      const accept = (): void => void res.writeHead(204).end()
      if (notice.path === '/stalls') stalled.push(accept)
      else accept()
    }
    const [slow, fine] = [
      await fixture.createWebhook({ url: `${fixture.receiver.url}/stalls` }),
      await fixture.createWebhook(),
    ]
    await fixture.triggerEvents(30)
    start()
    await waitUntil('the other webhook has all its deliveries', () => done(fine))
    expect(stalled.length).toBeLessThanOrEqual(16)
    expect((await fixture.listDeliveries(slow)).some(({ status }) => status === 'delivered')).toBe(false)
    await waitUntil('the slow webhook has all its deliveries', async () => {
      for (const accept of stalled.splice(0)) accept()
      return done(slow)
    })
  })

  test('two workers send each delivery once', async () => {
    const second = await fixture.app.startSecondApp()
    const all = [
      await fixture.createWebhook(),
      await fixture.createWebhook({ url: `${fixture.receiver.url}/two` }),
      await fixture.createWebhook({ url: `${fixture.receiver.url}/three` }),
    ]
    start()
    start(second.gatehouse)
    await Promise.all(Array.from({ length: 4 }, () => fixture.triggerEvents(8)))
    for (const webhook of all) await waitUntil('all deliveries are sent', () => done(webhook))
    expect(fixture.receiver.requests).toHaveLength(96)
    expect(new Set(fixture.receiver.requests.map(({ path, event: { id } }) => `${path} ${id}`)).size).toBe(96)
  })

  test('a deleted webhook gets no more requests for claimed deliveries; stopping a worker waits for requests in progress', async () => {
    let open = 0
    // The receiver is slow, so that most deliveries still wait for a concurrency slot when the webhook is deleted.
    fixture.receiver.respond = (res) => {
      open++
      setTimeout(() => {
        open--
        res.writeHead(204).end()
      }, 300)
    }
    const webhook = await fixture.createWebhook()
    await fixture.triggerEvents(30)
    const sender = start()
    await waitUntil('four deliveries have arrived', () => fixture.receiver.requests.length >= 4)
    expectStatus(await fixture.tenant.owner.delete(fixture.webhookPath(webhook)), 204)
    const { webhookDeliveryQueue } = fixture.app.gatehouse.database.prisma
    const where = { webhookId: webhook.id, leaseOwner: { not: null } }
    await waitUntil('the delivery loop has ended', async () => (await webhookDeliveryQueue.count({ where })) === 0)
    await waitUntil('the receiver has responded to all requests', () => open === 0)
    const came = fixture.receiver.requests.length
    expect(came).toBeLessThan(30)

    const other = await fixture.createWebhook()
    await fixture.triggerEvents(3)
    await waitUntil(
      'the deliveries of the other webhook have arrived',
      () => fixture.receiver.requests.length >= came + 3,
    )
    await sender.stop()
    expect(fixture.receiver.requests.length).toBe(came + 3)
    expect(await fixture.listDeliveries(other)).toMatchObject(Array(3).fill({ status: 'delivered' }))
  })
})

test('a worker whose claim failed claims its delivery queue again when the lease expires, without a notification', async () => {
  const webhook = await fixture.createWebhook()
  await fixture.triggerEvents(3)
  const { gatehouse, clock } = fixture.app
  let broken = false
  const query: typeof gatehouse.database.query = (name, text, values) => {
    if (name !== 'webhooks-claim' || broken) return gatehouse.database.query(name, text, values)
    broken = true
    return Promise.reject(new Error('the connection broke'))
  }
  senders.push(startWebhookDelivery({ ...gatehouse, database: { ...gatehouse.database, query } }))
  const statements = countStatements(gatehouse.database)
  await waitUntil('the connection has broken', () => broken)
  // After two polls the notifications of the events have arrived, so that no notification wakes the worker later.
  await waitUntil('the worker has polled', () => statements.completed('webhooks-due') >= 2)
  statements.restore()
  clock.advance(21_000)
  await waitUntil('all deliveries have arrived', () => fixture.receiver.requests.length === 3)
  await waitUntil('all deliveries are recorded', async () =>
    (await fixture.listDeliveries(webhook)).every(({ status }) => status === 'delivered'),
  )
})

test('a worker that dies is replaced when its lease expires; its deliveries are sent again with the same id, and none stays delivering', async () => {
  fixture.receiver.respond = () => undefined
  const webhook = await fixture.createWebhook()
  await fixture.triggerEvents(3)
  const dead = startWebhookDelivery(fixture.app.gatehouse)
  await waitUntil('three deliveries have arrived', () => fixture.receiver.requests.length === 3)
  fixture.receiver.respond = (res) => void res.writeHead(204).end()
  const ids = fixture.receivedEventIds()
  await fixture.sendDueDeliveries()
  expect((await fixture.listDeliveries(webhook)).map(({ status }) => status)).toEqual(Array(3).fill('delivering'))
  fixture.app.clock.advance(21_000)
  await fixture.sendDueDeliveries()
  expect(await fixture.listDeliveries(webhook)).toMatchObject(Array(3).fill({ status: 'delivered', attempt_count: 2 }))
  expect(
    fixture.receiver.requests
      .slice(3)
      .map(({ event: { id } }) => id)
      .sort(),
  ).toEqual(ids.sort())
  // `dead` was not stopped; its requests were still waiting. They fail now, but its late updates have no effect, because
  // another worker has taken over the lease.
  await fixture.receiver.close()
  fixture.receiver = await startWebhookReceiver()
  await dead.stop()
  expect(await fixture.listDeliveries(webhook)).toMatchObject(Array(3).fill({ status: 'delivered', attempt_count: 2 }))
  expect((await fixture.getWebhook(webhook)).stats.success_rate).toBe(1)
})
