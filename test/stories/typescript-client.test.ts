/** The client of examples/typescript-client, with a running Gatehouse and with a server that returns given responses. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  type Client,
  type ClientWithSecret,
  Gatehouse,
  GatehouseError,
  type Issuer,
  notStored,
  type Settings,
  type User,
} from '../../examples/typescript-client/client.js'
import { responseStorageOf } from '../../src/graphql/field-extensions.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { openApiDocument } from '../../src/rest/openapi.js'
import { loadRouteBindings } from '../../src/rest/serve.js'
import { createAccount } from '../setup/actors.js'
import type { ApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const folder = join(packageRoot, 'examples/typescript-client')

let app: TestApp
let owner: ApiClient
let credential: string
let gatehouse: Gatehouse
let account: { account_id: string }
let path: { account_id: string; issuer_id: string }

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  const created = await createAccount(app)
  owner = created.owner
  credential = atob(owner.authorization!.replace('Basic ', ''))
  gatehouse = createClient()
  account = { account_id: created.accountId }
  const issuer: Issuer = await gatehouse.call('createIssuer', { path: account, body: { name: 'Shop' } })
  path = { ...account, issuer_id: issuer.id }
})
afterAll(() => app?.close())

const createClient = (settings: Partial<Settings> = {}) =>
  new Gatehouse({ baseUrl: app.baseUrl, credential, ...settings })

let count = 0
const newUser = () => ({ username_type: 'email' as const, username: `user-${++count}@example.com` })
const userIds = async () => {
  const ids: string[] = []
  for await (const { id } of gatehouse.list('listUsers', { path })) ids.push(id)
  return ids
}

/** A fetch that records the requests. The responses to the first `lost` requests are lost after the server sent them. */
function recordingFetch(lost = 0) {
  const requests: { method: string | undefined; path: string; key: string | null; replayed: boolean }[] = []
  const recorded: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    requests.push({
      method: init?.method,
      path: new URL(String(url)).pathname,
      key: new Headers(init?.headers).get('idempotency-key'),
      replayed: response.headers.has('idempotent-replayed'),
    })
    if (requests.length > lost) return response
    await response.body?.cancel()
    throw new TypeError('fetch failed')
  }
  return { fetch: recorded, requests, sleep: async () => {} }
}

describe('the generated types', () => {
  test('openapi.ts is generated from the current document; otherwise run `npm run example-types`', () => {
    const command = [join(folder, 'generate.mjs'), '--check', '-']
    const input = JSON.stringify(openApiDocument(app.baseUrl, {}))
    const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8', input })
    expect([status, stderr]).toEqual([0, ''])
  })

  test('the POST operations whose responses are not always stored are those that return a secret', () => {
    const withSecret = [...loadRouteBindings()]
      .filter(([{ method }, { operation }]) => method === 'POST' && responseStorageOf(operation.field) !== undefined)
      .map(([route]) => route.operation)
    expect([...notStored].sort()).toEqual(withSecret.sort())
  })

  test('the README contains the program that test/stories/examples.test.ts runs', () => {
    const read = (name: string) => readFileSync(join(folder, name), 'utf8')
    expect(read('README.md')).toContain(`\`\`\`ts\n${read('usage.ts')}\`\`\`\n`)
  })
})

test('calls are typed by the operation', async () => {
  const body = { name: 'App', type: 'internal', confidential: true, settings: {} } as const
  const client: ClientWithSecret = await gatehouse.call('createClient', { path, body })
  const read: Client = await gatehouse.call('getClient', { path: { ...path, client_id: client.id } })
  expect([client.secret, read.name]).toEqual([expect.any(String), 'App'])
  expect(read).not.toHaveProperty('secret')

  const page = await gatehouse.call('listIssuers', { path: account, query: { limit: 1 } })
  const issuers: Issuer[] = page.data
  expect([issuers.length, page.has_more]).toEqual([1, false])

  const { data } = await gatehouse.call('listAccounts')
  expect(data.map(({ id }) => id)).toEqual([account.account_id])

  const query = { subject_type: 'issuer', subject_id: path.issuer_id } as const
  expect(await gatehouse.call('getNoteCount', { path: account, query })).toEqual({ count: 0 })

  const user: User = await gatehouse.call('createUser', { path, body: newUser() })
  const deleted: undefined = await gatehouse.call('deleteUser', { path: { ...path, user_id: user.id } })
  expect(deleted).toBeUndefined()
})

test('the compiler refuses requests that the document does not describe', () => {
  // The functions are compiled, but not called.
  const invalidCalls = [
    // @ts-expect-error: there is no such operation
    () => gatehouse.call('createUsers', { path, body: newUser() }),
    // @ts-expect-error: the path parameter issuer_id is missing
    () => gatehouse.call('createUser', { path: account, body: newUser() }),
    // @ts-expect-error: the body is missing
    () => gatehouse.call('createUser', { path }),
    // @ts-expect-error: status has other values
    () => gatehouse.call('listUsers', { path, query: { status: 'happy' } }),
    // @ts-expect-error: the operation does not support If-Match
    () => gatehouse.update('revokeSession', { path: { ...path, session_id: 'ses_1' } }, '"1"'),
    // @ts-expect-error: the operation does not return a list
    () => gatehouse.list('getIssuer', { path }),
    // @ts-expect-error: a client that was read has no secret
    (client: Client) => client.secret,
  ]
  expect(invalidCalls).toHaveLength(7)
})

test('a list contains the resources of all pages', async () => {
  const created: User[] = []
  for (let i = 0; i < 5; i++) created.unshift(await gatehouse.call('createUser', { path, body: newUser() }))
  const { requests, ...settings } = recordingFetch()
  const users: User[] = []
  for await (const user of createClient(settings).list('listUsers', { path, query: { limit: 2 } })) {
    users.push(user)
    // The next page is requested after the last user of a page.
    expect(requests).toHaveLength(Math.ceil(users.length / 2))
  }
  expect(users.map(({ id }) => id)).toEqual(created.map(({ id }) => id))
})

describe('after a lost response', () => {
  test('a POST is repeated with the same Idempotency-Key and takes effect once', async () => {
    const before = await userIds()
    const { requests, ...settings } = recordingFetch(2)
    const user: User = await createClient(settings).call('createUser', { path, body: newUser() })
    expect(requests.map(({ replayed }) => replayed)).toEqual([false, true, true])
    expect(new Set(requests.map(({ key }) => key))).toEqual(new Set([expect.stringMatching(/^[0-9a-f-]{36}$/)]))
    expect(await userIds()).toEqual([user.id, ...before])
  })

  test('a GET is repeated, at most maxAttempts times', async () => {
    const { requests, ...settings } = recordingFetch(2)
    expect(await createClient(settings).call('getIssuer', { path })).toMatchObject({ id: path.issuer_id })
    expect(requests).toHaveLength(3)
    const second = recordingFetch(9)
    await expect(createClient({ ...second, maxAttempts: 2 }).call('getIssuer', { path })).rejects.toThrow(
      'fetch failed',
    )
    expect(second.requests).toHaveLength(2)
  })

  test('a PATCH, a DELETE and a POST whose response is not stored are not repeated', async () => {
    const { requests, ...settings } = recordingFetch(9)
    const client = createClient(settings)
    const user = await gatehouse.call('createUser', { path, body: newUser() })
    const userPath = { ...path, user_id: user.id }
    const body = { name: 'App', type: 'internal', confidential: true, settings: {} } as const
    await expect(client.call('updateUser', { path: userPath, body: {} })).rejects.toThrow('fetch failed')
    await expect(client.call('deleteUser', { path: userPath })).rejects.toThrow('fetch failed')
    await expect(client.call('createClient', { path, body })).rejects.toThrow('fetch failed')
    expect(requests.map(({ method }) => method)).toEqual(['PATCH', 'DELETE', 'POST'])
  })
})

describe('versions', () => {
  let userPath: typeof path & { user_id: string }
  beforeAll(async () => {
    const user: User = await gatehouse.call('createUser', { path, body: newUser() })
    userPath = { ...path, user_id: user.id }
  })
  const rename = (name: string) => gatehouse.call('updateUser', { path: userPath, body: { profile: { name } } })

  test('an unchanged resource is not read again', async () => {
    const { value, etag } = await gatehouse.read('getUser', { path: userPath })
    expect(etag).toBe(`"${value.updated_at}"`)
    expect(await gatehouse.readIfChanged('getUser', { path: userPath }, etag)).toBeUndefined()
    await rename('Ann')
    const changed = await gatehouse.readIfChanged('getUser', { path: userPath }, etag)
    const user: User | undefined = changed?.value
    expect(user?.profile).toEqual({ name: 'Ann' })
    expect(changed?.etag).not.toBe(etag)
  })

  test('an update or a deletion with an old ETag is refused', async () => {
    const { etag } = await gatehouse.read('getUser', { path: userPath })
    const updated = await gatehouse.update('updateUser', { path: userPath, body: { profile: { name: 'Bo' } } }, etag)
    expect(updated.value.profile).toEqual({ name: 'Bo' })
    const refused = expect.objectContaining({ status: 412, code: 'precondition_failed', isTemporary: false })
    await expect(gatehouse.update('updateUser', { path: userPath, body: {} }, etag)).rejects.toEqual(refused)
    await expect(gatehouse.update('deleteUser', { path: userPath }, etag)).rejects.toEqual(refused)
  })

  test('a change is applied to the newest version, and repeated once', async () => {
    const names: unknown[] = []
    const patch = ({ profile }: User) => ({ profile: { ...profile, nickname: 'D' } })
    const concurrently = recordingFetch()
    const client = (updates: number) =>
      createClient({
        async fetch(url, init) {
          if (init?.method === 'PATCH' && names.length < updates) names.push((await rename(`Dora ${names.length}`)).id)
          return concurrently.fetch(url, init)
        },
      })
    const { value } = await client(1).change('getUser', 'updateUser', userPath, patch)
    expect(value.profile).toEqual({ name: 'Dora 0', nickname: 'D' })
    expect(concurrently.requests.map(({ method }) => method)).toEqual(['GET', 'PATCH', 'GET', 'PATCH'])
    await expect(client(3).change('getUser', 'updateUser', userPath, patch)).rejects.toMatchObject({ status: 412 })
  })
})

test('an error has the status, code, details and request id of the response', async () => {
  const { requests, ...settings } = recordingFetch()
  const body = { username_type: 'email', username: 'not an address' } as const
  const error = await createClient(settings)
    .call('createUser', { path, body })
    .catch((caught) => caught)
  expect(error).toBeInstanceOf(GatehouseError)
  expect(error).toMatchObject({
    name: 'GatehouseError',
    status: 400,
    code: 'invalid_request',
    details: [{ field: 'username', code: expect.any(String), message: expect.any(String) }],
    requestId: expect.stringMatching(/^req_/),
    isTemporary: false,
  })
  expect(requests).toHaveLength(1)
})

test('an id that would change the path is refused before the request', async () => {
  const { requests, ...settings } = recordingFetch()
  for (const user_id of ['', '.', '..']) {
    const call = createClient(settings).call('deleteUser', { path: { ...path, user_id } })
    await expect(call).rejects.toThrow('The path parameter user_id is not an id')
  }
  expect(requests).toHaveLength(0)
})

test('an access token is requested for each call', async () => {
  const headers: (string | null)[] = []
  const client = createClient({
    credential: async () => `token-${headers.length}`,
    async fetch(_, init) {
      headers.push(new Headers(init?.headers).get('authorization'))
      return Response.json({ data: [], next_cursor: null, has_more: false })
    },
  })
  await client.call('listAccounts')
  await client.call('listAccounts')
  expect(headers).toEqual(['Bearer token-0', 'Bearer token-1'])
})

/** A response of the server: the status, the headers, and the body as JSON or text. */
type Reply = [status: number, headers?: Record<string, string>, body?: object | string]

/** Sends a request to a server on a loopback port that returns these responses in their order, the last one repeatedly. */
async function withReplies(replies: Reply[], call: (client: Gatehouse) => Promise<unknown>) {
  const received: IncomingHttpHeaders[] = []
  const waits: number[] = []
  const server = createServer((request, response) => {
    const [status, headers = {}, body = {}] = replies[Math.min(received.push(request.headers), replies.length) - 1]!
    request.resume()
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const client = new Gatehouse({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credential: 'ak_1:secret',
    sleep: async (wait) => waits.push(wait),
  })
  const result = await call(client).catch((error) => error)
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
  return { result, waits, received, keys: new Set(received.map((headers) => headers['idempotency-key'])) }
}

describe('temporary errors', () => {
  const ids = { account_id: 'acc_1', issuer_id: 'iss_1' }
  const created: Reply = [201, {}, { data: { id: 'usr_1' } }]
  const createUser = (client: Gatehouse) => client.call('createUser', { path: ids, body: newUser() })
  const updateIssuer = (client: Gatehouse) => client.call('updateIssuer', { path: ids, body: {} })

  test.each([
    [429, 'too_many_requests'],
    [503, 'unavailable'],
    [409, 'conflict'],
  ])('%i with Retry-After is repeated with the same key after that time', async (status, error) => {
    const refused: Reply = [status, { 'Retry-After': '7' }, { error }]
    const { result, waits, keys } = await withReplies([refused, refused, created], createUser)
    expect(result).toEqual({ id: 'usr_1' })
    expect(waits).toHaveLength(2)
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(7000)
      expect(wait).toBeLessThan(7000 + 400 * 2 ** index)
    }
    expect(keys.size).toBe(1)
  })

  test('each call has another key, and a given key is used', async () => {
    const twice = async (client: Gatehouse) => [await createUser(client), await createUser(client)]
    expect((await withReplies([created], twice)).keys.size).toBe(2)
    const header = { 'Idempotency-Key': 'import-7' }
    const { keys } = await withReplies([[503], created], (client) =>
      client.call('createUser', { path: ids, header, body: newUser() }),
    )
    expect(keys).toEqual(new Set(['import-7']))
  })

  test('a PATCH is repeated, because it had no effect', async () => {
    const { result, waits } = await withReplies([[503], [200, {}, { data: { id: 'iss_1' } }]], updateIssuer)
    expect(result).toEqual({ id: 'iss_1' })
    expect(waits).toEqual([expect.any(Number)])
  })

  test.each<[name: string, reply: Reply, code: string]>([
    ['retryable: false', [503, { 'Retry-After': '1' }, { error: 'unavailable', retryable: false }], 'unavailable'],
    ['429 without Retry-After', [429, {}, { error: 'too_many_requests' }], 'too_many_requests'],
    ['409 without Retry-After', [409, {}, { error: 'conflict' }], 'conflict'],
    ['a longer Retry-After than maxWait', [503, { 'Retry-After': '90' }, { error: 'unavailable' }], 'unavailable'],
    ['500', [500, {}, { error: 'internal_error' }], 'internal_error'],
    ['an error of a proxy', [502, { 'X-Request-Id': 'proxy-1' }, '<h1>Bad Gateway</h1>'], 'unknown'],
  ])('%s is not repeated', async (_, reply, code) => {
    const { result, received } = await withReplies([reply], createUser)
    expect(result).toMatchObject({ name: 'GatehouseError', status: reply[0], code })
    expect(received).toHaveLength(1)
  })

  test('a request is sent at most maxAttempts times', async () => {
    const { result, received } = await withReplies([[503, { 'Retry-After': '1' }]], createUser)
    expect(result).toMatchObject({ status: 503, retryAfter: 1, isTemporary: true })
    expect(received).toHaveLength(4)
  })
})
