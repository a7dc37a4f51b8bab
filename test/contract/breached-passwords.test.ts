/**
 * `check_breached` (docs/contract.md#password-policy): an optional lookup of passwords at a service that gets only the
 * first five digits of their SHA-1 hash. If the service fails, the password is accepted.
 */
import { createHash } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { errorMessageOf } from '../idp/browser.js'
import { PASSWORD, Realm } from '../idp/realm.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

const LEAKED = 'a password of another user'
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase()

let app: TestApp
let careful: Tenant
let server: Server
/** The path and the `Add-Padding` header of each request that the service has received in the current test. */
let requests: { path: string; padding: unknown }[]
let respond: (res: ServerResponse, prefix: string) => void

/** Responds like Pwned Passwords: hash suffixes with counts, padding entries with the count 0, and CRLF line endings. */
const respondWithRange = (res: ServerResponse, prefix: string): void => {
  const lines = [LEAKED, 'another one'].map(sha1).filter((digest) => digest.startsWith(prefix))
  const padding = [sha1(PASSWORD), 'F'.repeat(40)].map((digest) => `${digest.slice(5)}:0`)
  res.end([...padding, ...lines.map((digest) => `${digest.slice(5)}:42`)].join('\r\n'))
}

beforeAll(async () => {
  server = createServer((req, res) => {
    requests.push({ path: req.url ?? '', padding: req.headers['add-padding'] })
    respond(res, (req.url ?? '').split('/').at(-1)!)
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
  careful = await createTenant(app, 'Careful')
  const settings = { security: { password_policy: { check_breached: true } }, signup: { mode: 'open' } }
  expectStatus(await careful.owner.patch(careful.I, { settings }), 200)
})
afterAll(async () => {
  await app.close()
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
})
beforeEach(() => {
  requests = []
  respond = respondWithRange
})

let count = 0
async function setPassword(password: string, { owner, I } = careful, headers?: Record<string, string>) {
  const username = `user-${++count}@example.com`
  const { data } = expectStatus(await owner.post(`${I}/users`, { username_type: 'email', username }), 201)
  const path = `${I}/users/${data.id}/verifiers`
  return { path, response: await owner.post(path, { type: 'password', name: null, password }, headers) }
}

test('a breached password is 400 password_breached, and only five digits of its hash are sent', async () => {
  const { status, body } = (await setPassword(LEAKED)).response
  expect({ status, details: body.details }).toEqual({
    status: 400,
    details: [{ field: 'password', code: 'password_breached', message: expect.stringContaining('data breach') }],
  })
  expect(requests).toEqual([{ path: `/range/${sha1(LEAKED).slice(0, 5)}`, padding: 'true' }])
})

test('a password that is not breached is accepted, also when a padding entry matches', async () => {
  expect((await setPassword(PASSWORD)).response.status).toBe(201)
  expect(requests).toHaveLength(1)
})

test('off by default: no request is sent', async () => {
  expect((await setPassword(LEAKED, await createTenant(app, 'Careless'))).response.status).toBe(201)
  expect(requests).toEqual([])
})

test('a password that violates another rule is not looked up', async () => {
  expect((await setPassword('short')).response.status).toBe(400)
  expect(requests).toEqual([])
})

test('a changed and a temporary password are checked as well', async () => {
  const { path, response } = await setPassword(PASSWORD)
  const changed = await careful.owner.patch(`${path}/${response.body.data.id}`, { password: LEAKED })
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

test('with an Idempotency-Key, the lookup runs once and keeps no transaction open', async () => {
  const inTransaction = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state ~ '^idle in trans'`
  respond = async (res, prefix) => {
    const idle = () => app.gatehouse.database.query('', inTransaction, [])
    await waitUntil('no transaction is open', async () => (await idle()).length === 0)
    respondWithRange(res, prefix)
  }
  const { path, response: refused } = await setPassword(LEAKED, careful, { 'idempotency-key': 'same' })
  expect(refused.status).toBe(400)
  const body = { type: 'password', name: null, password: PASSWORD }
  const [response, again] = [
    await careful.owner.post(path, body, { 'idempotency-key': 'same' }),
    await careful.owner.post(path, body, { 'idempotency-key': 'same' }),
  ]
  expect([response.status, again.status]).toEqual([201, 201])
  expect({ id: again.body.data.id, replayed: again.headers.get('idempotent-replayed') }).toEqual({
    id: response.body.data.id,
    replayed: 'true',
  })
  expect(requests).toHaveLength(2)
})

test('the sign-up page shows the error in the language of the user', async () => {
  const realm = new Realm(app, careful)
  const methods = expectStatus(await careful.owner.get(`${careful.I}/auth-methods`), 200).data
  const { id } = methods.find(({ method }: { method: string }) => method === 'password')
  expectStatus(await careful.owner.patch(`${careful.I}/auth-methods/${id}`, { enabled_signup: true }), 200)
  const spa = await realm.createClient({ application_type: 'spa' })
  const { browser, page } = await realm.openSignInPage(spa)
  const form = await browser.submit(page, { method: 'sign_up' })
  const refused = await browser.submit(form, { username: 'new@example.com', new_password: LEAKED, method: 'make' })
  expect(errorMessageOf(refused)).toContain('appeared in a data breach')
})

test.each([
  ['responds with 503', (res: ServerResponse) => void res.writeHead(503).end()],
  ['returns an invalid body', (res: ServerResponse) => void res.end('<html>Sign in to this network</html>')],
  ['redirects', (res: ServerResponse) => void res.writeHead(302, { location: 'https://example.com/' }).end()],
  ['closes the connection', (res: ServerResponse) => void res.destroy()],
  ['never responds', () => undefined],
  ['returns an oversized body', (res: ServerResponse) => void res.end('0'.repeat(2_000_000))],
])('the password is accepted if the service %s', async (_, mood) => {
  respond = mood
  expect((await setPassword(LEAKED)).response.status).toBe(201)
  expect(requests).toHaveLength(1)
})
