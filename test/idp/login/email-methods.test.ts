/**
 * Sign-in by email, password reset and email verification (docs/contract.md#authentication-methods,
 * docs/contract.md#single-use-values, docs/contract.md#equal-answers-and-lockout).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { RateLimiter } from '../../../src/platform/http/rate-limiter.js'
import { expectStatus } from '../../setup/actors.js'
import { coseKey, createCredentialId } from '../../setup/authenticator.js'
import { codeInMail, linkInMail, mailsSentTo, waitForEmptyOutbox, waitForMail } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { errorMessageOf, headingOf, invalidFieldsOf, TestBrowser } from '../browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from '../realm.js'

let app: TestApp
let realm: Realm
let spa: TestClient

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
  realm = await Realm.create(app, 'Acme')
  const { owner, I } = realm.tenant
  for (const method of ['email_otp', 'email_link'])
    expectStatus(await owner.post(`${I}/auth-methods`, { name: method, method }), 201)
  spa = await realm.createClient({ application_type: 'spa' })
})
afterAll(() => app.close())

let count = 0
const createUser = async (): Promise<string> => {
  const username = `user-${++count}@example.com`
  await realm.createUser(username)
  return username
}

/** Requests a code and reads it from the email number `sent` to the user. */
async function requestCode(username: string, params = {}, sent = 1) {
  const begun = await realm.openSignInPage(spa, params)
  const page = await begun.browser.submit(begun.page, { username, method: 'email_otp' })
  return { ...begun, page, code: codeInMail(await waitForMail(app, username, sent)) }
}

const wrongOf = (code: string): string => (code === '000000' ? '000001' : '000000')

describe('a code by email', () => {
  test('signs in; the tokens have amr otp, and the acr of the method if requested', async () => {
    const username = await createUser()
    const { browser, page, code, verifier } = await requestCode(username, { acr_values: 'urn:svc:method:email_otp' })
    expect(headingOf(page)).toBe('Check your email')
    const back = redirectParametersOf(await browser.submit(page, { code: ` ${code.slice(0, 3)}-${code.slice(3)}` }))
    const { body } = await realm.exchangeCode(spa, {
      code: back['code']!,
      code_verifier: verifier,
      redirect_uri: REDIRECT_URI,
    })
    expect(jwtClaims(body.id_token)).toMatchObject({ amr: ['otp'], acr: 'urn:svc:method:email_otp' })
    const user = await app.gatehouse.database.prisma.user.findFirstOrThrow({ where: { usernameKey: username } })
    expect(user.emailVerified).toBe(true)
  })

  test('the email with the code has the language of the page and contains the name of the issuer', async () => {
    const username = await createUser()
    await requestCode(username, { ui_locales: 'de' })
    const { subject, html } = await waitForMail(app, username)
    expect(subject).toMatch(/^\d{6} ist der Anmeldecode für Acme issuer$/)
    expect(html).toContain('<html lang="de">')
  })

  test('an unknown address sees the same page, and no email is sent', async () => {
    const known = await requestCode(await createUser())
    const { browser, page } = await realm.openSignInPage(spa)
    const unknown = await browser.submit(page, { username: 'unknown@example.com', method: 'email_otp' })
    const plain = (html: string) => html.replace(/\S+@example.com|value="[^"]*"|interaction\/[\w-]+/g, '')
    expect(plain(unknown.html)).toBe(plain(known.page.html))
    const refused = await browser.submit(unknown, { code: '123456' })
    expect([errorMessageOf(refused), invalidFieldsOf(refused)]).toEqual([
      expect.stringMatching(/This code or link is wrong/),
      ['code'],
    ])
    await waitForEmptyOutbox(app)
    expect(await mailsSentTo(app, 'unknown@example.com')).toEqual([])
  })

  test('is valid once, only in the browser that requested it, and until a newer code replaces it', async () => {
    const username = await createUser()
    const first = await requestCode(username)
    const other = await realm.openSignInPage(spa)
    const elsewhere = await other.browser.submit(other.page, { username, method: 'email_otp' })
    await waitForMail(app, username, 2)
    expect(errorMessageOf(await other.browser.submit(elsewhere, { code: first.code }))).toMatch(
      /This code or link is wrong/,
    )
    const again = await first.browser.submit(first.page, { method: 'again' })
    const newer = codeInMail(await waitForMail(app, username, 3))
    expect(errorMessageOf(await first.browser.submit(again, { code: first.code }))).toMatch(
      /This code or link is wrong/,
    )
    const latest = await first.browser.open(again.url)
    expect(redirectParametersOf(await first.browser.submit(latest, { code: newer }))['code']).toBeDefined()
  })

  test('no new code is sent after the method was disabled', async () => {
    const at = await Realm.create(app, 'Closing')
    const { owner, I } = at.tenant
    const method = expectStatus(await owner.post(`${I}/auth-methods`, { name: 'Code', method: 'email_otp' }), 201).data
    const client = await at.createClient()
    const username = `closing-${++count}@example.com`
    await at.createUser(username)
    const { browser, page } = await at.openSignInPage(client)
    const nextPage = await browser.submit(page, { username, method: 'email_otp' })
    await waitForMail(app, username)
    expectStatus(await owner.patch(`${I}/auth-methods/${method.id}`, { enabled_login: false }), 200)
    expect(errorMessageOf(await browser.submit(nextPage, { method: 'again' }))).toMatch(/out of date/)
    await waitForEmptyOutbox(app)
    expect(await mailsSentTo(app, username)).toHaveLength(1)
  })

  test('of 20 concurrent submissions of a correct code one is applied, and all lead to the same sign-in', async () => {
    const { browser, page, code } = await requestCode(await createUser())
    const before = await app.gatehouse.database.prisma.event.count({ where: { type: 'user.login.succeeded' } })
    const pages = await Promise.all(Array.from({ length: 20 }, () => browser.clone().submit(page, { code })))
    expect(new Set(pages.map(({ url }) => new URL(url).searchParams.get('code'))).size).toBeLessThanOrEqual(20)
    const after = await app.gatehouse.database.prisma.event.count({ where: { type: 'user.login.succeeded' } })
    expect(after - before).toBe(1)
  })

  test('after five wrong attempts or ten minutes only a new code works', async () => {
    const username = await createUser()
    const { browser, page, code } = await requestCode(username)
    let at = page
    for (let i = 0; i < 4; i++) at = await browser.submit(at, { code: wrongOf(code) })
    expect(errorMessageOf(at)).toMatch(/This code or link is wrong/)
    at = await browser.submit(at, { code: wrongOf(code) })
    expect(errorMessageOf(at)).toMatch(/no longer valid/)
    expect(errorMessageOf(await browser.submit(at, { code }))).toMatch(/no longer valid/)

    const late = await requestCode(await createUser())
    app.clock.advance(11 * 60_000)
    expect(errorMessageOf(await late.browser.submit(late.page, { code: late.code }))).toMatch(/no longer valid/)
  })

  test('wrong codes lock the sign-in by code of that user, not the sign-in by password', async () => {
    const username = await createUser()
    const { browser, page, code } = await requestCode(username)
    let at = page
    for (let i = 0; i < 5; i++) at = await browser.submit(at, { code: wrongOf(code) })
    const fresh = await requestCode(username, {}, 2)
    expect(errorMessageOf(await fresh.browser.submit(fresh.page, { code: fresh.code }))).toMatch(
      /This code or link is wrong/,
    )
    expect((await realm.signIn(spa, username)).redirect['code']).toBeDefined()
    app.clock.advance(61_000)
    const later = await fresh.browser.open(fresh.page.url)
    expect(redirectParametersOf(await fresh.browser.submit(later, { code: fresh.code }))['code']).toBeDefined()
  })

  test('a user who cannot sign in sees so only with the correct code', async () => {
    const username = await createUser()
    const { id } = await app.gatehouse.database.prisma.user.findFirstOrThrow({ where: { usernameKey: username } })
    expectStatus(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { status: 'suspended' }), 200)
    const { browser, page, code } = await requestCode(username)
    expect(headingOf(page)).toBe('Check your email')
    expect(errorMessageOf(await browser.submit(page, { code }))).toMatch(/cannot sign in/)
    const where = { userId: id, type: 'user.login.failed' }
    expect((await app.gatehouse.database.prisma.event.findMany({ where })).map(({ data }) => data)).toEqual([
      { method: 'email_otp', reason: 'suspended' },
    ])
  })

  test('code and link are not stored in plain text', async () => {
    const { code } = await requestCode(await createUser())
    const { prisma } = app.gatehouse.database
    const kept = JSON.stringify([await prisma.loginState.findMany(), await prisma.job.findMany()], (_, v) =>
      typeof v === 'bigint' ? Number(v) : v,
    )
    expect(kept).not.toContain(`"${code}"`)
  })
})

describe('a link by email', () => {
  async function askForLink(username: string) {
    const begun = await realm.openSignInPage(spa)
    const page = await begun.browser.submit(begun.page, { username, method: 'email_link' })
    return { ...begun, page, link: linkInMail(await waitForMail(app, username)) }
  }

  test('the link opens a page that asks for confirmation, so that a mail scanner does not consume the link', async () => {
    const { browser, link, page } = await askForLink(await createUser())
    expect(page.html).not.toContain('name="link"')
    const opened = await browser.open(link)
    expect(headingOf(opened)).toBe('Sign in')
    // The title describes the purpose of the page (WCAG 2.4.2).
    expect([page, opened].map(({ html }) => /<title>(.*?) ·/.exec(html)?.[1])).toEqual(['Check your email', 'Sign in'])
    await browser.open(link)
    expect(redirectParametersOf(await browser.submit(opened, { method: 'link' }))['code']).toBeDefined()
  })

  test('works only in the browser that requested it', async () => {
    const { link } = await askForLink(await createUser())
    const elsewhere = await new TestBrowser().open(link)
    expect(elsewhere.status).toBe(400)
    expect(elsewhere.html).toContain('belongs to another browser')
  })

  test('a link with another token is rejected', async () => {
    const { browser, link } = await askForLink(await createUser())
    const opened = await browser.open(link)
    expect(errorMessageOf(await browser.submit(opened, { link: 'x'.repeat(43), method: 'link' }))).toMatch(
      /This code or link is wrong/,
    )
  })
})

describe('a password reset', () => {
  test('the user signs in with a code and a new password; other sessions end, and an email reports the change', async () => {
    const username = await createUser()
    const before = await realm.signInForTokens(spa, username)
    const { browser, page } = await realm.openSignInPage(spa)
    const nextPage = await browser.submit(page, { username, method: 'reset' })
    expect(headingOf(nextPage)).toBe('Reset your password')
    const sent = await browser.submit(nextPage, { username, method: 'send' })
    const chosen = await browser.submit(sent, { code: codeInMail(await waitForMail(app, username)) })
    expect(headingOf(chosen)).toBe('Choose a new password')
    expect(errorMessageOf(await browser.submit(chosen, { new_password: 'short' }))).toMatch(/at least 8/)
    const again = await browser.open(chosen.url)
    const back = redirectParametersOf(await browser.submit(again, { new_password: 'a quite new password' }))
    expect(back['code']).toBeDefined()
    expect((await realm.userinfo(before.access_token)).status).toBe(401)
    expect((await waitForMail(app, username, 2)).subject).toBe('Your password for Acme issuer was changed')
    const attempt = await realm.openSignInPage(spa)
    expect(errorMessageOf(await attempt.browser.submit(attempt.page, { username, password: PASSWORD }))).toMatch(
      /do not match/,
    )
  })

  test('an unknown user sees the same pages, and no code works', async () => {
    const { browser, page } = await realm.openSignInPage(spa)
    const nextPage = await browser.submit(page, { username: 'unknown@example.com', method: 'reset' })
    const sent = await browser.submit(nextPage, { username: 'unknown@example.com', method: 'send' })
    expect(headingOf(sent)).toBe('Check your email')
    expect(errorMessageOf(await browser.submit(sent, { code: '123456' }))).toMatch(/This code or link is wrong/)
  })

  test('the new password cannot be set without the code', async () => {
    const username = await createUser()
    const { browser, page } = await realm.openSignInPage(spa)
    const nextPage = await browser.submit(page, { username, method: 'reset' })
    const sent = await browser.submit(nextPage, { username, method: 'send' })
    const skipped = await browser.submit(sent, { new_password: 'a quite new password', username })
    expect(headingOf(skipped)).toBe('Check your email')
    const attempt = await realm.openSignInPage(spa)
    expect(
      redirectParametersOf(await attempt.browser.submit(attempt.page, { username, password: PASSWORD }))['code'],
    ).toBeDefined()
  })
})

describe('each removal of a credential is emailed to the user and is an event with its reason', () => {
  const bodies: Record<string, () => object> = {
    passkey: () => ({ type: 'passkey', credential_id: createCredentialId(), public_key: coseKey() }),
    backup_codes: () => ({ type: 'backup_codes' }),
    temporary_password: () => ({
      type: 'temporary_password',
      name: 'T',
      password: 'for a short while',
      expires_at: app.clock.now() + 60_000,
    }),
  }
  const removals = async (userId: string) =>
    (await app.gatehouse.database.prisma.event.findMany({ where: { userId, type: 'user.verifier.deleted' } })).map(
      ({ data }) => data,
    )
  const given = async (userId: string, type: string) =>
    expectStatus(await realm.tenant.owner.post(`${realm.tenant.I}/users/${userId}/verifiers`, bodies[type]!()), 201)
      .data
  const idOf = async (username: string) =>
    (await app.gatehouse.database.prisma.user.findFirstOrThrow({ where: { usernameKey: username } })).id

  test.each([
    ['passkey', 'passkey'],
    ['backup_codes', 'backup codes'],
    ['temporary_password', 'temporary password'],
  ])('DELETE of a %s', async (type, words) => {
    const username = await createUser()
    const id = await idOf(username)
    const verifier = await given(id, type)
    expectStatus(await realm.tenant.owner.delete(`${realm.tenant.I}/users/${id}/verifiers/${verifier.id}`), 204)
    const { subject, text } = await waitForMail(app, username)
    expect(subject).toBe('A credential of your account at Acme issuer was removed')
    expect(text).toContain(`no longer works: ${words}.`)
    expect(await removals(id)).toEqual([{ type, reason: 'deleted' }])
  })

  test('a new set of backup codes; the first set removes nothing', async () => {
    const username = await createUser()
    const id = await idOf(username)
    await given(id, 'backup_codes')
    await waitForEmptyOutbox(app)
    expect(await mailsSentTo(app, username)).toEqual([])
    await given(id, 'backup_codes')
    expect((await waitForMail(app, username)).subject).toBe('Your backup codes for Acme issuer were replaced')
    expect(await removals(id)).toEqual([{ type: 'backup_codes', reason: 'replaced' }])
  })

  test('in the language of the issuer; a user without an address gets none', async () => {
    const { owner, I } = realm.tenant
    expectStatus(await owner.patch(I, { settings: { branding: { language: 'de' } } }), 200)
    try {
      const username = await createUser()
      const id = await idOf(username)
      const { id: verifier } = await given(id, 'passkey')
      expectStatus(await owner.delete(`${I}/users/${id}/verifiers/${verifier}`), 204)
      const { subject } = await waitForMail(app, username)
      expect(subject).toBe('Aus dem Konto bei Acme issuer wurde eine Anmeldemöglichkeit entfernt')
    } finally {
      expectStatus(await owner.patch(I, { settings: { branding: { language: null } } }), 200)
    }
    const body = { username_type: 'unique', username: `nameless${++count}` }
    const { id } = expectStatus(await owner.post(`${I}/users`, body), 201).data
    const { id: verifier } = await given(id, 'passkey')
    expectStatus(await owner.delete(`${I}/users/${id}/verifiers/${verifier}`), 204)
    expect(await removals(id)).toEqual([{ type: 'passkey', reason: 'deleted' }])
    await waitForEmptyOutbox(app)
    expect(await mailsSentTo(app, '')).toEqual([])
  })
})

describe('limits', () => {
  test('five emails an hour to one address, known or not', async () => {
    const limited = await startApp({ roles: ['core', 'idp', 'worker'], env: { RATE_LIMITS: 'default' } })
    try {
      const other = await Realm.create(limited)
      const { owner, I } = other.tenant
      expectStatus(await owner.post(`${I}/auth-methods`, { name: 'Code', method: 'email_otp' }), 201)
      await other.createUser('ada@example.com')
      const client = await other.createClient()
      for (const username of ['ada@example.com', 'unknown@example.com']) {
        const headings = []
        for (let i = 0; i < 6; i++) {
          const { browser, page } = await other.openSignInPage(client)
          const nextPage = await browser.submit(page, { username, method: 'email_otp' })
          headings.push(errorMessageOf(nextPage) ?? headingOf(nextPage))
          limited.clock.advance(60_000)
        }
        expect(headings.slice(0, 5)).toEqual(Array(5).fill('Check your email'))
        expect(headings[5]).toMatch(/Too many emails/)
      }
      expect(await mailsSentTo(limited, 'ada@example.com')).toHaveLength(5)
    } finally {
      await limited.close()
    }
  })

  test('an anonymous caller cannot lock out a user who has the correct password and must verify the address', async () => {
    const limited = await startApp({ roles: ['core', 'idp', 'worker'], env: { RATE_LIMITS: 'default' } })
    try {
      const other = await Realm.create(limited)
      const { owner, I } = other.tenant
      const username = 'ada@example.com'
      await other.createUser(username)
      expectStatus(await owner.patch(I, { settings: { signup: { require_email_verification: true } } }), 200)
      const client = await other.createClient()
      // An anonymous caller requests all emails that the username gets in an hour, and guesses codes.
      const ask = async () => {
        limited.clock.advance(60_000)
        const { browser, page } = await other.openSignInPage(client)
        const nextPage = await browser.submit(page, { username, method: 'reset' })
        return { browser, page: await browser.submit(nextPage, { username, method: 'send' }) }
      }
      for (let i = 0; i < 4; i++) expect(headingOf((await ask()).page)).toBe('Check your email')
      const { browser: theirs, page: guessed } = await ask()
      expect(errorMessageOf((await ask()).page)).toMatch(/Too many emails/)
      let at = guessed
      for (let i = 0; i < 5; i++) at = await theirs.submit(at, { code: 'no code' })
      expect(errorMessageOf(at)).toMatch(/no longer valid/)
      const before = (await mailsSentTo(limited, username)).length
      const { browser, page: form } = await other.openSignInPage(client)
      const page = await browser.submit(form, { username, password: PASSWORD })
      expect([headingOf(page), errorMessageOf(page)]).toEqual(['Check your email', undefined])
      const code = codeInMail(await waitForMail(limited, username, before + 1))
      expect(redirectParametersOf(await browser.submit(page, { code }))['code']).toBeDefined()
    } finally {
      await limited.close()
    }
  })

  test('the email rate limit is consumed once, outside of a transaction, and the email is sent once', async () => {
    const { owner, I } = realm.tenant
    expectStatus(await owner.patch(I, { settings: { signup: { require_email_verification: true } } }), 200)
    const username = await createUser()
    const { database } = app.gatehouse
    const gatehouse = app.gatehouse as { rateLimiter: RateLimiter }
    const { rateLimiter } = gatehouse
    const free: number[] = []
    gatehouse.rateLimiter = {
      ...rateLimiter,
      async consume(limit, key) {
        // In its transaction, the step locks the row of the user. This query returns the row only if it is not locked.
        const text = 'SELECT id FROM users WHERE username_key = $1 FOR UPDATE SKIP LOCKED'
        if (limit === 'mail') free.push((await database.query('is-the-user-free', text, [username])).length)
        return rateLimiter.consume(limit, key)
      },
    }
    try {
      const { browser, page } = await realm.openSignInPage(spa)
      const nextPage = await browser.submit(page, { username, password: PASSWORD })
      expect(headingOf(nextPage)).toBe('Check your email')
      expect(free).toEqual([1])
      const code = codeInMail(await waitForMail(app, username))
      expect(redirectParametersOf(await browser.submit(nextPage, { code }))['code']).toBeDefined()
      await waitForEmptyOutbox(app)
      expect(await mailsSentTo(app, username)).toHaveLength(1)
    } finally {
      gatehouse.rateLimiter = rateLimiter
      expectStatus(await owner.patch(I, { settings: { signup: { require_email_verification: false } } }), 200)
    }
  })
})
