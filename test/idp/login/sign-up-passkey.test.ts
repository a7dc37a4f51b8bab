/**
 * Sign-up with a passkey (docs/contract.md#authentication-methods, docs/contract.md#issuer-settings,
 * docs/contract.md#one-transaction-per-operation).
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import { Passkey } from '../../setup/authenticator.js'
import { methodButtonsOn, passkeyOptionsOn } from '../../setup/factors.js'
import { codeInMail, linkInMail, waitForMail } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { errorMessageOf, fieldValueOf, headingOf, type Page, TestBrowser } from '../browser.js'
import { jwtClaims, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from '../realm.js'

let app: TestApp

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
})
afterAll(() => app.close())

interface SignUpIssuer {
  realm: Realm
  client: TestClient
  passkeyMethod: string
}

/**
 * Creates an issuer with sign-up by password and passkey.
 * @param signup `settings.signup`
 */
async function createSignUpIssuer(
  signup: object = {},
  { password = true, passkey = true, more = [] as string[] } = {},
): Promise<SignUpIssuer> {
  const realm = await Realm.create(app, 'Open')
  const { owner, I } = realm.tenant
  expectStatus(await owner.patch(I, { settings: { signup } }), 200)
  const { data } = expectStatus(await owner.get(`${I}/auth-methods`), 200)
  expectStatus(await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: password }), 200)
  const body = { name: 'Passkey', method: 'passkey', enabled_signup: passkey }
  const { id } = expectStatus(await owner.post(`${I}/auth-methods`, body), 201).data
  for (const method of more) expectStatus(await owner.post(`${I}/auth-methods`, { name: method, method }), 201)
  return { realm, client: await realm.createClient({ application_type: 'spa' }), passkeyMethod: id }
}

let count = 0
const address = (domain = 'example.com') => `keyed-${++count}@${domain}`

/** Submits the sign-up form with an email address, and returns the next page. */
async function fill(
  at: SignUpIssuer,
  username: string,
  more: Record<string, string> = {},
  browser = new TestBrowser(),
) {
  const begun = await at.realm.openSignInPage(at.client, {}, browser)
  const form = await browser.submit(begun.page, { method: 'sign_up' })
  return { ...begun, browser, form, page: await browser.submit(form, { username, method: 'passkey', ...more }) }
}

/** Creates a passkey for the options on a page. Returns it with the response that the form submits. */
function createPasskey(page: Page): { passkey: Passkey; credential: string } {
  const options = passkeyOptionsOn(page)
  const id = Buffer.from(options.user.id, 'base64url').toString()
  const passkey = new Passkey(id, new URL(app.idpUrl).origin)
  return { passkey, credential: passkey.register(options) }
}

const usersOf = ({ realm }: SignUpIssuer) =>
  app.gatehouse.database.prisma.user.findMany({
    where: { issuerId: realm.tenant.issuerId },
    include: { verifiers: true },
  })

test('creates the account and its passkey together, signs in with two factors, and the passkey works from then on', async () => {
  const at = await createSignUpIssuer()
  const username = address()
  const { browser, form, page, verifier } = await fill(at, username, { name: 'Grace' })
  expect(methodButtonsOn(form)).toEqual(['make', 'passkey', 'back'])
  expect(headingOf(page)).toBe('Create a passkey')
  expect(passkeyOptionsOn(page)).toMatchObject({
    user: { name: username },
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  expect(await usersOf(at)).toEqual([])

  const { passkey, credential } = createPasskey(page)
  const back = redirectParametersOf(await browser.submit(page, { credential, method: 'passkey' }))
  const exchanged = { code: back['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
  const { body } = await at.realm.exchangeCode(at.client, exchanged)
  const [user] = await usersOf(at)
  expect(jwtClaims(body.id_token)).toMatchObject({ sub: user!.id, amr: ['hwk', 'mfa'] })
  expect(user).toMatchObject({ username, usernameType: 'email', emailVerified: false, profile: { name: 'Grace' } })
  expect(user!.id).toBe(passkey.userId)
  expect(user!.verifiers).toMatchObject([{ type: 'passkey', credentialId: passkey.id, createdBy: user!.id }])

  const again = await at.realm.openSignInPage(at.client)
  const assertion = passkey.authenticate(passkeyOptionsOn(again.page))
  expect(
    redirectParametersOf(await again.browser.submit(again.page, { credential: assertion, method: 'passkey' })),
  ).toHaveProperty('code')
  const { prisma } = app.gatehouse.database
  const events = await prisma.event.findMany({ where: { userId: user!.id }, orderBy: { id: 'asc' } })
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['user.created', 'user.verifier.created'])
})

test('the user gets backup codes if the issuer has that method; without another method the passkey is the main button', async () => {
  const at = await createSignUpIssuer({}, { password: false, more: ['backup_codes'] })
  const { browser, form, page } = await fill(at, address(), { method: 'make' })
  expect(methodButtonsOn(form)).toEqual(['make', 'back'])
  expect(form.html).not.toContain('new_password')
  const codes = await browser.submit(page, { credential: createPasskey(page).credential, method: 'passkey' })
  expect(headingOf(codes)).toBe('Save your backup codes')
  expect(redirectParametersOf(await browser.submit(codes, { method: 'kept' }))).toHaveProperty('code')
})

test('is not offered, and not possible, if the method is not enabled for sign-up', async () => {
  const at = await createSignUpIssuer({}, { passkey: false })
  const { form, page } = await fill(at, address())
  expect(methodButtonsOn(form)).toEqual(['make', 'back'])
  expect({ heading: headingOf(page), problem: errorMessageOf(page) }).toEqual({
    heading: 'Create an account',
    problem: expect.stringMatching(/Fill in every field/),
  })
  expect(await usersOf(at)).toEqual([])
})

test('is not possible if the method is disabled between the pages', async () => {
  const at = await createSignUpIssuer()
  const { owner, I } = at.realm.tenant
  const { browser, page } = await fill(at, address())
  expectStatus(await owner.patch(`${I}/auth-methods/${at.passkeyMethod}`, { enabled_signup: false }), 200)
  const late = await browser.submit(page, { credential: createPasskey(page).credential, method: 'passkey' })
  expect({ heading: headingOf(late), problem: errorMessageOf(late) }).toEqual({
    heading: 'Sign in',
    problem: expect.stringMatching(/out of date/),
  })
  expect(await usersOf(at)).toEqual([])
})

test.each([
  ['no-address', {}, /email address/],
  ['x@blocked.example', { blocked_domains: ['blocked.example'] }, /cannot be used here/],
  ['x@bad.example', { allowed_domains: ['good.example'] }, /cannot be used here/],
])('the same rules for addresses apply: %s', async (username, signup, words) => {
  const at = await createSignUpIssuer(signup)
  const { page } = await fill(at, username)
  expect({ heading: headingOf(page), problem: errorMessageOf(page) }).toEqual({
    heading: 'Create an account',
    problem: expect.stringMatching(words),
  })
})

test('require_email_verification: the address is verified first; an address with an account is not revealed', async () => {
  const at = await createSignUpIssuer({ require_email_verification: true })
  const username = address()
  const { browser, page, verifier } = await fill(at, username)
  expect(headingOf(page)).toBe('Check your email')
  const nextPage = await browser.submit(page, { code: codeInMail(await waitForMail(app, username)) })
  expect(headingOf(nextPage)).toBe('Create a passkey')
  expect(await usersOf(at)).toEqual([])
  const back = redirectParametersOf(
    await browser.submit(nextPage, { credential: createPasskey(nextPage).credential, method: 'passkey' }),
  )
  const exchanged = { code: back['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
  const { body } = await at.realm.exchangeCode(at.client, exchanged)
  expect(jwtClaims(body.id_token)).toMatchObject({ amr: ['otp', 'hwk', 'mfa'] })
  expect(await usersOf(at)).toMatchObject([{ username, emailVerified: true }])

  const plain = ({ html }: Page) => html.replace(/value="[^"]*"|interaction\/[\w-]+/g, '')
  const second = await fill(at, username)
  expect(plain(second.page)).toBe(plain(page))
  expect((await waitForMail(app, username, 2)).subject).toMatch(/already have an account/)
})

test('require_admin_approval: the account waits, and its passkey does not sign in', async () => {
  const at = await createSignUpIssuer({ require_admin_approval: true })
  const { browser, page } = await fill(at, address(), { reason: 'I work here' })
  const { passkey, credential } = createPasskey(page)
  expect(headingOf(await browser.submit(page, { credential, method: 'passkey' }))).toBe('Waiting for approval')
  expect(await usersOf(at)).toMatchObject([{ status: 'pending_approval', signupReason: 'I work here' }])
  const again = await at.realm.openSignInPage(at.client)
  const assertion = passkey.authenticate(passkeyOptionsOn(again.page))
  const barred = await again.browser.submit(again.page, { credential: assertion, method: 'passkey' })
  expect(errorMessageOf(barred)).toMatch(/waiting for approval/)
})

test('invite_only: only with an invitation and its address, once that is verified', async () => {
  const at = await createSignUpIssuer({ mode: 'invite_only' })
  const { owner, I } = at.realm.tenant
  const begun = await at.realm.openSignInPage(at.client)
  expect(methodButtonsOn(begun.page)).not.toContain('sign_up')
  const { id } = expectStatus(
    await owner.post(`${I}/organizations`, { name: 'Harbour', invitation_enabled: true }),
    201,
  ).data
  const email = address()
  expectStatus(await owner.post(`${I}/organizations/${id}/invitations`, { email }), 201)
  const browser = new TestBrowser()
  const form = await browser.submit(await browser.open(linkInMail(await waitForMail(app, email))), {
    method: 'sign_up',
  })
  const mailed = await browser.submit(form, { username: 'other@example.com', method: 'passkey' })
  expect(headingOf(mailed)).toBe('Check your email')
  const nextPage = await browser.submit(mailed, { code: codeInMail(await waitForMail(app, email, 2)) })
  const done = await browser.submit(nextPage, { credential: createPasskey(nextPage).credential, method: 'passkey' })
  expect(headingOf(done)).toBe('Welcome')
  const [user] = await usersOf(at)
  expect(user).toMatchObject({ username: email, emailVerified: true })
  expect(expectStatus(await owner.get(`${I}/organizations/${id}/members`), 200).data).toMatchObject([
    { member_id: user!.id },
  ])
})

test('an existing passkey creates no account, and an address that is taken creates no passkey', async () => {
  const at = await createSignUpIssuer()
  const first = await fill(at, address())
  const { passkey, credential } = createPasskey(first.page)
  redirectParametersOf(await first.browser.submit(first.page, { credential, method: 'passkey' }))

  const second = await fill(at, address())
  const options = passkeyOptionsOn(second.page)
  const same = await second.browser.submit(second.page, { credential: passkey.register(options), method: 'passkey' })
  expect({ heading: headingOf(same), problem: errorMessageOf(same) }).toEqual({
    heading: 'Create a passkey',
    problem: expect.stringMatching(/cannot be used here/),
  })
  expect(await usersOf(at)).toHaveLength(1)

  const username = address()
  const third = await fill(at, username, { name: 'Grace' })
  await at.realm.createUser(username)
  const taken = await third.browser.submit(third.page, {
    credential: createPasskey(third.page).credential,
    method: 'passkey',
  })
  expect({ heading: headingOf(taken), problem: errorMessageOf(taken) }).toEqual({
    heading: 'Create an account',
    problem: expect.stringMatching(/already/),
  })
  expect([fieldValueOf(taken, 'username'), fieldValueOf(taken, 'name')]).toEqual([username, 'Grace'])
  const { prisma } = app.gatehouse.database
  const passkeys = { issuerId: at.realm.tenant.issuerId, type: 'passkey' }
  expect(await prisma.verifier.count({ where: passkeys })).toBe(1)
})

test('of 20 concurrent submissions one creates an account; a response to another challenge creates none', async () => {
  const at = await createSignUpIssuer()
  const { browser, page } = await fill(at, address())
  const other = await fill(at, address())
  const strange = createPasskey(other.page).credential
  expect(errorMessageOf(await browser.clone().submit(page, { credential: strange, method: 'passkey' }))).toMatch(
    /cannot be used here/,
  )
  const fresh = await browser.open(page.url)
  const { credential } = createPasskey(fresh)
  await Promise.all(Array.from({ length: 20 }, () => browser.clone().submit(fresh, { credential, method: 'passkey' })))
  expect(await usersOf(at)).toHaveLength(1)
})

let quiet: Promise<SignUpIssuer> | undefined
test.each(['', 'null', '[]', '{}', '{"id":1}', '{"response":{}}', 'x'.repeat(5000)])(
  'any value instead of a passkey gets a response (%#)',
  async (credential) => {
    quiet ??= createSignUpIssuer()
    const at = await quiet
    const { browser, page } = await fill(at, address())
    const nextPage = await browser.submit(page, { credential, method: 'passkey' })
    expect({ status: nextPage.status, heading: headingOf(nextPage) }).toEqual({
      status: 200,
      heading: 'Create a passkey',
    })
    expect(errorMessageOf(nextPage)).toBeDefined()
    expect(headingOf(await browser.submit(nextPage, { method: 'back' }))).toBe('Create an account')
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
])('only valid transports of a passkey are stored: %j', async (transports, kept) => {
  quiet ??= createSignUpIssuer()
  const at = await quiet
  const username = address()
  const { browser, page } = await fill(at, username)
  const credential = JSON.parse(createPasskey(page).credential)
  credential.response.transports = transports
  const done = await browser.submit(page, { credential: JSON.stringify(credential), method: 'passkey' })
  expect(redirectParametersOf(done)).toHaveProperty('code')
  const user = (await usersOf(at)).find((one) => one.username === username)!
  expect(user.verifiers).toMatchObject([{ type: 'passkey', data: { transports: kept } }])
})
