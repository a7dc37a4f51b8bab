/**
 * Attacks on the sign-in of another user, before, during and after it (docs/contract.md#login-transactions,
 * docs/contract.md#revocation-and-the-browser-session, docs/contract.md#equal-answers-and-lockout).
 */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import { codeInMail, mailsSentTo, waitForEmptyOutbox, waitForMail } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { countStatements, waitUntil } from '../../setup/wait-until.js'
import { errorMessageOf, headingOf, type Page, TestBrowser } from '../browser.js'
import { PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from '../realm.js'

let app: TestApp
let realm: Realm
let spa: TestClient

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
  realm = await createOpenIssuer(app)
  spa = await realm.createClient({ application_type: 'spa', grant_types: ['authorization_code', 'refresh_token'] })
})
afterAll(() => app.close())

/** Creates an issuer with sign-up by password, and sign-in by password or a code by email. */
async function createOpenIssuer(at: TestApp): Promise<Realm> {
  const created = await Realm.create(at, 'Open')
  const { owner, I } = created.tenant
  const { data } = expectStatus(await owner.get(`${I}/auth-methods`), 200)
  expectStatus(await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: true }), 200)
  expectStatus(await owner.post(`${I}/auth-methods`, { name: 'Code', method: 'email_otp' }), 201)
  return created
}

const NEW = 'another long password'
let count = 0
const address = (): string => `person-${++count}@example.com`

async function signInByMail(username: string, sent = 1, method = 'email_otp') {
  const begun = await realm.openSignInPage(spa)
  let page = await begun.browser.submit(begun.page, { username, method })
  if (method === 'reset') page = await begun.browser.submit(page, { username, method: 'send' })
  return { ...begun, page, code: codeInMail(await waitForMail(app, username, sent)) }
}

async function signInByPassword(username: string, password: string): Promise<Page> {
  const { browser, page } = await realm.openSignInPage(spa)
  return browser.submit(page, { username, password })
}

const verifiersOf = async (id: string) =>
  expectStatus(await realm.tenant.owner.get(`${realm.tenant.I}/users/${id}/verifiers`), 200).data

describe("an account that was created with another person's address", () => {
  async function squat(username: string) {
    const begun = await realm.openSignInPage(spa)
    const page = await begun.browser.submit(begun.page, { method: 'sign_up' })
    const redirect = redirectParametersOf(
      await begun.browser.submit(page, { username, new_password: PASSWORD, method: 'make' }),
    )
    const params = { code: redirect['code']!, code_verifier: begun.verifier, redirect_uri: REDIRECT_URI }
    const { body } = await realm.exchangeCode(spa, params)
    return { browser: begun.browser, tokens: body }
  }

  test.each(['email_otp', 'reset'])('is claimed by the owner of the address (%s)', async (method) => {
    const username = address()
    const { browser: thief, tokens } = await squat(username)
    expect((await realm.userinfo(tokens.access_token)).status).toBe(200)

    const { browser, page, code } = await signInByMail(username, 1, method)
    const chosen = await browser.submit(page, { code })
    expect(headingOf(chosen)).toBe('Choose a new password')
    // Until the new password is saved, the password of the creator still works.
    expect(redirectParametersOf(await signInByPassword(username, PASSWORD))['code']).toBeDefined()

    expect(redirectParametersOf(await browser.submit(chosen, { new_password: NEW }))['code']).toBeDefined()
    expect(errorMessageOf(await signInByPassword(username, PASSWORD))).toMatch(/do not match/)
    expect((await realm.userinfo(tokens.access_token)).status).toBe(401)
    expect((await realm.refresh(spa, tokens.refresh_token)).body.error).toBe('invalid_grant')
    expect(headingOf((await realm.openSignInPage(spa, {}, thief)).page)).toBe('Sign in')
    expect(redirectParametersOf(await signInByPassword(username, NEW))['code']).toBeDefined()
    const next = await signInByMail(username, 3)
    expect(redirectParametersOf(await next.browser.submit(next.page, { code: next.code }))['code']).toBeDefined()
  })

  test('keeps a password that an administrator has set', async () => {
    const username = address()
    await realm.createUser(username)
    const { browser, page, code } = await signInByMail(username)
    expect(redirectParametersOf(await browser.submit(page, { code }))['code']).toBeDefined()
    expect(redirectParametersOf(await signInByPassword(username, PASSWORD))['code']).toBeDefined()
  })
})

describe('the page that asks for a code does not reveal the user', () => {
  const plain = (html: string, username: string) =>
    html.replaceAll(username, '…').replace(/value="[^"]*"|interaction\/[\w-]+/g, '')

  test.each(['email_otp', 'reset'])('neither the address of the username nor its spelling (%s)', async (method) => {
    const { owner, I } = realm.tenant
    const bob = `bob${++count}`
    const profile = { email: address() }
    expectStatus(await owner.post(`${I}/users`, { username_type: 'unique', username: bob, profile }), 201)
    const known = address()
    await realm.createUser(known)
    const pages = []
    for (const username of [bob, known.toUpperCase(), `UNKNOWN-${count}@example.com`]) {
      const { browser, page } = await realm.openSignInPage(spa)
      const nextPage = await browser.submit(page, { username, method })
      const sent = method === 'reset' ? await browser.submit(nextPage, { username, method: 'send' }) : nextPage
      expect(headingOf(sent)).toBe('Check your email')
      expect(sent.html).not.toContain(profile.email)
      pages.push(plain(sent.html, username))
    }
    expect(new Set(pages).size).toBe(1)
  })
})

describe('a sign-in in progress', () => {
  test('ends when the password is changed in the meantime', async () => {
    const username = address()
    const id = await realm.createUser(username)
    const { owner, I } = realm.tenant
    const [verifier] = await verifiersOf(id)
    expectStatus(await owner.patch(`${I}/users/${id}/verifiers/${verifier.id}`, { must_change: true }), 200)
    const { browser, page } = await realm.openSignInPage(spa)
    const halfway = await browser.submit(page, { username, password: PASSWORD })
    expect(headingOf(halfway)).toBe('Choose a new password')

    app.clock.advance(1000)
    expectStatus(
      await owner.patch(`${I}/users/${id}/verifiers/${verifier.id}`, { password: NEW, must_change: false }),
      200,
    )
    const late = await browser.submit(halfway, { new_password: 'the password of an attacker' })
    expect({ heading: headingOf(late), problem: errorMessageOf(late) }).toEqual({
      heading: 'Sign in',
      problem: expect.stringMatching(/out of date/),
    })
    expect(redirectParametersOf(await signInByPassword(username, NEW))['code']).toBeDefined()
  })

  test('with a password that was submitted before a change and is checked after it is rejected', async () => {
    const username = address()
    const userId = await realm.createUser(username)
    const { owner, I } = realm.tenant
    const [verifier] = await verifiersOf(userId)
    const { database } = app.gatehouse
    // The user has as many pending attempts as allowed, so that the next attempt waits.
    const others = { failures: 0, pendingAttempts: 5, updatedAt: app.clock.now() }
    await database.prisma.loginFailure.create({ data: { userId, ...others } })
    const statements = countStatements(database)
    const attempt = signInByPassword(username, PASSWORD)
    await waitUntil('the attempt waits for its turn', () => statements.completed('attempt-locked') > 0)
    statements.restore()
    app.clock.advance(1000)
    expectStatus(await owner.patch(`${I}/users/${userId}/verifiers/${verifier.id}`, { password: NEW }), 200)
    await database.prisma.loginFailure.update({ where: { userId }, data: { pendingAttempts: 0 } })
    expect(errorMessageOf(await attempt)).toMatch(/do not match/)
    expect(redirectParametersOf(await signInByPassword(username, NEW))['code']).toBeDefined()
  })

  test('ends when the password is changed between the last step and the resumed authorization request', async () => {
    const username = address()
    const id = await realm.createUser(username)
    const { owner, I } = realm.tenant
    const { browser, page } = await realm.openSignInPage(spa)
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)![1]!
    const body = new URLSearchParams({ csrf, username, password: PASSWORD })
    const done = await browser.request(page.url, { method: 'POST', body })
    expect(done.status).toBe(303)

    app.clock.advance(2000)
    const [verifier] = await verifiersOf(id)
    expectStatus(await owner.patch(`${I}/users/${id}/verifiers/${verifier.id}`, { password: NEW }), 200)
    const late = await browser.open(done.headers.get('location')!)
    expect(headingOf(late)).toBe('Sign in')
    // The sign-in has not created a browser session.
    expect(headingOf((await realm.openSignInPage(spa, {}, browser)).page)).toBe('Sign in')
    app.clock.advance(2000)
    expect(redirectParametersOf(await browser.submit(late, { username, password: NEW }))['code']).toBeDefined()
    expect((await realm.openSignInPage(spa, {}, browser)).page.html).toBe('')
  })

  test('by email ends when the authentication method is disabled in the meantime', async () => {
    const { owner, I } = realm.tenant
    const { data } = expectStatus(await owner.get(`${I}/auth-methods`), 200)
    const { id } = data.find((one: { method: string }) => one.method === 'email_otp')
    const username = address()
    await realm.createUser(username)
    const { browser, page, code } = await signInByMail(username)
    expectStatus(await owner.patch(`${I}/auth-methods/${id}`, { enabled_login: false }), 200)
    try {
      const late = await browser.submit(page, { code })
      expect({ heading: headingOf(late), problem: errorMessageOf(late) }).toEqual({
        heading: 'Sign in',
        problem: expect.stringMatching(/out of date/),
      })
    } finally {
      expectStatus(await owner.patch(`${I}/auth-methods/${id}`, { enabled_login: true }), 200)
    }
  })

  test('by email ends when the address has changed in the meantime', async () => {
    for (const method of ['email_otp', 'reset']) {
      const username = address()
      const id = await realm.createUser(username)
      const { browser, page, code } = await signInByMail(username, 1, method)
      expectStatus(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { username: address() }), 200)
      const late = await browser.submit(page, { code })
      expect({ heading: headingOf(late), problem: errorMessageOf(late) }).toEqual({
        heading: 'Sign in',
        problem: expect.stringMatching(/out of date/),
      })
    }
  })

  test('that verifies an address sends a code to the new address when the address has changed in the meantime', async () => {
    const { owner, I } = realm.tenant
    expectStatus(await owner.patch(I, { settings: { signup: { require_email_verification: true } } }), 200)
    try {
      const username = address()
      const moved = address()
      const id = await realm.createUser(username)
      const { browser, page } = await realm.openSignInPage(spa)
      const nextPage = await browser.submit(page, { username, password: PASSWORD })
      const code = codeInMail(await waitForMail(app, username))
      expectStatus(await owner.patch(`${I}/users/${id}`, { username: moved }), 200)
      const again = await browser.submit(nextPage, { code })
      expect(again.status).toBe(200)
      expect(again.html).toContain(moved)
      const newer = codeInMail(await waitForMail(app, moved))
      expect(redirectParametersOf(await browser.submit(again, { code: newer }))['code']).toBeDefined()
    } finally {
      expectStatus(await owner.patch(I, { settings: { signup: { require_email_verification: false } } }), 200)
    }
  })

  test('does not treat a new address as verified because the previous one was', async () => {
    const { owner, I } = realm.tenant
    const confirmed = async (id: string) => expectStatus(await owner.get(`${I}/users/${id}`), 200).data.email_verified
    const username = address()
    const body = { username_type: 'email', username, email_verified: true }
    const { id } = expectStatus(await owner.post(`${I}/users`, body), 201).data
    expectStatus(await owner.patch(`${I}/users/${id}`, { profile: { name: 'Ada', email: address() } }), 200)
    expect(await confirmed(id)).toBe(true)
    expectStatus(await owner.patch(`${I}/users/${id}`, { username: address() }), 200)
    expect(await confirmed(id)).toBe(false)
    const named = { username_type: 'unique', username: `erin${++count}`, profile: { email: address() } }
    const erin = expectStatus(await owner.post(`${I}/users`, { ...named, email_verified: true }), 201).data.id
    expectStatus(await owner.patch(`${I}/users/${erin}`, { profile: { ...named.profile, name: 'Erin' } }), 200)
    expect(await confirmed(erin)).toBe(true)
    expectStatus(await owner.patch(`${I}/users/${erin}`, { profile: { email: address() } }), 200)
    expect(await confirmed(erin)).toBe(false)
  })

  test('of an invitation ends when the invitation expires', async () => {
    const { owner, I } = realm.tenant
    const O = `${I}/organizations/${expectStatus(await owner.post(`${I}/organizations`, { name: 'Quay', invitation_enabled: true }), 201).data.id}`
    const email = address()
    expectStatus(await owner.post(`${O}/invitations`, { email }), 201)
    const link = /https?:\/\/\S+/.exec((await waitForMail(app, email)).text)![0]
    const browser = new TestBrowser()
    const page = await browser.open(link)
    expect(page.status).toBe(200)
    app.clock.advance(31 * 60_000)
    expect((await browser.open(page.url)).status).toBe(400)
  })
})

describe('every form value gets a response', () => {
  const long = (length: number) => `${'a'.repeat(length - 1)}😀`

  test.each(['password', 'email_otp', 'reset'])(
    'a username that ends in half of a surrogate pair (%s)',
    async (method) => {
      const { browser, page } = await realm.openSignInPage(spa)
      let at = await browser.submit(page, { username: long(254), password: 'x', method })
      expect(at.status).toBe(200)
      if (method === 'reset') at = await browser.submit(at, { username: long(254), method: 'send' })
      expect(at.status).toBe(200)
      expect((await browser.open(at.url)).status).toBe(200)
    },
  )

  test('a name or login_hint with such a value also gets a response', async () => {
    const { browser, page } = await realm.openSignInPage(spa, { login_hint: long(254) })
    const form = await browser.submit(page, { method: 'sign_up' })
    const username = address()
    const nextPage = await browser.submit(form, { username, name: long(200), new_password: PASSWORD, method: 'make' })
    expect(redirectParametersOf(nextPage)['code']).toBeDefined()
  })
})

describe('email', () => {
  test('reports a changed password if the user has a mailbox', async () => {
    const { owner, I } = realm.tenant
    const username = `carol${++count}`
    const email = address()
    const { id } = expectStatus(
      await owner.post(`${I}/users`, { username_type: 'unique', username, profile: { email } }),
      201,
    ).data
    expectStatus(
      await owner.post(`${I}/users/${id}/verifiers`, { type: 'password', name: null, password: PASSWORD }),
      201,
    )
    const { browser, page } = await realm.openSignInPage(spa)
    const nextPage = await browser.submit(page, { username, method: 'reset' })
    const sent = await browser.submit(nextPage, { username, method: 'send' })
    const chosen = await browser.submit(sent, { code: codeInMail(await waitForMail(app, email)) })
    expect(redirectParametersOf(await browser.submit(chosen, { new_password: NEW }))['code']).toBeDefined()
    expect((await waitForMail(app, email, 2)).subject).toMatch(/was changed$/)
  })

  test('of the development inbox is shown only under the host name of this machine', async () => {
    const { hostname, port } = new URL(app.baseUrl)
    const statusFor = (host: string) =>
      new Promise<number>((done, failed) => {
        const ask = request({ hostname, port, path: '/dev/mail', headers: { host } }, (response) => {
          response.resume()
          done(response.statusCode!)
        })
        ask.on('error', failed).end()
      })
    expect(await statusFor(`localhost:${port}`)).toBe(200)
    expect(await statusFor(`127.0.0.1:${port}`)).toBe(200)
    // The host name of another site can resolve to this machine (DNS rebinding).
    expect(await statusFor(`rebound.example:${port}`)).toBe(404)
    expect(await statusFor(`localhost.rebound.example:${port}`)).toBe(404)
  })
})

describe('limits', () => {
  let limited: TestApp
  let other: Realm
  let client: TestClient

  beforeAll(async () => {
    limited = await startApp({ roles: ['core', 'idp', 'worker'], env: { RATE_LIMITS: 'default', TRUST_PROXY: '1' } })
    other = await createOpenIssuer(limited)
    client = await other.createClient()
  })
  afterAll(() => limited.close())

  test('five emails an hour, also for email verification', async () => {
    const { owner, I } = other.tenant
    expectStatus(await owner.patch(I, { settings: { signup: { require_email_verification: true } } }), 200)
    const username = address()
    await other.createUser(username)
    for (let i = 0; i < 7; i++) {
      limited.clock.advance(61_000)
      const { browser, page } = await other.openSignInPage(client)
      const nextPage = await browser.submit(page, { username, password: PASSWORD })
      expect(headingOf(nextPage)).toBe('Check your email')
    }
    await waitForEmptyOutbox(limited)
    expect(await mailsSentTo(limited, username)).toHaveLength(5)
  })

  test('sending again counts, by either username', async () => {
    const { owner, I } = other.tenant
    expectStatus(await owner.patch(I, { settings: { signup: { require_email_verification: false } } }), 200)
    const named = `dave${++count}`
    const profile = { email: address() }
    expectStatus(await owner.post(`${I}/users`, { username_type: 'unique', username: named, profile }), 201)
    const outcomes = []
    for (const username of [named, `unknown${count}`]) {
      limited.clock.advance(61_000)
      const { browser, page } = await other.openSignInPage(client)
      let at = await browser.submit(page, { username, method: 'email_otp' })
      const seen = []
      for (let i = 0; i < 6; i++) {
        at = await browser.submit(at, { method: 'again' })
        seen.push(errorMessageOf(at) ?? headingOf(at))
      }
      outcomes.push(seen)
    }
    expect(outcomes[0]).toEqual(outcomes[1])
    expect(outcomes[0]!.findIndex((text) => /Too many emails/.test(text!))).toBe(4)
  })

  test('IPv6 addresses of a /64 network share a limit', async () => {
    limited.clock.advance(61_000)
    const { owner, I } = other.tenant
    expectStatus(await owner.patch(I, { settings: { signup: { require_email_verification: false } } }), 200)
    const statuses = []
    for (let i = 0; i < 11; i++) {
      const from = new TestBrowser('https://', { 'x-forwarded-for': `2001:db8:7:7:${i}::${i + 1}` })
      const { page } = await other.openSignInPage(client, {}, from)
      statuses.push((await from.submit(page, { username: 'unknown@example.com', password: 'x' })).status)
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(1)
    const away = new TestBrowser('https://', { 'x-forwarded-for': '2001:db8:7:8::1' })
    const { page } = await other.openSignInPage(client, {}, away)
    expect((await away.submit(page, { username: 'unknown@example.com', password: 'x' })).status).toBe(200)
  })

  test('invitation links have the rate limit of authorization requests', async () => {
    const response = await fetch(`${other.url}/invitation?token=x`)
    expect(response.headers.get('x-ratelimit-limit')).toBe('120')
  })
})

test('an application that opens the sign-in page in a window stays its `window.opener`', async () => {
  // With Cross-Origin-Opener-Policy: same-origin the window would lose its `window.opener`, to which applications send
  // the authorization response.
  const { page } = await realm.openSignInPage(spa)
  expect(page.headers.get('cross-origin-opener-policy')).toBeNull()
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
})
