/** `gatehouse admin recover`: nobody who runs the server is locked out of the console (decision 0067). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs.js'
import { recoverAdministrator } from '../../src/recover.js'
import { headingOf, type Page, problemOf, type TestBrowser } from '../idp/browser.js'
import { PASSWORD, Realm } from '../idp/setup.js'
import { makeTenant, must } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { secretKey as SECRET_KEY } from '../setup/database.js'
import { listenTo } from '../setup/events.js'
import { addMethods, buttonsOn, giveBackupCodes, givePasskey, giveTotp, type Person } from '../setup/factors.js'
import { mailsTo, outboxEmpty } from '../setup/mail.js'
import { runCli } from '../setup/process.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'

const NEXT = 'another correct horse battery staple'

let app: TestApp
let realm: Realm
let prisma: TestApp['gatehouse']['tools']['prisma']
let ada: Person

beforeAll(async () => {
  const env = { BOOTSTRAP_ADMIN_EMAIL: 'ada@example.com', BOOTSTRAP_ADMIN_PASSWORD: PASSWORD }
  app = await startApp({ env, roles: ['core', 'idp', 'worker'] })
  prisma = app.gatehouse.tools.prisma
  realm = await consoleRealm()
  const { owner_user_id: id } = must(await app.operator.get(realm.tenant.A), 200).data
  ada = personOf(id, 'ada@example.com')
})
afterAll(() => app.close())

/** Every test begins with the same administrator: one password, no second factor, no demand for one. */
beforeEach(async () => {
  await prisma.verifier.deleteMany({ where: { issuerId: realm.tenant.issuerId } })
  await prisma.user.updateMany({ where: { id: ada.id }, data: { status: 'active', purgeAt: null } })
  await prisma.authMethod.deleteMany({ where: { issuerId: realm.tenant.issuerId, method: { not: 'password' } } })
  must(await app.operator.post(ada.path, { type: 'password', name: null, password: PASSWORD }), 201)
  await settings({ security: { mfa_required: false } })
})

async function consoleRealm(): Promise<Realm> {
  const row = await prisma.deployment.findUniqueOrThrow({ where: { name: 'console' } })
  const { account_id: accountId, issuer_id: issuerId } = row.value as { account_id: string; issuer_id: string }
  const A = `/v1/accounts/${accountId}`
  return new Realm(app, { app, accountId, issuerId, A, I: `${A}/issuers/${issuerId}`, owner: app.operator })
}

const personOf = (id: string, username: string): Person => ({
  id,
  username,
  path: `${realm.tenant.I}/users/${id}/verifiers`,
})

const settings = async (patch: object) => must(await app.operator.patch(realm.tenant.I, { settings: patch }), 200)

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

/** The same in this process, at the time of the test's clock. */
const recover = (email = ada.username, reactivate = false) =>
  recoverAdministrator(systemContext(app.gatehouse), { email, reactivate })

/** Opens a link up to the page that asks what is lost. */
async function opened(url: string, browser = realm.browser()): Promise<{ browser: TestBrowser; page: Page }> {
  return { browser, page: await browser.open(url) }
}

const typesOf = async (userId: string): Promise<string[]> =>
  (await prisma.verifier.findMany({ where: { userId }, orderBy: { type: 'asc' } })).map(({ type }) => type)

/** Signs in to the console by password; the page after it. */
async function withPassword(password: string, username = ada.username, browser = realm.browser()) {
  const page = await browser.submit(await browser.open(`${app.baseUrl}/console`), { username, password })
  return { browser, page }
}

const isConsole = { status: 200, url: expect.stringMatching(/\/console$/) }

/** Who the console says is signed in with this browser. */
const whoIs = async (browser: TestBrowser): Promise<string | undefined> =>
  ((await (await browser.request(`${app.baseUrl}/console/session`)).json()) as Loose).user?.username

const gone = (page: Page) => {
  expect(page.status).toBe(400)
  expect(page.html).toContain('This recovery link has been used or replaced')
}

describe('a person who lost everything', () => {
  test('signs in with the link, sets a new password and a new factor, and is in the console', async () => {
    await settings({ security: { mfa_required: true } })
    await giveTotp(realm, ada)
    const before = await prisma.verifier.findMany({ where: { userId: ada.id } })
    const trail = await listenTo(app, realm.tenant.accountId)

    const { code, stdout } = await gatehouse('--email', 'Ada@Example.com', '--json')
    expect(code).toBe(0)
    const answer = JSON.parse(stdout)
    expect(answer).toMatchObject({
      user_id: ada.id,
      username: ada.username,
      created: false,
      made_owner: false,
      reactivated_from: null,
      repaired: [],
    })
    expect(answer.expires_at - Date.now()).toBeGreaterThan(13 * 60_000)
    expect(answer.expires_at - Date.now()).toBeLessThanOrEqual(15 * 60_000)
    const [created] = await trail('user.recovery_link.')
    expect(created).toMatchObject({
      type: 'user.recovery_link.created',
      userId: ada.id,
      authType: 'system',
      data: { expires_at: answer.expires_at },
    })

    const { browser, page } = await opened(answer.url)
    expect(headingOf(page)).toBe('Recover your access')
    expect(page.html).toContain('ada@example.com')
    expect(page.html).toMatch(/type="checkbox" name="lost_vrf_\w+" value="yes" checked>Authenticator app/)
    const password = await browser.submit(page, { method: 'recover' })
    expect(headingOf(password)).toBe('Choose a new password')
    // Until the new password is saved, the old credentials stay as they are.
    expect(await prisma.verifier.findMany({ where: { userId: ada.id } })).toEqual(before)
    const enrol = await browser.submit(password, { new_password: NEXT })
    expect(headingOf(enrol)).toBe('Set up an authenticator app')
    expect(await typesOf(ada.id)).toEqual(['password'])
    const secret = /class="secret">([^<]*)</.exec(enrol.html)![1]!.replaceAll(' ', '')
    const codes = await browser.submit(enrol, { code: totpCode(secret, app.clock.now()) })
    expect(headingOf(codes)).toBe('Save your backup codes')
    expect(await browser.submit(codes, { method: 'kept' })).toMatchObject(isConsole)
    expect(await whoIs(browser)).toBe(ada.username)
    expect(await typesOf(ada.id)).toEqual(['backup_codes', 'password', 'totp'])

    const events = await trail('user.')
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
    await outboxEmpty(app)
    const subjects = (await mailsTo(app, ada.username)).map(({ subject }) => subject)
    expect(subjects).toEqual(
      expect.arrayContaining([
        'Your account at Gatehouse console is being recovered',
        'A credential of your account at Gatehouse console was removed',
        'Your password for Gatehouse console was changed',
      ]),
    )
    // Nothing that is stored or told opens the door.
    const token = new URL(answer.url).searchParams.get('token')!
    const rows = [
      await prisma.deployment.findMany(),
      await prisma.loginState.findMany(),
      await prisma.idpArtifact.findMany(),
    ]
    const stored = JSON.stringify([rows, events], (_, value) => (typeof value === 'bigint' ? Number(value) : value))
    expect(stored).not.toContain(token.split('.')[1])

    expect(problemOf((await withPassword(PASSWORD)).page)).toMatch(/do not match/)
    expect(headingOf((await withPassword(NEXT)).page)).toBe('One more step')
  })

  test('ends all sessions from before, and a lock after failed attempts', async () => {
    const { browser: other, page: elsewhere } = await withPassword(PASSWORD)
    expect(elsewhere).toMatchObject(isConsole)
    for (let tries = 0; tries < 6; tries++) await withPassword('wrong password')
    expect(problemOf((await withPassword(PASSWORD)).page)).toBeDefined()

    const { browser, page } = await opened((await recover()).url)
    expect(
      await browser.submit(await browser.submit(page, { method: 'recover' }), { new_password: NEXT }),
    ).toMatchObject(isConsole)
    const asked = await other.request(`${app.baseUrl}/console/graphql`, {
      method: 'POST',
      body: '{"query":"{ me { id } }"}',
      headers: { origin: app.baseUrl, 'content-type': 'application/json', 'x-gatehouse-console': '1' },
    })
    expect(asked.status).toBe(401)
    expect((await withPassword(NEXT)).page).toMatchObject(isConsole)
  })

  test('with a passkey alone, where the console has no password method: makes another passkey', async () => {
    await addMethods(realm, 'passkey')
    await prisma.verifier.deleteMany({ where: { userId: ada.id } })
    await givePasskey(realm, ada)
    const [method] = await prisma.authMethod.findMany({
      where: { issuerId: realm.tenant.issuerId, method: 'password' },
    })
    const path = `${realm.tenant.I}/auth-methods/${method!.id}`
    must(await app.operator.patch(path, { enabled_login: false }), 200)
    try {
      const { browser, page } = await opened((await recover()).url)
      expect(page.html).toContain('Passkey')
      expect(headingOf(await browser.submit(page, { method: 'recover' }))).toBe('Create a passkey')
    } finally {
      must(await app.operator.patch(path, { enabled_login: true }), 200)
    }
  })

  test('where the address must be confirmed first and mail may not work', async () => {
    await settings({ signup: { require_email_verification: true } })
    await prisma.user.update({ where: { id: ada.id }, data: { emailVerified: false } })
    const { browser, page } = await opened((await recover()).url)
    const done = await browser.submit(await browser.submit(page, { method: 'recover' }), { new_password: NEXT })
    expect(done).toMatchObject(isConsole)
    await settings({ signup: { require_email_verification: false } })
  })
})

describe('a person who lost one factor of several', () => {
  test('keeps the others, and one of them is asked for', async () => {
    await addMethods(realm, 'totp', 'backup_codes')
    const [code] = await giveBackupCodes(realm, ada)
    await giveTotp(realm, ada)
    const { browser, page } = await opened((await recover()).url)
    const rows = await prisma.verifier.findMany({ where: { userId: ada.id, type: 'backup_codes' } })
    const factor = await browser.submit(page, { method: 'recover', [`lost_${rows[0]!.id}`]: 'no' })
    // The kept codes guard the new password, and the lost app is not among the choices.
    expect(headingOf(factor)).toBe('One more step')
    expect(buttonsOn(factor)).toEqual(['code', 'back'])
    expect(await typesOf(ada.id)).toEqual(['backup_codes', 'password', 'totp'])
    const password = await browser.submit(factor, { code: code! })
    expect(await browser.submit(password, { new_password: NEXT })).toMatchObject(isConsole)
    expect(await typesOf(ada.id)).toEqual(['backup_codes', 'password'])
  })

  test('a lost factor is replaced, also where none is demanded', async () => {
    await addMethods(realm, 'totp')
    await giveTotp(realm, ada)
    const { browser, page } = await opened((await recover()).url)
    const password = await browser.submit(page, { method: 'recover' })
    expect(headingOf(await browser.submit(password, { new_password: NEXT }))).toBe('Set up an authenticator app')
  })
})

describe('the link', () => {
  test('opening it uses nothing up; it signs in once', async () => {
    const { url } = await recover()
    await opened(url)
    await opened(url)
    const { browser, page } = await opened(url)
    expect(headingOf(await browser.submit(page, { method: 'recover' }))).toBe('Choose a new password')
    gone((await opened(url)).page)
  })

  test('works once when two processes use it at the same moment', async () => {
    const second = await app.second()
    for (let round = 0; round < 3; round++) {
      const { url } = await recover()
      const [one, two] = [await opened(url), await opened(url)]
      const there = { ...two.page, url: two.page.url.replace(app.idpUrl, second.idpUrl) }
      const answers = await Promise.all([
        one.browser.submit(one.page, { method: 'recover' }),
        two.browser.submit(there, { method: 'recover' }),
      ])
      const told = answers.map((page) => headingOf(page))
      expect(told.sort()).toEqual(['Choose a new password', 'Sign in'])
      const loser = answers.find((page) => headingOf(page) === 'Sign in')!
      expect(problemOf(loser)).toMatch(/recovery link has been used/)
    }
  })

  test('a new one ends the one before', async () => {
    const first = await recover()
    const { browser, page } = await opened(first.url)
    const next = await recover()
    gone((await opened(first.url)).page)
    expect(problemOf(await browser.submit(page, { method: 'recover' }))).toMatch(/recovery link has been used/)
    expect(headingOf((await opened(next.url)).page)).toBe('Recover your access')
  })

  test('works for fifteen minutes', async () => {
    const createdAgo = (ago: number) => {
      const then = { ...app.gatehouse, now: () => app.clock.now() - ago }
      return recoverAdministrator(systemContext(then), { email: ada.username, reactivate: false })
    }
    expect(headingOf((await opened((await createdAgo(14 * 60_000 + 50_000)).url)).page)).toBe('Recover your access')
    gone((await opened((await createdAgo(15 * 60_000)).url)).page)
  })

  const changes: Record<string, () => Promise<unknown>> = {
    'a new password': async () => {
      const [row] = await prisma.verifier.findMany({ where: { userId: ada.id, type: 'password' } })
      must(await app.operator.patch(`${ada.path}/${row!.id}`, { password: NEXT }), 200)
    },
    'another factor': () => giveBackupCodes(realm, ada),
    'a suspension, lifted since': async () => {
      await prisma.user.update({ where: { id: ada.id }, data: { status: 'suspended', statusAt: app.clock.now() } })
      await recover(ada.username, true)
    },
    'a suspension': () => prisma.user.update({ where: { id: ada.id }, data: { status: 'suspended' } }),
  }
  test.each(Object.entries(changes))('ends with a change of the account: %s', async (_, change) => {
    const { url } = await recover()
    const { browser, page } = await opened(url)
    await change()
    gone((await opened(url)).page)
    expect(problemOf(await browser.submit(page, { method: 'recover' }))).toMatch(/recovery link has been used/)
  })

  test('of another issuer, or made up, opens nothing', async () => {
    const { url } = await recover()
    const tenant = await makeTenant(app, 'Elsewhere')
    gone((await opened(url.replace(realm.tenant.issuerId, tenant.issuerId))).page)
    for (const token of ['', 'x', `${ada.id}.`, `${ada.id}.${'A'.repeat(43)}`, '%00'])
      expect((await opened(`${realm.url}/recovery?token=${token}`)).page.status).toBe(400)
    expect(headingOf((await opened(url)).page)).toBe('Recover your access')
  })

  test('whoever does not want it signs in as always', async () => {
    const { browser, page } = await opened((await recover()).url)
    const form = await browser.submit(page, { method: 'back' })
    expect(headingOf(form)).toBe('Sign in')
    expect(await browser.submit(form, { username: ada.username, password: PASSWORD })).toMatchObject(isConsole)
  })
})

describe('whom it recovers', () => {
  /** Further people of the console. */
  async function user(username: string, more: object = {}): Promise<string> {
    const body = { username_type: 'unique', username, ...more }
    return must(await app.operator.post(`${realm.tenant.I}/users`, body), 201).data.id
  }

  test('nobody for an email that no administrator has: the error says who there is', async () => {
    await realm.user('reader@example.com')
    for (const email of ['nobody@example.com', 'reader@example.com']) {
      const { code, output } = await gatehouse('--email', email, '--json')
      expect(code).toBe(1)
      expect(JSON.parse(output).error_description).toBe(
        `No administrator has the username or address ${email}. Administrators of this deployment: ada@example.com. Run the command with one of these; they can make further people administrators in the console.`,
      )
    }
  })

  test('not the user of a tenant with the same email', async () => {
    const tenant = await makeTenant(app, 'Same')
    const { data } = must(
      await tenant.owner.post(`${tenant.I}/users`, { username_type: 'email', username: ada.username }),
      201,
    )
    expect((await recover()).userId).toBe(ada.id)
    expect(data.id).not.toBe(ada.id)
  })

  test('by the address of the profile; of several only the administrator, else the error asks for a username', async () => {
    const { admin_org_id } = must(await app.operator.get(realm.tenant.A), 200).data
    const profile = { email: 'team@example.com' }
    const [grace] = [await user('grace', { profile }), await user('linus', { profile })]
    await expect(recover('team@example.com')).rejects.toThrow(/Give the username of one instead: grace, linus\./)
    const members = `${realm.tenant.I}/organizations/${admin_org_id}/members`
    must(await app.operator.post(members, { member_id: grace, scopes: ['events:read'] }), 201)
    expect((await recover('team@example.com')).userId).toBe(grace)
    expect((await recover('grace')).userId).toBe(grace)
  })

  test.each(['suspended', 'blocked', 'disabled', 'pending_deletion'])(
    'a %s administrator with --reactivate alone',
    async (status) => {
      await prisma.user.update({ where: { id: ada.id }, data: { status, purgeAt: Date.now() + 1_000_000 } })
      const message = new RegExp(`ada@example.com is ${status}.*Add --reactivate`)
      await expect(recover()).rejects.toThrow(message)
      const trail = await listenTo(app, realm.tenant.accountId)
      const made = await recover(ada.username, true)
      expect(made).toMatchObject({ userId: ada.id, reactivatedFrom: status, created: false })
      expect(await trail('user.status.')).toMatchObject([{ changes: { status: { old: status, new: 'active' } } }])
      expect(await prisma.user.findUnique({ where: { id: ada.id } })).toMatchObject({ status: 'active', purgeAt: null })
      expect(headingOf((await opened(made.url)).page)).toBe('Recover your access')
    },
  )

  test('on the command line the error names the option', async () => {
    await prisma.user.update({ where: { id: ada.id }, data: { status: 'suspended' } })
    expect(await gatehouse('--email', ada.username)).toMatchObject({
      code: 1,
      output: expect.stringContaining('Add --reactivate'),
    })
    const { code, output } = await gatehouse('--email', ada.username, '--reactivate')
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringMatching(/ada@example.com was suspended and is active now.*\/recovery\?token=.*15 minutes/s),
    })
  })

  test('a console that was deleted by an older version comes back with the link', async () => {
    const data = { status: 'deleted', updatedAt: app.clock.now() }
    await prisma.client.updateMany({ where: { issuerId: realm.tenant.issuerId }, data })
    await prisma.issuer.update({ where: { id: realm.tenant.issuerId }, data })
    const { code, stdout } = await gatehouse('--email', ada.username, '--json')
    expect({ code, answer: JSON.parse(stdout) }).toMatchObject({ code: 0, answer: { repaired: ['issuer', 'client'] } })
    const { browser, page } = await opened(JSON.parse(stdout).url)
    const done = await browser.submit(await browser.submit(page, { method: 'recover' }), { new_password: NEXT })
    expect(done).toMatchObject(isConsole)
  })

  test('no administrator left: creates one, who owns the system account', async () => {
    await prisma.organizationMember.deleteMany({ where: { issuerId: realm.tenant.issuerId } })
    await prisma.user.updateMany({ where: { id: ada.id }, data: { status: 'deleted', username: '', usernameKey: '' } })
    const [one, two] = await Promise.all([
      gatehouse('--email', 'new@example.com', '--json'),
      gatehouse('--email', 'new@example.com', '--json'),
    ])
    const answers = [one, two].map(({ stdout }) => JSON.parse(stdout))
    expect(answers.map(({ created }) => created).sort()).toEqual([false, true])
    expect(answers[0].user_id).toBe(answers[1].user_id)
    const { owner_user_id } = must(await app.operator.get(realm.tenant.A), 200).data
    expect(owner_user_id).toBe(answers[0].user_id)
    const pages = await Promise.all(answers.map(async ({ url }) => ({ ...(await opened(url)) })))
    const works = pages.filter(({ page }) => page.status === 200)
    expect(works).toHaveLength(1)
    const { browser, page } = works[0]!
    const done = await browser.submit(await browser.submit(page, { method: 'recover' }), { new_password: NEXT })
    expect(done).toMatchObject(isConsole)
    expect(await whoIs(browser)).toBe('new@example.com')
  })
})
