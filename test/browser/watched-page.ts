import chromium from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, type Page, chromium as playwright } from 'playwright-core'

/**
 * A Chromium with the security of the one that people use: the package's own arguments would turn web security and
 * separate processes off, and with them what is to be watched.
 */
export async function startStrictBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    // --no-sandbox: its sandbox refuses to run as root, which tests in containers do.
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-gpu'],
    headless: true,
  })
}

/** What a page did that it should not: write errors to the console, break its policy, ask another host. */
export interface Watched {
  page: Page
  faults: string[]
  /** Every address that the page and its workers asked for. */
  requests: string[]
}

/** Opens a page that is watched from its first moment on. */
export async function watchedPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const faults: string[] = []
  const requests: string[] = []
  // Of the context, so that what workers ask for is seen as well.
  context.on('request', (request) => {
    requests.push(request.url())
    if (new URL(request.url()).origin !== origin) faults.push(`asked ${request.url()}`)
  })
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`threw: ${error.message}`))
  await page.exposeFunction('reportViolation', (text: string) => faults.push(`policy: ${text}`))
  await page.addInitScript(`addEventListener('securitypolicyviolation', (event) =>
    window.reportViolation(event.violatedDirective + ' ' + event.blockedURI))`)
  return { page, faults, requests }
}
