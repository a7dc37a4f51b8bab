/** A minimal browser for sign-in tests: follows redirects, stores cookies by path, and submits the form of a page. */
import { parseSetCookie } from 'cookie'
import { type HttpRequestOptions, type SendRequest, sendRequest } from '../setup/http-request.js'

interface Cookie {
  name: string
  value: string
  path: string
  /** SameSite attribute; Lax if the cookie has none. */
  sameSite: string
}

export interface Page {
  url: string
  status: number
  headers: Headers
  html: string
}

const unescapeHtml = (text: string): string =>
  text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')

const attributeOf = (tag: string, name: string): string | undefined => {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : unescapeHtml(value)
}

export class TestBrowser {
  #cookies: Cookie[] = []

  /**
   * @param stopAtPrefix the browser does not follow a redirect to a URL with this prefix; `open` returns the URL
   * @param headers headers of every request
   * @param send sends the requests; by default `sendRequest`
   */
  constructor(
    private readonly stopAtPrefix = 'https://',
    private readonly headers: Record<string, string> = {},
    private readonly send: SendRequest = sendRequest,
  ) {}

  cookies(): readonly Cookie[] {
    return this.#cookies
  }

  /** Creates another browser with the same cookies. */
  clone(): TestBrowser {
    const other = new TestBrowser(this.stopAtPrefix, this.headers, this.send)
    other.#cookies = this.#cookies.map((cookie) => ({ ...cookie }))
    return other
  }

  /**
   * Sends one request with the cookies of its path, and stores the cookies of the response. Follows no redirect.
   * @param crossSite whether the request starts on a page of another site; then only cookies whose SameSite attribute
   * allows this request are sent
   */
  async request(url: string, init: HttpRequestOptions = {}, crossSite = false): Promise<Response> {
    const { pathname } = new URL(url)
    const excludedSameSite = crossSite ? (init.method === 'POST' ? ['lax', 'strict'] : ['strict']) : []
    const sentCookies = this.#cookies.filter(
      ({ path, sameSite }) =>
        (pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`)) &&
        !excludedSameSite.includes(sameSite),
    )
    const cookie = sentCookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    const response = await this.send(url, {
      ...init,
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        ...this.headers,
        ...(cookie && { cookie }),
        ...init.headers,
      },
    })
    for (const line of response.headers.getSetCookie()) this.#keep(line)
    return response
  }

  #keep(line: string): void {
    const { name, value = '', path = '/', expires, sameSite = 'lax' } = parseSetCookie(line, { decode: String })
    this.#cookies = this.#cookies.filter((cookie) => cookie.name !== name || cookie.path !== path)
    if (value !== '' && (expires === undefined || expires.getTime() > Date.now()))
      this.#cookies.push({ name, value, path, sameSite: String(sameSite) })
  }

  /**
   * Loads a URL and follows redirects until there is a page or a redirect to `stopAtPrefix`. The `html` of such a
   * redirect is empty, and its `url` is the target.
   */
  async open(url: string, init: HttpRequestOptions = {}, crossSite = false): Promise<Page> {
    let response = await this.request(url, init, crossSite)
    let currentUrl = url
    for (let hops = 0; response.status >= 300 && response.status < 400 && hops < 10; hops++) {
      const location = new URL(response.headers.get('location') ?? '', currentUrl).href
      if (location.startsWith(this.stopAtPrefix))
        return { url: location, status: response.status, headers: response.headers, html: '' }
      currentUrl = location
      response = await this.request(currentUrl, {}, crossSite)
    }
    return { url: currentUrl, status: response.status, headers: response.headers, html: await response.text() }
  }

  /** Submits the form of a page. The values replace or complement those of its input elements. */
  async submit(page: Page, values: Record<string, string>): Promise<Page> {
    const form = /<form[^>]*>/.exec(page.html)?.[0]
    if (!form) throw new Error(`no form on ${page.url}: ${page.status} ${page.html.slice(0, 600)}`)
    const body = new URLSearchParams()
    for (const [tag] of page.html.matchAll(/<input[^>]*>/g)) {
      const name = attributeOf(tag, 'name')
      if (name) body.set(name, attributeOf(tag, 'value') ?? '')
    }
    for (const [name, value] of Object.entries(values)) body.set(name, value)
    return this.open(new URL(attributeOf(form, 'action') ?? '', page.url).href, { method: 'POST', body })
  }
}

/** Returns the error message of a page without HTML tags; undefined if the page has none. */
export const errorMessageOf = (page: Page): string | undefined => {
  const box = /<div class="problem"[^>]*>(.*?)<\/div>/s.exec(page.html)?.[1]
  return box && unescapeHtml(box.replace(/<[^>]+>/g, ' ').trim())
}

/**
 * Returns the ids of the fields that the page marks as invalid (WCAG 3.3.1). If a field does not refer to the error
 * message, `without a reason` follows its id.
 */
export const invalidFieldsOf = (page: Page): (string | undefined)[] =>
  [...page.html.matchAll(/<input[^>]*>/g)]
    .filter(([tag]) => attributeOf(tag, 'aria-invalid') === 'true')
    .map(([tag]) =>
      /"(hint )?problem"/.test(tag) ? attributeOf(tag, 'id') : `${attributeOf(tag, 'id')} without a reason`,
    )

/** Returns the value of the input element with this name; undefined if the page has none. */
export const fieldValueOf = (page: Page, name: string): string | undefined => {
  const tag = [...page.html.matchAll(/<input[^>]*>/g)]
    .map(([one]) => one)
    .find((one) => attributeOf(one, 'name') === name)
  return tag && (attributeOf(tag, 'value') ?? '')
}

export const headingOf = (page: Page): string | undefined => unescapeHtml(/<h1>(.*?)<\/h1>/.exec(page.html)?.[1] ?? '')
