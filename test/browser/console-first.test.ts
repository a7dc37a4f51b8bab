/** The first run in a real Chromium: from the printed link to the tokens of somebody who signed in (issue 6 items 2, 3). */
import { mkdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'
import { barriersOn } from './barriers.js'
import { startStrictBrowser, watchedPage } from './watched-page.js'

const PASSWORD = 'correct horse battery staple'

interface World {
  app: TestApp
  baseUrl: string
  idpUrl: string
}

let browser: Browser
let world: World
let page: Page
let faults: () => string[]
const barriers: string[] = []

/** A deployment that nobody has set up, on names: a passkey belongs to a name, never to an address. */
async function unset(): Promise<World> {
  const [port, idpPort] = await freePorts(2)
  const [baseUrl, idpUrl] = [`http://localhost:${port}`, `http://localhost:${idpPort}`]
  const app = await startApp({
    env: { PORT: String(port), IDP_PORT: String(idpPort), BASE_URL: baseUrl, IDP_URL: idpUrl },
  })
  return { app, baseUrl, idpUrl }
}

async function open({ baseUrl, idpUrl }: World) {
  const watched = await watchedPage(browser, baseUrl, { viewport: { width: 1280, height: 900 } })
  watched.page.setDefaultTimeout(15_000)
  // Chromium reports the refusal of a weak password, which one test wants.
  const own = [
    `asked ${idpUrl}/`,
    `asked blob:${baseUrl}/`,
    'asked data:',
    'console: Failed to load resource: the server responded with a status of 400',
  ]
  return {
    page: watched.page,
    faults: () => watched.faults.filter((one) => !own.some((start) => one.startsWith(start))),
  }
}

/** What seriously keeps people out, in light and dark; and whether it fits a phone. */
async function accessible(name: string): Promise<void> {
  barriers.push(...(await barriersOn(page)).map((text) => `${name}: ${text}`))
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await picture(`${name}-${colorScheme}`)
  }
  await page.setViewportSize({ width: 390, height: 844 })
  await picture(`${name}-phone`)
  if (!(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')))
    barriers.push(`${name}: wider than a phone`)
  await page.setViewportSize({ width: 1280, height: 900 })
}

/** For whoever wants to look at them. */
async function picture(name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS']
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/${name}.png` })
}

const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()

beforeAll(async () => {
  browser = await startStrictBrowser()
  world = await unset()
  const opened = await open(world)
  page = opened.page
  faults = opened.faults
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await world?.app.close()
})

test('the setup link makes the administrator, who is signed in to the console with that', async () => {
  await page.goto(world.app.setupLink!)
  await heading('Welcome to Gatehouse')
  await accessible('setup')
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password', { exact: true }).fill('password')
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByRole('alert').getByText('choose another').waitFor()
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await heading('Your first issuer')
  expect(faults()).toEqual([])
})

test('then the first issuer and application, and a sign-in whose tokens are shown decoded', async () => {
  await page.goto(`${world.baseUrl}/console`)
  await heading('Your first issuer')
  await accessible('issuer')
  await page.getByLabel('Your company or product').fill('Acme')
  await page.getByRole('button', { name: 'Make issuer' }).click()
  const dialog = page.getByRole('dialog', { name: 'Your account’s first API key' })
  expect(await dialog.locator('[data-secret]').textContent()).toMatch(/^ak_\w{26}:.{30,}$/)
  await dialog.getByRole('button', { name: 'I have kept it' }).click()

  await heading('Your first application')
  await accessible('application')
  await page.getByRole('button', { name: 'Make application' }).click()
  await page.getByText(/client_id: 'cli_\w{26}'/).waitFor()
  await page.reload()
  await page.getByText(/client_id: 'cli_\w{26}'/).waitFor()
  await page.getByRole('button', { name: 'Try signing in' }).click()
  await page.getByRole('button', { name: 'Copy password' }).waitFor()
  await accessible('try')
  const [username, password] = await page.locator('dd').allInnerTexts()
  await page.getByRole('button', { name: 'To the sign-in page' }).click()
  await page.waitForURL(`${world.idpUrl}/**`)
  expect(await page.getByLabel('Username or email').inputValue()).toBe(username!.trim())
  await page.getByLabel('Password').fill(password!.trim())
  await page.keyboard.press('Enter')

  await heading('Signed in')
  expect(page.url()).toBe(`${world.baseUrl}/console/try`)
  const claims = page.getByRole('table', { name: 'Claims of the ID token' })
  await page
    .getByRole('table', { name: 'Userinfo' })
    .getByRole('row', { name: /^email demo-\d+@example\.com/ })
    .waitFor()
  await claims.getByRole('row', { name: /^nonce/ }).waitFor()
  await page
    .getByRole('table', { name: 'Claims of the Access token' })
    .getByRole('row', { name: /^client_id cli_/ })
    .waitFor()
  await accessible('tokens')
  const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
  expect(kept).not.toMatch(/eyJ|verifier/)
  await page.reload()
  await page.getByRole('heading', { name: 'There is no sign-in to show' }).waitFor()
  expect(faults()).toEqual([])
})

test('the playground asks with the console session, and leads back', async () => {
  await page.goto(`${world.baseUrl}/playground`)
  await page.getByRole('status').getByText('You are user').waitFor()
  await page.locator('[aria-label="Operation Editor"] .view-line').first().waitFor()
  await page.getByRole('region', { name: 'Examples' }).getByRole('button', { name: 'Who am I' }).click()
  await page.getByRole('button', { name: 'Execute query' }).click()
  await page.locator('.result-window').getByText('"user"').waitFor()
  await page.getByRole('button', { name: 'Forget' }).click()
  await page.getByRole('button', { name: 'Use my console session' }).click()
  await page.getByRole('status').getByText('You are user').waitFor()
  await picture('playground')
  await page.getByRole('link', { name: 'Console' }).first().click()
  await heading('Acme')
  expect(faults()).toEqual([])
})

test('the REST reference is searched, opens what an address names, and copies', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: world.baseUrl })
  await page.goto(`${world.baseUrl}/docs`)
  await accessible('docs')
  await page.keyboard.press('/')
  await page.keyboard.type('no such thing')
  await page.getByText('No operation matches').waitFor()
  await page.getByRole('searchbox').fill('post issuers secret')
  await page.keyboard.press('Enter')
  const shown = page.locator('.op:visible')
  expect(await shown.count()).toBeGreaterThan(0)
  expect(await shown.first().getAttribute('open')).not.toBeNull()
  await page.goto(`${world.baseUrl}/docs#createIssuer`)
  await page.reload()
  const one = page.locator('#createIssuer')
  await one.getByRole('rowheader', { name: 'available_scopes' }).waitFor()
  await accessible('operation')
  await one.getByRole('button', { name: 'Copy curl' }).click()
  await one.getByRole('button', { name: 'Copied' }).or(one.getByText('Copied')).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toContain('/v1/accounts/$ACCOUNT_ID/issuers"')
  expect(faults()).toEqual([])
})

test('with a passkey instead of a password, which then signs in on the issuer’s page', async () => {
  const other = await unset()
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
    // A browser that does not offer passkeys in fields, so that none is used before somebody presses a button.
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
    expect(opened.faults()).toEqual([])
  } finally {
    await other.app.close()
  }
})

test('nothing of it keeps anybody out, and all of it fits a phone', () => {
  expect(barriers).toEqual([])
})
