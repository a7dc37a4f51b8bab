/** Receivers that are dead, slow or hostile harm nobody but themselves (spec 6.2, security rules 17, 24). */
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Jobs } from '../../src/platform/jobs.js'
import { startSending } from '../../src/resources/webhooks/sending.js'
import { makeTenant, must } from '../setup/actors.js'
import { Hooks, until } from './hooks.js'

let hooks: Hooks
let sender: Jobs | undefined
const timers: NodeJS.Timeout[] = []
beforeAll(async () => {
  hooks = await Hooks.make()
})
afterEach(async () => {
  for (const timer of timers.splice(0)) clearInterval(timer)
  await sender?.stop()
  sender = undefined
  await hooks.clear()
})
afterAll(() => hooks.close())

test('50 webhooks of three accounts get everything while a receiver of one of them never answers at all', async () => {
  const held: ServerResponse[] = []
  hooks.receiver.answer = (res, { path }) => void (path === '/dead' ? held.push(res) : res.writeHead(204).end())
  const dead = await hooks.hook({ url: `${hooks.receiver.url}/dead` })
  const tenants = [hooks.tenant, await makeTenant(hooks.app), await makeTenant(hooks.app)]
  const expected: string[] = []
  for (const [n, { owner, A }] of tenants.entries()) {
    for (let m = 0; m < (n === 0 ? 16 : 17); m++) {
      const path = `/${n}/${m}`
      must(await owner.post(`${A}/webhooks`, { url: hooks.receiver.url + path, event_types: ['note.created'] }), 201)
      expected.push(path)
    }
    must(await owner.patch(A, { name: 'Busy' }), 200)
  }
  await hooks.happen(40)
  sender = startSending(hooks.app.gatehouse)
  // The dead one has all the places that it ever gets before anybody else has anything.
  await until(() => held.length === 16)
  const note = (issuer: string) => ({ subject_type: 'issuer', subject_id: issuer, content: 'x' })
  for (let round = 0; round < 4; round++)
    for (const { owner, A, issuerId } of tenants) must(await owner.post(`${A}/notes`, note(issuerId)), 201)
  await until(() => hooks.receiver.notices.filter(({ path }) => path !== '/dead').length >= 200)
  for (const path of expected) expect([path, hooks.receiver.at(path).length]).toEqual([path, 4])
  expect([held.length, hooks.receiver.at('/dead').length]).toEqual([16, 16])
  expect((await hooks.deliveries(dead)).filter(({ status }) => status === 'delivered')).toEqual([])
  for (const res of held) res.destroy()
})

describe('what a receiver does with its answer', () => {
  const drip = (res: ServerResponse): void => {
    timers.push(setInterval(() => res.write('x'), 50))
  }
  test.each<[string, (res: ServerResponse) => void, object]>([
    [
      '200 and 64 MB: accepted, the rest is not read',
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
      '200 and then a byte now and then, for ever: accepted, it is not waited for',
      (res) => drip(res.writeHead(200)),
      { status: 'delivered', last_response_status: 200 },
    ],
    [
      '202 and a connection that closes in the middle of the body: accepted',
      (res) => void res.writeHead(202, { 'content-length': 1000 }).write('x', () => res.destroy()),
      { status: 'delivered', last_response_status: 202 },
    ],
    [
      '410: tried again like any other refusal',
      (res) => void res.writeHead(410).end('gone'),
      { status: 'failing', last_response_status: 410 },
    ],
    [
      '500 and a body without end: refused',
      (res) => drip(res.writeHead(500)),
      { status: 'failing', last_response_status: 500 },
    ],
    [
      'headers beyond 16 KB: no answer',
      (res) => void res.writeHead(200, { x: 'x'.repeat(20_000) }).end(),
      { status: 'failing', last_response_status: null },
    ],
    [
      'a redirect to an address of the inside: not followed',
      (res) => void res.writeHead(307, { location: 'http://127.0.0.1:9/inside' }).end(),
      { status: 'failing', last_response_status: 307 },
    ],
    [
      '103 and then 204: accepted',
      (res) => {
        res.writeEarlyHints({ link: '</x>; rel=preload' })
        res.writeHead(204).end()
      },
      { status: 'delivered', last_response_status: 204 },
    ],
  ])('%s', async (_, behave, outcome) => {
    hooks.receiver.answer = (res) => behave(res)
    const webhook = await hooks.hook()
    await hooks.happen()
    await hooks.send()
    const [delivery] = await hooks.deliveries(webhook)
    expect(delivery).toMatchObject({ attempt_count: 1, ...outcome })
    expect(String(delivery.last_error)).not.toMatch(/gone|xx|127\.0\.0\.1/)
  })
})
