/** The console in a real Chromium: a deployment with an administrator, and the ways that tests go through it. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { startApp, type TestApp } from '../setup/start-app.js'
import { startStrictBrowser, type Watched, watchedPage } from './watched-page.js'

export const ADMIN = { email: 'ada@example.com', password: 'correct horse battery staple' }

export interface ConsoleWorld {
  app: TestApp
  browser: Browser
  /** A browser of its own that nobody has signed in with. What it asks of the issuer's own address is no fault. */
  open(options?: BrowserContextOptions): Promise<Watched & { unexpected(): string[] }>
  close(): Promise<void>
}

/**
 * @param env settings of the deployment besides its administrator
 * @param worker does it also work off what was promised: deliveries, mails?
 */
export async function startConsole(env: Record<string, string> = {}, worker = false): Promise<ConsoleWorld> {
  const app = await startApp({
    roles: worker ? ['core', 'idp', 'worker'] : ['core', 'idp'],
    env: { ...env, BOOTSTRAP_ADMIN_EMAIL: ADMIN.email, BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password },
  })
  const browser = await startStrictBrowser()
  return {
    app,
    browser,
    async open(options = {}) {
      const watched = await watchedPage(browser, app.baseUrl, options)
      watched.page.setDefaultTimeout(10_000)
      const own = [`asked ${app.idpUrl}/`, `asked blob:${app.baseUrl}/`]
      const unexpected = () => watched.faults.filter((fault) => !own.some((start) => fault.startsWith(start)))
      return { ...watched, unexpected }
    },
    async close() {
      await browser.close()
      await app.close()
    },
  }
}

/** Types the administrator's password into the hosted page that a console address leads to. */
export async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Username or email').fill(ADMIN.email)
  await page.getByLabel('Password').fill(ADMIN.password)
  await page.keyboard.press('Enter')
}

/** Screenshots of a page into the folder SCREENSHOTS, if that is set: light, dark, and as wide as a phone. */
export async function screenshots(page: Page, name: string): Promise<void> {
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
