/** What events of denied requests explain (docs/contract.md#refused-requests). */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { assertionFields, type ClientKey, createClientKey, signAssertion } from '../setup/client-assertions.js'
import { createProofKey } from '../setup/dpop.js'
import { eventsRecordedFromNow, type RecordedEvent } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'
import { POST_LOGOUT_REDIRECT_URI, REDIRECT_URI, Realm, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let web: TestClient
let spa: TestClient
let job: TestClient
let other: TestClient
let bound: TestClient
let signer: TestClient
const signerKey = createClientKey()
let recorded: (...begins: string[]) => Promise<RecordedEvent[]>

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  await realm.createUser('ada@example.com')
  const security = { openid_policy: { client_assertions: { enabled: true } } }
  await realm.tenant.owner.patch(realm.tenant.I, { settings: { security } })
})
afterAll(() => app.close())
beforeEach(async () => {
  ;[web, spa, job, other] = await Promise.all([
    realm.createClient({}, { confidential: true }),
    realm.createClient({ application_type: 'spa' }),
    realm.createClient(
      { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] },
      { confidential: true, settings: { scopes: ['orders:read'] } },
    ),
    realm.createClient({}, { confidential: true }),
  ])
  bound = await realm.createClient({ dpop_bound_access_tokens: true }, { confidential: true })
  signer = await realm.createClient(
    { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [signerKey.jwk] } },
    { confidential: true },
  )
  recorded = await eventsRecordedFromNow(app, realm.tenant.accountId)
})

const authorize = (client: TestClient, params: Record<string, string | undefined> = {}) =>
  fetch(
    realm.authorizeUrl(client, {
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      ...params,
    }),
    { redirect: 'manual' },
  )
const logout = (params: Record<string, string>) =>
  fetch(`${realm.url}/logout?${new URLSearchParams(params)}`, { redirect: 'manual' })
const basic = ({ id, secret }: TestClient) => `Basic ${btoa(`${id}:${encodeURIComponent(secret!)}`)}`
const newCode = async (client: TestClient, params = {}) => {
  const { redirect, verifier } = await realm.signIn(client, 'ada@example.com', params)
  return { code: redirect['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
}

const assertionOf = (key: ClientKey, claims = {}) => assertionFields(signAssertion(key, signer.id, realm.url, claims))

interface Expected {
  reason: string
  message: string | RegExp
  parameter?: string | null
  value?: string | null
}

const cases: [string, () => Promise<unknown>, Expected][] = [
  [
    'a redirect URI that is not registered',
    () => authorize(spa, { redirect_uri: 'https://evil.example/callback' }),
    {
      reason: 'redirect_uri_mismatch',
      message: `redirect_uri did not match \`https://evil.example/callback\`; allowed is \`${REDIRECT_URI}\`. The difference is the host.`,
      parameter: 'redirect_uri',
      value: 'https://evil.example/callback',
    },
  ],
  [
    'a redirect URI with a slash too many',
    () => authorize(spa, { redirect_uri: `${REDIRECT_URI}/` }),
    { reason: 'redirect_uri_mismatch', message: /The difference is the slash at the end\.$/ },
  ],
  [
    'a redirect URI with text that could be HTML',
    () => authorize(spa, { redirect_uri: 'https://evil.example/`<script>' }),
    { reason: 'redirect_uri_mismatch', message: /did not match/, value: null },
  ],
  [
    'no redirect URI',
    () => authorize(spa, { redirect_uri: undefined }),
    { reason: 'parameter_missing', message: 'redirect_uri is missing.', parameter: 'redirect_uri' },
  ],
  [
    'a repeated parameter',
    () => fetch(`${realm.authorizeUrl(spa)}&nonce=a&nonce=b`, { redirect: 'manual' }),
    { reason: 'parameter_repeated', message: 'nonce was sent more than once.', parameter: 'nonce' },
  ],
  [
    'a public client without PKCE',
    () => authorize(spa, { code_challenge: undefined, code_challenge_method: undefined }),
    { reason: 'pkce_missing', message: /^code_challenge is missing/, parameter: 'code_challenge' },
  ],
  [
    'the PKCE method plain',
    () => authorize(spa, { code_challenge_method: 'plain' }),
    { reason: 'pkce_method_unsupported', message: 'code_challenge_method `plain` is not supported.', value: 'plain' },
  ],
  [
    'a code_challenge that is too short',
    () => authorize(spa, { code_challenge: 'short' }),
    { reason: 'pkce_method_unsupported', message: /^code_challenge/, parameter: 'code_challenge', value: null },
  ],
  [
    'the response mode fragment',
    () => authorize(spa, { response_mode: 'fragment' }),
    { reason: 'response_mode_unsupported', message: 'response_mode `fragment` is not supported.', value: 'fragment' },
  ],
  [
    'the response type token',
    () => authorize(spa, { response_type: 'token' }),
    { reason: 'response_type_unsupported', message: 'response_type `token` is not supported.', value: 'token' },
  ],
  [
    'an unknown scope',
    () => authorize(spa, { scope: 'orders:write' }),
    {
      reason: 'scope_not_allowed',
      message: 'scope `orders:write` is not allowed for this client.',
      value: 'orders:write',
    },
  ],
  [
    'a scope that is not a scope of a machine-to-machine client',
    () => realm.postForm('/token', job, { grant_type: 'client_credentials', scope: 'orders:read orders:write' }),
    {
      reason: 'scope_not_allowed',
      message: 'scope `orders:write` is not allowed for this client.',
      value: 'orders:write',
    },
  ],
  [
    'a resource that is not allowed',
    () => authorize(spa, { resource: 'https://api.example.com' }),
    {
      reason: 'target_not_allowed',
      message: 'resource `https://api.example.com` is not allowed for this client.',
      parameter: 'resource',
      value: 'https://api.example.com',
    },
  ],
  [
    'an audience that is not allowed',
    () => authorize(spa, { audience: 'https://api.example.com' }),
    { reason: 'target_not_allowed', message: /^audience `https:/, parameter: 'audience' },
  ],
  [
    'an audience and a resource',
    () => authorize(spa, { audience: spa.id, resource: 'https://api.example.com' }),
    { reason: 'target_not_allowed', message: /cannot be requested together/ },
  ],
  [
    'prompt=none without a session',
    () => authorize(spa, { prompt: 'none' }),
    { reason: 'sign_in_required', message: /prompt=none/, parameter: 'prompt' },
  ],
  [
    'a client without a redirect URI',
    () => authorize(job),
    { reason: 'redirect_uri_mismatch', message: /; the client has no registered URI\.$/ },
  ],
  [
    'a wrong secret',
    () => realm.refresh({ id: web.id, secret: 'wrong-secret-'.repeat(3) }, 'x'),
    { reason: 'client_secret_wrong', message: 'The client secret is wrong.', parameter: null },
  ],
  [
    'a confidential client without a secret',
    () => realm.refresh({ id: web.id, secret: undefined }, 'x'),
    { reason: 'client_authentication_mismatch', message: /^The client did not authenticate/ },
  ],
  [
    'a public client with a secret',
    () => realm.refresh({ id: spa.id, secret: 'not-needed-'.repeat(4) }, 'x'),
    { reason: 'client_authentication_mismatch', message: /^The client did not authenticate/ },
  ],
  [
    'a grant type that the client does not have',
    () => realm.postForm('/token', web, { grant_type: 'client_credentials' }),
    {
      reason: 'grant_type_not_allowed',
      message: 'grant_type `client_credentials` is not allowed for this client.',
      value: 'client_credentials',
    },
  ],
  [
    'an unsupported grant type',
    () => realm.postForm('/token', web, { grant_type: 'password', username: 'ada', password: 'x' }),
    { reason: 'grant_type_unsupported', message: 'grant_type `password` is not supported.', value: 'password' },
  ],
  [
    'a token request as JSON',
    () =>
      fetch(`${realm.url}/token`, {
        method: 'POST',
        headers: { authorization: basic(web), 'content-type': 'application/json' },
        body: JSON.stringify({ grant_type: 'client_credentials' }),
      }),
    {
      reason: 'request_not_form',
      message: 'The request body must be a form, but its Content-Type is `application/json`.',
    },
  ],
  [
    'a token request with its parameters in the URL',
    () =>
      fetch(`${realm.url}/token?grant_type=client_credentials`, {
        method: 'POST',
        headers: { authorization: basic(web) },
      }),
    { reason: 'request_not_form', message: 'The request has no form: it has no Content-Type.' },
  ],
  [
    'a token request with GET',
    () => fetch(`${realm.url}/token?grant_type=authorization_code&client_id=${spa.id}`),
    { reason: 'request_not_form', message: 'The request was sent with GET; this endpoint needs POST.' },
  ],
  [
    'a pushed request with a redirect URI that is not registered',
    () =>
      realm.postForm('/par', web, {
        response_type: 'code',
        redirect_uri: 'https://evil.example/callback',
        scope: 'openid',
      }),
    {
      reason: 'redirect_uri_mismatch',
      message: /^redirect_uri did not match `https:\/\/evil/,
      parameter: 'redirect_uri',
    },
  ],
  [
    'a client that must push its requests',
    async () => {
      const openid = { require_pushed_authorization_requests: true }
      await authorize(await realm.createClient({ application_type: 'spa', ...openid }))
    },
    { reason: 'pushed_request_required', message: /must use pushed authorization requests/ },
  ],
  [
    'an unknown request_uri',
    () => authorize(spa, { request_uri: 'urn:ietf:params:oauth:request_uri:unknown' }),
    { reason: 'request_uri_invalid', message: /unknown, expired or used/, parameter: 'request_uri', value: null },
  ],
  [
    'a request object',
    () => authorize(spa, { request: 'e30.e30.' }),
    { reason: 'request_object_unsupported', message: 'Request objects are not supported.', value: null },
  ],
  [
    'a client assertion with a wrong signature',
    () => realm.postForm('/token', undefined, { grant_type: 'client_credentials', ...assertionOf(createClientKey()) }),
    { reason: 'client_assertion_refused', message: /no public key of the client verifies/, value: null },
  ],
  [
    'a client assertion that has expired',
    () => {
      const past = Math.floor(Date.now() / 1000) - 3600
      const assertion = assertionOf(signerKey, { iat: past, exp: past + 60 })
      return realm.postForm('/token', undefined, { grant_type: 'client_credentials', ...assertion })
    },
    { reason: 'client_assertion_refused', message: /expired/, value: null },
  ],
  [
    'a secret of a client that must sign assertions',
    () => realm.refresh({ id: signer.id, secret: 'some-old-secret-'.repeat(3) }, 'x'),
    { reason: 'client_authentication_mismatch', message: /must authenticate with private_key_jwt/ },
  ],
  [
    'no DPoP proof',
    async () => realm.exchangeCode(bound, await newCode(bound)),
    { reason: 'dpop_proof_refused', message: /must send a DPoP proof/ },
  ],
  [
    'a DPoP proof for another URL',
    async () => {
      const proof = await (await createProofKey()).prove('POST', 'https://other.example/token')
      const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x' })
      const headers = { authorization: basic(web), dpop: proof }
      return fetch(`${realm.url}/token`, { method: 'POST', headers, body })
    },
    { reason: 'dpop_proof_refused', message: /htu/ },
  ],
  [
    'an unknown code',
    () => realm.exchangeCode(web, { code: 'x'.repeat(43), redirect_uri: REDIRECT_URI }),
    {
      reason: 'code_invalid',
      message: 'The authorization code is unknown, expired or used.',
      parameter: 'code',
      value: null,
    },
  ],
  [
    'a code after 60 seconds',
    async () => {
      const code = await newCode(web)
      app.clock.advance(61_000)
      await realm.exchangeCode(web, code)
    },
    { reason: 'code_invalid', message: /^The authorization code/ },
  ],
  [
    'a code that was used before',
    async () => {
      const code = await newCode(web)
      await realm.exchangeCode(web, code)
      await realm.exchangeCode(web, code)
    },
    { reason: 'code_invalid', message: 'The authorization code was used before. Its tokens are revoked.' },
  ],
  [
    'a code of another client',
    async () => realm.exchangeCode(web, await newCode(other)),
    { reason: 'code_invalid', message: 'The authorization code belongs to another client.' },
  ],
  [
    'a token request with another redirect URI',
    async () => realm.exchangeCode(web, { ...(await newCode(web)), redirect_uri: `${REDIRECT_URI}/` }),
    {
      reason: 'code_redirect_uri_mismatch',
      message: /differs from the one/,
      parameter: 'redirect_uri',
      value: `${REDIRECT_URI}/`,
    },
  ],
  [
    'a wrong code_verifier',
    async () => realm.exchangeCode(web, { ...(await newCode(web)), code_verifier: 'w'.repeat(43) }),
    { reason: 'pkce_mismatch', message: /code_verifier/, parameter: 'code_verifier', value: null },
  ],
  [
    'an unknown refresh token',
    () => realm.refresh(web, 'x'.repeat(43)),
    { reason: 'refresh_token_invalid', message: 'The refresh token is unknown, expired or used.', value: null },
  ],
  [
    'a refresh token that was used before',
    async () => {
      const { refresh_token } = await realm.signInForTokens(web, 'ada@example.com')
      await realm.refresh(web, refresh_token)
      await realm.refresh(web, refresh_token)
    },
    { reason: 'refresh_token_invalid', message: 'The refresh token was used before. Its session has ended.' },
  ],
  [
    'a post-logout redirect URI that is not registered',
    () => logout({ client_id: spa.id, post_logout_redirect_uri: 'https://app.example.com/bye' }),
    {
      reason: 'post_logout_redirect_uri_mismatch',
      message: `post_logout_redirect_uri did not match \`https://app.example.com/bye\`; allowed is \`${POST_LOGOUT_REDIRECT_URI}\`. The difference is the path.`,
      parameter: 'post_logout_redirect_uri',
      value: 'https://app.example.com/bye',
    },
  ],
]

test.each(cases)('%s: the event names the reason, the parameter and the fix', async (_, send, expected) => {
  await send()
  const [event] = (await waitUntil('the event is recorded', async () => {
    const found = await recorded('token.denied', 'authorization.denied')
    return found.length > 0 ? found : undefined
  }))!
  const { reason, message, fix, parameter, value } = event!.data
  expect({ reason, message, parameter, value }).toMatchObject({
    ...expected,
    message: typeof expected.message === 'string' ? expected.message : expect.stringMatching(expected.message),
  })
  expect(fix).toMatch(/^[A-Z].{10,}\.$/)
})

test('a request that is not pushed, at an issuer with the FAPI 2.0 profile', async () => {
  const strict = await Realm.create(app)
  const { owner, I, accountId } = strict.tenant
  const client = await strict.createClient({}, { confidential: true })
  const policy = { client_assertions: { enabled: true }, profile: 'fapi2' }
  await owner.patch(I, { settings: { security: { openid_policy: policy } } })
  const strictEvents = await eventsRecordedFromNow(app, accountId)
  await fetch(strict.authorizeUrl(client), { redirect: 'manual' })
  const [event] = (await waitUntil('the event is recorded', async () => {
    const found = await strictEvents('authorization.denied')
    return found.length > 0 ? found : undefined
  }))!
  expect(event!.data).toMatchObject({ reason: 'pushed_request_required', error: 'invalid_request' })
})

test('a redirect URI mismatch lists at most 10 registered URIs, of which the message names 3', async () => {
  const redirect_uris = Array.from({ length: 12 }, (_, at) => `https://app.example.com/${at}`)
  const client = await realm.createClient({ application_type: 'spa', redirect_uris })
  await authorize(client, { redirect_uri: 'https://evil.example/callback' })
  const [event] = (await waitUntil('the event is recorded', async () => {
    const found = await recorded('authorization.denied')
    return found.length > 0 ? found : undefined
  }))!
  expect(event!.data['allowed_values']).toEqual(redirect_uris.slice(0, 10))
  expect(event!.data['message']).toBe(
    'redirect_uri did not match `https://evil.example/callback`; allowed are `https://app.example.com/0`, `https://app.example.com/1`, `https://app.example.com/2` and 9 more.',
  )
})

test('scopes and resources in another format are not recorded, because they could be secrets', async () => {
  const secret = 's'.repeat(43)
  await authorize(spa, { scope: secret })
  await authorize(spa, { resource: `https://user:${secret}@api.example.com` })
  await authorize(spa, { response_mode: secret })
  const events = await waitUntil('the events are recorded', async () => {
    const found = await recorded('authorization.denied')
    return found.length >= 3 ? found : undefined
  })
  expect(JSON.stringify(events)).not.toContain(secret)
})

test('requests of unknown clients that are not forms cause no event', async () => {
  const id = `cli_${'0'.repeat(26)}`
  await fetch(`${realm.url}/token?client_id=${id}`)
  await fetch(`${realm.url}/token?client_id=${spa.id}`)
  const events = await waitUntil('the event of the known client is recorded', async () => {
    const found = await recorded('token.denied')
    return found.length > 0 ? found : undefined
  })
  expect(events!.map(({ clientId }) => clientId)).toEqual([spa.id])
})
