/**
 * The hosted pages as a state machine, and which users can sign in (docs/contract.md#equal-answers-and-lockout,
 * docs/contract.md#login-transactions).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { errorMessageOf, headingOf, invalidFieldsOf, type Page, TestBrowser } from './browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let spa: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Acme')
  spa = await realm.createClient({ application_type: 'spa' })
  await realm.createUser('ada@example.com')
})
afterAll(() => app.close())

const REFUSED = /do not match/

async function attempt(username: string, password: string, browser = new TestBrowser()): Promise<Page> {
  const { page } = await realm.openSignInPage(spa, {}, browser)
  return browser.submit(page, { username, password })
}

describe('the page', () => {
  test('names issuer and application, labels its fields, needs no script, and cannot be embedded or cached', async () => {
    const { page } = await realm.openSignInPage(spa, { login_hint: 'ada@example.com"><script>' })
    expect(page.status).toBe(200)
    expect(headingOf(page)).toBe('Sign in')
    expect(page.html).toContain('<html lang="en">')
    expect(page.html).toContain('<strong>Notebook</strong>')
    expect(page.html).toContain('Acme issuer')
    expect(page.html).toMatch(/<label for="username">[^<]+<\/label>\s*<input id="username" name="username"/)
    expect(page.html).toMatch(
      /<label for="password">[^<]+<\/label>\s*<input id="password" name="password" type="password"/,
    )
    expect(page.html).toContain('autocomplete="current-password"')
    expect(page.html).toContain('value="ada@example.com&quot;&gt;&lt;script&gt;"')
    expect(page.html).not.toMatch(/<script|style="|onclick/i)
    const policy = page.headers.get('content-security-policy')!
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; base-uri 'none'; frame-ancestors 'none'$/,
    )
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(page.headers.get('x-content-type-options')).toBe('nosniff')
    expect(page.headers.get('cache-control')).toBe('no-store')
  })

  test('uses the language of ui_locales, otherwise of the browser, otherwise English', async () => {
    const lang = async (params: object, headers = {}) =>
      /<html lang="(\w+)">/.exec(
        (await realm.openSignInPage(spa, { ...params }, new TestBrowser('https://', headers))).page.html,
      )?.[1]
    expect(await lang({ ui_locales: 'fr de-AT en' })).toBe('de')
    expect(await lang({}, { 'accept-language': 'fr, de;q=0.5, en;q=0.7' })).toBe('en')
    expect(await lang({}, { 'accept-language': 'de-CH' })).toBe('de')
    expect(await lang({}, { 'accept-language': '*' })).toBe('en')
  })

  test("shows the issuer's branding; an invalid color does not reach the style", async () => {
    const branded = await Realm.create(app, 'Brand')
    const client = await branded.createClient()
    const branding = {
      display_name: 'Café <&> Co',
      logo_url: 'https://cdn.example.com/logo.svg?a=1&b=2',
      theme: { primary_color: '#0a7' },
    }
    expectStatus(await branded.tenant.owner.patch(branded.tenant.I, { settings: { branding } }), 200)
    // The Core API would reject this color, so it is written directly to the database.
    await app.gatehouse.database.prisma.$executeRawUnsafe(
      `UPDATE issuers SET settings = jsonb_set(settings, '{branding,theme,background_color}', '"red;}body{display:none}"') WHERE id = $1`,
      branded.tenant.issuerId,
    )
    app.clock.advance(11_000)
    const { page } = await branded.openSignInPage(client)
    expect(page.html).toContain('Café &lt;&amp;&gt; Co')
    expect(page.html).toContain('<img src="https://cdn.example.com/logo.svg?a=1&amp;b=2" alt="">')
    expect(page.html).toContain('--primary:#00aa77')
    expect(page.html).not.toContain('display:none}')
    expect(page.headers.get('content-security-policy')).toContain('img-src data: https://cdn.example.com;')
  })

  test('without an enabled method the page says so, and no password is accepted', async () => {
    const closed = await Realm.create(app, 'Closed')
    await closed.createUser('ada@example.com')
    const client = await closed.createClient()
    const open = await closed.openSignInPage(client)
    const { data } = expectStatus(await closed.tenant.owner.get(`${closed.tenant.I}/auth-methods`), 200)
    expectStatus(
      await closed.tenant.owner.patch(`${closed.tenant.I}/auth-methods/${data[0].id}`, { enabled_login: false }),
      200,
    )
    expect(errorMessageOf((await closed.openSignInPage(client)).page)).toMatch(/No sign-in method is available/)
    const late = await open.browser.submit(open.page, { username: 'ada@example.com', password: PASSWORD })
    expect(errorMessageOf(late)).toMatch(/No sign-in method is available/)
  })
})

test.each<[string, string, string, string[]]>([
  ['a wrong password', 'ada@example.com', 'wrong', ['username', 'password']],
  ['no password', 'ada@example.com', '', ['password']],
  ['nothing', '', '', ['username', 'password']],
  ['an account that cannot sign in', 'barred@example.com', PASSWORD, []],
])(
  'with %s the page marks the invalid fields, and the first field has the focus and the error message (WCAG 3.3.1)',
  async (_, username, password, faulty) => {
    if (username.startsWith('barred')) {
      const id = await realm.createUser(username)
      const body = { status: 'blocked', status_reason: 'test' }
      expectStatus(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, body), 200)
    }
    const page = await attempt(username, password)
    expect(invalidFieldsOf(page)).toEqual(faulty)
    expect(page.html).toMatch(/<input[^>]* aria-describedby="problem" autofocus>/)
  },
)

describe('the same response for an unknown user and a wrong password', () => {
  test('same status, text and form; the entered username is kept', async () => {
    const wrong = await attempt('ada@example.com', 'not the password')
    const unknown = await attempt('eve@example.com', 'not the password')
    const bare = (page: Page) => page.html.replace(/value="[^"]*"/g, '').replace(/interaction\/[\w-]+/, '')
    expect(wrong.status).toBe(200)
    expect(errorMessageOf(wrong)).toMatch(REFUSED)
    expect(bare(unknown)).toBe(bare(wrong))
    expect(wrong.html).toMatch(/role="alert"/)
    expect(wrong.html).toMatch(/name="username"[^>]*value="ada@example.com"/)
    expect(wrong.html).toMatch(/name="password"[^>]*aria-invalid="true"[^>]*autofocus/)
  })

  test('a user without a password: the same response, and the event has the reason no_password', async () => {
    const { owner, I } = realm.tenant
    const body = { username_type: 'email', username: 'keyless@example.com' }
    const { id } = expectStatus(await owner.post(`${I}/users`, body), 201).data
    const bare = (page: Page) => page.html.replace(/value="[^"]*"/g, '').replace(/interaction\/[\w-]+/, '')
    const pages = []
    for (let i = 0; i < 5; i++) pages.push(await attempt('keyless@example.com', 'not the password'))
    expect(bare(pages[0]!)).toBe(bare(await attempt('ada@example.com', 'not the password')))
    await attempt('keyless@example.com', 'not the password')
    const events = await app.gatehouse.database.prisma.event.findMany({
      where: { userId: id, authType: 'unauthenticated' },
      orderBy: { id: 'asc' },
    })
    const failures = events.map(({ type, data }) => [type, (data as { reason?: string }).reason])
    const failed = ['user.login.failed', 'no_password']
    const locked = ['user.login.failed', 'locked']
    expect(failures).toEqual([...Array(5).fill(failed), ['user.locked', undefined], locked])
  })

  test('usernames are compared in NFKC and lower case', async () => {
    expect(redirectParametersOf(await attempt(' ADA@Example.COM ', PASSWORD))['code']).toBeDefined()
  })

  test('empty fields are reported', async () => {
    expect(errorMessageOf(await attempt('', ''))).toMatch(/Fill in/)
  })

  test('the audit log records success and failure, and no password', async () => {
    const id = await realm.createUser('audited@example.com')
    await attempt('audited@example.com', 'a secret typed wrong')
    await attempt('audited@example.com', PASSWORD)
    const events = await app.gatehouse.database.prisma.event.findMany({ where: { userId: id }, orderBy: { id: 'asc' } })
    expect(events.map(({ type, authType }) => [type, authType]).slice(-5)).toEqual([
      ['user.verification.failed', 'unauthenticated'],
      ['user.login.failed', 'unauthenticated'],
      ['user.verification.succeeded', 'user'],
      ['user.login.succeeded', 'user'],
      ['session.created', 'user'],
    ])
    expect(JSON.stringify(events, (_, value) => (typeof value === 'bigint' ? 0 : value))).not.toMatch(
      /a secret typed|correct horse/,
    )
    const verifier = await app.gatehouse.database.prisma.verifier.findFirstOrThrow({ where: { userId: id } })
    expect(Number(verifier.lastUsedAt)).toBeGreaterThan(0)
  })
})

describe('lockout', () => {
  test('five failures lock the password for a minute, and each further failure doubles this time; then the correct password works', async () => {
    const id = await realm.createUser('locked@example.com')
    for (let i = 0; i < 5; i++) await attempt('locked@example.com', 'wrong')
    expect(errorMessageOf(await attempt('locked@example.com', PASSWORD))).toMatch(REFUSED)
    app.clock.advance(61_000)
    await attempt('locked@example.com', 'wrong')
    app.clock.advance(61_000)
    expect(errorMessageOf(await attempt('locked@example.com', PASSWORD))).toMatch(REFUSED)
    app.clock.advance(60_000)
    expect(redirectParametersOf(await attempt('locked@example.com', PASSWORD))['code']).toBeDefined()
    expect(await app.gatehouse.database.prisma.loginFailure.count({ where: { userId: id } })).toBe(0)
    const locks = await app.gatehouse.database.prisma.event.findMany({ where: { userId: id, type: 'user.locked' } })
    expect(locks).toHaveLength(2)
  })

  test('of 15 concurrent wrong passwords five are checked, and then the correct password is rejected', async () => {
    const id = await realm.createUser('flood@example.com')
    const started = await Promise.all(Array.from({ length: 20 }, () => realm.openSignInPage(spa)))
    const guess = (index: number) => (index < 15 ? `guess ${index}` : PASSWORD)
    await Promise.all(
      started
        .slice(0, 15)
        .map(({ browser, page }, i) => browser.submit(page, { username: 'flood@example.com', password: guess(i) })),
    )
    const late = await Promise.all(
      started
        .slice(15)
        .map(({ browser, page }) => browser.submit(page, { username: 'flood@example.com', password: PASSWORD })),
    )
    for (const page of late) expect(errorMessageOf(page)).toMatch(REFUSED)
    const events = await app.gatehouse.database.prisma.event.findMany({
      where: { userId: id, type: 'user.login.failed' },
    })
    const reasons = events.map(({ data }) => (data as { reason: string }).reason)
    expect(reasons.filter((reason) => reason === 'wrong_password')).toHaveLength(5)
    expect(reasons.filter((reason) => reason === 'locked')).toHaveLength(15)
  })

  test('twelve concurrent sign-ins with the correct password all succeed', async () => {
    const id = await realm.createUser('team@example.com')
    const started = await Promise.all(Array.from({ length: 12 }, () => realm.openSignInPage(spa)))
    const pages = await Promise.all(
      started.map(({ browser, page }) => browser.submit(page, { username: 'team@example.com', password: PASSWORD })),
    )
    for (const page of pages) expect(redirectParametersOf(page)['code']).toBeDefined()
    expect(await app.gatehouse.database.prisma.loginFailure.count({ where: { userId: id } })).toBe(0)
  })

  test('an unknown username is locked like an existing one', async () => {
    for (let i = 0; i < 6; i++) await attempt('unknown@example.com', 'wrong')
    const [row] = await app.gatehouse.database.prisma.loginFailure.findMany({
      where: { userId: { startsWith: 'unknown:' }, lockedUntil: { not: null } },
    })
    expect(row?.failures).toBe(5)
  })
})

describe('a server-side state machine', () => {
  test('a form is accepted only from the browser that it was shown to', async () => {
    const { page } = await realm.openSignInPage(spa)
    const otherBrowser = new TestBrowser()
    const nextPage = await otherBrowser.submit(page, { username: 'ada@example.com', password: PASSWORD })
    expect([nextPage.status, headingOf(nextPage)]).toEqual([400, 'Something went wrong'])
    expect((await otherBrowser.open(page.url)).status).toBe(400)
    // Another browser is rejected even if it has a login transaction of its own.
    const other = await realm.openSignInPage(spa)
    expect((await other.browser.submit(page, { username: 'ada@example.com', password: PASSWORD })).status).toBe(400)
  })

  test('a cookie without a valid signature is ignored', async () => {
    const { page } = await realm.openSignInPage(spa)
    const uid = page.url.split('/').pop()!
    const response = await fetch(page.url, {
      headers: { cookie: `gatehouse_sign_in=${uid}; gatehouse_sign_in.sig=forged` },
    })
    expect(response.status).toBe(400)
  })

  test('without the form token, or with an altered one, nothing is checked', async () => {
    const id = await realm.createUser('csrf@example.com')
    for (const csrf of ['', '0', '0.forged', '1.forged', '-1.x']) {
      const { page, browser } = await realm.openSignInPage(spa)
      expect(
        errorMessageOf(await browser.submit(page, { username: 'csrf@example.com', password: 'wrong', csrf })),
      ).toMatch(/out of date/)
    }
    expect(await app.gatehouse.database.prisma.loginFailure.count({ where: { userId: id } })).toBe(0)
  })

  test('an interaction of another issuer is unknown, even with its cookie and token', async () => {
    const other = await Realm.create(app, 'Elsewhere')
    const { page, browser } = await realm.openSignInPage(spa)
    const moved = page.url.replace(realm.tenant.issuerId, other.tenant.issuerId)
    const cookie = browser
      .cookies()
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')
    expect((await fetch(moved, { headers: { cookie } })).status).toBe(400)
  })

  test('each form is accepted once: after a failed attempt the earlier page is out of date', async () => {
    const { page, browser } = await realm.openSignInPage(spa)
    await browser.submit(page, { username: 'ada@example.com', password: 'wrong' })
    const replayed = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
    expect(errorMessageOf(replayed)).toMatch(/out of date/)
    expect(
      redirectParametersOf(await browser.submit(replayed, { username: 'ada@example.com', password: PASSWORD }))['code'],
    ).toBeDefined()
  })

  test('of ten concurrent submissions of a form one is applied, and the browser still gets a code', async () => {
    await realm.createUser('twice@example.com')
    const { page, browser } = await realm.openSignInPage(spa)
    const stop = browser.clone()
    const form = { username: 'twice@example.com', password: PASSWORD }
    const pages = await Promise.all(
      Array.from({ length: 10 }, () =>
        stop
          .clone()
          .submit(page, form)
          .catch(() => undefined),
      ),
    )
    const codes = pages.flatMap((resultPage) =>
      resultPage?.html === '' ? (redirectParametersOf(resultPage)['code'] ?? []) : [],
    )
    expect(codes.length).toBeGreaterThanOrEqual(1)
    const row = await app.gatehouse.database.prisma.loginState.findMany({
      where: { version: 1, state: { path: ['username'], equals: 'twice@example.com' } },
    })
    expect(row).toHaveLength(1)
    const events = await app.gatehouse.database.prisma.event.findMany({
      where: { type: 'user.login.succeeded', clientId: spa.id, actor: { path: ['name'], equals: 'twice@example.com' } },
    })
    expect(events).toHaveLength(1)
  })

  test('of ten concurrent submissions of the form after a wrong password one is applied', async () => {
    await realm.createUser('thrice@example.com')
    const { page, browser } = await realm.openSignInPage(spa)
    const second = await browser.submit(page, { username: 'thrice@example.com', password: 'wrong' })
    const form = { username: 'thrice@example.com', password: PASSWORD }
    await Promise.all(
      Array.from({ length: 10 }, () =>
        browser
          .clone()
          .submit(second, form)
          .catch(() => undefined),
      ),
    )
    const where = { type: 'user.login.succeeded' as const, actor: { path: ['name'], equals: 'thrice@example.com' } }
    expect(await app.gatehouse.database.prisma.event.count({ where })).toBe(1)
  })

  test('the resume URL of an unfinished sign-in shows the sign-in page', async () => {
    const { page, browser } = await realm.openSignInPage(spa)
    const uid = page.url.split('/').pop()!
    const skipped = await browser.open(`${realm.url}/authorize/${uid}`)
    expect(headingOf(skipped)).toBe('Sign in')
  })

  test('a completed sign-in cannot be completed again', async () => {
    const { page, browser } = await realm.openSignInPage(spa)
    redirectParametersOf(await browser.submit(page, { username: 'ada@example.com', password: PASSWORD }))
    expect((await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })).status).toBe(400)
    expect((await browser.open(`${realm.url}/authorize/${page.url.split('/').pop()}`)).status).toBe(400)
  })

  test('two users in two tabs: the last one to finish is signed in, and the other is signed out', async () => {
    await realm.createUser('bob@example.com')
    const browser = new TestBrowser()
    const ada = await realm.openSignInPage(spa, { scope: 'openid email' }, browser)
    const bob = await realm.openSignInPage(spa, {}, browser)
    const first = redirectParametersOf(
      await browser.submit(bob.page, { username: 'bob@example.com', password: PASSWORD }),
    )
    const second = redirectParametersOf(
      await browser.submit(ada.page, { username: 'ada@example.com', password: PASSWORD }),
    )
    const tokensOf = async (code: string | undefined, code_verifier: string) =>
      (await realm.exchangeCode(spa, { code: code!, code_verifier, redirect_uri: REDIRECT_URI })).body
    const { access_token } = await tokensOf(second['code'], ada.verifier)
    expect((await realm.userinfo(access_token)).body.email).toBe('ada@example.com')
    expect((await tokensOf(first['code'], bob.verifier)).error).toBe('invalid_grant')
    const now = await realm.openSignInPage(spa, { prompt: 'none' }, browser)
    const { access_token: silent } = await tokensOf(redirectParametersOf(now.page)['code'], now.verifier)
    expect(jwtClaims(silent).sub).toBe(jwtClaims(access_token).sub)
  })

  test('one user in two tabs: both get a code', async () => {
    const browser = new TestBrowser()
    const tabs = [await realm.openSignInPage(spa, {}, browser), await realm.openSignInPage(spa, {}, browser)]
    for (const { page } of tabs) {
      const arrived = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
      expect(redirectParametersOf(arrived)['code']).toBeDefined()
    }
  })

  test('one user in two tabs that finish concurrently: neither ends the sign-in of the other', async () => {
    const { browser } = await realm.signIn(spa, 'ada@example.com')
    const tabs = await Promise.all([1, 2].map(() => realm.openSignInPage(spa, { prompt: 'login' }, browser)))
    const arrivals = tabs.map(({ page }) => browser.submit(page, { username: 'ada@example.com', password: PASSWORD }))
    for (const page of await Promise.all(arrivals)) expect(redirectParametersOf(page)['code']).toBeDefined()
    expect(
      redirectParametersOf((await realm.openSignInPage(spa, { prompt: 'none' }, browser)).page)['code'],
    ).toBeDefined()
  })

  test('a sign-in expires after half an hour', async () => {
    const { page, browser } = await realm.openSignInPage(spa)
    app.clock.advance(1_801_000)
    expect((await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })).status).toBe(400)
  })
})

describe('a password that must be changed', () => {
  const NEXT = 'another long enough one'

  test.each<[string, object]>([
    ['marked must_change', { type: 'password', name: null, password: PASSWORD, must_change: true }],
    ['expired', { type: 'password', name: null, password: PASSWORD, expires_at: 1_000_000_000_000 }],
    [
      'temporary',
      { type: 'temporary_password', name: 'help desk', password: PASSWORD, expires_at: Date.now() + 6 * 86_400_000 },
    ],
  ])(
    '%s: a code is issued only after the user has chosen a valid new password, and the old one is no longer accepted',
    async (name, verifier) => {
      const username = `change-${name.split(' ')[0]}@example.com`
      const { data } = expectStatus(
        await realm.tenant.owner.post(`${realm.tenant.I}/users`, { username_type: 'email', username }),
        201,
      )
      const expiring = name === 'temporary' ? { expires_at: app.clock.now() + 86_400_000 } : {}
      expectStatus(
        await realm.tenant.owner.post(`${realm.tenant.I}/users/${data.id}/verifiers`, { ...verifier, ...expiring }),
        201,
      )
      const { page, browser } = await realm.openSignInPage(spa)
      const nextPage = await browser.submit(page, { username, password: PASSWORD })
      expect(headingOf(nextPage)).toBe('Choose a new password')
      // The sign-in is not complete, so the resume URL starts a new one.
      expect(headingOf(await browser.open(`${realm.url}/authorize/${page.url.split('/').pop()}`))).toBe('Sign in')
      const fresh = await realm.openSignInPage(spa)
      const again = await fresh.browser.submit(fresh.page, { username, password: PASSWORD })
      const short = await fresh.browser.submit(again, { new_password: 'short' })
      expect(errorMessageOf(short)).toMatch(/at least 8 characters/)
      expect([invalidFieldsOf(again), invalidFieldsOf(short)]).toEqual([[], ['new_password']])
      const same = await fresh.browser.submit(short, { new_password: PASSWORD })
      expect(errorMessageOf(same)).toMatch(/differs/)
      expect(redirectParametersOf(await fresh.browser.submit(same, { new_password: NEXT }))['code']).toBeDefined()
      expect(errorMessageOf(await attempt(username, PASSWORD))).toMatch(REFUSED)
      expect(redirectParametersOf(await attempt(username, NEXT))['code']).toBeDefined()
    },
  )

  test('a browser that was already signed in stays signed in after the change', async () => {
    const username = 'change-again@example.com'
    const id = await realm.createUser(username)
    const { browser } = await realm.signIn(spa, username)
    const path = `${realm.tenant.I}/users/${id}/verifiers`
    const [{ id: verifier }] = expectStatus(await realm.tenant.owner.get(path), 200).data
    expectStatus(await realm.tenant.owner.patch(`${path}/${verifier}`, { must_change: true }), 200)
    const { page } = await realm.openSignInPage(spa, { prompt: 'login' }, browser)
    const nextPage = await browser.submit(page, { username, password: PASSWORD })
    expect(redirectParametersOf(await browser.submit(nextPage, { new_password: NEXT }))['code']).toBeDefined()
    expect(
      redirectParametersOf((await realm.openSignInPage(spa, { prompt: 'none' }, browser)).page)['code'],
    ).toBeDefined()
  })

  test('of several passwords only the latest valid one is accepted, so that an attempt computes one hash for every user', async () => {
    const username = 'helped@example.com'
    const id = await realm.createUser(username)
    const { owner, I } = realm.tenant
    const path = `${I}/users/${id}/verifiers`
    const give = async (password: string, life: number) => {
      app.clock.advance(1000)
      const expires_at = app.clock.now() + life
      return expectStatus(
        await owner.post(path, { type: 'temporary_password', name: 'desk', password, expires_at }),
        201,
      ).data
    }
    /** Checks that the `others` are rejected and that `right` is accepted. */
    const onlyFits = async (right: string, ...others: string[]) => {
      for (const wrong of others) expect(errorMessageOf(await attempt(username, wrong))).toMatch(REFUSED)
      expect(errorMessageOf(await attempt(username, right))).toBeUndefined()
    }
    const [first, second, last] = ['given on Monday', 'given on Tuesday', 'given at last'] as const
    await give(first, 600_000)
    const { id: newer } = await give(second, 300_000)
    await onlyFits(second, PASSWORD, first)
    expectStatus(await owner.delete(`${path}/${newer}`), 204)
    await onlyFits(first, PASSWORD, second)
    const { data } = expectStatus(await owner.get(path), 200)
    const { id: own } = data.find(({ type }: { type: string }) => type === 'password')
    app.clock.advance(1000)
    expectStatus(await owner.patch(`${path}/${own}`, { password: NEXT }), 200)
    await onlyFits(NEXT, PASSWORD, first)
    await give(last, 60_000)
    await onlyFits(last, NEXT, first)
    app.clock.advance(61_000)
    await onlyFits(NEXT, last, first)
  })

  test('an expired temporary password is rejected', async () => {
    const username = 'late@example.com'
    const { data } = expectStatus(
      await realm.tenant.owner.post(`${realm.tenant.I}/users`, { username_type: 'email', username }),
      201,
    )
    const verifier = { type: 'temporary_password', name: 'x', password: PASSWORD, expires_at: app.clock.now() + 60_000 }
    expectStatus(await realm.tenant.owner.post(`${realm.tenant.I}/users/${data.id}/verifiers`, verifier), 201)
    app.clock.advance(61_000)
    expect(errorMessageOf(await attempt(username, PASSWORD))).toMatch(REFUSED)
  })
})

test.each(['suspended', 'blocked'])(
  'a %s user cannot sign in, and sees why only with the right password',
  async (status) => {
    const id = await realm.createUser(`${status}@example.com`)
    expectStatus(
      await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { status, status_reason: 'test' }),
      200,
    )
    expect(errorMessageOf(await attempt(`${status}@example.com`, 'wrong'))).toMatch(REFUSED)
    expect(errorMessageOf(await attempt(`${status}@example.com`, PASSWORD))).toMatch(/cannot sign in at the moment/)
  },
)

test('a user who waits for approval, a user without a credential and a deleted user cannot sign in', async () => {
  const { owner, I } = realm.tenant
  const waiting = expectStatus(
    await owner.post(`${I}/users`, { username_type: 'email', username: 'wait@example.com', requires_approval: true }),
    201,
  )
  await owner.post(`${I}/users/${waiting.data.id}/verifiers`, { type: 'password', name: null, password: PASSWORD })
  expect(errorMessageOf(await attempt('wait@example.com', PASSWORD))).toMatch(/waiting for approval/)
  expectStatus(await owner.post(`${I}/users`, { username_type: 'email', username: 'bare@example.com' }), 201)
  expect(errorMessageOf(await attempt('bare@example.com', PASSWORD))).toMatch(REFUSED)
  const gone = await realm.createUser('gone@example.com')
  expect((await owner.delete(`${I}/users/${gone}`)).status).toBe(202)
  expect(errorMessageOf(await attempt('gone@example.com', PASSWORD))).toMatch(REFUSED)
})

test('a user of one issuer is unknown at another', async () => {
  const other = await Realm.create(app, 'Island')
  const client = await other.createClient()
  const { page, browser } = await other.openSignInPage(client)
  expect(errorMessageOf(await browser.submit(page, { username: 'ada@example.com', password: PASSWORD }))).toMatch(
    REFUSED,
  )
})
