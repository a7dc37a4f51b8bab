/**
 * Linking an upstream account to an existing user after the user has signed in to both
 * (docs/contract.md#federated-identities).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import type { AnyJson } from '../../setup/api.js'
import { addMethods, enrollTotp } from '../../setup/factors.js'
import { codeInMail, waitForMail } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { totpCode } from '../../setup/totp.js'
import { errorMessageOf, headingOf, type Page, TestBrowser } from '../browser.js'
import { PASSWORD } from '../realm.js'
import { expectRefusal, isSignedIn, type Method, TAKEN_MESSAGE, UpstreamFixture } from './upstream-fixture.js'
import { FakeOidc } from './upstream-providers.js'

let app: TestApp
let provider: FakeOidc
let fixture: UpstreamFixture
let method: Method

beforeAll(async () => {
  app = await startApp({
    roles: ['core', 'idp', 'worker'],
    env: { ALLOW_PRIVATE_NETWORKS: 'true', LOG_LEVEL: 'silent' },
  })
  provider = await new FakeOidc().pending()
  fixture = await UpstreamFixture.create(app)
  method = await fixture.addOidcMethod(provider.url)
}, 60_000)
afterAll(async () => {
  await app?.close()
  await provider?.close()
})

let count = 0
/** The claims of a new user of the provider, with a verified email address. */
const newUpstreamUser = (email: string): AnyJson => ({ sub: `linking-${++count}`, email, email_verified: true })

const kindsOf = async (userId: string) =>
  (await fixture.listUsers())
    .find(({ id }) => id === userId)!
    ['verifiers'].map(({ type }: AnyJson) => type)
    .sort()
const signIn = { password: PASSWORD, method: 'password' }

describe('an address of a user who is not linked to the provider', () => {
  /**
   * Creates a user with an unverified email address and signs in with the provider under the same address. Checks that
   * the sign-in page then asks the user to sign in with another method.
   */
  async function taken(email: string) {
    const userId = await fixture.realm.createUser(email)
    provider.userClaims = newUpstreamUser(email)
    const browser = new TestBrowser()
    const page = await fixture.signInThrough(method, browser)
    expectRefusal(page, TAKEN_MESSAGE)
    expect(page.html).toContain(`value="${email}"`)
    return { userId, browser, page }
  }
  test('is linked after the user signed in with another method and agreed; then the provider signs the user in', async () => {
    const { userId, browser, page } = await taken('both@example.com')
    const wrong = await browser.submit(page, { ...signIn, password: 'something else' })
    const nextPage = await browser.submit(wrong, { username: 'both@example.com', ...signIn })
    expect(headingOf(nextPage)).toBe('Link Upstream to this account?')
    expect(await kindsOf(userId)).toEqual(['password'])
    expect(isSignedIn(await browser.submit(nextPage, { method: 'link' }))).toBe(true)
    expect(await kindsOf(userId)).toEqual(['oauth', 'password'])
    expect((await fixture.listEvents('user.verifier.created'))[0]).toMatchObject({ userId })
    expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
    expect((await fixture.listEvents('user.login.succeeded'))[0]).toMatchObject({ userId })
  })

  test('is not linked without agreement, and the sign-in continues', async () => {
    const { userId, browser, page } = await taken('later@example.com')
    const nextPage = await browser.submit(page, signIn)
    const unsaid = await browser.submit(nextPage, { method: 'password' })
    expect(errorMessageOf(unsaid)).toMatch(/Choose one/)
    expect(isSignedIn(await browser.submit(unsaid, { method: 'later' }))).toBe(true)
    expect(await kindsOf(userId)).toEqual(['password'])
    expectRefusal(await fixture.signInThrough(method), TAKEN_MESSAGE)
  })

  test('is ignored if another user signs in', async () => {
    const { userId, browser, page } = await taken('theirs@example.com')
    const other = await fixture.realm.createUser('mine@example.com')
    expect(isSignedIn(await browser.submit(page, { username: 'mine@example.com', ...signIn }))).toBe(true)
    expect([await kindsOf(userId), await kindsOf(other)]).toEqual([['password'], ['password']])
  })

  test('is offered only after the second factor, and only in that browser', async () => {
    const { realm } = fixture
    await addMethods(realm, 'totp')
    const { userId, browser, page } = await taken('guarded@example.com')
    const path = `${realm.tenant.I}/users/${userId}/verifiers`
    const secret = await enrollTotp(realm, { id: userId, username: 'guarded@example.com', path })
    const factor = await browser.submit(page, signIn)
    expect(headingOf(factor)).toBe('One more step')
    const nextPage = await browser.submit(factor, { code: totpCode(secret, app.clock.now()), method: 'code' })
    expect(headingOf(nextPage)).toBe('Link Upstream to this account?')
    app.clock.advance(30_000)
    const elsewhere = new TestBrowser()
    const begun = await realm.openSignInPage(fixture.client, {}, elsewhere)
    const next = await elsewhere.submit(begun.page, { username: 'guarded@example.com', ...signIn })
    const code = totpCode(secret, app.clock.now())
    expect(isSignedIn(await elsewhere.submit(next, { code, method: 'code' }))).toBe(true)
    expect(await kindsOf(userId)).toEqual(['password', 'totp'])
  })

  test('of 20 concurrent submissions one links; an upstream account that another user has linked stays with that user', async () => {
    const first = await taken('race@example.com')
    const second = new TestBrowser()
    const back = await fixture.signInThrough(method, second)
    expectRefusal(back, TAKEN_MESSAGE)
    const nextPage = await first.browser.submit(first.page, signIn)
    const late = await second.submit(back, signIn)
    await Promise.all(Array.from({ length: 20 }, () => first.browser.clone().submit(nextPage, { method: 'link' })))
    expect(isSignedIn(await second.submit(late, { method: 'link' }))).toBe(true)
    expect(await kindsOf(first.userId)).toEqual(['oauth', 'password'])
  })

  test('is not offered if the method was deleted in the meantime', async () => {
    const own = await fixture.addOidcMethod(provider.url, { name: 'Passing' }, { link_by_email: false })
    const userId = await fixture.realm.createUser('passing@example.com')
    provider.userClaims = newUpstreamUser('passing@example.com')
    const browser = new TestBrowser()
    const page = await fixture.signInThrough(own, browser)
    expectRefusal(page, TAKEN_MESSAGE)
    const { I, owner } = fixture.realm.tenant
    expectStatus(await owner.delete(`${I}/auth-methods/${own.id}`), 204)
    expect(isSignedIn(await browser.submit(page, signIn))).toBe(true)
    expect(await kindsOf(userId)).toEqual(['password'])
  })
})

test("an unclaimed account with that address is linked once its mailbox is proved, without the creator's factors", async () => {
  const own = await UpstreamFixture.create(app, { security: { mfa_required: true } })
  const { I, owner } = own.realm.tenant
  const { data } = expectStatus(await owner.get(`${I}/auth-methods`), 200)
  expectStatus(await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: true }), 200)
  const upstream = await own.addOidcMethod(provider.url)
  const username = 'prepared@example.com'
  const secretOn = (page: Page) => /<p class="secret"[^>]*>([^<]+)</.exec(page.html)![1]!.replaceAll(' ', '')
  const setUp = async (browser: TestBrowser, page: Page) => {
    const codes = await browser.submit(page, { code: totpCode(secretOn(page), app.clock.now()), method: 'code' })
    return browser.submit(codes, { method: 'kept' })
  }
  const maker = await own.realm.openSignInPage(own.client)
  const form = await maker.browser.submit(maker.page, { method: 'sign_up' })
  const nextPage = await maker.browser.submit(form, { username, new_password: PASSWORD, method: 'make' })
  expect(isSignedIn(await setUp(maker.browser, nextPage))).toBe(true)
  const [before] = (await own.listUsers())[0]!['verifiers'].filter(({ type }: AnyJson) => type === 'totp')

  provider.userClaims = newUpstreamUser(username)
  const browser = new TestBrowser()
  const back = await own.signInThrough(upstream, browser)
  expectRefusal(back, TAKEN_MESSAGE)
  const resultPage = await browser.submit(back, { method: 'reset' })
  const sent = await browser.submit(resultPage, { username, method: 'send' })
  const chosen = await browser.submit(sent, { code: codeInMail(await waitForMail(app, username)) })
  const question = await browser.submit(chosen, { new_password: 'another long password' })
  expect(headingOf(question)).toBe('Link Upstream to this account?')
  const enroll = await browser.submit(question, { method: 'link' })
  expect(headingOf(enroll)).toBe('Set up an authenticator app')
  expect(isSignedIn(await setUp(browser, enroll))).toBe(true)
  const after = (await own.listUsers())[0]!['verifiers'] as AnyJson[]
  expect(after.map(({ type }) => type).sort()).toEqual(['backup_codes', 'oauth', 'password', 'totp'])
  expect(after.map(({ id }) => id)).not.toContain(before.id)
})

describe('an address that both sides have verified', () => {
  test('is linked after the second factor, and not before; no agreement is needed', async () => {
    const { realm } = fixture
    const { I, owner } = realm.tenant
    if (
      expectStatus(await owner.get(`${I}/auth-methods`), 200).data.every(({ method: kind }: AnyJson) => kind !== 'totp')
    )
      await addMethods(realm, 'totp')
    const username = 'careful@example.com'
    const id = await realm.createUser(username)
    const secret = await enrollTotp(realm, { id, username, path: `${I}/users/${id}/verifiers` })
    await app.gatehouse.database.prisma.user.update({ where: { id }, data: { emailVerified: true } })
    const use = (browser: TestBrowser, factor: Page) =>
      browser.submit(factor, { code: totpCode(secret, app.clock.now()), method: 'code' })
    provider.userClaims = newUpstreamUser(username)

    const without = new TestBrowser()
    const factor = await fixture.signInThrough(method, without)
    expect([headingOf(factor), await kindsOf(id)]).toEqual(['One more step', ['password', 'totp']])
    // If the user goes back and signs in with another method, the upstream account is not linked.
    const back = await without.submit(factor, { method: 'back' })
    const other = await without.submit(back, { username, ...signIn })
    expect(isSignedIn(await use(without, other))).toBe(true)
    expect(await kindsOf(id)).toEqual(['password', 'totp'])

    app.clock.advance(30_000)
    const browsers = [new TestBrowser(), new TestBrowser()] as const
    const pages = [
      await fixture.signInThrough(method, browsers[0]),
      await fixture.signInThrough(method, browsers[1]),
    ] as const
    expect(isSignedIn(await use(browsers[0], pages[0]))).toBe(true)
    expect(await kindsOf(id)).toEqual(['oauth', 'password', 'totp'])
    app.clock.advance(30_000)
    expect(isSignedIn(await use(browsers[1], pages[1]))).toBe(true)
    expect(await kindsOf(id)).toEqual(['oauth', 'password', 'totp'])
    expect((await fixture.listUsers()).find((user) => user['id'] === id)!['verifiers']).toContainEqual(
      expect.objectContaining({ type: 'oauth', lastUsedAt: expect.anything() }),
    )
    const linked = (await fixture.listEvents('user.verifier.created')).filter(({ userId, data }) => {
      return userId === id && (data as AnyJson)['type'] === 'oauth'
    })
    expect(linked).toHaveLength(1)
  })
})
