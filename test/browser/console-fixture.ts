/** Fixture for tests of the console in Chromium: a deployment with an administrator, a browser, and helpers. */
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { startApp, type TestApp } from '../setup/start-app.js'
import { launchBrowser, type MonitoredPage, openMonitoredPage } from './monitored-page.js'

export const ADMIN = { email: 'ada@example.com', password: 'correct horse battery staple' }

export interface ConsoleFixture {
  app: TestApp
  browser: Browser
  /**
   * Opens a page without a session. `unexpectedProblems` returns its problems, except requests to the origin of the IdP
   * and to `blob:` URLs of the console.
   */
  openPage(options?: BrowserContextOptions): Promise<MonitoredPage & { unexpectedProblems(): string[] }>
  close(): Promise<void>
}

/**
 * Starts a deployment and a browser.
 * @param env environment variables of the deployment, besides those of its administrator
 * @param withWorker whether the deployment also runs jobs, such as deliveries and mails
 */
export async function startConsoleFixture(
  env: Record<string, string> = {},
  withWorker = false,
): Promise<ConsoleFixture> {
  const app = await startApp({
    roles: withWorker ? ['core', 'idp', 'worker'] : ['core', 'idp'],
    env: { ...env, BOOTSTRAP_ADMIN_EMAIL: ADMIN.email, BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password },
  })
  const browser = await launchBrowser()
  return {
    app,
    browser,
    async openPage(options = {}) {
      const monitored = await openMonitoredPage(browser, app.baseUrl, options)
      monitored.page.setDefaultTimeout(10_000)
      const expectedPrefixes = [`requested ${app.idpUrl}/`, `requested blob:${app.baseUrl}/`]
      const unexpectedProblems = () =>
        monitored.problems.filter((problem) => !expectedPrefixes.some((prefix) => problem.startsWith(prefix)))
      return { ...monitored, unexpectedProblems }
    },
    async close() {
      await browser.close()
      await app.close()
    },
  }
}

/** Opens a URL of the console and signs in as the administrator on the hosted page that it redirects to. */
export async function signInAsAdministrator(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Username or email').fill(ADMIN.email)
  await page.getByLabel('Password').fill(ADMIN.password)
  await page.keyboard.press('Enter')
}

/** Saves screenshots of a page in light and dark and on a phone, if the environment variable SCREENSHOTS names a folder. */
export async function saveScreenshots(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS']
  if (!folder) return
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 860 })
    await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png` })
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1280, height: 860 })
}

/**
 * Adds an entry to a list field by leaving it. Enter would submit the form if a dialog that has just opened moved the
 * focus to its first field in between.
 */
export async function addEntry(field: Locator, value: string): Promise<void> {
  await field.fill(value)
  await field.blur()
}
