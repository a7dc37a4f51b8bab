/** Accounts of one's own (spec 2.3, decisions D26, D28), invitations, and the choice of an organization (spec 5.2). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import type { Loose } from '../../setup/api.js'
import { codeIn, linkIn, mailsTo, mailTo, outboxEmpty } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { faultyOn, headingOf, type Page, problemOf, TestBrowser, valueOn } from '../browser.js'
import { claimsOf, PASSWORD, Realm, redirectOf, type TestClient } from '../setup.js'

let app: TestApp

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
})
afterAll(() => app.close())

interface House {
  realm: Realm
  client: TestClient
}

/** An issuer at which people can make accounts with a password. */
async function house(signup: object = {}, methods: Record<string, object> = {}): Promise<House> {
  const realm = await Realm.make(app, 'Open')
  const { owner, I } = realm.tenant
  must(await owner.patch(I, { settings: { signup } }), 200)
  const { data } = must(await owner.get(`${I}/auth-methods`), 200)
  must(await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: true, ...methods['password'] }), 200)
  for (const [method, more] of Object.entries(methods)) {
    if (method !== 'password') must(await owner.post(`${I}/auth-methods`, { name: method, method, ...more }), 201)
  }
  return { realm, client: await realm.client({ application_type: 'spa' }) }
}

let count = 0
const address = (domain = 'example.com') => `new-${++count}@${domain}`
const NEW = 'a long enough password'

async function open({ realm, client }: House) {
  const begun = await realm.begin(client)
  return { ...begun, page: await begun.browser.submit(begun.page, { method: 'sign_up' }) }
}

async function signUp(at: House, username: string, more: Record<string, string> = {}) {
  const begun = await open(at)
  const values = { username, new_password: NEW, method: 'make', ...more }
  return { ...begun, page: await begun.browser.submit(begun.page, values) }
}

const userOf = async ({ realm }: House, username: string): Promise<Loose | null> =>
  app.gatehouse.tools.prisma.user.findFirst({
    where: { issuerId: realm.tenant.issuerId, usernameKey: username.toLowerCase() },
  })

describe('signing up', () => {
  test('makes the account and signs in; the password works from then on', async () => {
    const at = await house()
    const username = address()
    const { page } = await signUp(at, username, { name: 'Grace' })
    expect(redirectOf(page)['code']).toBeDefined()
    expect(await userOf(at, username)).toMatchObject({
      username,
      usernameType: 'email',
      emailVerified: false,
      status: 'active',
      profile: { name: 'Grace' },
    })
    const again = await at.realm.begin(at.client)
    expect(redirectOf(await again.browser.submit(again.page, { username, password: NEW }))['code']).toBeDefined()
    const events = await app.gatehouse.tools.prisma.event.findMany({ where: { issuerId: at.realm.tenant.issuerId } })
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['user.created', 'user.verifier.created', 'user.login.succeeded', 'session.created']),
    )
    expect(JSON.stringify(events, (_, v) => (typeof v === 'bigint' ? Number(v) : v))).not.toContain(NEW)
  })

  test('is not offered, and not possible, where no method is enabled for it', async () => {
    const realm = await Realm.make(app, 'Closed')
    const client = await realm.client()
    const { page, browser } = await realm.begin(client)
    expect(page.html).not.toContain('value="sign_up"')
    const answered = await browser.submit(page, { method: 'sign_up', username: address(), new_password: NEW })
    expect(headingOf(answered)).toBe('Sign in')
  })

  test.each([
    ['no-address', NEW, /email address/, ['username']],
    ['x@blocked.example', NEW, /cannot be used here/, ['username']],
    ['x@sub.blocked.example', NEW, /cannot be used here/, ['username']],
    ['fine@example.com', 'short', /at least 8/, ['new_password']],
    ['fine@example.com', 'password123', /Many people/, ['new_password']],
    ['longname@example.com', 'longname-123456', /username or name/, ['new_password']],
    ['fine@example.com', '', /fill in every field/, ['new_password']],
    ['no-address', 'short', /at least 8/, ['username', 'new_password']],
  ])(
    '%s with the password %j is refused in words, at the field (WCAG 3.3.1)',
    async (username, new_password, words, faulty) => {
      const at = await blocked
      const { page } = await signUp(at, username, { new_password })
      expect(problemOf(page)).toMatch(words)
      expect(headingOf(page)).toBe('Create an account')
      expect(faultyOn(page)).toEqual(faulty)
      expect(page.html).toMatch(new RegExp(`<input id="${faulty[0]}"[^>]* autofocus>`))
    },
  )

  test('what was typed is there again after a refusal, but for the password', async () => {
    const at = await house({ require_admin_approval: true })
    const typed = { name: 'Grace <Hopper>', reason: 'I "work" here' }
    const { browser, page } = await signUp(at, 'grace@example.com', { ...typed, new_password: 'short' })
    await at.realm.user('ada@example.com')
    const taken = await browser.submit(page, { ...typed, username: 'ada@example.com', new_password: NEW })
    for (const [shown, username] of [
      [page, 'grace@example.com'],
      [taken, 'ada@example.com'],
    ] as const) {
      const names = ['username', 'name', 'reason', 'new_password']
      expect(names.map((name) => valueOn(shown, name))).toEqual([username, typed.name, typed.reason, ''])
    }
    const states = await app.gatehouse.tools.prisma.loginState.findMany({
      where: { issuerId: at.realm.tenant.issuerId },
    })
    expect(JSON.stringify(states.map(({ state }) => state))).not.toMatch(/short|long enough|argon2/)
    const fresh = await at.realm.begin(at.client)
    expect(valueOn(await fresh.browser.submit(fresh.page, { method: 'sign_up' }), 'name')).toBe('')
  })
  const blocked = (async () => {
    while (!app) await new Promise((go) => setTimeout(go, 20))
    return house({ blocked_domains: ['blocked.example'] })
  })()

  test('allowed_domains lets in exactly those', async () => {
    const at = await house({ allowed_domains: ['good.example'] })
    expect(problemOf((await signUp(at, address('bad.example'))).page)).toMatch(/cannot be used here/)
    expect(problemOf((await signUp(at, address('sub.good.example'))).page)).toMatch(/cannot be used here/)
    expect(problemOf((await signUp(at, address('evil-good.example'))).page)).toMatch(/cannot be used here/)
    expect(redirectOf((await signUp(at, address('GOOD.example'))).page)['code']).toBeDefined()
  })

  test('of 20 who sign up with one address at once, one gets it', async () => {
    const at = await house()
    const username = address()
    const pages = await Promise.all(Array.from({ length: 20 }, () => signUp(at, username)))
    expect(pages.filter(({ page }) => page.html === '')).toHaveLength(1)
    for (const { page } of pages.filter((one) => one.page.html !== '')) expect(problemOf(page)).toMatch(/already/)
    const { prisma } = app.gatehouse.tools
    expect(await prisma.user.count({ where: { usernameKey: username } })).toBe(1)
  })

  test('require_email_verification: nothing is made before the code; a known address is not told apart', async () => {
    const at = await house({ require_email_verification: true })
    const username = address()
    const { browser, page } = await signUp(at, username)
    expect(headingOf(page)).toBe('Check your mail')
    expect(await userOf(at, username)).toBeNull()
    const back = redirectOf(await browser.submit(page, { code: codeIn(await mailTo(app, username)) }))
    expect(back['code']).toBeDefined()
    expect(await userOf(at, username)).toMatchObject({ emailVerified: true })

    const second = await signUp(at, username)
    expect(second.page.html.replace(/value="[^"]*"|interaction\/[\w-]+/g, '')).toBe(
      page.html.replace(/value="[^"]*"|interaction\/[\w-]+/g, ''),
    )
    expect((await mailTo(app, username, 2)).subject).toBe('You already have an account at Open issuer')
    expect(problemOf(await second.browser.submit(second.page, { code: '123456' }))).toMatch(/not the code/)
  })

  test('an existing user with an unconfirmed address confirms it at the next sign-in', async () => {
    const at = await house({ require_email_verification: true })
    const username = address()
    await at.realm.user(username)
    const { browser, page } = await at.realm.begin(at.client)
    const asked = await browser.submit(page, { username, password: PASSWORD })
    expect(headingOf(asked)).toBe('Check your mail')
    expect(redirectOf(await browser.submit(asked, { code: codeIn(await mailTo(app, username)) }))['code']).toBeDefined()
    expect((await at.realm.signIn(at.client, username)).redirect['code']).toBeDefined()
    await outboxEmpty(app)
    expect(await mailsTo(app, username)).toHaveLength(1)
  })

  test('require_admin_approval: the account waits at the approval desk; the decision is mailed', async () => {
    const at = await house({ require_admin_approval: true })
    const { owner, I } = at.realm.tenant
    const [yes, no] = [address(), address()]
    for (const username of [yes, no]) {
      const { page, browser } = await signUp(at, username, { reason: 'I work here' })
      expect(headingOf(page)).toBe('Almost there')
      expect(headingOf(await browser.open(page.url))).toBe('Almost there')
      const again = await at.realm.begin(at.client)
      expect(problemOf(await again.browser.submit(again.page, { username, password: NEW }))).toMatch(
        /waiting for approval/,
      )
    }
    const { data } = must(await owner.get(`${I}/approvals`), 200)
    expect(data).toHaveLength(2)
    const detail = must(await owner.get(`${I}/approvals/${data[0].id}`), 200).data
    expect(detail).toMatchObject({ signup_reason: 'I work here', triggered_rule: 'require_admin_approval' })
    must(await owner.patch(`${I}/approvals/${data[0].id}`, { action: 'approve' }), 200)
    must(await owner.patch(`${I}/approvals/${data[1].id}`, { action: 'reject', reason: 'No such colleague' }), 200)
    expect((await mailTo(app, yes)).subject).toBe('Your account at Open issuer is ready')
    expect((await mailTo(app, no)).text).toContain('No such colleague')
    const back = await at.realm.begin(at.client)
    expect(redirectOf(await back.browser.submit(back.page, { username: yes, password: NEW }))['code']).toBeDefined()
    const barred = await at.realm.begin(at.client)
    const answered = await barred.browser.submit(barred.page, { username: no, password: NEW })
    expect(problemOf(answered)).toMatch(/not approved.*No such colleague/)
  })

  test('where only mail is a way to sign up, an unknown address makes an account by its code', async () => {
    const at = await house({}, { password: { enabled_signup: false }, email_otp: { enabled_signup: true } })
    const username = address()
    const { browser, page } = await at.realm.begin(at.client)
    const asked = await browser.submit(page, { username, method: 'email_otp' })
    expect(redirectOf(await browser.submit(asked, { code: codeIn(await mailTo(app, username)) }))['code']).toBeDefined()
    expect(await userOf(at, username)).toMatchObject({ emailVerified: true, status: 'active' })
  })
})

describe('an invitation', () => {
  async function invited(at: House, email: string, body: object = {}) {
    const { owner, I } = at.realm.tenant
    const O = `${I}/organizations/${must(await owner.post(`${I}/organizations`, { name: 'Harbour', invitation_enabled: true }), 201).data.id}`
    must(await owner.post(`${O}/invitations`, { email, message: 'Join <us>!', ...body }), 201)
    const mail = await mailTo(app, email)
    expect(mail.subject).toBe('You are invited to Harbour')
    return { O, owner, link: linkIn(mail) }
  }
  const membersOf = async (owner: House['realm']['tenant']['owner'], O: string) =>
    must(await owner.get(`${O}/members`), 200).data

  test('is accepted by signing in, in the browser that opened it; then its link is used up', async () => {
    const at = await house()
    const username = address()
    const userId = await at.realm.user(username)
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

  test('lets an invited person sign up where it is by invitation only, with that address alone and once it is proved', async () => {
    const at = await house({ mode: 'invite_only' })
    const begun = await at.realm.begin(at.client)
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
    const asked = await browser.submit(form, { username: 'other@example.com', new_password: NEW, method: 'make' })
    expect(headingOf(asked)).toBe('Check your mail')
    expect(await membersOf(owner, O)).toEqual([])
    const done = await browser.submit(asked, { code: codeIn(await mailTo(app, email, 2)) })
    expect(headingOf(done)).toBe('Welcome')
    expect(await userOf(at, 'other@example.com')).toBeNull()
    const user = await userOf(at, email)
    expect(user).toMatchObject({ emailVerified: true })
    expect(await membersOf(owner, O)).toMatchObject([{ member_id: user!['id'] }])
  })

  test.each(['', 'x'.repeat(43), '%00', 'a&token=b'])('no invitation: %j', async (token) => {
    const { realm } = await nobody
    const page = await new TestBrowser().open(`${realm.url}/invitation?token=${token}`)
    expect(page.status).toBe(400)
  })
  const nobody = (async () => {
    while (!app) await new Promise((go) => setTimeout(go, 20))
    return house()
  })()

  test("another issuer's link leads nowhere, and a revoked one neither", async () => {
    const at = await house()
    const other = await house()
    const email = address()
    const { O, owner, link } = await invited(at, email)
    const foreign = link.replace(at.realm.tenant.issuerId, other.realm.tenant.issuerId)
    expect((await new TestBrowser().open(foreign)).status).toBe(400)
    const { data } = must(await owner.get(`${O}/invitations`), 200)
    must(await owner.post(`${O}/invitations/${data[0].id}/revoke`, {}), 200)
    expect((await new TestBrowser().open(link)).status).toBe(400)
  })
})

describe('the choice of an organization (settings.restrictions.organizations.ask)', () => {
  async function member(at: House, username: string, names: string[]) {
    const { owner, I } = at.realm.tenant
    const userId = await at.realm.user(username)
    const ids = []
    for (const name of names) {
      const { id } = must(await owner.post(`${I}/organizations`, { name }), 201).data
      must(await owner.post(`${I}/organizations/${id}/members`, { member_id: userId }), 201)
      ids.push(id as string)
    }
    return ids
  }
  const asking = (at: House, more: object = {}) =>
    at.realm.client(
      { grant_types: ['authorization_code', 'refresh_token'] },
      { settings: { restrictions: { organizations: { ask: true, ...more } } } },
    )
  const tokens = async (at: House, client: TestClient, page: Page, verifier: string) => {
    const back = redirectOf(page)
    const answer = await at.realm.exchange(client, {
      code: back['code']!,
      code_verifier: verifier,
      redirect_uri: 'https://app.example.com/callback',
    })
    expect(answer.status).toBe(200)
    return claimsOf(answer.body.access_token)
  }

  test('of several that fit one is chosen and the tokens hold that one; it stands for the next time', async () => {
    const at = await house()
    const username = address()
    const [first, second] = await member(at, username, ['One', 'Two'])
    const client = await asking(at)
    const { browser, page, verifier } = await at.realm.begin(client)
    const choice = await browser.submit(page, { username, password: PASSWORD })
    expect(headingOf(choice)).toBe('Choose an organization')
    expect(problemOf(await browser.submit(choice, { organization: 'org_00000000000000000000000000' }))).toMatch(
      /one of these/,
    )
    const again = await browser.open(choice.url)
    const claims = await tokens(at, client, await browser.submit(again, { organization: second! }), verifier)
    expect(claims).toMatchObject({ org_id: second, organizations: [{ id: second, name: 'Two' }] })
    const silent = await at.realm.begin(client, {}, browser)
    expect(await tokens(at, client, silent.page, silent.verifier)).toMatchObject({ org_id: second })
    const named = await at.realm.begin(client, { org: first! }, browser)
    expect(await tokens(at, client, named.page, named.verifier)).toMatchObject({ org_id: first })
  })

  test('those that the application allows are found among hundreds of newer ones', async () => {
    const at = await house()
    const username = address()
    const ids = await member(at, username, ['One', 'Two', 'Other'])
    // As the third one, two hundred times.
    const copies = (table: string, changes: string, where: string) => `
      INSERT INTO ${table} SELECT (jsonb_populate_record(one, ${changes})).*
      FROM ${table} one, generate_series(1001, 1200) n WHERE ${where} = $1`
    const { prisma } = app.gatehouse.tools
    const organization = `jsonb_build_object('id', 'org_zzzzzzzzzzzzzzzzzzzzzz' || n)`
    await prisma.$executeRawUnsafe(copies('organizations', organization, 'one.id'), ids[2])
    const membership = `jsonb_build_object('id', 'mem_zzzzzzzzzzzzzzzzzzzzzz' || n, 'org_id', 'org_zzzzzzzzzzzzzzzzzzzzzz' || n)`
    await prisma.$executeRawUnsafe(copies('organization_members', membership, 'one.org_id'), ids[2])
    const [first, second] = ids
    const client = await asking(at, { policy: 'allowlist', allowed_org_ids: [first!, second!] })
    const { browser, page, verifier } = await at.realm.begin(client)
    const choice = await browser.submit(page, { username, password: PASSWORD })
    expect(headingOf(choice)).toBe('Choose an organization')
    expect(choice.html.match(/org_\w+/g)?.sort()).toEqual([first, second])
    expect(await tokens(at, client, await browser.submit(choice, { organization: second! }), verifier)).toMatchObject({
      org_id: second,
    })
  })

  test('the only one that fits needs no choice; without any the tokens hold none', async () => {
    const at = await house()
    const [username, loner] = [address(), address()]
    const [, only] = await member(at, username, ['One', 'Two'])
    await member(at, loner, [])
    const client = await asking(at, { policy: 'allowlist', allowed_org_ids: [only!] })
    const one = await at.realm.signIn(client, username)
    expect(await tokens(at, client, one.page, one.verifier)).toMatchObject({ org_id: only })
    const none = await at.realm.signIn(client, loner)
    expect(await tokens(at, client, none.page, none.verifier)).not.toHaveProperty('org_id')
  })

  test('whoever is signed in already is asked as well; prompt=none is told interaction_required', async () => {
    const at = await house()
    const username = address()
    const [, second] = await member(at, username, ['One', 'Two'])
    const client = await asking(at)
    const { browser } = await at.realm.signIn(at.client, username)
    const silent = await at.realm.begin(client, { prompt: 'none' }, browser)
    expect(redirectOf(silent.page)).toMatchObject({ error: 'interaction_required' })
    const { page, verifier } = await at.realm.begin(client, {}, browser)
    expect(headingOf(page)).toBe('Choose an organization')
    const claims = await tokens(at, client, await browser.submit(page, { organization: second! }), verifier)
    expect(claims).toMatchObject({ org_id: second })
  })
})
