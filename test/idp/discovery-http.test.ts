/** HTTP behavior of the document endpoints: 404, 405, 429 and caching (docs/contract.md#openid-connect-endpoints). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { system } from '../../src/kernel/context.js'
import { contextFor } from '../../src/platform/context.js'
import { notify } from '../../src/platform/postgres/notifications.js'
import { transaction } from '../../src/platform/postgres/transaction.js'
import { claimKeyPairs, publishInitialKeys } from '../../src/resources/issuers/signing-keys.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { Realm, readResponse } from './realm.js'

const PER_ADDRESS = 40
const LIMITS = JSON.stringify({ metadata: { quota: PER_ADDRESS, window: 600 } })

let app: TestApp
let second: TestApp
let realm: Realm
let gone: string

beforeAll(async () => {
  app = await startApp({ env: { RATE_LIMITS: LIMITS, TRUST_PROXY: '1' } })
  second = await app.startSecondApp()
  realm = await Realm.create(app)
  const deleted = await Realm.create(app, 'Gone')
  await deleted.tenant.owner.delete(deleted.tenant.I)
  gone = deleted.tenant.issuerId
})
afterAll(() => app.close())

let callers = 0
/** The headers of a caller with a new IP address, so that rate limits of earlier callers do not apply. */
const caller = () => ({ 'x-forwarded-for': `198.51.100.${++callers % 250}, 10.${callers >> 8}.0.${callers & 255}` })

const get = async (path: string, headers: Record<string, string> = {}, method = 'GET', at = app) =>
  readResponse(await fetch(`${at.idpUrl}${path}`, { method, headers: { ...caller(), ...headers } }))

/** The paths of the discovery documents and of the key set, by name. */
const forms: [string, (issuer: string) => string][] = [
  ['OpenID Connect Discovery 1.0, appended', (id) => `/${id}/.well-known/openid-configuration`],
  ['OpenID Connect Discovery 1.0, inserted', (id) => `/.well-known/openid-configuration/${id}`],
  ['RFC 8414, appended', (id) => `/${id}/.well-known/oauth-authorization-server`],
  ['RFC 8414, inserted', (id) => `/.well-known/oauth-authorization-server/${id}`],
  ['key set', (id) => `/${id}/jwks.json`],
]
const metadata = forms.slice(0, -1)

describe.each(forms)('%s', (name, pathOf) => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s is 405 with Allow and an OAuthError', async (method) => {
    const { status, headers, body } = await get(pathOf(realm.tenant.issuerId), {}, method)
    expect({ status, body }).toEqual({
      status: 405,
      body: { error: 'method_not_allowed', error_description: 'This path supports only GET, HEAD, OPTIONS.' },
    })
    expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-type')).toContain('application/json')
  })

  test('unknown, deleted and malformed issuer ids are 404 with an OAuthError', async () => {
    const unknown = `iss_${'0'.repeat(26)}`
    const responses = await Promise.all([gone, unknown].map((id) => get(pathOf(id))))
    for (const { status, headers, body } of responses) {
      expect({ status, body }).toEqual({
        status: 404,
        body: { error: 'not_found', error_description: 'There is no such issuer.' },
      })
      expect(headers.get('cache-control')).toBe('no-store')
    }
    for (const id of ['iss_', 'ISS_x', `${unknown}x`, 'x', '..', '%00']) {
      const { status, body } = await get(pathOf(id))
      expect({ id, status, error: body.error }).toEqual({ id, status: 404, error: 'not_found' })
    }
  })

  test('too many requests are 429 with Retry-After and an OAuthError; other callers are not affected', async () => {
    const same = { 'x-forwarded-for': `203.0.113.${forms.findIndex(([form]) => form === name)}` }
    for (let n = 0; n < PER_ADDRESS; n++) expect((await get(pathOf(realm.tenant.issuerId), same)).status).toBe(200)
    const { status, headers, body } = await get(pathOf(realm.tenant.issuerId), same)
    const wait = headers.get('retry-after')
    expect({ status, body }).toEqual({
      status: 429,
      body: { error: 'too_many_requests', error_description: `Too many requests; try again in ${wait} seconds.` },
    })
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('ratelimit')).toBe(`"default";r=0;t=${wait}`)
    expect((await get(pathOf(realm.tenant.issuerId))).status).toBe(200)
  })

  test('any origin may read the document, and may send a preflight request', async () => {
    const path = pathOf(realm.tenant.issuerId)
    const plain = await get(path, { origin: 'https://anywhere.example' })
    expect(plain.headers.get('access-control-allow-origin')).toBe('*')
    const response = await get(
      path,
      { origin: 'https://anywhere.example', 'access-control-request-method': 'GET' },
      'OPTIONS',
    )
    expect([response.status, response.headers.get('access-control-allow-methods')]).toEqual([204, 'GET'])
  })

  test('HEAD has the headers of GET, without the body', async () => {
    const path = pathOf(realm.tenant.issuerId)
    const [whole, head] = [await get(path), await get(path, {}, 'HEAD')]
    expect([head.status, head.body]).toEqual([200, ''])
    for (const header of ['etag', 'cache-control', 'content-type', 'content-length'])
      expect([header, head.headers.get(header)]).toEqual([header, whole.headers.get(header)])
  })
})

test('all four metadata URLs serve the same bytes', async () => {
  const texts = await Promise.all(
    metadata.map(async ([, pathOf]) =>
      (await fetch(`${app.idpUrl}${pathOf(realm.tenant.issuerId)}`, { headers: caller() })).text(),
    ),
  )
  expect(new Set(texts).size).toBe(1)
})

describe('caching of the key set', () => {
  const HEADER = 'public, max-age=3600, s-maxage=3600, stale-if-error=120'
  const path = () => `/${realm.tenant.issuerId}/jwks.json`

  test('Cache-Control and a strong ETag, the same in every process and response', async () => {
    const responses = [await get(path()), await get(path()), await get(path(), {}, 'GET', second)]
    const tags = new Set(responses.map(({ headers }) => headers.get('etag')))
    expect(tags.size).toBe(1)
    expect([...tags][0]).toMatch(/^"[\w-]+"$/)
    for (const { headers } of responses) expect(headers.get('cache-control')).toBe(HEADER)
  })

  test('If-None-Match: 304 with the same headers and no body, for a list, a weak ETag and *', async () => {
    const tag = (await get(path())).headers.get('etag')!
    for (const value of [tag, `W/${tag}`, `"a", ${tag}, "b"`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const { status, body, headers } = await get(
          path(),
          { 'if-none-match': value, 'cache-control': 'no-cache' },
          method,
        )
        expect({ value, status, body }).toEqual({ value, status: 304, body: '' })
        expect([headers.get('etag'), headers.get('cache-control')]).toEqual([tag, HEADER])
      }
    }
  })

  test('If-None-Match with another ETag, the ETag of another issuer, a value without quotes or an empty value is 200', async () => {
    const tag = (await get(path())).headers.get('etag')!
    const other = await Realm.create(app, 'Other')
    const others = (await get(`/${other.tenant.issuerId}/jwks.json`)).headers.get('etag')!
    for (const value of ['"x"', others, tag.slice(1, -1), '', `"${tag.slice(1, -2)}"`])
      expect([value, (await get(path(), { 'if-none-match': value })).status]).toEqual([value, 200])
  })

  test('new keys change the ETag, so the old ETag gets the new document', async () => {
    const before = await get(path())
    const tag = before.headers.get('etag')!
    const requestInfo = { id: 'req_test', ip: null, userAgent: null, method: null, path: null }
    await transaction(contextFor(app.gatehouse, system, requestInfo), async (tx) => {
      await publishInitialKeys(tx, realm.tenant, await claimKeyPairs(tx))
      await notify(tx, 'issuer', realm.tenant.issuerId)
    })
    const after = await get(path(), { 'if-none-match': tag })
    expect(after.status).toBe(200)
    expect(after.headers.get('etag')).not.toBe(tag)
    expect(after.body.keys.length).toBeGreaterThan(before.body.keys.length)
    // The JWK Set (RFC 7517) keeps keys that no longer sign, because tokens that they signed must still be verified.
    const kids = after.body.keys.map(({ kid }: { kid: string }) => kid)
    for (const { kid } of before.body.keys) expect(kids).toContain(kid)
  })
})

describe('the discovery document contains exactly these lists', () => {
  test.each([
    ['scopes_supported', ['openid', 'email', 'profile', 'address', 'phone']],
    ['response_types_supported', ['code']],
    ['grant_types_supported', ['authorization_code', 'refresh_token']],
    ['subject_types_supported', ['public']],
    ['id_token_signing_alg_values_supported', ['ES256', 'RS256', 'EdDSA']],
    ['token_endpoint_auth_methods_supported', ['client_secret_basic', 'client_secret_post']],
    ['code_challenge_methods_supported', ['S256']],
    ['frontchannel_logout_supported', false],
    ['backchannel_logout_supported', true],
    ['backchannel_logout_session_supported', true],
  ])('%s', async (key, value) => {
    for (const [, pathOf] of metadata)
      expect((await get(pathOf(realm.tenant.issuerId))).body).toMatchObject({ issuer: realm.url, [key]: value })
  })
})
