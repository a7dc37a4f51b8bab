/** A browser as far as signing in needs one: follows redirects, keeps cookies by path, fills in the one form of a page. */
import { type Ask, type Asked, ask } from '../setup/ask.js'

interface Cookie {
  name: string
  value: string
  path: string
  /** As it was set; a cookie that says nothing is Lax. */
  sameSite: string
}

export interface Page {
  url: string
  status: number
  headers: Headers
  html: string
}

const unescaped = (text: string): string =>
  text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')

const attribute = (tag: string, name: string): string | undefined => {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : unescaped(value)
}

export class TestBrowser {
  #cookies: Cookie[] = []

  /** @param stopAt a redirect to an address that begins like this is not followed but returned */
  constructor(
    private readonly stopAt = 'https://',
    private readonly headers: Record<string, string> = {},
    private readonly send: Ask = ask,
  ) {}

  cookies(): readonly Cookie[] {
    return this.#cookies
  }

  /** The same cookies in another browser. */
  copy(): TestBrowser {
    const other = new TestBrowser(this.stopAt, this.headers, this.send)
    other.#cookies = this.#cookies.map((cookie) => ({ ...cookie }))
    return other
  }

  /** @param crossSite the navigation begins on a page of another site, which decides on the cookies that go along */
  async request(url: string, init: Asked = {}, crossSite = false): Promise<Response> {
    const { pathname } = new URL(url)
    const without = crossSite ? (init.method === 'POST' ? ['lax', 'strict'] : ['strict']) : []
    const sent = this.#cookies.filter(
      ({ path, sameSite }) =>
        (pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`)) &&
        !without.includes(sameSite),
    )
    const cookie = sent.map(({ name, value }) => `${name}=${value}`).join('; ')
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
    const [pair = '', ...traits] = line.split(';').map((part) => part.trim())
    const at = pair.indexOf('=')
    const name = pair.slice(0, at)
    const value = pair.slice(at + 1)
    const trait = (key: string) => traits.find((one) => one.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1)
    const path = trait('path') ?? '/'
    const expires = trait('expires')
    this.#cookies = this.#cookies.filter((cookie) => cookie.name !== name || cookie.path !== path)
    if (value !== '' && (expires === undefined || Date.parse(expires) > Date.now()))
      this.#cookies.push({ name, value, path, sameSite: trait('samesite')?.toLowerCase() ?? 'lax' })
  }

  /** Loads an address and follows redirects until there is a page, or one leads out. */
  async open(url: string, init: Asked = {}, crossSite = false): Promise<Page> {
    let response = await this.request(url, init, crossSite)
    let at = url
    for (let hops = 0; response.status >= 300 && response.status < 400 && hops < 10; hops++) {
      const location = new URL(response.headers.get('location') ?? '', at).href
      if (location.startsWith(this.stopAt))
        return { url: location, status: response.status, headers: response.headers, html: '' }
      at = location
      response = await this.request(at, {}, crossSite)
    }
    return { url: at, status: response.status, headers: response.headers, html: await response.text() }
  }

  /** Sends the form of a page with these values in it. */
  async submit(page: Page, values: Record<string, string>): Promise<Page> {
    const form = /<form[^>]*>/.exec(page.html)?.[0]
    if (!form) throw new Error(`no form on ${page.url}: ${page.status} ${page.html.slice(0, 600)}`)
    const body = new URLSearchParams()
    for (const [tag] of page.html.matchAll(/<input[^>]*>/g)) {
      const name = attribute(tag, 'name')
      if (name) body.set(name, attribute(tag, 'value') ?? '')
    }
    for (const [name, value] of Object.entries(values)) body.set(name, value)
    return this.open(new URL(attribute(form, 'action') ?? '', page.url).href, { method: 'POST', body })
  }
}

/** What a page says is wrong. */
export const problemOf = (page: Page): string | undefined => {
  const box = /<div class="problem"[^>]*>(.*?)<\/div>/s.exec(page.html)?.[1]
  return box && unescaped(box.replace(/<[^>]+>/g, ' ').trim())
}

/** The fields that the page marks as the ones to mend (WCAG 3.3.1); each refers to where the problem is told. */
export const faultyOn = (page: Page): (string | undefined)[] =>
  [...page.html.matchAll(/<input[^>]*>/g)]
    .filter(([tag]) => attribute(tag, 'aria-invalid') === 'true')
    .map(([tag]) => (/"(hint )?problem"/.test(tag) ? attribute(tag, 'id') : `${attribute(tag, 'id')} without a reason`))

/** What stands in a field that the page shows. */
export const valueOn = (page: Page, name: string): string | undefined => {
  const tag = [...page.html.matchAll(/<input[^>]*>/g)]
    .map(([one]) => one)
    .find((one) => attribute(one, 'name') === name)
  return tag && (attribute(tag, 'value') ?? '')
}

export const headingOf = (page: Page): string | undefined => unescaped(/<h1>(.*?)<\/h1>/.exec(page.html)?.[1] ?? '')
