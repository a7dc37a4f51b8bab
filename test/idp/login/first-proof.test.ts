/** Whose is an account that nobody's mail has confirmed (security rules 21, 22)? Squatters with second factors. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import { Passkey } from '../../setup/authenticator.js'
import { addMethods, optionsOn } from '../../setup/factors.js'
import { codeIn, mailTo } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { totpCode } from '../../setup/totp.js'
import { headingOf, type Page, problemOf } from '../browser.js'
import { CALLBACK, claimsOf, PASSWORD, Realm, redirectOf, type TestClient } from '../setup.js'

let app: TestApp
let realm: Realm
let spa: TestClient

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
  realm = await Realm.make(app, 'Open')
  const { owner, I } = realm.tenant
  const { data } = must(await owner.get(`${I}/auth-methods`), 200)
  must(await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: true }), 200)
  await addMethods(realm, 'email_otp', 'totp', 'passkey', 'backup_codes')
  spa = await realm.client({ application_type: 'spa', grant_types: ['authorization_code', 'refresh_token'] })
})
afterAll(() => app.close())

const NEW = 'another long password'
let count = 0
const address = (): string => `person-${++count}@example.com`

/** While this runs, everybody needs two factors. */
async function demanding<T>(work: () => Promise<T>): Promise<T> {
  const { owner, I } = realm.tenant
  must(await owner.patch(I, { settings: { security: { mfa_required: true } } }), 200)
  try {
    return await work()
  } finally {
    must(await owner.patch(I, { settings: { security: { mfa_required: false } } }), 200)
  }
}

/** Signs up with a password, and stands where a second factor is set up. */
async function signUp(username: string) {
  const begun = await realm.begin(spa)
  const page = await begun.browser.submit(begun.page, { method: 'sign_up' })
  const setUp = await begun.browser.submit(page, { username, new_password: PASSWORD, method: 'make' })
  expect(headingOf(setUp)).toBe('Set up an authenticator app')
  return { ...begun, page: setUp }
}

const secretOn = (page: Page): string => /<p class="secret"[^>]*>([^<]+)/.exec(page.html)![1]!.replaceAll(' ', '')
const verifiersOf = async (username: string) =>
  app.gatehouse.tools.prisma.verifier.findMany({
    where: { issuerId: realm.tenant.issuerId, user: { usernameKey: username } },
    orderBy: { id: 'asc' },
  })

/** Gives the account a second factor of this kind, and the tokens of the sign-in that made it. */
async function squat(username: string, kind: 'totp' | 'passkey') {
  return demanding(async () => {
    const { browser, page, verifier } = await signUp(username)
    let done: Page
    if (kind === 'totp') {
      done = await browser.submit(page, { code: totpCode(secretOn(page), app.clock.now()), method: 'code' })
    } else {
      const asked = await browser.submit(page, { method: 'enroll_passkey' })
      const { userId } = (await verifiersOf(username))[0]!
      const passkey = new Passkey(userId, new URL(app.idpUrl).origin)
      done = await browser.submit(asked, { credential: passkey.register(optionsOn(asked)), method: 'passkey' })
    }
    expect(headingOf(done)).toBe('Keep these backup codes')
    const code = redirectOf(await browser.submit(done, { method: 'kept' }))['code']!
    const { body } = await realm.exchange(spa, { code, code_verifier: verifier, redirect_uri: CALLBACK })
    return { browser, tokens: body }
  })
}

async function byMail(username: string, sent = 1, method = 'email_otp') {
  const begun = await realm.begin(spa)
  let page = await begun.browser.submit(begun.page, { username, method })
  if (method === 'reset') page = await begun.browser.submit(page, { username, method: 'send' })
  const code = codeIn(await mailTo(app, username, sent))
  return { ...begun, page: await begun.browser.submit(page, { code }) }
}

async function byPassword(username: string, password: string): Promise<Page> {
  const { browser, page } = await realm.begin(spa)
  return browser.submit(page, { username, password })
}

describe('an account that somebody made with an address that is not theirs, and a second factor of their own', () => {
  test.each([
    ['totp', 'email_otp'],
    ['totp', 'reset'],
    ['passkey', 'email_otp'],
  ] as const)('is theirs no more once the owner of the address comes (%s, %s)', async (kind, method) => {
    const username = address()
    const { browser: thief, tokens } = await squat(username, kind)
    expect((await verifiersOf(username)).map(({ type }) => type)).toEqual(['password', kind, 'backup_codes'])
    expect((await realm.userinfo(tokens.access_token)).status).toBe(200)

    const { browser, page } = await byMail(username, 1, method)
    expect(headingOf(page)).toBe('Choose a new password')
    // From this moment on, whether or not the owner goes on.
    expect(await verifiersOf(username)).toEqual([])
    expect((await realm.userinfo(tokens.access_token)).status).toBe(401)
    expect((await realm.refresh(spa, tokens.refresh_token)).body.error).toBe('invalid_grant')
    expect(problemOf(await byPassword(username, PASSWORD))).toMatch(/do not match/)
    expect(headingOf((await realm.begin(spa, {}, thief)).page)).toBe('Sign in')
    expect(redirectOf(await browser.submit(page, { new_password: NEW }))['code']).toBeDefined()
  })

  test('nor does a second factor become theirs that they were just setting up', async () => {
    const username = address()
    await demanding(async () => {
      const { browser: thief, page: setUp } = await signUp(username)
      app.clock.advance(1000)
      const { page } = await byMail(username)
      expect(headingOf(page)).toBe('Choose a new password')
      const code = totpCode(secretOn(setUp), app.clock.now())
      const late = await thief.submit(setUp, { code, method: 'code' })
      expect({ heading: headingOf(late), problem: problemOf(late) }).toEqual({
        heading: 'Sign in',
        problem: expect.stringMatching(/out of date/),
      })
      expect(await verifiersOf(username)).toEqual([])
    })
  })

  test('nor does a sign-in count that they finished and have not brought back yet', async () => {
    const username = address()
    const begun = await realm.begin(spa)
    const form = await begun.browser.submit(begun.page, { method: 'sign_up' })
    const csrf = /name="csrf" value="([^"]+)"/.exec(form.html)![1]!
    const body = new URLSearchParams({ csrf, username, new_password: PASSWORD, method: 'make' })
    const done = await begun.browser.request(form.url, { method: 'POST', body })
    expect(done.status).toBe(303)
    app.clock.advance(2000)
    expect(headingOf((await byMail(username)).page)).toBe('Choose a new password')
    expect(headingOf(await begun.browser.open(done.headers.get('location')!))).toBe('Sign in')
  })
})

describe('what is nobody else’s business stays', () => {
  test('a second factor of an owner who has proved the address before is asked for after mail', async () => {
    const username = address()
    const { browser, page } = await byMailAfterSignUp(username)
    expect(redirectOf(await browser.submit(page, { new_password: NEW }))['code']).toBeDefined()
    const secret = await demanding(async () => {
      const { browser: own, page: start } = await realm.begin(spa)
      const setUp = await own.submit(start, { username, password: NEW })
      const key = secretOn(setUp)
      await own.submit(setUp, { code: totpCode(key, app.clock.now()), method: 'code' })
      return key
    })
    app.clock.advance(30_000)
    const later = await byMail(username, 3)
    expect(headingOf(later.page)).toBe('One more step')
    const code = totpCode(secret, app.clock.now())
    expect(redirectOf(await later.browser.submit(later.page, { code, method: 'code' }))['code']).toBeDefined()
  })

  async function byMailAfterSignUp(username: string) {
    const begun = await realm.begin(spa)
    const form = await begun.browser.submit(begun.page, { method: 'sign_up' })
    redirectOf(await begun.browser.submit(form, { username, new_password: PASSWORD, method: 'make' }))
    return byMail(username)
  }

  test('a second factor that an administrator gave is asked for; both together confirm the address, once', async () => {
    const { owner, I } = realm.tenant
    const username = address()
    const id = await realm.user(username)
    const path = `${I}/users/${id}/verifiers`
    const { data } = must(await owner.post(path, { type: 'totp_enrollment', name: null, issuer_name: 'Acme' }), 201)
    const first = totpCode(data.secret, app.clock.now())
    must(await owner.post(`${path}/complete-enrollment`, { enrollment_id: data.enrollment_id, code: first }), 200)
    app.clock.advance(30_000)
    must(await owner.patch(I, { settings: { signup: { require_email_verification: true } } }), 200)
    try {
      const { browser, page, verifier } = await byMail(username)
      expect(headingOf(page)).toBe('One more step')
      const confirmed = async () => must(await owner.get(`${I}/users/${id}`), 200).data.email_verified
      expect(await confirmed()).toBe(false)
      const back = redirectOf(
        await browser.submit(page, { code: totpCode(data.secret, app.clock.now()), method: 'code' }),
      )
      const params = { code: back['code']!, code_verifier: verifier, redirect_uri: CALLBACK }
      expect(claimsOf((await realm.exchange(spa, params)).body.id_token)).toMatchObject({ sub: id })
      expect(await confirmed()).toBe(true)
      const where = { userId: id, type: 'user.updated' }
      expect(await app.gatehouse.tools.prisma.event.findMany({ where })).toMatchObject([
        { actor: { type: 'user', id }, changes: { email_verified: { old: false, new: true } } },
      ])
      expect((await verifiersOf(username)).map(({ type }) => type)).toEqual(['password', 'totp'])
    } finally {
      must(await owner.patch(I, { settings: { signup: { require_email_verification: false } } }), 200)
    }
  })
})
