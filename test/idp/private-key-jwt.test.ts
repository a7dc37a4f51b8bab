/** Client authentication with private_key_jwt (docs/contract.md#client-assertions). */
import { createHash, createHmac, createPublicKey, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import * as openid from 'openid-client'
import { expectStatus } from '../setup/actors.js'
import {
  assertionFields,
  type ClientKey,
  createClientKey,
  JWT_BEARER,
  signAssertion,
} from '../setup/client-assertions.js'
import { withForgedSignature } from '../setup/forged-jwt.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { type IdpResponse, jwtClaims, REDIRECT_URI, Realm, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let key: ClientKey
let machine: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Assertions')
  await enable()
  key = createClientKey()
  machine = await createMachine(key)
})
afterAll(() => app.close())

async function enable(enabled = true, at = realm): Promise<void> {
  const settings = { security: { openid_policy: { client_assertions: { enabled } } } }
  expectStatus(await at.tenant.owner.patch(at.tenant.I, { settings }), 200)
}

const noUris = { redirect_uris: [], post_logout_redirect_uris: [] }
const createMachine = (own: ClientKey, more: object = {}, at = realm): Promise<TestClient> =>
  at.createClient(
    {
      application_type: 'm2m',
      ...noUris,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [own.jwk] },
      ...more,
    },
    { confidential: true, settings: { scopes: ['orders:read'] } },
  )

const anonymous = undefined
const challengeOf = (verifier: string) => ({
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
})
const requestToken = (fields: Record<string, string>, at = realm): Promise<IdpResponse> =>
  at.postForm('/token', anonymous, { grant_type: 'client_credentials', ...fields })
const present = (assertion: string, fields: Record<string, string> = {}, at = realm): Promise<IdpResponse> =>
  requestToken({ ...assertionFields(assertion), ...fields }, at)
const sign = (changes?: Record<string, unknown>, header?: Record<string, unknown>): string =>
  signAssertion(key, machine.id, realm.url, changes, header)
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds

function expectInvalidClient(
  response: IdpResponse,
  description: string | RegExp = 'client authentication failed',
): void {
  expect({ status: response.status, ...response.body }).toEqual({
    status: 401,
    error: 'invalid_client',
    error_description: typeof description === 'string' ? description : expect.stringMatching(description),
  })
  expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
}

describe('off by default', () => {
  test('the metadata does not mention it, and assertions and keys are refused', async () => {
    const other = await Realm.create(app, 'Plain')
    const metadata = await (await fetch(`${other.url}/.well-known/openid-configuration`)).text()
    expect(metadata).not.toMatch(/private_key_jwt|auth_signing_alg_values_supported/)
    const body = {
      name: 'Machine',
      type: 'internal',
      confidential: true,
      settings: {
        openid: {
          application_type: 'm2m',
          token_endpoint_auth_method: 'private_key_jwt',
          jwks: { keys: [key.jwk] },
        },
      },
    }
    const refused = await other.tenant.owner.post(`${other.tenant.I}/clients`, body)
    expectStatus(refused, 400)
    expect(refused.body.details).toEqual([
      {
        field: 'settings.openid.token_endpoint_auth_method',
        code: 'not_enabled',
        message: expect.stringContaining('settings.security.openid_policy.client_assertions.enabled'),
      },
    ])
    const assertion = signAssertion(key, machine.id, other.url)
    expectInvalidClient(await present(assertion, {}, other), /not enabled.*openid_policy\.client_assertions/)
  })

  test('turning it off refuses the assertions of existing clients at once, and turning it on accepts them again', async () => {
    const other = await Realm.create(app, 'Switching')
    await enable(true, other)
    const client = await createMachine(key, {}, other)
    const request = () => present(signAssertion(key, client.id, other.url), {}, other)
    expect((await request()).status).toBe(200)
    await enable(false, other)
    expectInvalidClient(await request(), /not enabled/)
    await enable(true, other)
    expect((await request()).status).toBe(200)
  })

  test('both metadata documents list the method and its algorithms while it is on', async () => {
    const algorithms = ['ES256', 'EdDSA', 'Ed25519', 'RS256', 'PS256']
    for (const name of ['openid-configuration', 'oauth-authorization-server']) {
      const document = await (await fetch(`${realm.url}/.well-known/${name}`)).json()
      expect(document).toMatchObject({
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
        introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
        token_endpoint_auth_signing_alg_values_supported: algorithms,
        introspection_endpoint_auth_signing_alg_values_supported: algorithms,
        revocation_endpoint_auth_signing_alg_values_supported: algorithms,
      })
    }
  })
})

describe('a valid assertion', () => {
  test.each(['ES256', 'EdDSA', 'Ed25519', 'RS256', 'PS256'])('with %s authenticates the client', async (alg) => {
    const own = createClientKey(alg)
    const client = await createMachine(own)
    const { status, body } = await present(signAssertion(own, client.id, realm.url))
    expect({ status, scope: body.scope }).toEqual({ status: 200, scope: 'orders:read' })
    expect(jwtClaims(body.access_token)).toMatchObject({ sub: client.id, client_id: client.id })
  })

  const audiences: [string, (url: string) => unknown][] = [
    ['the issuer identifier', (url) => url],
    ['the token endpoint', (url) => `${url}/token`],
    ['a list of both', (url) => [url, `${url}/token`]],
  ]
  test.each(audiences)('may have %s as aud', async (_, audienceOf) => {
    expect((await present(sign({ aud: audienceOf(realm.url) }))).status).toBe(200)
  })

  test.each([
    ['client_id in the form that equals sub', {}, {}, true],
    ['typ client-authentication+jwt', {}, { typ: 'client-authentication+jwt' }, false],
    ['neither typ nor kid', {}, { typ: undefined, kid: undefined }, false],
    ['an exp that is 300 seconds ahead', { exp: () => inSeconds(299) }, {}, false],
    ['iat and nbf that are 10 seconds ahead', { iat: () => inSeconds(10), nbf: () => inSeconds(10) }, {}, false],
    ['no iat', { iat: undefined }, {}, false],
  ] as const)('may have %s', async (_, claims, header, sendsId) => {
    const changes = Object.fromEntries(
      Object.entries(claims).map(([name, value]) => [name, typeof value === 'function' ? value() : value]),
    )
    const response = await present(sign(changes, header), sendsId ? { client_id: machine.id } : {})
    expect(response.status).toBe(200)
  })

  test('authenticates at the code exchange, the refresh, introspection and revocation', async () => {
    const client = await realm.createClient(
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.jwk] } },
      { confidential: true },
    )
    expect(client.secret ?? null).toBeNull()
    await realm.createUser('ada@example.com')
    const fields = (aud = realm.url) => assertionFields(signAssertion(key, client.id, realm.url, { aud }))
    const { redirect, verifier } = await realm.signIn(client, 'ada@example.com')
    const code = { grant_type: 'authorization_code', code: redirect['code']!, code_verifier: verifier }
    const exchanged = await realm.postForm('/token', anonymous, { ...code, redirect_uri: REDIRECT_URI, ...fields() })
    expect(exchanged.status).toBe(200)
    const { refresh_token } = exchanged.body
    const refresh = { grant_type: 'refresh_token', refresh_token }
    const refreshed = await realm.postForm('/token', anonymous, { ...refresh, ...fields() })
    expect(refreshed.status).toBe(200)
    const token = refreshed.body.access_token
    const introspect = (aud?: string) => realm.postForm('/introspect', anonymous, { token, ...fields(aud) })
    expect((await introspect()).body).toMatchObject({ active: true, client_id: client.id })
    expect((await introspect(`${realm.url}/introspect`)).body.active).toBe(true)
    expectInvalidClient(await introspect(`${realm.url}/revoke`), /aud of the client assertion/)
    expect((await realm.postForm('/revoke', anonymous, { token, ...fields() })).status).toBe(200)
    expect((await introspect()).body).toEqual({ active: false })
  })

  test('openid-client v6 authenticates with PrivateKeyJwt, at discovery, client credentials and introspection', async () => {
    for (const alg of ['ES256', 'Ed25519', 'RS256', 'PS256']) {
      const own = createClientKey(alg)
      const client = await createMachine(own)
      const algorithm = {
        ES256: { name: 'ECDSA', namedCurve: 'P-256' },
        Ed25519: { name: 'Ed25519' },
        RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
        PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
      }[alg]!
      const pkcs8 = own.privateKey.export({ format: 'der', type: 'pkcs8' })
      const cryptoKey = await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign'])
      const configuration = await openid.discovery(
        new URL(realm.url),
        client.id,
        undefined,
        openid.PrivateKeyJwt({ key: cryptoKey, kid: own.kid }),
        { execute: [openid.allowInsecureRequests] },
      )
      const tokens = await openid.clientCredentialsGrant(configuration, { scope: 'orders:read' })
      const introspection = await openid.tokenIntrospection(configuration, tokens.access_token)
      expect({ alg, active: introspection.active }).toEqual({ alg, active: true })
    }
  })
})

const pushedRequest = { response_type: 'code', redirect_uri: REDIRECT_URI, scope: 'openid', ...challengeOf('verifier') }

describe('pushed authorization requests', () => {
  test('an assertion authenticates the client, with the issuer, the token endpoint or /par as aud', async () => {
    const client = await realm.createClient(
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.jwk] } },
      { confidential: true },
    )
    for (const aud of [realm.url, `${realm.url}/token`, `${realm.url}/par`]) {
      const fields = assertionFields(signAssertion(key, client.id, realm.url, { aud }))
      const { status, body } = await realm.postForm('/par', anonymous, { ...pushedRequest, ...fields })
      expect({ aud, status, uri: body.request_uri }).toEqual({ aud, status: 201, uri: expect.any(String) })
    }
    const forged = assertionFields(withForgedSignature(signAssertion(key, client.id, realm.url)))
    expectInvalidClient(await realm.postForm('/par', anonymous, { ...pushedRequest, ...forged }))
    const assertion = assertionFields(signAssertion(key, client.id, realm.url))
    expect((await realm.postForm('/par', anonymous, { ...pushedRequest, ...assertion })).status).toBe(201)
    expectInvalidClient(await realm.postForm('/par', anonymous, { ...pushedRequest, ...assertion }), /used before/)
  })
})

describe('single use', () => {
  test('a second use is refused, also after the assertion has expired and at another endpoint', async () => {
    const { access_token } = (await present(sign())).body
    const assertion = sign({ exp: inSeconds(50) })
    expect((await present(assertion)).status).toBe(200)
    const used = /the client assertion was used before; each assertion needs a new jti/
    expectInvalidClient(await present(assertion), used)
    const fields = { token: access_token, ...assertionFields(assertion) }
    expectInvalidClient(await realm.postForm('/introspect', anonymous, fields), used)
    app.clock.advance(60_000)
    expectInvalidClient(await present(assertion), /the client assertion has expired/)
    app.clock.advance(-60_000)
  })

  test('a jti is used once, even in an assertion with other claims, but another client can use it', async () => {
    const jti = randomUUID()
    expect((await present(sign({ jti }))).status).toBe(200)
    expectInvalidClient(await present(sign({ jti, exp: inSeconds(200) })), /used before/)
    const own = createClientKey()
    const other = await createMachine(own)
    expect((await present(signAssertion(own, other.id, realm.url, { jti }))).status).toBe(200)
  })

  test('an assertion with an invalid signature does not use the jti', async () => {
    const assertion = sign()
    expectInvalidClient(await present(withForgedSignature(assertion)))
    expect((await present(assertion)).status).toBe(200)
  })

  test('of 20 parallel uses at two servers exactly one succeeds', async () => {
    const second = await app.startSecondApp()
    const assertion = sign()
    const urls = [app, second].map((one) => `${one.idpUrl}/${realm.tenant.issuerId}`)
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        fetch(`${urls[at % 2]}/token`, {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'client_credentials', ...assertionFields(assertion) }),
        }),
      ),
    )
    const statuses = responses.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(19).fill(401)])
  })
})

describe('a refused assertion is 401 invalid_client', () => {
  const unsigned = (header: object, claims: object) =>
    [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const claims = () => jwtClaims(sign())
  const now = () => Math.floor(Date.now() / 1000)

  /** The assertion, and the error description if it does not depend on the client. */
  const table: [string, () => string, RegExp?][] = [
    ['that is no JWT', () => 'nonsense', /must be a signed JWT/],
    ['with alg none and no signature', () => `${unsigned({ alg: 'none' }, claims())}.`, /must be a signed JWT/],
    [
      'with alg none and a signature',
      () => `${unsigned({ alg: 'none' }, claims())}.AAAA`,
      /alg of the client assertion/,
    ],
    [
      'with HS256 and the public key as the secret',
      () => {
        const input = unsigned({ alg: 'HS256', kid: key.kid }, claims())
        const pem = createPublicKey({ key: key.jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
        return `${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`
      },
      /alg of the client assertion must be one of ES256, EdDSA, Ed25519, RS256, PS256/,
    ],
    ['with the alg of another key type', () => sign({}, { alg: 'RS256' })],
    ['with a critical header parameter', () => sign({}, { crit: ['b64'], b64: false }), /must be a signed JWT/],
    ['with the typ of an access token', () => sign({}, { typ: 'at+jwt' }), /typ of the client assertion/],
    ['with the typ of a DPoP proof', () => sign({}, { typ: 'dpop+jwt' }), /typ of the client assertion/],
    ['with an unknown kid', () => sign({}, { kid: 'unknown' })],
    [
      'with its own key in the header',
      () => {
        const own = createClientKey()
        return signAssertion(own, machine.id, realm.url, {}, { jwk: own.jwk, kid: undefined })
      },
    ],
    [
      'with the signature of another key',
      () => signAssertion({ ...createClientKey(), kid: key.kid }, machine.id, realm.url),
    ],
    ['with a forged signature', () => withForgedSignature(sign())],
    [
      'with another claim than the signed one',
      () => {
        const [header, , signature] = sign().split('.')
        return `${header}.${Buffer.from(JSON.stringify({ ...claims(), scope: 'svc:all' })).toString('base64url')}.${signature}`
      },
    ],
    ['without iss', () => sign({ iss: undefined }), /iss and sub/],
    ['with another iss', () => sign({ iss: 'https://idp.example.com' }), /iss and sub/],
    ['with another sub', () => sign({ sub: 'cli_other' }), /iss and sub/],
    ['without sub', () => sign({ sub: undefined }), /iss and sub/],
    ['with a sub that is not text', () => sign({ iss: { a: 1 }, sub: { a: 1 } }), /iss and sub/],
    ['without aud', () => sign({ aud: undefined }), /aud of the client assertion/],
    ['with an empty list as aud', () => sign({ aud: [] }), /aud of the client assertion/],
    ['with another issuer as aud', () => sign({ aud: `${app.idpUrl}/iss_01kb3w8hxv6k8y1f4sn0q3a7pd` }), /aud of/],
    ['with this issuer and another server as aud', () => sign({ aud: [realm.url, 'https://evil.example'] }), /aud of/],
    ['with aud in another spelling', () => sign({ aud: `${realm.url}/` }), /aud of the client assertion/],
    ['with another endpoint as aud', () => sign({ aud: `${realm.url}/userinfo` }), /aud of the client assertion/],
    ['without exp', () => sign({ exp: undefined }), /exp of the client assertion is required/],
    ['with exp as text', () => sign({ exp: String(inSeconds(60)) }), /exp of the client assertion is required/],
    ['that has expired', () => sign({ exp: inSeconds(-1) }), /has expired/],
    ['that expires now', () => sign({ exp: now() }), /has expired/],
    ['that expires more than 300 seconds ahead', () => sign({ exp: inSeconds(302) }), /at most 300 seconds/],
    ['that never expires', () => sign({ exp: Number.MAX_SAFE_INTEGER }), /at most 300 seconds/],
    [
      'with nbf over 30 seconds ahead',
      () => sign({ nbf: inSeconds(40) }),
      /nbf of the client assertion is in the future/,
    ],
    [
      'with iat over 30 seconds ahead',
      () => sign({ iat: inSeconds(40) }),
      /iat of the client assertion is in the future/,
    ],
    ['with iat as text', () => sign({ iat: 'now' }), /iat of the client assertion must be in Unix seconds/],
    ['without jti', () => sign({ jti: undefined }), /jti of the client assertion is required/],
    ['with an empty jti', () => sign({ jti: '' }), /jti of the client assertion is required/],
    ['with a jti that is not text', () => sign({ jti: 1 }), /jti of the client assertion is required/],
    ['with a jti of 256 characters', () => sign({ jti: 'x'.repeat(256) }), /1 to 255 characters/],
    ['with more than 8,192 characters', () => sign({ more: 'x'.repeat(8192) }), /at most 8192 characters/],
  ]
  test.each(table.map(([name, ...rest]) => [name, rest] as const))('%s', async (_, [assertion, description]) => {
    const expected = description ?? 'client authentication failed'
    expectInvalidClient(await present(assertion(), { client_id: machine.id }), expected)
    expectInvalidClient(await present(assertion()), expected)
  })

  test.each(['\u0000', '\ud800', 'é'])('with the sub %j, which cannot be a client id', async (sub) => {
    for (const path of ['/token', '/par', '/introspect', '/revoke']) {
      const fields = { token: 'x', grant_type: 'client_credentials', ...assertionFields(sign({ iss: sub, sub })) }
      const { status, body } = await realm.postForm(path, anonymous, fields)
      expect([path, status, body.error]).toEqual([path, 401, 'invalid_client'])
    }
  })

  test('of an unknown client', async () => {
    expectInvalidClient(await present(signAssertion(key, 'cli_01kb3w8hxv6k8y1f4sn0q3a7pd', realm.url)))
  })

  test('with the sub of one client and the client_id of another', async () => {
    const other = await createMachine(createClientKey())
    expectInvalidClient(await present(sign(), { client_id: other.id }), /client_id differs from sub/)
  })

  test('of a client that has another authentication method', async () => {
    const plain = await realm.createClient({ application_type: 'm2m', ...noUris }, { confidential: true })
    expectInvalidClient(await present(signAssertion(key, plain.id, realm.url)))
    const spa = await realm.createClient()
    expectInvalidClient(await present(signAssertion(key, spa.id, realm.url)))
  })

  test('of a disabled client, until it is active again', async () => {
    const client = await createMachine(key)
    const path = `${realm.tenant.I}/clients/${client.id}`
    expectStatus(await realm.tenant.owner.patch(path, { status: 'disabled' }), 200)
    expectInvalidClient(await present(signAssertion(key, client.id, realm.url)))
    expectStatus(await realm.tenant.owner.patch(path, { status: 'active' }), 200)
    expect((await present(signAssertion(key, client.id, realm.url))).status).toBe(200)
  })

  test('with the key that the client had before a change of jwks', async () => {
    const [old, next] = [createClientKey(), createClientKey()]
    const client = await createMachine(old)
    expect((await present(signAssertion(old, client.id, realm.url))).status).toBe(200)
    const settings = { openid: { jwks: { keys: [next.jwk] } } }
    expectStatus(await realm.tenant.owner.patch(`${realm.tenant.I}/clients/${client.id}`, { settings }), 200)
    expectInvalidClient(await present(signAssertion(old, client.id, realm.url)))
    expect((await present(signAssertion(next, client.id, realm.url))).status).toBe(200)
  })
})

describe('one authentication method per request', () => {
  const credentials = () => assertionFields(sign())

  test('an assertion with a secret in the form or with Basic is 400 invalid_request', async () => {
    const client = { id: machine.id, secret: 'any-secret' }
    for (const response of [
      await requestToken({ ...credentials(), client_id: machine.id, client_secret: 'any-secret' }),
      await realm.postForm('/token', client, { grant_type: 'client_credentials', ...credentials() }),
    ]) {
      expect({ status: response.status, ...response.body }).toEqual({
        status: 400,
        error: 'invalid_request',
        error_description: 'client authentication must only be provided using one mechanism',
      })
    }
  })

  test('a repeated, missing or wrong parameter is 400 invalid_request', async () => {
    const { client_assertion } = credentials()
    const bodies: [string, string][][] = [
      [
        ['client_assertion_type', JWT_BEARER],
        ['client_assertion', client_assertion],
        ['client_assertion', sign()],
      ],
      [
        ['client_assertion_type', JWT_BEARER],
        ['client_assertion_type', JWT_BEARER],
        ['client_assertion', sign()],
      ],
      [['client_assertion', client_assertion]],
      [
        ['client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer'],
        ['client_assertion', 'x.y.z'],
      ],
    ]
    for (const body of bodies) {
      const response = await realm.postForm('/token', anonymous, [['grant_type', 'client_credentials'], ...body])
      expect({ status: response.status, error: response.body.error }).toEqual({ status: 400, error: 'invalid_request' })
    }
  })

  test('a client with private_key_jwt cannot authenticate with a secret, not even with one that it had before', async () => {
    const client = await realm.createClient({ application_type: 'm2m', ...noUris }, { confidential: true })
    const path = `${realm.tenant.I}/clients/${client.id}`
    const grant = { grant_type: 'client_credentials' }
    expect((await realm.postForm('/token', client, grant)).status).toBe(200)
    const keys = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.jwk] } }
    expectStatus(await realm.tenant.owner.patch(path, { settings: { openid: keys } }), 200)
    expectInvalidClient(await realm.postForm('/token', client, grant))
    expect((await present(signAssertion(key, client.id, realm.url))).status).toBe(200)
    const back = { token_endpoint_auth_method: 'client_secret_basic', jwks: null }
    expectStatus(await realm.tenant.owner.patch(path, { settings: { openid: back } }), 200)
    expectInvalidClient(await realm.postForm('/token', client, grant))
    expectInvalidClient(await present(signAssertion(key, client.id, realm.url)))
    const { secret } = expectStatus(await realm.tenant.owner.post(`${path}/secret/rotate`), 200).data
    expect((await realm.postForm('/token', { id: client.id, secret }, grant)).status).toBe(200)
  })

  test('token_endpoint_auth_method client_secret_basic or client_secret_post: both secret methods are accepted', async () => {
    for (const token_endpoint_auth_method of ['client_secret_basic', 'client_secret_post']) {
      const openid = { application_type: 'm2m', ...noUris, token_endpoint_auth_method }
      const client = await realm.createClient(openid, { confidential: true })
      expect((await realm.postForm('/token', client, { grant_type: 'client_credentials' })).status).toBe(200)
      expect((await requestToken({ client_id: client.id, client_secret: client.secret! })).status).toBe(200)
    }
  })
})

test('failed assertions count like wrong secrets: after the limit the client gets 429 from this address, and others do not', async () => {
  const limited = await startApp({
    env: { RATE_LIMITS: JSON.stringify({ auth_failures: { quota: 3, window: 60 } }) },
  })
  try {
    const other = await Realm.create(limited, 'Limited')
    await enable(true, other)
    const client = await createMachine(key, {}, other)
    const valid = () => present(signAssertion(key, client.id, other.url), {}, other)
    expect((await valid()).status).toBe(200)
    const wrong = [
      withForgedSignature(signAssertion(key, client.id, other.url)),
      signAssertion(key, client.id, 'https://evil.example'),
      signAssertion(key, client.id, other.url, {}, { kid: 'unknown' }),
    ]
    for (const assertion of wrong) expect((await present(assertion, {}, other)).status).toBe(401)
    expect((await valid()).status).toBe(429)
    const neighbor = await createMachine(key, {}, other)
    expect((await present(signAssertion(key, neighbor.id, other.url), {}, other)).status).toBe(200)
  } finally {
    await limited.close()
  }
})

test('exp may have a fraction of a second (RFC 7519 section 2)', async () => {
  expect((await present(sign({ exp: inSeconds(60) + 0.1234567 }))).status).toBe(200)
})
