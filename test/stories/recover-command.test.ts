/**
 * `gatehouse admin recover`: restores the access of an administrator (docs/decisions/0053-administrator-recovery.md).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { recoverAdministrator } from '../../src/setup/recover-administrator.js'
import { errorMessageOf, headingOf, type Page, type TestBrowser } from '../idp/browser.js'
import { PASSWORD, Realm } from '../idp/realm.js'
import { createTenant, expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { testSecretKey as SECRET_KEY } from '../setup/database.js'
import {
  addMethods,
  createBackupCodes,
  enrollTotp,
  methodButtonsOn,
  registerPasskey,
  type TestUser,
} from '../setup/factors.js'
import { mailsSentTo, waitForEmptyOutbox } from '../setup/mail.js'
import { runCli } from '../setup/process.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'

const NEXT = 'another correct horse battery staple'

let app: TestApp
let realm: Realm
let prisma: TestApp['gatehouse']['database']['prisma']
let ada: TestUser

beforeAll(async () => {
  const env = { BOOTSTRAP_ADMIN_EMAIL: 'ada@example.com', BOOTSTRAP_ADMIN_PASSWORD: PASSWORD }
  app = await startApp({ env, roles: ['core', 'idp', 'worker'] })
  prisma = app.gatehouse.database.prisma
  realm = await consoleRealm()
  const { owner_user_id: id } = expectStatus(await app.operator.get(realm.tenant.A), 200).data
  ada = testUserOf(id, 'ada@example.com')
})
afterAll(() => app.close())

// Before each test, the administrator has a password and needs no second factor.
beforeEach(async () => {
  await prisma.verifier.deleteMany({ where: { issuerId: realm.tenant.issuerId } })
  await prisma.user.updateMany({ where: { id: ada.id }, data: { status: 'active', purgeAt: null } })
  await prisma.authMethod.deleteMany({ where: { issuerId: realm.tenant.issuerId, method: { not: 'password' } } })
  expectStatus(await app.operator.post(ada.path, { type: 'password', name: null, password: PASSWORD }), 201)
  await settings({ security: { mfa_required: false } })
})

async function consoleRealm(): Promise<Realm> {
  const row = await prisma.deployment.findUniqueOrThrow({ where: { name: 'console' } })
  const { account_id: accountId, issuer_id: issuerId } = row.value as { account_id: string; issuer_id: string }
  const A = `/v1/accounts/${accountId}`
  return new Realm(app, { app, accountId, issuerId, A, I: `${A}/issuers/${issuerId}`, owner: app.operator })
}

const testUserOf = (id: string, username: string): TestUser => ({
  id,
  username,
  path: `${realm.tenant.I}/users/${id}/verifiers`,
})

const settings = async (patch: object) =>
  expectStatus(await app.operator.patch(realm.tenant.I, { settings: patch }), 200)

const gatehouse = (...args: string[]) => {
  const { baseUrl: BASE_URL, idpUrl: IDP_URL, dataDir: DATA_DIR } = app.gatehouse.config
  return runCli(['admin', 'recover', ...args], {
    DATABASE_URL: app.databaseUrl,
    SECRET_KEY,
    BASE_URL,
    IDP_URL,
    DATA_DIR,
  })
}

/** Creates a recovery link in this process, with the clock of the test. */
const recover = (email = ada.username, reactivate = false) =>
  recoverAdministrator(systemContext(app.gatehouse), { email, reactivate })

/** Opens a recovery link and returns the page. */
async function openLink(url: string, browser = realm.newBrowser()): Promise<{ browser: TestBrowser; page: Page }> {
  return { browser, page: await browser.open(url) }
}

const typesOf = async (userId: string): Promise<string[]> =>
  (await prisma.verifier.findMany({ where: { userId }, orderBy: { type: 'asc' } })).map(({ type }) => type)

/** Signs in to the console with a password and returns the next page. */
async function signInWithPassword(password: string, username = ada.username, browser = realm.newBrowser()) {
  const page = await browser.submit(await browser.open(`${app.baseUrl}/console`), { username, password })
  return { browser, page }
}

const consolePage = { status: 200, url: expect.stringMatching(/\/console$/) }

/** Returns the username in the console session of this browser; undefined if there is no session. */
const signedInUsername = async (browser: TestBrowser): Promise<string | undefined> =>
  ((await (await browser.request(`${app.baseUrl}/console/session`)).json()) as AnyJson).user?.username

/** Expects the page for a recovery link that is not valid. */
const expectInvalidLink = (page: Page) => {
  expect(page.status).toBe(400)
  expect(page.html).toContain('This recovery link has been used or replaced')
}

describe('an administrator who has lost all credentials', () => {
  test('sets a new password and a new second factor after opening the link, and is signed in to the console', async () => {
    await settings({ security: { mfa_required: true } })
    await enrollTotp(realm, ada)
    const before = await prisma.verifier.findMany({ where: { userId: ada.id } })
    const readEvents = await eventsRecordedFromNow(app, realm.tenant.accountId)

    const { code, stdout } = await gatehouse('--email', 'Ada@Example.com', '--json')
    expect(code).toBe(0)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({
      user_id: ada.id,
      username: ada.username,
      created: false,
      made_owner: false,
      reactivated_from: null,
      repaired: [],
    })
    expect(report.expires_at - Date.now()).toBeGreaterThan(13 * 60_000)
    expect(report.expires_at - Date.now()).toBeLessThanOrEqual(15 * 60_000)
    const [created] = await readEvents('user.recovery_link.')
    expect(created).toMatchObject({
      type: 'user.recovery_link.created',
      userId: ada.id,
      authType: 'system',
      data: { expires_at: report.expires_at },
    })

    const { browser, page } = await openLink(report.url)
    expect(headingOf(page)).toBe('Recover your access')
    expect(page.html).toContain('ada@example.com')
    expect(page.html).toMatch(/type="checkbox" name="lost_vrf_\w+" value="yes" checked>Authenticator app/)
    const password = await browser.submit(page, { method: 'recover' })
    expect(headingOf(password)).toBe('Choose a new password')
    // The old credentials exist until the new password is saved.
    expect(await prisma.verifier.findMany({ where: { userId: ada.id } })).toEqual(before)
    const enrollPage = await browser.submit(password, { new_password: NEXT })
    expect(headingOf(enrollPage)).toBe('Set up an authenticator app')
    expect(await typesOf(ada.id)).toEqual(['password'])
    const secret = /class="secret">([^<]*)</.exec(enrollPage.html)![1]!.replaceAll(' ', '')
    const codes = await browser.submit(enrollPage, { code: totpCode(secret, app.clock.now()) })
    expect(headingOf(codes)).toBe('Save your backup codes')
    expect(await browser.submit(codes, { method: 'kept' })).toMatchObject(consolePage)
    expect(await signedInUsername(browser)).toBe(ada.username)
    expect(await typesOf(ada.id)).toEqual(['backup_codes', 'password', 'totp'])

    const events = await readEvents('user.')
    expect(events.map(({ type }) => type)).toEqual([
      'user.recovery_link.created',
      'user.recovery_link.used',
      'user.verifier.updated',
      'user.verifier.deleted',
      'user.verifier.created',
      'user.verifier.created',
      'user.login.succeeded',
    ])
    expect(events[1]).toMatchObject({ authType: 'user', actor: { id: ada.id }, data: {} })
    expect(events[3]).toMatchObject({ data: { type: 'totp', reason: 'recovered' } })
    await waitForEmptyOutbox(app)
    const subjects = (await mailsSentTo(app, ada.username)).map(({ subject }) => subject)
    expect(subjects).toEqual(
      expect.arrayContaining([
        'Your account at Gatehouse console is being recovered',
        'A credential of your account at Gatehouse console was removed',
        'Your password for Gatehouse console was changed',
      ]),
    )
    // Rows and events do not contain the secret part of the link.
    const token = new URL(report.url).searchParams.get('token')!
    const rows = [
      await prisma.deployment.findMany(),
      await prisma.loginState.findMany(),
      await prisma.idpArtifact.findMany(),
    ]
    const stored = JSON.stringify([rows, events], (_, value) => (typeof value === 'bigint' ? Number(value) : value))
    expect(stored).not.toContain(token.split('.')[1])

    expect(errorMessageOf((await signInWithPassword(PASSWORD)).page)).toMatch(/do not match/)
    expect(headingOf((await signInWithPassword(NEXT)).page)).toBe('One more step')
  })

  test('can sign in despite a lockout after failed attempts, and all earlier sessions end', async () => {
    const { browser: other, page: elsewhere } = await signInWithPassword(PASSWORD)
    expect(elsewhere).toMatchObject(consolePage)
    for (let tries = 0; tries < 6; tries++) await signInWithPassword('wrong password')
    expect(errorMessageOf((await signInWithPassword(PASSWORD)).page)).toBeDefined()

    const { browser, page } = await openLink((await recover()).url)
    expect(
      await browser.submit(await browser.submit(page, { method: 'recover' }), { new_password: NEXT }),
    ).toMatchObject(consolePage)
    const response = await other.request(`${app.baseUrl}/console/graphql`, {
      method: 'POST',
      body: '{"query":"{ me { id } }"}',
      headers: { origin: app.baseUrl, 'content-type': 'application/json', 'x-gatehouse-console': '1' },
    })
    expect(response.status).toBe(401)
    expect((await signInWithPassword(NEXT)).page).toMatchObject(consolePage)
  })

  test('creates a new passkey if the console has no password method', async () => {
    await addMethods(realm, 'passkey')
    await prisma.verifier.deleteMany({ where: { userId: ada.id } })
    await registerPasskey(realm, ada)
    const [method] = await prisma.authMethod.findMany({
      where: { issuerId: realm.tenant.issuerId, method: 'password' },
    })
    const path = `${realm.tenant.I}/auth-methods/${method!.id}`
    expectStatus(await app.operator.patch(path, { enabled_login: false }), 200)
    try {
      const { browser, page } = await openLink((await recover()).url)
      expect(page.html).toContain('Passkey')
      expect(headingOf(await browser.submit(page, { method: 'recover' }))).toBe('Create a passkey')
    } finally {
      expectStatus(await app.operator.patch(path, { enabled_login: true }), 200)
    }
  })

  test('does not require email verification, because mail may not work', async () => {
    await settings({ signup: { require_email_verification: true } })
    await prisma.user.update({ where: { id: ada.id }, data: { emailVerified: false } })
    const { browser, page } = await openLink((await recover()).url)
    const done = await browser.submit(await browser.submit(page, { method: 'recover' }), { new_password: NEXT })
    expect(done).toMatchObject(consolePage)
    await settings({ signup: { require_email_verification: false } })
  })
})

describe('an administrator who has lost one of several factors', () => {
  test('keeps the other factors and must use one of them', async () => {
    await addMethods(realm, 'totp', 'backup_codes')
    const [code] = await createBackupCodes(realm, ada)
    await enrollTotp(realm, ada)
    const { browser, page } = await openLink((await recover()).url)
    const rows = await prisma.verifier.findMany({ where: { userId: ada.id, type: 'backup_codes' } })
    const factor = await browser.submit(page, { method: 'recover', [`lost_${rows[0]!.id}`]: 'no' })
    // A backup code is required before the new password, and the lost authenticator app is not offered.
    expect(headingOf(factor)).toBe('One more step')
    expect(methodButtonsOn(factor)).toEqual(['code', 'back'])
    expect(await typesOf(ada.id)).toEqual(['backup_codes', 'password', 'totp'])
    const password = await browser.submit(factor, { code: code! })
    expect(await browser.submit(password, { new_password: NEXT })).toMatchObject(consolePage)
    expect(await typesOf(ada.id)).toEqual(['backup_codes', 'password'])
  })

  test('replaces a lost second factor, also if no second factor is required', async () => {
    await addMethods(realm, 'totp')
    await enrollTotp(realm, ada)
    const { browser, page } = await openLink((await recover()).url)
    const password = await browser.submit(page, { method: 'recover' })
    expect(headingOf(await browser.submit(password, { new_password: NEXT }))).toBe('Set up an authenticator app')
  })
})

describe('the link', () => {
  test('can be opened several times but signs in once', async () => {
    const { url } = await recover()
    await openLink(url)
    await openLink(url)
    const { browser, page } = await openLink(url)
    expect(headingOf(await browser.submit(page, { method: 'recover' }))).toBe('Choose a new password')
    expectInvalidLink((await openLink(url)).page)
  })

  test('signs in once, also with concurrent requests to two processes', async () => {
    const second = await app.startSecondApp()
    for (let round = 0; round < 3; round++) {
      const { url } = await recover()
      const [first, other] = [await openLink(url), await openLink(url)]
      const secondPage = { ...other.page, url: other.page.url.replace(app.idpUrl, second.idpUrl) }
      const pages = await Promise.all([
        first.browser.submit(first.page, { method: 'recover' }),
        other.browser.submit(secondPage, { method: 'recover' }),
      ])
      const headings = pages.map((page) => headingOf(page))
      expect(headings.sort()).toEqual(['Choose a new password', 'Sign in'])
      const rejectedPage = pages.find((page) => headingOf(page) === 'Sign in')!
      expect(errorMessageOf(rejectedPage)).toMatch(/recovery link has been used/)
    }
  })

  test('is invalidated by a newer link', async () => {
    const first = await recover()
    const { browser, page } = await openLink(first.url)
    const next = await recover()
    expectInvalidLink((await openLink(first.url)).page)
    expect(errorMessageOf(await browser.submit(page, { method: 'recover' }))).toMatch(/recovery link has been used/)
    expect(headingOf((await openLink(next.url)).page)).toBe('Recover your access')
  })

  test('is valid for 15 minutes', async () => {
    const createdAgo = (ago: number) => {
      const then = { ...app.gatehouse, now: () => app.clock.now() - ago }
      return recoverAdministrator(systemContext(then), { email: ada.username, reactivate: false })
    }
    expect(headingOf((await openLink((await createdAgo(14 * 60_000 + 50_000)).url)).page)).toBe('Recover your access')
    expectInvalidLink((await openLink((await createdAgo(15 * 60_000)).url)).page)
  })

  const changes: Record<string, () => Promise<unknown>> = {
    'a new password': async () => {
      const [row] = await prisma.verifier.findMany({ where: { userId: ada.id, type: 'password' } })
      expectStatus(await app.operator.patch(`${ada.path}/${row!.id}`, { password: NEXT }), 200)
    },
    'another factor': () => createBackupCodes(realm, ada),
    'a suspension and reactivation': async () => {
      await prisma.user.update({ where: { id: ada.id }, data: { status: 'suspended', statusAt: app.clock.now() } })
      await recover(ada.username, true)
    },
    'a suspension': () => prisma.user.update({ where: { id: ada.id }, data: { status: 'suspended' } }),
  }
  test.each(Object.entries(changes))('is invalidated by a change of the account: %s', async (_, change) => {
    const { url } = await recover()
    const { browser, page } = await openLink(url)
    await change()
    expectInvalidLink((await openLink(url)).page)
    expect(errorMessageOf(await browser.submit(page, { method: 'recover' }))).toMatch(/recovery link has been used/)
  })

  test('is refused at another issuer and with an invalid token', async () => {
    const { url } = await recover()
    const tenant = await createTenant(app, 'Elsewhere')
    expectInvalidLink((await openLink(url.replace(realm.tenant.issuerId, tenant.issuerId))).page)
    for (const token of ['', 'x', `${ada.id}.`, `${ada.id}.${'A'.repeat(43)}`, '%00'])
      expect((await openLink(`${realm.url}/recovery?token=${token}`)).page.status).toBe(400)
    expect(headingOf((await openLink(url)).page)).toBe('Recover your access')
  })

  test('offers to sign in with existing credentials instead', async () => {
    const { browser, page } = await openLink((await recover()).url)
    const form = await browser.submit(page, { method: 'back' })
    expect(headingOf(form)).toBe('Sign in')
    expect(await browser.submit(form, { username: ada.username, password: PASSWORD })).toMatchObject(consolePage)
  })
})

describe('which users can be recovered', () => {
  /** Creates another user of the console issuer. */
  async function user(username: string, more: object = {}): Promise<string> {
    const body = { username_type: 'unique', username, ...more }
    return expectStatus(await app.operator.post(`${realm.tenant.I}/users`, body), 201).data.id
  }

  test('the error for an email address of no administrator lists the administrators', async () => {
    await realm.createUser('reader@example.com')
    for (const email of ['unknown@example.com', 'reader@example.com']) {
      const { code, output } = await gatehouse('--email', email, '--json')
      expect(code).toBe(1)
      expect(JSON.parse(output).error_description).toBe(
        `No administrator has the username or email address ${email}. Administrators of this deployment: ada@example.com. Run the command with one of these; they can add other administrators in the console.`,
      )
    }
  })

  test('a user of a tenant with the same email address is not recovered', async () => {
    const tenant = await createTenant(app, 'Same')
    const { data } = expectStatus(
      await tenant.owner.post(`${tenant.I}/users`, { username_type: 'email', username: ada.username }),
      201,
    )
    expect((await recover()).userId).toBe(ada.id)
    expect(data.id).not.toBe(ada.id)
  })

  test('an email address in the profile is sufficient if one user or administrator has it; otherwise the error asks for a username', async () => {
    const { admin_org_id } = expectStatus(await app.operator.get(realm.tenant.A), 200).data
    const profile = { email: 'team@example.com' }
    const [grace] = [await user('grace', { profile }), await user('linus', { profile })]
    await expect(recover('team@example.com')).rejects.toThrow(/Use the username instead: grace, linus\./)
    const members = `${realm.tenant.I}/organizations/${admin_org_id}/members`
    expectStatus(await app.operator.post(members, { member_id: grace, scopes: ['events:read'] }), 201)
    expect((await recover('team@example.com')).userId).toBe(grace)
    expect((await recover('grace')).userId).toBe(grace)
  })

  test.each(['suspended', 'blocked', 'disabled', 'pending_deletion'])(
    'a %s administrator is recovered only with --reactivate',
    async (status) => {
      await prisma.user.update({ where: { id: ada.id }, data: { status, purgeAt: Date.now() + 1_000_000 } })
      const message = new RegExp(`ada@example.com is ${status}.*Add --reactivate`)
      await expect(recover()).rejects.toThrow(message)
      const readEvents = await eventsRecordedFromNow(app, realm.tenant.accountId)
      const recovered = await recover(ada.username, true)
      expect(recovered).toMatchObject({ userId: ada.id, reactivatedFrom: status, created: false })
      expect(await readEvents('user.status.')).toMatchObject([{ changes: { status: { old: status, new: 'active' } } }])
      expect(await prisma.user.findUnique({ where: { id: ada.id } })).toMatchObject({ status: 'active', purgeAt: null })
      expect(headingOf((await openLink(recovered.url)).page)).toBe('Recover your access')
    },
  )

  test('the error of the command line names the option --reactivate', async () => {
    await prisma.user.update({ where: { id: ada.id }, data: { status: 'suspended' } })
    expect(await gatehouse('--email', ada.username)).toMatchObject({
      code: 1,
      output: expect.stringContaining('Add --reactivate'),
    })
    const { code, output } = await gatehouse('--email', ada.username, '--reactivate')
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringMatching(/ada@example.com was suspended and is now active.*\/recovery\?token=.*15 minutes/s),
    })
  })

  test('the command repairs a console that an older version deleted', async () => {
    const data = { status: 'deleted', updatedAt: app.clock.now() }
    await prisma.client.updateMany({ where: { issuerId: realm.tenant.issuerId }, data })
    await prisma.issuer.update({ where: { id: realm.tenant.issuerId }, data })
    const { code, stdout } = await gatehouse('--email', ada.username, '--json')
    expect({ code, report: JSON.parse(stdout) }).toMatchObject({ code: 0, report: { repaired: ['issuer', 'client'] } })
    const { browser, page } = await openLink(JSON.parse(stdout).url)
    const done = await browser.submit(await browser.submit(page, { method: 'recover' }), { new_password: NEXT })
    expect(done).toMatchObject(consolePage)
  })

  test('without an administrator, the command creates one who owns the system account', async () => {
    await prisma.organizationMember.deleteMany({ where: { issuerId: realm.tenant.issuerId } })
    await prisma.user.updateMany({ where: { id: ada.id }, data: { status: 'deleted', username: '', usernameKey: '' } })
    const [one, two] = await Promise.all([
      gatehouse('--email', 'new@example.com', '--json'),
      gatehouse('--email', 'new@example.com', '--json'),
    ])
    const reports = [one, two].map(({ stdout }) => JSON.parse(stdout))
    expect(reports.map(({ created }) => created).sort()).toEqual([false, true])
    expect(reports[0].user_id).toBe(reports[1].user_id)
    const { owner_user_id } = expectStatus(await app.operator.get(realm.tenant.A), 200).data
    expect(owner_user_id).toBe(reports[0].user_id)
    const pages = await Promise.all(reports.map(async ({ url }) => ({ ...(await openLink(url)) })))
    const openPages = pages.filter(({ page }) => page.status === 200)
    expect(openPages).toHaveLength(1)
    const { browser, page } = openPages[0]!
    const done = await browser.submit(await browser.submit(page, { method: 'recover' }), { new_password: NEXT })
    expect(done).toMatchObject(consolePage)
    expect(await signedInUsername(browser)).toBe('new@example.com')
  })
})
