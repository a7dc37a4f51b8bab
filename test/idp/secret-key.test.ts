/** A rotation of SECRET_KEY during sign-ins: while the old key is still configured, sign-ins and codes stay valid. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { createTestUser, passkeyOptionsOn, registerPasskey } from '../setup/factors.js'
import { codeInMail, waitForMail } from '../setup/mail.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from './realm.js'

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64')

/** The process with only the old key. */
let before: TestApp
/** The process with the new key and the old key. */
let after: TestApp
/** The process with only the new key. */
let alone: TestApp
/** The process to which the requests of `realm` go. */
let serving: TestApp
let realm: Realm
let spa: TestClient

beforeAll(async () => {
  before = await startApp({ env: { SECRET_KEY: keyOf(7) }, roles: ['core', 'idp', 'worker'] })
  const { baseUrl, idpUrl } = before.gatehouse.config
  const later = (SECRET_KEY: string) =>
    startApp({
      databaseUrl: before.databaseUrl,
      clock: before.clock,
      roles: ['idp'],
      env: { SECRET_KEY, BASE_URL: baseUrl, IDP_URL: idpUrl },
    })
  after = await later(`${keyOf(8)},${keyOf(7)}`)
  alone = await later(keyOf(8))
  serving = before
  const there = (url: string | URL | Request) => String(url).replace(idpUrl, serving.idpUrl)
  const first = await Realm.create(before, 'Acme')
  realm = new Realm(before, first.tenant, undefined, (url, init) => fetch(there(url), init))
  for (const method of ['email_otp', 'passkey'])
    expectStatus(await first.tenant.owner.post(`${first.tenant.I}/auth-methods`, { name: method, method }), 201)
  spa = await realm.createClient({ application_type: 'spa' })
})
afterAll(async () => {
  await alone.close()
  await after.close()
  await before.close()
})

const change = (to: TestApp): void => {
  serving = to
}

test('a form and its cookie from before the rotation are accepted after it', async () => {
  const { username } = await createTestUser(realm)
  change(before)
  const { browser, page } = await realm.openSignInPage(spa)
  change(after)
  expect(redirectParametersOf(await browser.submit(page, { username, password: PASSWORD }))['code']).toBeDefined()
})

test('a user stays signed in after the rotation, and after the old key is removed if the user returned between the two', async () => {
  const [came, stayed] = [await createTestUser(realm), await createTestUser(realm)]
  change(before)
  const { browser } = await realm.signIn(spa, came.username)
  const { browser: other } = await realm.signIn(spa, stayed.username)
  const silently = async (who: typeof browser) =>
    redirectParametersOf((await realm.openSignInPage(spa, { prompt: 'none' }, who)).page)['code'] !== undefined
  change(after)
  expect(await silently(browser)).toBe(true)
  change(alone)
  expect([await silently(browser), await silently(other)]).toEqual([true, false])
})

test('a code that was emailed before the rotation is valid after it', async () => {
  const { username } = await createTestUser(realm)
  change(before)
  const { browser, page, verifier } = await realm.openSignInPage(spa)
  const nextPage = await browser.submit(page, { username, method: 'email_otp' })
  const code = codeInMail(await waitForMail(before, username))
  change(after)
  const back = redirectParametersOf(await browser.submit(nextPage, { code }))
  const { status } = await realm.exchangeCode(spa, {
    code: back['code']!,
    code_verifier: verifier,
    redirect_uri: REDIRECT_URI,
  })
  expect(status).toBe(200)
})

test('passkey challenges from before and after the rotation are accepted after it', async () => {
  const person = await createTestUser(realm)
  const passkey = await registerPasskey(realm, person)
  for (const [asking, answering] of [
    [before, after],
    [after, after],
  ] as const) {
    change(asking)
    const { browser, page } = await realm.openSignInPage(spa)
    change(answering)
    const done = await browser.submit(page, {
      method: 'passkey',
      credential: passkey.authenticate(passkeyOptionsOn(page)),
    })
    expect(redirectParametersOf(done)['code']).toBeDefined()
  }
})
