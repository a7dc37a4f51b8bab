/**
 * First proof of a mailbox (decision D31, security rules 22 and 29): accounts that people created with the address of
 * somebody else, and accounts that keep their second factors.
 */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { migrate } from '../../../src/platform/migrate.js'
import { packageRoot } from '../../../src/platform/package-root.js'
import { must } from '../../setup/actors.js'
import { Passkey } from '../../setup/authenticator.js'
import { createTestDatabase } from '../../setup/database.js'
import { addMethods, buttonsOn, giveTotp, makePerson, optionsOn } from '../../setup/factors.js'
import { codeIn, linkIn, mailsTo, mailTo, outboxEmpty } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { totpCode } from '../../setup/totp.js'
import { headingOf, type Page, problemOf, TestBrowser } from '../browser.js'
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
  await addMethods(realm, 'email_otp', 'email_link', 'totp', 'passkey', 'backup_codes')
  spa = await realm.client({ application_type: 'spa', grant_types: ['authorization_code', 'refresh_token'] })
})
afterAll(() => app.close())

const NEW = 'another long password'
let count = 0
const address = (): string => `resident-${++count}@example.com`

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
    const secret = kind === 'totp' ? secretOn(page) : undefined
    if (kind === 'totp') {
      done = await browser.submit(page, { code: totpCode(secretOn(page), app.clock.now()), method: 'code' })
    } else {
      const asked = await browser.submit(page, { method: 'enroll_passkey' })
      const { userId } = (await verifiersOf(username))[0]!
      const passkey = new Passkey(userId, new URL(app.idpUrl).origin)
      done = await browser.submit(asked, { credential: passkey.register(optionsOn(asked)), method: 'passkey' })
    }
    expect(headingOf(done)).toBe('Save your backup codes')
    const code = redirectOf(await browser.submit(done, { method: 'kept' }))['code']!
    const { body } = await realm.exchange(spa, { code, code_verifier: verifier, redirect_uri: CALLBACK })
    return { browser, tokens: body, secret }
  })
}

async function byMail(username: string, method = 'email_otp') {
  // Mail about earlier changes of credentials is not the mail that this sign-in asks for.
  await outboxEmpty(app)
  const before = (await mailsTo(app, username)).length
  const begun = await realm.begin(spa)
  let page = await begun.browser.submit(begun.page, { username, method })
  if (method === 'reset') page = await begun.browser.submit(page, { username, method: 'send' })
  const mail = await mailTo(app, username, before + 1)
  if (method === 'email_link') page = await begun.browser.open(linkIn(mail))
  const answer = method === 'email_link' ? { method: 'link' } : { code: codeIn(mail) }
  return { ...begun, page: await begun.browser.submit(page, answer) }
}

async function byPassword(username: string, password: string): Promise<Page> {
  const { browser, page } = await realm.begin(spa)
  return browser.submit(page, { username, password })
}

/** The page for a new password is answered; what follows is the application, or a second factor. */
const choose = ({ browser, page }: { browser: TestBrowser; page: Page }, password = NEW): Promise<Page> =>
  browser.submit(page, { new_password: password })

const typesOf = async (username: string) => (await verifiersOf(username)).map(({ type }) => type)
const userOf = (username: string) =>
  app.gatehouse.tools.prisma.user.findFirstOrThrow({
    where: { issuerId: realm.tenant.issuerId, usernameKey: username },
  })
const removalsOf = async (username: string) => {
  const where = { userId: (await userOf(username)).id, type: 'user.verifier.deleted' }
  return (await app.gatehouse.tools.prisma.event.findMany({ where, orderBy: { id: 'asc' } })).map(({ data }) => data)
}
const subjectsTo = async (username: string) => (await mailsTo(app, username)).map(({ subject }) => subject)

/** While this runs, the issuer does not let people sign in by password. */
async function withoutPasswords<T>(work: () => Promise<T>): Promise<T> {
  const { owner, I } = realm.tenant
  const { data } = must(await owner.get(`${I}/auth-methods`), 200)
  const { id } = data.find(({ method }: { method: string }) => method === 'password')
  must(await owner.patch(`${I}/auth-methods/${id}`, { enabled_login: false }), 200)
  try {
    return await work()
  } finally {
    must(await owner.patch(`${I}/auth-methods/${id}`, { enabled_login: true }), 200)
  }
}

describe('D31: a self-made account whose address was never confirmed, with verifiers of its maker', () => {
  test.each([
    ['totp', 'email_otp'],
    ['totp', 'reset'],
    ['passkey', 'email_otp'],
    ['passkey', 'reset'],
  ] as const)('they are removed when the new password is saved, not before (%s, %s)', async (kind, method) => {
    const username = address()
    const { browser: thief, tokens } = await squat(username, kind)
    const before = ['password', kind, 'backup_codes']
    expect(await typesOf(username)).toEqual(before)

    const proved = await byMail(username, method)
    expect(headingOf(proved.page)).toBe('Choose a new password')
    expect([await typesOf(username), (await userOf(username)).emailVerified]).toEqual([before, false])
    expect((await realm.userinfo(tokens.access_token)).status).toBe(200)
    expect(problemOf(await choose(proved, 'short'))).toMatch(/at least 8/)
    expect(await typesOf(username)).toEqual(before)

    const again = { ...proved, page: await proved.browser.open(proved.page.url) }
    expect(redirectOf(await choose(again))['code']).toBeDefined()
    expect([await typesOf(username), (await userOf(username)).emailVerified]).toEqual([['password'], true])
    expect((await realm.userinfo(tokens.access_token)).status).toBe(401)
    expect((await realm.refresh(spa, tokens.refresh_token)).body.error).toBe('invalid_grant')
    expect(problemOf(await byPassword(username, PASSWORD))).toMatch(/do not match/)
    expect(redirectOf(await byPassword(username, NEW))['code']).toBeDefined()
    expect(headingOf((await realm.begin(spa, {}, thief)).page)).toBe('Sign in')

    // Each removal is an event and is mailed.
    expect(await removalsOf(username)).toEqual(
      [kind, 'backup_codes'].map((type) => ({ type, reason: 'mailbox_proved' })),
    )
    await mailTo(app, username, 3)
    expect(await subjectsTo(username)).toContain('Earlier credentials of your account at Open issuer were removed')
    const { text } = (await mailsTo(app, username)).find(({ subject }) => subject.startsWith('Earlier'))!
    expect(text).toContain(kind === 'totp' ? 'authenticator app, backup codes' : 'passkey, backup codes')
  })

  test('the owner who stops before the new password changes nothing, and can come again', async () => {
    const username = address()
    await squat(username, 'totp')
    await byMail(username, 'reset')
    expect(await typesOf(username)).toEqual(['password', 'totp', 'backup_codes'])
    expect(headingOf(await byPassword(username, PASSWORD))).toBe('One more step')
    expect(redirectOf(await choose(await byMail(username, 'reset')))['code']).toBeDefined()
    expect(await typesOf(username)).toEqual(['password'])
  })

  test('where no new password is to be saved they are removed as soon as the mailbox alone signs in', async () => {
    const username = address()
    const { tokens } = await squat(username, 'passkey')
    await withoutPasswords(async () => {
      const { page } = await byMail(username)
      expect(redirectOf(page)['code']).toBeDefined()
    })
    expect(await typesOf(username)).toEqual([])
    expect((await realm.userinfo(tokens.access_token)).status).toBe(401)
    expect(problemOf(await byPassword(username, PASSWORD))).toMatch(/do not match/)
    expect((await removalsOf(username)).map((data) => (data as { type: string }).type)).toEqual([
      'password',
      'passkey',
      'backup_codes',
    ])
  })

  test('where two factors are demanded, the owner sets up their own after that', async () => {
    const username = address()
    await squat(username, 'totp')
    const [before] = (await verifiersOf(username)).filter(({ type }) => type === 'totp')
    await demanding(async () => {
      const proved = await byMail(username)
      expect(headingOf(proved.page)).toBe('Choose a new password')
      const setUp = await choose(proved)
      expect(headingOf(setUp)).toBe('Set up an authenticator app')
      const code = totpCode(secretOn(setUp), app.clock.now())
      const codes = await proved.browser.submit(setUp, { code, method: 'code' })
      expect(headingOf(codes)).toBe('Save your backup codes')
      expect(redirectOf(await proved.browser.submit(codes, { method: 'kept' }))['code']).toBeDefined()
    })
    const after = await verifiersOf(username)
    expect(after.map(({ type }) => type)).toEqual(['password', 'totp', 'backup_codes'])
    expect(after.map(({ id }) => id)).not.toContain(before!.id)
  })

  test('nor does a second factor count that their maker was just setting up', async () => {
    const username = address()
    await demanding(async () => {
      const { browser: thief, page: setUp } = await signUp(username)
      app.clock.advance(1000)
      await choose(await byMail(username))
      const code = totpCode(secretOn(setUp), app.clock.now())
      const late = await thief.submit(setUp, { code, method: 'code' })
      expect({ heading: headingOf(late), problem: problemOf(late) }).toEqual({
        heading: 'Sign in',
        problem: expect.stringMatching(/out of date/),
      })
      expect(await typesOf(username)).toEqual(['password'])
    })
  })

  test('nor a sign-in of their maker that was finished and not brought back yet', async () => {
    const username = address()
    const begun = await realm.begin(spa)
    const form = await begun.browser.submit(begun.page, { method: 'sign_up' })
    const csrf = /name="csrf" value="([^"]+)"/.exec(form.html)![1]!
    const body = new URLSearchParams({ csrf, username, new_password: PASSWORD, method: 'make' })
    const done = await begun.browser.request(form.url, { method: 'POST', body })
    expect(done.status).toBe(303)
    app.clock.advance(2000)
    expect(redirectOf(await choose(await byMail(username)))['code']).toBeDefined()
    expect(headingOf(await begun.browser.open(done.headers.get('location')!))).toBe('Sign in')
  })

  test('nor one that waits for the second factor: going on with it leads back to the beginning', async () => {
    const username = address()
    const { secret } = await squat(username, 'totp')
    app.clock.advance(30_000)
    const { browser: thief, page } = await realm.begin(spa)
    const step = await thief.submit(page, { username, password: PASSWORD })
    expect(headingOf(step)).toBe('One more step')
    app.clock.advance(1000)
    await choose(await byMail(username))
    const late = await thief.submit(step, { code: totpCode(secret!, app.clock.now()), method: 'code' })
    expect([headingOf(late), problemOf(late)]).toEqual(['Sign in', expect.stringMatching(/out of date/)])
  })

  test('of two browsers of the owner at the last step the first one wins, and 20 answers of one browser are one', async () => {
    const username = address()
    await squat(username, 'passkey')
    const one = await byMail(username)
    const two = await byMail(username)
    app.clock.advance(10)
    await Promise.all(Array.from({ length: 20 }, () => choose({ ...one, browser: one.browser.copy() })))
    expect(await removalsOf(username)).toHaveLength(2)
    const late = await choose(two, 'a third long password')
    expect([headingOf(late), problemOf(late)]).toEqual(['Sign in', expect.stringMatching(/out of date/)])
    expect(redirectOf(await byPassword(username, NEW))['code']).toBeDefined()
    expect(await typesOf(username)).toEqual(['password'])
  }, 60_000)

  test('a factor that an administrator gave is asked for and stays; those of the maker go', async () => {
    const username = address()
    await squat(username, 'passkey')
    const { id } = await userOf(username)
    const secret = await giveTotp(realm, { id, username, path: `${realm.tenant.I}/users/${id}/verifiers` })
    const { browser, page } = await byMail(username)
    expect([headingOf(page), buttonsOn(page)]).toEqual(['One more step', ['code', 'back']])
    expect((await userOf(username)).emailVerified).toBe(false)
    const code = totpCode(secret, app.clock.now())
    const next = await browser.submit(page, { code, method: 'code' })
    expect(headingOf(next)).toBe('Choose a new password')
    expect(redirectOf(await choose({ browser, page: next }))['code']).toBeDefined()
    expect(await typesOf(username)).toEqual(['password', 'totp'])
  })
})

test('D31: users from before the upgrade: only what can be shown to be self-made and never confirmed counts as that', async () => {
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

describe('D31: every other account keeps its second factors, and mail alone does not get past them', () => {
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
    const later = await byMail(username)
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

  const renamed = async ({ id }: { id: string }): Promise<string> => {
    const username = address()
    const { owner, I } = realm.tenant
    must(await owner.patch(`${I}/users/${id}`, { username }), 200)
    return username
  }

  /** Accounts without a confirmed address that are not self-made, or had a confirmed address before. */
  const accounts: Record<string, () => Promise<string>> = {
    'an administrator created': async () => (await makePerson(realm)).username,
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
      const organization = must(await owner.post(`${I}/organizations`, { invitation_enabled: true }), 201).data
      const email = address()
      must(await owner.post(`${I}/organizations/${organization.id}/invitations`, { email }), 201)
      const browser = new TestBrowser()
      const form = await browser.submit(await browser.open(linkIn(await mailTo(app, email))), { method: 'sign_up' })
      const asked = await browser.submit(form, { new_password: PASSWORD, method: 'make' })
      expect(headingOf(await browser.submit(asked, { code: codeIn(await mailTo(app, email, 2)) }))).toBe('Welcome')
      return renamed(await userOf(email))
    },
    'its owner created and confirmed and an administrator renamed': async () => {
      const username = address()
      const { browser, page } = await byMailAfterSignUp(username)
      redirectOf(await browser.submit(page, { new_password: PASSWORD.toUpperCase() }))
      const { owner, I } = realm.tenant
      const { id } = await userOf(username)
      const path = `${I}/users/${id}/verifiers`
      const { data } = must(await owner.get(path), 200)
      must(await owner.patch(`${path}/${data[0].id}`, { password: PASSWORD }), 200)
      return renamed({ id })
    },
  }

  /** Second factors as people set them up themselves on the page. */
  async function setUpFactors(username: string): Promise<{ secret: string; codes: string[] }> {
    return demanding(async () => {
      const { browser, page: start } = await realm.begin(spa)
      const setUp = await browser.submit(start, { username, password: PASSWORD })
      const secret = secretOn(setUp)
      const page = await browser.submit(setUp, { code: totpCode(secret, app.clock.now()), method: 'code' })
      const codes = [...page.html.matchAll(/<li>([^<]+)<\/li>/g)].map(([, text]) => text!)
      redirectOf(await browser.submit(page, { method: 'kept' }))
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

      const { browser, page } = await byMail(username, method)
      expect([headingOf(page), await typesOf(username)]).toEqual(['One more step', kept])
      // No answer gets past it.
      const skipped = await browser.submit(page, { new_password: NEW, method: 'kept' })
      expect(headingOf(skipped)).toBe('One more step')
      const next = await browser.submit(skipped, { code: totpCode(secret, app.clock.now()), method: 'code' })
      if (method === 'reset') expect(headingOf(next)).toBe('Choose a new password')
      expect(redirectOf(method === 'reset' ? await choose({ browser, page: next }) : next)['code']).toBeDefined()
      expect([await typesOf(username), (await userOf(username)).emailVerified]).toEqual([kept, true])
    })
  })

  test.each(['passkey', 'backup_codes'])('a password is not reset without the only second factor, %s', async (kind) => {
    const { username } = await makePerson(realm)
    const { id } = await userOf(username)
    const { owner, I } = realm.tenant
    const path = `${I}/users/${id}/verifiers`
    const passkey = new Passkey(id, new URL(app.idpUrl).origin)
    let codes: string[] = []
    if (kind === 'passkey') {
      await demanding(async () => {
        const { browser, page } = await realm.begin(spa)
        const offered = await browser.submit(page, { username, password: PASSWORD })
        const asked = await browser.submit(offered, { method: 'enroll_passkey' })
        await browser.submit(asked, { credential: passkey.register(optionsOn(asked)), method: 'passkey' })
      })
    } else {
      codes = (await setUpFactors(username)).codes
      const { id: totp } = (await verifiersOf(username)).find(({ type }) => type === 'totp')!
      must(await owner.delete(`${path}/${totp}`), 204)
    }
    const { browser, page } = await byMail(username, 'reset')
    expect([headingOf(page), buttonsOn(page)[0]]).toEqual(['One more step', kind === 'passkey' ? 'passkey' : 'code'])
    const values = kind === 'passkey' ? { credential: passkey.answer(optionsOn(page)) } : { code: codes[0]! }
    const next = await browser.submit(page, { method: kind === 'passkey' ? 'passkey' : 'code', ...values })
    expect(headingOf(next)).toBe('Choose a new password')
    expect(redirectOf(await choose({ browser, page: next }))['code']).toBeDefined()
    expect(await typesOf(username)).toEqual(['password', kind])
  })

  test('once an administrator has removed the factor, the password can be reset; the person is notified', async () => {
    const { owner, I } = realm.tenant
    const { username } = await makePerson(realm)
    const { id } = await userOf(username)
    const path = `${I}/users/${id}/verifiers`
    await giveTotp(realm, { id, username, path })
    const waiting = await byMail(username, 'reset')
    expect(headingOf(waiting.page)).toBe('One more step')
    const { id: totp } = (await verifiersOf(username)).find(({ type }) => type === 'totp')!
    must(await owner.delete(`${path}/${totp}`), 204)
    expect((await mailTo(app, username, 2)).subject).toBe('A credential of your account at Open issuer was removed')
    expect((await mailTo(app, username, 2)).text).toContain('authenticator app')
    expect(await removalsOf(username)).toEqual([{ type: 'totp', reason: 'deleted' }])
    // The step that waited for it opens nothing; beginning again does.
    expect(headingOf(await waiting.browser.submit(waiting.page, { code: '000000', method: 'code' }))).toBe(
      'One more step',
    )
    expect(redirectOf(await choose(await byMail(username, 'reset')))['code']).toBeDefined()
  })
})
