/** The first run in Chromium: the setup link, the first issuer and application, and a test sign-in with its tokens. */
import { mkdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'
import { accessibilityViolations } from './accessibility.js'
import { launchBrowser, openMonitoredPage } from './monitored-page.js'

const PASSWORD = 'correct horse battery staple'

interface UnconfiguredDeployment {
  app: TestApp
  baseUrl: string
  idpUrl: string
}

let browser: Browser
let fixture: UnconfiguredDeployment
let page: Page
let unexpectedProblems: () => string[]
const violations: string[] = []

/** Starts a deployment without an administrator at `localhost`, because passkeys do not work with IP addresses. */
async function startUnconfigured(): Promise<UnconfiguredDeployment> {
  const [port, idpPort] = await freePorts(2)
  const [baseUrl, idpUrl] = [`http://localhost:${port}`, `http://localhost:${idpPort}`]
  const app = await startApp({
    env: { PORT: String(port), IDP_PORT: String(idpPort), BASE_URL: baseUrl, IDP_URL: idpUrl },
  })
  return { app, baseUrl, idpUrl }
}

async function open({ baseUrl, idpUrl }: UnconfiguredDeployment) {
  const monitored = await openMonitoredPage(browser, baseUrl, { viewport: { width: 1280, height: 900 } })
  monitored.page.setDefaultTimeout(15_000)
  // Chromium logs the status 400 of the form with a weak password, which one test submits.
  const expectedPrefixes = [
    `requested ${idpUrl}/`,
    `requested blob:${baseUrl}/`,
    'requested data:',
    'console: Failed to load resource: the server responded with a status of 400',
  ]
  return {
    page: monitored.page,
    unexpectedProblems: () =>
      monitored.problems.filter((problem) => !expectedPrefixes.some((prefix) => problem.startsWith(prefix))),
  }
}

/** Collects accessibility violations, and pages that do not fit a phone, and saves screenshots. */
async function expectAccessible(name: string): Promise<void> {
  violations.push(...(await accessibilityViolations(page)).map((text) => `${name}: ${text}`))
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await takeScreenshot(`${name}-${colorScheme}`)
  }
  await page.setViewportSize({ width: 390, height: 844 })
  await takeScreenshot(`${name}-phone`)
  if (!(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')))
    violations.push(`${name}: wider than a phone`)
  await page.setViewportSize({ width: 1280, height: 900 })
}

/** Saves a screenshot if the environment variable SCREENSHOTS names a folder. */
async function takeScreenshot(name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS']
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/${name}.png` })
}

const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()

beforeAll(async () => {
  browser = await launchBrowser()
  fixture = await startUnconfigured()
  const opened = await open(fixture)
  page = opened.page
  unexpectedProblems = opened.unexpectedProblems
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await fixture?.app.close()
})

test('the setup link creates the administrator and signs them in to the console', async () => {
  await page.goto(fixture.app.setupLink!)
  await heading('Welcome to Gatehouse')
  await expectAccessible('setup')
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password', { exact: true }).fill('password')
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByRole('alert').getByText('choose another').waitFor()
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await heading('Your first issuer')
  expect(unexpectedProblems()).toEqual([])
})

test('the first issuer and application are created, and a test sign-in shows the decoded tokens', async () => {
  await page.goto(`${fixture.baseUrl}/console`)
  await heading('Your first issuer')
  await expectAccessible('issuer')
  await page.getByLabel('Account name').fill('Acme')
  await page.getByRole('button', { name: 'Create issuer' }).click()
  const dialog = page.getByRole('dialog', { name: 'First API key' })
  expect(await dialog.locator('[data-secret]').textContent()).toMatch(/^ak_\w{26}:.{30,}$/)
  await dialog.getByRole('button', { name: "I've saved it" }).click()

  await heading('Your first application')
  await expectAccessible('application')
  await page.getByRole('button', { name: 'Create application' }).click()
  await page.getByText(/client_id: 'cli_\w{26}'/).waitFor()
  await page.reload()
  await page.getByText(/client_id: 'cli_\w{26}'/).waitFor()
  await page.getByRole('button', { name: 'Try signing in' }).click()
  await page.getByRole('button', { name: 'Copy password' }).waitFor()
  await expectAccessible('try')
  const [username, password] = await page.locator('dd').allInnerTexts()
  await page.getByRole('button', { name: 'Open the sign-in page' }).click()
  await page.waitForURL(`${fixture.idpUrl}/**`)
  expect(await page.getByLabel('Username or email').inputValue()).toBe(username!.trim())
  await page.getByLabel('Password').fill(password!.trim())
  await page.keyboard.press('Enter')

  await heading('Signed in')
  expect(page.url()).toBe(`${fixture.baseUrl}/console/try`)
  const claims = page.getByRole('table', { name: 'Claims of the ID token' })
  await page
    .getByRole('table', { name: 'UserInfo' })
    .getByRole('row', { name: /^email demo-\d+@example\.com/ })
    .waitFor()
  await claims.getByRole('row', { name: /^nonce/ }).waitFor()
  await page
    .getByRole('table', { name: 'Claims of the Access token' })
    .getByRole('row', { name: /^client_id cli_/ })
    .waitFor()
  await expectAccessible('tokens')
  const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
  expect(stored).not.toMatch(/eyJ|verifier/)
  await page.reload()
  await page.getByRole('heading', { name: 'No tokens to show' }).waitFor()
  expect(unexpectedProblems()).toEqual([])
})

test('the playground uses the console session and links to the console', async () => {
  await page.goto(`${fixture.baseUrl}/playground`)
  await page.getByRole('status').getByText('You are user').waitFor()
  await page.locator('[aria-label="Operation Editor"] .view-line').first().waitFor()
  await page.getByRole('region', { name: 'Examples' }).getByRole('button', { name: 'Who am I' }).click()
  await page.getByRole('button', { name: 'Execute query' }).click()
  await page.locator('.result-window').getByText('"user"').waitFor()
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('button', { name: 'Use my console session' }).click()
  await page.getByRole('status').getByText('You are user').waitFor()
  await takeScreenshot('playground')
  await page.getByRole('link', { name: 'Console' }).first().click()
  await heading('Acme')
  expect(unexpectedProblems()).toEqual([])
})

test('a passkey instead of a password creates the administrator and signs in at the issuer', async () => {
  const other = await startUnconfigured()
  try {
    const opened = await open(other)
    const cdp = await opened.page.context().newCDPSession(opened.page)
    await cdp.send('WebAuthn.enable')
    await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    // Disables passkey autofill. The virtual authenticator would respond to it before the test clicks the button.
    await opened.page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')
    await opened.page.goto(other.app.setupLink!)
    await opened.page.getByLabel('Email').fill('grace@example.com')
    await opened.page.getByRole('button', { name: 'Continue with a passkey' }).click()
    await opened.page.getByRole('heading', { level: 1, name: 'Your first issuer' }).waitFor()
    await opened.page.context().clearCookies()
    await opened.page.goto(`${other.baseUrl}/console/welcome`)
    await opened.page.waitForURL(`${other.idpUrl}/**`)
    await opened.page.getByRole('button', { name: 'Use a passkey' }).click()
    await opened.page.getByRole('heading', { level: 1, name: 'Your first issuer' }).waitFor()
    expect(opened.unexpectedProblems()).toEqual([])
  } finally {
    await other.app.close()
  }
})

test('no page had accessibility violations, and every page fits a phone', () => {
  expect(violations).toEqual([])
})
