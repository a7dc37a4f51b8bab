/**
 * DPoP proofs that are refused (docs/contract.md#sender-constrained-tokens, RFC 9449 section 4.3), at each endpoint of
 * the IdP that accepts proofs.
 */
import { constants, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { request as sendRaw } from 'undici'
import { createProofKey, type ProofKey, unsignedJwt } from '../setup/dpop.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { type IdpResponse, REDIRECT_URI, Realm, readResponse, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let other: Realm
let spa: TestClient
let machine: TestClient
let key: ProofKey
/** A token that is bound to `key`. */
let token: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  other = await Realm.create(app, 'Other')
  await realm.createUser('ada@example.com')
  spa = await realm.createClient({ application_type: 'spa' })
  const m2m = { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] }
  machine = await realm.createClient(m2m, { confidential: true, settings: { scopes: ['a:read'] } })
  key = await createProofKey()
  const { redirect, verifier } = await realm.signIn(spa, 'ada@example.com')
  const form = { grant_type: 'authorization_code', code: redirect['code']!, code_verifier: verifier }
  const dpop = await key.prove('POST', `${realm.url}/token`)
  const { body } = await realm.postForm('/token', spa, { ...form, redirect_uri: REDIRECT_URI }, { dpop })
  token = body.access_token
})
afterAll(() => app.close())

const now = () => Math.floor(Date.now() / 1000)

/** Returns the value or values of the header `DPoP`. `url` is that of the endpoint. */
type CreateHeader = (url: string, accessToken: string | undefined) => Promise<string | string[]>

const proofWith =
  (claims: Record<string, unknown>, header: Record<string, unknown> = {}): CreateHeader =>
  (url, accessToken) =>
    key.prove('POST', url, { accessToken, claims, header })

const proofAt =
  (change: (url: string) => string): CreateHeader =>
  (url, accessToken) =>
    key.prove('POST', change(url), { accessToken })

const refusedProofs: [string, CreateHeader][] = [
  ['the header is not a JWT', async () => 'proof'],
  [
    'the header has two proofs',
    async (url, accessToken) => [
      await key.prove('POST', url, { accessToken }),
      await key.prove('POST', url, { accessToken }),
    ],
  ],
  ['typ is JWT', proofWith({}, { typ: 'JWT' })],
  ['typ is missing', proofWith({}, { typ: undefined })],
  [
    'crit is present',
    async (url) => unsignedJwt({ typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk, crit: ['exp'] }, claimsOf(url)),
  ],
  ['alg is none', async (url) => unsignedJwt({ typ: 'dpop+jwt', alg: 'none', jwk: key.jwk }, claimsOf(url))],
  [
    'alg is none, without a signature',
    async (url) => unsignedJwt({ typ: 'dpop+jwt', alg: 'none', jwk: key.jwk }, claimsOf(url), ''),
  ],
  [
    'alg is HS256',
    async (url) => unsignedJwt({ typ: 'dpop+jwt', alg: 'HS256', jwk: { kty: 'oct', k: 'AAAA' } }, claimsOf(url)),
  ],
  ['alg is RS256', async (url, accessToken) => (await createProofKey('RS256')).prove('POST', url, { accessToken })],
  ['alg is ES384', async (url, accessToken) => (await createProofKey('ES384')).prove('POST', url, { accessToken })],
  ['jwk is missing', proofWith({}, { jwk: undefined })],
  ['jwk is not an object', proofWith({}, { jwk: 'key' })],
  ['jwk is symmetric', proofWith({}, { jwk: { kty: 'oct', k: 'AAAA' } })],
  [
    'jwk has the private key',
    (url, accessToken) => key.prove('POST', url, { accessToken, header: { jwk: key.privateJwk } }),
  ],
  ['jwk is not a point of the curve', proofWith({}, { jwk: { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' } })],
  ['jwk has an unknown curve', proofWith({}, { jwk: { kty: 'EC', crv: 'P-999', x: 'AAAA', y: 'AAAA' } })],
  [
    'jwk is the key of another signer',
    async (url, accessToken) => key.prove('POST', url, { accessToken, header: { jwk: (await createProofKey()).jwk } }),
  ],
  [
    'the signature is wrong',
    async (url, accessToken) => `${(await key.prove('POST', url, { accessToken })).slice(0, -8)}AAAAAAAA`,
  ],
  ['the RSA key has 1024 bits', async (url) => proofOfShortRsaKey(url)],
  ['htm is another method', proofWith({ htm: 'GET' })],
  ['htm is lower case', proofWith({ htm: 'post' })],
  ['htm is missing', proofWith({ htm: undefined })],
  ['htu is missing', proofWith({ htu: undefined })],
  ['htu is not a string', proofWith({ htu: ['x'] })],
  ['htu is not a URL', proofWith({ htu: '/token' })],
  ['htu is another path', proofAt((url) => `${url}/x`)],
  ['htu is another host', proofAt((url) => url.replace('127.0.0.1', 'example.com'))],
  ['htu is the same host by another name', proofAt((url) => url.replace('127.0.0.1', 'localhost'))],
  ['htu has another scheme', proofAt((url) => url.replace('http:', 'https:'))],
  [
    'htu is the endpoint of another issuer',
    proofAt((url) => url.replace(realm.tenant.issuerId, other.tenant.issuerId)),
  ],
  ['iat is missing', proofWith({ iat: undefined })],
  ['iat is not a number', proofWith({ iat: String(now()) })],
  ['iat is more than 300 seconds ago', (...at) => proofWith({ iat: now() - 310 })(...at)],
  ['iat is more than 60 seconds in the future', (...at) => proofWith({ iat: now() + 75 })(...at)],
  ['iat is very large', proofWith({ iat: 1e300 })],
  ['exp is in the past', (...at) => proofWith({ exp: now() - 10 })(...at)],
  ['jti is missing', proofWith({ jti: undefined })],
  ['jti is empty', proofWith({ jti: '' })],
  ['jti is not a string', proofWith({ jti: 7 })],
  ['jti has more than 256 characters', proofWith({ jti: 'j'.repeat(257) })],
]

const claimsOf = (htu: string) => ({ htm: 'POST', htu, iat: now(), jti: randomUUID() })

/** Creates a proof with a valid signature of an RSA key that is shorter than RFC 7518 section 3.5 requires. */
function proofOfShortRsaKey(url: string): string {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const header = { typ: 'dpop+jwt', alg: 'PS256', jwk: publicKey.export({ format: 'jwk' }) }
  const input = unsignedJwt(header, claimsOf(url), '').slice(0, -1)
  const padding = constants.RSA_PKCS1_PSS_PADDING
  return `${input}.${sign('sha256', Buffer.from(input), { key: privateKey, padding, saltLength: 32 }).toString('base64url')}`
}

interface Endpoint {
  path: string
  accessToken(): string | undefined
  send(dpop: string | string[]): Promise<IdpResponse>
}

/** Sends a POST request. `fetch` would combine the values of a repeated header. */
async function post(path: string, headers: Record<string, string | string[]>, body = ''): Promise<IdpResponse> {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const response = await sendRaw(`${realm.url}${path}`, { method: 'POST', headers: { ...form, ...headers }, body })
  const responseHeaders = Object.entries(response.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ])
  return readResponse(
    new Response(await response.body.text(), { status: response.statusCode, headers: responseHeaders }),
  )
}

const endpoints: [string, Endpoint][] = [
  [
    '/token',
    {
      path: '/token',
      accessToken: () => undefined,
      send: (dpop) =>
        post(
          '/token',
          { authorization: `Basic ${btoa(`${machine.id}:${machine.secret}`)}`, dpop },
          'grant_type=client_credentials',
        ),
    },
  ],
  ...['/userinfo', '/session'].map((path): [string, Endpoint] => [
    path,
    {
      path,
      accessToken: () => token,
      send: (dpop) => post(path, { authorization: `DPoP ${token}`, dpop }),
    },
  ]),
]

describe.each(endpoints)('%s refuses a proof', (path, { accessToken, send }) => {
  const expectRefused = ({ status, body, headers }: IdpResponse, error = 'invalid_dpop_proof') => {
    expect([status, body.error]).toEqual([path === '/token' ? 400 : 401, error])
    expect(body.error_description).toEqual(expect.any(String))
    if (path !== '/token') expect(headers.get('www-authenticate')).toMatch(new RegExp(`^DPoP .*error="${error}"`))
  }

  test.each(refusedProofs)('if %s', async (_, createHeader) => {
    expectRefused(await send(await createHeader(`${realm.url}${path}`, accessToken())))
  })

  test('that was used before', async () => {
    const proof = await key.prove('POST', `${realm.url}${path}`, { accessToken: accessToken() })
    expect((await send(proof)).status).toBe(200)
    const replay = await send(proof)
    expectRefused(replay)
    expect(replay.body.error_description).toContain('was used before')
  })

  test('that was used before, of which 20 parallel replays on two servers have one winner', async () => {
    const second = await app.startSecondApp()
    const proof = await key.prove('POST', `${realm.url}${path}`, { accessToken: accessToken() })
    const authorization =
      path === '/token' ? `Basic ${btoa(`${machine.id}:${machine.secret}`)}` : `DPoP ${accessToken()}`
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const { idpUrl } = at % 2 === 0 ? app : second
        const response = await fetch(`${idpUrl}/${realm.tenant.issuerId}${path}`, {
          method: 'POST',
          headers: { authorization, dpop: proof },
          body: new URLSearchParams(path === '/token' ? { grant_type: 'client_credentials' } : {}),
        })
        return response.status
      }),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status >= 500)).toEqual([])
  })

  test('but accepts an htu with a query, a fragment or a default spelling, and an iat within the limits', async () => {
    const url = `${realm.url}${path}`
    const { host } = new URL(url)
    for (const claims of [
      { htu: `${url}?a=b` },
      { htu: `${url}#c` },
      { htu: url.replace(`http://${host}`, `HTTP://${host}`) },
      { iat: now() - 280 },
      { iat: now() + 50 },
      { jti: randomUUID().padEnd(256, 'j') },
    ]) {
      const { status, body } = await send(await key.prove('POST', url, { accessToken: accessToken(), claims }))
      expect({ claims, status, error: body.error_description }).toEqual({ claims, status: 200, error: undefined })
    }
  })
})

describe.each(['/userinfo', '/session'])('%s refuses a proof', (path) => {
  test.each<[string, string | undefined]>([
    ['is missing', undefined],
    ['is the hash of another token', 'AAAA'],
  ])('whose ath %s', async (_, ath) => {
    const proof = await key.prove('POST', `${realm.url}${path}`, { accessToken: token, claims: { ath } })
    const { status, body } = await post(path, { authorization: `DPoP ${token}`, dpop: proof })
    expect([status, body.error]).toEqual([401, 'invalid_dpop_proof'])
  })
})

test('an empty header DPoP at the token endpoint is refused, and not answered with a Bearer token', async () => {
  const authorization = `Basic ${btoa(`${machine.id}:${machine.secret}`)}`
  const { status, body } = await post('/token', { authorization, dpop: '' }, 'grant_type=client_credentials')
  expect([status, body.error]).toEqual([400, 'invalid_dpop_proof'])
})

test('two keys may use the same jti', async () => {
  const claims = { jti: randomUUID() }
  const url = `${realm.url}/token`
  for (const one of [key, await createProofKey()])
    expect((await endpoints[0]![1].send(await one.prove('POST', url, { claims }))).status).toBe(200)
})

test('the description of a refusal names the member and its expected value', async () => {
  const proof = await key.prove('POST', `${realm.url}/token`, { claims: { htu: 'https://elsewhere.example/token' } })
  const { body } = await endpoints[0]![1].send(proof)
  expect(body.error_description).toBe(
    `the DPoP proof must have the URL of the request without query, ${realm.url}/token, as htu`,
  )
})
