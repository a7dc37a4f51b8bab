/**
 * Access tokens and refresh tokens that are bound to a key with DPoP (docs/contract.md#sender-constrained-tokens,
 * RFC 9449), at the endpoints of the IdP. dpop-proofs.test.ts has the proofs that are refused.
 */
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { createProofKey, type ProofKey } from '../setup/dpop.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import {
  jwtClaims,
  PASSWORD,
  REDIRECT_URI,
  Realm,
  readResponse,
  redirectParametersOf,
  type TestClient,
} from './realm.js'

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ORDERS = 'https://orders.example'
const STOCK = 'https://stock.example'
const m2m = { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] }

let app: TestApp
let realm: Realm
let spa: TestClient
let web: TestClient
let machine: TestClient
let key: ProofKey
let otherKey: ProofKey

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  await realm.createUser('ada@example.com')
  spa = await realm.createClient({ application_type: 'spa' })
  web = await realm.createClient({}, { confidential: true })
  machine = await realm.createClient(m2m, { confidential: true, settings: { scopes: ['a:read'] } })
  ;[key, otherKey] = await Promise.all([createProofKey(), createProofKey()])
})
afterAll(() => app.close())

type Params = Record<string, string>

/** Sends a token request with a proof of the key; without a key, without a proof. */
const requestToken = async (client: TestClient, params: Params, proofKey?: ProofKey) =>
  realm.postForm('/token', client, params, proofKey ? { dpop: await proofKey.prove('POST', `${realm.url}/token`) } : {})

const refresh = (client: TestClient, refresh_token: string, proofKey?: ProofKey) =>
  requestToken(client, { grant_type: 'refresh_token', refresh_token }, proofKey)

async function exchangeCode(client: TestClient, proofKey?: ProofKey, params: Params = {}) {
  const { redirect, verifier } = await realm.signIn(client, 'ada@example.com', params)
  const code = { code: redirect['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
  return {
    request: (otherProofKey = proofKey) =>
      requestToken(client, { grant_type: 'authorization_code', ...code }, otherProofKey),
  }
}

async function signIn(client: TestClient, proofKey?: ProofKey, params: Params = {}) {
  const { request } = await exchangeCode(client, proofKey, params)
  const { status, body } = await request()
  expect([status, body.error_description]).toEqual([200, undefined])
  return body
}

/** Sends an access token with a scheme, and with a proof of the key if there is one. */
async function present(
  path: string,
  token: string,
  scheme: 'Bearer' | 'DPoP' = 'DPoP',
  proofKey?: ProofKey,
  method = 'GET',
) {
  const proof = proofKey && (await proofKey.prove(method, `${realm.url}${path}`, { accessToken: token }))
  return readResponse(
    await fetch(`${realm.url}${path}`, {
      method,
      headers: { authorization: `${scheme} ${token}`, ...(proof && { dpop: proof }) },
    }),
  )
}

const introspect = async (client: TestClient, token: string) =>
  (await realm.postForm('/introspect', client, { token })).body

describe('a token request with a proof returns a token that is bound to its key', () => {
  test('for the authorization code grant and the refresh token grant, of public and confidential clients', async () => {
    for (const client of [spa, web]) {
      const tokens = await signIn(client, key)
      const refreshed = await refresh(client, tokens.refresh_token, key)
      for (const { token_type, access_token } of [tokens, refreshed.body]) {
        expect(token_type).toBe('DPoP')
        expect(jwtClaims(access_token).cnf).toEqual({ jkt: key.thumbprint })
      }
      expect(jwtClaims(tokens.id_token)).not.toHaveProperty('cnf')
    }
  })

  test('for the client credentials grant of a client and of an agent', async () => {
    const agents = `${realm.tenant.I}/agents`
    const { id } = expectStatus(await realm.tenant.owner.post(agents, { name: 'Scribe', scopes: ['a:read'] }), 201).data
    const verifier = { type: 'secret', name: null }
    const { secret } = expectStatus(await realm.tenant.owner.post(`${agents}/${id}/verifiers`, verifier), 201).data
    for (const client of [machine, { id, secret }]) {
      const { body } = await requestToken(client, { grant_type: 'client_credentials' }, key)
      expect(body.token_type).toBe('DPoP')
      expect(jwtClaims(body.access_token).cnf).toEqual({ jkt: key.thumbprint })
      expect(await introspect(machine, body.access_token)).toMatchObject(
        client === machine ? { active: true, token_type: 'DPoP', cnf: { jkt: key.thumbprint } } : { active: false },
      )
    }
  })

  test.each(['ES256', 'PS256', 'EdDSA', 'Ed25519'])('with a key for %s', async (alg) => {
    const { body } = await requestToken(machine, { grant_type: 'client_credentials' }, await createProofKey(alg))
    expect(body.token_type).toBe('DPoP')
  })

  test('and a request without a proof returns a Bearer token without cnf', async () => {
    const { body } = await requestToken(machine, { grant_type: 'client_credentials' })
    expect(body.token_type).toBe('Bearer')
    expect(jwtClaims(body.access_token)).not.toHaveProperty('cnf')
    expect(await introspect(machine, body.access_token)).toMatchObject({ token_type: 'Bearer' })
    expect(await introspect(machine, body.access_token)).not.toHaveProperty('cnf')
  })
})

describe('a refresh token of a public client is bound to the key', () => {
  test('a refresh without proof or with another key is invalid_grant, and the token stays valid', async () => {
    const { refresh_token } = await signIn(spa, key)
    for (const wrongKey of [undefined, otherKey]) {
      const { status, body } = await refresh(spa, refresh_token, wrongKey)
      expect([status, body.error]).toEqual([400, 'invalid_grant'])
    }
    expect((await refresh(spa, refresh_token, key)).status).toBe(200)
  })

  test('the successor is bound too', async () => {
    const { refresh_token } = await signIn(spa, key)
    const { body } = await refresh(spa, refresh_token, key)
    expect((await refresh(spa, body.refresh_token, otherKey)).body.error).toBe('invalid_grant')
    expect((await refresh(spa, body.refresh_token, key)).status).toBe(200)
  })

  test('a client that sends its first proof with a refresh binds the successor', async () => {
    const { refresh_token } = await signIn(spa)
    const { body } = await refresh(spa, refresh_token, key)
    expect((await refresh(spa, body.refresh_token)).body.error).toBe('invalid_grant')
    expect((await refresh(spa, body.refresh_token, key)).status).toBe(200)
  })

  test('that of a confidential client is not, so it can change its key', async () => {
    const { refresh_token } = await signIn(web, key)
    expect(await introspect(web, refresh_token)).not.toHaveProperty('cnf')
    const { body } = await refresh(web, refresh_token, otherKey)
    expect(jwtClaims(body.access_token).cnf).toEqual({ jkt: otherKey.thumbprint })
  })
})

describe('dpop_jkt binds the code to a key', () => {
  test('an exchange without proof or with another key is invalid_grant and does not consume the code', async () => {
    const { request } = await exchangeCode(web, undefined, { dpop_jkt: key.thumbprint })
    for (const wrongKey of [undefined, otherKey]) {
      const { status, body } = await request(wrongKey)
      expect([status, body.error]).toEqual([400, 'invalid_grant'])
    }
    expect((await request(key)).body.token_type).toBe('DPoP')
  })

  test('so does a proof in a pushed authorization request', async () => {
    const verifier = randomBytes(32).toString('base64url')
    const code_challenge = createHash('sha256').update(verifier).digest('base64url')
    const pushed = { response_type: 'code', redirect_uri: REDIRECT_URI, scope: 'openid', code_challenge }
    const push = async (url: string, more: Params = {}) =>
      realm.postForm(
        '/par',
        web,
        { ...pushed, code_challenge_method: 'S256', ...more },
        { dpop: await key.prove('POST', url) },
      )
    const { status, body } = await push(`${realm.url}/par`)
    expect(status).toBe(201)
    const query = new URLSearchParams({ client_id: web.id, request_uri: body.request_uri })
    const browser = realm.newBrowser()
    const page = await browser.open(`${realm.url}/authorize?${query}`)
    const result = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
    const form = { code: redirectParametersOf(result)['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
    const exchange = (proofKey: ProofKey) => requestToken(web, { grant_type: 'authorization_code', ...form }, proofKey)
    expect((await exchange(otherKey)).body.error).toBe('invalid_grant')
    expect((await exchange(key)).body.token_type).toBe('DPoP')

    expect((await push(`${realm.url}/token`)).body.error).toBe('invalid_dpop_proof')
    const mismatch = await push(`${realm.url}/par`, { dpop_jkt: otherKey.thumbprint })
    expect(mismatch.body.error).toBe('invalid_request')
  })

  test('another text than a thumbprint is invalid_request', async () => {
    const { redirect } = await realm.signIn(web, 'ada@example.com', { dpop_jkt: 'thumb' })
    expect(redirect).toMatchObject({ error: 'invalid_request', error_description: expect.stringContaining('dpop_jkt') })
  })
})

describe.each(['/userinfo', '/session'])('%s', (path) => {
  test.each(['GET', 'POST'])('%s accepts a bound token with a proof of its key', async (method) => {
    const { access_token } = await signIn(spa, key)
    expect((await present(path, access_token, 'DPoP', key, method)).status).toBe(200)
  })

  test('refuses a bound token as Bearer, in the header and in a form', async () => {
    const { access_token } = await signIn(spa, key)
    const inForm = await realm.postForm(path, undefined, { access_token })
    for (const { status, headers, body } of [await present(path, access_token, 'Bearer'), inForm]) {
      expect([status, body.error]).toEqual([401, 'invalid_token'])
      expect(headers.get('www-authenticate')).toMatch(/^DPoP .*error="invalid_token".*/)
      expect(headers.get('www-authenticate')).toContain('algs="ES256 PS256 EdDSA Ed25519"')
    }
  })

  test('refuses a bound token with a proof of another key', async () => {
    const { access_token } = await signIn(spa, key)
    const { status, body, headers } = await present(path, access_token, 'DPoP', otherKey)
    expect([status, body.error]).toEqual([401, 'invalid_token'])
    expect(headers.get('www-authenticate')).toMatch(/^DPoP /)
  })

  test('refuses a token that is not bound with the scheme DPoP', async () => {
    const { access_token } = await signIn(spa)
    const { status, body } = await present(path, access_token, 'DPoP', key)
    expect([status, body.error]).toEqual([401, 'invalid_token'])
    expect((await present(path, access_token, 'Bearer')).status).toBe(200)
  })

  test('without a token names both schemes', async () => {
    const { status, headers } = await readResponse(await fetch(`${realm.url}${path}`))
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="[^"]+", DPoP realm="[^"]+", algs="ES256 [^"]+"$/)
  })
})

describe('token exchange', () => {
  let shop: TestClient
  let actor: TestClient
  let org: string
  beforeAll(async () => {
    const { owner, I } = realm.tenant
    const scopes = ['stock:read']
    shop = await realm.createClient({ allowed_resources: [ORDERS] }, { confidential: true, settings: { scopes } })
    const members = { name: 'Tulips', default_member_scopes: scopes }
    org = expectStatus(await owner.post(`${I}/organizations`, members), 201).data.id
    const grace = await realm.createUser('grace@example.com')
    expectStatus(await owner.post(`${I}/organizations/${org}/members`, { member_id: grace }), 201)
    const token_exchange = {
      subject_resources: [{ resource: ORDERS, scopes }],
      target_resources: [{ resource: STOCK, scopes }],
    }
    actor = await realm.createClient({ ...m2m, grant_types: [EXCHANGE], token_exchange }, { confidential: true })
  })

  /** Signs in, with a key or without, and exchanges the access token with a proof of another key or without. */
  async function exchange(subjectKey: ProofKey | undefined, proofKey: ProofKey | undefined) {
    const { redirect, verifier } = await realm.signIn(shop, 'grace@example.com', {
      resource: ORDERS,
      scope: 'openid stock:read',
    })
    const code = { code: redirect['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
    const subject = await requestToken(shop, { grant_type: 'authorization_code', ...code }, subjectKey)
    expect(subject.status).toBe(200)
    const params = {
      grant_type: EXCHANGE,
      subject_token: subject.body.access_token,
      subject_token_type: ACCESS_TOKEN,
      resource: STOCK,
      scope: 'stock:read',
      org,
    }
    return requestToken(actor, params, proofKey)
  }

  test('a bound subject token requires a proof of the same key, to which the new token is bound', async () => {
    const { status, body } = await exchange(key, key)
    expect([status, body.token_type]).toEqual([200, 'DPoP'])
    expect(jwtClaims(body.access_token)).toMatchObject({ cnf: { jkt: key.thumbprint }, act: { sub: actor.id } })
    for (const wrongKey of [undefined, otherKey]) {
      const refused = await exchange(key, wrongKey)
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_request'])
      expect(refused.body.error_description).toContain('subject_token is bound to a key')
    }
  })

  test('a subject token that is not bound can be exchanged for a token bound to a key of the actor', async () => {
    const { body } = await exchange(undefined, otherKey)
    expect(body.token_type).toBe('DPoP')
    expect(jwtClaims(body.access_token).cnf).toEqual({ jkt: otherKey.thumbprint })
    expect((await exchange(undefined, undefined)).body.token_type).toBe('Bearer')
  })
})

describe('settings.openid.dpop_bound_access_tokens', () => {
  test('refuses each token request without a proof', async () => {
    const required = { dpop_bound_access_tokens: true }
    const boundWeb = await realm.createClient(required, { confidential: true })
    const boundMachine = await realm.createClient({ ...m2m, ...required }, { confidential: true })
    const { request } = await exchangeCode(boundWeb)
    const refused = [await request(), await requestToken(boundMachine, { grant_type: 'client_credentials' })]
    const { body } = await request(key)
    refused.push(await refresh(boundWeb, body.refresh_token))
    for (const { status, body } of refused) {
      expect([status, body.error]).toEqual([400, 'invalid_request'])
      expect(body.error_description).toContain('in the header DPoP')
    }
    expect((await refresh(boundWeb, body.refresh_token, key)).body.token_type).toBe('DPoP')
  })

  test('must be a boolean', async () => {
    const body = { name: 'x', type: 'external', confidential: true }
    const settings = { openid: { dpop_bound_access_tokens: 'yes' } }
    const { details } = expectStatus(
      await realm.tenant.owner.post(`${realm.tenant.I}/clients`, { ...body, settings }),
      400,
    )
    expect(details[0].field).toBe('settings.openid.dpop_bound_access_tokens')
  })
})

test('introspection of a bound refresh token has cnf, and revocation of a bound token needs no proof', async () => {
  const tokens = await signIn(web, key)
  const active = { active: true, token_type: 'DPoP', cnf: { jkt: key.thumbprint } }
  expect(await introspect(web, tokens.access_token)).toMatchObject(active)
  expect((await realm.postForm('/revoke', web, { token: tokens.access_token })).status).toBe(200)
  expect(await introspect(web, tokens.access_token)).toEqual({ active: false })
})

test.each(['/token', '/userinfo', '/session'])(
  'scripts may send the header DPoP to %s and read its challenge',
  async (path) => {
    const origin = new URL(REDIRECT_URI).origin
    const preflight = await fetch(`${realm.url}${path}`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,dpop',
      },
    })
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('dpop')
    const { access_token } = await signIn(spa, key)
    const response = await fetch(`${realm.url}${path}`, {
      method: 'POST',
      headers: { origin, authorization: `Bearer ${access_token}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(path === '/token' ? { client_id: spa.id } : {}),
    })
    expect(response.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
  },
)
