/** An assigned, verified domain serves that issuer's IdP under its own host name (spec 2.16, 4.3; decisions 0016). */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Agent, request, fetch as undiciFetch } from 'undici'
import { workOff } from '../../src/platform/queue.js'
import { tasks } from '../../src/tasks.js'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import { apiAs } from '../setup/api.js'
import { Passkey } from '../setup/authenticator.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { makePerson, optionsOn } from '../setup/factors.js'
import { linkIn, mailsTo } from '../setup/mail.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { headingOf, problemOf } from './browser.js'
import { FakeOidc, SECRET } from './login/providers.js'
import {
  AFTER_LOGOUT,
  type Answer,
  answerOf,
  CALLBACK,
  claimsOf,
  PASSWORD,
  Realm,
  redirectOf,
  type TestClient,
} from './setup.js'

let app: TestApp
let second: TestApp
let dns: TestDns
let plain: Realm
let custom: Realm
let web: TestClient
const HOST = 'login.acme.example.com'

/** Every name leads to this machine. */
const here = new Agent({
  connect: { lookup: (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]) },
})
const send = ((url: string, init: object) => undiciFetch(url, { ...init, dispatcher: here })) as unknown as typeof fetch

/** An issuer's identifier under a host: scheme and port are those of IDP_URL. */
const urlAt = (host: string, issuerId: string, at: TestApp = app) =>
  `http://${host}:${new URL(at.gatehouse.config.idpUrl).port}/${issuerId}`

async function giveDomain({ owner, A, issuerId }: Tenant, host: string): Promise<void> {
  const { data } = must(await owner.post(`${A}/domains`, { host }), 201)
  dns.set(data.verification.name, data.verification.value)
  must(await owner.post(`${A}/domains/${host}/verify`), 200)
  must(await owner.post(`${A}/domains/${host}/assign`, { issuer_id: issuerId }), 200)
}

/** Asks one process for a path with these very headers; fetch would write its own Host. */
async function ask(path: string, headers: Record<string, string>, at = app): Promise<Answer> {
  const { statusCode, body } = await request(`${at.idpUrl}${path}`, { headers })
  return answerOf(new Response(await body.text(), { status: statusCode, headers: { 'content-type': 'json' } }))
}
const issuerSaid = async (headers: Record<string, string>, at = app, id = plain.tenant.issuerId) => {
  const { status, body } = await ask(`/${id}/.well-known/openid-configuration`, headers, at)
  return status === 200 ? body.issuer : status
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 3000; !(await isTrue()); await new Promise((done) => setTimeout(done, 10)))
    if (Date.now() > end) throw new Error('it did not come true in time')
}

beforeAll(async () => {
  dns = await startDns()
  app = await startApp({ env: { DNS_RESOLVER: dns.address, ALLOW_PRIVATE_NETWORKS: 'true' } })
  second = await app.second()
  plain = await Realm.make(app)
  await plain.user('ada@example.com')
  await giveDomain(plain.tenant, HOST)
  custom = new Realm(app, plain.tenant, urlAt(HOST, plain.tenant.issuerId), send)
  web = await plain.client({}, { confidential: true, settings: { scopes: ['issuers:read'] } })
})
afterAll(async () => {
  await app.close()
  await dns.close()
  await here.destroy()
})

describe('everything follows the host that the request came by', () => {
  test('both metadata documents in both path forms; the keys are the same', async () => {
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
        const { body } = await ask(path, { host })
        expect([body.issuer, body.token_endpoint]).toEqual([realm.url, `${realm.url}/token`])
        expect(JSON.stringify(body).includes(HOST)).toBe(realm === custom)
      }
    }
    const keys = await ask(`/${id}/jwks.json`, { host: HOST })
    expect(keys.body).toEqual((await ask(`/${id}/jwks.json`, {})).body)
  })

  test('sign-in: redirects stay on the host, cookies are its own, `iss` in the response and in every token', async () => {
    const { browser, page } = await custom.begin(web)
    expect(page.url.startsWith(`${custom.url}/interaction/`)).toBe(true)
    expect(browser.cookies().every(({ path }) => path.startsWith(`/${plain.tenant.issuerId}`))).toBe(true)
    const tokens = await custom.tokens(web, 'ada@example.com')
    expect([claimsOf(tokens.access_token).iss, claimsOf(tokens.id_token).iss]).toEqual([custom.url, custom.url])
    const { redirect } = await custom.signIn(web, 'ada@example.com')
    expect(redirect['iss']).toBe(custom.url)
    const refused = await custom.begin(web, { prompt: 'none' })
    expect(redirectOf(refused.page)).toMatchObject({ error: 'login_required', iss: custom.url })
    const { redirect: usual } = await plain.signIn(web, 'ada@example.com')
    expect(usual['iss']).toBe(plain.url)
  })

  test('through another provider: its callback is under IDP_URL, and leads back to the host', async () => {
    const provider = await new FakeOidc().open()
    try {
      const settings = { issuer_url: provider.url, client_id: 'us', client_secret: SECRET }
      const body = { name: 'Up', method: 'oidc', first_factor_only: true, enabled_signup: true, settings }
      const { owner, I } = plain.tenant
      const { data: method } = must(await owner.post(`${I}/auth-methods`, body), 201)
      expect(method.callback_url).toBe(`${plain.url}/callback/${method.id}`)
      const { page, browser, verifier } = await custom.begin(web)
      const { code } = redirectOf(await browser.submit(page, { method: method.id }))
      expect(provider.last('/authorize').params.get('redirect_uri')).toBe(method.callback_url)
      const tokens = await custom.exchange(web, { code: code!, code_verifier: verifier, redirect_uri: CALLBACK })
      expect(claimsOf(tokens.body.id_token)['iss']).toBe(custom.url)
      must(await owner.delete(`${I}/auth-methods/${method.id}`), 204)
    } finally {
      await provider.close()
    }
  })

  test('a passkey belongs to the host under which it was made; under another one it cannot be used, nor done without', async () => {
    const { owner, I } = plain.tenant
    const { data } = must(await owner.post(`${I}/auth-methods`, { name: 'Passkey', method: 'passkey' }), 201)
    const person = await makePerson(plain)
    const asked = must(await owner.post(`${person.path}/passkey-challenge`, { rp_id: HOST }), 201).data
    const passkey = new Passkey(person.id, new URL(custom.url).origin)
    const credential = JSON.parse(passkey.register(asked.options))
    must(await owner.post(person.path, { type: 'passkey', credential, challenge_id: asked.challenge_id }), 201)

    const here = await custom.begin(web)
    const options = optionsOn(here.page)
    expect(options.rpId).toBe(HOST)
    const done = await here.browser.submit(here.page, { method: 'passkey', credential: passkey.answer(options) })
    expect(redirectOf(done)['code']).toBeDefined()

    const there = await plain.begin(web)
    expect(optionsOn(there.page).rpId).toBe('127.0.0.1')
    const values = { method: 'passkey', credential: passkey.answer(optionsOn(there.page), { rpId: HOST }) }
    const refused = await there.browser.submit(there.page, values)
    expect(problemOf(refused)).toMatch(/cannot be used here/)
    const closed = await there.browser.submit(refused, { username: person.username, password: PASSWORD })
    expect(headingOf(closed)).toBe('A second step is missing')
    must(await owner.delete(`${I}/auth-methods/${data.id}`), 204)
  })

  test('logout by a hint of either name, at either name', async () => {
    for (const [at, from] of [
      [custom, custom],
      [plain, custom],
      [custom, plain],
    ] as const) {
      const there = await at.tokens(web, 'ada@example.com')
      const hint = at === from ? there : await from.tokens(web, 'ada@example.com')
      const query = new URLSearchParams({ id_token_hint: hint.id_token, post_logout_redirect_uri: AFTER_LOGOUT })
      expect((await there.browser.open(`${at.url}/logout?${query}`)).url).toBe(AFTER_LOGOUT)
      expect((await at.refresh(web, there.refresh_token)).body.error).toBe('invalid_grant')
    }
    const question = await custom.tokens(web, 'ada@example.com')
    const page = await question.browser.open(`${custom.url}/logout?client_id=${web.id}`)
    expect(headingOf(page)).toBe('Do you want to sign out?')
    expect(headingOf(await question.browser.submit(page, { logout: 'yes' }))).toBe('You are signed out')
  })

  test('a hint of a name that the issuer has no more is genuine still', async () => {
    const { owner, A, issuerId } = plain.tenant
    const host = 'former.acme.example.com'
    await giveDomain(plain.tenant, host)
    const former = new Realm(app, plain.tenant, urlAt(host, issuerId), send)
    const { id_token } = await former.tokens(web, 'ada@example.com')
    expect(claimsOf(id_token)['iss']).toBe(former.url)
    must(await owner.post(`${A}/domains/${host}/unassign`), 200)
    const { browser, refresh_token } = await plain.tokens(web, 'ada@example.com')
    const query = new URLSearchParams({ id_token_hint: id_token, post_logout_redirect_uri: AFTER_LOGOUT })
    expect((await browser.open(`${plain.url}/logout?${query}`)).url).toBe(AFTER_LOGOUT)
    expect((await plain.refresh(web, refresh_token)).body.error).toBe('invalid_grant')
  })

  test('id_token_hint of the other name at /authorize', async () => {
    const there = await custom.tokens(web, 'ada@example.com')
    const { id_token } = await plain.tokens(web, 'ada@example.com')
    const params = { prompt: 'none', id_token_hint: id_token }
    expect((await custom.signIn(web, 'ada@example.com', params, there.browser)).redirect['code']).toBeDefined()
  })
})

test('access tokens of either name are good at the endpoints of both, and at the Core API', async () => {
  must(
    await plain.tenant.owner.patch(`${plain.tenant.I}/clients/${web.id}`, {
      settings: { openid: { allowed_resources: [app.gatehouse.config.baseUrl] } },
    }),
    200,
  )
  await app.gatehouse.tools.prisma.user.updateMany({
    where: { issuerId: plain.tenant.issuerId },
    data: { scopes: ['issuers:read'] },
  })
  for (const from of [plain, custom]) {
    const { access_token, refresh_token } = await from.tokens(web, 'ada@example.com')
    for (const at of [plain, custom]) {
      expect((await at.userinfo(access_token)).status).toBe(200)
      const answer = await at.post('/introspect', web, { token: access_token })
      expect(answer.body).toMatchObject({ active: true, iss: from.url })
    }
    const params = { resource: app.gatehouse.config.baseUrl, scope: 'openid issuers:read' }
    const forCore = await from.tokens(web, 'ada@example.com', params)
    expect((await apiAs(app.baseUrl, forCore.access_token).get(plain.tenant.I)).status).toBe(200)
    // 4.17: a refresh works at the other name too, and what it gives carries the name that was used.
    const other = from === plain ? custom : plain
    const refreshed = await other.refresh(web, refresh_token)
    expect([refreshed.status, claimsOf(refreshed.body.access_token).iss]).toEqual([200, other.url])
    expect((await other.post('/revoke', web, { token: access_token })).status).toBe(200)
    expect((await from.userinfo(access_token)).status).toBe(401)
  }
})

test('a code belongs to the issuer, not to the name: its exchange works at either', async () => {
  const { redirect, verifier } = await custom.signIn(web, 'ada@example.com')
  const answer = await plain.exchange(web, { code: redirect['code']!, code_verifier: verifier, redirect_uri: CALLBACK })
  expect([answer.status, claimsOf(answer.body.id_token).iss]).toEqual([200, plain.url])
})

test('a logout notice carries the name that the session was begun under', async () => {
  const told: string[] = []
  const application = createServer((req, res) => {
    req.on('data', (chunk) => told.push(claimsOf(new URLSearchParams(String(chunk)).get('logout_token')!).iss))
    res.end()
  })
  await new Promise<void>((done) => application.listen(0, '127.0.0.1', done))
  const { port } = application.address() as AddressInfo
  const client = await plain.client({ backchannel_logout_uri: `http://127.0.0.1:${port}/` })
  for (const realm of [custom, plain]) {
    const { browser, id_token } = await realm.tokens(client, 'ada@example.com')
    await browser.open(`${realm.url}/logout?id_token_hint=${id_token}`)
    await workOff(app.gatehouse, tasks)
  }
  expect(told).toEqual([custom.url, plain.url])
  application.closeAllConnections()
  await new Promise((done) => application.close(done))
})

describe('other issuers', () => {
  test("another account's issuer, and another one of the same account, are 404 under the host", async () => {
    const foreign = await makeTenant(app, 'Foreign')
    const { data } = must(await plain.tenant.owner.post(`${plain.tenant.A}/issuers`, { name: 'Sibling' }), 201)
    for (const id of [foreign.issuerId, data.id]) {
      for (const path of ['/.well-known/openid-configuration', '/jwks.json', `/authorize?client_id=${web.id}`]) {
        expect([path, (await ask(`/${id}${path}`, { host: HOST })).status]).toEqual([path, 404])
      }
      expect(await issuerSaid({}, app, id)).toBe(`${app.idpUrl}/${id}`)
    }
  })

  test('unverified domains and domains of nobody serve nothing: the answer is as under IDP_URL', async () => {
    must(await plain.tenant.owner.post(`${plain.tenant.A}/domains`, { host: 'unproved.example.com' }), 201)
    expect(await issuerSaid({ host: 'unproved.example.com' })).toBe(plain.url)
    await app.gatehouse.tools.prisma.domain.updateMany({
      where: { host: 'unproved.example.com' },
      data: { issuerId: plain.tenant.issuerId },
    })
    app.clock.advance(11_000)
    expect(await issuerSaid({ host: 'unproved.example.com' })).toBe(plain.url)
  })

  test('a token that names a domain that is not the issuer’s is no token', async () => {
    const { issuerId } = plain.tenant
    const { signJwt } = await import('../../src/platform/jwt.js')
    const key = (await app.gatehouse.tools.prisma.signingKey.findFirst({ where: { issuerId, alg: 'ES256' } }))!
    const { access_token } = await custom.tokens(web, 'ada@example.com')
    const jwk = JSON.parse(app.gatehouse.sealer.open(key.privateJwk))
    const forged = (iss: string) =>
      signJwt({ kid: key.kid, alg: key.alg, jwk }, 'at+jwt', { ...claimsOf(access_token), iss })
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

describe('security rule 18: the public address never comes from what a request says', () => {
  test.each<[string, string]>([
    ['a stranger', 'evil.example.net'],
    ['a name that ends like ours', `evil-${HOST}`],
    ['a name below ours', `x.${HOST}`],
    ['credentials', `${HOST}@evil.example.net`],
    ['a path', `${HOST}/evil.example.net`],
    ['two names', `${HOST}, evil.example.net`],
    ['a quote', `${HOST}"`],
    ['a port that is none', `${HOST}:99999999`],
    ['an address', '192.0.2.1'],
    ['an address in brackets', '[2001:db8::1]'],
    ['very long', `${'a.'.repeat(400)}example.com`],
  ])('Host is %s: the answer is as under IDP_URL', async (_, host) => {
    expect(await issuerSaid({ host })).toBe(plain.url)
  })

  test.each(['Login.ACME.example.com', `${HOST}:1`, `${HOST}.`])('Host is %s: the same domain', async (host) => {
    expect(await issuerSaid({ host })).toBe(custom.url)
  })

  test('X-Forwarded-Host is not believed without a trusted proxy', async () => {
    expect(await issuerSaid({ 'x-forwarded-host': HOST })).toBe(plain.url)
    expect(await issuerSaid({ host: HOST, 'x-forwarded-host': 'evil.example.net' })).toBe(custom.url)
  })

  test('with TRUST_PROXY the proxy’s word counts, not what was written before it', async () => {
    const behind = await startApp({ env: { TRUST_PROXY: '1' } })
    const tenant = await makeTenant(behind)
    const now = behind.clock.now()
    const domain = { id: 'dom_x', accountId: tenant.accountId, issuerId: tenant.issuerId, host: HOST, verified: true }
    await behind.gatehouse.tools.prisma.domain.create({
      data: { ...domain, verificationToken: 'x', createdAt: now, updatedAt: now },
    })
    const mine = urlAt(HOST, tenant.issuerId, behind)
    const said = (headers: Record<string, string>) => issuerSaid(headers, behind, tenant.issuerId)
    expect(await said({ 'x-forwarded-host': HOST })).toBe(mine)
    expect(await said({ 'x-forwarded-host': `evil.example.net, ${HOST}` })).toBe(mine)
    expect(await said({ 'x-forwarded-host': `${HOST}, 127.0.0.1` })).toBe(`${behind.idpUrl}/${tenant.issuerId}`)
    expect(await said({ host: HOST })).toBe(mine)
    await behind.close()
  })
})

test('an invitation by mail leads to the name that people know the issuer by', async () => {
  const { owner, I } = plain.tenant
  const { data } = must(await owner.post(`${I}/organizations`, { name: 'Guild', invitation_enabled: true }), 201)
  const invited = must(await owner.post(`${I}/organizations/${data.id}/invitations`, { email: 'bo@example.com' }), 201)
  await workOff(app.gatehouse, tasks)
  const link = linkIn((await mailsTo(app, 'bo@example.com'))[0]!)
  expect(link).toBe(`${custom.url}/invitation?token=${invited.data.token_plain}`)
  expect((await custom.browser().open(link)).status).toBe(200)
})

test('unassigning takes effect at once, on every process; tokens that name the domain end with it', async () => {
  const { owner, A } = plain.tenant
  const { access_token, refresh_token } = await custom.tokens(web, 'ada@example.com')
  expect(await issuerSaid({ host: HOST }, second)).toBe(custom.url)
  must(await owner.post(`${A}/domains/${HOST}/unassign`), 200)
  expect(await issuerSaid({ host: HOST })).toBe(plain.url)
  await until(async () => (await issuerSaid({ host: HOST }, second)) === plain.url)
  expect((await plain.userinfo(access_token)).status).toBe(401)
  expect((await plain.refresh(web, refresh_token)).status).toBe(200)

  // Given to another issuer, the name is that one's, and this one is 404 under it.
  const { data } = must(await owner.post(`${A}/issuers`, { name: 'Heir' }), 201)
  must(await owner.post(`${A}/domains/${HOST}/assign`, { issuer_id: data.id }), 200)
  expect(await issuerSaid({ host: HOST }, app, data.id)).toBe(urlAt(HOST, data.id))
  expect(await issuerSaid({ host: HOST })).toBe(404)
  await until(async () => (await issuerSaid({ host: HOST }, second)) === 404)
  must(await owner.delete(`${A}/domains/${HOST}`), 204)
  expect(await issuerSaid({ host: HOST })).toBe(plain.url)
})
