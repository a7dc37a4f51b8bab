/** A change of SECRET_KEY under people who are signing in: while the old key is in the list, nothing of theirs ends. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { must } from '../setup/actors.js'
import { givePasskey, makePerson, optionsOn } from '../setup/factors.js'
import { codeIn, mailTo } from '../setup/mail.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { CALLBACK, PASSWORD, Realm, redirectOf, type TestClient } from './setup.js'

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64')

/** The processes before the change, after it, and when the old key has left. */
let before: TestApp
let after: TestApp
let alone: TestApp
/** Who serves the public address of the identity provider. */
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
  const first = await Realm.make(before, 'Acme')
  realm = new Realm(before, first.tenant, undefined, (url, init) => fetch(there(url), init))
  for (const method of ['email_otp', 'passkey'])
    must(await first.tenant.owner.post(`${first.tenant.I}/auth-methods`, { name: method, method }), 201)
  spa = await realm.client({ application_type: 'spa' })
})
afterAll(async () => {
  await alone.close()
  await after.close()
  await before.close()
})

const change = (to: TestApp): void => {
  serving = to
}

test('a form that was open is answered, and the cookie of the interaction counts', async () => {
  const { username } = await makePerson(realm)
  change(before)
  const { browser, page } = await realm.begin(spa)
  change(after)
  expect(redirectOf(await browser.submit(page, { username, password: PASSWORD }))['code']).toBeDefined()
})

test('whoever is signed in stays so, also when the old key has left, if they came by once', async () => {
  const [came, stayed] = [await makePerson(realm), await makePerson(realm)]
  change(before)
  const { browser } = await realm.signIn(spa, came.username)
  const { browser: other } = await realm.signIn(spa, stayed.username)
  const silently = async (who: typeof browser) =>
    redirectOf((await realm.begin(spa, { prompt: 'none' }, who)).page)['code'] !== undefined
  change(after)
  expect(await silently(browser)).toBe(true)
  change(alone)
  expect([await silently(browser), await silently(other)]).toEqual([true, false])
})

test('a code that was sent before is still right', async () => {
  const { username } = await makePerson(realm)
  change(before)
  const { browser, page, verifier } = await realm.begin(spa)
  const asked = await browser.submit(page, { username, method: 'email_otp' })
  const code = codeIn(await mailTo(before, username))
  change(after)
  const back = redirectOf(await browser.submit(asked, { code }))
  const { status } = await realm.exchange(spa, { code: back['code']!, code_verifier: verifier, redirect_uri: CALLBACK })
  expect(status).toBe(200)
})

test('a passkey that was asked before answers, and one that is asked after it', async () => {
  const person = await makePerson(realm)
  const passkey = await givePasskey(realm, person)
  for (const [asking, answering] of [
    [before, after],
    [after, after],
  ] as const) {
    change(asking)
    const { browser, page } = await realm.begin(spa)
    change(answering)
    const done = await browser.submit(page, { method: 'passkey', credential: passkey.answer(optionsOn(page)) })
    expect(redirectOf(done)['code']).toBeDefined()
  }
})
