/** Workers that send (spec 6.2): soon, each delivery once, nobody delayed by others, whoever dies is taken over. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Gatehouse } from '../../src/platform/context.js'
import type { Jobs } from '../../src/platform/jobs.js'
import { startSending } from '../../src/resources/webhooks/sending.js'
import { must } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { startReceiver } from '../setup/receiver.js'
import { Hooks, until } from './hooks.js'

let hooks: Hooks
const senders: Jobs[] = []
beforeAll(async () => {
  hooks = await Hooks.make()
})
afterEach(async () => {
  for (const sender of senders.splice(0)) await sender.stop()
  await hooks.clear()
})
afterAll(() => hooks.close())

describe('a running worker', () => {
  const start = (gatehouse: Gatehouse = hooks.app.gatehouse) => {
    const sender = startSending(gatehouse)
    senders.push(sender)
    return sender
  }
  const done = async (webhook: Loose) => (await hooks.deliveries(webhook)).every(({ status }) => status === 'delivered')

  test('sends soon after the commit', async () => {
    start()
    await hooks.hook()
    await new Promise((go) => setTimeout(go, 400))
    const began = Date.now()
    await hooks.happen()
    await until(() => hooks.receiver.notices.length === 1)
    expect(Date.now() - began).toBeLessThan(4000)
  })

  test('a receiver that stalls delays nobody else', async () => {
    const stalled: (() => void)[] = []
    hooks.receiver.answer = (res, notice) => {
      const accept = (): void => void res.writeHead(204).end()
      if (notice.path === '/stalls') stalled.push(accept)
      else accept()
    }
    const [slow, fine] = [await hooks.hook({ url: `${hooks.receiver.url}/stalls` }), await hooks.hook()]
    await hooks.happen(30)
    start()
    await until(() => done(fine))
    expect(stalled.length).toBeLessThanOrEqual(16)
    expect((await hooks.deliveries(slow)).some(({ status }) => status === 'delivered')).toBe(false)
    await until(async () => {
      for (const accept of stalled.splice(0)) accept()
      return done(slow)
    })
  })

  test('two workers: each delivery once', async () => {
    const second = await hooks.app.second()
    const all = [
      await hooks.hook(),
      await hooks.hook({ url: `${hooks.receiver.url}/two` }),
      await hooks.hook({ url: `${hooks.receiver.url}/three` }),
    ]
    start()
    start(second.gatehouse)
    await Promise.all(Array.from({ length: 4 }, () => hooks.happen(8)))
    for (const webhook of all) await until(() => done(webhook))
    expect(hooks.receiver.notices).toHaveLength(96)
    expect(new Set(hooks.receiver.notices.map(({ path: at, told: { id } }) => `${at} ${id}`)).size).toBe(96)
  })

  test('a deleted webhook gets nothing more, though much was taken already; stopping waits for what is under way', async () => {
    hooks.receiver.answer = (res) => void setTimeout(() => res.writeHead(204).end(), 300)
    const webhook = await hooks.hook()
    await hooks.happen(30)
    const sender = start()
    await until(() => hooks.receiver.notices.length >= 4)
    must(await hooks.tenant.owner.delete(hooks.path(webhook)), 204)
    await new Promise((go) => setTimeout(go, 400))
    const came = hooks.receiver.notices.length
    await new Promise((go) => setTimeout(go, 800))
    expect(hooks.receiver.notices.length).toBe(came)
    expect(came).toBeLessThan(30)

    const other = await hooks.hook()
    await hooks.happen(3)
    await until(() => hooks.receiver.notices.length === came + 3)
    await sender.stop()
    expect(await hooks.deliveries(other)).toMatchObject(Array(3).fill({ status: 'delivered' }))
  })
})

test('a worker that dies is taken over when its lease ends; what it had in hand is sent again with the same id, and nothing stays delivering', async () => {
  hooks.receiver.answer = () => undefined
  const webhook = await hooks.hook()
  await hooks.happen(3)
  const dead = startSending(hooks.app.gatehouse)
  await until(() => hooks.receiver.notices.length === 3)
  hooks.receiver.answer = (res) => void res.writeHead(204).end()
  const ids = hooks.came()
  await hooks.send()
  expect((await hooks.deliveries(webhook)).map(({ status }) => status)).toEqual(Array(3).fill('delivering'))
  hooks.app.clock.advance(21_000)
  await hooks.send()
  expect(await hooks.deliveries(webhook)).toMatchObject(Array(3).fill({ status: 'delivered', attempt_count: 2 }))
  expect(
    hooks.receiver.notices
      .slice(3)
      .map(({ told: { id } }) => id)
      .sort(),
  ).toEqual(ids.sort())
  // It was not dead but slow: what it writes now changes nothing.
  await hooks.receiver.close()
  hooks.receiver = await startReceiver()
  await dead.stop()
  expect(await hooks.deliveries(webhook)).toMatchObject(Array(3).fill({ status: 'delivered', attempt_count: 2 }))
  expect((await hooks.read(webhook)).stats.success_rate).toBe(1)
})
