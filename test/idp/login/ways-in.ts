/** An issuer where people come in through other providers, and the ways of a browser there. */
import { expect } from '@jest/globals'
import { must } from '../../setup/actors.js'
import type { Loose } from '../../setup/api.js'
import type { TestApp } from '../../setup/start-app.js'
import { headingOf, type Page, problemOf, TestBrowser } from '../browser.js'
import { Realm, redirectOf, type TestClient } from '../setup.js'
import { SECRET } from './providers.js'

export interface Method {
  id: string
  callback_url: string
}

export class WaysIn {
  constructor(
    readonly realm: Realm,
    readonly client: TestClient,
  ) {}

  static async open(app: TestApp, settings: object = {}): Promise<WaysIn> {
    const realm = await Realm.make(app)
    if (Object.keys(settings).length > 0) must(await realm.tenant.owner.patch(realm.tenant.I, { settings }), 200)
    return new WaysIn(realm, await realm.client())
  }

  /** Adds a method; `enabled_signup` unless told otherwise. */
  async add(method: string, settings: object, more: object = {}): Promise<Method> {
    const body = { name: 'Upstream', method, first_factor_only: true, enabled_signup: true, settings, ...more }
    return must(await this.realm.tenant.owner.post(`${this.realm.tenant.I}/auth-methods`, body), 201).data
  }

  oidc(issuer_url: string, more: object = {}, settings: object = {}): Promise<Method> {
    return this.add('oidc', { issuer_url, client_id: 'us', client_secret: SECRET, ...settings }, more)
  }

  /** All the way: the button, the provider, and back. */
  async through({ id }: Method, browser = new TestBrowser(), params: Record<string, string> = {}): Promise<Page> {
    const { page } = await this.realm.begin(this.client, params, browser)
    return browser.submit(page, { method: id })
  }

  /** The button only: the address that the browser is sent to, and the page that it comes from. */
  async out({ id }: Method, browser = new TestBrowser()): Promise<{ address: URL; page: Page; browser: TestBrowser }> {
    const { page } = await this.realm.begin(this.client, {}, browser)
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)![1]!
    const body = new URLSearchParams({ csrf, method: id })
    const answer = await browser.request(page.url, { method: 'POST', body })
    const location = answer.headers.get('location')
    if (answer.status !== 303 || !location) throw new Error(`not sent out: ${answer.status} ${await answer.text()}`)
    return { address: new URL(location), page, browser }
  }

  /** Lets the provider answer, and tells where it sends the browser. */
  async at(provider: URL): Promise<URL> {
    const answer = await fetch(provider, { redirect: 'manual' })
    return new URL(answer.headers.get('location')!)
  }

  users(): Promise<Loose[]> {
    const { issuerId, app } = this.realm.tenant
    return app!.gatehouse.tools.prisma.user.findMany({
      where: { issuerId },
      orderBy: { id: 'asc' },
      include: { verifiers: true },
    })
  }

  /** Newest first. */
  events(type: string): Promise<{ userId: string | null; data: unknown }[]> {
    const { issuerId, app } = this.realm.tenant
    return app!.gatehouse.tools.prisma.event.findMany({ where: { issuerId, type }, orderBy: { id: 'desc' } })
  }
}

export const FAILED = /^Signing in with Upstream did not work/
export const DENIED = /did not confirm who you are/
export const UNKNOWN = /is not known here/
export const TAKEN = /There is an account with your address already/
export const UNVERIFIED = /A confirmed email address is needed/

/** The browser came back to the application with a code. */
export const isIn = (page: Page): boolean => page.html === '' && redirectOf(page)['code'] !== undefined

/** The sign-in page again, with this sentence. */
export function refused(page: Page, problem: RegExp): void {
  expect({ status: page.status, heading: headingOf(page), problem: problemOf(page) }).toEqual({
    status: 200,
    heading: 'Sign in',
    problem: expect.stringMatching(problem),
  })
}
