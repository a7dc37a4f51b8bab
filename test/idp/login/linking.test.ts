/** Upstream accounts that are linked with an account here by whoever proves to own both (security rule 23). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import type { Loose } from '../../setup/api.js'
import { addMethods, giveTotp } from '../../setup/factors.js'
import { codeIn, mailTo } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { totpCode } from '../../setup/totp.js'
import { headingOf, type Page, problemOf, TestBrowser } from '../browser.js'
import { PASSWORD } from '../setup.js'
import { FakeOidc } from './providers.js'
import { isIn, type Method, refused, TAKEN, WaysIn } from './ways-in.js'

let app: TestApp
let provider: FakeOidc
let ways: WaysIn
let method: Method

beforeAll(async () => {
  app = await startApp({
    roles: ['core', 'idp', 'worker'],
    env: { ALLOW_PRIVATE_NETWORKS: 'true', LOG_LEVEL: 'silent' },
  })
  provider = await new FakeOidc().open()
  ways = await WaysIn.open(app)
  method = await ways.oidc(provider.url)
}, 60_000)
afterAll(async () => {
  await app?.close()
  await provider?.close()
})

let count = 0
/** Somebody new at the provider, with a confirmed address. */
const somebody = (email: string): Loose => ({ sub: `linking-${++count}`, email, email_verified: true })

const kindsOf = async (userId: string) =>
  (await ways.users())
    .find(({ id }) => id === userId)!
    ['verifiers'].map(({ type }: Loose) => type)
    .sort()
const signIn = { password: PASSWORD, method: 'password' }

describe('an address of somebody here whom the provider has not been linked with', () => {
  /** Somebody with an unconfirmed address here, who came from the provider and was sent back to sign in. */
  async function taken(email: string) {
    const userId = await ways.realm.user(email)
    provider.person = somebody(email)
    const browser = new TestBrowser()
    const page = await ways.through(method, browser)
    refused(page, TAKEN)
    expect(page.html).toContain(`value="${email}"`)
    return { userId, browser, page }
  }
  test('is linked once they have signed in there in another way and say so; then it is a way in', async () => {
    const { userId, browser, page } = await taken('both@example.com')
    const wrong = await browser.submit(page, { ...signIn, password: 'something else' })
    const asked = await browser.submit(wrong, { username: 'both@example.com', ...signIn })
    expect(headingOf(asked)).toBe('Link Upstream with this account?')
    expect(await kindsOf(userId)).toEqual(['password'])
    expect(isIn(await browser.submit(asked, { method: 'link' }))).toBe(true)
    expect(await kindsOf(userId)).toEqual(['oauth', 'password'])
    expect((await ways.events('user.verifier.created'))[0]).toMatchObject({ userId })
    expect(isIn(await ways.through(method))).toBe(true)
    expect((await ways.events('user.login.succeeded'))[0]).toMatchObject({ userId })
  })

  test('is not linked without their word, and they get in all the same', async () => {
    const { userId, browser, page } = await taken('later@example.com')
    const asked = await browser.submit(page, signIn)
    const unsaid = await browser.submit(asked, { method: 'password' })
    expect(problemOf(unsaid)).toMatch(/choose one/)
    expect(isIn(await browser.submit(unsaid, { method: 'later' }))).toBe(true)
    expect(await kindsOf(userId)).toEqual(['password'])
    refused(await ways.through(method), TAKEN)
  })

  test('is nothing to whoever signs in to another account', async () => {
    const { userId, browser, page } = await taken('theirs@example.com')
    const other = await ways.realm.user('mine@example.com')
    expect(isIn(await browser.submit(page, { username: 'mine@example.com', ...signIn }))).toBe(true)
    expect([await kindsOf(userId), await kindsOf(other)]).toEqual([['password'], ['password']])
  })

  test('is asked for after the second factor only, and in that browser only', async () => {
    const { realm } = ways
    await addMethods(realm, 'totp')
    const { userId, browser, page } = await taken('guarded@example.com')
    const path = `${realm.tenant.I}/users/${userId}/verifiers`
    const secret = await giveTotp(realm, { id: userId, username: 'guarded@example.com', path })
    const factor = await browser.submit(page, signIn)
    expect(headingOf(factor)).toBe('One more step')
    const asked = await browser.submit(factor, { code: totpCode(secret, app.clock.now()), method: 'code' })
    expect(headingOf(asked)).toBe('Link Upstream with this account?')
    app.clock.advance(30_000)
    const elsewhere = new TestBrowser()
    const begun = await realm.begin(ways.client, {}, elsewhere)
    const next = await elsewhere.submit(begun.page, { username: 'guarded@example.com', ...signIn })
    const code = totpCode(secret, app.clock.now())
    expect(isIn(await elsewhere.submit(next, { code, method: 'code' }))).toBe(true)
    expect(await kindsOf(userId)).toEqual(['password', 'totp'])
  })

  test('of 20 answers at once one links; where somebody else has it meanwhile nobody loses it', async () => {
    const first = await taken('race@example.com')
    const second = new TestBrowser()
    const back = await ways.through(method, second)
    refused(back, TAKEN)
    const asked = await first.browser.submit(first.page, signIn)
    const late = await second.submit(back, signIn)
    await Promise.all(Array.from({ length: 20 }, () => first.browser.copy().submit(asked, { method: 'link' })))
    expect(isIn(await second.submit(late, { method: 'link' }))).toBe(true)
    expect(await kindsOf(first.userId)).toEqual(['oauth', 'password'])
  })

  test('is not asked about when the method has gone meanwhile', async () => {
    const own = await ways.oidc(provider.url, { name: 'Passing' }, { link_by_email: false })
    const userId = await ways.realm.user('passing@example.com')
    provider.person = somebody('passing@example.com')
    const browser = new TestBrowser()
    const page = await ways.through(own, browser)
    refused(page, TAKEN)
    const { I, owner } = ways.realm.tenant
    must(await owner.delete(`${I}/auth-methods/${own.id}`), 204)
    expect(isIn(await browser.submit(page, signIn))).toBe(true)
    expect(await kindsOf(userId)).toEqual(['password'])
  })
})

test('D31: an account of another maker with that address is linked once its mailbox is proved, without their factors', async () => {
  const own = await WaysIn.open(app, { security: { mfa_required: true } })
  const { I, owner } = own.realm.tenant
  const { data } = must(await owner.get(`${I}/auth-methods`), 200)
  must(await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: true }), 200)
  const upstream = await own.oidc(provider.url)
  const username = 'prepared@example.com'
  const secretOn = (page: Page) => /<p class="secret"[^>]*>([^<]+)</.exec(page.html)![1]!.replaceAll(' ', '')
  const setUp = async (browser: TestBrowser, page: Page) => {
    const codes = await browser.submit(page, { code: totpCode(secretOn(page), app.clock.now()), method: 'code' })
    return browser.submit(codes, { method: 'kept' })
  }
  const maker = await own.realm.begin(own.client)
  const form = await maker.browser.submit(maker.page, { method: 'sign_up' })
  const made = await maker.browser.submit(form, { username, new_password: PASSWORD, method: 'make' })
  expect(isIn(await setUp(maker.browser, made))).toBe(true)
  const [before] = (await own.users())[0]!['verifiers'].filter(({ type }: Loose) => type === 'totp')

  provider.person = somebody(username)
  const browser = new TestBrowser()
  const back = await own.through(upstream, browser)
  refused(back, TAKEN)
  const asked = await browser.submit(back, { method: 'reset' })
  const sent = await browser.submit(asked, { username, method: 'send' })
  const chosen = await browser.submit(sent, { code: codeIn(await mailTo(app, username)) })
  const question = await browser.submit(chosen, { new_password: 'another long password' })
  expect(headingOf(question)).toBe('Link Upstream with this account?')
  const enroll = await browser.submit(question, { method: 'link' })
  expect(headingOf(enroll)).toBe('Set up an authenticator app')
  expect(isIn(await setUp(browser, enroll))).toBe(true)
  const after = (await own.users())[0]!['verifiers'] as Loose[]
  expect(after.map(({ type }) => type).sort()).toEqual(['backup_codes', 'oauth', 'password', 'totp'])
  expect(after.map(({ id }) => id)).not.toContain(before.id)
})

describe('an address that both sides have confirmed', () => {
  test('is linked once the second factor was used, and not before (decision 0022); nobody is asked', async () => {
    const { realm } = ways
    const { I, owner } = realm.tenant
    if (must(await owner.get(`${I}/auth-methods`), 200).data.every(({ method: kind }: Loose) => kind !== 'totp'))
      await addMethods(realm, 'totp')
    const username = 'careful@example.com'
    const id = await realm.user(username)
    const secret = await giveTotp(realm, { id, username, path: `${I}/users/${id}/verifiers` })
    await app.gatehouse.tools.prisma.user.update({ where: { id }, data: { emailVerified: true } })
    const use = (browser: TestBrowser, factor: Page) =>
      browser.submit(factor, { code: totpCode(secret, app.clock.now()), method: 'code' })
    provider.person = somebody(username)

    const without = new TestBrowser()
    const factor = await ways.through(method, without)
    expect([headingOf(factor), await kindsOf(id)]).toEqual(['One more step', ['password', 'totp']])
    // Whoever goes back and comes another way has not come with it.
    const back = await without.submit(factor, { method: 'back' })
    const other = await without.submit(back, { username, ...signIn })
    expect(isIn(await use(without, other))).toBe(true)
    expect(await kindsOf(id)).toEqual(['password', 'totp'])

    app.clock.advance(30_000)
    const browsers = [new TestBrowser(), new TestBrowser()] as const
    const pages = [await ways.through(method, browsers[0]), await ways.through(method, browsers[1])] as const
    expect(isIn(await use(browsers[0], pages[0]))).toBe(true)
    expect(await kindsOf(id)).toEqual(['oauth', 'password', 'totp'])
    app.clock.advance(30_000)
    expect(isIn(await use(browsers[1], pages[1]))).toBe(true)
    expect(await kindsOf(id)).toEqual(['oauth', 'password', 'totp'])
    expect((await ways.users()).find((user) => user['id'] === id)!['verifiers']).toContainEqual(
      expect.objectContaining({ type: 'oauth', lastUsedAt: expect.anything() }),
    )
    const linked = (await ways.events('user.verifier.created')).filter(({ userId, data }) => {
      return userId === id && (data as Loose)['type'] === 'oauth'
    })
    expect(linked).toHaveLength(1)
  })
})
