/** Signing in by mail, forgotten passwords, addresses to confirm (spec 2.4, security rules 1, 19, 21, 22). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { RateLimiter } from '../../../src/platform/rate-limit.js'
import { must } from '../../setup/actors.js'
import { coseKey, newCredentialId } from '../../setup/authenticator.js'
import { codeIn, linkIn, mailsTo, mailTo, outboxEmpty } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { faultyOn, headingOf, problemOf, TestBrowser } from '../browser.js'
import { CALLBACK, claimsOf, PASSWORD, Realm, redirectOf, type TestClient } from '../setup.js'

let app: TestApp
let realm: Realm
let spa: TestClient

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
  realm = await Realm.make(app, 'Acme')
  const { owner, I } = realm.tenant
  for (const method of ['email_otp', 'email_link'])
    must(await owner.post(`${I}/auth-methods`, { name: method, method }), 201)
  spa = await realm.client({ application_type: 'spa' })
})
afterAll(() => app.close())

let count = 0
const someone = async (): Promise<string> => {
  const username = `user-${++count}@example.com`
  await realm.user(username)
  return username
}

/** Asks for a code and reads it. */
async function askForCode(username: string, params = {}, sent = 1) {
  const begun = await realm.begin(spa, params)
  const page = await begun.browser.submit(begun.page, { username, method: 'email_otp' })
  return { ...begun, page, code: codeIn(await mailTo(app, username, sent)) }
}

const wrongOf = (code: string): string => (code === '000000' ? '000001' : '000000')

describe('a code by mail', () => {
  test('signs in; the tokens say how: amr otp, acr of the method when asked for', async () => {
    const username = await someone()
    const { browser, page, code, verifier } = await askForCode(username, { acr_values: 'urn:svc:method:email_otp' })
    expect(headingOf(page)).toBe('Check your mail')
    const back = redirectOf(await browser.submit(page, { code: ` ${code.slice(0, 3)}-${code.slice(3)}` }))
    const { body } = await realm.exchange(spa, { code: back['code']!, code_verifier: verifier, redirect_uri: CALLBACK })
    expect(claimsOf(body.id_token)).toMatchObject({ amr: ['otp'], acr: 'urn:svc:method:email_otp' })
    const user = await app.gatehouse.tools.prisma.user.findFirstOrThrow({ where: { usernameKey: username } })
    expect(user.emailVerified).toBe(true)
  })

  test('its mail speaks the language of the page and names the issuer', async () => {
    const username = await someone()
    await askForCode(username, { ui_locales: 'de' })
    const { subject, html } = await mailTo(app, username)
    expect(subject).toMatch(/^\d{6} ist der Anmeldecode für Acme issuer$/)
    expect(html).toContain('<html lang="de">')
  })

  test('an unknown address sees the same page, and no mail goes out', async () => {
    const known = await askForCode(await someone())
    const { browser, page } = await realm.begin(spa)
    const stranger = await browser.submit(page, { username: 'nobody@example.com', method: 'email_otp' })
    const plain = (html: string) => html.replace(/\S+@example.com|value="[^"]*"|interaction\/[\w-]+/g, '')
    expect(plain(stranger.html)).toBe(plain(known.page.html))
    const refused = await browser.submit(stranger, { code: '123456' })
    expect([problemOf(refused), faultyOn(refused)]).toEqual([expect.stringMatching(/not the code/), ['code']])
    await outboxEmpty(app)
    expect(await mailsTo(app, 'nobody@example.com')).toEqual([])
  })

  test('is good once, in the one browser that asked, until a newer one replaces it', async () => {
    const username = await someone()
    const first = await askForCode(username)
    const other = await realm.begin(spa)
    const elsewhere = await other.browser.submit(other.page, { username, method: 'email_otp' })
    await mailTo(app, username, 2)
    expect(problemOf(await other.browser.submit(elsewhere, { code: first.code }))).toMatch(/not the code/)
    const again = await first.browser.submit(first.page, { method: 'again' })
    const newer = codeIn(await mailTo(app, username, 3))
    expect(problemOf(await first.browser.submit(again, { code: first.code }))).toMatch(/not the code/)
    const latest = await first.browser.open(again.url)
    expect(redirectOf(await first.browser.submit(latest, { code: newer }))['code']).toBeDefined()
  })

  test('of 20 right answers at once one counts, and all of them arrive at the same sign-in', async () => {
    const { browser, page, code } = await askForCode(await someone())
    const before = await app.gatehouse.tools.prisma.event.count({ where: { type: 'user.login.succeeded' } })
    const answers = await Promise.all(Array.from({ length: 20 }, () => browser.copy().submit(page, { code })))
    expect(new Set(answers.map(({ url }) => new URL(url).searchParams.get('code'))).size).toBeLessThanOrEqual(20)
    const after = await app.gatehouse.tools.prisma.event.count({ where: { type: 'user.login.succeeded' } })
    expect(after - before).toBe(1)
  })

  test('after five wrong tries only a new one helps; after ten minutes too', async () => {
    const username = await someone()
    const { browser, page, code } = await askForCode(username)
    let at = page
    for (let i = 0; i < 4; i++) at = await browser.submit(at, { code: wrongOf(code) })
    expect(problemOf(at)).toMatch(/not the code/)
    at = await browser.submit(at, { code: wrongOf(code) })
    expect(problemOf(at)).toMatch(/cannot be used any more/)
    expect(problemOf(await browser.submit(at, { code }))).toMatch(/cannot be used any more/)

    const late = await askForCode(await someone())
    app.clock.advance(11 * 60_000)
    expect(problemOf(await late.browser.submit(late.page, { code: late.code }))).toMatch(/cannot be used any more/)
  })

  test('wrong codes lock codes of that user, not the password (security rule 21)', async () => {
    const username = await someone()
    const { browser, page, code } = await askForCode(username)
    let at = page
    for (let i = 0; i < 5; i++) at = await browser.submit(at, { code: wrongOf(code) })
    const fresh = await askForCode(username, {}, 2)
    expect(problemOf(await fresh.browser.submit(fresh.page, { code: fresh.code }))).toMatch(/not the code/)
    expect((await realm.signIn(spa, username)).redirect['code']).toBeDefined()
    app.clock.advance(61_000)
    const later = await fresh.browser.open(fresh.page.url)
    expect(redirectOf(await fresh.browser.submit(later, { code: fresh.code }))['code']).toBeDefined()
  })

  test('a user who may not sign in learns so only with the right code', async () => {
    const username = await someone()
    const { id } = await app.gatehouse.tools.prisma.user.findFirstOrThrow({ where: { usernameKey: username } })
    must(await realm.tenant.owner.patch(`${realm.tenant.I}/users/${id}`, { status: 'suspended' }), 200)
    const { browser, page, code } = await askForCode(username)
    expect(headingOf(page)).toBe('Check your mail')
    expect(problemOf(await browser.submit(page, { code }))).toMatch(/cannot sign in/)
    const where = { userId: id, type: 'user.login.failed' }
    expect((await app.gatehouse.tools.prisma.event.findMany({ where })).map(({ data }) => data)).toEqual([
      { method: 'email_otp', reason: 'suspended' },
    ])
  })

  test('neither code nor link is kept in the clear', async () => {
    const { code } = await askForCode(await someone())
    const { prisma } = app.gatehouse.tools
    const kept = JSON.stringify([await prisma.loginState.findMany(), await prisma.job.findMany()], (_, v) =>
      typeof v === 'bigint' ? Number(v) : v,
    )
    expect(kept).not.toContain(`"${code}"`)
  })
})

describe('a link by mail', () => {
  async function askForLink(username: string) {
    const begun = await realm.begin(spa)
    const page = await begun.browser.submit(begun.page, { username, method: 'email_link' })
    return { ...begun, page, link: linkIn(await mailTo(app, username)) }
  }

  test('opening it asks, going on signs in: programs that look at mail change nothing', async () => {
    const { browser, link, page } = await askForLink(await someone())
    expect(page.html).not.toContain('name="link"')
    const opened = await browser.open(link)
    expect(headingOf(opened)).toBe('Sign in')
    // WCAG 2.4.2: the title says what the page is for now.
    expect([page, opened].map(({ html }) => /<title>(.*?) ·/.exec(html)?.[1])).toEqual(['Check your mail', 'Sign in'])
    await browser.open(link)
    expect(redirectOf(await browser.submit(opened, { method: 'link' }))['code']).toBeDefined()
  })

  test('works in the browser that began and in no other one', async () => {
    const { link } = await askForLink(await someone())
    const elsewhere = await new TestBrowser().open(link)
    expect(elsewhere.status).toBe(400)
    expect(elsewhere.html).toContain('belongs to another browser')
  })

  test('another link than the one sent is refused', async () => {
    const { browser, link } = await askForLink(await someone())
    const opened = await browser.open(link)
    expect(problemOf(await browser.submit(opened, { link: 'x'.repeat(43), method: 'link' }))).toMatch(/not the code/)
  })
})

describe('a forgotten password', () => {
  test('a code, a new password, and one is in; other sessions end, and a mail tells', async () => {
    const username = await someone()
    const before = await realm.tokens(spa, username)
    const { browser, page } = await realm.begin(spa)
    const asked = await browser.submit(page, { username, method: 'reset' })
    expect(headingOf(asked)).toBe('Choose a new password')
    const sent = await browser.submit(asked, { username, method: 'send' })
    const chosen = await browser.submit(sent, { code: codeIn(await mailTo(app, username)) })
    expect(headingOf(chosen)).toBe('Choose a new password')
    expect(problemOf(await browser.submit(chosen, { new_password: 'short' }))).toMatch(/at least 8/)
    const again = await browser.open(chosen.url)
    const back = redirectOf(await browser.submit(again, { new_password: 'a quite new password' }))
    expect(back['code']).toBeDefined()
    expect((await realm.userinfo(before.access_token)).status).toBe(401)
    expect((await mailTo(app, username, 2)).subject).toBe('Your password for Acme issuer was changed')
    const attempt = await realm.begin(spa)
    expect(problemOf(await attempt.browser.submit(attempt.page, { username, password: PASSWORD }))).toMatch(
      /do not match/,
    )
  })

  test('an unknown user sees the same, and no code ever fits', async () => {
    const { browser, page } = await realm.begin(spa)
    const asked = await browser.submit(page, { username: 'nobody@example.com', method: 'reset' })
    const sent = await browser.submit(asked, { username: 'nobody@example.com', method: 'send' })
    expect(headingOf(sent)).toBe('Check your mail')
    expect(problemOf(await browser.submit(sent, { code: '123456' }))).toMatch(/not the code/)
  })

  test('the new password cannot be chosen without the code', async () => {
    const username = await someone()
    const { browser, page } = await realm.begin(spa)
    const asked = await browser.submit(page, { username, method: 'reset' })
    const sent = await browser.submit(asked, { username, method: 'send' })
    const skipped = await browser.submit(sent, { new_password: 'a quite new password', username })
    expect(headingOf(skipped)).toBe('Check your mail')
    const attempt = await realm.begin(spa)
    expect(
      redirectOf(await attempt.browser.submit(attempt.page, { username, password: PASSWORD }))['code'],
    ).toBeDefined()
  })
})

describe('D31: each removal of a credential is mailed to the user and is an event with its reason', () => {
  const bodies: Record<string, () => object> = {
    passkey: () => ({ type: 'passkey', credential_id: newCredentialId(), public_key: coseKey() }),
    backup_codes: () => ({ type: 'backup_codes' }),
    temporary_password: () => ({
      type: 'temporary_password',
      name: 'T',
      password: 'for a short while',
      expires_at: app.clock.now() + 60_000,
    }),
  }
  const removals = async (userId: string) =>
    (await app.gatehouse.tools.prisma.event.findMany({ where: { userId, type: 'user.verifier.deleted' } })).map(
      ({ data }) => data,
    )
  const given = async (userId: string, type: string) =>
    must(await realm.tenant.owner.post(`${realm.tenant.I}/users/${userId}/verifiers`, bodies[type]!()), 201).data
  const idOf = async (username: string) =>
    (await app.gatehouse.tools.prisma.user.findFirstOrThrow({ where: { usernameKey: username } })).id

  test.each([
    ['passkey', 'passkey'],
    ['backup_codes', 'backup codes'],
    ['temporary_password', 'temporary password'],
  ])('DELETE of a %s', async (type, words) => {
    const username = await someone()
    const id = await idOf(username)
    const verifier = await given(id, type)
    must(await realm.tenant.owner.delete(`${realm.tenant.I}/users/${id}/verifiers/${verifier.id}`), 204)
    const { subject, text } = await mailTo(app, username)
    expect(subject).toBe('A credential of your account at Acme issuer was removed')
    expect(text).toContain(`no longer works: ${words}.`)
    expect(await removals(id)).toEqual([{ type, reason: 'deleted' }])
  })

  test('a new set of backup codes; the first set is no removal', async () => {
    const username = await someone()
    const id = await idOf(username)
    await given(id, 'backup_codes')
    await outboxEmpty(app)
    expect(await mailsTo(app, username)).toEqual([])
    await given(id, 'backup_codes')
    expect((await mailTo(app, username)).subject).toBe('Your backup codes for Acme issuer were replaced')
    expect(await removals(id)).toEqual([{ type: 'backup_codes', reason: 'replaced' }])
  })

  test('in the language of the issuer; a user without an address gets none', async () => {
    const { owner, I } = realm.tenant
    must(await owner.patch(I, { settings: { branding: { language: 'de' } } }), 200)
    try {
      const username = await someone()
      const id = await idOf(username)
      const { id: verifier } = await given(id, 'passkey')
      must(await owner.delete(`${I}/users/${id}/verifiers/${verifier}`), 204)
      const { subject } = await mailTo(app, username)
      expect(subject).toBe('Aus dem Konto bei Acme issuer wurde eine Anmeldemöglichkeit entfernt')
    } finally {
      must(await owner.patch(I, { settings: { branding: { language: null } } }), 200)
    }
    const body = { username_type: 'unique', username: `nameless${++count}` }
    const { id } = must(await owner.post(`${I}/users`, body), 201).data
    const { id: verifier } = await given(id, 'passkey')
    must(await owner.delete(`${I}/users/${id}/verifiers/${verifier}`), 204)
    expect(await removals(id)).toEqual([{ type: 'passkey', reason: 'deleted' }])
    await outboxEmpty(app)
    expect(await mailsTo(app, '')).toEqual([])
  })
})

describe('limits', () => {
  test('five mails an hour to one address, known or not (decisions D19)', async () => {
    const limited = await startApp({ roles: ['core', 'idp', 'worker'], env: { RATE_LIMITS: 'default' } })
    try {
      const other = await Realm.make(limited)
      const { owner, I } = other.tenant
      must(await owner.post(`${I}/auth-methods`, { name: 'Code', method: 'email_otp' }), 201)
      await other.user('ada@example.com')
      const client = await other.client()
      for (const username of ['ada@example.com', 'nobody@example.com']) {
        const headings = []
        for (let i = 0; i < 6; i++) {
          const { browser, page } = await other.begin(client)
          const answered = await browser.submit(page, { username, method: 'email_otp' })
          headings.push(problemOf(answered) ?? headingOf(answered))
          limited.clock.advance(60_000)
        }
        expect(headings.slice(0, 5)).toEqual(Array(5).fill('Check your mail'))
        expect(headings[5]).toMatch(/Too many mails/)
      }
      expect(await mailsTo(limited, 'ada@example.com')).toHaveLength(5)
    } finally {
      await limited.close()
    }
  })

  test('nobody keeps out whoever has the right password and must prove the address (security rule 21)', async () => {
    const limited = await startApp({ roles: ['core', 'idp', 'worker'], env: { RATE_LIMITS: 'default' } })
    try {
      const other = await Realm.make(limited)
      const { owner, I } = other.tenant
      const username = 'ada@example.com'
      await other.user(username)
      must(await owner.patch(I, { settings: { signup: { require_email_verification: true } } }), 200)
      const client = await other.client()
      // Somebody who knows nothing but the name has all the mails of the hour sent, and guesses at their codes.
      const ask = async () => {
        limited.clock.advance(60_000)
        const { browser, page } = await other.begin(client)
        const asked = await browser.submit(page, { username, method: 'reset' })
        return { browser, page: await browser.submit(asked, { username, method: 'send' }) }
      }
      for (let i = 0; i < 4; i++) expect(headingOf((await ask()).page)).toBe('Check your mail')
      const { browser: theirs, page: guessed } = await ask()
      expect(problemOf((await ask()).page)).toMatch(/Too many mails/)
      let at = guessed
      for (let i = 0; i < 5; i++) at = await theirs.submit(at, { code: 'no code' })
      expect(problemOf(at)).toMatch(/cannot be used any more/)
      const before = (await mailsTo(limited, username)).length
      const { browser, page: form } = await other.begin(client)
      const page = await browser.submit(form, { username, password: PASSWORD })
      expect([headingOf(page), problemOf(page)]).toEqual(['Check your mail', undefined])
      const code = codeIn(await mailTo(limited, username, before + 1))
      expect(redirectOf(await browser.submit(page, { code }))['code']).toBeDefined()
    } finally {
      await limited.close()
    }
  })

  test('of mails are counted while no transaction waits for it, once, and the mail goes out once', async () => {
    const { owner, I } = realm.tenant
    must(await owner.patch(I, { settings: { signup: { require_email_verification: true } } }), 200)
    const username = await someone()
    const { tools } = app.gatehouse
    const gatehouse = app.gatehouse as { rateLimiter: RateLimiter }
    const { rateLimiter } = gatehouse
    const free: number[] = []
    gatehouse.rateLimiter = {
      ...rateLimiter,
      async spend(limit, key) {
        // The step has locked the user's row, if it is in a transaction.
        const text = 'SELECT id FROM users WHERE username_key = $1 FOR UPDATE SKIP LOCKED'
        if (limit === 'mail') free.push((await tools.query('is-the-user-free', text, [username])).length)
        return rateLimiter.spend(limit, key)
      },
    }
    try {
      const { browser, page } = await realm.begin(spa)
      const asked = await browser.submit(page, { username, password: PASSWORD })
      expect(headingOf(asked)).toBe('Check your mail')
      expect(free).toEqual([1])
      const code = codeIn(await mailTo(app, username))
      expect(redirectOf(await browser.submit(asked, { code }))['code']).toBeDefined()
      await outboxEmpty(app)
      expect(await mailsTo(app, username)).toHaveLength(1)
    } finally {
      gatehouse.rateLimiter = rateLimiter
      must(await owner.patch(I, { settings: { signup: { require_email_verification: false } } }), 200)
    }
  })
})
