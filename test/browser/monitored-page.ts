import chromium from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, type Page, chromium as playwright } from 'playwright-core'

/**
 * Launches Chromium with its default security. The default arguments of the package @sparticuz/chromium would disable
 * web security and site isolation, on which these tests depend.
 */
export async function launchBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    // In containers the tests run as root, and the sandbox of Chromium does not start as root.
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-gpu'],
    headless: true,
  })
}

/** A page whose problems and requests are recorded. */
export interface MonitoredPage {
  page: Page
  /** Console errors and warnings, exceptions, violations of the CSP, and requests to other origins. */
  problems: string[]
  /** The URL of every request of the page and its workers. */
  requests: string[]
}

/**
 * Opens a page in a new browser context and records its problems and requests.
 * @param origin requests to other origins are problems
 */
export async function openMonitoredPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<MonitoredPage> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const problems: string[] = []
  const requests: string[] = []
  // The events of the context, unlike those of the page, include requests of workers.
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
