/** A real Chromium, from the npm package that carries one: no system package is needed. */
import chromium from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, type Page, chromium as playwright } from 'playwright-core'

// Not the package's own arguments: they switch off the web's security, which is what tests are to see at work.
const args = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--no-default-browser-check',
]

/** Starts it, headless. Close it in afterAll. */
export async function startBrowser(): Promise<Browser> {
  return playwright.launch({ executablePath: await chromium.executablePath(), args, headless: true })
}

/** A page in a context of its own, with what it did that it should not. */
export interface Watched {
  page: Page
  /** Errors on the console (refusals by the content security policy are among them), exceptions, strangers asked. */
  faults: string[]
  /** Every address that was asked for. */
  requests: string[]
}

/**
 * Opens a page that may talk to one server only: other requests are refused and are faults.
 * @param origin where the page lives
 */
export async function watchedPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const faults: string[] = []
  const requests: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`exception: ${error.message}`))
  page.on('request', (request) => requests.push(request.url()))
  await context.route(
    (url) => url.origin !== new URL(origin).origin && /^(https?|wss?):$/.test(url.protocol),
    async (route) => {
      faults.push(`asked a stranger: ${route.request().url()}`)
      await route.abort()
    },
  )
  return { page, faults, requests }
}
