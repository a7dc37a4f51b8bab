/** Opens the URLs of a test in Chromium and does what a user would do there. */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { UrlToVisit } from './suite.js'

/** The name and the password that the visitor enters on the sign-in page. */
export interface SignIn {
  username: string
  password: string
}

/** What the visitor does on the sign-in page. */
export type SignInAction = 'sign_in' | 'cancel' | 'stop'

/** A picture of a page, with the text on the page. */
export interface Picture {
  png: Buffer
  text: string
}

export interface Visit {
  /** When the visit started, in Unix milliseconds. */
  startedAt: number
  /** The page at which the visit ended; undefined if it ended at the suite. */
  lastPage?: Picture
  /** The first page of Gatehouse; undefined if the visit had no step. */
  firstPage?: Picture
}

/** The longest time that a page may take, in milliseconds. */
const TIMEOUT = 20_000

/** The most pages that a visit passes through, as a limit for redirects in circles. */
const MOST_PAGES = 6

/** The browser of one test. The cookies and the tabs are kept until the end of the test. */
export class Visitor {
  private constructor(
    private readonly context: BrowserContext,
    private readonly suiteUrl: string,
    private readonly signIn: SignIn,
  ) {}

  /** @param suiteUrl the origin at which each visit ends, unless Gatehouse shows a page without a next step */
  static async open(browser: Browser, suiteUrl: string, signIn: SignIn): Promise<Visitor> {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 800, height: 600 } })
    context.setDefaultTimeout(TIMEOUT)
    // The pages of the suite refer to scripts and fonts of other servers, which the tests do not need.
    await context.route(
      (url) => url.hostname !== 'localhost',
      (route) => route.abort(),
    )
    return new Visitor(context, suiteUrl, signIn)
  }

  /**
   * Opens a URL in a new tab, signs in or confirms the sign-out if Gatehouse asks for it, and stops at the suite or at
   * a page without a next step.
   */
  async visit(target: UrlToVisit, signInAction: SignInAction): Promise<Visit> {
    const startedAt = Date.now()
    // A tab of an earlier visit may still follow redirects, for example after a check of the session.
    const tab = new Tab(await this.context.newPage(), this.suiteUrl)
    await tab.open(target)
    const pages: Picture[] = []
    while (!(await tab.waitUntilShown())) {
      if (pages.length === MOST_PAGES) throw new Error(`The visit of ${target.url} did not end.`)
      pages.push(await tab.takePicture())
      const [firstPage, lastPage] = [pages[0]!, pages.at(-1)!]
      if (!(await tab.takeNextStep(this.signIn, signInAction))) return { startedAt, firstPage, lastPage }
    }
    return { startedAt, ...(pages[0] && { firstPage: pages[0] }) }
  }

  close(): Promise<void> {
    return this.context.close()
  }
}

class Tab {
  constructor(
    private readonly page: Page,
    private readonly suiteUrl: string,
  ) {}

  async open({ url, method }: UrlToVisit): Promise<void> {
    if (method === 'POST') await this.post(url)
    else await this.page.goto(url, { waitUntil: 'commit' })
  }

  /** Sends the parameters of a URL as a form, from a page of the suite. */
  private async post(url: string): Promise<void> {
    await this.page.goto(`${this.suiteUrl}/robots.txt`)
    const { origin, pathname, searchParams } = new URL(url)
    const script = `(({ action, fields }) => {
      const form = Object.assign(document.createElement('form'), { method: 'POST', action })
      for (const [name, value] of fields)
        form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }))
      document.body.append(form)
      form.submit()
    })(${JSON.stringify({ action: origin + pathname, fields: [...searchParams] })})`
    const left = this.page.waitForURL((current) => current.pathname !== '/robots.txt', { waitUntil: 'commit' })
    await this.page.evaluate(script)
    await left
  }

  /** Waits until a page of Gatehouse is complete, or the browser is at the suite. Returns whether it is at the suite. */
  async waitUntilShown(): Promise<boolean> {
    const suite = this.page.waitForURL((url) => url.origin === this.suiteUrl, { waitUntil: 'load' }).then(() => true)
    // A page with a form to the suite sends it without the user (OAuth 2.0 Form Post Response Mode).
    const gatehouse = this.page
      .locator(`main h1:not(:has(~ form[action^="${this.suiteUrl}"]))`)
      .first()
      .waitFor()
      .then(() => false)
    const shown = await Promise.any([suite, gatehouse]).catch(() => undefined)
    if (shown === undefined) throw new Error(`Neither the suite nor a page of Gatehouse: ${this.page.url()}.`)
    if (shown) await this.waitUntilResponseIsSent()
    return shown
  }

  /** Waits until the callback page of the suite has sent the fragment of its URL to the suite. */
  private async waitUntilResponseIsSent(): Promise<void> {
    if (new URL(this.page.url()).pathname.endsWith('/callback'))
      await this.page.locator('#submission_complete').waitFor({ state: 'attached' })
  }

  async takePicture(): Promise<Picture> {
    const [png, text] = [await this.page.screenshot(), await this.page.locator('main').textContent()]
    return { png, text: (text ?? '').replace(/\s+/g, ' ') }
  }

  /** Signs in, cancels, or confirms the sign-out. Returns whether the page has such a step. */
  async takeNextStep({ username, password }: SignIn, signInAction: SignInAction): Promise<boolean> {
    const signIn = this.page.locator('button[name="method"][value="password"]')
    const cancel = this.page.locator('button[name="method"][value="cancel"]')
    const signOut = this.page.locator('button[name="logout"][value="yes"]')
    const isSignInPage = await signIn.isVisible()
    if (isSignInPage && signInAction === 'stop') return false
    if (isSignInPage && signInAction === 'sign_in') {
      await this.page.fill('#username', username)
      await this.page.fill('#password', password)
    }
    const button = isSignInPage ? (signInAction === 'sign_in' ? signIn : cancel) : signOut
    if (!(await button.isVisible())) return false
    const left = this.page.waitForEvent('framenavigated', (frame) => frame === this.page.mainFrame())
    await button.click({ noWaitAfter: true })
    await left
    return true
  }
}
