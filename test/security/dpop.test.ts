/**
 * Access tokens that are bound to a key at the Core API (docs/contract.md#sender-constrained-tokens, RFC 9449 section
 * 7): `/v1`, GraphQL and subscriptions.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, createApiClient } from '../setup/api.js'
import { createProofKey, type ProofKey } from '../setup/dpop.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

let app: TestApp
let second: TestApp
let tenant: Tenant
let key: ProofKey
let client: { id: string; secret: string }
/** An access token that is bound to `key`, and one that is not bound. */
let bound: string
let bearer: string

beforeAll(async () => {
  app = await startApp()
  second = await app.startSecondApp()
  tenant = await createTenant(app)
  key = await createProofKey()
  const openid = { application_type: 'm2m', grant_types: ['client_credentials'], allowed_resources: [app.baseUrl] }
  const settings = { openid, scopes: ['svc:all'] }
  const body = { name: 'Machine', type: 'internal', confidential: true, settings }
  client = expectStatus(await tenant.owner.post(`${tenant.I}/clients`, body), 201).data
  ;[bound, bearer] = await Promise.all([requestToken(key), requestToken(undefined)])
})
afterAll(() => app.close())

async function requestToken(proofKey: ProofKey | undefined): Promise<string> {
  const url = `${app.idpUrl}/${tenant.issuerId}/token`
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}`,
      ...(proofKey && { dpop: await proofKey.prove('POST', url) }),
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: app.baseUrl }),
  })
  return ((await response.json()) as AnyJson).access_token
}

interface ApiRequest {
  name: string
  method: string
  path(): string
  body?: string
}
const requests: ApiRequest[] = [
  { name: '/v1', method: 'GET', path: () => `${tenant.I}/users` },
  { name: 'GraphQL', method: 'POST', path: () => '/graphql', body: JSON.stringify({ query: '{ me { type } }' }) },
]

async function send({ method, path, body }: ApiRequest, headers: Record<string, string>, at = app, query = '') {
  return fetch(`${at.baseUrl}${path()}${query}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body }),
  })
}
const prove = (request: ApiRequest, accessToken: string | undefined = bound, more: AnyJson = {}, proofKey = key) =>
  proofKey.prove(request.method, `${app.baseUrl}${request.path()}`, { accessToken, ...more })

describe.each(requests.map((request) => [request.name, request] as const))('%s', (_, request) => {
  const expectRefused = (response: Response, error: string, scheme = 'DPoP') => {
    expect(response.status).toBe(401)
    const challenge = response.headers.get('www-authenticate')
    expect(challenge).toContain(`error="${error}"`)
    expect(challenge).toMatch(
      scheme === 'DPoP' ? /^DPoP realm="gatehouse", algs="ES256 PS256 EdDSA Ed25519"/ : /Bearer/,
    )
  }

  test('accepts a bound token with a proof of its key, whatever the query', async () => {
    for (const query of ['', '?limit=1']) {
      const headers = { authorization: `DPoP ${bound}`, dpop: await prove(request) }
      expect((await send(request, headers, app, query)).status).toBe(200)
    }
  })

  test('refuses a bound token as Bearer, also with a proof', async () => {
    expectRefused(await send(request, { authorization: `Bearer ${bound}` }), 'invalid_token')
    const headers = { authorization: `Bearer ${bound}`, dpop: await prove(request) }
    expectRefused(await send(request, headers), 'invalid_token')
  })

  test('refuses a token that is not bound with the scheme DPoP', async () => {
    expect((await send(request, { authorization: `Bearer ${bearer}` })).status).toBe(200)
    expectRefused(await send(request, { authorization: `DPoP ${bearer}` }), 'invalid_token')
    const headers = { authorization: `DPoP ${bearer}`, dpop: await prove(request, bearer) }
    expectRefused(await send(request, headers), 'invalid_token')
  })

  test('refuses an invalid token with the scheme DPoP', async () => {
    const headers = { authorization: 'DPoP a.b.c', dpop: await prove(request, 'a.b.c') }
    expectRefused(await send(request, headers), 'invalid_token')
  })

  test.each<[string, () => Promise<string | undefined>, string?]>([
    ['is missing', async () => undefined],
    ['is empty', async () => ''],
    ['is no JWT', async () => 'proof'],
    ['is sent twice', async () => `${await prove(request)}, ${await prove(request)}`],
    ['has another htm', () => prove(request, bound, { claims: { htm: 'DELETE' } })],
    ['has another htu', () => prove(request, bound, { claims: { htu: `${app.baseUrl}/v1/accounts` } })],
    [
      'has the htu of another host',
      () => prove(request, bound, { claims: { htu: `https://example.com${request.path()}` } }),
    ],
    ['has no ath', () => key.prove(request.method, `${app.baseUrl}${request.path()}`)],
    ['has the ath of another token', () => prove(request, bearer)],
    ['is old', () => prove(request, bound, { claims: { iat: Math.floor(Date.now() / 1000) - 310 } })],
    ['has no jti', () => prove(request, bound, { claims: { jti: undefined } })],
    ['has the private key', () => prove(request, bound, { header: { jwk: key.privateJwk } })],
    ['has a wrong signature', async () => `${(await prove(request)).slice(0, -8)}AAAAAAAA`],
    ['has another key', async () => prove(request, bound, {}, await createProofKey()), 'invalid_token'],
  ])('refuses a bound token whose proof %s', async (_, createProof, error = 'invalid_dpop_proof') => {
    const dpop = await createProof()
    expectRefused(await send(request, { authorization: `DPoP ${bound}`, ...(dpop !== undefined && { dpop }) }), error)
  })

  test('of 20 parallel requests with one proof at two servers, one succeeds', async () => {
    const headers = { authorization: `DPoP ${bound}`, dpop: await prove(request) }
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, at) => send(request, headers, at % 2 === 0 ? app : second)),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const response of responses.filter(({ status }) => status !== 200))
      expectRefused(response, 'invalid_dpop_proof')
  })

  test('without a credential names all schemes', async () => {
    expect((await send(request, {})).headers.get('www-authenticate')).toMatch(
      /^Basic realm="gatehouse", Bearer realm="gatehouse", resource_metadata="[^"]+", DPoP realm="gatehouse", algs="ES256/,
    )
  })
})

test('the error of a refused proof names the member that is wrong', async () => {
  const [request] = requests
  const dpop = await prove(request!, bound, { claims: { htm: 'POST' } })
  const response = await send(request!, { authorization: `DPoP ${bound}`, dpop })
  expect(await response.json()).toMatchObject({
    error: 'unauthorized',
    error_description: 'The DPoP proof must have the method of the request, GET, as htm.',
  })
})

test('an absolute request target, or one that is not a path, is refused and causes no server error', async () => {
  for (const path of ['//', '/%', '/v1/"x"', '/v1/[']) {
    const dpop = await key.prove('GET', `${app.baseUrl}${path}`, { accessToken: bound })
    const response = await fetch(`${app.baseUrl}${path}`, { headers: { authorization: `DPoP ${bound}`, dpop } })
    expect({ path, isServerError: response.status >= 500 }).toEqual({ path, isServerError: false })
  }
})

test('the protected resource metadata names the algorithms of proofs (RFC 9728)', async () => {
  const response = await fetch(`${app.baseUrl}/.well-known/oauth-protected-resource`)
  expect(await response.json()).toMatchObject({
    dpop_signing_alg_values_supported: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
  })
})

test('a personal token is a Bearer token', async () => {
  const users = `${tenant.I}/users`
  const { data: user } = expectStatus(
    await tenant.owner.post(users, { username_type: 'unique', username: 'ada', scopes: ['issuers.users:read'] }),
    201,
  )
  const token = { type: 'personal_token', name: 'script', restrictions: {} }
  const { token_plain } = expectStatus(await tenant.owner.post(`${users}/${user.id}/tokens`, token), 201).data
  expectStatus(await createApiClient(app.baseUrl, token_plain).get(users), 200)
  const [request] = requests
  const headers = { authorization: `DPoP ${token_plain}`, dpop: await prove(request!, token_plain) }
  expect((await send(request!, headers)).status).toBe(401)
})

test('a subscription needs one proof, and its stream continues while the token is valid', async () => {
  const request: ApiRequest = { name: '', method: 'POST', path: () => '/graphql' }
  const query = 'subscription ($a: ID!, $i: ID!) { eventAdded(accountId: $a, issuerId: $i) { id type } }'
  const body = JSON.stringify({ query, variables: { a: tenant.accountId, i: tenant.issuerId } })
  const accept = { accept: 'text/event-stream' }
  const refused = await send({ ...request, body }, { ...accept, authorization: `Bearer ${bound}` })
  expect(refused.status).toBe(401)
  await refused.body?.cancel()

  const dpop = await prove(request)
  const stream = await send({ ...request, body }, { ...accept, authorization: `DPoP ${bound}`, dpop })
  expect(stream.status).toBe(200)
  let text = ''
  const reader = (async () => {
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>) text += Buffer.from(chunk).toString()
  })()
  const createUser = async (username: string) =>
    expectStatus(await tenant.owner.post(`${tenant.I}/users`, { username_type: 'unique', username }), 201)
  for (const [username, count] of [
    ['one', 1],
    ['two', 2],
  ] as const) {
    await createUser(username)
    await waitUntil(`${count} events have arrived`, () => text.split('user.created').length > count, {
      details: () => text,
    })
  }
  expectStatus(await tenant.owner.patch(`${tenant.I}/clients/${client.id}`, { status: 'disabled' }), 200)
  await createUser('three')
  await reader
  expect(text).toContain('"status":401')
})
