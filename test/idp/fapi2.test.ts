/**
 * The FAPI 2.0 Security Profile of an issuer, from its settings to the tokens
 * (docs/contract.md#fapi-20-security-profile).
 */

import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { type AnyJson } from '../setup/api.js'
import { assertionFields, type ClientKey, createClientKey, signAssertion } from '../setup/client-assertions.js'
import { createProofKey, type ProofKey } from '../setup/dpop.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { headingOf } from './browser.js'
import {
  jwtClaims,
  PASSWORD,
  REDIRECT_URI,
  Realm,
  readResponse,
  redirectParametersOf,
  type TestClient,
} from './realm.js'

let app: TestApp
let realm: Realm
let client: TestClient
let clientKey: ClientKey
let proofKey: ProofKey

const ADA = 'ada@example.com'
const profile = { security: { openid_policy: { profile: 'fapi2' } } }

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  await realm.createUser(ADA)
  expectStatus(await realm.tenant.owner.patch(realm.tenant.I, { settings: profile }), 200)
  clientKey = createClientKey()
  proofKey = await createProofKey()
  client = await realm.createClient(assertionSettings(), { confidential: true })
})
afterAll(() => app.close())

const assertionSettings = () => ({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [clientKey.jwk] } })
const authentication = (of = client, claims = {}) => assertionFields(signAssertion(clientKey, of.id, realm.url, claims))

/** Posts a form of the client with an assertion and a proof; both can be left out. */
async function post(path: string, fields: Record<string, string>, { key = proofKey as ProofKey | null } = {}) {
  const url = `${realm.url}${path}`
  const headers: Record<string, string> = key ? { dpop: await key.prove('POST', url) } : {}
  return readResponse(await fetch(url, { method: 'POST', headers, body: new URLSearchParams(fields) }))
}

const verifier = randomBytes(32).toString('base64url')
const request = {
  response_type: 'code',
  redirect_uri: REDIRECT_URI,
  scope: 'openid',
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
}
const push = (fields: Record<string, string> = {}) =>
  post('/par', { ...request, ...authentication(), ...fields }, { key: null })

async function signIn(): Promise<string> {
  const { body } = await push()
  const query = new URLSearchParams({ client_id: client.id, request_uri: body.request_uri })
  const browser = realm.newBrowser()
  const page = await browser.open(`${realm.url}/authorize?${query}`)
  return redirectParametersOf(await browser.submit(page, { username: ADA, password: PASSWORD }))['code']!
}

const redeem = (code: string, options?: { key: ProofKey | null }) =>
  post(
    '/token',
    {
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT_URI,
      code_verifier: verifier,
      ...authentication(),
    },
    options,
  )
const refresh = (refresh_token: string, options?: { key: ProofKey | null }) =>
  post('/token', { grant_type: 'refresh_token', refresh_token, ...authentication() }, options)

test('a client signs a user in with a pushed request, an assertion, PKCE and a bound token', async () => {
  const { status, body } = await redeem(await signIn())
  expect([status, body.token_type]).toEqual([200, 'DPoP'])
  expect(jwtClaims(body.access_token).cnf).toEqual({ jkt: proofKey.thumbprint })
  const url = `${realm.url}/userinfo`
  const dpop = await proofKey.prove('GET', url, { accessToken: body.access_token })
  const response = await fetch(url, { headers: { authorization: `DPoP ${body.access_token}`, dpop } })
  expect(response.status).toBe(200)
})

test('refresh tokens are not rotated, and each refresh needs a proof', async () => {
  const tokens = (await redeem(await signIn())).body as AnyJson
  const refreshed = await refresh(tokens.refresh_token)
  expect([refreshed.status, refreshed.body.refresh_token]).toEqual([200, tokens.refresh_token])
  expect((await refresh(tokens.refresh_token)).status).toBe(200)
  expect((await refresh(tokens.refresh_token, { key: null })).body.error).toBe('invalid_request')
})

describe('other requests are refused', () => {
  test('an authorization request that was not pushed', async () => {
    const page = await realm.newBrowser().open(realm.authorizeUrl(client, request))
    expect(redirectParametersOf(page)).toMatchObject({ error: 'invalid_request' })
  })

  test('a token request without a proof', async () => {
    expect((await redeem(await signIn(), { key: null })).body.error).toBe('invalid_request')
  })

  test.each<[string, () => Record<string, string>]>([
    ['no code_challenge', () => ({ code_challenge: '', code_challenge_method: '' })],
    ['code_challenge_method plain', () => ({ code_challenge: verifier, code_challenge_method: 'plain' })],
  ])('a pushed request with %s', async (_, fields) => {
    const { status, body } = await push(fields())
    expect([status, body.error]).toEqual([400, 'invalid_request'])
  })

  test.each<[string, object]>([
    ['a redirect URI without TLS', { redirect_uris: ['http://127.0.0.1/cb'], application_type: 'native' }],
    ['the algorithm RS256', { response_signature_alg: 'RS256' }],
  ])('a client with %s', async (_, settings) => {
    const other = await realm.createClient({ ...assertionSettings(), ...settings }, { confidential: true })
    const redirect_uri = 'redirect_uris' in settings ? 'http://127.0.0.1/cb' : REDIRECT_URI
    const { status, body } = await push({ ...authentication(other), redirect_uri })
    expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(body.error_description).toContain('profile fapi2')
  })

  test('a client that authenticates with a secret, and a public client', async () => {
    const withSecret = await realm.createClient({}, { confidential: true })
    const isPublic = await realm.createClient()
    for (const one of [withSecret, isPublic]) {
      const { status, body } = await realm.postForm('/par', one, request)
      expect([status, body.error]).toEqual([401, 'invalid_client'])
      for (const path of ['/introspect', '/revoke']) {
        const response = await realm.postForm(path, one, { token: 'x' })
        expect([path, response.status, response.body.error]).toEqual([path, 401, 'invalid_client'])
      }
    }
    expect((await post('/revoke', { token: 'x', ...authentication() })).status).toBe(200)
    const machine = await realm.createClient(
      { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] },
      { confidential: true },
    )
    const token = await realm.postForm('/token', machine, { grant_type: 'client_credentials' })
    expect([token.status, token.body.error]).toEqual([401, 'invalid_client'])
  })

  test.each<[string, (issuer: string) => unknown]>([
    ['the token endpoint', (issuer) => `${issuer}/token`],
    ['a list', (issuer) => [issuer]],
  ])('an assertion with %s as aud', async (_, audience) => {
    const { status, body } = await push(authentication(client, { aud: audience(realm.url) }))
    expect([status, body.error]).toEqual([401, 'invalid_client'])
  })
})

test('the metadata names only what the profile allows', async () => {
  const { body } = await readResponse(await fetch(`${realm.url}/.well-known/openid-configuration`))
  expect(body).toMatchObject({
    require_pushed_authorization_requests: true,
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: expect.not.arrayContaining(['RS256']),
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  })
})

test('the profile is fapi2 or null, and the issuer accepts other requests again without it', async () => {
  const other = await Realm.create(app)
  const { owner, I } = other.tenant
  const invalid = { settings: { security: { openid_policy: { profile: 'fapi1' } } } }
  const refused = await owner.patch(I, invalid)
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('openid_policy.profile')])
  expectStatus(await owner.patch(I, { settings: profile }), 200)
  expectStatus(await owner.patch(I, { settings: { security: { openid_policy: { profile: null } } } }), 200)
  const web = await other.createClient({}, { confidential: true })
  expect(headingOf(await other.newBrowser().open(other.authorizeUrl(web)))).toBe('Sign in')
})

test('a code is valid for 60 seconds', async () => {
  const code = await signIn()
  app.clock.advance(61_000)
  const now = Math.floor(app.clock.now() / 1000)
  const url = `${realm.url}/token`
  const dpop = await proofKey.prove('POST', url, { claims: { iat: now } })
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
    ...authentication(client, { iat: now, exp: now + 60 }),
  })
  const response = await readResponse(await fetch(url, { method: 'POST', headers: { dpop }, body }))
  expect([response.status, response.body.error]).toEqual([400, 'invalid_grant'])
})
