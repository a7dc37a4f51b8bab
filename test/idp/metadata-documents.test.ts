/** Client ID metadata documents (spec 4.17, 2.3; decisions D23). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { keyWith, must } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { headingOf, type Page, TestBrowser } from './browser.js'
import { CALLBACK, claimsOf, PASSWORD, Realm, redirectOf, type TestClient } from './setup.js'

let app: TestApp
let realm: Realm
let site: Server
let origin: string
/** Who stands at which path of the site. */
const pages = new Map<string, (req: IncomingMessage, res: ServerResponse) => void>()
const asked: string[] = []

beforeAll(async () => {
  site = createServer((req, res) => {
    asked.push(req.url!)
    const page = pages.get(req.url!)
    if (page) page(req, res)
    else res.writeHead(404).end()
  })
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  app = await startApp({ env: { ALLOW_PRIVATE_NETWORKS: 'true' } })
  realm = await Realm.make(app, 'Documents')
  await realm.user('ada@example.com')
  await configure({ enabled: true })
})
afterAll(async () => {
  await app.close()
  site.closeAllConnections()
  await new Promise((done) => site.close(done))
})
beforeEach(() => {
  asked.length = 0
})

const configure = async (policy: object, at = realm) => {
  const settings = { security: { openid_policy: { client_id_metadata_document: policy } } }
  must(await at.tenant.owner.patch(at.tenant.I, { settings }), 200)
}

let documents = 0
/** Publishes a document at a fresh address; `change` makes it what it should not be. */
function publish(
  change: object = {},
  headers: Record<string, string> = {},
  path = `/app${documents++}/client.json`,
): TestClient {
  const id = `${origin}${path}`
  const document = {
    client_id: id,
    client_name: 'Notes <b>&',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
    ...change,
  }
  pages.set(
    path,
    (_, res) =>
      void res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(document)),
  )
  return { id, secret: undefined }
}

/** Signs in up to the consent page. */
async function toConsent(
  client: TestClient,
  params: Record<string, string | undefined> = {},
  browser = new TestBrowser(),
) {
  const begun = await realm.begin(client, params, browser)
  const page = await browser.submit(begun.page, { username: 'ada@example.com', password: PASSWORD })
  return { ...begun, page }
}
const isConsent = (page: Page) => headingOf(page)?.startsWith('Allow ')

async function tokensOf(client: TestClient, params: Record<string, string | undefined> = {}, at = realm) {
  const { page, browser, verifier } = await toConsent(client, params)
  const redirect = redirectOf(await browser.submit(page, { consent: 'yes' }))
  const redirect_uri = params['redirect_uri'] ?? CALLBACK
  const answer = await at.exchange(client, { code: redirect['code']!, code_verifier: verifier, redirect_uri })
  return { ...answer, browser, redirect }
}

test('2.3: off by default, and then such a client is unknown and nothing is asked for', async () => {
  const other = await Realm.make(app, 'Plain')
  const { page } = await other.begin(publish())
  expect([page.status, headingOf(page), asked]).toEqual([400, 'This did not work', []])
  const document = (await (await fetch(`${other.url}/.well-known/openid-configuration`)).json()) as Record<
    string,
    unknown
  >
  expect(document['client_id_metadata_document_supported']).toBeUndefined()
  expect(document['token_endpoint_auth_methods_supported']).toEqual(['client_secret_basic', 'client_secret_post'])
})

test('D23: enabled, both metadata documents say so; switched off, at once no more, and tokens end', async () => {
  const other = await Realm.make(app, 'Switching')
  const said = async () =>
    Promise.all(
      ['openid-configuration', 'oauth-authorization-server'].map(async (name) => {
        const body = (await (await fetch(`${other.url}/.well-known/${name}`)).json()) as Record<string, unknown>
        return [body['client_id_metadata_document_supported'], body['token_endpoint_auth_methods_supported']]
      }),
    )
  await configure({ enabled: true }, other)
  const on = [true, ['client_secret_basic', 'client_secret_post', 'none']]
  expect(await said()).toEqual([on, on])
  await configure({ enabled: false }, other)
  const off = [undefined, ['client_secret_basic', 'client_secret_post']]
  expect(await said()).toEqual([off, off])
  const { body } = await tokensOf(publish())
  expect((await realm.userinfo(body.access_token)).status).toBe(200)
  await configure({ enabled: false })
  expect((await realm.userinfo(body.access_token)).status).toBe(401)
  await configure({ enabled: true })
  expect((await realm.userinfo(body.access_token)).status).toBe(200)
})

test('switched off while somebody signs in: the page says that it is over', async () => {
  const { page, browser } = await realm.begin(publish())
  await configure({ enabled: false })
  const answered = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
  await configure({ enabled: true })
  expect([answered.status, headingOf(answered)]).toEqual([400, 'This did not work'])
})

test('a person signs in, is shown the host, and allows it: code, tokens, userinfo, refresh; no client is made', async () => {
  const client = publish()
  const { page, browser, verifier } = await toConsent(client, { scope: 'openid email' })
  const { host } = new URL(origin)
  expect(headingOf(page)).toBe(`Allow ${host} to use your account?`)
  expect(page.html).toContain('calls itself “Notes &lt;b&gt;&amp;”')
  expect(page.html).toContain('your email address')
  expect(page.html).not.toContain('your phone number')
  expect(page.html).toContain('app.example.com')
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  const redirect = redirectOf(await browser.submit(page, { consent: 'yes' }))
  expect(redirect).toMatchObject({ state: 'st', iss: realm.url, code: expect.any(String) })
  const answer = await realm.exchange(client, {
    code: redirect['code']!,
    code_verifier: verifier,
    redirect_uri: CALLBACK,
  })
  expect(answer.status).toBe(200)
  expect(claimsOf(answer.body.access_token)).toMatchObject({ aud: client.id, client_id: client.id })
  expect(claimsOf(answer.body.id_token).aud).toBe(client.id)
  expect((await realm.userinfo(answer.body.access_token)).body.email).toBe('ada@example.com')
  const again = await realm.refresh(client, answer.body.refresh_token)
  expect([again.status, claimsOf(again.body.access_token).client_id]).toEqual([200, client.id])
  const list = must(await realm.tenant.owner.get(`${realm.tenant.I}/clients`), 200)
  expect(list.data).toEqual([])
  const { sid } = claimsOf(answer.body.access_token)
  expect(must(await realm.tenant.owner.get(`${realm.tenant.I}/sessions/${sid}`), 200).data.client_id).toBe(client.id)
})

describe('consent', () => {
  test('is refused: access_denied, and no session', async () => {
    const client = publish()
    const { page, browser } = await toConsent(client)
    const redirect = redirectOf(await browser.submit(page, { consent: 'no' }))
    expect(redirect).toMatchObject({ error: 'access_denied', state: 'st', iss: realm.url })
    expect(await app.gatehouse.tools.prisma.session.count({ where: { clientId: client.id } })).toBe(0)
  })

  test('holds for the browser’s session with the client, and for what was allowed', async () => {
    const client = publish()
    const { browser } = await tokensOf(client, { scope: 'openid email' })
    const silently = async (params: Record<string, string>) =>
      redirectOf((await realm.begin(client, { prompt: 'none', ...params }, browser)).page)
    expect((await silently({ scope: 'openid' }))['code']).toBeDefined()
    expect((await silently({ scope: 'openid email phone' }))['error']).toBe('consent_required')
    expect(isConsent((await realm.begin(client, { scope: 'openid phone' }, browser)).page)).toBe(true)
    expect(isConsent((await realm.begin(client, { prompt: 'consent' }, browser)).page)).toBe(true)
    expect(isConsent((await realm.begin(publish(), {}, browser)).page)).toBe(true)
    expect(isConsent((await toConsent(client)).page)).toBe(true)
  })

  test('of a revoked session is no consent any more', async () => {
    const client = publish()
    const { browser, body } = await tokensOf(client)
    const { sid } = claimsOf(body.access_token)
    must(await realm.tenant.owner.post(`${realm.tenant.I}/sessions/${sid}/revoke`, { reason: 'other' }), 200)
    const { page } = await realm.begin(client, {}, browser)
    const next =
      headingOf(page) === 'Sign in'
        ? await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
        : page
    expect(isConsent(next)).toBe(true)
  })

  test('is given by the person’s own form in their own browser', async () => {
    const client = publish()
    const { page, browser } = await toConsent(client)
    const forged = await browser.submit(page, { consent: 'yes', csrf: '0.forged' })
    expect(isConsent(forged)).toBe(true)
    const stranger = await new TestBrowser().submit(page, { consent: 'yes' })
    expect([stranger.status, headingOf(stranger)]).toEqual([400, 'This did not work'])
    expect(isConsent(await browser.submit(page, { consent: 'perhaps' }))).toBe(true)
    expect(redirectOf(await browser.submit(page, { consent: 'yes' }))['code']).toBeDefined()
  })

  test('is not asked for registered clients, even if they wish it', async () => {
    const client = await realm.client()
    const { redirect } = await realm.signIn(client, 'ada@example.com', { prompt: 'consent' })
    expect(redirect['code']).toBeDefined()
    must(await realm.tenant.owner.delete(`${realm.tenant.I}/clients/${client.id}`), 204)
  })

  test('in German', async () => {
    expect(headingOf((await toConsent(publish(), { ui_locales: 'de' })).page)).toContain('dieses Konto verwenden?')
  })
})

describe('4.17: which redirect URI', () => {
  const registered = 'http://127.0.0.1/cb?x=1'
  test.each<[string, boolean]>([
    ['http://127.0.0.1/cb?x=1', true],
    ['http://127.0.0.1:5555/cb?x=1', true],
    ['http://localhost:5555/cb?x=1', false],
    ['http://[::1]:5555/cb?x=1', false],
    ['http://127.0.0.1:5555/cb', false],
    ['http://127.0.0.1:5555/CB?x=1', false],
    ['https://127.0.0.1:5555/cb?x=1', false],
    ['http://127.0.0.1:5555/cb?x=1&y', false],
    ['https://app.example.com:8443/callback', false],
    [CALLBACK, true],
  ])('%s: %s (the port of a loopback callback may vary)', async (redirect_uri, allowed) => {
    const client = publish({ redirect_uris: [registered, CALLBACK] })
    const { page } = await realm.begin(client, { redirect_uri })
    expect(headingOf(page)).toBe(allowed ? 'Sign in' : 'This did not work')
  })
})

describe('organization_policy', () => {
  let orgs: string[]
  beforeAll(async () => {
    const { owner, I } = realm.tenant
    const [user] = must(await owner.get(`${I}/users`), 200).data
    orgs = []
    for (const name of ['One', 'Two']) {
      const { data } = must(await owner.post(`${I}/organizations`, { name }), 201)
      must(await owner.post(`${I}/organizations/${data.id}/members`, { member_id: user.id, scopes: ['a:read'] }), 201)
      orgs.push(data.id)
    }
  })
  const claims = async (params: Record<string, string> = {}) => {
    const { body } = await tokensOf(publish(), params)
    const { organizations, org_id } = claimsOf(body.access_token)
    expect(claimsOf(body.id_token).organizations).toEqual(organizations)
    return { ids: organizations?.map(({ id }: { id: string }) => id).sort(), org_id }
  }

  test('all: every active membership, or the selected one', async () => {
    await configure({ organization_policy: 'all' })
    expect(await claims()).toEqual({ ids: [...orgs].sort(), org_id: undefined })
    expect(await claims({ org: orgs[0]! })).toEqual({ ids: [orgs[0]], org_id: orgs[0] })
  })
  test('selected: only one that was explicitly requested', async () => {
    await configure({ organization_policy: 'selected' })
    expect(await claims()).toEqual({ ids: undefined, org_id: undefined })
    expect(await claims({ org: orgs[1]! })).toEqual({ ids: [orgs[1]], org_id: orgs[1] })
  })
  test('none: none, and none can be requested', async () => {
    await configure({ organization_policy: 'none' })
    expect(await claims()).toEqual({ ids: undefined, org_id: undefined })
    const { page } = await realm.begin(publish(), { org: orgs[0]! })
    expect(redirectOf(page)['error']).toBe('invalid_request')
    const registered = await realm.client()
    const tokens = await realm.tokens(registered, 'ada@example.com')
    expect(claimsOf(tokens.access_token).organizations).toHaveLength(2)
    await configure({ organization_policy: 'all' })
  })
})

describe('D34: the redirect_uri_rules of the issuer narrow what a document lists', () => {
  const rules = async (redirect_uri_rules: object | null) =>
    must(await realm.tenant.owner.patch(realm.tenant.I, { settings: { security: { redirect_uri_rules } } }), 200)
  afterEach(() => rules(null))
  const LOOPBACK = 'http://127.0.0.1/cb'
  const PRIVATE = 'com.example.app:/cb'

  test.each<[object, string, string | undefined]>([
    [{ allow_loopback: false }, 'http://127.0.0.1:5555/cb', 'allow_loopback'],
    [{ allow_loopback: false }, LOOPBACK, 'allow_loopback'],
    [{ allow_loopback: false }, CALLBACK, undefined],
    [{ allow_private_use_schemes: false }, PRIVATE, 'allow_private_use_schemes'],
    [{ allow_private_use_schemes: false }, CALLBACK, undefined],
    [{ allowed_hosts: ['other.example.com'] }, CALLBACK, 'allowed_hosts'],
    [{ allowed_hosts: ['*.example.com'] }, CALLBACK, undefined],
    [
      { allow_loopback: false, allow_private_use_schemes: false, allowed_hosts: ['a.example'] },
      CALLBACK,
      'allowed_hosts',
    ],
  ])('%j, %s: %s', async (given, redirect_uri, rule) => {
    const client = publish({ redirect_uris: [CALLBACK, LOOPBACK, PRIVATE] })
    expect(headingOf((await realm.begin(client, { redirect_uri })).page)).toBe('Sign in')
    // The document is known by now: a change of the rules counts without reading it again.
    await rules(given)
    const { page } = await realm.begin(client, { redirect_uri })
    expect(headingOf(page)).toBe(rule ? 'This did not work' : 'Sign in')
    if (rule) expect(page.html).toContain(`settings.security.redirect_uri_rules.${rule} of the issuer refuses`)
    await rules(null)
    expect(headingOf((await realm.begin(client, { redirect_uri })).page)).toBe('Sign in')
  })

  test('post-logout redirect URIs too; a session that began before goes on', async () => {
    const client = publish({ post_logout_redirect_uris: ['https://gone.example.com/'] })
    const { body } = await tokensOf(client)
    await rules({ allowed_hosts: ['none.example.com'] })
    const refreshed = await realm.refresh(client, body.refresh_token)
    expect(refreshed.status).toBe(200)
    const url = new URL(`${realm.url}/logout`)
    url.searchParams.set('id_token_hint', refreshed.body.id_token)
    url.searchParams.set('post_logout_redirect_uri', 'https://gone.example.com/')
    expect((await fetch(url, { redirect: 'manual' })).status).toBe(400)
    await rules({ allowed_hosts: ['gone.example.com'] })
    const left = await fetch(url, { redirect: 'manual' })
    expect([left.status, left.headers.get('location')]).toEqual([303, 'https://gone.example.com/'])
  })
})

describe('D33: organization_policy is asked at every issue', () => {
  let orgs: string[]
  beforeAll(async () => {
    const { owner, I } = realm.tenant
    const list = must(await owner.get(`${I}/organizations`), 200).data
    orgs = list.map(({ id }: { id: string }) => id)
  })
  afterEach(() => configure({ organization_policy: 'all' }))

  test.each<[string, 'selected' | 'none', boolean]>([
    ['an organization was selected; selected keeps it', 'selected', true],
    ['an organization was selected; none refuses it', 'none', false],
  ])('%s at a refresh', async (_, organization_policy, kept) => {
    const client = publish()
    const { body } = await tokensOf(client, { org: orgs[0]! })
    await configure({ organization_policy })
    const refreshed = await realm.refresh(client, body.refresh_token)
    if (!kept) return expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant'])
    expect(claimsOf(refreshed.body.access_token)).toMatchObject({ org_id: orgs[0] })
  })

  test.each(['selected', 'none'])(
    'without a selected organization, %s leaves none at a refresh',
    async (organization_policy) => {
      const client = publish()
      const { body } = await tokensOf(client)
      expect(claimsOf(body.access_token).organizations).toHaveLength(2)
      await configure({ organization_policy })
      const refreshed = await realm.refresh(client, body.refresh_token)
      expect([refreshed.status, claimsOf(refreshed.body.access_token).organizations]).toEqual([200, undefined])
    },
  )

  test.each<[string, string, (ids: string[]) => string | undefined, string[]]>([
    ['all, none selected: every active membership', 'all', () => undefined, ['One', 'Two <i>']],
    ['all, one selected: that one', 'all', ([id]) => id, ['One']],
    ['selected, none selected: none', 'selected', () => undefined, []],
    ['selected, one selected: that one', 'selected', ([id]) => id, ['One']],
    ['none: none', 'none', () => undefined, []],
  ])(
    'the consent page names the organizations that the application will learn of. %s',
    async (_, organization_policy, select, names) => {
      const { owner, I } = realm.tenant
      const list = must(await owner.get(`${I}/organizations`), 200).data
      const one = list.find(({ name }: { name: string }) => name === 'One').id
      const two = orgs.find((id) => id !== one)!
      must(await owner.patch(`${I}/organizations/${two}`, { name: 'Two <i>' }), 200)
      await configure({ organization_policy })
      const { page } = await toConsent(publish(), { org: select([one]) })
      expect(isConsent(page)).toBe(true)
      const shown = ['One', 'Two <i>'].filter((name) =>
        page.html.includes(`<li>${name.replace('<', '&lt;').replace('>', '&gt;')}</li>`),
      )
      expect(shown).toEqual(names)
      expect(page.html.includes('organizations')).toBe(names.length > 0)
    },
  )
})

describe('hostile documents', () => {
  const json = { 'content-type': 'application/json' }
  const raw = (status: number, headers: Record<string, string>, body: string | Buffer) => {
    const path = `/raw${documents++}/client.json`
    pages.set(path, (_, res) => void res.writeHead(status, headers).end(body))
    return `${origin}${path}`
  }
  const self = (make: (id: string) => object, headers = json) => {
    const path = `/self${documents++}/client.json`
    pages.set(path, (_, res) => void res.writeHead(200, headers).end(JSON.stringify(make(`${origin}${path}`))))
    return `${origin}${path}`
  }
  const good = (id: string) => ({ client_id: id, redirect_uris: [CALLBACK] })

  test.each<[string, () => string]>([
    ['a redirect', () => raw(302, { location: publish().id }, '')],
    ['a permanent redirect', () => raw(308, { location: publish().id }, '')],
    ['not found', () => raw(404, json, '{}')],
    ['an error', () => raw(500, json, '{}')],
    ['created', () => self(good).replace('self', 'nothing')],
    ['another client_id', () => publish({ client_id: 'https://app.example.com/client.json' }).id],
    ['the client_id with a slash', () => self((id) => ({ ...good(id), client_id: `${id}/` }))],
    ['the client_id in other case', () => self((id) => ({ ...good(id), client_id: id.toUpperCase() }))],
    ['no client_id', () => publish({ client_id: undefined }).id],
    ['a list of client_ids', () => self((id) => ({ ...good(id), client_id: [id] }))],
    ['a secret', () => publish({ client_secret: 'known to all' }).id],
    ['an empty secret', () => publish({ client_secret: '' }).id],
    ['the expiry of a secret', () => publish({ client_secret_expires_at: 0 }).id],
    ['client_secret_basic', () => publish({ token_endpoint_auth_method: 'client_secret_basic' }).id],
    ['client_secret_post', () => publish({ token_endpoint_auth_method: 'client_secret_post' }).id],
    [
      'private_key_jwt',
      () => publish({ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `${origin}/keys` }).id,
    ],
    ['tls_client_auth', () => publish({ token_endpoint_auth_method: 'tls_client_auth' }).id],
    ['an authentication method that is null', () => publish({ token_endpoint_auth_method: null }).id],
    ['no redirect_uris', () => publish({ redirect_uris: undefined }).id],
    ['empty redirect_uris', () => publish({ redirect_uris: [] }).id],
    ['a redirect URI that is none', () => publish({ redirect_uris: [CALLBACK, 'nowhere'] }).id],
    ['a script for a redirect URI', () => publish({ redirect_uris: ['javascript:alert(1)'] }).id],
    ['remote http for a redirect URI', () => publish({ redirect_uris: ['http://app.example.com/'] }).id],
    ['a redirect URI with a fragment', () => publish({ redirect_uris: [`${CALLBACK}#x`] }).id],
    ['a redirect URI with credentials', () => publish({ redirect_uris: ['https://a:b@app.example.com/'] }).id],
    [
      '101 redirect URIs',
      () => publish({ redirect_uris: Array.from({ length: 101 }, (_, n) => `https://a.b/${n}`) }).id,
    ],
    ['machine grants only', () => publish({ grant_types: ['client_credentials'] }).id],
    ['the implicit flow', () => publish({ response_types: ['id_token'] }).id],
    ['grants that are no list', () => publish({ grant_types: 'authorization_code' }).id],
    ['a name that is no text', () => publish({ client_name: { toString: 'x' } }).id],
    ['a name without end', () => publish({ client_name: 'x'.repeat(201) }).id],
    ['over 5 KB', () => publish({ padding: 'x'.repeat(5200) }).id],
    ['not JSON', () => raw(200, json, '<html>')],
    ['a list', () => raw(200, json, '[]')],
    ['null', () => raw(200, json, 'null')],
    ['nothing', () => raw(200, json, '')],
    ['half a document', () => raw(200, json, '{"client_id": "')],
    ['HTML that would parse', () => self(good, { 'content-type': 'text/html' })],
    ['no content type', () => self(good, {} as never)],
    ['compressed bytes', () => raw(200, { ...json, 'content-encoding': 'gzip' }, Buffer.from([0x1f, 0x8b, 8, 0]))],
    ['a prototype', () => raw(200, json, '{"__proto__": {"client_id": "x"}}')],
    ['nested without end', () => raw(200, json, `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`)],
    ['a NUL', () => publish({ client_name: 'a\0b' }).id],
  ])('%s: an error page, no redirect, nothing of it shown, nothing kept', async (_, make) => {
    const id = make()
    for (let n = 1; n <= 2; n++) {
      asked.length = 0
      const { page } = await realm.begin({ id, secret: undefined })
      expect([page.status, headingOf(page)]).toEqual([expect.any(Number), 'This did not work'])
      expect(page.status).toBeGreaterThanOrEqual(400)
      expect(page.status).toBeLessThan(500)
      expect(page.html).not.toMatch(/known to all|xxxx|javascript:/)
      expect(asked).toEqual([new URL(id).pathname])
    }
    const token = await realm.post(
      '/token',
      { id, secret: undefined },
      { grant_type: 'refresh_token', refresh_token: 'x' },
    )
    expect([token.status, token.body.error]).toEqual([401, 'invalid_client'])
  })

  test('slow: an answer within the limit of 3 seconds', async () => {
    pages.set('/slow', (_, res) => void res.writeHead(200, json).write('{'))
    const { page } = await realm.begin({ id: `${origin}/slow`, secret: undefined })
    expect([headingOf(page), page.html.includes('no answer in time')]).toEqual(['This did not work', true])
  })

  test('keys at an address are never asked for', async () => {
    const client = publish({
      jwks_uri: `${origin}/keys`,
      logo_uri: `${origin}/logo`,
      request_uris: [`${origin}/request`],
    })
    const { body } = await tokensOf(client)
    expect(body.access_token).toBeDefined()
    expect(new Set(asked)).toEqual(new Set([new URL(client.id).pathname]))
  })
})

test('a document does not make the logout endpoint send people anywhere', async () => {
  const elsewhere = 'https://elsewhere.example/page'
  const client = publish({ post_logout_redirect_uris: [elsewhere] })
  const url = new URL(`${realm.url}/logout`)
  url.searchParams.set('client_id', client.id)
  url.searchParams.set('post_logout_redirect_uri', elsewhere)
  const lured = await fetch(url, { redirect: 'manual' })
  expect({ status: lured.status, location: lured.headers.get('location') }).toEqual({ status: 200, location: null })

  const { body } = await tokensOf(client)
  url.searchParams.set('id_token_hint', body.id_token)
  const asked = await fetch(url, { redirect: 'manual' })
  expect({ status: asked.status, location: asked.headers.get('location') }).toEqual({
    status: 303,
    location: elsewhere,
  })
})

test.each<[string, (client: TestClient) => unknown]>([
  ['cannot be had', ({ id }) => pages.delete(new URL(id).pathname)],
  ['counts no more', () => configure({ enabled: false })],
])('D23: where the document %s, its people are asked whether to sign out, and stay here', async (_, end) => {
  const client = publish({ post_logout_redirect_uris: [CALLBACK] })
  const { body, browser } = await tokensOf(client)
  try {
    app.clock.advance(301_000)
    await end(client)
    for (const named of [{ id_token_hint: body.id_token }, { client_id: client.id }]) {
      const query = new URLSearchParams({ ...(named as Record<string, string>), post_logout_redirect_uri: CALLBACK })
      const question = await browser.open(`${realm.url}/logout?${query}`)
      expect([question.status, headingOf(question)]).toEqual([200, 'Do you want to sign out?'])
      const copy = browser.copy()
      if ('client_id' in named)
        expect(headingOf(await copy.submit(question, { logout: 'yes' }))).toBe('You are signed out')
    }
  } finally {
    app.clock.advance(-301_000)
    await configure({ enabled: true })
  }
})

describe('hostile addresses', () => {
  test.each([
    'https://127.0.0.1/client.json',
    'https://127.0.0.1',
    'https://localhost/client.json',
    'https://[::1]/client.json',
    'https://10.0.0.1/client.json',
    'https://169.254.169.254/latest/meta-data',
    'http://app.example.com/client.json',
    'HTTPS://app.example.com/client.json',
    'https://app.example.com',
    'https://app.example.com/',
    'https://app.example.com/client.json#part',
    'https://user@app.example.com/client.json',
    'https://user:pass@app.example.com/client.json',
    'https://app.example.com/../client.json',
    'https://app.example.com/a/./client.json',
    'https://app.example.com/a/%2e%2e/client.json',
    'https://app.example.com/a/%2E/client.json',
    'https://app.example.com:443/client.json',
    'https://APP.example.com/client.json',
    'https://app.example.com\\@evil.example/client.json',
    'https://app.example.com/client json',
    'https://app.example.com/clïent.json',
    `https://app.example.com/${'x'.repeat(600)}`,
    'https:app.example.com/client.json',
    'https:///client.json',
  ])('%s without private networks: an error page, and nobody is asked', async (id) => {
    const strict = await strictly()
    const { page } = await strict.begin({ id, secret: undefined })
    expect([headingOf(page), asked]).toEqual(['This did not work', []])
  })

  test('http on this machine is for development only', async () => {
    const strict = await strictly()
    const { page } = await strict.begin(publish())
    expect([headingOf(page), asked]).toEqual(['This did not work', []])
  })

  let made: Promise<Realm> | undefined
  let strictApp: TestApp
  const strictly = () => {
    made ??= (async () => {
      strictApp = await startApp()
      const place = await Realm.make(strictApp)
      await configure({ enabled: true }, place)
      return place
    })()
    return made
  }
  afterAll(async () => strictApp?.close())
})

describe('D23: documents are kept for as long as they say, between five minutes and a day', () => {
  const open = (client: TestClient) => realm.begin(client)
  test.each<[string, Record<string, string>, number]>([
    ['no word', {}, 300],
    ['no-store', { 'cache-control': 'no-store' }, 300],
    ['max-age=0', { 'cache-control': 'max-age=0' }, 300],
    ['max-age=3600', { 'cache-control': 'public, max-age=3600' }, 3600],
    ['a year', { 'cache-control': 'max-age=31536000' }, 86_400],
  ])('%s', async (_, headers, seconds) => {
    const client = publish({}, headers)
    await open(client)
    app.clock.advance((seconds - 30) * 1000)
    await open(client)
    expect(asked).toHaveLength(1)
    app.clock.advance(40_000)
    await open(client)
    expect(asked).toHaveLength(2)
  })

  test('requests at the same moment ask once', async () => {
    const client = publish()
    await Promise.all([open(client), open(client), open(client), open(client)])
    expect(asked).toHaveLength(1)
  })

  test('what changed counts when it is asked for again', async () => {
    const path = `/changing${documents++}/client.json`
    const client = publish({}, {}, path)
    await open(client)
    publish({ redirect_uris: ['https://elsewhere.example.com/'] }, {}, path)
    app.clock.advance(301_000)
    expect(headingOf((await open(client)).page)).toBe('This did not work')
  })
})

describe('allowed_resources, allowed_scopes: what such clients may get tokens for (RFC 8707)', () => {
  const [mcp, other] = ['https://mcp.example.com/mcp', 'https://other.example.com/']
  const allow = (more: object = {}) =>
    configure({
      enabled: true,
      allowed_resources: [mcp, other],
      allowed_scopes: ['notes:read', 'notes:write'],
      ...more,
    })
  afterAll(() => configure({ allowed_resources: null, allowed_scopes: null }))
  const errorOf = async (client: TestClient, params: Record<string, string | undefined>) =>
    redirectOf((await realm.begin(client, params)).page)['error']

  test('none by default', async () => {
    expect(await errorOf(publish(), { resource: mcp })).toBe('invalid_target')
    expect(await errorOf(publish(), { scope: 'notes:read' })).toBe('invalid_scope')
  })

  test('one that is listed becomes aud, with the listed scopes, over code and refresh; one that is not does not', async () => {
    await allow()
    const client = publish()
    const scope = 'openid notes:read notes:delete'
    const first = await toConsent(client, { resource: mcp, scope })
    expect(first.page.html).toContain(`<li>${mcp}</li><li>notes:read</li>`)
    expect(first.page.html).not.toMatch(/notes:(write|delete)/)
    const redirect = redirectOf(await first.browser.submit(first.page, { consent: 'yes' }))
    const code = { code: redirect['code']!, code_verifier: first.verifier, redirect_uri: CALLBACK, resource: mcp }
    const { status, body } = await realm.exchange(client, code)
    expect([status, body.scope]).toEqual([200, 'openid notes:read'])
    expect(claimsOf(body.access_token)).toMatchObject({ aud: mcp, client_id: client.id, scope: 'openid notes:read' })
    expect(claimsOf(body.id_token).aud).toBe(client.id)
    const again = await realm.refresh(client, body.refresh_token, { resource: mcp })
    expect(claimsOf(again.body.access_token).aud).toBe(mcp)
    for (const resource of [other, 'https://mcp.example.com', `${mcp}/`, app.baseUrl]) {
      expect((await realm.refresh(client, again.body.refresh_token, { resource })).body.error).toBe('invalid_target')
    }
    expect(await errorOf(client, { resource: `${mcp}/` })).toBe('invalid_target')
    expect((await realm.userinfo(body.access_token)).status).toBe(200)

    await allow({ allowed_resources: [other] })
    expect((await realm.refresh(client, again.body.refresh_token)).body.error).toBe('invalid_target')
  })

  test('consent is for the resource that was shown, and for its scopes', async () => {
    await allow()
    const client = publish()
    const { browser } = await tokensOf(client, { resource: mcp, scope: 'openid notes:read' })
    const silently = async (params: Record<string, string>) =>
      redirectOf((await realm.begin(client, { prompt: 'none', ...params }, browser)).page)
    expect((await silently({ resource: mcp, scope: 'openid notes:read nothing' }))['code']).toBeDefined()
    expect((await silently({ resource: other, scope: 'openid' }))['error']).toBe('consent_required')
    expect((await silently({ resource: mcp, scope: 'openid notes:write' }))['error']).toBe('consent_required')
  })

  test('who names no scope gets openid and what is listed', async () => {
    await allow()
    const { body } = await tokensOf(publish(), { resource: mcp, scope: undefined })
    expect(claimsOf(body.access_token)).toMatchObject({ aud: mcp, scope: 'openid notes:read notes:write' })
  })

  test('registered clients have their own list', async () => {
    await allow()
    const client = await realm.client()
    expect(await errorOf(client, { resource: mcp })).toBe('invalid_target')
    must(await realm.tenant.owner.delete(`${realm.tenant.I}/clients/${client.id}`), 204)
  })

  test.each([
    ['allowed_resources', ['mcp.example.com']],
    ['allowed_resources', ['https://mcp.example.com/#part']],
    ['allowed_resources', 'https://mcp.example.com/'],
    ['allowed_scopes', ['a b']],
    ['allowed_scopes', 'a'],
  ])('%s: %j is refused', async (key, value) => {
    const settings = { security: { openid_policy: { client_id_metadata_document: { [key]: value } } } }
    const { body } = await realm.tenant.owner.patch(realm.tenant.I, { settings })
    const field = `settings.security.openid_policy.client_id_metadata_document.${key}`
    expect([body.error, body.details[0].field]).toEqual(['invalid_request', expect.stringContaining(field)])
  })

  test('D6: nobody lets such clients ask for a platform scope that they lack', async () => {
    const policy = { client_id_metadata_document: { allowed_scopes: ['issuers.users:read'] } }
    const weak = await keyWith(realm.tenant, { scopes: ['issuers:write'] })
    const answer = await weak.patch(realm.tenant.I, { settings: { security: { openid_policy: policy } } })
    expect([answer.status, answer.body.error]).toEqual([403, 'insufficient_scope'])
  })
})

test('a document’s client has no secret, no machine grant, no resource and no audience of others', async () => {
  const client = publish()
  const body = { grant_type: 'client_credentials' }
  expect((await realm.post('/token', client, body)).body.error).toBe('unauthorized_client')
  expect((await realm.post('/token', { ...client, secret: 'x'.repeat(40) }, body)).status).toBe(401)
  expect((await realm.post('/introspect', client, { token: 'x' })).status).toBe(401)
  const wide = { audience: 'https://api.example.com' }
  expect(redirectOf((await realm.begin(client, wide)).page)['error']).toBe('invalid_target')
})
