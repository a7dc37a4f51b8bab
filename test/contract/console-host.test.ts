/** The server part of the console: sessions, access and lifetimes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { safeReturnPath } from '../../src/console-host/sign-in.js'
import { limits } from '../../src/kernel/limits.js'
import { signJwt } from '../../src/platform/crypto/jws.js'
import { runDueJobs } from '../../src/platform/jobs/queue.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { tasks } from '../../src/schedule.js'
import { TestBrowser } from '../idp/browser.js'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const ADMIN = { username: 'ada@example.com', password: 'correct horse battery staple' }
const ME = '{ me { type id } accounts { data { id name } } }'

let app: TestApp

beforeAll(async () => {
  app = await startApp({
    env: {
      ALLOW_PRIVATE_NETWORKS: 'true',
      BOOTSTRAP_ADMIN_EMAIL: ADMIN.username,
      BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
    },
  })
})
afterAll(() => app.close())

const rows = () => app.gatehouse.database.prisma.consoleSession.findMany()

/** Signs in to the console, and records the headers and body of every response of the console in `heard`. */
async function signInUser(path = '/console') {
  const heard: string[] = []
  const send: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    if (String(url).startsWith(app.baseUrl) && !isStream)
      heard.push(JSON.stringify([...response.headers]), await response.clone().text())
    return response
  }
  const browser = new TestBrowser('https://', {}, send)
  const page = await browser.submit(await browser.open(app.baseUrl + path), ADMIN)
  if (page.status !== 200) throw new Error(`${page.url}: ${page.html.slice(-600)}`)
  return { browser, page, heard, ask: askFrom(browser) }
}

const OURS = { accept: 'application/json', 'content-type': 'application/json', 'x-gatehouse-console': '1' }

/** Sends a GraphQL request with the cookies and headers of a page of the console. */
const askFrom =
  (browser: TestBrowser) =>
  async (query = ME, at: TestApp = app, headers: Record<string, string> = { origin: app.baseUrl, ...OURS }) => {
    const body = JSON.stringify({ query })
    const response = await browser.request(`${at.baseUrl}/console/graphql`, { method: 'POST', body, headers })
    return { status: response.status, headers: response.headers, body: (await response.json()) as AnyJson }
  }

describe('signing in', () => {
  test('redirects to the issuer and back to the requested page; the browser never receives a token', async () => {
    const anonymous = await fetch(`${app.baseUrl}/console/accounts/x?status=active`, { redirect: 'manual' })
    expect(anonymous.status).toBe(302)
    const { page, browser, heard, ask } = await signInUser('/console/accounts/x?status=active')
    expect(page.url).toBe(`${app.baseUrl}/console/accounts/x?status=active`)
    expect(page.status).toBe(200)
    expect((await ask()).body.data).toMatchObject({ me: { type: 'user' }, accounts: { data: [{ name: 'System' }] } })
    const said = await browser.request(`${app.baseUrl}/console/session`)
    expect(await said.json()).toMatchObject({ user: { username: ADMIN.username } })

    expect(heard.length).toBeGreaterThan(4)
    expect(heard.filter((text) => text.includes('eyJ'))).toEqual([])
    const [row] = await rows()
    expect(JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? Number(value) : value))).not.toContain('eyJ')
    const cookie = heard.find((text) => text.includes('gatehouse_console_session='))
    expect(cookie).toMatch(/gatehouse_console_session=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Lax"/)
  })

  test('the page runs only scripts with its nonce, which differs for each response', async () => {
    const { browser } = await signInUser()
    const once = await browser.open(`${app.baseUrl}/console/accounts`)
    const again = await browser.open(`${app.baseUrl}/console/accounts`)
    const nonces = [once, again].map(
      ({ html }) => new Set([...html.matchAll(/nonce="([^"]*)"/g)].map(([, nonce]) => nonce)),
    )
    expect(nonces.map(({ size }) => size)).toEqual([1, 1])
    const [[first], [second]] = nonces.map((set) => [...set]) as [[string], [string]]
    expect(first).not.toBe(second)
    const policy = once.headers.get('content-security-policy')!
    expect(policy).toContain(`script-src 'self' 'nonce-${first}';`)
    expect(policy).not.toMatch(/unsafe|\*/)
    expect(once.headers.get('cache-control')).toBe('no-store')
    expect(once.html).not.toContain('%NONCE%')
  })

  test.each(['state=unknown&code=x', 'code=x', 'error=access_denied&state=x', 'state=a;%20=%0d%0a%C3%A9&code=x'])(
    'an authorization response that does not match a request signs no one in: %s',
    async (query) => {
      const response = await fetch(`${app.baseUrl}/console/callback?${query}`, { redirect: 'manual' })
      expect(response.status).toBe(400)
      expect(response.headers.getSetCookie()).toEqual([
        expect.stringMatching(/^gatehouse_console_way_\w*=; Max-Age=0; Path=\/console; HttpOnly; SameSite=Lax$/),
      ])
    },
  )

  test('an authorization response works once, and only in the browser that started the sign-in', async () => {
    const browser = new TestBrowser(`${app.baseUrl}/console/callback`)
    const first = await browser.open(`${app.baseUrl}/console/sign-in`)
    const { url } = await browser.submit(first, ADMIN)
    const another = await new TestBrowser().request(url)
    expect(another.status).toBe(400)
    expect((await browser.request(url)).status).toBe(303)
    expect((await browser.request(url)).status).toBe(400)
  })

  test.each([
    ['/console/accounts/acc_1/issuers?cursor=x', true],
    ['/console', true],
    ['//evil.example/console', false],
    ['/console//evil.example', false],
    ['/consoleevil', false],
    ['/console/../v1', true],
    ['https://evil.example', false],
    ['/console\\evil', false],
    ['/docs', true],
    ['/docs?q=client#createClient', true],
    ['/docs/evil', false],
    ['/docs#//evil.example', false],
    ['/console/\nx', false],
    [null, false],
  ])('return_to leads only to the console and /docs: %j', (path, kept) => {
    expect(safeReturnPath(path)).toBe(kept ? path : '/console')
  })
})

describe('a request with the cookie', () => {
  test.each<[string, Record<string, string>]>([
    ['without the console header', { 'content-type': 'application/json', origin: 'BASE' }],
    ['without an origin', OURS],
    ['of another origin', { ...OURS, origin: 'https://evil.example' }],
    ['of a page with a null origin', { ...OURS, origin: 'null' }],
    ['of another site', { ...OURS, origin: 'BASE', 'sec-fetch-site': 'cross-site' }],
  ])('%s is refused', async (_, headers) => {
    const { ask } = await signInUser()
    const sent = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, v.replace('BASE', app.baseUrl)]))
    expect((await ask(ME, app, sent)).status).toBe(403)
    expect((await ask()).status).toBe(200)
  })

  test('/console/v1 serves /v1 with the session, and the browser receives no token', async () => {
    const { browser, ask } = await signInUser()
    const [{ id: accountId }] = (await ask()).body.data.accounts.data
    const path = `${app.baseUrl}/console/v1/accounts/${accountId}`
    // Browsers send no Origin with GET requests of pages of the same origin.
    const read = await browser.request(path, { headers: { ...OURS, 'sec-fetch-site': 'same-origin' } })
    expect(read.status).toBe(200)
    const etag = read.headers.get('etag')!
    const headers = { ...OURS, origin: app.baseUrl, 'if-match': etag }
    const init = { method: 'PATCH', body: '{"description":"From /docs"}', headers }
    const written = await browser.request(path, init)
    expect(await written.json()).toMatchObject({ data: { id: accountId, description: 'From /docs' } })
    expect((await browser.request(path, init)).status).toBe(412)
    const headersOfAll = JSON.stringify([...read.headers, ...written.headers])
    expect(headersOfAll + (await read.text())).not.toContain('eyJ')
  })

  test.each<[string, string, Record<string, string>]>([
    ['a GET without the console header', 'GET', { origin: 'BASE' }],
    ['a GET of another origin', 'GET', { ...OURS, origin: 'https://evil.example' }],
    ['a GET of another site', 'GET', { ...OURS, 'sec-fetch-site': 'cross-site' }],
    ['a GET of a page with a null origin', 'GET', { ...OURS, origin: 'null' }],
    ['a POST without an origin', 'POST', OURS],
    ['a POST without the console header', 'POST', { 'content-type': 'application/json', origin: 'BASE' }],
    ['a DELETE of another origin', 'DELETE', { ...OURS, origin: 'https://evil.example' }],
    ['a preflight of another origin', 'OPTIONS', { origin: 'https://evil.example' }],
  ])('/console/v1 refuses %s', async (_, method, headers) => {
    const { browser } = await signInUser()
    const sent = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, v.replace('BASE', app.baseUrl)]))
    const response = await browser.request(`${app.baseUrl}/console/v1/accounts`, { method, headers: sent })
    expect(response.status).toBe(403)
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('/console/v1 is 401 without a session and without a challenge', async () => {
    const { status, headers } = await new TestBrowser().request(`${app.baseUrl}/console/v1/accounts`, { headers: OURS })
    expect({ status, challenge: headers.get('www-authenticate') }).toEqual({ status: 401, challenge: null })
  })

  test('/console/v1 keeps the session when an operation requires a more recent sign-in', async () => {
    const { browser, ask } = await signInUser()
    const [{ id: accountId }] = (await ask()).body.data.accounts.data
    app.clock.advance(limits.maxSignInAgeSeconds * 1000 + 1000)
    const body = JSON.stringify({ name: 'Key', restrictions: {} })
    const headers = { ...OURS, origin: app.baseUrl }
    const url = `${app.baseUrl}/console/v1/accounts/${accountId}/api-keys`
    const response = await browser.request(url, { method: 'POST', body, headers })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBeNull()
    expect(await response.json()).toMatchObject({ error: 'insufficient_user_authentication', max_age: 300 })
    expect((await ask()).status).toBe(200)
  })

  test('subscriptions are accepted until the session ends', async () => {
    const { browser, ask } = await signInUser()
    const [{ id: accountId }] = (await ask()).body.data.accounts.data
    const stop = new AbortController()
    const response = await browser.request(`${app.baseUrl}/console/graphql`, {
      method: 'POST',
      headers: { ...OURS, origin: app.baseUrl, accept: 'text/event-stream' },
      body: JSON.stringify({ query: `subscription { eventAdded(accountId: "${accountId}") { type } }` }),
      signal: stop.signal,
    })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expectStatus(await app.operator.patch(`/v1/accounts/${accountId}`, { description: 'Watched' }), 200)
    let heard = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body!) {
      heard += decoder.decode(chunk as Uint8Array)
      if (heard.includes('account.updated')) break
    }
    stop.abort()
    expect(heard).toContain('account.updated')
  })

  test('cross-site requests cannot sign a user out', async () => {
    const { browser, ask } = await signInUser()
    const init = { method: 'POST', headers: { origin: 'https://evil.example' } }
    expect((await browser.request(`${app.baseUrl}/console/sign-out`, init)).status).toBe(403)
    expect((await browser.request(`${app.baseUrl}/console/sign-out`)).status).toBe(405)
    expect((await ask()).status).toBe(200)
  })

  test('without a session it is 401, without a challenge that makes a browser ask for a password', async () => {
    const { status, headers, body } = await askFrom(new TestBrowser())()
    expect({ status, challenge: headers.get('www-authenticate'), body }).toMatchObject({
      status: 401,
      challenge: null,
      body: { error: 'unauthorized' },
    })
  })
})

describe('session lifetime', () => {
  test('a session that an administrator revokes is refused on the next request', async () => {
    const { browser, ask } = await signInUser()
    await revoke((await newest()).sid)
    const refused = await ask()
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toBeNull()
    expect(browser.cookies().filter(({ name }) => name === 'gatehouse_console_session')).toEqual([])
  })

  test('signing out ends the session at the console and at the issuer', async () => {
    const { browser, ask } = await signInUser()
    const { id } = await newest()
    const copy = askFrom(browser.clone())
    const page = await browser.open(`${app.baseUrl}/console/sign-out`, {
      method: 'POST',
      headers: { origin: app.baseUrl },
    })
    // The post-logout redirect goes to the console, which redirects to the issuer. The browser has no session there, so
    // the sign-in page is shown.
    expect(page.url).toContain(`${app.idpUrl}/`)
    expect(page.html).toContain('name="password"')
    expect((await ask()).status).toBe(401)
    expect((await copy()).status).toBe(401)
    expect((await rows()).filter((row) => row.id === id)).toEqual([])
  })

  test('back-channel logout ends the session without a request of the browser', async () => {
    await signInUser()
    const { id, sid } = await newest()
    await app.gatehouse.database.prisma.job.deleteMany()
    await revoke(sid)
    await runDueJobs(app.gatehouse, tasks)
    expect((await rows()).filter((row) => row.id === id)).toEqual([])
  })

  test('a logout token that the console issuer did not sign for the console ends no session', async () => {
    const { ask } = await signInUser()
    const { sid, userId } = await newest()
    const keys = await app.gatehouse.database.prisma.signingKey.findMany({ where: { alg: 'ES256' } })
    const place = await consolePlace()
    const claims = {
      iss: `${app.gatehouse.config.idpUrl}/${place.issuer_id}`,
      sub: userId,
      aud: place.client_id,
      iat: Math.floor(app.clock.now() / 1000),
      exp: Math.floor(app.clock.now() / 1000) + 60,
      jti: 'tok_1',
      sid,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    }
    const own = keys.find(({ issuerId }) => issuerId === place.issuer_id)!
    const keyWithId = (key: typeof own) => ({
      kid: key.kid,
      alg: key.alg,
      jwk: JSON.parse(app.gatehouse.encryptor.decrypt(key.privateJwk)),
    })
    const wrong = [
      'not a token',
      signJwt(keyWithId(own), 'JWT', claims),
      signJwt(keyWithId(own), 'logout+jwt', { ...claims, aud: 'cli_other' }),
      signJwt(keyWithId(own), 'logout+jwt', { ...claims, exp: claims.iat - 60 }),
      signJwt(keyWithId(own), 'logout+jwt', { ...claims, events: {} }),
      signJwt(keyWithId(own), 'logout+jwt', { ...claims, nonce: 'x' }),
      signJwt({ ...keyWithId(own), kid: 'ffffffff-0000-4000-8000-000000000000' }, 'logout+jwt', claims),
    ]
    for (const token of wrong) expect(await logout(token)).toBe(400)
    expect((await ask()).status).toBe(200)
    expect(await logout(signJwt(keyWithId(own), 'logout+jwt', claims))).toBe(200)
    expect((await ask()).status).toBe(401)
  })

  // This must be the last test that signs in: it advances the clock of the application, but the OpenID library of the
  // console checks ID tokens against the clock of the machine.
  test('many requests in two processes refresh the tokens once per expiry', async () => {
    const other = await app.startSecondApp()
    const { ask } = await signInUser()
    for (const version of [1, 2, 3]) {
      app.clock.advance(31 * 60_000)
      const all = await Promise.all(Array.from({ length: 20 }, (_, at) => ask(ME, at % 2 === 0 ? app : other)))
      expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
      const versions = (await rows()).map((row) => row.version)
      expect(Math.max(...versions)).toBe(version)
    }
  })
})

describe('files', () => {
  const manifest: Record<string, { file: string; imports?: string[]; isEntry?: boolean; css?: string[] }> = JSON.parse(
    readFileSync(join(packageRoot, 'dist/console/manifest.json'), 'utf8'),
  )
  const entry = Object.entries(manifest).find(([, { isEntry }]) => isEntry)![0]
  const below = (name: string, found = new Set<string>()): Set<string> => {
    if (found.has(name)) return found
    found.add(name)
    for (const next of manifest[name]?.imports ?? []) below(next, found)
    return found
  }

  test('the first page loads at most 200 kB of JavaScript, gzipped', () => {
    const bytes = [...below(entry)].map(
      (name) => gzipSync(readFileSync(join(packageRoot, 'dist/console', manifest[name]!.file)), { level: 9 }).length,
    )
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(200_000)
  })

  test('are compressed once and cached permanently; unknown paths are 404', async () => {
    const url = `${app.baseUrl}/console/${manifest[entry]!.file}`
    for (const encoding of ['br', 'gzip']) {
      const file = await fetch(url, { headers: { 'accept-encoding': encoding } })
      expect(file.headers.get('content-encoding')).toBe(encoding)
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(file.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
      expect(await file.text()).toContain('createRoot')
    }
    for (const path of ['/assets/gone-abc.js', '/assets/..%2findex.html', '/assets/../../package.json']) {
      const gone = await fetch(`${app.baseUrl}/console${path}`, { redirect: 'manual' })
      expect([404, 302]).toContain(gone.status)
      expect(await gone.text()).not.toContain('%NONCE%')
    }
  })
})

const newest = async () => (await rows()).sort((a, b) => Number(b.createdAt - a.createdAt))[0]!

const consolePlace = async () =>
  (await app.gatehouse.database.prisma.deployment.findUniqueOrThrow({ where: { name: 'console' } })).value as {
    account_id: string
    issuer_id: string
    client_id: string
  }

async function revoke(sid: string): Promise<void> {
  const { account_id, issuer_id } = await consolePlace()
  const path = `/v1/accounts/${account_id}/issuers/${issuer_id}/sessions/${sid}/revoke`
  expectStatus(await app.operator.post(path, { reason: 'admin_action' }), 200)
}

async function logout(token: string): Promise<number> {
  const body = new URLSearchParams({ logout_token: token })
  return (await fetch(`${app.baseUrl}/console/backchannel-logout`, { method: 'POST', body })).status
}
