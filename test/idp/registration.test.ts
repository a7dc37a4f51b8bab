/** Dynamic client registration (RFC 7591): docs/contract.md#dynamic-client-registration. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { schedule } from '../../src/schedule.js'
import { eventsOfTarget } from '../contract/stored-rows.js'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { assertionFields, createClientKey, signAssertion } from '../setup/client-assertions.js'
import { sendRequest } from '../setup/http-request.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { headingOf, TestBrowser } from './browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf } from './realm.js'
import {
  createInitialAccessToken,
  initialAccessToken,
  publicMetadata,
  register,
  registered,
  sendJson,
  setRegistrationPolicy,
} from './registration-fixture.js'

const DAY = 86_400_000

let app: TestApp
/** An issuer with open registration. */
let open: Realm
/** An issuer whose registration requires an initial access token. */
let closed: Realm

beforeAll(async () => {
  app = await startApp()
  open = await Realm.create(app, 'Open')
  closed = await Realm.create(app, 'Closed')
  const policy = { enabled: true, allowed_scopes: ['notes:read', 'notes:write'] }
  await setRegistrationPolicy(open, {
    ...policy,
    initial_access_token_required: false,
    allowed_resources: ['https://mcp.example.com/'],
  })
  await setRegistrationPolicy(closed, policy)
  await open.createUser('ada@example.com')
})
afterAll(() => app.close())

const metadataOf = async (realm: Realm): Promise<AnyJson[]> =>
  Promise.all(
    ['openid-configuration', 'oauth-authorization-server'].map(
      async (name) => (await (await fetch(`${realm.url}/.well-known/${name}`)).json()) as AnyJson,
    ),
  )

const clientOf = async (realm: Realm, id: string): Promise<AnyJson> =>
  expectStatus(await realm.tenant.owner.get(`${realm.tenant.I}/clients/${id}`), 200).data

const runJob = (name: string) => schedule.find((job) => job.name === name)!.run(systemContext(app.gatehouse))

test('registration is off by default: both paths are 404 for every method, and the metadata does not name them', async () => {
  const plain = await Realm.create(app, 'Plain')
  for (const path of ['/register', '/register/cli_01kb3w8hxv6k8y1f4sn0q3a7pd']) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'])
      expect([method, (await sendJson(plain, path, { method })).status]).toEqual([method, 404])
  }
  for (const document of await metadataOf(plain)) {
    expect(document.registration_endpoint).toBeUndefined()
    expect(document.token_endpoint_auth_methods_supported).toEqual(['client_secret_basic', 'client_secret_post'])
  }
})

test('while registration is enabled, both metadata documents have registration_endpoint, and none as an authentication method', async () => {
  for (const document of await metadataOf(open)) {
    expect(document.registration_endpoint).toBe(`${open.url}/register`)
    expect(document.token_endpoint_auth_methods_supported).toContain('none')
  }
  const other = await Realm.create(app, 'Switching')
  await setRegistrationPolicy(other, { enabled: true, initial_access_token_required: false })
  const client = await registered(other)
  await setRegistrationPolicy(other, { enabled: false })
  expect((await register(other)).status).toBe(404)
  expect(
    (await sendJson(other, client.registration_client_uri, { method: 'GET', token: client.registration_access_token }))
      .status,
  ).toBe(404)
})

test('the response has the registered metadata with the defaults of RFC 7591, the client id, the secret and the registration access token', async () => {
  const response = await register(open, { redirect_uris: [REDIRECT_URI], unknown_member: { a: 1 }, client_uri: null })
  expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store'])
  expect(response.body).toEqual({
    client_id: expect.stringMatching(/^cli_/),
    client_id_issued_at: expect.any(Number),
    client_secret: expect.stringMatching(/^[\w-]{43}$/),
    client_secret_expires_at: 0,
    registration_access_token: expect.stringMatching(/^[\w-]{43}$/),
    registration_client_uri: `${open.url}/register/${response.body.client_id}`,
    client_name: 'Unnamed client',
    redirect_uris: [REDIRECT_URI],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
    application_type: 'web',
    scope: expect.stringMatching(/^openid( \w+)+ notes:read notes:write$/),
    id_token_signed_response_alg: 'RS256',
    subject_type: 'public',
  })
  expect(Math.abs(response.body.client_id_issued_at * 1000 - app.clock.now())).toBeLessThan(60_000)
})

test('a registered client is an ordinary client of the issuer: it is in lists, has settings, an ETag and an event', async () => {
  const metadata = publicMetadata({
    logo_uri: 'https://app.example.com/logo.png',
    client_uri: 'https://app.example.com',
    policy_uri: 'https://app.example.com/privacy',
    tos_uri: 'https://app.example.com/terms',
    contacts: ['ops@example.com'],
    software_id: '4f1f6f1c',
    software_version: '2.1',
    post_logout_redirect_uris: ['https://app.example.com/goodbye'],
    id_token_signed_response_alg: 'EdDSA',
    backchannel_logout_uri: 'https://app.example.com/logout',
    scope: 'openid notes:read',
  })
  const information = await registered(open, metadata)
  expect(information).toMatchObject({
    ...metadata,
    scope: expect.stringMatching(/^openid .*offline_access notes:read$/),
  })
  expect(information.client_secret).toBeUndefined()
  expect(information.client_secret_expires_at).toBeUndefined()
  const response = await open.tenant.owner.get(`${open.tenant.I}/clients/${information.client_id}`)
  expect(response.headers.get('etag')).toMatch(/^"\d+"$/)
  const { data } = expectStatus(response, 200)
  expect(data).toMatchObject({
    name: 'Notes',
    type: 'external',
    confidential: false,
    logo_url: 'https://app.example.com/logo.png',
    status: 'active',
    settings: {
      scopes: ['notes:read'],
      openid: {
        application_type: 'spa',
        response_signature_alg: 'EdDSA',
        contacts: ['ops@example.com'],
        software_id: '4f1f6f1c',
      },
    },
  })
  const [event] = await eventsOfTarget(app, information.client_id)
  expect(event).toMatchObject({
    type: 'client.created',
    authType: 'unauthenticated',
    actor: { type: 'unauthenticated', id: null },
    clientId: information.client_id,
    data: { name: 'Notes', registration: 'dynamic', initial_access_token_id: null },
  })
  // An administrator's change is part of the client information.
  const path = `${open.tenant.I}/clients/${information.client_id}`
  expectStatus(await open.tenant.owner.patch(path, { name: 'Renamed' }), 200)
  const read = await sendJson(open, information.registration_client_uri, {
    method: 'GET',
    token: information.registration_access_token,
  })
  expect(read.body.client_name).toBe('Renamed')
})

describe('metadata that a registered client cannot have is replaced, and the response contains the result', () => {
  // biome-ignore format: a table
  test.each<[string, object, object]>([
    ['unsupported grant types are left out', { grant_types: ['authorization_code', 'refresh_token', 'implicit', 'urn:ietf:params:oauth:grant-type:device_code'] }, { grant_types: ['authorization_code', 'refresh_token'] }],
    ['token exchange is left out', { grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:token-exchange'] }, { grant_types: ['authorization_code'] }],
    ['client_credentials beside authorization_code is left out', { grant_types: ['authorization_code', 'client_credentials'] }, { grant_types: ['authorization_code'] }],
    ['unsupported response types are left out', { response_types: ['code', 'token', 'id_token'] }, { response_types: ['code'] }],
    ['scopes that the issuer does not allow are left out', { scope: 'openid notes:write issuers.users:manage svc:all' }, { scope: expect.stringMatching(/offline_access notes:write$/) }],
    ['a public client with a loopback redirect URI is native', { redirect_uris: ['http://127.0.0.1/cb'] }, { application_type: 'native' }],
    ['a public client with a private-use scheme is native', { redirect_uris: ['com.example.app:/cb'] }, { application_type: 'native' }],
    ['a public client with application_type web stays web', { redirect_uris: ['http://127.0.0.1:8000/cb'], application_type: 'web' }, { application_type: 'web' }],
    ['a confidential client can be native', { application_type: 'native', token_endpoint_auth_method: 'client_secret_post' }, { application_type: 'native', token_endpoint_auth_method: 'client_secret_post', client_secret: expect.any(String) }],
    ['keys without private_key_jwt are left out', { jwks_uri: 'https://app.example.com/jwks.json' }, { token_endpoint_auth_method: 'none' }],
    ['names in other languages are ignored', { 'client_name#de': 'Notizen' }, { client_name: 'Notes' }],
    ['a secret that the client chooses is ignored', { client_secret: 'x'.repeat(43), token_endpoint_auth_method: 'client_secret_basic' }, { client_secret: expect.not.stringMatching(/^x+$/) }],
    ['a client id that the client chooses is ignored', { client_id: 'cli_01kb3w8hxv6k8y1f4sn0q3a7pd' }, { client_id: expect.not.stringMatching('cli_01kb3w8hxv6k8y1f4sn0q3a7pd') }],
  ])('%s', async (_, change, expected) => {
    const information = await registered(open, publicMetadata(change))
    expect(information).toMatchObject(expected)
    for (const name of ['jwks_uri', 'client_name#de']) expect(information).not.toHaveProperty(name)
  })
})

describe('hostile and invalid metadata is refused with an error that names the member', () => {
  const deep = `{"redirect_uris": ${'['.repeat(100)}${']'.repeat(100)}}`
  const uris = (...redirect_uris: unknown[]) => publicMetadata({ redirect_uris })
  // biome-ignore format: a table
  const table: [string, unknown, string, string][] = [
    ['no redirect URI', { client_name: 'x' }, 'invalid_redirect_uri', 'redirect_uris'],
    ['an empty list', uris(), 'invalid_redirect_uri', 'redirect_uris'],
    ['redirect URIs that are not a list', publicMetadata({ redirect_uris: REDIRECT_URI }), 'invalid_redirect_uri', 'redirect_uris'],
    ['a redirect URI that is not a string', uris(7), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['javascript:', uris('javascript:alert(1)'), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['data:', uris(REDIRECT_URI, 'data:text/html,x'), 'invalid_redirect_uri', 'redirect_uris[1]'],
    ['remote http', uris('http://app.example.com/cb'), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['a fragment', uris('https://app.example.com/cb#x'), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['credentials', uris('https://user:pass@app.example.com/cb'), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['a backslash', uris('https://app.example.com\\@evil.example/cb'), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['whitespace', uris('https://app.example.com/cb x'), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['dot segments', uris('https://app.example.com/a/../cb'), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['a wildcard', uris('https://*.example.com/cb'), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['a scheme without a domain', uris('cursor://anysphere/callback'), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['a private-use scheme of a web client', publicMetadata({ redirect_uris: ['com.example.app:/cb'], application_type: 'web' }), 'invalid_redirect_uri', 'redirect_uris[0]'],
    ['101 redirect URIs', uris(...Array.from({ length: 101 }, (_, n) => `https://app.example.com/${n}`)), 'invalid_redirect_uri', 'redirect_uris'],
    ['a post-logout redirect URI with javascript:', publicMetadata({ post_logout_redirect_uris: ['javascript:alert(1)'] }), 'invalid_client_metadata', 'post_logout_redirect_uris[0]'],
    ['an empty name', publicMetadata({ client_name: ' ' }), 'invalid_client_metadata', 'client_name'],
    ['a long name', publicMetadata({ client_name: 'x'.repeat(201) }), 'invalid_client_metadata', 'client_name'],
    ['a name that is an object', publicMetadata({ client_name: {} }), 'invalid_client_metadata', 'client_name'],
    ['a logo that is not a URL', publicMetadata({ logo_uri: 'javascript:alert(1)' }), 'invalid_client_metadata', 'logo_uri'],
    ['a home page that is not a URL', publicMetadata({ client_uri: 'data:x' }), 'invalid_client_metadata', 'client_uri'],
    ['only the implicit grant', publicMetadata({ grant_types: ['implicit'] }), 'invalid_client_metadata', 'grant_types'],
    ['only token exchange', publicMetadata({ grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange'] }), 'invalid_client_metadata', 'grant_types'],
    ['client_credentials without an initial access token', { grant_types: ['client_credentials'] }, 'invalid_client_metadata', 'initial access token'],
    ['no response type for the code flow', publicMetadata({ response_types: [] }), 'invalid_client_metadata', 'response_types'],
    ['only the response type token', publicMetadata({ response_types: ['token'] }), 'invalid_client_metadata', 'response_types'],
    ['an unknown authentication method', publicMetadata({ token_endpoint_auth_method: 'client_secret_jwt' }), 'invalid_client_metadata', 'token_endpoint_auth_method'],
    ['private_key_jwt at an issuer that does not accept it', publicMetadata({ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://app.example.com/jwks' }), 'invalid_client_metadata', 'token_endpoint_auth_method'],
    ['jwks and jwks_uri together', publicMetadata({ jwks: { keys: [] }, jwks_uri: 'https://app.example.com/jwks' }), 'invalid_client_metadata', 'jwks'],
    ['an unknown application type', publicMetadata({ application_type: 'm2m' }), 'invalid_client_metadata', 'application_type'],
    ['the signing algorithm none', publicMetadata({ id_token_signed_response_alg: 'none' }), 'invalid_client_metadata', 'id_token_signed_response_alg'],
    ['a symmetric signing algorithm', publicMetadata({ id_token_signed_response_alg: 'HS256' }), 'invalid_client_metadata', 'id_token_signed_response_alg'],
    ['pairwise subjects', publicMetadata({ subject_type: 'pairwise' }), 'invalid_client_metadata', 'subject_type'],
    ['encrypted ID tokens', publicMetadata({ id_token_encrypted_response_alg: 'RSA-OAEP' }), 'invalid_client_metadata', 'id_token_encrypted_response_alg'],
    ['a scope with a quote', publicMetadata({ scope: 'openid "x"' }), 'invalid_client_metadata', 'scope'],
    ['a scope that is a list', publicMetadata({ scope: ['openid'] }), 'invalid_client_metadata', 'scope'],
    ['a boolean that is a string', publicMetadata({ dpop_bound_access_tokens: 'yes' }), 'invalid_client_metadata', 'dpop_bound_access_tokens'],
    ['eleven contacts', publicMetadata({ contacts: Array(11).fill('a@example.com') }), 'invalid_client_metadata', 'contacts'],
    ['a list', [publicMetadata()], 'invalid_client_metadata', 'object'],
    ['null', 'null', 'invalid_client_metadata', 'object'],
    ['no JSON', '{"redirect_uris": [', 'invalid_client_metadata', 'JSON'],
    ['no body', '', 'invalid_client_metadata', 'JSON'],
    ['a repeated member', `{"redirect_uris": ["${REDIRECT_URI}"], "client_name": "a", "client_name": "b"}`, 'invalid_client_metadata', 'client_name'],
    ['a repeated member with an escape', `{"redirect_uris": ["${REDIRECT_URI}"], "redirect\\u005furis": ["https://evil.example/"]}`, 'invalid_client_metadata', 'redirect_uris'],
    ['__proto__', `{"redirect_uris": ["${REDIRECT_URI}"], "__proto__": {"confidential": true}}`, 'invalid_client_metadata', '__proto__'],
    ['deep nesting', deep, 'invalid_client_metadata', 'levels'],
    ['a NUL character', publicMetadata({ client_name: 'a\0b' }), 'invalid_client_metadata', 'NUL'],
  ]
  test.each(table)('%s', async (_, body, error, text) => {
    const response = await register(open, body)
    expect([response.status, response.body]).toEqual([400, { error, error_description: expect.stringContaining(text) }])
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('a body above 16 KiB is 413, and a form is not accepted', async () => {
    const large = await register(open, publicMetadata({ padding: 'x'.repeat(17_000) }))
    expect([large.status, large.body.error]).toEqual([413, 'payload_too_large'])
    const form = await open.postForm('/register', undefined, { redirect_uris: REDIRECT_URI })
    expect([form.status, form.body.error]).toEqual([400, 'invalid_client_metadata'])
  })

  test('the redirect URI rules of the issuer hold', async () => {
    const strict = await Realm.create(app, 'Strict')
    await setRegistrationPolicy(strict, { enabled: true, initial_access_token_required: false })
    const settings = { security: { redirect_uri_rules: { allow_loopback: false, allowed_hosts: ['app.example.com'] } } }
    expectStatus(await strict.tenant.owner.patch(strict.tenant.I, { settings }), 200)
    for (const uri of ['http://127.0.0.1/cb', 'https://evil.example/cb']) {
      const { status, body } = await register(strict, uris(uri))
      expect([uri, status, body.error]).toEqual([uri, 400, 'invalid_redirect_uri'])
    }
    expect((await register(strict)).status).toBe(201)
  })
})

describe('initial access tokens', () => {
  test('a token gives the scopes that were allowed when it was created and still are', async () => {
    const realm = await Realm.create(app, 'Later')
    await setRegistrationPolicy(realm, { enabled: true, allowed_scopes: ['notes:read', 'notes:write'] })
    const text = await initialAccessToken(realm)
    await setRegistrationPolicy(realm, { allowed_scopes: ['notes:read', 'notes:delete'] })
    const { scope } = await registered(realm, publicMetadata(), text)
    expect(scope).toMatch(/offline_access notes:read$/)
  })

  test('a registration without a token, or with a wrong one, is 401 with a challenge', async () => {
    const missing = await register(closed)
    expect([missing.status, missing.body.error, missing.headers.get('www-authenticate')]).toEqual([
      401,
      'invalid_token',
      `Bearer realm="${closed.url}"`,
    ])
    for (const text of ['wrong', await initialAccessToken(open)]) {
      const wrong = await register(closed, publicMetadata(), text)
      expect([wrong.status, wrong.body.error]).toEqual([401, 'invalid_token'])
      expect(wrong.headers.get('www-authenticate')).toContain('error="invalid_token"')
    }
    // A token that is presented must be valid, even if none is required.
    expect((await register(open, publicMetadata(), 'wrong')).status).toBe(401)
  })

  test('a token registers as many clients as it allows until it expires, and the event names it as the actor', async () => {
    const { token } = await createInitialAccessToken(closed, { name: 'Partner', maxUses: 2 })
    const first = await registered(closed, publicMetadata(), token.tokenPlain)
    // A refused registration does not count as a use.
    expect((await register(closed, publicMetadata({ redirect_uris: [] }), token.tokenPlain)).status).toBe(400)
    await registered(closed, publicMetadata(), token.tokenPlain)
    expect((await register(closed, publicMetadata(), token.tokenPlain)).status).toBe(401)
    const [event] = await eventsOfTarget(app, first.client_id)
    expect(event).toMatchObject({
      authType: 'token',
      actor: { type: 'initial_access_token', id: token.id, name: 'Partner' },
      data: { registration: 'dynamic', initial_access_token_id: token.id },
    })
    const expiring = await createInitialAccessToken(closed, { maxUses: 5, expiresIn: 60 })
    await app.gatehouse.database.prisma.initialAccessToken.update({
      where: { id: expiring.token.id },
      data: { expiresAt: app.clock.now() - 1 },
    })
    expect((await register(closed, publicMetadata(), expiring.token.tokenPlain)).status).toBe(401)
  })

  test('of 20 parallel registrations with a token for one use, in two processes, exactly one succeeds', async () => {
    const second = await app.startSecondApp()
    try {
      const realms = [closed, new Realm(second, closed.tenant)]
      const text = await initialAccessToken(closed, { maxUses: 1 })
      const name = `Race ${text.slice(0, 8)}`
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, n) => register(realms[n % 2]!, publicMetadata({ client_name: name }), text)),
      )
      expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(401)])
      const { data } = expectStatus(
        await closed.tenant.owner.get(`${closed.tenant.I}/clients?name=${encodeURIComponent(name)}`),
        200,
      )
      expect(data).toHaveLength(1)
    } finally {
      await second.close()
    }
  })

  test('client_credentials requires a token; the client gets tokens with the allowed scopes', async () => {
    const text = await initialAccessToken(closed)
    const { token_endpoint_auth_method: _, ...machine } = publicMetadata({
      grant_types: ['client_credentials'],
      redirect_uris: [],
    })
    const information = await registered(closed, machine, text)
    expect(information).toMatchObject({ grant_types: ['client_credentials'], response_types: [], redirect_uris: [] })
    const client = { id: information.client_id, secret: information.client_secret }
    const response = await closed.postForm('/token', client, { grant_type: 'client_credentials' })
    expect([response.status, response.body.scope]).toEqual([200, 'notes:read notes:write'])
    const publicMachine = await register(
      closed,
      { ...machine, token_endpoint_auth_method: 'none' },
      await initialAccessToken(closed),
    )
    expect([publicMachine.status, publicMachine.body.error]).toEqual([400, 'invalid_client_metadata'])
  })
})

test('a client with private_key_jwt registers its keys, has no secret, and authenticates with an assertion', async () => {
  const realm = await Realm.create(app, 'Assertions')
  const openid_policy = { client_assertions: { enabled: true }, dynamic_registration: { enabled: true } }
  expectStatus(await realm.tenant.owner.patch(realm.tenant.I, { settings: { security: { openid_policy } } }), 200)
  const key = createClientKey()
  const metadata = {
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [key.jwk] },
    dpop_bound_access_tokens: false,
    require_pushed_authorization_requests: true,
  }
  const information = await registered(realm, metadata, await initialAccessToken(realm))
  expect(information).toMatchObject(metadata)
  for (const name of ['client_secret', 'client_secret_expires_at']) expect(information).not.toHaveProperty(name)
  const form = {
    grant_type: 'client_credentials',
    ...assertionFields(signAssertion(key, information.client_id, realm.url)),
  }
  expect((await realm.postForm('/token', undefined, form)).status).toBe(200)

  const update = { ...metadata, client_id: information.client_id }
  const configure = (body: object) =>
    sendJson(realm, information.registration_client_uri, {
      method: 'PUT',
      token: information.registration_access_token,
      body,
    })
  expect((await configure({ ...update, token_endpoint_auth_method: 'client_secret_basic' })).status).toBe(400)
  const broken = await configure({ ...update, jwks: { keys: [] } })
  expect([broken.status, broken.body]).toEqual([
    400,
    { error: 'invalid_client_metadata', error_description: expect.stringMatching(/^jwks/) },
  ])
  expect((await configure({ ...update, client_name: 'Renamed' })).status).toBe(200)
})

describe('users consent to a registered client', () => {
  async function signInToConsent(client: AnyJson, params: Record<string, string | undefined> = {}) {
    const browser = new TestBrowser()
    const begun = await open.openSignInPage({ id: client.client_id, secret: undefined }, params, browser)
    const page = await browser.submit(begun.page, { username: 'ada@example.com', password: PASSWORD })
    return { ...begun, page }
  }

  test('the page names the host of the redirect URI before the name of the client; the token has the requested resource and scopes', async () => {
    const client = await registered(open, publicMetadata({ client_name: 'Bank <b>' }))
    const resource = 'https://mcp.example.com/'
    const { page, browser, verifier } = await signInToConsent(client, { scope: undefined, resource })
    expect(headingOf(page)).toBe('Allow app.example.com to use your account?')
    expect(page.html).toContain('Bank &lt;b&gt;')
    for (const text of [resource, 'notes:read', 'notes:write']) expect(page.html).toContain(text)
    const redirect = redirectParametersOf(await browser.submit(page, { consent: 'yes' }))
    const form = { code: redirect['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
    const { status, body } = await open.exchangeCode({ id: client.client_id, secret: undefined }, form)
    expect(status).toBe(200)
    expect(jwtClaims(body.access_token)).toMatchObject({ aud: resource, scope: 'openid notes:read notes:write' })
  })

  test('single sign-on does not skip the consent, and prompt=none is consent_required', async () => {
    const browser = open.newBrowser()
    await open.signIn(await open.createClient(), 'ada@example.com', {}, browser)
    const id = (await registered(open)).client_id
    const { page } = await open.openSignInPage({ id, secret: undefined }, {}, browser)
    expect(headingOf(page)).toBe('Allow app.example.com to use your account?')
    const silent = await open.openSignInPage({ id, secret: undefined }, { prompt: 'none' }, browser)
    expect(redirectParametersOf(silent.page)['error']).toBe('consent_required')
  })

  test('essential claims beyond the scopes, to which the user has consented, are not given', async () => {
    const client = await registered(open)
    const claims = JSON.stringify({
      userinfo: { email: { essential: true } },
      id_token: { email: { essential: true } },
    })
    const { page, browser, verifier } = await signInToConsent(client, { claims })
    const redirect = redirectParametersOf(await browser.submit(page, { consent: 'yes' }))
    const form = { code: redirect['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
    const { body } = await open.exchangeCode({ id: client.client_id, secret: undefined }, form)
    expect(jwtClaims(body.id_token)).not.toHaveProperty('email')
    expect((await open.userinfo(body.access_token)).body).toEqual({ sub: jwtClaims(body.id_token).sub })
  })

  test('after a logout without a hint the browser is not redirected to a registered client', async () => {
    const post_logout_redirect_uris = ['https://evil.example/']
    const client = await registered(open, publicMetadata({ post_logout_redirect_uris }))
    const query = new URLSearchParams({
      client_id: client.client_id,
      post_logout_redirect_uri: 'https://evil.example/',
    })
    const page = await open.newBrowser().open(`${open.url}/logout?${query}`)
    expect([page.status, page.url]).toEqual([200, expect.stringContaining(open.url)])
  })

  test('a public client must use PKCE', async () => {
    const client = { id: (await registered(open)).client_id, secret: undefined }
    const { page } = await open.openSignInPage(client, { code_challenge: undefined, code_challenge_method: undefined })
    expect(redirectParametersOf(page)['error']).toBe('invalid_request')
  })

  const TRUSTED = 'https://trusted.example/cb'
  const EVIL = 'https://evil.example/cb'

  /** Signs the user in and consents. */
  async function consentTo(realm: Realm, client: AnyJson, redirect_uri: string) {
    const id = { id: client.client_id, secret: undefined }
    const { page, browser, verifier } = await realm.openSignInPage(id, { redirect_uri, scope: undefined })
    const consent = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
    const { code } = redirectParametersOf(await browser.submit(consent, { consent: 'yes' }))
    const { body } = await realm.exchangeCode(id, { code: code!, code_verifier: verifier, redirect_uri })
    return { id, browser, tokens: body }
  }

  test('the consent is remembered for the host of the redirect URI, not for another host', async () => {
    const client = await registered(open, publicMetadata({ redirect_uris: [TRUSTED, EVIL] }))
    const { id, browser } = await consentTo(open, client, TRUSTED)
    const silent = async (redirect_uri: string) =>
      redirectParametersOf((await open.openSignInPage(id, { redirect_uri, prompt: 'none' }, browser)).page)
    expect(await silent(TRUSTED)).toMatchObject({ code: expect.any(String) })
    expect(await silent(EVIL)).toMatchObject({ error: 'consent_required' })
    const asked = await open.openSignInPage(id, { redirect_uri: EVIL }, browser)
    expect(headingOf(asked.page)).toBe('Allow evil.example to use your account?')
    redirectParametersOf(await browser.submit(asked.page, { consent: 'yes' }))
    for (const uri of [TRUSTED, EVIL]) expect(await silent(uri)).toMatchObject({ code: expect.any(String) })
  })

  test('after an update that replaces the redirect URIs, the consent is asked for again', async () => {
    const client = await registered(open, publicMetadata({ redirect_uris: [TRUSTED] }))
    const { id, browser } = await consentTo(open, client, TRUSTED)
    const body = { ...publicMetadata({ redirect_uris: [EVIL] }), client_id: client.client_id }
    const token = client.registration_access_token
    expect((await sendJson(open, client.registration_client_uri, { method: 'PUT', token, body })).status).toBe(200)
    const { page } = await open.openSignInPage(id, { redirect_uri: EVIL, prompt: 'none' }, browser)
    expect(redirectParametersOf(page)['error']).toBe('consent_required')
  })

  test('the consent covers a loopback host with any port', async () => {
    const client = await registered(open, publicMetadata({ redirect_uris: ['http://127.0.0.1/cb'] }))
    const id = { id: client.client_id, secret: undefined }
    // The test browser would follow a redirect to a loopback host.
    const paramsOf = (port: number) => ({ redirect_uri: `http://127.0.0.1:${port}/cb`, response_mode: 'form_post' })
    const { page, browser } = await open.openSignInPage(id, paramsOf(51001))
    const consent = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
    expect(headingOf(consent)).toBe('Allow 127.0.0.1 to use your account?')
    expect((await browser.submit(consent, { consent: 'yes' })).html).toContain('name="code"')
    const silent = await open.openSignInPage(id, { ...paramsOf(51002), prompt: 'none' }, browser)
    expect(silent.page.html).toContain('name="code"')
  })

  test('the page shows the scheme of a private-use redirect URI, even if the URI has a host', async () => {
    const redirect_uri = 'com.evil.app://bank.example/cb'
    const id = { id: (await registered(open, publicMetadata({ redirect_uris: [redirect_uri] }))).client_id }
    const { page, browser } = await open.openSignInPage({ ...id, secret: undefined }, { redirect_uri })
    const consent = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
    expect(headingOf(consent)).toBe('Allow com.evil.app: to use your account?')
  })

  test('scopes that the issuer no longer allows are not given: at authorization, refresh and with client credentials', async () => {
    const realm = await Realm.create(app, 'Narrowing')
    await setRegistrationPolicy(realm, {
      enabled: true,
      initial_access_token_required: false,
      allowed_scopes: ['notes:read', 'notes:write'],
    })
    await realm.createUser('ada@example.com')
    const client = await registered(realm, publicMetadata({ scope: 'openid offline_access notes:read notes:write' }))
    const machine = await registered(realm, { grant_types: ['client_credentials'] }, await initialAccessToken(realm))
    const id = { id: client.client_id, secret: undefined }
    const first = await realm.openSignInPage(id, { scope: 'openid offline_access notes:read notes:write' })
    const consent = await first.browser.submit(first.page, { username: 'ada@example.com', password: PASSWORD })
    const { code } = redirectParametersOf(await first.browser.submit(consent, { consent: 'yes' }))
    const form = { code: code!, code_verifier: first.verifier, redirect_uri: REDIRECT_URI }
    const { body: tokens } = await realm.exchangeCode(id, form)
    expect(jwtClaims(tokens.access_token).scope).toContain('notes:write')

    await setRegistrationPolicy(realm, { allowed_scopes: ['notes:read'] })
    const refreshed = await realm.postForm('/token', undefined, {
      grant_type: 'refresh_token',
      client_id: client.client_id,
      refresh_token: tokens.refresh_token,
    })
    expect(refreshed.status).toBe(200)
    expect(jwtClaims(refreshed.body.access_token).scope).toMatch(/notes:read$/)
    const again = await consentTo(realm, client, REDIRECT_URI)
    expect(jwtClaims(again.tokens.access_token).scope).toBe('openid notes:read')
    const credentials = { id: machine.client_id, secret: machine.client_secret }
    const request = { grant_type: 'client_credentials' }
    expect((await realm.postForm('/token', credentials, request)).body.scope).toBe('notes:read')
    const wide = await realm.postForm('/token', credentials, { ...request, scope: 'notes:write' })
    expect(wide.body.error).toBe('invalid_scope')
    const { registration_client_uri, registration_access_token: token } = client
    const read = await sendJson(realm, registration_client_uri, { method: 'GET', token })
    expect(read.body.scope).toMatch(/offline_access notes:read$/)
  })

  test('a resource that the issuer does not allow is invalid_target', async () => {
    const client = { id: (await registered(open)).client_id, secret: undefined }
    const { page } = await open.openSignInPage(client, { resource: 'https://other.example.com/' })
    expect(redirectParametersOf(page)['error']).toBe('invalid_target')
  })
})

describe('CORS', () => {
  const preflight = (realm: Realm, method: string) =>
    sendRequest(`${realm.url}/register`, {
      method: 'OPTIONS',
      headers: { origin: 'https://inspector.example', 'access-control-request-method': method },
    })

  test('scripts of every origin can register where no token is required, and read errors', async () => {
    const response = await preflight(open, 'POST')
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
    expect(response.headers.get('access-control-allow-headers')).toContain('Content-Type')
    for (const body of [publicMetadata(), {}])
      expect((await register(open, body)).headers.get('access-control-allow-origin')).toBe('*')
  })

  test('where a token is required, no origin is allowed', async () => {
    const response = await preflight(closed, 'POST')
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([204, null])
    expect((await register(closed)).headers.get('access-control-allow-origin')).toBeNull()
  })
})

test('a disabled issuer registers no client and serves no client information', async () => {
  const realm = await Realm.create(app, 'Disabled')
  await setRegistrationPolicy(realm, { enabled: true, initial_access_token_required: false })
  const client = await registered(realm)
  expectStatus(await realm.tenant.owner.patch(realm.tenant.I, { status: 'disabled' }), 200)
  expect([(await register(realm)).status, (await register(realm)).body.error]).toEqual([403, 'access_denied'])
  const read = await sendJson(realm, client.registration_client_uri, {
    method: 'GET',
    token: client.registration_access_token,
  })
  expect(read.status).toBe(403)
  await createInitialAccessToken(realm)
  expectStatus(await realm.tenant.owner.delete(realm.tenant.I), 204)
  const where = { issuerId: realm.tenant.issuerId }
  expect(await app.gatehouse.database.prisma.initialAccessToken.count({ where })).toBe(0)
  expect((await register(realm)).status).toBe(404)
})

describe('quotas', () => {
  test('registrations are limited per network and per initial access token, with Retry-After', async () => {
    const limits = { registration: { quota: 4, window: 60 }, registration_token: { quota: 2, window: 60 } }
    const limited = await startApp({ env: { RATE_LIMITS: JSON.stringify(limits) } })
    try {
      const realm = await Realm.create(limited, 'Limited')
      await setRegistrationPolicy(realm, { enabled: true })
      const [one, other] = [
        await initialAccessToken(realm, { maxUses: 10 }),
        await initialAccessToken(realm, { maxUses: 10 }),
      ]
      const statusOf = async (text: string) => (await register(realm, publicMetadata(), text)).status
      expect([await statusOf(one), await statusOf(one), await statusOf(one)]).toEqual([201, 201, 429])
      expect([await statusOf(other), await statusOf(other)]).toEqual([201, 429])
      const refused = await register(realm)
      expect([refused.status, refused.body.error]).toEqual([429, 'too_many_requests'])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    } finally {
      await limited.close()
    }
  })

  test('updates are limited per client', async () => {
    const limited = await startApp({ env: { RATE_LIMITS: '{"registration_update": {"quota": 2, "window": 3600}}' } })
    try {
      const realm = await Realm.create(limited, 'Limited')
      await setRegistrationPolicy(realm, { enabled: true, initial_access_token_required: false })
      const [client, other] = [await registered(realm), await registered(realm)]
      const update = async (one: AnyJson) => {
        const body = { ...publicMetadata(), client_id: one.client_id }
        const token = one.registration_access_token
        return (await sendJson(realm, one.registration_client_uri, { method: 'PUT', token, body })).status
      }
      expect([await update(client), await update(client), await update(client)]).toEqual([200, 200, 429])
      expect(await update(other)).toBe(200)
    } finally {
      await limited.close()
    }
  })

  test('an issuer has a maximal number of open registrations, in which removed clients do not count; a token still registers', async () => {
    const realm = await Realm.create(app, 'Full')
    await setRegistrationPolicy(realm, { enabled: true, initial_access_token_required: false })
    const { issuerId, accountId } = realm.tenant
    await app.gatehouse.database.pool.query(
      `WITH new_clients AS (
         INSERT INTO clients (id, account_id, issuer_id, name, type, confidential, settings, status, created_at, updated_at)
         SELECT 'cli_' || n, $2, $1, 'Filler', 'external', false, '{}', 'active', $3, $3 FROM generate_series(1, 1999) n RETURNING id)
       INSERT INTO client_registrations (client_id, account_id, issuer_id, token_hash, created_at)
       SELECT id, $2, $1, 'none', $3 FROM new_clients`,
      [issuerId, accountId, app.clock.now()],
    )
    const last = await registered(realm)
    const refused = await register(realm)
    expect([refused.status, refused.body.error, refused.headers.get('retry-after')]).toEqual([
      429,
      'too_many_requests',
      '3600',
    ])
    await registered(realm, publicMetadata(), await initialAccessToken(realm))
    await sendJson(realm, last.registration_client_uri, { method: 'DELETE', token: last.registration_access_token })
    const next = await registered(realm)
    expect((await register(realm)).status).toBe(429)
    // A client that an administrator has deleted counts while its row exists.
    expectStatus(await realm.tenant.owner.delete(`${realm.tenant.I}/clients/${next.client_id}`), 204)
    expect((await register(realm)).status).toBe(429)
  })
})

test('clients that no user signed in to are deleted: after a day, or after 30 days if they registered with a token; clients with client_credentials stay', async () => {
  const isDeleted = async (id: string) => (await open.tenant.owner.get(`${open.tenant.I}/clients/${id}`)).status === 404
  const unused = await registered(open)
  const used = await registered(open)
  const withToken = await registered(open, publicMetadata(), await initialAccessToken(open))
  const machine = await registered(open, { grant_types: ['client_credentials'] }, await initialAccessToken(open))
  const browser = new TestBrowser()
  const { page } = await open.openSignInPage({ id: used.client_id, secret: undefined }, {}, browser)
  const consent = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
  redirectParametersOf(await browser.submit(consent, { consent: 'yes' }))
  const setAge = (age: number) =>
    app.gatehouse.database.pool.query('UPDATE client_registrations SET created_at = $1', [app.clock.now() - age])
  const all = [unused, used, withToken, machine].map(({ client_id }) => client_id)
  const deleted = async () => Promise.all(all.map(isDeleted))

  await setAge(DAY - 60_000)
  await runJob('purge-unused-registrations')
  expect(await deleted()).toEqual([false, false, false, false])
  await setAge(DAY)
  await runJob('purge-unused-registrations')
  expect(await deleted()).toEqual([true, false, false, false])
  await setAge(30 * DAY)
  await runJob('purge-unused-registrations')
  expect(await deleted()).toEqual([true, false, true, false])
  const events = await eventsOfTarget(app, unused.client_id)
  expect(events.at(-1)).toMatchObject({ type: 'client.deleted', actor: { type: 'system' }, data: { reason: 'unused' } })
  expect(await app.gatehouse.database.prisma.clientRegistration.count({ where: { clientId: unused.client_id } })).toBe(
    0,
  )
})

test('the settings are validated, and weaker ones require the authority of the users of the issuer', async () => {
  const { owner, I } = closed.tenant
  const patch = (api: typeof owner, policy: object) =>
    api.patch(I, { settings: { security: { openid_policy: { dynamic_registration: policy } } } })
  for (const [policy, field] of [
    [{ enabled: 'yes' }, 'enabled'],
    [{ initial_access_token_required: null, allowed_scopes: 'notes:read' }, 'allowed_scopes'],
    [{ allowed_resources: ['not a uri'] }, 'allowed_resources[0]'],
  ] as [object, string][]) {
    const { status, body } = await patch(owner, policy)
    expect([status, body.details?.[0].field]).toEqual([
      400,
      `settings.security.openid_policy.dynamic_registration.${field}`,
    ])
  }
  const weak = await createRestrictedKey(closed.tenant, { scopes: ['issuers:manage'] })
  expect((await patch(weak, { allowed_scopes: ['issuers.users:manage'] })).status).toBe(403)
  const scopes = ['issuers.users:read']
  await closed.tenant.owner.post(`${I}/users`, { username_type: 'unique', username: 'boss', scopes })
  for (const policy of [{ initial_access_token_required: false }, { allowed_resources: ['https://evil.example/'] }])
    expect((await patch(weak, policy)).status).toBe(403)
})

test('responses, events and rows contain no secret and no token', async () => {
  const text = await initialAccessToken(open)
  const information = await registered(open, { redirect_uris: [REDIRECT_URI] }, text)
  const secrets = [text, information.client_secret, information.registration_access_token]
  const { prisma } = app.gatehouse.database
  const rows = JSON.stringify(
    [
      await prisma.event.findMany(),
      await prisma.clientRegistration.findMany(),
      await prisma.initialAccessToken.findMany(),
      await prisma.client.findMany(),
      await clientOf(open, information.client_id),
    ],
    (_, value) => (typeof value === 'bigint' ? Number(value) : value),
  )
  for (const secret of secrets) expect(rows).not.toContain(secret)
})
