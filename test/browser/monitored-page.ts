import chromium from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, type Page, chromium as playwright } from 'playwright-core'

/**
 * Launches Chromium with its default security. The package's own arguments would disable web security and site
 * isolation, which these tests check.
 */
export async function launchBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    // --no-sandbox: Chromium's sandbox does not start as root, and in containers the tests run as root.
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-gpu'],
    headless: true,
  })
}

/** A page, and the problems it had: console errors, exceptions, policy violations and requests to other hosts. */
export interface MonitoredPage {
  page: Page
  problems: string[]
  /** The URL of every request of the page and its workers. */
  requests: string[]
}

/** Opens a page that is monitored from its first request. @param origin the only origin that it may send requests to */
export async function openMonitoredPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<MonitoredPage> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const problems: string[] = []
  const requests: string[] = []
  // Listens on the context, which also reports requests of workers.
  context.on('request', (request) => {
    requests.push(request.url())
    if (new URL(request.url()).origin !== origin) problems.push(`requested ${request.url()}`)
  })
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`threw: ${error.message}`))
  await page.exposeFunction('reportViolation', (text: string) => problems.push(`policy: ${text}`))
  await page.addInitScript(`addEventListener('securitypolicyviolation', (event) =>
    window.reportViolation(event.violatedDirective + ' ' + event.blockedURI))`)
  return { page, problems, requests }
}
