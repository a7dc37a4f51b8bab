/**
 * First proof of a mailbox (docs/contract.md#proof-of-a-mailbox, docs/contract.md#mailbox-proof-and-second-factors):
 * accounts that were created with the address of another person, and accounts that keep their second factors.
 */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { packageRoot } from '../../../src/platform/package-info.js'
import { migrate } from '../../../src/platform/postgres/migrate.js'
import { expectStatus } from '../../setup/actors.js'
import { Passkey } from '../../setup/authenticator.js'
import { createTestDatabase } from '../../setup/database.js'
import { addMethods, createTestUser, enrollTotp, methodButtonsOn, passkeyOptionsOn } from '../../setup/factors.js'
import { codeInMail, linkInMail, mailsSentTo, waitForEmptyOutbox, waitForMail } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { totpCode } from '../../setup/totp.js'
import { errorMessageOf, headingOf, type Page, TestBrowser } from '../browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from '../realm.js'

let app: TestApp
let realm: Realm
let spa: TestClient

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
  realm = await Realm.create(app, 'Open')
  const { owner, I } = realm.tenant
  const { data } = expectStatus(await owner.get(`${I}/auth-methods`), 200)
  expectStatus(await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: true }), 200)
  await addMethods(realm, 'email_otp', 'email_link', 'totp', 'passkey', 'backup_codes')
  spa = await realm.createClient({ application_type: 'spa', grant_types: ['authorization_code', 'refresh_token'] })
})
afterAll(() => app.close())

const NEW = 'another long password'
let count = 0
const address = (): string => `resident-${++count}@example.com`

/** Requires two factors of all users while the function runs. */
async function withMfaRequired<T>(work: () => Promise<T>): Promise<T> {
  const { owner, I } = realm.tenant
  expectStatus(await owner.patch(I, { settings: { security: { mfa_required: true } } }), 200)
  try {
    return await work()
  } finally {
    expectStatus(await owner.patch(I, { settings: { security: { mfa_required: false } } }), 200)
  }
}

/** Signs up with a password and returns the next page, which sets up a second factor. */
async function signUp(username: string) {
  const begun = await realm.openSignInPage(spa)
  const page = await begun.browser.submit(begun.page, { method: 'sign_up' })
  const setUp = await begun.browser.submit(page, { username, new_password: PASSWORD, method: 'make' })
  expect(headingOf(setUp)).toBe('Set up an authenticator app')
  return { ...begun, page: setUp }
}

const secretOn = (page: Page): string => /<p class="secret"[^>]*>([^<]+)/.exec(page.html)![1]!.replaceAll(' ', '')
const verifiersOf = async (username: string) =>
  app.gatehouse.database.prisma.verifier.findMany({
    where: { issuerId: realm.tenant.issuerId, user: { usernameKey: username } },
    orderBy: { id: 'asc' },
  })

/**
 * Signs up without verifying the address, and enrolls a second factor and backup codes. Returns the browser, the tokens
 * and, for `totp`, the secret.
 */
async function enrollBeforeConfirmation(username: string, kind: 'totp' | 'passkey') {
  return withMfaRequired(async () => {
    const { browser, page, verifier } = await signUp(username)
    let done: Page
    const secret = kind === 'totp' ? secretOn(page) : undefined
    if (kind === 'totp') {
      done = await browser.submit(page, { code: totpCode(secretOn(page), app.clock.now()), method: 'code' })
    } else {
      const nextPage = await browser.submit(page, { method: 'enroll_passkey' })
      const { userId } = (await verifiersOf(username))[0]!
      const passkey = new Passkey(userId, new URL(app.idpUrl).origin)
      done = await browser.submit(nextPage, {
        credential: passkey.register(passkeyOptionsOn(nextPage)),
        method: 'passkey',
      })
    }
    expect(headingOf(done)).toBe('Save your backup codes')
    const code = redirectParametersOf(await browser.submit(done, { method: 'kept' }))['code']!
    const { body } = await realm.exchangeCode(spa, { code, code_verifier: verifier, redirect_uri: REDIRECT_URI })
    return { browser, tokens: body, secret }
  })
}

async function signInByMail(username: string, method = 'email_otp') {
  // Emails about earlier credential changes may still be in the outbox. They must arrive before the emails are counted.
  await waitForEmptyOutbox(app)
  const before = (await mailsSentTo(app, username)).length
  const begun = await realm.openSignInPage(spa)
  let page = await begun.browser.submit(begun.page, { username, method })
  if (method === 'reset') page = await begun.browser.submit(page, { username, method: 'send' })
  const mail = await waitForMail(app, username, before + 1)
  if (method === 'email_link') page = await begun.browser.open(linkInMail(mail))
  const fields = method === 'email_link' ? { method: 'link' } : { code: codeInMail(mail) }
  return { ...begun, page: await begun.browser.submit(page, fields) }
}

async function signInByPassword(username: string, password: string): Promise<Page> {
  const { browser, page } = await realm.openSignInPage(spa)
  return browser.submit(page, { username, password })
}

/** Submits a new password. Returns the redirect to the application, or the page for the second factor. */
const choose = ({ browser, page }: { browser: TestBrowser; page: Page }, password = NEW): Promise<Page> =>
  browser.submit(page, { new_password: password })

const typesOf = async (username: string) => (await verifiersOf(username)).map(({ type }) => type)
const userOf = (username: string) =>
  app.gatehouse.database.prisma.user.findFirstOrThrow({
    where: { issuerId: realm.tenant.issuerId, usernameKey: username },
  })
const removalsOf = async (username: string) => {
  const where = { userId: (await userOf(username)).id, type: 'user.verifier.deleted' }
  return (await app.gatehouse.database.prisma.event.findMany({ where, orderBy: { id: 'asc' } })).map(({ data }) => data)
}
const subjectsTo = async (username: string) => (await mailsSentTo(app, username)).map(({ subject }) => subject)

/** Disables sign-in by password while the function runs. */
async function withoutPasswords<T>(work: () => Promise<T>): Promise<T> {
  const { owner, I } = realm.tenant
  const { data } = expectStatus(await owner.get(`${I}/auth-methods`), 200)
  const { id } = data.find(({ method }: { method: string }) => method === 'password')
  expectStatus(await owner.patch(`${I}/auth-methods/${id}`, { enabled_login: false }), 200)
  try {
    return await work()
  } finally {
    expectStatus(await owner.patch(`${I}/auth-methods/${id}`, { enabled_login: true }), 200)
  }
}

describe('an account from sign-up whose address was never verified, with credentials of its creator', () => {
  test.each([
    ['totp', 'email_otp'],
    ['totp', 'reset'],
    ['passkey', 'email_otp'],
    ['passkey', 'reset'],
  ] as const)(
    'the credentials are removed when the new password is saved, not before (%s, %s)',
    async (kind, method) => {
      const username = address()
      const { browser: thief, tokens } = await enrollBeforeConfirmation(username, kind)
      const before = ['password', kind, 'backup_codes']
      expect(await typesOf(username)).toEqual(before)

      const proved = await signInByMail(username, method)
      expect(headingOf(proved.page)).toBe('Choose a new password')
      expect([await typesOf(username), (await userOf(username)).emailVerified]).toEqual([before, false])
      expect((await realm.userinfo(tokens.access_token)).status).toBe(200)
      expect(errorMessageOf(await choose(proved, 'short'))).toMatch(/at least 8/)
      expect(await typesOf(username)).toEqual(before)

      const again = { ...proved, page: await proved.browser.open(proved.page.url) }
      expect(redirectParametersOf(await choose(again))['code']).toBeDefined()
      expect([await typesOf(username), (await userOf(username)).emailVerified]).toEqual([['password'], true])
      expect((await realm.userinfo(tokens.access_token)).status).toBe(401)
      expect((await realm.refresh(spa, tokens.refresh_token)).body.error).toBe('invalid_grant')
      expect(errorMessageOf(await signInByPassword(username, PASSWORD))).toMatch(/do not match/)
      expect(redirectParametersOf(await signInByPassword(username, NEW))['code']).toBeDefined()
      expect(headingOf((await realm.openSignInPage(spa, {}, thief)).page)).toBe('Sign in')

      // Each removal is an event, and one email names all removed credentials.
      expect(await removalsOf(username)).toEqual(
        [kind, 'backup_codes'].map((type) => ({ type, reason: 'mailbox_proved' })),
      )
      await waitForMail(app, username, 3)
      expect(await subjectsTo(username)).toContain('Earlier credentials of your account at Open issuer were removed')
      const { text } = (await mailsSentTo(app, username)).find(({ subject }) => subject.startsWith('Earlier'))!
      expect(text).toContain(kind === 'totp' ? 'authenticator app, backup codes' : 'passkey, backup codes')
    },
  )

  test('an owner who stops before saving the new password changes nothing, and can start again', async () => {
    const username = address()
    await enrollBeforeConfirmation(username, 'totp')
    await signInByMail(username, 'reset')
    expect(await typesOf(username)).toEqual(['password', 'totp', 'backup_codes'])
    expect(headingOf(await signInByPassword(username, PASSWORD))).toBe('One more step')
    expect(redirectParametersOf(await choose(await signInByMail(username, 'reset')))['code']).toBeDefined()
    expect(await typesOf(username)).toEqual(['password'])
  })

  test('without a new password they are removed as soon as the mailbox alone signs in', async () => {
    const username = address()
    const { tokens } = await enrollBeforeConfirmation(username, 'passkey')
    await withoutPasswords(async () => {
      const { page } = await signInByMail(username)
      expect(redirectParametersOf(page)['code']).toBeDefined()
    })
    expect(await typesOf(username)).toEqual([])
    expect((await realm.userinfo(tokens.access_token)).status).toBe(401)
    expect(errorMessageOf(await signInByPassword(username, PASSWORD))).toMatch(/do not match/)
    expect((await removalsOf(username)).map((data) => (data as { type: string }).type)).toEqual([
      'password',
      'passkey',
      'backup_codes',
    ])
  })

  test('if two factors are required, the owner of the mailbox sets up a new second factor afterwards', async () => {
    const username = address()
    await enrollBeforeConfirmation(username, 'totp')
    const [before] = (await verifiersOf(username)).filter(({ type }) => type === 'totp')
    await withMfaRequired(async () => {
      const proved = await signInByMail(username)
      expect(headingOf(proved.page)).toBe('Choose a new password')
      const setUp = await choose(proved)
      expect(headingOf(setUp)).toBe('Set up an authenticator app')
      const code = totpCode(secretOn(setUp), app.clock.now())
      const codes = await proved.browser.submit(setUp, { code, method: 'code' })
      expect(headingOf(codes)).toBe('Save your backup codes')
      expect(redirectParametersOf(await proved.browser.submit(codes, { method: 'kept' }))['code']).toBeDefined()
    })
    const after = await verifiersOf(username)
    expect(after.map(({ type }) => type)).toEqual(['password', 'totp', 'backup_codes'])
    expect(after.map(({ id }) => id)).not.toContain(before!.id)
  })

  test('a second factor whose enrollment the creator has not completed cannot be completed afterwards', async () => {
    const username = address()
    await withMfaRequired(async () => {
      const { browser: thief, page: setUp } = await signUp(username)
      app.clock.advance(1000)
      await choose(await signInByMail(username))
      const code = totpCode(secretOn(setUp), app.clock.now())
      const late = await thief.submit(setUp, { code, method: 'code' })
      expect({ heading: headingOf(late), problem: errorMessageOf(late) }).toEqual({
        heading: 'Sign in',
        problem: expect.stringMatching(/out of date/),
      })
      expect(await typesOf(username)).toEqual(['password'])
    })
  })

  test('a sign-in of the creator that was finished but not completed is rejected', async () => {
    const username = address()
    const begun = await realm.openSignInPage(spa)
    const form = await begun.browser.submit(begun.page, { method: 'sign_up' })
    const csrf = /name="csrf" value="([^"]+)"/.exec(form.html)![1]!
    const body = new URLSearchParams({ csrf, username, new_password: PASSWORD, method: 'make' })
    const done = await begun.browser.request(form.url, { method: 'POST', body })
    expect(done.status).toBe(303)
    app.clock.advance(2000)
    expect(redirectParametersOf(await choose(await signInByMail(username)))['code']).toBeDefined()
    expect(headingOf(await begun.browser.open(done.headers.get('location')!))).toBe('Sign in')
  })

  test('a sign-in of the creator that waits for the second factor restarts', async () => {
    const username = address()
    const { secret } = await enrollBeforeConfirmation(username, 'totp')
    app.clock.advance(30_000)
    const { browser: thief, page } = await realm.openSignInPage(spa)
    const step = await thief.submit(page, { username, password: PASSWORD })
    expect(headingOf(step)).toBe('One more step')
    app.clock.advance(1000)
    await choose(await signInByMail(username))
    const late = await thief.submit(step, { code: totpCode(secret!, app.clock.now()), method: 'code' })
    expect([headingOf(late), errorMessageOf(late)]).toEqual(['Sign in', expect.stringMatching(/out of date/)])
  })

  test('if two browsers of the owner are at the last step, only the first one succeeds, and 20 submissions of one browser count once', async () => {
    const username = address()
    await enrollBeforeConfirmation(username, 'passkey')
    const one = await signInByMail(username)
    const two = await signInByMail(username)
    app.clock.advance(10)
    await Promise.all(Array.from({ length: 20 }, () => choose({ ...one, browser: one.browser.clone() })))
    expect(await removalsOf(username)).toHaveLength(2)
    const late = await choose(two, 'a third long password')
    expect([headingOf(late), errorMessageOf(late)]).toEqual(['Sign in', expect.stringMatching(/out of date/)])
    expect(redirectParametersOf(await signInByPassword(username, NEW))['code']).toBeDefined()
    expect(await typesOf(username)).toEqual(['password'])
  }, 60_000)

  test('a second factor from an administrator is required and stays; the factors of the creator are removed', async () => {
    const username = address()
    await enrollBeforeConfirmation(username, 'passkey')
    const { id } = await userOf(username)
    const secret = await enrollTotp(realm, { id, username, path: `${realm.tenant.I}/users/${id}/verifiers` })
    const { browser, page } = await signInByMail(username)
    expect([headingOf(page), methodButtonsOn(page)]).toEqual(['One more step', ['code', 'back']])
    expect((await userOf(username)).emailVerified).toBe(false)
    const code = totpCode(secret, app.clock.now())
    const next = await browser.submit(page, { code, method: 'code' })
    expect(headingOf(next)).toBe('Choose a new password')
    expect(redirectParametersOf(await choose({ browser, page: next }))['code']).toBeDefined()
    expect(await typesOf(username)).toEqual(['password', 'totp'])
  })
})

test('after an upgrade, only users with the event of a sign-up and without a verified address count as unclaimed', async () => {
  const database = await createTestDatabase({ empty: true })
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-migrations-'))
  const client = new pg.Client(database.url)
  try {
    const all = join(packageRoot, 'prisma', 'migrations')
    const names = readdirSync(all).sort()
    const upgrade = names.findIndex((name) => name.endsWith('_user_origin'))
    for (const name of names.slice(0, upgrade)) cpSync(join(all, name), join(folder, name), { recursive: true })
    await migrate(database.url, { folder })
    await client.connect()
    await client.query('SET session_replication_role = replica')
    const user = (id: string, verified: boolean) =>
      client.query(
        `INSERT INTO users (id, account_id, issuer_id, username_type, username, username_key, username_hash,
           email_verified, status, created_at, updated_at)
         VALUES ($1, 'acc', 'iss', 'email', $1, $1, $1, $2, 'active', 1, 1)`,
        [id, verified],
      )
    const event = (userId: string, type: string, authType: string, changes: object = {}) =>
      client.query(
        `INSERT INTO events (id, type, created_at, account_id, user_id, auth_type, actor, target, context, changes)
         VALUES ($1, $2, $3, 'acc', $4, $5, '{}', '{}', '{}', $6)`,
        [`evt_${userId}_${type}`, type, app.clock.now(), userId, authType, changes],
      )
    for (const id of ['self_made', 'confirmed', 'renamed', 'created', 'unknown', 'imported'])
      await user(id, id === 'confirmed')
    for (const id of ['self_made', 'confirmed', 'renamed']) await event(id, 'user.created', 'unauthenticated')
    await event('renamed', 'user.updated', 'api_key', { email_verified: { old: true, new: false } })
    await event('created', 'user.created', 'api_key')
    await client.query(`INSERT INTO imported_users VALUES ('iss', 'auth0', 'x', 'imported', 1)`)
    await migrate(database.url)
    const { rows } = await client.query('SELECT id, origin, email_ever_verified AS ever FROM users ORDER BY id')
    expect(rows.map(({ id, origin, ever }) => [id, origin, ever])).toEqual([
      ['confirmed', 'administrator', true],
      ['created', 'administrator', false],
      ['imported', 'import', false],
      ['renamed', 'administrator', false],
      ['self_made', 'sign_up', false],
      ['unknown', 'administrator', false],
    ])
  } finally {
    await client.end()
    await database.drop()
    rmSync(folder, { recursive: true })
  }
})

describe('every other account keeps its second factors, and email alone does not bypass them', () => {
  test('a second factor of an owner who has proved the address before is required after email', async () => {
    const username = address()
    const { browser, page } = await byMailAfterSignUp(username)
    expect(redirectParametersOf(await browser.submit(page, { new_password: NEW }))['code']).toBeDefined()
    const secret = await withMfaRequired(async () => {
      const { browser: own, page: start } = await realm.openSignInPage(spa)
      const setUp = await own.submit(start, { username, password: NEW })
      const key = secretOn(setUp)
      await own.submit(setUp, { code: totpCode(key, app.clock.now()), method: 'code' })
      return key
    })
    app.clock.advance(30_000)
    const later = await signInByMail(username)
    expect(headingOf(later.page)).toBe('One more step')
    const code = totpCode(secret, app.clock.now())
    expect(redirectParametersOf(await later.browser.submit(later.page, { code, method: 'code' }))['code']).toBeDefined()
  })

  async function byMailAfterSignUp(username: string) {
    const begun = await realm.openSignInPage(spa)
    const form = await begun.browser.submit(begun.page, { method: 'sign_up' })
    redirectParametersOf(await begun.browser.submit(form, { username, new_password: PASSWORD, method: 'make' }))
    return signInByMail(username)
  }

  test('a second factor set by an administrator is required; both together verify the address, once', async () => {
    const { owner, I } = realm.tenant
    const username = address()
    const id = await realm.createUser(username)
    const path = `${I}/users/${id}/verifiers`
    const { data } = expectStatus(
      await owner.post(path, { type: 'totp_enrollment', name: null, issuer_name: 'Acme' }),
      201,
    )
    const first = totpCode(data.secret, app.clock.now())
    expectStatus(
      await owner.post(`${path}/complete-enrollment`, { enrollment_id: data.enrollment_id, code: first }),
      200,
    )
    app.clock.advance(30_000)
    expectStatus(await owner.patch(I, { settings: { signup: { require_email_verification: true } } }), 200)
    try {
      const { browser, page, verifier } = await signInByMail(username)
      expect(headingOf(page)).toBe('One more step')
      const confirmed = async () => expectStatus(await owner.get(`${I}/users/${id}`), 200).data.email_verified
      expect(await confirmed()).toBe(false)
      const back = redirectParametersOf(
        await browser.submit(page, { code: totpCode(data.secret, app.clock.now()), method: 'code' }),
      )
      const params = { code: back['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
      expect(jwtClaims((await realm.exchangeCode(spa, params)).body.id_token)).toMatchObject({ sub: id })
      expect(await confirmed()).toBe(true)
      const where = { userId: id, type: 'user.updated' }
      expect(await app.gatehouse.database.prisma.event.findMany({ where })).toMatchObject([
        { actor: { type: 'user', id }, changes: { email_verified: { old: false, new: true } } },
      ])
      expect((await verifiersOf(username)).map(({ type }) => type)).toEqual(['password', 'totp'])
    } finally {
      expectStatus(await owner.patch(I, { settings: { signup: { require_email_verification: false } } }), 200)
    }
  })

  const renamed = async ({ id }: { id: string }): Promise<string> => {
    const username = address()
    const { owner, I } = realm.tenant
    expectStatus(await owner.patch(`${I}/users/${id}`, { username }), 200)
    return username
  }

  /**
   * Creates accounts with an unverified address that did not come from sign-up, or whose previous address was verified.
   * Each function returns the username.
   */
  const accounts: Record<string, () => Promise<string>> = {
    'an administrator created': async () => (await createTestUser(realm)).username,
    'an import created': async () => {
      const username = address()
      const record = { user_id: `auth0|${username}`, email: username, password_hash: await bcrypt.hash(PASSWORD, 4) }
      const { owner, accountId, issuerId } = realm.tenant
      const mutation = `mutation ($accountId: ID!, $issuerId: ID!, $input: ImportUsersInput!) {
        importUsers(accountId: $accountId, issuerId: $issuerId, input: $input) { imported } }`
      const input = { source: 'auth0', dryRun: false, last: true, records: [{ line: 1, text: JSON.stringify(record) }] }
      const { body } = await owner.graphql(mutation, { accountId, issuerId, input })
      expect(body.data.importUsers.imported).toBe(1)
      return username
    },
    'an invited person created and an administrator renamed': async () => {
      const { owner, I } = realm.tenant
      const organization = expectStatus(await owner.post(`${I}/organizations`, { invitation_enabled: true }), 201).data
      const email = address()
      expectStatus(await owner.post(`${I}/organizations/${organization.id}/invitations`, { email }), 201)
      const browser = new TestBrowser()
      const form = await browser.submit(await browser.open(linkInMail(await waitForMail(app, email))), {
        method: 'sign_up',
      })
      const nextPage = await browser.submit(form, { new_password: PASSWORD, method: 'make' })
      expect(headingOf(await browser.submit(nextPage, { code: codeInMail(await waitForMail(app, email, 2)) }))).toBe(
        'Welcome',
      )
      return renamed(await userOf(email))
    },
    'its owner created and confirmed and an administrator renamed': async () => {
      const username = address()
      const { browser, page } = await byMailAfterSignUp(username)
      redirectParametersOf(await browser.submit(page, { new_password: PASSWORD.toUpperCase() }))
      const { owner, I } = realm.tenant
      const { id } = await userOf(username)
      const path = `${I}/users/${id}/verifiers`
      const { data } = expectStatus(await owner.get(path), 200)
      expectStatus(await owner.patch(`${path}/${data[0].id}`, { password: PASSWORD }), 200)
      return renamed({ id })
    },
  }

  /** Sets up an authenticator app and backup codes on the page, and returns the TOTP secret and the codes. */
  async function setUpFactors(username: string): Promise<{ secret: string; codes: string[] }> {
    return withMfaRequired(async () => {
      const { browser, page: start } = await realm.openSignInPage(spa)
      const setUp = await browser.submit(start, { username, password: PASSWORD })
      const secret = secretOn(setUp)
      const page = await browser.submit(setUp, { code: totpCode(secret, app.clock.now()), method: 'code' })
      const codes = [...page.html.matchAll(/<li>([^<]+)<\/li>/g)].map(([, text]) => text!)
      redirectParametersOf(await browser.submit(page, { method: 'kept' }))
      app.clock.advance(30_000)
      return { secret, codes }
    })
  }

  describe.each(Object.keys(accounts))('an account that %s', (how) => {
    test.each(['email_otp', 'email_link', 'reset'])('%s', async (method) => {
      const username = await accounts[how]!()
      const { secret } = await setUpFactors(username)
      expect((await userOf(username)).emailVerified).toBe(false)
      const kept = ['password', 'totp', 'backup_codes']

      const { browser, page } = await signInByMail(username, method)
      expect([headingOf(page), await typesOf(username)]).toEqual(['One more step', kept])
      // No submission bypasses the second factor.
      const skipped = await browser.submit(page, { new_password: NEW, method: 'kept' })
      expect(headingOf(skipped)).toBe('One more step')
      const next = await browser.submit(skipped, { code: totpCode(secret, app.clock.now()), method: 'code' })
      if (method === 'reset') expect(headingOf(next)).toBe('Choose a new password')
      expect(
        redirectParametersOf(method === 'reset' ? await choose({ browser, page: next }) : next)['code'],
      ).toBeDefined()
      expect([await typesOf(username), (await userOf(username)).emailVerified]).toEqual([kept, true])
    })
  })

  test.each(['passkey', 'backup_codes'])(
    'the password cannot be reset without the only second factor, %s',
    async (kind) => {
      const { username } = await createTestUser(realm)
      const { id } = await userOf(username)
      const { owner, I } = realm.tenant
      const path = `${I}/users/${id}/verifiers`
      const passkey = new Passkey(id, new URL(app.idpUrl).origin)
      let codes: string[] = []
      if (kind === 'passkey') {
        await withMfaRequired(async () => {
          const { browser, page } = await realm.openSignInPage(spa)
          const offered = await browser.submit(page, { username, password: PASSWORD })
          const nextPage = await browser.submit(offered, { method: 'enroll_passkey' })
          await browser.submit(nextPage, {
            credential: passkey.register(passkeyOptionsOn(nextPage)),
            method: 'passkey',
          })
        })
      } else {
        codes = (await setUpFactors(username)).codes
        const { id: totp } = (await verifiersOf(username)).find(({ type }) => type === 'totp')!
        expectStatus(await owner.delete(`${path}/${totp}`), 204)
      }
      const { browser, page } = await signInByMail(username, 'reset')
      expect([headingOf(page), methodButtonsOn(page)[0]]).toEqual([
        'One more step',
        kind === 'passkey' ? 'passkey' : 'code',
      ])
      const values =
        kind === 'passkey' ? { credential: passkey.authenticate(passkeyOptionsOn(page)) } : { code: codes[0]! }
      const next = await browser.submit(page, { method: kind === 'passkey' ? 'passkey' : 'code', ...values })
      expect(headingOf(next)).toBe('Choose a new password')
      expect(redirectParametersOf(await choose({ browser, page: next }))['code']).toBeDefined()
      expect(await typesOf(username)).toEqual(['password', kind])
    },
  )

  test('once an administrator has removed the factor, the password can be reset; the user is notified', async () => {
    const { owner, I } = realm.tenant
    const { username } = await createTestUser(realm)
    const { id } = await userOf(username)
    const path = `${I}/users/${id}/verifiers`
    await enrollTotp(realm, { id, username, path })
    const waiting = await signInByMail(username, 'reset')
    expect(headingOf(waiting.page)).toBe('One more step')
    const { id: totp } = (await verifiersOf(username)).find(({ type }) => type === 'totp')!
    expectStatus(await owner.delete(`${path}/${totp}`), 204)
    expect((await waitForMail(app, username, 2)).subject).toBe(
      'A credential of your account at Open issuer was removed',
    )
    expect((await waitForMail(app, username, 2)).text).toContain('authenticator app')
    expect(await removalsOf(username)).toEqual([{ type: 'totp', reason: 'deleted' }])
    // The open page still asks for the removed authenticator app. A new password reset does not.
    expect(headingOf(await waiting.browser.submit(waiting.page, { code: '000000', method: 'code' }))).toBe(
      'One more step',
    )
    expect(redirectParametersOf(await choose(await signInByMail(username, 'reset')))['code']).toBeDefined()
  })
})
