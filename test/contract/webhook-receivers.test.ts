/**
 * A dead, slow or hostile receiver does not delay deliveries to other receivers (docs/contract.md#webhook-delivery-rules,
 * docs/contract.md#outbound-requests, docs/contract.md#timeouts-and-unavailability).
 */
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { BackgroundWorker } from '../../src/platform/jobs/periodic-jobs.js'
import { startWebhookDelivery } from '../../src/resources/webhooks/delivery-worker.js'
import { createTenant, expectStatus } from '../setup/actors.js'
import { waitUntil } from '../setup/wait-until.js'
import { WebhookFixture } from './webhook-fixture.js'

let fixture: WebhookFixture
let sender: BackgroundWorker | undefined
const timers: NodeJS.Timeout[] = []
beforeAll(async () => {
  fixture = await WebhookFixture.create()
})
afterEach(async () => {
  for (const timer of timers.splice(0)) clearInterval(timer)
  await sender?.stop()
  sender = undefined
  await fixture.reset()
})
afterAll(() => fixture.close())

test('50 webhooks of three accounts receive all events while another receiver never responds', async () => {
  const held: ServerResponse[] = []
  fixture.receiver.respond = (res, { path }) => void (path === '/dead' ? held.push(res) : res.writeHead(204).end())
  const dead = await fixture.createWebhook({ url: `${fixture.receiver.url}/dead` })
  const tenants = [fixture.tenant, await createTenant(fixture.app), await createTenant(fixture.app)]
  const expected: string[] = []
  for (const [n, { owner, A }] of tenants.entries()) {
    for (let m = 0; m < (n === 0 ? 16 : 17); m++) {
      const path = `/${n}/${m}`
      expectStatus(
        await owner.post(`${A}/webhooks`, { url: fixture.receiver.url + path, event_types: ['note.created'] }),
        201,
      )
      expected.push(path)
    }
    expectStatus(await owner.patch(A, { name: 'Busy' }), 200)
  }
  await fixture.triggerEvents(40)
  sender = startWebhookDelivery(fixture.app.gatehouse)
  // The deliveries to the dead receiver use all their concurrency slots before other deliveries are queued.
  await waitUntil('the dead receiver holds 16 requests', () => held.length === 16)
  const note = (issuer: string) => ({ subject_type: 'issuer', subject_id: issuer, content: 'x' })
  for (let round = 0; round < 4; round++)
    for (const { owner, A, issuerId } of tenants) expectStatus(await owner.post(`${A}/notes`, note(issuerId)), 201)
  await waitUntil(
    'the other receivers have 200 deliveries',
    () => fixture.receiver.requests.filter(({ path }) => path !== '/dead').length >= 200,
  )
  for (const path of expected) expect([path, fixture.receiver.requestsTo(path).length]).toEqual([path, 4])
  expect([held.length, fixture.receiver.requestsTo('/dead').length]).toEqual([16, 16])
  expect((await fixture.listDeliveries(dead)).filter(({ status }) => status === 'delivered')).toEqual([])
  for (const res of held) res.destroy()
})

describe('receiver responses', () => {
  const drip = (res: ServerResponse): void => {
    timers.push(setInterval(() => res.write('x'), 50))
  }
  test.each<[string, (res: ServerResponse) => void, object]>([
    [
      '200 with 64 MB: delivered, the rest is not read',
      (res) => {
        res.writeHead(200)
        const pour = (left: number): void => {
          if (left === 0 || res.destroyed) return void res.end()
          if (res.write(Buffer.alloc(1 << 20))) pour(left - 1)
          else res.once('drain', () => pour(left - 1))
        }
        pour(64)
      },
      { status: 'delivered', last_response_status: 200 },
    ],
    [
      '200 with an endless slow body: delivered without waiting for the body',
      (res) => drip(res.writeHead(200)),
      { status: 'delivered', last_response_status: 200 },
    ],
    [
      '202 with a connection that closes within the body: delivered',
      (res) => void res.writeHead(202, { 'content-length': 1000 }).write('x', () => res.destroy()),
      { status: 'delivered', last_response_status: 202 },
    ],
    [
      '410: retried like any other error status',
      (res) => void res.writeHead(410).end('gone'),
      { status: 'failing', last_response_status: 410 },
    ],
    [
      '500 with an endless body: failed',
      (res) => drip(res.writeHead(500)),
      { status: 'failing', last_response_status: 500 },
    ],
    [
      'headers over 16 KB: no response',
      (res) => void res.writeHead(200, { x: 'x'.repeat(20_000) }).end(),
      { status: 'failing', last_response_status: null },
    ],
    [
      'a redirect to an internal address: not followed',
      (res) => void res.writeHead(307, { location: 'http://127.0.0.1:9/inside' }).end(),
      { status: 'failing', last_response_status: 307 },
    ],
    [
      '103 followed by 204: delivered',
      (res) => {
        res.writeEarlyHints({ link: '</x>; rel=preload' })
        res.writeHead(204).end()
      },
      { status: 'delivered', last_response_status: 204 },
    ],
  ])('%s', async (_, behave, outcome) => {
    fixture.receiver.respond = (res) => behave(res)
    const webhook = await fixture.createWebhook()
    await fixture.triggerEvents()
    await fixture.sendDueDeliveries()
    const [delivery] = await fixture.listDeliveries(webhook)
    expect(delivery).toMatchObject({ attempt_count: 1, ...outcome })
    expect(String(delivery.last_error)).not.toMatch(/gone|xx|127\.0\.0\.1/)
  })
})
