/** Passkeys and second factors on the hosted pages, in Chromium with a virtual authenticator. */
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core'
import { jwtClaims, PASSWORD, Realm, type TestClient } from '../idp/realm.js'
import { expectStatus } from '../setup/actors.js'
import { addMethods, createTestUser } from '../setup/factors.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'
import { launchBrowser, openMonitoredPage } from './monitored-page.js'

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
  // A WebAuthn relying party id must be a host name, not an IP address.
  const [idpPort] = await freePorts(1)
  const idpUrl = `http://localhost:${idpPort}`
  app = { ...(await startApp({ env: { IDP_PORT: String(idpPort), IDP_URL: idpUrl } })), idpUrl }
  application = createServer((_, res) =>
    res.setHeader('content-type', 'text/html').end('<link rel="icon" href="data:,"><h1>Notebook</h1>'),
  )
  await new Promise<void>((done) => application.listen(0, '127.0.0.1', done))
  callback = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`
  browser = await launchBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
  await new Promise((done) => application.close(done))
})

interface IssuerSetup {
  realm: Realm
  client: TestClient
}

async function createIssuer(methods: string[], security: object = {}): Promise<IssuerSetup> {
  const realm = await Realm.create(app, 'Northwind')
  await addMethods(realm, ...methods)
  expectStatus(await realm.tenant.owner.patch(realm.tenant.I, { settings: { security } }), 200)
  const callbacks = { redirect_uris: [callback], post_logout_redirect_uris: [callback] }
  return { realm, client: await realm.createClient({ application_type: 'spa', ...callbacks }) }
}

/**
 * Opens a monitored page with a virtual authenticator that always verifies the user. `unexpected` returns the problems
 * of the page, except expected requests.
 */
async function openWithAuthenticator({ realm }: IssuerSetup, options: BrowserContextOptions = {}) {
  const monitored = await openMonitoredPage(browser, new URL(realm.url).origin, options)
  const cdp = await monitored.page.context().newCDPSession(monitored.page)
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
    monitored.problems.filter(
      (problem) => !problem.startsWith('requested data:') && !problem.startsWith(`requested ${callback}`),
    )
  return { ...monitored, cdp, authenticatorId, unexpected }
}

const open = (page: Page, { realm, client }: IssuerSetup, params: Record<string, string> = {}) =>
  page.goto(realm.authorizeUrl(client, { ...challenge, redirect_uri: callback, ...params }))

async function typePassword(page: Page, username: string): Promise<void> {
  await page.getByLabel('Username or email').fill(username)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
}

/** Waits until the browser is back at the application, exchanges the code, and returns the claims of the ID token. */
async function exchangeForClaims(page: Page, { realm, client }: IssuerSetup) {
  await page.getByRole('heading', { name: 'Notebook' }).waitFor()
  const code = new URL(page.url()).searchParams.get('code')!
  const response = await realm.exchangeCode(client, { code, code_verifier: verifier, redirect_uri: callback })
  expect(response.status).toBe(200)
  return jwtClaims(response.body.id_token)
}

const credentials = async (cdp: CDPSession, authenticatorId: string) =>
  (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials

test('a passkey is created where MFA is required, then used as second factor, then as the only credential', async () => {
  const at = await createIssuer(['passkey', 'backup_codes'], { mfa_required: true })
  const person = await createTestUser(at.realm)
  const { page, cdp, authenticatorId, unexpected } = await openWithAuthenticator(at)
  // Disables passkey autofill. The virtual authenticator would respond to it before the test clicks the button.
  await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')

  await open(page, at)
  await typePassword(page, person.username)
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  await page.getByRole('heading', { name: 'Save your backup codes' }).waitFor()
  await page.getByRole('button', { name: "I've saved them" }).click()
  expect(await exchangeForClaims(page, at)).toMatchObject({ sub: person.id, amr: ['pwd', 'hwk', 'mfa'] })
  const [created] = await credentials(cdp, authenticatorId)
  expect(created).toMatchObject({ isResidentCredential: true, rpId: 'localhost' })
  expect(Buffer.from(created!.userHandle!, 'base64').toString()).toBe(person.id)

  await open(page, at, { prompt: 'login' })
  await typePassword(page, person.username)
  await page.getByRole('heading', { name: 'One more step' }).waitFor()
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  expect(await exchangeForClaims(page, at)).toMatchObject({ sub: person.id, amr: ['pwd', 'hwk', 'mfa'] })

  await open(page, at, { prompt: 'login' })
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  expect(await exchangeForClaims(page, at)).toMatchObject({ sub: person.id, amr: ['hwk', 'mfa'] })
  expect(unexpected()).toEqual([])
  await page.context().close()
})

test('passkey autofill in the username field signs the user in', async () => {
  const at = await createIssuer(['passkey'])
  const person = await createTestUser(at.realm)
  const { page, cdp, authenticatorId, unexpected } = await openWithAuthenticator(at)
  const I = at.realm.tenant.I
  // Registers a passkey with options from the Core API. The script runs on a document of the issuer, because the browser
  // creates a passkey only for the origin of the page.
  const path = `${I}/users/${person.id}/verifiers`
  const { data } = expectStatus(await at.realm.tenant.owner.post(`${path}/passkey-challenge`), 201)
  await page.goto(`${at.realm.url}/.well-known/openid-configuration`)
  const credential = await page.evaluate(`(async () => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(${JSON.stringify(data.options)})
    return (await navigator.credentials.create({ publicKey })).toJSON()
  })()`)
  expectStatus(
    await at.realm.tenant.owner.post(path, {
      type: 'passkey',
      name: null,
      credential,
      challenge_id: data.challenge_id,
    }),
    201,
  )
  expect(await credentials(cdp, authenticatorId)).toHaveLength(1)

  // The virtual authenticator responds to the autofill request of the page without user interaction.
  await open(page, at)
  expect(await exchangeForClaims(page, at)).toMatchObject({ sub: person.id, amr: ['hwk', 'mfa'] })
  expect(unexpected()).toEqual([])
  await page.context().close()
})

test('a user signs up with a passkey and then signs in with it', async () => {
  const at = await createIssuer([])
  const { owner, I } = at.realm.tenant
  expectStatus(await owner.post(`${I}/auth-methods`, { name: 'Passkey', method: 'passkey', enabled_signup: true }), 201)
  const [password] = expectStatus(await owner.get(`${I}/auth-methods`), 200).data.filter(
    (authMethod: { method: string }) => authMethod.method === 'password',
  )
  expectStatus(await owner.patch(`${I}/auth-methods/${password.id}`, { enabled_signup: true }), 200)
  const { page, cdp, authenticatorId, unexpected } = await openWithAuthenticator(at)
  await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')

  await open(page, at)
  await page.getByRole('button', { name: 'Create an account' }).click()
  await page.getByLabel('Email').fill('grace@example.com')
  await page.getByRole('button', { name: 'Sign up with a passkey' }).click()
  await page.getByRole('heading', { name: 'Create a passkey' }).waitFor()
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  const { sub, amr } = await exchangeForClaims(page, at)
  expect(amr).toEqual(['hwk', 'mfa'])
  const [created] = await credentials(cdp, authenticatorId)
  expect(created).toMatchObject({ isResidentCredential: true, rpId: 'localhost', userName: 'grace@example.com' })
  expect(Buffer.from(created!.userHandle!, 'base64').toString()).toBe(sub)

  await open(page, at, { prompt: 'login' })
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  expect(await exchangeForClaims(page, at)).toMatchObject({ sub, amr: ['hwk', 'mfa'] })
  expect(unexpected()).toEqual([])
  await page.context().close()
})

test('a canceled passkey prompt shows a message, and the user can sign in with a password', async () => {
  const at = await createIssuer(['passkey'])
  const person = await createTestUser(at.realm)
  const { page, cdp, authenticatorId, unexpected } = await openWithAuthenticator(at)
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  await open(page, at)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByText('The passkey request was canceled or failed').waitFor()
  await typePassword(page, person.username)
  expect(await exchangeForClaims(page, at)).toMatchObject({ amr: ['pwd'] })
  expect(unexpected()).toEqual([])
  await page.context().close()
})

test.each([
  { colorScheme: 'light' as const, viewport: { width: 1280, height: 900 } },
  { colorScheme: 'dark' as const, viewport: { width: 1280, height: 900 } },
  { colorScheme: 'light' as const, viewport: { width: 390, height: 844 } },
  { colorScheme: 'dark' as const, viewport: { width: 390, height: 844 } },
])(
  'if MFA is required but no method is configured, an authenticator app and backup codes are set up: %j',
  async (options) => {
    const at = await createIssuer([], { mfa_required: true })
    const person = await createTestUser(at.realm)
    const { page, unexpected } = await openWithAuthenticator(at, options)
    const expectFits = async () => {
      const width = await page.evaluate('document.documentElement.scrollWidth')
      expect(width).toBeLessThanOrEqual(options.viewport.width)
    }
    await open(page, at)
    await typePassword(page, person.username)
    await page.getByRole('heading', { name: 'Set up an authenticator app' }).waitFor()
    await expectFits()
    const secret = (await page.locator('.secret').textContent())!.replaceAll(' ', '')
    await page.getByLabel('Code from the app').fill(totpCode(secret, app.clock.now()))
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Save your backup codes' }).waitFor()
    await expectFits()
    const codes = await page.locator('.codes li').allTextContents()
    expect(codes).toHaveLength(10)
    await page.getByRole('button', { name: "I've saved them" }).click()
    expect(await exchangeForClaims(page, at)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })

    // Signs in with one of the backup codes.
    await open(page, at, { prompt: 'login' })
    await typePassword(page, person.username)
    await page.getByRole('heading', { name: 'One more step' }).waitFor()
    await page.getByRole('button', { name: 'Use a backup code' }).click()
    await page.getByLabel('Backup code', { exact: true }).fill(codes[0]!)
    await page.keyboard.press('Enter')
    expect(await exchangeForClaims(page, at)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })
    expect(unexpected()).toEqual([])
    await page.context().close()
  },
)

test.each([
  { colorScheme: 'light' as const, viewport: { width: 1280, height: 900 }, locale: 'en' },
  { colorScheme: 'dark' as const, viewport: { width: 390, height: 844 }, locale: 'de' },
])('without JavaScript, an authenticator app is set up and used, and passkeys are not offered: %j', async (options) => {
  const at = await createIssuer(['passkey', 'totp', 'backup_codes'], { mfa_required: true })
  const person = await createTestUser(at.realm)
  const { page, unexpected } = await openWithoutJavaScript(at, options)
  const translate = (en: string, de: string) => (options.locale === 'de' ? de : en)
  await open(page, at)
  expect(await page.locator('#passkey').isVisible()).toBe(false)
  await page.getByLabel(translate('Username or email', 'Benutzername oder E-Mail')).fill(person.username)
  await page.getByLabel(translate('Password', 'Passwort'), { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')

  const box = (await page.locator('main').boundingBox())!
  expect(box.x + box.width).toBeLessThanOrEqual(options.viewport.width)
  const image = page.getByRole('img', { name: translate('QR code', 'QR-Code') })
  expect((await image.locator('svg').boundingBox())!.width).toBeGreaterThan(150)
  const secret = (await page.locator('.secret').textContent())!.replaceAll(' ', '')
  await page.getByLabel(translate('Code from the app', 'Code aus der App')).fill('000000')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  await page.keyboard.type(totpCode(secret, app.clock.now()))
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: translate("I've saved them", 'Ich habe sie gespeichert') }).waitFor()
  const [first] = await page.locator('.codes li').allTextContents()
  await page.getByRole('button', { name: translate("I've saved them", 'Ich habe sie gespeichert') }).click()
  expect(await exchangeForClaims(page, at)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })

  await open(page, at, { prompt: 'login' })
  await page.getByLabel(translate('Username or email', 'Benutzername oder E-Mail')).fill(person.username)
  await page.getByLabel(translate('Password', 'Passwort'), { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: translate('Use a backup code', 'Ersatzcode verwenden') }).click()
  await page.getByLabel(translate('Backup code', 'Ersatzcode'), { exact: true }).fill(first!)
  await page.keyboard.press('Enter')
  expect(await exchangeForClaims(page, at)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })
  expect(unexpected()).toEqual([])
  await page.context().close()
})

async function openWithoutJavaScript({ realm }: IssuerSetup, options: BrowserContextOptions) {
  const origin = new URL(realm.url).origin
  const monitored = await openMonitoredPage(browser, origin, { ...options, javaScriptEnabled: false })
  const unexpected = () =>
    monitored.problems.filter(
      (problem) => !problem.startsWith('requested data:') && !problem.startsWith(`requested ${callback}`),
    )
  return { ...monitored, unexpected }
}
