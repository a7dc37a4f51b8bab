/**
 * Sign-up, invitations, and the choice of an organization (docs/contract.md#issuer-settings,
 * docs/contract.md#invitations, docs/contract.md#grant-and-client-rules).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import type { AnyJson } from '../../setup/api.js'
import { codeInMail, linkInMail, mailsSentTo, waitForEmptyOutbox, waitForMail } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { waitUntil } from '../../setup/wait-until.js'
import { errorMessageOf, fieldValueOf, headingOf, invalidFieldsOf, type Page, TestBrowser } from '../browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from '../realm.js'

let app: TestApp

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
})
afterAll(() => app.close())

interface SignUpIssuer {
  realm: Realm
  client: TestClient
}

/**
 * Creates an issuer with sign-up by password.
 * @param signup `settings.signup`
 * @param methods fields of authentication methods by `method`; methods other than `password` are created
 */
async function createSignUpIssuer(signup: object = {}, methods: Record<string, object> = {}): Promise<SignUpIssuer> {
  const realm = await Realm.create(app, 'Open')
  const { owner, I } = realm.tenant
  expectStatus(await owner.patch(I, { settings: { signup } }), 200)
  const { data } = expectStatus(await owner.get(`${I}/auth-methods`), 200)
  expectStatus(
    await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: true, ...methods['password'] }),
    200,
  )
  for (const [method, more] of Object.entries(methods)) {
    if (method !== 'password')
      expectStatus(await owner.post(`${I}/auth-methods`, { name: method, method, ...more }), 201)
  }
  return { realm, client: await realm.createClient({ application_type: 'spa' }) }
}

let count = 0
const address = (domain = 'example.com') => `new-${++count}@${domain}`
const NEW = 'a long enough password'

async function open({ realm, client }: SignUpIssuer) {
  const begun = await realm.openSignInPage(client)
  return { ...begun, page: await begun.browser.submit(begun.page, { method: 'sign_up' }) }
}

async function signUp(at: SignUpIssuer, username: string, more: Record<string, string> = {}) {
  const begun = await open(at)
  const values = { username, new_password: NEW, method: 'make', ...more }
  return { ...begun, page: await begun.browser.submit(begun.page, values) }
}

const userOf = async ({ realm }: SignUpIssuer, username: string): Promise<AnyJson | null> =>
  app.gatehouse.database.prisma.user.findFirst({
    where: { issuerId: realm.tenant.issuerId, usernameKey: username.toLowerCase() },
  })

describe('sign-up', () => {
  test('creates the account and signs in; the password works from then on', async () => {
    const at = await createSignUpIssuer()
    const username = address()
    const { page } = await signUp(at, username, { name: 'Grace' })
    expect(redirectParametersOf(page)['code']).toBeDefined()
    expect(await userOf(at, username)).toMatchObject({
      username,
      usernameType: 'email',
      emailVerified: false,
      status: 'active',
      profile: { name: 'Grace' },
    })
    const again = await at.realm.openSignInPage(at.client)
    expect(
      redirectParametersOf(await again.browser.submit(again.page, { username, password: NEW }))['code'],
    ).toBeDefined()
    const events = await app.gatehouse.database.prisma.event.findMany({ where: { issuerId: at.realm.tenant.issuerId } })
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['user.created', 'user.verifier.created', 'user.login.succeeded', 'session.created']),
    )
    expect(JSON.stringify(events, (_, v) => (typeof v === 'bigint' ? Number(v) : v))).not.toContain(NEW)
  })

  test('is not offered, and not possible, if no method is enabled for it', async () => {
    const realm = await Realm.create(app, 'Closed')
    const client = await realm.createClient()
    const { page, browser } = await realm.openSignInPage(client)
    expect(page.html).not.toContain('value="sign_up"')
    const nextPage = await browser.submit(page, { method: 'sign_up', username: address(), new_password: NEW })
    expect(headingOf(nextPage)).toBe('Sign in')
  })

  test.each([
    ['no-address', NEW, /email address/, ['username']],
    ['x@blocked.example', NEW, /cannot be used here/, ['username']],
    ['x@sub.blocked.example', NEW, /cannot be used here/, ['username']],
    ['fine@example.com', 'short', /at least 8/, ['new_password']],
    ['fine@example.com', 'password123', /Many people/, ['new_password']],
    ['longname@example.com', 'longname-123456', /username or name/, ['new_password']],
    ['fine@example.com', '', /Fill in every field/, ['new_password']],
    ['no-address', 'short', /at least 8/, ['username', 'new_password']],
  ])(
    '%s with the password %j gets an error message at the invalid field (WCAG 3.3.1)',
    async (username, new_password, words, faulty) => {
      const at = await blocked
      const { page } = await signUp(at, username, { new_password })
      expect(errorMessageOf(page)).toMatch(words)
      expect(headingOf(page)).toBe('Create an account')
      expect(invalidFieldsOf(page)).toEqual(faulty)
      expect(page.html).toMatch(new RegExp(`<input id="${faulty[0]}"[^>]* autofocus>`))
    },
  )

  test('the entered values are kept after an error, except the password', async () => {
    const at = await createSignUpIssuer({ require_admin_approval: true })
    const typed = { name: 'Grace <Hopper>', reason: 'I "work" here' }
    const { browser, page } = await signUp(at, 'grace@example.com', { ...typed, new_password: 'short' })
    await at.realm.createUser('ada@example.com')
    const taken = await browser.submit(page, { ...typed, username: 'ada@example.com', new_password: NEW })
    for (const [shown, username] of [
      [page, 'grace@example.com'],
      [taken, 'ada@example.com'],
    ] as const) {
      const names = ['username', 'name', 'reason', 'new_password']
      expect(names.map((name) => fieldValueOf(shown, name))).toEqual([username, typed.name, typed.reason, ''])
    }
    const states = await app.gatehouse.database.prisma.loginState.findMany({
      where: { issuerId: at.realm.tenant.issuerId },
    })
    expect(JSON.stringify(states.map(({ state }) => state))).not.toMatch(/short|long enough|argon2/)
    const fresh = await at.realm.openSignInPage(at.client)
    expect(fieldValueOf(await fresh.browser.submit(fresh.page, { method: 'sign_up' }), 'name')).toBe('')
  })
  const blocked = (async () => {
    await waitUntil('the application has started', () => app)
    return createSignUpIssuer({ blocked_domains: ['blocked.example'] })
  })()

  test('allowed_domains allows only addresses of these domains', async () => {
    const at = await createSignUpIssuer({ allowed_domains: ['good.example'] })
    expect(errorMessageOf((await signUp(at, address('bad.example'))).page)).toMatch(/cannot be used here/)
    expect(errorMessageOf((await signUp(at, address('sub.good.example'))).page)).toMatch(/cannot be used here/)
    expect(errorMessageOf((await signUp(at, address('evil-good.example'))).page)).toMatch(/cannot be used here/)
    expect(redirectParametersOf((await signUp(at, address('GOOD.example'))).page)['code']).toBeDefined()
  })

  test('of 20 concurrent sign-ups with one address, one succeeds', async () => {
    const at = await createSignUpIssuer()
    const username = address()
    const pages = await Promise.all(Array.from({ length: 20 }, () => signUp(at, username)))
    expect(pages.filter(({ page }) => page.html === '')).toHaveLength(1)
    for (const { page } of pages.filter((one) => one.page.html !== '')) expect(errorMessageOf(page)).toMatch(/already/)
    const { prisma } = app.gatehouse.database
    expect(await prisma.user.count({ where: { usernameKey: username } })).toBe(1)
  })

  test('require_email_verification: nothing is created before the code; a known address is not revealed', async () => {
    const at = await createSignUpIssuer({ require_email_verification: true })
    const username = address()
    const { browser, page } = await signUp(at, username)
    expect(headingOf(page)).toBe('Check your email')
    expect(await userOf(at, username)).toBeNull()
    const back = redirectParametersOf(
      await browser.submit(page, { code: codeInMail(await waitForMail(app, username)) }),
    )
    expect(back['code']).toBeDefined()
    expect(await userOf(at, username)).toMatchObject({ emailVerified: true })

    const second = await signUp(at, username)
    expect(second.page.html.replace(/value="[^"]*"|interaction\/[\w-]+/g, '')).toBe(
      page.html.replace(/value="[^"]*"|interaction\/[\w-]+/g, ''),
    )
    expect((await waitForMail(app, username, 2)).subject).toBe('You already have an account at Open issuer')
    expect(errorMessageOf(await second.browser.submit(second.page, { code: '123456' }))).toMatch(
      /This code or link is wrong/,
    )
  })

  test('an existing user with an unverified address verifies it at the next sign-in', async () => {
    const at = await createSignUpIssuer({ require_email_verification: true })
    const username = address()
    await at.realm.createUser(username)
    const { browser, page } = await at.realm.openSignInPage(at.client)
    const nextPage = await browser.submit(page, { username, password: PASSWORD })
    expect(headingOf(nextPage)).toBe('Check your email')
    expect(
      redirectParametersOf(await browser.submit(nextPage, { code: codeInMail(await waitForMail(app, username)) }))[
        'code'
      ],
    ).toBeDefined()
    expect((await at.realm.signIn(at.client, username)).redirect['code']).toBeDefined()
    await waitForEmptyOutbox(app)
    expect(await mailsSentTo(app, username)).toHaveLength(1)
  })

  test('require_admin_approval: the account waits for approval; the decision is emailed', async () => {
    const at = await createSignUpIssuer({ require_admin_approval: true })
    const { owner, I } = at.realm.tenant
    const [yes, no] = [address(), address()]
    for (const username of [yes, no]) {
      const { page, browser } = await signUp(at, username, { reason: 'I work here' })
      expect(headingOf(page)).toBe('Waiting for approval')
      expect(headingOf(await browser.open(page.url))).toBe('Waiting for approval')
      const again = await at.realm.openSignInPage(at.client)
      expect(errorMessageOf(await again.browser.submit(again.page, { username, password: NEW }))).toMatch(
        /waiting for approval/,
      )
    }
    const { data } = expectStatus(await owner.get(`${I}/approvals`), 200)
    expect(data).toHaveLength(2)
    const detail = expectStatus(await owner.get(`${I}/approvals/${data[0].id}`), 200).data
    expect(detail).toMatchObject({ signup_reason: 'I work here', triggered_rule: 'require_admin_approval' })
    expectStatus(await owner.patch(`${I}/approvals/${data[0].id}`, { action: 'approve' }), 200)
    expectStatus(
      await owner.patch(`${I}/approvals/${data[1].id}`, { action: 'reject', reason: 'No such colleague' }),
      200,
    )
    expect((await waitForMail(app, yes)).subject).toBe('Your account at Open issuer is ready')
    expect((await waitForMail(app, no)).text).toContain('No such colleague')
    const back = await at.realm.openSignInPage(at.client)
    expect(
      redirectParametersOf(await back.browser.submit(back.page, { username: yes, password: NEW }))['code'],
    ).toBeDefined()
    const barred = await at.realm.openSignInPage(at.client)
    const nextPage = await barred.browser.submit(barred.page, { username: no, password: NEW })
    expect(errorMessageOf(nextPage)).toMatch(/not approved.*No such colleague/)
  })

  test('if email is the only sign-up method, an unknown address creates an account with its code', async () => {
    const at = await createSignUpIssuer(
      {},
      { password: { enabled_signup: false }, email_otp: { enabled_signup: true } },
    )
    const username = address()
    const { browser, page } = await at.realm.openSignInPage(at.client)
    const nextPage = await browser.submit(page, { username, method: 'email_otp' })
    expect(
      redirectParametersOf(await browser.submit(nextPage, { code: codeInMail(await waitForMail(app, username)) }))[
        'code'
      ],
    ).toBeDefined()
    expect(await userOf(at, username)).toMatchObject({ emailVerified: true, status: 'active' })
  })

  test.each(['email_otp', 'email_link'])('by %s: the tokens have the acr of this method', async (method) => {
    const at = await createSignUpIssuer({}, { password: { enabled_signup: false }, [method]: { enabled_signup: true } })
    const username = address()
    const { browser, page, verifier } = await at.realm.openSignInPage(at.client, {
      acr_values: `urn:svc:method:${method}`,
    })
    const sentPage = await browser.submit(page, { username, method })
    const mail = await waitForMail(app, username)
    const lastPage =
      method === 'email_otp'
        ? await browser.submit(sentPage, { code: codeInMail(mail) })
        : await browser.submit(await browser.open(linkInMail(mail)), { method: 'link' })
    const { body } = await at.realm.exchangeCode(at.client, {
      code: redirectParametersOf(lastPage)['code']!,
      code_verifier: verifier,
      redirect_uri: REDIRECT_URI,
    })
    expect(jwtClaims(body.id_token)).toMatchObject({ amr: ['otp'], acr: `urn:svc:method:${method}` })
  })
})

describe('an invitation', () => {
  async function invited(at: SignUpIssuer, email: string, body: object = {}) {
    const { owner, I } = at.realm.tenant
    const O = `${I}/organizations/${expectStatus(await owner.post(`${I}/organizations`, { name: 'Harbour', invitation_enabled: true }), 201).data.id}`
    expectStatus(await owner.post(`${O}/invitations`, { email, message: 'Join <us>!', ...body }), 201)
    const mail = await waitForMail(app, email)
    expect(mail.subject).toBe('You are invited to Harbour')
    return { O, owner, link: linkInMail(mail) }
  }
  const membersOf = async (owner: SignUpIssuer['realm']['tenant']['owner'], O: string) =>
    expectStatus(await owner.get(`${O}/members`), 200).data

  test('is accepted by signing in, in the browser that opened the link; afterwards the link is invalid', async () => {
    const at = await createSignUpIssuer()
    const username = address()
    const userId = await at.realm.createUser(username)
    const { O, owner, link } = await invited(at, username, { scopes: ['docs:read'] })
    const browser = new TestBrowser()
    const page = await browser.open(link)
    expect(headingOf(page)).toBe('Join Harbour')
    expect(page.html).toContain('Join &lt;us&gt;!')
    const form = await browser.submit(page, { method: 'sign_in' })
    const done = await browser.submit(form, { username, password: PASSWORD })
    expect(headingOf(done)).toBe('Welcome')
    expect(await membersOf(owner, O)).toMatchObject([{ member_id: userId, scopes: ['docs:read'] }])
    expect(headingOf(await browser.open(done.url))).toBe('Welcome')
    const used = await new TestBrowser().open(link)
    expect(used.status).toBe(400)
    expect(used.html).toContain('has been used')
  })

  test('lets an invited user sign up with invite_only, with that address only and once it is verified', async () => {
    const at = await createSignUpIssuer({ mode: 'invite_only' })
    const begun = await at.realm.openSignInPage(at.client)
    expect(begun.page.html).not.toContain('value="sign_up"')
    const refused = await begun.browser.submit(begun.page, {
      method: 'sign_up',
      username: address(),
      new_password: NEW,
    })
    expect(headingOf(refused)).toBe('Sign in')

    const email = address()
    const { O, owner, link } = await invited(at, email)
    const browser = new TestBrowser()
    const form = await browser.submit(await browser.open(link), { method: 'sign_up' })
    expect(headingOf(form)).toBe('Create an account')
    const nextPage = await browser.submit(form, { username: 'other@example.com', new_password: NEW, method: 'make' })
    expect(headingOf(nextPage)).toBe('Check your email')
    expect(await membersOf(owner, O)).toEqual([])
    const done = await browser.submit(nextPage, { code: codeInMail(await waitForMail(app, email, 2)) })
    expect(headingOf(done)).toBe('Welcome')
    expect(await userOf(at, 'other@example.com')).toBeNull()
    const user = await userOf(at, email)
    expect(user).toMatchObject({ emailVerified: true })
    expect(await membersOf(owner, O)).toMatchObject([{ member_id: user!['id'] }])
  })

  test.each(['', 'x'.repeat(43), '%00', 'a&token=b'])('not an invitation: %j', async (token) => {
    const { realm } = await emptyRealm
    const page = await new TestBrowser().open(`${realm.url}/invitation?token=${token}`)
    expect(page.status).toBe(400)
  })
  const emptyRealm = (async () => {
    await waitUntil('the application has started', () => app)
    return createSignUpIssuer()
  })()

  test('an invitation of another issuer and a revoked invitation are rejected', async () => {
    const at = await createSignUpIssuer()
    const other = await createSignUpIssuer()
    const email = address()
    const { O, owner, link } = await invited(at, email)
    const foreign = link.replace(at.realm.tenant.issuerId, other.realm.tenant.issuerId)
    expect((await new TestBrowser().open(foreign)).status).toBe(400)
    const { data } = expectStatus(await owner.get(`${O}/invitations`), 200)
    expectStatus(await owner.post(`${O}/invitations/${data[0].id}/revoke`, {}), 200)
    expect((await new TestBrowser().open(link)).status).toBe(400)
  })
})

describe('the choice of an organization (settings.restrictions.organizations.ask)', () => {
  async function member(at: SignUpIssuer, username: string, names: string[]) {
    const { owner, I } = at.realm.tenant
    const userId = await at.realm.createUser(username)
    const ids = []
    for (const name of names) {
      const { id } = expectStatus(await owner.post(`${I}/organizations`, { name }), 201).data
      expectStatus(await owner.post(`${I}/organizations/${id}/members`, { member_id: userId }), 201)
      ids.push(id as string)
    }
    return ids
  }
  const asking = (at: SignUpIssuer, more: object = {}) =>
    at.realm.createClient(
      { grant_types: ['authorization_code', 'refresh_token'] },
      { settings: { restrictions: { organizations: { ask: true, ...more } } } },
    )
  const tokens = async (at: SignUpIssuer, client: TestClient, page: Page, verifier: string) => {
    const back = redirectParametersOf(page)
    const response = await at.realm.exchangeCode(client, {
      code: back['code']!,
      code_verifier: verifier,
      redirect_uri: 'https://app.example.com/callback',
    })
    expect(response.status).toBe(200)
    return jwtClaims(response.body.access_token)
  }

  test('the user chooses one of several organizations, which is in the tokens, also after single sign-on', async () => {
    const at = await createSignUpIssuer()
    const username = address()
    const [first, second] = await member(at, username, ['One', 'Two'])
    const client = await asking(at)
    const { browser, page, verifier } = await at.realm.openSignInPage(client)
    const choice = await browser.submit(page, { username, password: PASSWORD })
    expect(headingOf(choice)).toBe('Choose an organization')
    expect(errorMessageOf(await browser.submit(choice, { organization: 'org_00000000000000000000000000' }))).toMatch(
      /one of the options/,
    )
    const again = await browser.open(choice.url)
    const claims = await tokens(at, client, await browser.submit(again, { organization: second! }), verifier)
    expect(claims).toMatchObject({ org_id: second, organizations: [{ id: second, name: 'Two' }] })
    const silent = await at.realm.openSignInPage(client, {}, browser)
    expect(await tokens(at, client, silent.page, silent.verifier)).toMatchObject({ org_id: second })
    const named = await at.realm.openSignInPage(client, { org: first! }, browser)
    expect(await tokens(at, client, named.page, named.verifier)).toMatchObject({ org_id: first })
  })

  test('the organizations that the application allows are found among hundreds of newer ones', async () => {
    const at = await createSignUpIssuer()
    const username = address()
    const ids = await member(at, username, ['One', 'Two', 'Other'])
    // Creates 200 copies of the third organization and of the user's membership in it.
    const copies = (table: string, changes: string, where: string) => `
      INSERT INTO ${table} SELECT (jsonb_populate_record(one, ${changes})).*
      FROM ${table} one, generate_series(1001, 1200) n WHERE ${where} = $1`
    const { prisma } = app.gatehouse.database
    const organization = `jsonb_build_object('id', 'org_zzzzzzzzzzzzzzzzzzzzzz' || n)`
    await prisma.$executeRawUnsafe(copies('organizations', organization, 'one.id'), ids[2])
    const membership = `jsonb_build_object('id', 'mem_zzzzzzzzzzzzzzzzzzzzzz' || n, 'org_id', 'org_zzzzzzzzzzzzzzzzzzzzzz' || n)`
    await prisma.$executeRawUnsafe(copies('organization_members', membership, 'one.org_id'), ids[2])
    const [first, second] = ids
    const client = await asking(at, { policy: 'allowlist', allowed_org_ids: [first!, second!] })
    const { browser, page, verifier } = await at.realm.openSignInPage(client)
    const choice = await browser.submit(page, { username, password: PASSWORD })
    expect(headingOf(choice)).toBe('Choose an organization')
    expect(choice.html.match(/org_\w+/g)?.sort()).toEqual([first, second])
    expect(await tokens(at, client, await browser.submit(choice, { organization: second! }), verifier)).toMatchObject({
      org_id: second,
    })
  })

  test('the only possible organization needs no choice; without a possible one the tokens have no org_id', async () => {
    const at = await createSignUpIssuer()
    const [username, loner] = [address(), address()]
    const [, only] = await member(at, username, ['One', 'Two'])
    await member(at, loner, [])
    const client = await asking(at, { policy: 'allowlist', allowed_org_ids: [only!] })
    const one = await at.realm.signIn(client, username)
    expect(await tokens(at, client, one.page, one.verifier)).toMatchObject({ org_id: only })
    const none = await at.realm.signIn(client, loner)
    expect(await tokens(at, client, none.page, none.verifier)).not.toHaveProperty('org_id')
  })

  test('a user who is signed in already is asked as well; prompt=none is interaction_required', async () => {
    const at = await createSignUpIssuer()
    const username = address()
    const [, second] = await member(at, username, ['One', 'Two'])
    const client = await asking(at)
    const { browser } = await at.realm.signIn(at.client, username)
    const silent = await at.realm.openSignInPage(client, { prompt: 'none' }, browser)
    expect(redirectParametersOf(silent.page)).toMatchObject({ error: 'interaction_required' })
    const { page, verifier } = await at.realm.openSignInPage(client, {}, browser)
    expect(headingOf(page)).toBe('Choose an organization')
    const claims = await tokens(at, client, await browser.submit(page, { organization: second! }), verifier)
    expect(claims).toMatchObject({ org_id: second })
  })
})
