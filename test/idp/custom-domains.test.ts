/**
 * A verified domain that is assigned to an issuer serves its IdP (docs/contract.md#domains-and-payments,
 * docs/contract.md#domain-endpoints, docs/decisions/0016).
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Agent, request, fetch as undiciFetch } from 'undici'
import { runDueJobs } from '../../src/platform/jobs/queue.js'
import { tasks } from '../../src/schedule.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { createApiClient } from '../setup/api.js'
import { Passkey } from '../setup/authenticator.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { createProofKey } from '../setup/dpop.js'
import { createTestUser, passkeyOptionsOn } from '../setup/factors.js'
import { linkInMail, mailsSentTo } from '../setup/mail.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'
import { errorMessageOf, headingOf } from './browser.js'
import { FakeOidc, SECRET } from './login/upstream-providers.js'
import {
  type IdpResponse,
  jwtClaims,
  PASSWORD,
  POST_LOGOUT_REDIRECT_URI,
  REDIRECT_URI,
  Realm,
  readResponse,
  redirectParametersOf,
  type TestClient,
} from './realm.js'

let app: TestApp
let second: TestApp
let dns: TestDns
let plain: Realm
let custom: Realm
let web: TestClient
const HOST = 'login.acme.example.com'

/** Resolves every host name to this machine. */
const here = new Agent({
  connect: { lookup: (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]) },
})
const send = ((url: string, init: object) => undiciFetch(url, { ...init, dispatcher: here })) as unknown as typeof fetch

/** The issuer identifier under a host, with http and the port of IDP_URL. */
const urlAt = (host: string, issuerId: string, at: TestApp = app) =>
  `http://${host}:${new URL(at.gatehouse.config.idpUrl).port}/${issuerId}`

async function assignDomain({ owner, A, issuerId }: Tenant, host: string): Promise<void> {
  const { data } = expectStatus(await owner.post(`${A}/domains`, { host }), 201)
  dns.set(data.verification.name, data.verification.value)
  expectStatus(await owner.post(`${A}/domains/${host}/verify`), 200)
  expectStatus(await owner.post(`${A}/domains/${host}/assign`, { issuer_id: issuerId }), 200)
}

/** Requests a path of one process with these headers. Uses undici's `request`, because fetch cannot send another Host. */
async function sendRequest(path: string, headers: Record<string, string>, at = app): Promise<IdpResponse> {
  const { statusCode, body } = await request(`${at.idpUrl}${path}`, { headers })
  return readResponse(new Response(await body.text(), { status: statusCode, headers: { 'content-type': 'json' } }))
}
const issuerInMetadata = async (headers: Record<string, string>, at = app, id = plain.tenant.issuerId) => {
  const { status, body } = await sendRequest(`/${id}/.well-known/openid-configuration`, headers, at)
  return status === 200 ? body.issuer : status
}

beforeAll(async () => {
  dns = await startDns()
  app = await startApp({ env: { DNS_RESOLVER: dns.address, ALLOW_PRIVATE_NETWORKS: 'true' } })
  second = await app.startSecondApp()
  plain = await Realm.create(app)
  await plain.createUser('ada@example.com')
  await assignDomain(plain.tenant, HOST)
  custom = new Realm(app, plain.tenant, urlAt(HOST, plain.tenant.issuerId), send)
  web = await plain.createClient({}, { confidential: true, settings: { scopes: ['issuers:read'] } })
})
afterAll(async () => {
  await app.close()
  await dns.close()
  await here.destroy()
})

describe('the host of the request determines all URLs', () => {
  test('both metadata documents in both path forms; the key set is the same', async () => {
    const id = plain.tenant.issuerId
    for (const [realm, host] of [
      [custom, HOST],
      [plain, '127.0.0.1'],
    ] as const) {
      for (const path of [
        `/${id}/.well-known/openid-configuration`,
        `/${id}/.well-known/oauth-authorization-server`,
        `/.well-known/openid-configuration/${id}`,
        `/.well-known/oauth-authorization-server/${id}`,
      ]) {
        const { body } = await sendRequest(path, { host })
        expect([body.issuer, body.token_endpoint]).toEqual([realm.url, `${realm.url}/token`])
        expect(JSON.stringify(body).includes(HOST)).toBe(realm === custom)
      }
    }
    const keys = await sendRequest(`/${id}/jwks.json`, { host: HOST })
    expect(keys.body).toEqual((await sendRequest(`/${id}/jwks.json`, {})).body)
  })

  test('sign-in: redirects stay on the host, cookies belong to it, and the response and all tokens have its iss', async () => {
    const { browser, page } = await custom.openSignInPage(web)
    expect(page.url.startsWith(`${custom.url}/interaction/`)).toBe(true)
    expect(browser.cookies().every(({ path }) => path.startsWith(`/${plain.tenant.issuerId}`))).toBe(true)
    const tokens = await custom.signInForTokens(web, 'ada@example.com')
    expect([jwtClaims(tokens.access_token).iss, jwtClaims(tokens.id_token).iss]).toEqual([custom.url, custom.url])
    const { redirect } = await custom.signIn(web, 'ada@example.com')
    expect(redirect['iss']).toBe(custom.url)
    const refused = await custom.openSignInPage(web, { prompt: 'none' })
    expect(redirectParametersOf(refused.page)).toMatchObject({ error: 'login_required', iss: custom.url })
    const { redirect: usual } = await plain.signIn(web, 'ada@example.com')
    expect(usual['iss']).toBe(plain.url)
  })

  test('upstream sign-in: the callback is under IDP_URL and returns to the host', async () => {
    const provider = await new FakeOidc().pending()
    try {
      const settings = { issuer_url: provider.url, client_id: 'us', client_secret: SECRET }
      const body = { name: 'Up', method: 'oidc', first_factor_only: true, enabled_signup: true, settings }
      const { owner, I } = plain.tenant
      const { data: method } = expectStatus(await owner.post(`${I}/auth-methods`, body), 201)
      expect(method.callback_url).toBe(`${plain.url}/callback/${method.id}`)
      const { page, browser, verifier } = await custom.openSignInPage(web)
      const { code } = redirectParametersOf(await browser.submit(page, { method: method.id }))
      expect(provider.lastRequestTo('/authorize').params.get('redirect_uri')).toBe(method.callback_url)
      const tokens = await custom.exchangeCode(web, {
        code: code!,
        code_verifier: verifier,
        redirect_uri: REDIRECT_URI,
      })
      expect(jwtClaims(tokens.body.id_token)['iss']).toBe(custom.url)
      expectStatus(await owner.delete(`${I}/auth-methods/${method.id}`), 204)
    } finally {
      await provider.close()
    }
  })

  test('a passkey belongs to the host where it was created; under another host it cannot be used, but remains required', async () => {
    const { owner, I } = plain.tenant
    const { data } = expectStatus(await owner.post(`${I}/auth-methods`, { name: 'Passkey', method: 'passkey' }), 201)
    const person = await createTestUser(plain)
    const ceremony = expectStatus(await owner.post(`${person.path}/passkey-challenge`, { rp_id: HOST }), 201).data
    const passkey = new Passkey(person.id, new URL(custom.url).origin)
    const credential = JSON.parse(passkey.register(ceremony.options))
    expectStatus(
      await owner.post(person.path, { type: 'passkey', credential, challenge_id: ceremony.challenge_id }),
      201,
    )

    const here = await custom.openSignInPage(web)
    const options = passkeyOptionsOn(here.page)
    expect(options.rpId).toBe(HOST)
    const done = await here.browser.submit(here.page, { method: 'passkey', credential: passkey.authenticate(options) })
    expect(redirectParametersOf(done)['code']).toBeDefined()

    const there = await plain.openSignInPage(web)
    expect(passkeyOptionsOn(there.page).rpId).toBe('127.0.0.1')
    const values = { method: 'passkey', credential: passkey.authenticate(passkeyOptionsOn(there.page), { rpId: HOST }) }
    const refused = await there.browser.submit(there.page, values)
    expect(errorMessageOf(refused)).toMatch(/cannot be used here/)
    const closed = await there.browser.submit(refused, { username: person.username, password: PASSWORD })
    expect(headingOf(closed)).toBe('No second factor available')
    expectStatus(await owner.delete(`${I}/auth-methods/${data.id}`), 204)
  })

  test('logout with a hint of either issuer identifier, at either host', async () => {
    for (const [at, from] of [
      [custom, custom],
      [plain, custom],
      [custom, plain],
    ] as const) {
      const there = await at.signInForTokens(web, 'ada@example.com')
      const hint = at === from ? there : await from.signInForTokens(web, 'ada@example.com')
      const query = new URLSearchParams({
        id_token_hint: hint.id_token,
        post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI,
      })
      expect((await there.browser.open(`${at.url}/logout?${query}`)).url).toBe(POST_LOGOUT_REDIRECT_URI)
      expect((await at.refresh(web, there.refresh_token)).body.error).toBe('invalid_grant')
    }
    const question = await custom.signInForTokens(web, 'ada@example.com')
    const page = await question.browser.open(`${custom.url}/logout?client_id=${web.id}`)
    expect(headingOf(page)).toBe('Do you want to sign out?')
    expect(headingOf(await question.browser.submit(page, { logout: 'yes' }))).toBe('You are signed out')
  })

  test('a hint with an issuer identifier of a removed domain is still accepted', async () => {
    const { owner, A, issuerId } = plain.tenant
    const host = 'former.acme.example.com'
    await assignDomain(plain.tenant, host)
    const former = new Realm(app, plain.tenant, urlAt(host, issuerId), send)
    const { id_token } = await former.signInForTokens(web, 'ada@example.com')
    expect(jwtClaims(id_token)['iss']).toBe(former.url)
    expectStatus(await owner.post(`${A}/domains/${host}/unassign`), 200)
    const { browser, refresh_token } = await plain.signInForTokens(web, 'ada@example.com')
    const query = new URLSearchParams({ id_token_hint: id_token, post_logout_redirect_uri: POST_LOGOUT_REDIRECT_URI })
    expect((await browser.open(`${plain.url}/logout?${query}`)).url).toBe(POST_LOGOUT_REDIRECT_URI)
    expect((await plain.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
  })

  test('id_token_hint with the other issuer identifier at /authorize', async () => {
    const there = await custom.signInForTokens(web, 'ada@example.com')
    const { id_token } = await plain.signInForTokens(web, 'ada@example.com')
    const params = { prompt: 'none', id_token_hint: id_token }
    expect((await custom.signIn(web, 'ada@example.com', params, there.browser)).redirect['code']).toBeDefined()
  })
})

test('access tokens with either issuer identifier are valid at the endpoints of both hosts, and at the Core API', async () => {
  expectStatus(
    await plain.tenant.owner.patch(`${plain.tenant.I}/clients/${web.id}`, {
      settings: { openid: { allowed_resources: [app.gatehouse.config.baseUrl] } },
    }),
    200,
  )
  await app.gatehouse.database.prisma.user.updateMany({
    where: { issuerId: plain.tenant.issuerId },
    data: { scopes: ['issuers:read'] },
  })
  for (const from of [plain, custom]) {
    const { access_token, refresh_token } = await from.signInForTokens(web, 'ada@example.com')
    for (const at of [plain, custom]) {
      expect((await at.userinfo(access_token)).status).toBe(200)
      const response = await at.postForm('/introspect', web, { token: access_token })
      expect(response.body).toMatchObject({ active: true, iss: from.url })
    }
    const params = { resource: app.gatehouse.config.baseUrl, scope: 'openid issuers:read' }
    const forCore = await from.signInForTokens(web, 'ada@example.com', params)
    expect((await createApiClient(app.baseUrl, forCore.access_token).get(plain.tenant.I)).status).toBe(200)
    // A refresh also works at the other host. The new tokens have the issuer identifier of that host.
    const other = from === plain ? custom : plain
    const refreshed = await other.refresh(web, refresh_token)
    expect([refreshed.status, jwtClaims(refreshed.body.access_token).iss]).toEqual([200, other.url])
    expect((await other.postForm('/revoke', web, { token: access_token })).status).toBe(200)
    expect((await from.userinfo(access_token)).status).toBe(401)
  }
})

test('a DPoP proof names the endpoint at the address of the request', async () => {
  const key = await createProofKey()
  const form = { grant_type: 'client_credentials' }
  const m2m = { application_type: 'm2m', redirect_uris: [], post_logout_redirect_uris: [] }
  const machine = await plain.createClient(m2m, { confidential: true })
  for (const [realm, elsewhere] of [
    [plain, custom],
    [custom, plain],
  ] as const) {
    const requestToken = async (url: string) =>
      realm.postForm('/token', machine, form, { dpop: await key.prove('POST', `${url}/token`) })
    const { status, body } = await requestToken(realm.url)
    expect([status, body.token_type]).toEqual([200, 'DPoP'])
    expect((await requestToken(elsewhere.url)).body.error).toBe('invalid_dpop_proof')
  }
})

test('a code belongs to the issuer, not to the host: it can be exchanged at either host', async () => {
  const { redirect, verifier } = await custom.signIn(web, 'ada@example.com')
  const response = await plain.exchangeCode(web, {
    code: redirect['code']!,
    code_verifier: verifier,
    redirect_uri: REDIRECT_URI,
  })
  expect([response.status, jwtClaims(response.body.id_token).iss]).toEqual([200, plain.url])
})

test("a logout token has the issuer identifier of the session's host", async () => {
  const issuers: string[] = []
  const application = createServer((req, res) => {
    req.on('data', (chunk) => issuers.push(jwtClaims(new URLSearchParams(String(chunk)).get('logout_token')!).iss))
    res.end()
  })
  await new Promise<void>((done) => application.listen(0, '127.0.0.1', done))
  const { port } = application.address() as AddressInfo
  const client = await plain.createClient({ backchannel_logout_uri: `http://127.0.0.1:${port}/` })
  for (const realm of [custom, plain]) {
    const { browser, id_token } = await realm.signInForTokens(client, 'ada@example.com')
    await browser.open(`${realm.url}/logout?id_token_hint=${id_token}`)
    await runDueJobs(app.gatehouse, tasks)
  }
  expect(issuers).toEqual([custom.url, plain.url])
  application.closeAllConnections()
  await new Promise((done) => application.close(done))
})

describe('other issuers', () => {
  test('issuers of another account, and other issuers of the same account, are 404 under the host', async () => {
    const foreign = await createTenant(app, 'Foreign')
    const { data } = expectStatus(await plain.tenant.owner.post(`${plain.tenant.A}/issuers`, { name: 'Sibling' }), 201)
    for (const id of [foreign.issuerId, data.id]) {
      for (const path of ['/.well-known/openid-configuration', '/jwks.json', `/authorize?client_id=${web.id}`]) {
        expect([path, (await sendRequest(`/${id}${path}`, { host: HOST })).status]).toEqual([path, 404])
      }
      expect(await issuerInMetadata({}, app, id)).toBe(`${app.idpUrl}/${id}`)
    }
  })

  test('unverified and unknown domains are served like IDP_URL', async () => {
    expectStatus(await plain.tenant.owner.post(`${plain.tenant.A}/domains`, { host: 'unproved.example.com' }), 201)
    expect(await issuerInMetadata({ host: 'unproved.example.com' })).toBe(plain.url)
    await app.gatehouse.database.prisma.domain.updateMany({
      where: { host: 'unproved.example.com' },
      data: { issuerId: plain.tenant.issuerId },
    })
    app.clock.advance(11_000)
    expect(await issuerInMetadata({ host: 'unproved.example.com' })).toBe(plain.url)
  })

  test('a token with a domain of another issuer is invalid', async () => {
    const { issuerId } = plain.tenant
    const { signJwt } = await import('../../src/platform/crypto/jws.js')
    const key = (await app.gatehouse.database.prisma.signingKey.findFirst({ where: { issuerId, alg: 'ES256' } }))!
    const { access_token } = await custom.signInForTokens(web, 'ada@example.com')
    const jwk = JSON.parse(app.gatehouse.encryptor.decrypt(key.privateJwk))
    const forged = (iss: string) =>
      signJwt({ kid: key.kid, alg: key.alg, jwk }, 'at+jwt', { ...jwtClaims(access_token), iss })
    expect((await plain.userinfo(forged(custom.url))).status).toBe(200)
    for (const iss of [
      urlAt('unproved.example.com', issuerId),
      urlAt('LOGIN.acme.example.com', issuerId),
      `${custom.url}/`,
      custom.url.replace('http:', 'https:'),
      custom.url.replace(/:\d+/, ':1'),
      custom.url.replace('//', '//x@'),
    ]) {
      expect([iss, (await plain.userinfo(forged(iss))).status]).toEqual([iss, 401])
    }
  })
})

describe('the public URL never comes from the request', () => {
  test.each<[string, string]>([
    ['an unknown host', 'evil.example.net'],
    ['a host with the same suffix', `evil-${HOST}`],
    ['a subdomain', `x.${HOST}`],
    ['credentials', `${HOST}@evil.example.net`],
    ['a path', `${HOST}/evil.example.net`],
    ['two hosts', `${HOST}, evil.example.net`],
    ['a quote', `${HOST}"`],
    ['an invalid port', `${HOST}:99999999`],
    ['an IP address', '192.0.2.1'],
    ['an IPv6 address in brackets', '[2001:db8::1]'],
    ['a very long host', `${'a.'.repeat(400)}example.com`],
  ])('Host is %s: served like IDP_URL', async (_, host) => {
    expect(await issuerInMetadata({ host })).toBe(plain.url)
  })

  test.each(['Login.ACME.example.com', `${HOST}:1`, `${HOST}.`])('Host is %s: the same domain', async (host) => {
    expect(await issuerInMetadata({ host })).toBe(custom.url)
  })

  test('X-Forwarded-Host is ignored without a trusted proxy', async () => {
    expect(await issuerInMetadata({ 'x-forwarded-host': HOST })).toBe(plain.url)
    expect(await issuerInMetadata({ host: HOST, 'x-forwarded-host': 'evil.example.net' })).toBe(custom.url)
  })

  test('with TRUST_PROXY only the X-Forwarded-Host value of the trusted proxy counts, not earlier values', async () => {
    const behind = await startApp({ env: { TRUST_PROXY: '1' } })
    const tenant = await createTenant(behind)
    const now = behind.clock.now()
    const domain = { id: 'dom_x', accountId: tenant.accountId, issuerId: tenant.issuerId, host: HOST, verified: true }
    await behind.gatehouse.database.prisma.domain.create({
      data: { ...domain, verificationToken: 'x', createdAt: now, updatedAt: now },
    })
    const mine = urlAt(HOST, tenant.issuerId, behind)
    const said = (headers: Record<string, string>) => issuerInMetadata(headers, behind, tenant.issuerId)
    expect(await said({ 'x-forwarded-host': HOST })).toBe(mine)
    expect(await said({ 'x-forwarded-host': `evil.example.net, ${HOST}` })).toBe(mine)
    expect(await said({ 'x-forwarded-host': `${HOST}, 127.0.0.1` })).toBe(`${behind.idpUrl}/${tenant.issuerId}`)
    expect(await said({ host: HOST })).toBe(mine)
    await behind.close()
  })
})

test("an invitation email links to the issuer's domain", async () => {
  const { owner, I } = plain.tenant
  const { data } = expectStatus(
    await owner.post(`${I}/organizations`, { name: 'Guild', invitation_enabled: true }),
    201,
  )
  const invited = expectStatus(
    await owner.post(`${I}/organizations/${data.id}/invitations`, { email: 'bo@example.com' }),
    201,
  )
  await runDueJobs(app.gatehouse, tasks)
  const link = linkInMail((await mailsSentTo(app, 'bo@example.com'))[0]!)
  expect(link).toBe(`${custom.url}/invitation?token=${invited.data.token_plain}`)
  expect((await custom.newBrowser().open(link)).status).toBe(200)
})

test('unassigning takes effect immediately in every process; tokens with the domain become invalid', async () => {
  const { owner, A } = plain.tenant
  const { access_token, refresh_token } = await custom.signInForTokens(web, 'ada@example.com')
  expect(await issuerInMetadata({ host: HOST }, second)).toBe(custom.url)
  expectStatus(await owner.post(`${A}/domains/${HOST}/unassign`), 200)
  expect(await issuerInMetadata({ host: HOST })).toBe(plain.url)
  await waitUntil(
    'the other process serves the issuer without the domain',
    async () => (await issuerInMetadata({ host: HOST }, second)) === plain.url,
  )
  expect((await plain.userinfo(access_token)).status).toBe(401)
  expect((await plain.refresh(web, refresh_token)).status).toBe(200)

  // When the domain is assigned to another issuer, it serves the other issuer, and this issuer is 404 under the domain.
  const { data } = expectStatus(await owner.post(`${A}/issuers`, { name: 'Heir' }), 201)
  expectStatus(await owner.post(`${A}/domains/${HOST}/assign`, { issuer_id: data.id }), 200)
  expect(await issuerInMetadata({ host: HOST }, app, data.id)).toBe(urlAt(HOST, data.id))
  expect(await issuerInMetadata({ host: HOST })).toBe(404)
  await waitUntil(
    'the other process refuses the issuer under the domain',
    async () => (await issuerInMetadata({ host: HOST }, second)) === 404,
  )
  expectStatus(await owner.delete(`${A}/domains/${HOST}`), 204)
  expect(await issuerInMetadata({ host: HOST })).toBe(plain.url)
})
