import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import { apiAs } from '../setup/api.js'
import { createTestDatabase, secretKey } from '../setup/database.js'
import { subscribe } from '../setup/event-stream.js'
import { endProcess, type Process, startProcess } from '../setup/process.js'
import type { TestApp } from '../setup/start-app.js'

let database: { url: string; drop(): Promise<void> }
let one: Process
let other: Process
let tenant: Tenant

beforeAll(async () => {
  database = await createTestDatabase()
  const limits = JSON.stringify({
    core_read: { quota: 100_000, window: 60 },
    core_write: { quota: 100_000, window: 60 },
  })
  const env = { DATABASE_URL: database.url, SECRET_KEY: secretKey, RATE_LIMITS: limits }
  one = await startProcess(env)
  const { PORT: _, IDP_PORT: __, ...shared } = one.env
  other = await startProcess(shared)
  tenant = await makeTenant(one as unknown as TestApp, 'Shared')
})
afterAll(async () => {
  await Promise.all([endProcess(one), endProcess(other)])
  await database.drop()
})

/** The same caller at the other process. */
const elsewhere = (authorization: string | undefined) => {
  const [id = '', ...rest] = Buffer.from(authorization!.slice(6), 'base64').toString().split(':')
  return apiAs(`http://127.0.0.1:${other.env['PORT']}`, { id, secret: rest.join(':') })
}

test('what one process acknowledged the other one answers at once', async () => {
  const { data } = must(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Seen' }), 201)
  const seen = must(await elsewhere(tenant.owner.authorization).get(`${tenant.A}/issuers/${data.id}`), 200)
  expect(seen.data).toEqual(data)
})

test('blocked, unblocked and revoked API keys count at once in every process', async () => {
  const { data } = must(await tenant.owner.post(`${tenant.A}/api-keys`, { name: 'k', restrictions: {} }), 201)
  const there = apiAs(`http://127.0.0.1:${other.env['PORT']}`, { id: data.id, secret: data.secret_plain })
  for (const [action, status] of [
    ['block', 401],
    ['unblock', 200],
    ['revoke', 401],
  ] as const) {
    must(await there.get(tenant.A), action === 'unblock' ? 401 : 200)
    must(await tenant.owner.post(`${tenant.A}/api-keys/${data.id}/${action}`), 200)
    must(await there.get(tenant.A), status)
  }
})

test('an Idempotency-Key is one key for both processes', async () => {
  const send = (api = tenant.owner) =>
    api.post(`${tenant.A}/issuers`, { name: 'Once' }, { 'idempotency-key': 'both-processes' })
  const first = must(await send(), 201)
  const again = await send(elsewhere(tenant.owner.authorization))
  expect(again.body).toEqual(first)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
})

test('a changed issuer is served anew by both IdPs, a deleted one by neither', async () => {
  const { data } = must(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Gone soon' }), 201)
  const documents = [one.env['IDP_PORT'], other.env['IDP_PORT']].map(
    (port) => `http://127.0.0.1:${port}/${data.id}/.well-known/openid-configuration`,
  )
  for (const url of documents) expect((await fetch(url)).status).toBe(200)
  must(await tenant.owner.delete(`${tenant.A}/issuers/${data.id}`), 204)
  for (const url of documents) {
    let status = 200
    for (let tries = 0; status === 200 && tries < 100; tries++) {
      status = (await fetch(url)).status
      await new Promise((done) => setTimeout(done, 20))
    }
    expect(status).toBe(404)
  }
})

test('wrong client secrets are counted together, and a refused request is logged by each and one event of both', async () => {
  const { owner, I, accountId } = tenant
  const body = { name: 'Web', type: 'external', confidential: true, settings: {} }
  const { data: client } = must(await owner.post(`${I}/clients`, body), 201)
  const detail = 'invalid secret provided'
  const answers = await Promise.all(
    Array.from({ length: 40 }, async (_, at) => {
      const port = (at % 2 === 0 ? one : other).env['IDP_PORT']
      const form = new URLSearchParams({ token: 'x', client_id: client.id, client_secret: 'wrong-secret-of-a-guess' })
      return (await fetch(`http://127.0.0.1:${port}/${I.split('/').at(-1)}/introspect`, { method: 'POST', body: form }))
        .status
    }),
  )
  expect([
    answers.filter((status) => status === 401).length,
    answers.filter((status) => status === 429).length,
  ]).toEqual([10, 30])
  const events = async () =>
    must(await owner.get(`${tenant.A}/events?event_types=token.denied&client_id=${client.id}`), 200).data
  for (let tries = 0; (await events()).length === 0 && tries < 200; tries++)
    await new Promise((done) => setTimeout(done, 20))
  expect(await events()).toMatchObject([
    { account_id: accountId, client_id: client.id, data: { error_detail: detail } },
  ])
  const lines = [one, other].flatMap((process) =>
    process
      .output()
      .split('\n')
      .filter((line) => line.includes(client.id) && line.includes(detail))
      .map((line) => JSON.parse(line)),
  )
  expect(lines).toHaveLength(10)
  for (const line of lines)
    expect(line).toMatchObject({
      level: 30,
      request_id: expect.stringMatching(/^req_/),
      endpoint: 'introspect',
      error: 'invalid_client',
      error_description: 'client authentication failed',
    })
  expect(`${one.output()}${other.output()}`).not.toContain('wrong-secret-of-a-guess')
})

test('events of one process are heard at the other; when that is killed, the first goes on where it stopped', async () => {
  const change = async (description: string) => must(await tenant.owner.patch(tenant.A, { description }), 200)
  const kept = { ...other.env }
  const types = ['account.updated']
  const there = await subscribe(elsewhere(tenant.owner.authorization), tenant.accountId, { types })
  for (let n = 0; n < 3; n++) await change(`before ${n}`)
  const heard = (await there.until(3)).map(({ id }) => id)
  await endProcess(other, 'SIGKILL')
  await there.ended
  for (let n = 0; n < 3; n++) await change(`after ${n}`)
  const here = await subscribe(tenant.owner, tenant.accountId, { types, lastEventId: heard.at(-1) })
  const rest = (await here.until(3)).map(({ id }) => id)
  here.close()
  const { data } = must(await tenant.owner.get(`${tenant.A}/events?event_types=account.updated`), 200)
  expect([...heard, ...rest]).toEqual(data.map(({ id }: { id: string }) => id).reverse())
  other = await startProcess(kept)
})
