/** Client ID metadata documents (docs/contract.md#client-id-metadata-documents, docs/contract.md#issuers). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { headingOf, type Page, TestBrowser } from './browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let site: Server
let origin: string
/** The handlers of the site that publishes the documents, by path. Other paths are 404. */
const pages = new Map<string, (req: IncomingMessage, res: ServerResponse) => void>()
/** The paths that the IdP has requested from the site in the current test. */
const requestedPaths: string[] = []

beforeAll(async () => {
  site = createServer((req, res) => {
    requestedPaths.push(req.url!)
    const page = pages.get(req.url!)
    if (page) page(req, res)
    else res.writeHead(404).end()
  })
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  app = await startApp({ env: { ALLOW_PRIVATE_NETWORKS: 'true' } })
  realm = await Realm.create(app, 'Documents')
  await realm.createUser('ada@example.com')
  await configure({ enabled: true })
})
afterAll(async () => {
  await app.close()
  site.closeAllConnections()
  await new Promise((done) => site.close(done))
})
beforeEach(() => {
  requestedPaths.length = 0
})

const configure = async (policy: object, at = realm) => {
  const settings = { security: { openid_policy: { client_id_metadata_document: policy } } }
  expectStatus(await at.tenant.owner.patch(at.tenant.I, { settings }), 200)
}

let documents = 0
/**
 * Publishes a valid document, by default at a new URL.
 * @param change members that replace or complement those of the document
 * @param headers additional headers of the response
 * @returns the client whose id is the URL
 */
function publish(
  change: object = {},
  headers: Record<string, string> = {},
  path = `/app${documents++}/client.json`,
): TestClient {
  const id = `${origin}${path}`
  const document = {
    client_id: id,
    client_name: 'Notes <b>&',
    redirect_uris: [REDIRECT_URI],
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
  const begun = await realm.openSignInPage(client, params, browser)
  const page = await browser.submit(begun.page, { username: 'ada@example.com', password: PASSWORD })
  return { ...begun, page }
}
const isConsent = (page: Page) => headingOf(page)?.startsWith('Allow ')

async function tokensOf(client: TestClient, params: Record<string, string | undefined> = {}, at = realm) {
  const { page, browser, verifier } = await toConsent(client, params)
  const redirect = redirectParametersOf(await browser.submit(page, { consent: 'yes' }))
  const redirect_uri = params['redirect_uri'] ?? REDIRECT_URI
  const response = await at.exchangeCode(client, { code: redirect['code']!, code_verifier: verifier, redirect_uri })
  return { ...response, browser, redirect }
}

test('off by default: the client is unknown and nothing is fetched', async () => {
  const other = await Realm.create(app, 'Plain')
  const { page } = await other.openSignInPage(publish())
  expect([page.status, headingOf(page), requestedPaths]).toEqual([400, 'Something went wrong', []])
  const document = (await (await fetch(`${other.url}/.well-known/openid-configuration`)).json()) as Record<
    string,
    unknown
  >
  expect(document['client_id_metadata_document_supported']).toBeUndefined()
  expect(document['token_endpoint_auth_methods_supported']).toEqual(['client_secret_basic', 'client_secret_post'])
})

test('a document with dpop_bound_access_tokens requires a DPoP proof (docs/contract.md#sender-constrained-tokens)', async () => {
  const { status, body } = await tokensOf(publish({ dpop_bound_access_tokens: true }))
  expect([status, body.error]).toEqual([400, 'invalid_request'])
})

test('the metadata documents list the feature while it is enabled; when it is disabled, tokens become invalid immediately', async () => {
  const other = await Realm.create(app, 'Switching')
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

test('disabled during a sign-in: the next submission gets an error page', async () => {
  const { page, browser } = await realm.openSignInPage(publish())
  await configure({ enabled: false })
  const nextPage = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
  await configure({ enabled: true })
  expect([nextPage.status, headingOf(nextPage)]).toEqual([400, 'Something went wrong'])
})

test('a user signs in, sees the host, and allows access: code, tokens, userinfo, refresh; no client is created', async () => {
  const client = publish()
  const { page, browser, verifier } = await toConsent(client, { scope: 'openid email' })
  const { host } = new URL(origin)
  expect(headingOf(page)).toBe(`Allow ${host} to use your account?`)
  expect(page.html).toContain('calls itself “Notes &lt;b&gt;&amp;”')
  expect(page.html).toContain('your email address')
  expect(page.html).not.toContain('your phone number')
  expect(page.html).toContain('app.example.com')
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  const redirect = redirectParametersOf(await browser.submit(page, { consent: 'yes' }))
  expect(redirect).toMatchObject({ state: 'st', iss: realm.url, code: expect.any(String) })
  const response = await realm.exchangeCode(client, {
    code: redirect['code']!,
    code_verifier: verifier,
    redirect_uri: REDIRECT_URI,
  })
  expect(response.status).toBe(200)
  expect(jwtClaims(response.body.access_token)).toMatchObject({ aud: client.id, client_id: client.id })
  expect(jwtClaims(response.body.id_token).aud).toBe(client.id)
  expect((await realm.userinfo(response.body.access_token)).body.email).toBe('ada@example.com')
  const again = await realm.refresh(client, response.body.refresh_token)
  expect([again.status, jwtClaims(again.body.access_token).client_id]).toEqual([200, client.id])
  const list = expectStatus(await realm.tenant.owner.get(`${realm.tenant.I}/clients`), 200)
  expect(list.data).toEqual([])
  const { sid } = jwtClaims(response.body.access_token)
  expect(expectStatus(await realm.tenant.owner.get(`${realm.tenant.I}/sessions/${sid}`), 200).data.client_id).toBe(
    client.id,
  )
})

describe('consent', () => {
  test('denied: access_denied, and no session', async () => {
    const client = publish()
    const { page, browser } = await toConsent(client)
    const redirect = redirectParametersOf(await browser.submit(page, { consent: 'no' }))
    expect(redirect).toMatchObject({ error: 'access_denied', state: 'st', iss: realm.url })
    expect(await app.gatehouse.database.prisma.session.count({ where: { clientId: client.id } })).toBe(0)
  })

  test('lasts for the browser session with the client, and for the allowed scopes', async () => {
    const client = publish()
    const { browser } = await tokensOf(client, { scope: 'openid email' })
    const silently = async (params: Record<string, string>) =>
      redirectParametersOf((await realm.openSignInPage(client, { prompt: 'none', ...params }, browser)).page)
    expect((await silently({ scope: 'openid' }))['code']).toBeDefined()
    expect((await silently({ scope: 'openid email phone' }))['error']).toBe('consent_required')
    expect(isConsent((await realm.openSignInPage(client, { scope: 'openid phone' }, browser)).page)).toBe(true)
    expect(isConsent((await realm.openSignInPage(client, { prompt: 'consent' }, browser)).page)).toBe(true)
    expect(isConsent((await realm.openSignInPage(publish(), {}, browser)).page)).toBe(true)
    expect(isConsent((await toConsent(client)).page)).toBe(true)
  })

  test('ends when the session is revoked', async () => {
    const client = publish()
    const { browser, body } = await tokensOf(client)
    const { sid } = jwtClaims(body.access_token)
    expectStatus(await realm.tenant.owner.post(`${realm.tenant.I}/sessions/${sid}/revoke`, { reason: 'other' }), 200)
    const { page } = await realm.openSignInPage(client, {}, browser)
    const next =
      headingOf(page) === 'Sign in'
        ? await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
        : page
    expect(isConsent(next)).toBe(true)
  })

  test('is accepted only from the form and browser of the user', async () => {
    const client = publish()
    const { page, browser } = await toConsent(client)
    const forged = await browser.submit(page, { consent: 'yes', csrf: '0.forged' })
    expect(isConsent(forged)).toBe(true)
    const otherBrowser = await new TestBrowser().submit(page, { consent: 'yes' })
    expect([otherBrowser.status, headingOf(otherBrowser)]).toEqual([400, 'Something went wrong'])
    expect(isConsent(await browser.submit(page, { consent: 'perhaps' }))).toBe(true)
    expect(redirectParametersOf(await browser.submit(page, { consent: 'yes' }))['code']).toBeDefined()
  })

  test('is not requested for registered clients, even with prompt=consent', async () => {
    const client = await realm.createClient()
    const { redirect } = await realm.signIn(client, 'ada@example.com', { prompt: 'consent' })
    expect(redirect['code']).toBeDefined()
    expectStatus(await realm.tenant.owner.delete(`${realm.tenant.I}/clients/${client.id}`), 204)
  })

  test('in German', async () => {
    expect(headingOf((await toConsent(publish(), { ui_locales: 'de' })).page)).toContain('dieses Konto verwenden?')
  })
})

describe('redirect URI matching', () => {
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
    [REDIRECT_URI, true],
  ])('%s is allowed: %s (the port on a loopback host can vary)', async (redirect_uri, allowed) => {
    const client = publish({ redirect_uris: [registered, REDIRECT_URI] })
    const { page } = await realm.openSignInPage(client, { redirect_uri })
    expect(headingOf(page)).toBe(allowed ? 'Sign in' : 'Something went wrong')
  })
})

describe('organization_policy', () => {
  let orgs: string[]
  beforeAll(async () => {
    const { owner, I } = realm.tenant
    const [user] = expectStatus(await owner.get(`${I}/users`), 200).data
    orgs = []
    for (const name of ['One', 'Two']) {
      const { data } = expectStatus(await owner.post(`${I}/organizations`, { name }), 201)
      expectStatus(
        await owner.post(`${I}/organizations/${data.id}/members`, { member_id: user.id, scopes: ['a:read'] }),
        201,
      )
      orgs.push(data.id)
    }
  })
  const claims = async (params: Record<string, string> = {}) => {
    const { body } = await tokensOf(publish(), params)
    const { organizations, org_id } = jwtClaims(body.access_token)
    expect(jwtClaims(body.id_token).organizations).toEqual(organizations)
    return { ids: organizations?.map(({ id }: { id: string }) => id).sort(), org_id }
  }

  test('all: every active membership, or the selected one', async () => {
    await configure({ organization_policy: 'all' })
    expect(await claims()).toEqual({ ids: [...orgs].sort(), org_id: undefined })
    expect(await claims({ org: orgs[0]! })).toEqual({ ids: [orgs[0]], org_id: orgs[0] })
  })
  test('selected: only an organization that the request selects', async () => {
    await configure({ organization_policy: 'selected' })
    expect(await claims()).toEqual({ ids: undefined, org_id: undefined })
    expect(await claims({ org: orgs[1]! })).toEqual({ ids: [orgs[1]], org_id: orgs[1] })
  })
  test('none: no organization, and none can be selected', async () => {
    await configure({ organization_policy: 'none' })
    expect(await claims()).toEqual({ ids: undefined, org_id: undefined })
    const { page } = await realm.openSignInPage(publish(), { org: orgs[0]! })
    expect(redirectParametersOf(page)['error']).toBe('invalid_request')
    const registered = await realm.createClient()
    const tokens = await realm.signInForTokens(registered, 'ada@example.com')
    expect(jwtClaims(tokens.access_token).organizations).toHaveLength(2)
    await configure({ organization_policy: 'all' })
  })
})

describe('redirect_uri_rules of the issuer restrict the redirect URIs of a document', () => {
  const rules = async (redirect_uri_rules: object | null) =>
    expectStatus(
      await realm.tenant.owner.patch(realm.tenant.I, { settings: { security: { redirect_uri_rules } } }),
      200,
    )
  afterEach(() => rules(null))
  const LOOPBACK = 'http://127.0.0.1/cb'
  const PRIVATE = 'com.example.app:/cb'

  test.each<[object, string, string | undefined]>([
    [{ allow_loopback: false }, 'http://127.0.0.1:5555/cb', 'allow_loopback'],
    [{ allow_loopback: false }, LOOPBACK, 'allow_loopback'],
    [{ allow_loopback: false }, REDIRECT_URI, undefined],
    [{ allow_private_use_schemes: false }, PRIVATE, 'allow_private_use_schemes'],
    [{ allow_private_use_schemes: false }, REDIRECT_URI, undefined],
    [{ allowed_hosts: ['other.example.com'] }, REDIRECT_URI, 'allowed_hosts'],
    [{ allowed_hosts: ['*.example.com'] }, REDIRECT_URI, undefined],
    [
      { allow_loopback: false, allow_private_use_schemes: false, allowed_hosts: ['a.example'] },
      REDIRECT_URI,
      'allowed_hosts',
    ],
  ])('rules %j, redirect URI %s: the rule that refuses it is %s', async (given, redirect_uri, rule) => {
    const client = publish({ redirect_uris: [REDIRECT_URI, LOOPBACK, PRIVATE] })
    expect(headingOf((await realm.openSignInPage(client, { redirect_uri })).page)).toBe('Sign in')
    // The document is cached at this point. Changed rules also apply to a cached document.
    await rules(given)
    const { page } = await realm.openSignInPage(client, { redirect_uri })
    expect(headingOf(page)).toBe(rule ? 'Something went wrong' : 'Sign in')
    if (rule) expect(page.html).toContain(`settings.security.redirect_uri_rules.${rule} of the issuer refuses`)
    await rules(null)
    expect(headingOf((await realm.openSignInPage(client, { redirect_uri })).page)).toBe('Sign in')
  })

  test('the rules also apply to post-logout redirect URIs; an existing session continues', async () => {
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

describe('organization_policy applies at every token issue', () => {
  let orgs: string[]
  beforeAll(async () => {
    const { owner, I } = realm.tenant
    const list = expectStatus(await owner.get(`${I}/organizations`), 200).data
    orgs = list.map(({ id }: { id: string }) => id)
  })
  afterEach(() => configure({ organization_policy: 'all' }))

  test.each<[string, 'selected' | 'none', boolean]>([
    ['keeps the selected organization', 'selected', true],
    ['is invalid_grant if an organization was selected', 'none', false],
  ])('a refresh %s after organization_policy has become %s', async (_, organization_policy, kept) => {
    const client = publish()
    const { body } = await tokensOf(client, { org: orgs[0]! })
    await configure({ organization_policy })
    const refreshed = await realm.refresh(client, body.refresh_token)
    if (!kept) return expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant'])
    expect(jwtClaims(refreshed.body.access_token)).toMatchObject({ org_id: orgs[0] })
  })

  test.each(['selected', 'none'])(
    'if no organization was selected, the tokens of a refresh have none after organization_policy has become %s',
    async (organization_policy) => {
      const client = publish()
      const { body } = await tokensOf(client)
      expect(jwtClaims(body.access_token).organizations).toHaveLength(2)
      await configure({ organization_policy })
      const refreshed = await realm.refresh(client, body.refresh_token)
      expect([refreshed.status, jwtClaims(refreshed.body.access_token).organizations]).toEqual([200, undefined])
    },
  )

  test.each<[string, string, (ids: string[]) => string | undefined, string[]]>([
    ['all, none selected: every active membership', 'all', () => undefined, ['One', 'Two <i>']],
    ['all, one selected: that one', 'all', ([id]) => id, ['One']],
    ['selected, none selected: none', 'selected', () => undefined, []],
    ['selected, one selected: that one', 'selected', ([id]) => id, ['One']],
    ['none: none', 'none', () => undefined, []],
  ])(
    'the consent page lists the organizations that the application will see. %s',
    async (_, organization_policy, select, names) => {
      const { owner, I } = realm.tenant
      const list = expectStatus(await owner.get(`${I}/organizations`), 200).data
      const one = list.find(({ name }: { name: string }) => name === 'One').id
      const two = orgs.find((id) => id !== one)!
      expectStatus(await owner.patch(`${I}/organizations/${two}`, { name: 'Two <i>' }), 200)
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

describe('invalid documents', () => {
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
  const good = (id: string) => ({ client_id: id, redirect_uris: [REDIRECT_URI] })

  test.each<[string, () => string]>([
    ['a redirect', () => raw(302, { location: publish().id }, '')],
    ['a permanent redirect', () => raw(308, { location: publish().id }, '')],
    ['not found', () => raw(404, json, '{}')],
    ['an error', () => raw(500, json, '{}')],
    ['an unknown path', () => self(good).replace('self', 'nothing')],
    ['another client_id', () => publish({ client_id: 'https://app.example.com/client.json' }).id],
    ['the client_id with a slash', () => self((id) => ({ ...good(id), client_id: `${id}/` }))],
    ['the client_id in upper case', () => self((id) => ({ ...good(id), client_id: id.toUpperCase() }))],
    ['no client_id', () => publish({ client_id: undefined }).id],
    ['a list of client_ids', () => self((id) => ({ ...good(id), client_id: [id] }))],
    ['a secret', () => publish({ client_secret: 'known to all' }).id],
    ['dpop_bound_access_tokens that is not a boolean', () => publish({ dpop_bound_access_tokens: 'yes' }).id],
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
    ['a redirect URI that is not a URI', () => publish({ redirect_uris: [REDIRECT_URI, 'nowhere'] }).id],
    ['a javascript: redirect URI', () => publish({ redirect_uris: ['javascript:alert(1)'] }).id],
    ['remote http for a redirect URI', () => publish({ redirect_uris: ['http://app.example.com/'] }).id],
    ['a redirect URI with a fragment', () => publish({ redirect_uris: [`${REDIRECT_URI}#x`] }).id],
    ['a redirect URI with credentials', () => publish({ redirect_uris: ['https://a:b@app.example.com/'] }).id],
    [
      '101 redirect URIs',
      () => publish({ redirect_uris: Array.from({ length: 101 }, (_, n) => `https://a.b/${n}`) }).id,
    ],
    ['only the client credentials grant', () => publish({ grant_types: ['client_credentials'] }).id],
    ['the implicit flow', () => publish({ response_types: ['id_token'] }).id],
    ['grant_types that is not a list', () => publish({ grant_types: 'authorization_code' }).id],
    ['a client_name that is not text', () => publish({ client_name: { toString: 'x' } }).id],
    ['a client_name that is too long', () => publish({ client_name: 'x'.repeat(201) }).id],
    ['over 5 KB', () => publish({ padding: 'x'.repeat(5200) }).id],
    ['not JSON', () => raw(200, json, '<html>')],
    ['a list', () => raw(200, json, '[]')],
    ['null', () => raw(200, json, 'null')],
    ['nothing', () => raw(200, json, '')],
    ['truncated JSON', () => raw(200, json, '{"client_id": "')],
    ['JSON with the content type text/html', () => self(good, { 'content-type': 'text/html' })],
    ['no content type', () => self(good, {} as never)],
    ['compressed bytes', () => raw(200, { ...json, 'content-encoding': 'gzip' }, Buffer.from([0x1f, 0x8b, 8, 0]))],
    ['a __proto__ key', () => raw(200, json, '{"__proto__": {"client_id": "x"}}')],
    ['nested too deeply', () => raw(200, json, `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`)],
    ['a NUL', () => publish({ client_name: 'a\0b' }).id],
  ])('%s: an error page, no redirect, the document is neither shown nor cached', async (_, make) => {
    const id = make()
    for (let n = 1; n <= 2; n++) {
      requestedPaths.length = 0
      const { page } = await realm.openSignInPage({ id, secret: undefined })
      expect([page.status, headingOf(page)]).toEqual([expect.any(Number), 'Something went wrong'])
      expect(page.status).toBeGreaterThanOrEqual(400)
      expect(page.status).toBeLessThan(500)
      expect(page.html).not.toMatch(/known to all|xxxx|javascript:/)
      expect(requestedPaths).toEqual([new URL(id).pathname])
    }
    const token = await realm.postForm(
      '/token',
      { id, secret: undefined },
      { grant_type: 'refresh_token', refresh_token: 'x' },
    )
    expect([token.status, token.body.error]).toEqual([401, 'invalid_client'])
  })

  test('a slow response is aborted after 3 seconds', async () => {
    pages.set('/slow', (_, res) => void res.writeHead(200, json).write('{'))
    const { page } = await realm.openSignInPage({ id: `${origin}/slow`, secret: undefined })
    expect([headingOf(page), page.html.includes('did not respond in time')]).toEqual(['Something went wrong', true])
  })

  test('jwks_uri, logo_uri and request_uris are never fetched', async () => {
    const client = publish({
      jwks_uri: `${origin}/keys`,
      logo_uri: `${origin}/logo`,
      request_uris: [`${origin}/request`],
    })
    const { body } = await tokensOf(client)
    expect(body.access_token).toBeDefined()
    expect(new Set(requestedPaths)).toEqual(new Set([new URL(client.id).pathname]))
  })
})

test('the logout endpoint redirects to a URI of a document only with an ID token hint, so that it is no open redirect', async () => {
  const elsewhere = 'https://elsewhere.example/page'
  const client = publish({ post_logout_redirect_uris: [elsewhere] })
  const url = new URL(`${realm.url}/logout`)
  url.searchParams.set('client_id', client.id)
  url.searchParams.set('post_logout_redirect_uri', elsewhere)
  const lured = await fetch(url, { redirect: 'manual' })
  expect({ status: lured.status, location: lured.headers.get('location') }).toEqual({ status: 200, location: null })

  const { body } = await tokensOf(client)
  url.searchParams.set('id_token_hint', body.id_token)
  const response = await fetch(url, { redirect: 'manual' })
  expect({ status: response.status, location: response.headers.get('location') }).toEqual({
    status: 303,
    location: elsewhere,
  })
})

test.each<[string, (client: TestClient) => unknown]>([
  ['cannot be fetched', ({ id }) => pages.delete(new URL(id).pathname)],
  ['must not be used because the feature is disabled', () => configure({ enabled: false })],
])('if the document %s, the logout page asks for confirmation and does not redirect', async (_, end) => {
  const client = publish({ post_logout_redirect_uris: [REDIRECT_URI] })
  const { body, browser } = await tokensOf(client)
  try {
    app.clock.advance(301_000)
    await end(client)
    for (const named of [{ id_token_hint: body.id_token }, { client_id: client.id }]) {
      const query = new URLSearchParams({
        ...(named as Record<string, string>),
        post_logout_redirect_uri: REDIRECT_URI,
      })
      const question = await browser.open(`${realm.url}/logout?${query}`)
      expect([question.status, headingOf(question)]).toEqual([200, 'Do you want to sign out?'])
      const copy = browser.clone()
      if ('client_id' in named)
        expect(headingOf(await copy.submit(question, { logout: 'yes' }))).toBe('You are signed out')
    }
  } finally {
    app.clock.advance(-301_000)
    await configure({ enabled: true })
  }
})

describe('invalid client_id URLs', () => {
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
  ])('%s without ALLOW_PRIVATE_NETWORKS: an error page, and nothing is fetched', async (id) => {
    const strict = await strictly()
    const { page } = await strict.openSignInPage({ id, secret: undefined })
    expect([headingOf(page), requestedPaths]).toEqual(['Something went wrong', []])
  })

  test('http on loopback needs ALLOW_PRIVATE_NETWORKS', async () => {
    const strict = await strictly()
    const { page } = await strict.openSignInPage(publish())
    expect([headingOf(page), requestedPaths]).toEqual(['Something went wrong', []])
  })

  let created: Promise<Realm> | undefined
  let strictApp: TestApp
  const strictly = () => {
    created ??= (async () => {
      strictApp = await startApp()
      const place = await Realm.create(strictApp)
      await configure({ enabled: true }, place)
      return place
    })()
    return created
  }
  afterAll(async () => strictApp?.close())
})

describe('documents are cached as Cache-Control says, between five minutes and a day', () => {
  const open = (client: TestClient) => realm.openSignInPage(client)
  test.each<[string, Record<string, string>, number]>([
    ['no Cache-Control', {}, 300],
    ['no-store', { 'cache-control': 'no-store' }, 300],
    ['max-age=0', { 'cache-control': 'max-age=0' }, 300],
    ['max-age=3600', { 'cache-control': 'public, max-age=3600' }, 3600],
    ['a year', { 'cache-control': 'max-age=31536000' }, 86_400],
  ])('%s', async (_, headers, seconds) => {
    const client = publish({}, headers)
    await open(client)
    app.clock.advance((seconds - 30) * 1000)
    await open(client)
    expect(requestedPaths).toHaveLength(1)
    app.clock.advance(40_000)
    await open(client)
    expect(requestedPaths).toHaveLength(2)
  })

  test('concurrent requests share one fetch', async () => {
    const client = publish()
    await Promise.all([open(client), open(client), open(client), open(client)])
    expect(requestedPaths).toHaveLength(1)
  })

  test('a changed document applies after it is fetched again', async () => {
    const path = `/changing${documents++}/client.json`
    const client = publish({}, {}, path)
    await open(client)
    publish({ redirect_uris: ['https://elsewhere.example.com/'] }, {}, path)
    app.clock.advance(301_000)
    expect(headingOf((await open(client)).page)).toBe('Something went wrong')
  })
})

describe('allowed_resources and allowed_scopes: resources and scopes of metadata document clients (RFC 8707)', () => {
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
    redirectParametersOf((await realm.openSignInPage(client, params)).page)['error']

  test('none by default', async () => {
    expect(await errorOf(publish(), { resource: mcp })).toBe('invalid_target')
    expect(await errorOf(publish(), { scope: 'notes:read' })).toBe('invalid_scope')
  })

  test('a listed resource becomes aud with the listed scopes, at code and refresh; another resource does not', async () => {
    await allow()
    const client = publish()
    const scope = 'openid notes:read notes:delete'
    const first = await toConsent(client, { resource: mcp, scope })
    expect(first.page.html).toContain(`<li>${mcp}</li><li>notes:read</li>`)
    expect(first.page.html).not.toMatch(/notes:(write|delete)/)
    const redirect = redirectParametersOf(await first.browser.submit(first.page, { consent: 'yes' }))
    const code = { code: redirect['code']!, code_verifier: first.verifier, redirect_uri: REDIRECT_URI, resource: mcp }
    const { status, body } = await realm.exchangeCode(client, code)
    expect([status, body.scope]).toEqual([200, 'openid notes:read'])
    expect(jwtClaims(body.access_token)).toMatchObject({ aud: mcp, client_id: client.id, scope: 'openid notes:read' })
    expect(jwtClaims(body.id_token).aud).toBe(client.id)
    const again = await realm.refresh(client, body.refresh_token, { resource: mcp })
    expect(jwtClaims(again.body.access_token).aud).toBe(mcp)
    for (const resource of [other, 'https://mcp.example.com', `${mcp}/`, app.baseUrl]) {
      expect((await realm.refresh(client, again.body.refresh_token, { resource })).body.error).toBe('invalid_target')
    }
    expect(await errorOf(client, { resource: `${mcp}/` })).toBe('invalid_target')
    expect((await realm.userinfo(body.access_token)).status).toBe(200)

    await allow({ allowed_resources: [other] })
    expect((await realm.refresh(client, again.body.refresh_token)).body.error).toBe('invalid_target')
  })

  test('consent covers only the resource and the scopes that the page has shown', async () => {
    await allow()
    const client = publish()
    const { browser } = await tokensOf(client, { resource: mcp, scope: 'openid notes:read' })
    const silently = async (params: Record<string, string>) =>
      redirectParametersOf((await realm.openSignInPage(client, { prompt: 'none', ...params }, browser)).page)
    expect((await silently({ resource: mcp, scope: 'openid notes:read nothing' }))['code']).toBeDefined()
    expect((await silently({ resource: other, scope: 'openid' }))['error']).toBe('consent_required')
    expect((await silently({ resource: mcp, scope: 'openid notes:write' }))['error']).toBe('consent_required')
  })

  test('without a scope parameter: openid and the listed scopes', async () => {
    await allow()
    const { body } = await tokensOf(publish(), { resource: mcp, scope: undefined })
    expect(jwtClaims(body.access_token)).toMatchObject({ aud: mcp, scope: 'openid notes:read notes:write' })
  })

  test('registered clients have their own list', async () => {
    await allow()
    const client = await realm.createClient()
    expect(await errorOf(client, { resource: mcp })).toBe('invalid_target')
    expectStatus(await realm.tenant.owner.delete(`${realm.tenant.I}/clients/${client.id}`), 204)
  })

  test.each([
    ['allowed_resources', ['mcp.example.com']],
    ['allowed_resources', ['https://mcp.example.com/#part']],
    ['allowed_resources', 'https://mcp.example.com/'],
    ['allowed_scopes', ['a b']],
    ['allowed_scopes', 'a'],
  ])('%s: %j is rejected', async (key, value) => {
    const settings = { security: { openid_policy: { client_id_metadata_document: { [key]: value } } } }
    const { body } = await realm.tenant.owner.patch(realm.tenant.I, { settings })
    const field = `settings.security.openid_policy.client_id_metadata_document.${key}`
    expect([body.error, body.details[0].field]).toEqual(['invalid_request', expect.stringContaining(field)])
  })

  test('an administrator cannot list a platform scope that they lack', async () => {
    const policy = { client_id_metadata_document: { allowed_scopes: ['issuers.users:read'] } }
    const weak = await createRestrictedKey(realm.tenant, { scopes: ['issuers:write'] })
    const response = await weak.patch(realm.tenant.I, { settings: { security: { openid_policy: policy } } })
    expect([response.status, response.body.error]).toEqual([403, 'insufficient_scope'])
  })
})

test('a metadata document client has no secret, no client credentials, and no resources or audiences of others', async () => {
  const client = publish()
  const body = { grant_type: 'client_credentials' }
  expect((await realm.postForm('/token', client, body)).body.error).toBe('unauthorized_client')
  expect((await realm.postForm('/token', { ...client, secret: 'x'.repeat(40) }, body)).status).toBe(401)
  expect((await realm.postForm('/introspect', client, { token: 'x' })).status).toBe(401)
  const wide = { audience: 'https://api.example.com' }
  expect(redirectParametersOf((await realm.openSignInPage(client, wide)).page)['error']).toBe('invalid_target')
})
