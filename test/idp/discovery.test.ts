/**
 * Discovery and key set: exact content, caching and unknown paths (docs/contract.md#discovery,
 * docs/contract.md#signing-keys).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { testServerUrl, withDatabaseName } from '../setup/database.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { Realm, readResponse, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let client: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  client = await realm.createClient({}, { confidential: true })
})
afterAll(() => app.close())

const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  readResponse(await fetch(`${app.idpUrl}${path}`, { method, headers }))

describe('metadata', () => {
  const addresses = (id: string) => [
    `/${id}/.well-known/openid-configuration`,
    `/${id}/.well-known/oauth-authorization-server`,
    `/.well-known/openid-configuration/${id}`,
    `/.well-known/oauth-authorization-server/${id}`,
  ]

  test('both documents, in both path forms, contain exactly these lists', async () => {
    for (const address of addresses(realm.tenant.issuerId)) {
      const { status, body, headers } = await get(address)
      expect(status).toBe(200)
      expect(headers.get('content-type')).toContain('application/json')
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(body).toEqual({
        issuer: realm.url,
        authorization_endpoint: `${realm.url}/authorize`,
        token_endpoint: `${realm.url}/token`,
        userinfo_endpoint: `${realm.url}/userinfo`,
        jwks_uri: `${realm.url}/jwks.json`,
        introspection_endpoint: `${realm.url}/introspect`,
        revocation_endpoint: `${realm.url}/revoke`,
        end_session_endpoint: `${realm.url}/logout`,
        check_session_iframe: `${realm.url}/check-session.html`,
        pushed_authorization_request_endpoint: `${realm.url}/par`,
        scopes_supported: ['openid', 'email', 'profile', 'address', 'phone'],
        response_types_supported: ['code'],
        response_modes_supported: ['query', 'form_post'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256', 'RS256', 'EdDSA'],
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
        introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
        revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
        claims_supported: expect.arrayContaining(['sub', 'iss', 'acr', 'email', 'email_verified', 'name', 'address']),
        claims_parameter_supported: true,
        acr_values_supported: expect.arrayContaining(['urn:svc:assurance:loa1', 'urn:svc:method:password']),
        prompt_values_supported: ['none', 'login', 'consent', 'select_account', 'create'],
        ui_locales_supported: expect.arrayContaining(['en', 'de']),
        service_documentation: `${app.baseUrl}/docs`,
        code_challenge_methods_supported: ['S256'],
        dpop_signing_alg_values_supported: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
        request_uri_parameter_supported: false,
        authorization_response_iss_parameter_supported: true,
        frontchannel_logout_supported: false,
        backchannel_logout_supported: true,
        backchannel_logout_session_supported: true,
      })
    }
  })

  test('unknown and deleted issuers are 404 with an OAuthError on every path', async () => {
    const deleted = await Realm.create(app, 'Gone')
    expect((await get(`/${deleted.tenant.issuerId}/jwks.json`)).status).toBe(200)
    expect((await deleted.tenant.owner.delete(deleted.tenant.I)).status).toBe(204)
    const unknown = `iss_${'0'.repeat(26)}`
    for (const id of [deleted.tenant.issuerId, unknown]) {
      for (const address of [...addresses(id), `/${id}/jwks.json`, `/${id}/authorize?client_id=x`]) {
        const { status, body } = await get(address)
        expect({ address, status, body }).toMatchObject({ status: 404, body: { error: 'not_found' } })
      }
    }
  })

  test.each(['/', '/nothing', '/iss_x/jwks.json', '/ISSUER/token', '/%00/token'])('%s is 404', async (path) => {
    expect((await get(path)).status).toBe(404)
  })

  test('paths are exact: no other case, no trailing slash', async () => {
    const { issuerId } = realm.tenant
    for (const path of [
      `/${issuerId}/JWKS.json`,
      `/${issuerId}/jwks.json/`,
      `/${issuerId}/Token`,
      `/${issuerId}//token`,
    ]) {
      expect((await get(path)).status).toBe(404)
    }
  })
})

describe('key set', () => {
  test('has a current and a next key of three algorithms, with public members only, use sig and a UUID as kid', async () => {
    const { body, headers } = await get(`/${realm.tenant.issuerId}/jwks.json`)
    expect(headers.get('cache-control')).toBe('public, max-age=3600, s-maxage=3600, stale-if-error=120')
    const shapes: Record<string, string[]> = {
      ES256: ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'],
      EdDSA: ['alg', 'crv', 'kid', 'kty', 'use', 'x'],
      RS256: ['alg', 'e', 'kid', 'kty', 'n', 'use'],
    }
    expect(body.keys.map((key: { alg: string }) => key.alg).sort()).toEqual([
      'ES256',
      'ES256',
      'EdDSA',
      'EdDSA',
      'RS256',
      'RS256',
    ])
    for (const key of body.keys) {
      expect(Object.keys(key).sort()).toEqual(shapes[key.alg])
      expect(key.use).toBe('sig')
      expect(key.kid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    }
    expect(Buffer.from(body.keys.find((key: { alg: string }) => key.alg === 'RS256').n, 'base64url')).toHaveLength(256)
  })

  test('two issuers never share a key', async () => {
    const other = await Realm.create(app, 'Other')
    const kids = async (id: string) => (await get(`/${id}/jwks.json`)).body.keys.map((key: { kid: string }) => key.kid)
    const all = [...(await kids(realm.tenant.issuerId)), ...(await kids(other.tenant.issuerId))]
    expect(new Set(all).size).toBe(12)
  })

  test.each(['/jwks.json', '/.well-known/openid-configuration'])(
    '%s is 304 if If-None-Match contains its ETag (RFC 9110 section 13.1.2)',
    async (path) => {
      const address = `/${realm.tenant.issuerId}${path}`
      const tag = (await get(address)).headers.get('etag')!
      expect(tag).toMatch(/^"[^"]+"$/)
      for (const value of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
        const response = await get(address, { 'if-none-match': value })
        expect({ value, status: response.status, body: response.body }).toEqual({ value, status: 304, body: '' })
        expect(response.headers.get('etag')).toBe(tag)
      }
      expect((await get(address, { 'if-none-match': '"other"' })).status).toBe(200)
      const head = await get(address, {}, 'HEAD')
      expect([head.status, head.body, head.headers.get('etag')]).toEqual([200, '', tag])
    },
  )
})

test.each([
  ['POST', '/jwks.json', 'GET, HEAD, OPTIONS'],
  ['DELETE', '/.well-known/openid-configuration', 'GET, HEAD, OPTIONS'],
  ['PUT', '/.well-known/oauth-authorization-server', 'GET, HEAD, OPTIONS'],
  ['GET', '/token', 'POST, OPTIONS'],
  ['GET', '/introspect', 'POST, OPTIONS'],
  ['GET', '/revoke', 'POST, OPTIONS'],
  ['PUT', '/authorize', 'GET, POST'],
  ['GET', '/par', 'POST, OPTIONS'],
  ['DELETE', '/userinfo', 'GET, POST, OPTIONS'],
  ['PUT', '/logout', 'GET, POST'],
])('%s %s is 405 with Allow', async (method, path, allow) => {
  const { status, headers, body } = await get(`/${realm.tenant.issuerId}${path}`, {}, method)
  expect([status, headers.get('allow'), body.error]).toEqual([405, allow, 'method_not_allowed'])
})

test.each([
  ['/token', 'POST, OPTIONS'],
  ['/introspect', 'POST, OPTIONS'],
  ['/revoke', 'POST, OPTIONS'],
  ['/userinfo', 'GET, POST, OPTIONS'],
  ['/session', 'GET, POST, OPTIONS'],
  ['/jwks.json', 'GET, HEAD, OPTIONS'],
])('OPTIONS %s lists the methods, also without CORS headers', async (path, allow) => {
  const address = `/${realm.tenant.issuerId}${path}`
  for (const headers of [{}, { origin: 'https://app.example.com', 'access-control-request-method': 'POST' }]) {
    const { status, headers: responseHeaders } = await get(address, headers, 'OPTIONS')
    expect([status, responseHeaders.get('allow')]).toEqual([204, allow])
  }
})

test('while the database is unavailable, cached documents are served and token requests are 503 with Retry-After; afterwards they work again', async () => {
  const document = `/${realm.tenant.issuerId}/jwks.json`
  expect((await get(document)).status).toBe(200)
  const name = new URL(app.databaseUrl).pathname.slice(1)
  const admin = new pg.Client({ connectionString: withDatabaseName(testServerUrl(), 'postgres') })
  await admin.connect()
  try {
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
    await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
    expect((await get(document)).status).toBe(200)
    const refused = await realm.postForm('/token', client, { grant_type: 'refresh_token', refresh_token: 'x' })
    expect([refused.status, refused.headers.get('retry-after'), refused.body.error]).toEqual([
      503,
      '2',
      'temporarily_unavailable',
    ])
  } finally {
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
    await admin.end()
  }
  const response = await realm.postForm('/token', client, { grant_type: 'refresh_token', refresh_token: 'x' })
  expect([response.status, response.body.error]).toEqual([400, 'invalid_grant'])
})
