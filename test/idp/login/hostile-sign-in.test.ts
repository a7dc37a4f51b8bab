/** Whoever comes before, between or after somebody else at sign-in (security rules 10, 11, 16, 21, 22, 24). */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import { codeIn, mailsTo, mailTo, outboxEmpty } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { headingOf, type Page, problemOf, TestBrowser } from '../browser.js'
import { CALLBACK, PASSWORD, Realm, redirectOf, type TestClient } from '../setup.js'

let app: TestApp
let realm: Realm
let spa: TestClient

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
  realm = await openHouse(app)
  spa = await realm.client({ application_type: 'spa', grant_types: ['authorization_code', 'refresh_token'] })
})
afterAll(() => app.close())

/** An issuer where people sign up with a password, and sign in with that or by mail. */
async function openHouse(at: TestApp): Promise<Realm> {
  const made = await Realm.make(at, 'Open')
  const { owner, I } = made.tenant
  const { data } = must(await owner.get(`${I}/auth-methods`), 200)
  must(await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: true }), 200)
  must(await owner.post(`${I}/auth-methods`, { name: 'Code', method: 'email_otp' }), 201)
  return made
}

const NEW = 'another long password'
let count = 0
const address = (): string => `person-${++count}@example.com`

async function byMail(username: string, sent = 1, method = 'email_otp') {
  const begun = await realm.begin(spa)
  let page = await begun.browser.submit(begun.page, { username, method })
  if (method === 'reset') page = await begun.browser.submit(page, { username, method: 'send' })
  return { ...begun, page, code: codeIn(await mailTo(app, username, sent)) }
}

async function byPassword(username: string, password: string): Promise<Page> {
  const { browser, page } = await realm.begin(spa)
  return browser.submit(page, { username, password })
}

const verifiersOf = async (id: string) =>
  must(await realm.tenant.owner.get(`${realm.tenant.I}/users/${id}/verifiers`), 200).data

describe('an account that somebody made with an address that is not theirs', () => {
  async function squat(username: string) {
    const begun = await realm.begin(spa)
    const page = await begun.browser.submit(begun.page, { method: 'sign_up' })
    const made = redirectOf(await begun.browser.submit(page, { username, new_password: PASSWORD, method: 'make' }))
    const params = { code: made['code']!, code_verifier: begun.verifier, redirect_uri: CALLBACK }
    const { body } = await realm.exchange(spa, params)
    return { browser: begun.browser, tokens: body }
  }

  test.each(['email_otp', 'reset'])('is theirs no more once the owner of the address comes (%s)', async (method) => {
    const username = address()
    const { browser: thief, tokens } = await squat(username)
    expect((await realm.userinfo(tokens.access_token)).status).toBe(200)

    const { browser, page, code } = await byMail(username, 1, method)
    const chosen = await browser.submit(page, { code })
    expect(headingOf(chosen)).toBe('Choose a new password')
    // D31: when the new password is saved, not before.
    expect(redirectOf(await byPassword(username, PASSWORD))['code']).toBeDefined()

    expect(redirectOf(await browser.submit(chosen, { new_password: NEW }))['code']).toBeDefined()
    expect(problemOf(await byPassword(username, PASSWORD))).toMatch(/do not match/)
    expect((await realm.userinfo(tokens.access_token)).status).toBe(401)
    expect((await realm.refresh(spa, tokens.refresh_token)).body.error).toBe('invalid_grant')
    expect(headingOf((await realm.begin(spa, {}, thief)).page)).toBe('Sign in')
    expect(redirectOf(await byPassword(username, NEW))['code']).toBeDefined()
    const next = await byMail(username, 3)
    expect(redirectOf(await next.browser.submit(next.page, { code: next.code }))['code']).toBeDefined()
  })

  test('keeps the password that an administrator gave it', async () => {
    const username = address()
    await realm.user(username)
    const { browser, page, code } = await byMail(username)
    expect(redirectOf(await browser.submit(page, { code }))['code']).toBeDefined()
    expect(redirectOf(await byPassword(username, PASSWORD))['code']).toBeDefined()
  })
})

describe('the page that asks for a code says nothing of whose username it is', () => {
  const plain = (html: string, username: string) =>
    html.replaceAll(username, '…').replace(/value="[^"]*"|interaction\/[\w-]+/g, '')

  test.each(['email_otp', 'reset'])('neither the address behind it nor how it is written (%s)', async (method) => {
    const { owner, I } = realm.tenant
    const bob = `bob${++count}`
    const profile = { email: address() }
    must(await owner.post(`${I}/users`, { username_type: 'unique', username: bob, profile }), 201)
    const known = address()
    await realm.user(known)
    const pages = []
    for (const username of [bob, known.toUpperCase(), `NOBODY-${count}@example.com`]) {
      const { browser, page } = await realm.begin(spa)
      const asked = await browser.submit(page, { username, method })
      const sent = method === 'reset' ? await browser.submit(asked, { username, method: 'send' }) : asked
      expect(headingOf(sent)).toBe('Check your mail')
      expect(sent.html).not.toContain(profile.email)
      pages.push(plain(sent.html, username))
    }
    expect(new Set(pages).size).toBe(1)
  })
})

describe('a sign-in that stands half-way', () => {
  test('ends when the password is changed meanwhile: what was proved counts no more', async () => {
    const username = address()
    const id = await realm.user(username)
    const { owner, I } = realm.tenant
    const [verifier] = await verifiersOf(id)
    must(await owner.patch(`${I}/users/${id}/verifiers/${verifier.id}`, { must_change: true }), 200)
    const { browser, page } = await realm.begin(spa)
    const halfway = await browser.submit(page, { username, password: PASSWORD })
    expect(headingOf(halfway)).toBe('Choose a new password')

    app.clock.advance(1000)
    must(await owner.patch(`${I}/users/${id}/verifiers/${verifier.id}`, { password: NEW, must_change: false }), 200)
    const late = await browser.submit(halfway, { new_password: 'the password of a thief' })
    expect({ heading: headingOf(late), problem: problemOf(late) }).toEqual({
      heading: 'Sign in',
      problem: expect.stringMatching(/out of date/),
    })
    expect(redirectOf(await byPassword(username, NEW))['code']).toBeDefined()
  })

  test('and the old one opens nothing that was typed before the change and is looked at after it', async () => {
    const username = address()
    const userId = await realm.user(username)
    const { owner, I } = realm.tenant
    const [verifier] = await verifiersOf(userId)
    const { tools } = app.gatehouse
    // As many others try as may, so it waits for its turn.
    const others = { failures: 0, pending: 5, updatedAt: app.clock.now() }
    await tools.prisma.loginFailure.create({ data: { userId, ...others } })
    const attempt = byPassword(username, PASSWORD)
    await sleep(400)
    app.clock.advance(1000)
    must(await owner.patch(`${I}/users/${userId}/verifiers/${verifier.id}`, { password: NEW }), 200)
    await tools.prisma.loginFailure.update({ where: { userId }, data: { pending: 0 } })
    expect(problemOf(await attempt)).toMatch(/do not match/)
    expect(redirectOf(await byPassword(username, NEW))['code']).toBeDefined()
  })

  test('also one that is finished and not brought back to the application yet', async () => {
    const username = address()
    const id = await realm.user(username)
    const { owner, I } = realm.tenant
    const { browser, page } = await realm.begin(spa)
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)![1]!
    const body = new URLSearchParams({ csrf, username, password: PASSWORD })
    const done = await browser.request(page.url, { method: 'POST', body })
    expect(done.status).toBe(303)

    app.clock.advance(2000)
    const [verifier] = await verifiersOf(id)
    must(await owner.patch(`${I}/users/${id}/verifiers/${verifier.id}`, { password: NEW }), 200)
    const late = await browser.open(done.headers.get('location')!)
    expect(headingOf(late)).toBe('Sign in')
    // Nor has it become a sign-in for the next time.
    expect(headingOf((await realm.begin(spa, {}, browser)).page)).toBe('Sign in')
    app.clock.advance(2000)
    expect(redirectOf(await browser.submit(late, { username, password: NEW }))['code']).toBeDefined()
    expect((await realm.begin(spa, {}, browser)).page.html).toBe('')
  })

  test('by mail ends when its way in is closed meanwhile', async () => {
    const { owner, I } = realm.tenant
    const { data } = must(await owner.get(`${I}/auth-methods`), 200)
    const { id } = data.find((one: { method: string }) => one.method === 'email_otp')
    const username = address()
    await realm.user(username)
    const { browser, page, code } = await byMail(username)
    must(await owner.patch(`${I}/auth-methods/${id}`, { enabled_login: false }), 200)
    try {
      const late = await browser.submit(page, { code })
      expect({ heading: headingOf(late), problem: problemOf(late) }).toEqual({
        heading: 'Sign in',
        problem: expect.stringMatching(/out of date/),
      })
    } finally {
      must(await owner.patch(`${I}/auth-methods/${id}`, { enabled_login: true }), 200)
    }
  })

  test('by mail ends when the address is another one meanwhile', async () => {
    for (const method of ['email_otp', 'reset']) {
      const username = address()
      const id = await realm.user(username)
      const { browser, page, code } = await byMail(username, 1, method)
      must(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { username: address() }), 200)
      const late = await browser.submit(page, { code })
      expect({ heading: headingOf(late), problem: problemOf(late) }).toEqual({
        heading: 'Sign in',
        problem: expect.stringMatching(/out of date/),
      })
    }
  })

  test('that confirms an address asks for the new one when it is another one meanwhile', async () => {
    const { owner, I } = realm.tenant
    must(await owner.patch(I, { settings: { signup: { require_email_verification: true } } }), 200)
    try {
      const username = address()
      const moved = address()
      const id = await realm.user(username)
      const { browser, page } = await realm.begin(spa)
      const asked = await browser.submit(page, { username, password: PASSWORD })
      const code = codeIn(await mailTo(app, username))
      must(await owner.patch(`${I}/users/${id}`, { username: moved }), 200)
      const again = await browser.submit(asked, { code })
      expect(again.status).toBe(200)
      expect(again.html).toContain(moved)
      const newer = codeIn(await mailTo(app, moved))
      expect(redirectOf(await browser.submit(again, { code: newer }))['code']).toBeDefined()
    } finally {
      must(await owner.patch(I, { settings: { signup: { require_email_verification: false } } }), 200)
    }
  })

  test('cannot count on a confirmation of the address before: another one is not confirmed', async () => {
    const { owner, I } = realm.tenant
    const confirmed = async (id: string) => must(await owner.get(`${I}/users/${id}`), 200).data.email_verified
    const username = address()
    const body = { username_type: 'email', username, email_verified: true }
    const { id } = must(await owner.post(`${I}/users`, body), 201).data
    must(await owner.patch(`${I}/users/${id}`, { profile: { name: 'Ada', email: address() } }), 200)
    expect(await confirmed(id)).toBe(true)
    must(await owner.patch(`${I}/users/${id}`, { username: address() }), 200)
    expect(await confirmed(id)).toBe(false)
    const named = { username_type: 'unique', username: `erin${++count}`, profile: { email: address() } }
    const erin = must(await owner.post(`${I}/users`, { ...named, email_verified: true }), 201).data.id
    must(await owner.patch(`${I}/users/${erin}`, { profile: { ...named.profile, name: 'Erin' } }), 200)
    expect(await confirmed(erin)).toBe(true)
    must(await owner.patch(`${I}/users/${erin}`, { profile: { email: address() } }), 200)
    expect(await confirmed(erin)).toBe(false)
  })

  test('of an invitation ends with its time', async () => {
    const { owner, I } = realm.tenant
    const O = `${I}/organizations/${must(await owner.post(`${I}/organizations`, { name: 'Quay', invitation_enabled: true }), 201).data.id}`
    const email = address()
    must(await owner.post(`${O}/invitations`, { email }), 201)
    const link = /https?:\/\/\S+/.exec((await mailTo(app, email)).text)![0]
    const browser = new TestBrowser()
    const page = await browser.open(link)
    expect(page.status).toBe(200)
    app.clock.advance(31 * 60_000)
    expect((await browser.open(page.url)).status).toBe(400)
  })
})

describe('whatever a form holds is answered', () => {
  const long = (length: number) => `${'a'.repeat(length - 1)}😀`

  test.each(['password', 'email_otp', 'reset'])('a username that ends in half a character (%s)', async (method) => {
    const { browser, page } = await realm.begin(spa)
    let at = await browser.submit(page, { username: long(254), password: 'x', method })
    expect(at.status).toBe(200)
    if (method === 'reset') at = await browser.submit(at, { username: long(254), method: 'send' })
    expect(at.status).toBe(200)
    expect((await browser.open(at.url)).status).toBe(200)
  })

  test('so are a name, and a hint of the application', async () => {
    const { browser, page } = await realm.begin(spa, { login_hint: long(254) })
    const form = await browser.submit(page, { method: 'sign_up' })
    const username = address()
    const made = await browser.submit(form, { username, name: long(200), new_password: PASSWORD, method: 'make' })
    expect(redirectOf(made)['code']).toBeDefined()
  })
})

describe('mail', () => {
  test('tells of a changed password wherever mail reaches the person', async () => {
    const { owner, I } = realm.tenant
    const username = `carol${++count}`
    const email = address()
    const { id } = must(
      await owner.post(`${I}/users`, { username_type: 'unique', username, profile: { email } }),
      201,
    ).data
    must(await owner.post(`${I}/users/${id}/verifiers`, { type: 'password', name: null, password: PASSWORD }), 201)
    const { browser, page } = await realm.begin(spa)
    const asked = await browser.submit(page, { username, method: 'reset' })
    const sent = await browser.submit(asked, { username, method: 'send' })
    const chosen = await browser.submit(sent, { code: codeIn(await mailTo(app, email)) })
    expect(redirectOf(await browser.submit(chosen, { new_password: NEW }))['code']).toBeDefined()
    expect((await mailTo(app, email, 2)).subject).toMatch(/was changed$/)
  })

  test('of the development inbox is shown under the name of this machine only', async () => {
    const { hostname, port } = new URL(app.baseUrl)
    const statusFor = (host: string) =>
      new Promise<number>((done, failed) => {
        const ask = request({ hostname, port, path: '/dev/mail', headers: { host } }, (answer) => {
          answer.resume()
          done(answer.statusCode!)
        })
        ask.on('error', failed).end()
      })
    expect(await statusFor(`localhost:${port}`)).toBe(200)
    expect(await statusFor(`127.0.0.1:${port}`)).toBe(200)
    // A name of somebody's that leads here (DNS rebinding).
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
    other = await openHouse(limited)
    client = await other.client()
  })
  afterAll(() => limited.close())

  test('five mails an hour also where an address is to be confirmed (decisions D19)', async () => {
    const { owner, I } = other.tenant
    must(await owner.patch(I, { settings: { signup: { require_email_verification: true } } }), 200)
    const username = address()
    await other.user(username)
    for (let i = 0; i < 7; i++) {
      limited.clock.advance(61_000)
      const { browser, page } = await other.begin(client)
      const asked = await browser.submit(page, { username, password: PASSWORD })
      expect(headingOf(asked)).toBe('Check your mail')
    }
    await outboxEmpty(limited)
    expect(await mailsTo(limited, username)).toHaveLength(5)
  })

  test('asking again counts as asking, by whichever name', async () => {
    const { owner, I } = other.tenant
    must(await owner.patch(I, { settings: { signup: { require_email_verification: false } } }), 200)
    const named = `dave${++count}`
    const profile = { email: address() }
    must(await owner.post(`${I}/users`, { username_type: 'unique', username: named, profile }), 201)
    const outcomes = []
    for (const username of [named, `nobody${count}`]) {
      limited.clock.advance(61_000)
      const { browser, page } = await other.begin(client)
      let at = await browser.submit(page, { username, method: 'email_otp' })
      const seen = []
      for (let i = 0; i < 6; i++) {
        at = await browser.submit(at, { method: 'again' })
        seen.push(problemOf(at) ?? headingOf(at))
      }
      outcomes.push(seen)
    }
    expect(outcomes[0]).toEqual(outcomes[1])
    expect(outcomes[0]!.findIndex((text) => /Too many mails/.test(text!))).toBe(4)
  })

  test('those who share a network of IPv6 share a limit: a host has as many addresses there as it likes', async () => {
    limited.clock.advance(61_000)
    const { owner, I } = other.tenant
    must(await owner.patch(I, { settings: { signup: { require_email_verification: false } } }), 200)
    const statuses = []
    for (let i = 0; i < 11; i++) {
      const from = new TestBrowser('https://', { 'x-forwarded-for': `2001:db8:7:7:${i}::${i + 1}` })
      const { page } = await other.begin(client, {}, from)
      statuses.push((await from.submit(page, { username: 'nobody@example.com', password: 'x' })).status)
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(1)
    const away = new TestBrowser('https://', { 'x-forwarded-for': '2001:db8:7:8::1' })
    const { page } = await other.begin(client, {}, away)
    expect((await away.submit(page, { username: 'nobody@example.com', password: 'x' })).status).toBe(200)
  })

  test('links of invitations are looked at as often as authorization requests', async () => {
    const answer = await fetch(`${other.url}/invitation?token=x`)
    expect(answer.headers.get('x-ratelimit-limit')).toBe('120')
  })
})

test('an application that opens the sign-in in a window of its own hears from it afterwards', async () => {
  // With `same-origin` the window would lose its opener for good, and applications wait for an answer that way.
  const { page } = await realm.begin(spa)
  expect(page.headers.get('cross-origin-opener-policy')).toBeNull()
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
})
