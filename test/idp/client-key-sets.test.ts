/** Public keys at the jwks_uri of a client or agent (docs/contract.md#client-assertions, docs/contract.md#outbound-requests). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { limits } from '../../src/kernel/limits.js'
import { openOutbound } from '../../src/platform/outbound/outbound.js'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { assertionFields, type ClientKey, createClientKey, signAssertion } from '../setup/client-assertions.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'
import { type IdpResponse, Realm } from './realm.js'

type Handler = (req: IncomingMessage, res: ServerResponse) => void

let app: TestApp
let realm: Realm
let site: Server
let origin: string
/** The handlers of the site that publishes the keys, by path. Other paths are 404. */
const pages = new Map<string, Handler>()
/** The paths that the IdP has requested from the site in the current test. */
const requestedPaths: string[] = []

beforeAll(async () => {
  site = createServer((req, res) => {
    requestedPaths.push(req.url!)
    const page = pages.get(req.url!)
    if (page) page(req, res)
    else res.writeHead(404).end()
  })
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  app = await startApp({ env: { ALLOW_PRIVATE_NETWORKS: 'true' } })
  realm = await createRealm(app)
})
afterAll(async () => {
  await app.close()
  site.closeAllConnections()
  await new Promise((done) => site.close(done))
})
beforeEach(() => {
  requestedPaths.length = 0
})

async function createRealm(at: TestApp): Promise<Realm> {
  const created = await Realm.create(at, 'Key sets')
  const settings = { security: { openid_policy: { client_assertions: { enabled: true } } } }
  expectStatus(await created.tenant.owner.patch(created.tenant.I, { settings }), 200)
  return created
}

const json =
  (keys: unknown[], headers: Record<string, string> = {}): Handler =>
  (_, res) =>
    void res.writeHead(200, { 'content-type': 'application/jwk-set+json', ...headers }).end(JSON.stringify({ keys }))

let sets = 0
/** Publishes a response at a new path, and registers a client whose jwks_uri it is. */
async function publish(handler: Handler): Promise<{ id: string; path: string }> {
  const path = `/set${sets++}.json`
  pages.set(path, handler)
  return { id: await registerClient(realm, `${origin}${path}`), path }
}

async function registerClient(at: Realm, jwks_uri: string): Promise<string> {
  const openid = { application_type: 'm2m', token_endpoint_auth_method: 'private_key_jwt', jwks_uri }
  const body = { name: 'Machine', type: 'internal', confidential: true, settings: { openid } }
  const { data } = expectStatus(await at.tenant.owner.post(`${at.tenant.I}/clients`, body), 201)
  expect(data.secret).toBeNull()
  return data.id
}

/** Requests a token with an assertion at the time of the test clock. */
function authenticate(
  key: ClientKey,
  clientId: string,
  at = realm,
  header: Record<string, unknown> = {},
): Promise<IdpResponse> {
  const now = Math.floor(at.app.clock.now() / 1000)
  const assertion = signAssertion(key, clientId, at.url, { iat: now, exp: now + 60 }, header)
  return at.postForm('/token', undefined, { grant_type: 'client_credentials', ...assertionFields(assertion) })
}

const refused = {
  status: 401,
  body: { error: 'invalid_client', error_description: 'client authentication failed' },
}

/** Returns the details of the last refused token request of a client from the audit log. */
const deniedDetail = (clientId: string, at = realm): Promise<string> =>
  waitUntil('the event of the refused request is recorded', async () => {
    const { data } = expectStatus(
      await at.tenant.owner.get(`${at.tenant.A}/events?event_types=token.denied&client_id=${clientId}`),
      200,
    )
    return (data as AnyJson[])[0]?.data.error_detail
  })

describe('keys of a jwks_uri', () => {
  test('are requested once and cached', async () => {
    const key = createClientKey()
    const { id, path } = await publish(json([createClientKey('RS256').jwk, key.jwk]))
    for (let at = 0; at < 3; at++) expect((await authenticate(key, id)).status).toBe(200)
    expect(requestedPaths).toEqual([path])
  })

  test('concurrent requests wait for the same request, and do not block another client', async () => {
    const key = createClientKey()
    let release: () => void = () => undefined
    const { id, path } = await publish((req, res) => {
      release = () => json([key.jwk])(req, res)
    })
    const waiting = Promise.all([authenticate(key, id), authenticate(key, id), authenticate(key, id)])
    await waitUntil('the keys are requested', () => requestedPaths.length === 1)
    const other = createClientKey()
    const { id: otherId } = await publish(json([other.jwk]))
    expect((await authenticate(other, otherId)).status).toBe(200)
    release()
    expect((await waiting).map(({ status }) => status)).toEqual([200, 200, 200])
    expect(requestedPaths.filter((requested) => requested === path)).toHaveLength(1)
  })

  test('rotate: a key that the cache does not have is found by another request, at most one in 10 seconds', async () => {
    const [old, next] = [createClientKey(), createClientKey()]
    const { id, path } = await publish(json([old.jwk]))
    expect((await authenticate(old, id)).status).toBe(200)
    pages.set(path, json([old.jwk, next.jwk]))
    // The interval since the first request has not passed, so these 5 assertions cause no request.
    for (let at = 0; at < 5; at++) expect(await authenticate(next, id)).toMatchObject(refused)
    expect(requestedPaths).toEqual([path])
    app.clock.advance(limits.keySetFetchInterval)
    expect((await authenticate(next, id)).status).toBe(200)
    expect((await authenticate(old, id)).status).toBe(200)
    expect(requestedPaths).toEqual([path, path])
    // The old key is removed. It is refused as soon as the cache is updated.
    pages.set(path, json([next.jwk]))
    app.clock.advance(limits.maxKeySetCacheLifetime)
    expect(await authenticate(old, id)).toMatchObject(refused)
    expect((await authenticate(next, id)).status).toBe(200)
    expect(requestedPaths).toEqual([path, path, path])
  })

  test('rotate without kid: a key that replaces the old one is found by another request', async () => {
    const withoutKid = ({ kid: _, ...jwk }: Record<string, unknown>) => jwk
    const [old, next] = [createClientKey(), createClientKey()]
    const { id, path } = await publish(json([withoutKid(old.jwk)]))
    expect((await authenticate(old, id, realm, { kid: undefined })).status).toBe(200)
    pages.set(path, json([withoutKid(next.jwk)]))
    app.clock.advance(limits.keySetFetchInterval)
    expect((await authenticate(next, id, realm, { kid: undefined })).status).toBe(200)
  })

  test('20 assertions with unknown kids cause one request', async () => {
    const key = createClientKey()
    const { id, path } = await publish(json([key.jwk]))
    expect((await authenticate(key, id)).status).toBe(200)
    app.clock.advance(limits.keySetFetchInterval)
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, at) => authenticate(key, id, realm, { kid: `unknown-${at}` })),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(401))
    expect(requestedPaths).toEqual([path, path])
  })

  test('are cached according to Cache-Control, for at least 5 minutes and at most an hour', async () => {
    const key = createClientKey()
    const cases: [string, number][] = [
      ['no-store', limits.minKeySetCacheLifetime],
      ['max-age=1', limits.minKeySetCacheLifetime],
      ['public, max-age=1200', 1_200_000],
      ['max-age=86400', limits.maxKeySetCacheLifetime],
    ]
    for (const [cacheControl, lifetime] of cases) {
      const { id, path } = await publish(json([key.jwk], { 'cache-control': cacheControl }))
      const requestCount = () => requestedPaths.filter((requested) => requested === path).length
      expect((await authenticate(key, id)).status).toBe(200)
      app.clock.advance(lifetime - 5_000)
      expect((await authenticate(key, id)).status).toBe(200)
      expect({ cacheControl, count: requestCount() }).toEqual({ cacheControl, count: 1 })
      app.clock.advance(10_000)
      expect((await authenticate(key, id)).status).toBe(200)
      expect({ cacheControl, count: requestCount() }).toEqual({ cacheControl, count: 2 })
    }
  })

  test('are used for 10 more minutes while the site fails, and then no longer; afterwards the client recovers', async () => {
    const key = createClientKey()
    const { id, path } = await publish(json([key.jwk]))
    expect((await authenticate(key, id)).status).toBe(200)
    pages.set(path, (_, res) => void res.writeHead(503).end())
    app.clock.advance(limits.minKeySetCacheLifetime)
    expect((await authenticate(key, id)).status).toBe(200)
    expect(requestedPaths).toHaveLength(2)
    app.clock.advance(limits.staleKeySetLifetime)
    expect(await authenticate(key, id)).toMatchObject(refused)
    expect(await deniedDetail(id)).toContain('jwks_uri responded with status 503; expected 200')
    pages.set(path, json([key.jwk]))
    app.clock.advance(limits.keySetFetchInterval)
    expect((await authenticate(key, id)).status).toBe(200)
  })
})

describe('limits per issuer and agent', () => {
  test('slow key sets of one issuer do not stop the clients of another', async () => {
    const other = await createRealm(app)
    const key = createClientKey()
    const { path } = await publish(json([key.jwk]))
    const pending: ServerResponse[] = []
    const slow = await Promise.all(
      Array.from({ length: limits.maxConcurrentKeySetFetchesPerIssuer }, () => publish((_, res) => pending.push(res))),
    )
    const waiting = Promise.all(slow.map(({ id }) => authenticate(key, id)))
    await waitUntil('the key sets are requested', () => pending.length === slow.length)
    const { id } = await publish(json([key.jwk]))
    expect(await authenticate(key, id)).toMatchObject(refused)
    expect(await deniedDetail(id)).toContain('too many key sets are being requested')
    const otherId = await registerClient(other, `${origin}${path}`)
    expect((await authenticate(key, otherId, other)).status).toBe(200)
    for (const res of pending) res.writeHead(503).end()
    await waiting
    expect((await authenticate(key, id)).status).toBe(200)
  })

  test('an assertion of an agent requests 3 key sets, and then uses the cached set that has the kid', async () => {
    const { owner, I } = realm.tenant
    const { id } = expectStatus(await owner.post(`${I}/agents`, { name: 'Scribe' }), 201).data
    const keys = Array.from({ length: 8 }, () => createClientKey())
    for (const [at, { jwk }] of keys.entries()) {
      pages.set(`/agent${at}.json`, json([jwk]))
      const body = { type: 'public_key', name: `Key ${at}`, jwks_uri: `${origin}/agent${at}.json` }
      expectStatus(await owner.post(`${I}/agents/${id}/verifiers`, body), 201)
    }
    const counts: number[] = []
    const statuses: number[] = []
    // The agent signs with each key twice. Each key set is requested by one of the first 3 assertions.
    for (const key of [keys[0]!, keys[0]!, keys[0]!, ...keys]) {
      statuses.push((await authenticate(key, id)).status)
      counts.push(requestedPaths.length)
    }
    expect(counts).toEqual([3, 6, 8, ...Array(keys.length).fill(8)])
    expect(statuses.slice(3)).toEqual(Array(keys.length).fill(200))
    // All sets are due, and the one with the kid is among the 3 that are requested.
    app.clock.advance(limits.maxKeySetCacheLifetime)
    for (const key of keys) {
      requestedPaths.length = 0
      expect((await authenticate(key, id)).status).toBe(200)
      expect(requestedPaths.length).toBeLessThanOrEqual(limits.maxKeySetFetchesPerAssertion)
      app.clock.advance(limits.maxKeySetCacheLifetime)
    }
  })
})

describe('a response without usable keys is refused, and its text is never in a response or in the audit log', () => {
  const secretText = 'internal-page-content'
  const privateJwk = (key: ClientKey) => ({ ...key.privateKey.export({ format: 'jwk' }), kid: key.kid })
  const withType =
    (type: string, body: string): Handler =>
    (_, res) =>
      void res.writeHead(200, { 'content-type': type }).end(body)

  const responses: [string, (key: ClientKey) => Handler, RegExp][] = [
    ['a private key', (key) => json([privateJwk(key)]), /no public key/],
    ['a key for encryption', (key) => json([{ ...key.jwk, use: 'enc' }]), /no public key/],
    ['a symmetric key', (key) => json([{ kty: 'oct', k: 'c2VjcmV0', kid: key.kid }]), /no public key/],
    [
      'a redirect',
      (key) => (_, res) => {
        pages.set('/target.json', json([key.jwk]))
        res.writeHead(302, { location: `${origin}/target.json` }).end()
      },
      /responded with status 302/,
    ],
    ['HTML', () => withType('text/html', `<p>${secretText}</p>`), /the Content-Type of jwks_uri is not JSON/],
    ['keys with the type HTML', (key) => withType('text/html', JSON.stringify({ keys: [key.jwk] })), /Content-Type/],
    ['invalid JSON', () => withType('application/json', secretText), /has no JSON Web Key Set/],
    ['no key set', () => withType('application/json', `{"keys":"${secretText}"}`), /has no JSON Web Key Set/],
    ['null', () => withType('application/json', 'null'), /has no JSON Web Key Set/],
    ['21 keys', (key) => json(Array(21).fill(key.jwk)), /has no JSON Web Key Set of at most 20 keys/],
    [
      'more than 64 KiB',
      (key) => json([{ ...key.jwk, more: 'x'.repeat(limits.maxKeySetBytes) }]),
      /larger than 65536 bytes/,
    ],
    ['status 500', () => (_, res) => void res.writeHead(500).end(secretText), /responded with status 500/],
    ['a closed connection', () => (_, res) => void res.destroy(), /jwks_uri cannot be read/],
  ]
  test.each(responses)('%s', async (_, handlerOf, detail) => {
    const key = createClientKey()
    const { id } = await publish(handlerOf(key))
    const response = await authenticate(key, id)
    expect(response).toMatchObject(refused)
    const logged = await deniedDetail(id)
    expect(logged).toMatch(detail)
    expect(JSON.stringify(response.body) + logged).not.toContain(secretText)
    expect(requestedPaths).not.toContain('/target.json')
  })

  test('no response within 3 seconds', async () => {
    const key = createClientKey()
    const { id } = await publish(() => undefined)
    expect(await authenticate(key, id)).toMatchObject(refused)
    expect(await deniedDetail(id)).toContain('did not respond in time')
    // Until the interval has passed, the site is not requested again, so this request does not wait.
    expect(await authenticate(key, id)).toMatchObject(refused)
    expect(requestedPaths).toHaveLength(1)
  })
})

describe('without ALLOW_PRIVATE_NETWORKS', () => {
  let publicApp: TestApp
  let publicRealm: Realm
  beforeAll(async () => {
    // Every name resolves to this machine.
    const lookup: LookupFunction = (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }])
    publicApp = await startApp({ outbound: () => openOutbound({ allowPrivate: false, lookup }) })
    publicRealm = await createRealm(publicApp)
  })
  afterAll(() => publicApp.close())

  test.each([
    'http://keys.example.com/jwks.json',
    'https://127.0.0.1/jwks.json',
    'https://[::1]/jwks.json',
    'https://10.0.0.1/jwks.json',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost/jwks.json',
    'https://keys.internal/jwks.json',
    'https://user:password@keys.example.com/jwks.json',
    'https://keys.example.com/jwks.json#fragment',
    'ftp://keys.example.com/jwks.json',
    'keys.example.com/jwks.json',
    'https://keys.example.com/a b',
  ])('jwks_uri %s cannot be registered', async (jwks_uri) => {
    const openid = { application_type: 'm2m', token_endpoint_auth_method: 'private_key_jwt', jwks_uri }
    const body = { name: 'Machine', type: 'internal', confidential: true, settings: { openid } }
    const response = await publicRealm.tenant.owner.post(`${publicRealm.tenant.I}/clients`, body)
    expectStatus(response, 400)
    expect(response.body.details[0].field).toBe('settings.openid.jwks_uri')
  })

  test('the address is checked when the connection is opened, so a name that resolves to a private address is refused', async () => {
    const key = createClientKey()
    const id = await registerClient(publicRealm, 'https://keys.example.com/jwks.json')
    expect(await authenticate(key, id, publicRealm)).toMatchObject(refused)
    expect(await deniedDetail(id, publicRealm)).toContain('The address is not public')
  })
})
