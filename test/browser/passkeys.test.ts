/** Passkeys in a real Chromium, with a virtual authenticator (issue 4 item 1). */
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core'
import { claimsOf, PASSWORD, Realm, type TestClient } from '../idp/setup.js'
import { must } from '../setup/actors.js'
import { addMethods, makePerson } from '../setup/factors.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'
import { startStrictBrowser, watchedPage } from './watched-page.js'

let app: TestApp
let browser: Browser
let application: Server
let callback: string
const verifier = randomBytes(32).toString('base64url')
const challenge = {
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
}

beforeAll(async () => {
  // A relying party is a name, never an address.
  const [idpPort] = await freePorts(1)
  const idpUrl = `http://localhost:${idpPort}`
  app = { ...(await startApp({ env: { IDP_PORT: String(idpPort), IDP_URL: idpUrl } })), idpUrl }
  application = createServer((_, res) =>
    res.setHeader('content-type', 'text/html').end('<link rel="icon" href="data:,"><h1>Notebook</h1>'),
  )
  await new Promise<void>((done) => application.listen(0, '127.0.0.1', done))
  callback = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`
  browser = await startStrictBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
  await new Promise((done) => application.close(done))
})

interface Place {
  realm: Realm
  client: TestClient
}

async function place(methods: string[], security: object = {}): Promise<Place> {
  const realm = await Realm.make(app, 'Northwind')
  await addMethods(realm, ...methods)
  must(await realm.tenant.owner.patch(realm.tenant.I, { settings: { security } }), 200)
  const callbacks = { redirect_uris: [callback], post_logout_redirect_uris: [callback] }
  return { realm, client: await realm.client({ application_type: 'spa', ...callbacks }) }
}

/** A watched page whose device has a fingerprint reader that recognises everybody. */
async function device({ realm }: Place, options: BrowserContextOptions = {}) {
  const watched = await watchedPage(browser, new URL(realm.url).origin, options)
  const cdp = await watched.page.context().newCDPSession(watched.page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  const unexpected = () =>
    watched.faults.filter((fault) => !fault.startsWith('asked data:') && !fault.startsWith(`asked ${callback}`))
  return { ...watched, cdp, authenticatorId, unexpected }
}

const open = (page: Page, { realm, client }: Place, params: Record<string, string> = {}) =>
  page.goto(realm.authorizeUrl(client, { ...challenge, redirect_uri: callback, ...params }))

async function typePassword(page: Page, username: string): Promise<void> {
  await page.getByLabel('Username or email').fill(username)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
}

/** What the ID token says once the page is back at the application. */
async function signedIn(page: Page, { realm, client }: Place) {
  await page.getByRole('heading', { name: 'Notebook' }).waitFor()
  const code = new URL(page.url()).searchParams.get('code')!
  const answer = await realm.exchange(client, { code, code_verifier: verifier, redirect_uri: callback })
  expect(answer.status).toBe(200)
  return claimsOf(answer.body.id_token)
}

const credentials = async (cdp: CDPSession, authenticatorId: string) =>
  (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials

test('made where a second factor is demanded, used as the second factor, then as the only one', async () => {
  const at = await place(['passkey', 'backup_codes'], { mfa_required: true })
  const person = await makePerson(at.realm)
  const { page, cdp, authenticatorId, unexpected } = await device(at)
  // A browser that does not offer passkeys in fields, so that none is used before somebody presses a button.
  await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')

  await open(page, at)
  await typePassword(page, person.username)
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  await page.getByRole('heading', { name: 'Save your backup codes' }).waitFor()
  await page.getByRole('button', { name: "I've saved them" }).click()
  expect(await signedIn(page, at)).toMatchObject({ sub: person.id, amr: ['pwd', 'hwk', 'mfa'] })
  const [made] = await credentials(cdp, authenticatorId)
  expect(made).toMatchObject({ isResidentCredential: true, rpId: 'localhost' })
  expect(Buffer.from(made!.userHandle!, 'base64').toString()).toBe(person.id)

  await open(page, at, { prompt: 'login' })
  await typePassword(page, person.username)
  await page.getByRole('heading', { name: 'One more step' }).waitFor()
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  expect(await signedIn(page, at)).toMatchObject({ sub: person.id, amr: ['pwd', 'hwk', 'mfa'] })

  await open(page, at, { prompt: 'login' })
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  expect(await signedIn(page, at)).toMatchObject({ sub: person.id, amr: ['hwk', 'mfa'] })
  expect(unexpected()).toEqual([])
  await page.context().close()
})

test('the field for the username offers it as well: picked there, nothing else is typed', async () => {
  const at = await place(['passkey'])
  const person = await makePerson(at.realm)
  const { page, cdp, authenticatorId, unexpected } = await device(at)
  const I = at.realm.tenant.I
  // Registered by an application that runs the ceremony itself with options of the Core API, on a page of this origin.
  const path = `${I}/users/${person.id}/verifiers`
  const { data } = must(await at.realm.tenant.owner.post(`${path}/passkey-challenge`), 201)
  await page.goto(`${at.realm.url}/.well-known/openid-configuration`)
  const credential = await page.evaluate(`(async () => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(${JSON.stringify(data.options)})
    return (await navigator.credentials.create({ publicKey })).toJSON()
  })()`)
  must(
    await at.realm.tenant.owner.post(path, {
      type: 'passkey',
      name: null,
      credential,
      challenge_id: data.challenge_id,
    }),
    201,
  )
  expect(await credentials(cdp, authenticatorId)).toHaveLength(1)

  // The virtual authenticator answers what the page asks for on its own: the person need not even press the button.
  await open(page, at)
  expect(await signedIn(page, at)).toMatchObject({ sub: person.id, amr: ['hwk', 'mfa'] })
  expect(unexpected()).toEqual([])
  await page.context().close()
})

test('an account is made with it; from then on it is all that signing in takes', async () => {
  const at = await place([])
  const { owner, I } = at.realm.tenant
  must(await owner.post(`${I}/auth-methods`, { name: 'Passkey', method: 'passkey', enabled_signup: true }), 201)
  const [password] = must(await owner.get(`${I}/auth-methods`), 200).data.filter(
    (one: { method: string }) => one.method === 'password',
  )
  must(await owner.patch(`${I}/auth-methods/${password.id}`, { enabled_signup: true }), 200)
  const { page, cdp, authenticatorId, unexpected } = await device(at)
  await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')

  await open(page, at)
  await page.getByRole('button', { name: 'Create an account' }).click()
  await page.getByLabel('Email').fill('grace@example.com')
  await page.getByRole('button', { name: 'Create it with a passkey' }).click()
  await page.getByRole('heading', { name: 'Create a passkey' }).waitFor()
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  const { sub, amr } = await signedIn(page, at)
  expect(amr).toEqual(['hwk', 'mfa'])
  const [made] = await credentials(cdp, authenticatorId)
  expect(made).toMatchObject({ isResidentCredential: true, rpId: 'localhost', userName: 'grace@example.com' })
  expect(Buffer.from(made!.userHandle!, 'base64').toString()).toBe(sub)

  await open(page, at, { prompt: 'login' })
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  expect(await signedIn(page, at)).toMatchObject({ sub, amr: ['hwk', 'mfa'] })
  expect(unexpected()).toEqual([])
  await page.context().close()
})

test('whoever cancels is told so, and goes on with the password', async () => {
  const at = await place(['passkey'])
  const person = await makePerson(at.realm)
  const { page, cdp, authenticatorId, unexpected } = await device(at)
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  await open(page, at)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByText('Your browser did not use a passkey').waitFor()
  await typePassword(page, person.username)
  expect(await signedIn(page, at)).toMatchObject({ amr: ['pwd'] })
  expect(unexpected()).toEqual([])
  await page.context().close()
})

test.each([
  { colorScheme: 'light' as const, viewport: { width: 1280, height: 900 } },
  { colorScheme: 'dark' as const, viewport: { width: 1280, height: 900 } },
  { colorScheme: 'light' as const, viewport: { width: 390, height: 844 } },
  { colorScheme: 'dark' as const, viewport: { width: 390, height: 844 } },
])('D35: demanded without any method: the app and backup codes are set up all the same: %j', async (options) => {
  const at = await place([], { mfa_required: true })
  const person = await makePerson(at.realm)
  const { page, unexpected } = await device(at, options)
  const fits = async () => {
    const width = await page.evaluate('document.documentElement.scrollWidth')
    expect(width).toBeLessThanOrEqual(options.viewport.width)
  }
  await open(page, at)
  await typePassword(page, person.username)
  await page.getByRole('heading', { name: 'Set up an authenticator app' }).waitFor()
  await fits()
  const secret = (await page.locator('.secret').textContent())!.replaceAll(' ', '')
  await page.getByLabel('The code that the app shows now').fill(totpCode(secret, app.clock.now()))
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Save your backup codes' }).waitFor()
  await fits()
  const codes = await page.locator('.codes li').allTextContents()
  expect(codes).toHaveLength(10)
  await page.getByRole('button', { name: "I've saved them" }).click()
  expect(await signedIn(page, at)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })

  // They are shown once.
  await open(page, at, { prompt: 'login' })
  await typePassword(page, person.username)
  await page.getByRole('heading', { name: 'One more step' }).waitFor()
  await page.getByRole('button', { name: 'Use a backup code' }).click()
  await page.getByLabel('Backup code', { exact: true }).fill(codes[0]!)
  await page.keyboard.press('Enter')
  expect(await signedIn(page, at)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })
  expect(unexpected()).toEqual([])
  await page.context().close()
})

test.each([
  { colorScheme: 'light' as const, viewport: { width: 1280, height: 900 }, locale: 'en' },
  { colorScheme: 'dark' as const, viewport: { width: 390, height: 844 }, locale: 'de' },
])('without JavaScript: an authenticator app is set up and used; nothing speaks of passkeys: %j', async (options) => {
  const at = await place(['passkey', 'totp', 'backup_codes'], { mfa_required: true })
  const person = await makePerson(at.realm)
  const { page, unexpected } = await watchedHere(at, options)
  const say = (en: string, de: string) => (options.locale === 'de' ? de : en)
  await open(page, at)
  expect(await page.locator('#passkey').isVisible()).toBe(false)
  await page.getByLabel(say('Username or email', 'Benutzername oder E-Mail')).fill(person.username)
  await page.getByLabel(say('Password', 'Passwort'), { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')

  const box = (await page.locator('main').boundingBox())!
  expect(box.x + box.width).toBeLessThanOrEqual(options.viewport.width)
  const image = page.getByRole('img', { name: say('QR code', 'QR-Code') })
  expect((await image.locator('svg').boundingBox())!.width).toBeGreaterThan(150)
  const secret = (await page.locator('.secret').textContent())!.replaceAll(' ', '')
  await page.getByLabel(say('The code that the app shows now', 'Der Code, den die App jetzt zeigt')).fill('000000')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  await page.keyboard.type(totpCode(secret, app.clock.now()))
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: say("I've saved them", 'Ich habe sie gespeichert') }).waitFor()
  const [first] = await page.locator('.codes li').allTextContents()
  await page.getByRole('button', { name: say("I've saved them", 'Ich habe sie gespeichert') }).click()
  expect(await signedIn(page, at)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })

  await open(page, at, { prompt: 'login' })
  await page.getByLabel(say('Username or email', 'Benutzername oder E-Mail')).fill(person.username)
  await page.getByLabel(say('Password', 'Passwort'), { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: say('Use a backup code', 'Ersatzcode verwenden') }).click()
  await page.getByLabel(say('Backup code', 'Ersatzcode'), { exact: true }).fill(first!)
  await page.keyboard.press('Enter')
  expect(await signedIn(page, at)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })
  expect(unexpected()).toEqual([])
  await page.context().close()
})

async function watchedHere({ realm }: Place, options: BrowserContextOptions) {
  const origin = new URL(realm.url).origin
  const watched = await watchedPage(browser, origin, { ...options, javaScriptEnabled: false })
  const unexpected = () =>
    watched.faults.filter((fault) => !fault.startsWith('asked data:') && !fault.startsWith(`asked ${callback}`))
  return { ...watched, unexpected }
}
