/** An account that is made together with a passkey (spec 2.3, 2.4, decisions D26; security rules 1, 4, 22). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import { Passkey } from '../../setup/authenticator.js'
import { buttonsOn, optionsOn } from '../../setup/factors.js'
import { codeIn, linkIn, mailTo } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { headingOf, type Page, problemOf, TestBrowser, valueOn } from '../browser.js'
import { CALLBACK, claimsOf, Realm, redirectOf, type TestClient } from '../setup.js'

let app: TestApp

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
})
afterAll(() => app.close())

interface House {
  realm: Realm
  client: TestClient
  passkeyMethod: string
}

/** An issuer at which people can make accounts with a password or a passkey, unless told otherwise. */
async function house(
  signup: object = {},
  { password = true, passkey = true, more = [] as string[] } = {},
): Promise<House> {
  const realm = await Realm.make(app, 'Open')
  const { owner, I } = realm.tenant
  must(await owner.patch(I, { settings: { signup } }), 200)
  const { data } = must(await owner.get(`${I}/auth-methods`), 200)
  must(await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: password }), 200)
  const body = { name: 'Passkey', method: 'passkey', enabled_signup: passkey }
  const { id } = must(await owner.post(`${I}/auth-methods`, body), 201).data
  for (const method of more) must(await owner.post(`${I}/auth-methods`, { name: method, method }), 201)
  return { realm, client: await realm.client({ application_type: 'spa' }), passkeyMethod: id }
}

let count = 0
const address = (domain = 'example.com') => `keyed-${++count}@${domain}`

/** The page after the form that says who it is. */
async function fill(at: House, username: string, more: Record<string, string> = {}, browser = new TestBrowser()) {
  const begun = await at.realm.begin(at.client, {}, browser)
  const form = await browser.submit(begun.page, { method: 'sign_up' })
  return { ...begun, browser, form, page: await browser.submit(form, { username, method: 'passkey', ...more }) }
}

/** The passkey that this page asks for, and its answer. */
function made(page: Page): { passkey: Passkey; credential: string } {
  const options = optionsOn(page)
  const id = Buffer.from(options.user.id, 'base64url').toString()
  const passkey = new Passkey(id, new URL(app.idpUrl).origin)
  return { passkey, credential: passkey.register(options) }
}

const usersOf = ({ realm }: House) =>
  app.gatehouse.tools.prisma.user.findMany({
    where: { issuerId: realm.tenant.issuerId },
    include: { verifiers: true },
  })

test('makes the account and its passkey at once, signs in with two factors, and the passkey works from then on', async () => {
  const at = await house()
  const username = address()
  const { browser, form, page, verifier } = await fill(at, username, { name: 'Grace' })
  expect(buttonsOn(form)).toEqual(['make', 'passkey', 'back'])
  expect(headingOf(page)).toBe('Create a passkey')
  expect(optionsOn(page)).toMatchObject({
    user: { name: username },
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  expect(await usersOf(at)).toEqual([])

  const { passkey, credential } = made(page)
  const back = redirectOf(await browser.submit(page, { credential, method: 'passkey' }))
  const exchanged = { code: back['code']!, code_verifier: verifier, redirect_uri: CALLBACK }
  const { body } = await at.realm.exchange(at.client, exchanged)
  const [user] = await usersOf(at)
  expect(claimsOf(body.id_token)).toMatchObject({ sub: user!.id, amr: ['hwk', 'mfa'] })
  expect(user).toMatchObject({ username, usernameType: 'email', emailVerified: false, profile: { name: 'Grace' } })
  expect(user!.id).toBe(passkey.userId)
  expect(user!.verifiers).toMatchObject([{ type: 'passkey', credentialId: passkey.id, createdBy: user!.id }])

  const again = await at.realm.begin(at.client)
  const answer = passkey.answer(optionsOn(again.page))
  expect(redirectOf(await again.browser.submit(again.page, { credential: answer, method: 'passkey' }))).toHaveProperty(
    'code',
  )
  const { prisma } = app.gatehouse.tools
  const events = await prisma.event.findMany({ where: { userId: user!.id }, orderBy: { id: 'asc' } })
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['user.created', 'user.verifier.created'])
})

test('backup codes go with it where the issuer has them; where there is nothing else it is the main button', async () => {
  const at = await house({}, { password: false, more: ['backup_codes'] })
  const { browser, form, page } = await fill(at, address(), { method: 'make' })
  expect(buttonsOn(form)).toEqual(['make', 'back'])
  expect(form.html).not.toContain('new_password')
  const codes = await browser.submit(page, { credential: made(page).credential, method: 'passkey' })
  expect(headingOf(codes)).toBe('Save your backup codes')
  expect(redirectOf(await browser.submit(codes, { method: 'kept' }))).toHaveProperty('code')
})

test('is not offered, and not possible, where the method is not enabled for it', async () => {
  const at = await house({}, { passkey: false })
  const { form, page } = await fill(at, address())
  expect(buttonsOn(form)).toEqual(['make', 'back'])
  expect({ heading: headingOf(page), problem: problemOf(page) }).toEqual({
    heading: 'Create an account',
    problem: expect.stringMatching(/fill in every field/),
  })
  expect(await usersOf(at)).toEqual([])
})

test('nor where the method is switched off between the pages', async () => {
  const at = await house()
  const { owner, I } = at.realm.tenant
  const { browser, page } = await fill(at, address())
  must(await owner.patch(`${I}/auth-methods/${at.passkeyMethod}`, { enabled_signup: false }), 200)
  const late = await browser.submit(page, { credential: made(page).credential, method: 'passkey' })
  expect({ heading: headingOf(late), problem: problemOf(late) }).toEqual({
    heading: 'Sign in',
    problem: expect.stringMatching(/out of date/),
  })
  expect(await usersOf(at)).toEqual([])
})

test.each([
  ['no-address', {}, /email address/],
  ['x@blocked.example', { blocked_domains: ['blocked.example'] }, /cannot be used here/],
  ['x@bad.example', { allowed_domains: ['good.example'] }, /cannot be used here/],
])('the same rules for addresses hold: %s', async (username, signup, words) => {
  const at = await house(signup)
  const { page } = await fill(at, username)
  expect({ heading: headingOf(page), problem: problemOf(page) }).toEqual({
    heading: 'Create an account',
    problem: expect.stringMatching(words),
  })
})

test('require_email_verification: the address is proved first; a known one is not told apart', async () => {
  const at = await house({ require_email_verification: true })
  const username = address()
  const { browser, page, verifier } = await fill(at, username)
  expect(headingOf(page)).toBe('Check your mail')
  const asked = await browser.submit(page, { code: codeIn(await mailTo(app, username)) })
  expect(headingOf(asked)).toBe('Create a passkey')
  expect(await usersOf(at)).toEqual([])
  const back = redirectOf(await browser.submit(asked, { credential: made(asked).credential, method: 'passkey' }))
  const exchanged = { code: back['code']!, code_verifier: verifier, redirect_uri: CALLBACK }
  const { body } = await at.realm.exchange(at.client, exchanged)
  expect(claimsOf(body.id_token)).toMatchObject({ amr: ['otp', 'hwk', 'mfa'] })
  expect(await usersOf(at)).toMatchObject([{ username, emailVerified: true }])

  const plain = ({ html }: Page) => html.replace(/value="[^"]*"|interaction\/[\w-]+/g, '')
  const second = await fill(at, username)
  expect(plain(second.page)).toBe(plain(page))
  expect((await mailTo(app, username, 2)).subject).toMatch(/already have an account/)
})

test('require_admin_approval: the account waits, and its passkey does not sign in', async () => {
  const at = await house({ require_admin_approval: true })
  const { browser, page } = await fill(at, address(), { reason: 'I work here' })
  const { passkey, credential } = made(page)
  expect(headingOf(await browser.submit(page, { credential, method: 'passkey' }))).toBe('Almost there')
  expect(await usersOf(at)).toMatchObject([{ status: 'pending_approval', signupReason: 'I work here' }])
  const again = await at.realm.begin(at.client)
  const answer = passkey.answer(optionsOn(again.page))
  const barred = await again.browser.submit(again.page, { credential: answer, method: 'passkey' })
  expect(problemOf(barred)).toMatch(/waiting for approval/)
})

test('invite_only: only whoever comes with an invitation, with its address, once that is proved', async () => {
  const at = await house({ mode: 'invite_only' })
  const { owner, I } = at.realm.tenant
  const begun = await at.realm.begin(at.client)
  expect(buttonsOn(begun.page)).not.toContain('sign_up')
  const { id } = must(await owner.post(`${I}/organizations`, { name: 'Harbour', invitation_enabled: true }), 201).data
  const email = address()
  must(await owner.post(`${I}/organizations/${id}/invitations`, { email }), 201)
  const browser = new TestBrowser()
  const form = await browser.submit(await browser.open(linkIn(await mailTo(app, email))), { method: 'sign_up' })
  const mailed = await browser.submit(form, { username: 'other@example.com', method: 'passkey' })
  expect(headingOf(mailed)).toBe('Check your mail')
  const asked = await browser.submit(mailed, { code: codeIn(await mailTo(app, email, 2)) })
  const done = await browser.submit(asked, { credential: made(asked).credential, method: 'passkey' })
  expect(headingOf(done)).toBe('Welcome')
  const [user] = await usersOf(at)
  expect(user).toMatchObject({ username: email, emailVerified: true })
  expect(must(await owner.get(`${I}/organizations/${id}/members`), 200).data).toMatchObject([{ member_id: user!.id }])
})

test('all of it or nothing: a passkey that somebody has makes no account, and a taken address no passkey', async () => {
  const at = await house()
  const first = await fill(at, address())
  const { passkey, credential } = made(first.page)
  redirectOf(await first.browser.submit(first.page, { credential, method: 'passkey' }))

  const second = await fill(at, address())
  const options = optionsOn(second.page)
  const same = await second.browser.submit(second.page, { credential: passkey.register(options), method: 'passkey' })
  expect({ heading: headingOf(same), problem: problemOf(same) }).toEqual({
    heading: 'Create a passkey',
    problem: expect.stringMatching(/cannot be used here/),
  })
  expect(await usersOf(at)).toHaveLength(1)

  const username = address()
  const third = await fill(at, username, { name: 'Grace' })
  await at.realm.user(username)
  const taken = await third.browser.submit(third.page, { credential: made(third.page).credential, method: 'passkey' })
  expect({ heading: headingOf(taken), problem: problemOf(taken) }).toEqual({
    heading: 'Create an account',
    problem: expect.stringMatching(/already/),
  })
  expect([valueOn(taken, 'username'), valueOn(taken, 'name')]).toEqual([username, 'Grace'])
  const { prisma } = app.gatehouse.tools
  const passkeys = { issuerId: at.realm.tenant.issuerId, type: 'passkey' }
  expect(await prisma.verifier.count({ where: passkeys })).toBe(1)
})

test('of 20 answers at once one makes an account; the answer to another challenge makes none', async () => {
  const at = await house()
  const { browser, page } = await fill(at, address())
  const other = await fill(at, address())
  const strange = made(other.page).credential
  expect(problemOf(await browser.copy().submit(page, { credential: strange, method: 'passkey' }))).toMatch(
    /cannot be used here/,
  )
  const fresh = await browser.open(page.url)
  const { credential } = made(fresh)
  await Promise.all(Array.from({ length: 20 }, () => browser.copy().submit(fresh, { credential, method: 'passkey' })))
  expect(await usersOf(at)).toHaveLength(1)
})

let quiet: Promise<House> | undefined
test.each(['', 'null', '[]', '{}', '{"id":1}', '{"response":{}}', 'x'.repeat(5000)])(
  'whatever stands in the place of a passkey is answered (%#)',
  async (credential) => {
    quiet ??= house()
    const at = await quiet
    const { browser, page } = await fill(at, address())
    const answered = await browser.submit(page, { credential, method: 'passkey' })
    expect({ status: answered.status, heading: headingOf(answered) }).toEqual({
      status: 200,
      heading: 'Create a passkey',
    })
    expect(problemOf(answered)).toBeDefined()
    expect(headingOf(await browser.submit(answered, { method: 'back' }))).toBe('Create an account')
  },
)

test.each<[unknown, string[]]>([
  ['usb', []],
  [{}, []],
  [null, []],
  [
    [{ toString: 1 }, null, 7, ['usb'], 'usb', '<b>', 'hybrid'],
    ['usb', 'hybrid'],
  ],
])('of what a passkey says of its transports only words are kept: %j', async (transports, kept) => {
  quiet ??= house()
  const at = await quiet
  const username = address()
  const { browser, page } = await fill(at, username)
  const answer = JSON.parse(made(page).credential)
  answer.response.transports = transports
  const done = await browser.submit(page, { credential: JSON.stringify(answer), method: 'passkey' })
  expect(redirectOf(done)).toHaveProperty('code')
  const user = (await usersOf(at)).find((one) => one.username === username)!
  expect(user.verifiers).toMatchObject([{ type: 'passkey', data: { transports: kept } }])
})
