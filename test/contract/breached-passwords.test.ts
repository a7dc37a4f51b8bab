/** `check_breached` (decisions D9): opt-in, by k-anonymity, and never in the way when nobody answers. */
import { createHash } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { problemOf } from '../idp/browser.js'
import { PASSWORD, Realm } from '../idp/setup.js'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const LEAKED = 'a password of somebody else'
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase()

let app: TestApp
let careful: Tenant
let server: Server
/** What the service was asked, path and headers. */
let asked: { path: string; padding: unknown }[]
let answer: (res: ServerResponse, prefix: string) => void

/** As Pwned Passwords answers: suffixes with counts, padding counted 0, lines ended as on Windows. */
const truth = (res: ServerResponse, prefix: string): void => {
  const lines = [LEAKED, 'another one'].map(sha1).filter((digest) => digest.startsWith(prefix))
  const padding = [sha1(PASSWORD), 'F'.repeat(40)].map((digest) => `${digest.slice(5)}:0`)
  res.end([...padding, ...lines.map((digest) => `${digest.slice(5)}:42`)].join('\r\n'))
}

beforeAll(async () => {
  server = createServer((req, res) => {
    asked.push({ path: req.url ?? '', padding: req.headers['add-padding'] })
    answer(res, (req.url ?? '').split('/').at(-1)!)
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  app = await startApp({
    env: {
      ALLOW_PRIVATE_NETWORKS: 'true',
      BREACHED_PASSWORDS_URL: `http://127.0.0.1:${port}/range/`,
      LOG_LEVEL: 'silent',
    },
  })
  careful = await makeTenant(app, 'Careful')
  const settings = { security: { password_policy: { check_breached: true } }, signup: { mode: 'open' } }
  must(await careful.owner.patch(careful.I, { settings }), 200)
})
afterAll(async () => {
  await app.close()
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
})
beforeEach(() => {
  asked = []
  answer = truth
})

let count = 0
async function give(password: string, { owner, I } = careful, headers?: Record<string, string>) {
  const username = `user-${++count}@example.com`
  const { data } = must(await owner.post(`${I}/users`, { username_type: 'email', username }), 201)
  const path = `${I}/users/${data.id}/verifiers`
  return { path, answer: await owner.post(path, { type: 'password', name: null, password }, headers) }
}

test('a leaked password is 400 password_breached, and five digits of its hash are all that leaves the house', async () => {
  const { status, body } = (await give(LEAKED)).answer
  expect({ status, details: body.details }).toEqual({
    status: 400,
    details: [{ field: 'password', code: 'password_breached', message: expect.stringContaining('leaked') }],
  })
  expect(asked).toEqual([{ path: `/range/${sha1(LEAKED).slice(0, 5)}`, padding: 'true' }])
})

test('another one is taken, also when padding names it', async () => {
  expect((await give(PASSWORD)).answer.status).toBe(201)
  expect(asked).toHaveLength(1)
})

test('off by default: nobody is asked', async () => {
  expect((await give(LEAKED, await makeTenant(app, 'Careless'))).answer.status).toBe(201)
  expect(asked).toEqual([])
})

test('a password that breaks another rule is not asked about', async () => {
  expect((await give('short')).answer.status).toBe(400)
  expect(asked).toEqual([])
})

test('a change and a temporary password are checked as well', async () => {
  const { path, answer: made } = await give(PASSWORD)
  const changed = await careful.owner.patch(`${path}/${made.body.data.id}`, { password: LEAKED })
  expect({ status: changed.status, code: changed.body.details[0].code }).toEqual({
    status: 400,
    code: 'password_breached',
  })
  const temporary = {
    type: 'temporary_password',
    name: 'For now',
    password: LEAKED,
    expires_at: Date.now() + 3_600_000,
  }
  expect((await careful.owner.post(path, temporary)).status).toBe(400)
})

test('with an Idempotency-Key, the look-up holds no transaction open, and is made once', async () => {
  const inTransaction = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state ~ '^idle in trans'`
  answer = async (res, prefix) => {
    while ((await app.gatehouse.tools.query('', inTransaction, [])).length > 0) await sleep(20)
    truth(res, prefix)
  }
  const { path, answer: refused } = await give(LEAKED, careful, { 'idempotency-key': 'same' })
  expect(refused.status).toBe(400)
  const body = { type: 'password', name: null, password: PASSWORD }
  const [made, again] = [
    await careful.owner.post(path, body, { 'idempotency-key': 'same' }),
    await careful.owner.post(path, body, { 'idempotency-key': 'same' }),
  ]
  expect([made.status, again.status]).toEqual([201, 201])
  expect({ id: again.body.data.id, replayed: again.headers.get('idempotent-replayed') }).toEqual({
    id: made.body.data.id,
    replayed: 'true',
  })
  expect(asked).toHaveLength(2)
})

test('who signs up reads it in their words', async () => {
  const realm = new Realm(app, careful)
  const methods = must(await careful.owner.get(`${careful.I}/auth-methods`), 200).data
  const { id } = methods.find(({ method }: { method: string }) => method === 'password')
  must(await careful.owner.patch(`${careful.I}/auth-methods/${id}`, { enabled_signup: true }), 200)
  const spa = await realm.client({ application_type: 'spa' })
  const { browser, page } = await realm.begin(spa)
  const form = await browser.submit(page, { method: 'sign_up' })
  const refused = await browser.submit(form, { username: 'new@example.com', new_password: LEAKED, method: 'make' })
  expect(problemOf(refused)).toContain('has leaked from some service')
})

test.each([
  ['answers 503', (res: ServerResponse) => void res.writeHead(503).end()],
  ['answers nonsense', (res: ServerResponse) => void res.end('<html>Sign in to this network</html>')],
  ['redirects', (res: ServerResponse) => void res.writeHead(302, { location: 'https://example.com/' }).end()],
  ['hangs up', (res: ServerResponse) => void res.destroy()],
  ['never answers', () => undefined],
  ['says too much', (res: ServerResponse) => void res.end('0'.repeat(2_000_000))],
])('fails open: a service that %s lets the password through', async (_, mood) => {
  answer = mood
  expect((await give(LEAKED)).answer.status).toBe(201)
  expect(asked).toHaveLength(1)
})
