/** The hosted pages as a state machine (security rules 21, 22), and who may sign in. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { faultyOn, headingOf, type Page, problemOf, TestBrowser } from './browser.js'
import { CALLBACK, claimsOf, PASSWORD, Realm, redirectOf, type TestClient } from './setup.js'

let app: TestApp
let realm: Realm
let spa: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.make(app, 'Acme')
  spa = await realm.client({ application_type: 'spa' })
  await realm.user('ada@example.com')
})
afterAll(() => app.close())

const REFUSED = /do not match/

async function attempt(username: string, password: string, browser = new TestBrowser()): Promise<Page> {
  const { page } = await realm.begin(spa, {}, browser)
  return browser.submit(page, { username, password })
}

describe('the page', () => {
  test('names issuer and application, labels its fields, needs no script, and may not be framed or kept', async () => {
    const { page } = await realm.begin(spa, { login_hint: 'ada@example.com"><script>' })
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

  test('speaks the language of ui_locales, else of the browser, else English', async () => {
    const lang = async (params: object, headers = {}) =>
      /<html lang="(\w+)">/.exec(
        (await realm.begin(spa, { ...params }, new TestBrowser('https://', headers))).page.html,
      )?.[1]
    expect(await lang({ ui_locales: 'fr de-AT en' })).toBe('de')
    expect(await lang({}, { 'accept-language': 'fr, de;q=0.5, en;q=0.7' })).toBe('en')
    expect(await lang({}, { 'accept-language': 'de-CH' })).toBe('de')
    expect(await lang({}, { 'accept-language': '*' })).toBe('en')
  })

  test("shows the issuer's branding; a colour that is none does not reach the style", async () => {
    const branded = await Realm.make(app, 'Brand')
    const client = await branded.client()
    const branding = {
      display_name: 'Café <&> Co',
      logo_url: 'https://cdn.example.com/logo.svg?a=1&b=2',
      theme: { primary_color: '#0a7' },
    }
    must(await branded.tenant.owner.patch(branded.tenant.I, { settings: { branding } }), 200)
    // Past the checks of the Core API, as an import might bring it in.
    await app.gatehouse.tools.prisma.$executeRawUnsafe(
      `UPDATE issuers SET settings = jsonb_set(settings, '{branding,theme,background_color}', '"red;}body{display:none}"') WHERE id = $1`,
      branded.tenant.issuerId,
    )
    app.clock.advance(11_000)
    const { page } = await branded.begin(client)
    expect(page.html).toContain('Café &lt;&amp;&gt; Co')
    expect(page.html).toContain('<img src="https://cdn.example.com/logo.svg?a=1&amp;b=2" alt="">')
    expect(page.html).toContain('--primary:#00aa77')
    expect(page.html).not.toContain('display:none}')
    expect(page.headers.get('content-security-policy')).toContain('img-src data: https://cdn.example.com;')
  })

  test('an issuer without an enabled method says so and takes no password', async () => {
    const closed = await Realm.make(app, 'Closed')
    await closed.user('ada@example.com')
    const client = await closed.client()
    const open = await closed.begin(client)
    const { data } = must(await closed.tenant.owner.get(`${closed.tenant.I}/auth-methods`), 200)
    must(
      await closed.tenant.owner.patch(`${closed.tenant.I}/auth-methods/${data[0].id}`, { enabled_login: false }),
      200,
    )
    expect(problemOf((await closed.begin(client)).page)).toMatch(/no way to sign in/)
    const late = await open.browser.submit(open.page, { username: 'ada@example.com', password: PASSWORD })
    expect(problemOf(late)).toMatch(/no way to sign in/)
  })
})

test.each<[string, string, string, string[]]>([
  ['a wrong password', 'ada@example.com', 'wrong', ['username', 'password']],
  ['no password', 'ada@example.com', '', ['password']],
  ['nothing', '', '', ['username', 'password']],
  ['an account that may not sign in', 'barred@example.com', PASSWORD, []],
])(
  'WCAG 3.3.1: with %s the fields to mend are marked, and typing begins where the problem is told',
  async (_, username, password, faulty) => {
    if (username.startsWith('barred')) {
      const id = await realm.user(username)
      const body = { status: 'blocked', status_reason: 'test' }
      must(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, body), 200)
    }
    const page = await attempt(username, password)
    expect(faultyOn(page)).toEqual(faulty)
    expect(page.html).toMatch(/<input[^>]* aria-describedby="problem" autofocus>/)
  },
)

describe('rule 21: the same answer for an unknown user and a wrong password', () => {
  test('same status, same words, same form; the typed username is kept', async () => {
    const wrong = await attempt('ada@example.com', 'not the password')
    const unknown = await attempt('eve@example.com', 'not the password')
    const bare = (page: Page) => page.html.replace(/value="[^"]*"/g, '').replace(/interaction\/[\w-]+/, '')
    expect(wrong.status).toBe(200)
    expect(problemOf(wrong)).toMatch(REFUSED)
    expect(bare(unknown)).toBe(bare(wrong))
    expect(wrong.html).toMatch(/role="alert"/)
    expect(wrong.html).toMatch(/name="username"[^>]*value="ada@example.com"/)
    expect(wrong.html).toMatch(/name="password"[^>]*aria-invalid="true"[^>]*autofocus/)
  })

  test('a user without a password: the same answer, and the event has the reason no_password', async () => {
    const { owner, I } = realm.tenant
    const body = { username_type: 'email', username: 'keyless@example.com' }
    const { id } = must(await owner.post(`${I}/users`, body), 201).data
    const bare = (page: Page) => page.html.replace(/value="[^"]*"/g, '').replace(/interaction\/[\w-]+/, '')
    const pages = []
    for (let i = 0; i < 5; i++) pages.push(await attempt('keyless@example.com', 'not the password'))
    expect(bare(pages[0]!)).toBe(bare(await attempt('ada@example.com', 'not the password')))
    await attempt('keyless@example.com', 'not the password')
    const events = await app.gatehouse.tools.prisma.event.findMany({
      where: { userId: id, authType: 'unauthenticated' },
      orderBy: { id: 'asc' },
    })
    const told = events.map(({ type, data }) => [type, (data as { reason?: string }).reason])
    const failed = ['user.login.failed', 'no_password']
    const locked = ['user.login.failed', 'locked']
    expect(told).toEqual([...Array(5).fill(failed), ['user.locked', undefined], locked])
  })

  test('usernames are compared in NFKC and lower case', async () => {
    expect(redirectOf(await attempt(' ADA@Example.COM ', PASSWORD))['code']).toBeDefined()
  })

  test('empty fields are asked for again', async () => {
    expect(problemOf(await attempt('', ''))).toMatch(/fill in/)
  })

  test('the trail tells success from failure and holds no password', async () => {
    const id = await realm.user('trail@example.com')
    await attempt('trail@example.com', 'a secret typed wrong')
    await attempt('trail@example.com', PASSWORD)
    const events = await app.gatehouse.tools.prisma.event.findMany({ where: { userId: id }, orderBy: { id: 'asc' } })
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
    const verifier = await app.gatehouse.tools.prisma.verifier.findFirstOrThrow({ where: { userId: id } })
    expect(Number(verifier.lastUsedAt)).toBeGreaterThan(0)
  })
})

describe('D19: lockout', () => {
  test('5 failures lock for a minute, then each further one doubles it; the right password counts again afterwards', async () => {
    const id = await realm.user('locked@example.com')
    for (let i = 0; i < 5; i++) await attempt('locked@example.com', 'wrong')
    expect(problemOf(await attempt('locked@example.com', PASSWORD))).toMatch(REFUSED)
    app.clock.advance(61_000)
    await attempt('locked@example.com', 'wrong')
    app.clock.advance(61_000)
    expect(problemOf(await attempt('locked@example.com', PASSWORD))).toMatch(REFUSED)
    app.clock.advance(60_000)
    expect(redirectOf(await attempt('locked@example.com', PASSWORD))['code']).toBeDefined()
    expect(await app.gatehouse.tools.prisma.loginFailure.count({ where: { userId: id } })).toBe(0)
    const locks = await app.gatehouse.tools.prisma.event.findMany({ where: { userId: id, type: 'user.locked' } })
    expect(locks).toHaveLength(2)
  })

  test('20 guesses at the same moment: five are looked at, and the right one among the rest does not get in', async () => {
    const id = await realm.user('flood@example.com')
    const started = await Promise.all(Array.from({ length: 20 }, () => realm.begin(spa)))
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
    for (const page of late) expect(problemOf(page)).toMatch(REFUSED)
    const events = await app.gatehouse.tools.prisma.event.findMany({ where: { userId: id, type: 'user.login.failed' } })
    const reasons = events.map(({ data }) => (data as { reason: string }).reason)
    expect(reasons.filter((reason) => reason === 'wrong_password')).toHaveLength(5)
    expect(reasons.filter((reason) => reason === 'locked')).toHaveLength(15)
  })

  test('twelve sign-ins with the right password at the same moment all arrive', async () => {
    const id = await realm.user('team@example.com')
    const started = await Promise.all(Array.from({ length: 12 }, () => realm.begin(spa)))
    const pages = await Promise.all(
      started.map(({ browser, page }) => browser.submit(page, { username: 'team@example.com', password: PASSWORD })),
    )
    for (const page of pages) expect(redirectOf(page)['code']).toBeDefined()
    expect(await app.gatehouse.tools.prisma.loginFailure.count({ where: { userId: id } })).toBe(0)
  })

  test('a name that nobody has is locked like one that somebody has', async () => {
    for (let i = 0; i < 6; i++) await attempt('nobody@example.com', 'wrong')
    const [row] = await app.gatehouse.tools.prisma.loginFailure.findMany({
      where: { userId: { startsWith: 'unknown:' }, lockedUntil: { not: null } },
    })
    expect(row?.failures).toBe(5)
  })
})

describe('rule 22: a server-side state machine', () => {
  test('a form is answered by the browser that was asked, and no other', async () => {
    const { page } = await realm.begin(spa)
    const stranger = new TestBrowser()
    const answer = await stranger.submit(page, { username: 'ada@example.com', password: PASSWORD })
    expect([answer.status, headingOf(answer)]).toEqual([400, 'This did not work'])
    expect((await stranger.open(page.url)).status).toBe(400)
    // Another browser with a sign-in of its own is no better.
    const other = await realm.begin(spa)
    expect((await other.browser.submit(page, { username: 'ada@example.com', password: PASSWORD })).status).toBe(400)
  })

  test('a cookie without our signature is none', async () => {
    const { page } = await realm.begin(spa)
    const uid = page.url.split('/').pop()!
    const answer = await fetch(page.url, {
      headers: { cookie: `gatehouse_sign_in=${uid}; gatehouse_sign_in.sig=forged` },
    })
    expect(answer.status).toBe(400)
  })

  test('without our hidden token, or with an altered one, nothing is looked at', async () => {
    const id = await realm.user('csrf@example.com')
    for (const csrf of ['', '0', '0.forged', '1.forged', '-1.x']) {
      const { page, browser } = await realm.begin(spa)
      expect(problemOf(await browser.submit(page, { username: 'csrf@example.com', password: 'wrong', csrf }))).toMatch(
        /out of date/,
      )
    }
    expect(await app.gatehouse.tools.prisma.loginFailure.count({ where: { userId: id } })).toBe(0)
  })

  test("another issuer's interaction is none here, cookie and token included", async () => {
    const other = await Realm.make(app, 'Elsewhere')
    const { page, browser } = await realm.begin(spa)
    const moved = page.url.replace(realm.tenant.issuerId, other.tenant.issuerId)
    const cookie = browser
      .cookies()
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')
    expect((await fetch(moved, { headers: { cookie } })).status).toBe(400)
  })

  test('each form counts once: after a failure the older page is out of date', async () => {
    const { page, browser } = await realm.begin(spa)
    await browser.submit(page, { username: 'ada@example.com', password: 'wrong' })
    const replayed = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
    expect(problemOf(replayed)).toMatch(/out of date/)
    expect(
      redirectOf(await browser.submit(replayed, { username: 'ada@example.com', password: PASSWORD }))['code'],
    ).toBeDefined()
  })

  test('of ten answers to one form at the same moment one moves; a double click still arrives', async () => {
    await realm.user('twice@example.com')
    const { page, browser } = await realm.begin(spa)
    const stop = browser.copy()
    const form = { username: 'twice@example.com', password: PASSWORD }
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        stop
          .copy()
          .submit(page, form)
          .catch(() => undefined),
      ),
    )
    const codes = answers.flatMap((answer) => (answer?.html === '' ? (redirectOf(answer)['code'] ?? []) : []))
    expect(codes.length).toBeGreaterThanOrEqual(1)
    const row = await app.gatehouse.tools.prisma.loginState.findMany({
      where: { version: 1, state: { path: ['username'], equals: 'twice@example.com' } },
    })
    expect(row).toHaveLength(1)
    const events = await app.gatehouse.tools.prisma.event.findMany({
      where: { type: 'user.login.succeeded', clientId: spa.id, actor: { path: ['name'], equals: 'twice@example.com' } },
    })
    expect(events).toHaveLength(1)
  })

  test('the same for a form that is not the first', async () => {
    await realm.user('thrice@example.com')
    const { page, browser } = await realm.begin(spa)
    const second = await browser.submit(page, { username: 'thrice@example.com', password: 'wrong' })
    const form = { username: 'thrice@example.com', password: PASSWORD }
    await Promise.all(
      Array.from({ length: 10 }, () =>
        browser
          .copy()
          .submit(second, form)
          .catch(() => undefined),
      ),
    )
    const where = { type: 'user.login.succeeded' as const, actor: { path: ['name'], equals: 'thrice@example.com' } }
    expect(await app.gatehouse.tools.prisma.event.count({ where })).toBe(1)
  })

  test('the end cannot be reached without the steps: the resume address knows no result', async () => {
    const { page, browser } = await realm.begin(spa)
    const uid = page.url.split('/').pop()!
    const skipped = await browser.open(`${realm.url}/authorize/${uid}`)
    expect(headingOf(skipped)).toBe('Sign in')
  })

  test('a finished sign-in cannot be finished again', async () => {
    const { page, browser } = await realm.begin(spa)
    redirectOf(await browser.submit(page, { username: 'ada@example.com', password: PASSWORD }))
    expect((await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })).status).toBe(400)
    expect((await browser.open(`${realm.url}/authorize/${page.url.split('/').pop()}`)).status).toBe(400)
  })

  test('two people in two tabs: whoever finishes last is who is signed in, and the other is signed out', async () => {
    await realm.user('bob@example.com')
    const browser = new TestBrowser()
    const ada = await realm.begin(spa, { scope: 'openid email' }, browser)
    const bob = await realm.begin(spa, {}, browser)
    const first = redirectOf(await browser.submit(bob.page, { username: 'bob@example.com', password: PASSWORD }))
    const second = redirectOf(await browser.submit(ada.page, { username: 'ada@example.com', password: PASSWORD }))
    const tokensOf = async (code: string | undefined, code_verifier: string) =>
      (await realm.exchange(spa, { code: code!, code_verifier, redirect_uri: CALLBACK })).body
    const { access_token } = await tokensOf(second['code'], ada.verifier)
    expect((await realm.userinfo(access_token)).body.email).toBe('ada@example.com')
    expect((await tokensOf(first['code'], bob.verifier)).error).toBe('invalid_grant')
    const now = await realm.begin(spa, { prompt: 'none' }, browser)
    const { access_token: silent } = await tokensOf(redirectOf(now.page)['code'], now.verifier)
    expect(claimsOf(silent).sub).toBe(claimsOf(access_token).sub)
  })

  test('one person in two tabs: both arrive', async () => {
    const browser = new TestBrowser()
    const tabs = [await realm.begin(spa, {}, browser), await realm.begin(spa, {}, browser)]
    for (const { page } of tabs) {
      const arrived = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
      expect(redirectOf(arrived)['code']).toBeDefined()
    }
  })

  test('one person in two tabs that arrive at once: neither ends the sign-in of the other', async () => {
    const { browser } = await realm.signIn(spa, 'ada@example.com')
    const tabs = await Promise.all([1, 2].map(() => realm.begin(spa, { prompt: 'login' }, browser)))
    const arrivals = tabs.map(({ page }) => browser.submit(page, { username: 'ada@example.com', password: PASSWORD }))
    for (const page of await Promise.all(arrivals)) expect(redirectOf(page)['code']).toBeDefined()
    expect(redirectOf((await realm.begin(spa, { prompt: 'none' }, browser)).page)['code']).toBeDefined()
  })

  test('a sign-in expires after half an hour', async () => {
    const { page, browser } = await realm.begin(spa)
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
    '%s: a new one is chosen before anything is given out; the policy holds; the old one is dead',
    async (name, verifier) => {
      const username = `change-${name.split(' ')[0]}@example.com`
      const { data } = must(
        await realm.tenant.owner.post(`${realm.tenant.I}/users`, { username_type: 'email', username }),
        201,
      )
      const expiring = name === 'temporary' ? { expires_at: app.clock.now() + 86_400_000 } : {}
      must(
        await realm.tenant.owner.post(`${realm.tenant.I}/users/${data.id}/verifiers`, { ...verifier, ...expiring }),
        201,
      )
      const { page, browser } = await realm.begin(spa)
      const asked = await browser.submit(page, { username, password: PASSWORD })
      expect(headingOf(asked)).toBe('Choose a new password')
      // Not finished: the step cannot be skipped.
      expect(headingOf(await browser.open(`${realm.url}/authorize/${page.url.split('/').pop()}`))).toBe('Sign in')
      const fresh = await realm.begin(spa)
      const again = await fresh.browser.submit(fresh.page, { username, password: PASSWORD })
      const short = await fresh.browser.submit(again, { new_password: 'short' })
      expect(problemOf(short)).toMatch(/at least 8 characters/)
      expect([faultyOn(again), faultyOn(short)]).toEqual([[], ['new_password']])
      const same = await fresh.browser.submit(short, { new_password: PASSWORD })
      expect(problemOf(same)).toMatch(/differs/)
      expect(redirectOf(await fresh.browser.submit(same, { new_password: NEXT }))['code']).toBeDefined()
      expect(problemOf(await attempt(username, PASSWORD))).toMatch(REFUSED)
      expect(redirectOf(await attempt(username, NEXT))['code']).toBeDefined()
    },
  )

  test('a browser that is signed in already arrives with the new one, too', async () => {
    const username = 'change-again@example.com'
    const id = await realm.user(username)
    const { browser } = await realm.signIn(spa, username)
    const path = `${realm.tenant.I}/users/${id}/verifiers`
    const [{ id: verifier }] = must(await realm.tenant.owner.get(path), 200).data
    must(await realm.tenant.owner.patch(`${path}/${verifier}`, { must_change: true }), 200)
    const { page } = await realm.begin(spa, { prompt: 'login' }, browser)
    const asked = await browser.submit(page, { username, password: PASSWORD })
    expect(redirectOf(await browser.submit(asked, { new_password: NEXT }))['code']).toBeDefined()
    expect(redirectOf((await realm.begin(spa, { prompt: 'none' }, browser)).page)['code']).toBeDefined()
  })

  test('of two in force the one that was set last counts: a refusal is one hash for everybody (security rule 21)', async () => {
    const username = 'helped@example.com'
    const id = await realm.user(username)
    const { owner, I } = realm.tenant
    const path = `${I}/users/${id}/verifiers`
    const give = async (password: string, life: number) => {
      app.clock.advance(1000)
      const expires_at = app.clock.now() + life
      return must(await owner.post(path, { type: 'temporary_password', name: 'desk', password, expires_at }), 201).data
    }
    /** All of them are tried, and one fits. */
    const onlyFits = async (right: string, ...others: string[]) => {
      for (const wrong of others) expect(problemOf(await attempt(username, wrong))).toMatch(REFUSED)
      expect(problemOf(await attempt(username, right))).toBeUndefined()
    }
    const [first, second, last] = ['given on Monday', 'given on Tuesday', 'given at last'] as const
    await give(first, 600_000)
    const { id: newer } = await give(second, 300_000)
    await onlyFits(second, PASSWORD, first)
    must(await owner.delete(`${path}/${newer}`), 204)
    await onlyFits(first, PASSWORD, second)
    const { data } = must(await owner.get(path), 200)
    const { id: own } = data.find(({ type }: { type: string }) => type === 'password')
    app.clock.advance(1000)
    must(await owner.patch(`${path}/${own}`, { password: NEXT }), 200)
    await onlyFits(NEXT, PASSWORD, first)
    await give(last, 60_000)
    await onlyFits(last, NEXT, first)
    app.clock.advance(61_000)
    await onlyFits(NEXT, last, first)
  })

  test('an expired temporary password opens nothing', async () => {
    const username = 'late@example.com'
    const { data } = must(
      await realm.tenant.owner.post(`${realm.tenant.I}/users`, { username_type: 'email', username }),
      201,
    )
    const verifier = { type: 'temporary_password', name: 'x', password: PASSWORD, expires_at: app.clock.now() + 60_000 }
    must(await realm.tenant.owner.post(`${realm.tenant.I}/users/${data.id}/verifiers`, verifier), 201)
    app.clock.advance(61_000)
    expect(problemOf(await attempt(username, PASSWORD))).toMatch(REFUSED)
  })
})

test.each(['suspended', 'blocked'])(
  'a %s user cannot sign in, and learns so only with the right password',
  async (status) => {
    const id = await realm.user(`${status}@example.com`)
    must(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { status, status_reason: 'test' }), 200)
    expect(problemOf(await attempt(`${status}@example.com`, 'wrong'))).toMatch(REFUSED)
    expect(problemOf(await attempt(`${status}@example.com`, PASSWORD))).toMatch(/cannot sign in at the moment/)
  },
)

test('a user who waits for approval, one without a verifier and a deleted one cannot sign in', async () => {
  const { owner, I } = realm.tenant
  const waiting = must(
    await owner.post(`${I}/users`, { username_type: 'email', username: 'wait@example.com', requires_approval: true }),
    201,
  )
  await owner.post(`${I}/users/${waiting.data.id}/verifiers`, { type: 'password', name: null, password: PASSWORD })
  expect(problemOf(await attempt('wait@example.com', PASSWORD))).toMatch(/waiting for approval/)
  must(await owner.post(`${I}/users`, { username_type: 'email', username: 'bare@example.com' }), 201)
  expect(problemOf(await attempt('bare@example.com', PASSWORD))).toMatch(REFUSED)
  const gone = await realm.user('gone@example.com')
  expect((await owner.delete(`${I}/users/${gone}`)).status).toBe(202)
  expect(problemOf(await attempt('gone@example.com', PASSWORD))).toMatch(REFUSED)
})

test('a user of one issuer is nobody at another', async () => {
  const other = await Realm.make(app, 'Island')
  const client = await other.client()
  const { page, browser } = await other.begin(client)
  expect(problemOf(await browser.submit(page, { username: 'ada@example.com', password: PASSWORD }))).toMatch(REFUSED)
})
