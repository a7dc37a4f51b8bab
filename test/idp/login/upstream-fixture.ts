/** An issuer with upstream providers, and helpers for the requests of a browser during an upstream sign-in. */
import { expect } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import type { AnyJson } from '../../setup/api.js'
import type { TestApp } from '../../setup/start-app.js'
import { errorMessageOf, headingOf, type Page, TestBrowser } from '../browser.js'
import { Realm, redirectParametersOf, type TestClient } from '../realm.js'
import { SECRET } from './upstream-providers.js'

export interface Method {
  id: string
  callback_url: string
}

export class UpstreamFixture {
  constructor(
    readonly realm: Realm,
    readonly client: TestClient,
  ) {}

  static async create(app: TestApp, settings: object = {}): Promise<UpstreamFixture> {
    const realm = await Realm.create(app)
    if (Object.keys(settings).length > 0)
      expectStatus(await realm.tenant.owner.patch(realm.tenant.I, { settings }), 200)
    return new UpstreamFixture(realm, await realm.createClient())
  }

  /** Adds an upstream method with the name `Upstream` and with sign-up enabled; `more` replaces other fields. */
  async addMethod(method: string, settings: object, more: object = {}): Promise<Method> {
    const body = { name: 'Upstream', method, first_factor_only: true, enabled_signup: true, settings, ...more }
    return expectStatus(await this.realm.tenant.owner.post(`${this.realm.tenant.I}/auth-methods`, body), 201).data
  }

  addOidcMethod(issuer_url: string, more: object = {}, settings: object = {}): Promise<Method> {
    return this.addMethod('oidc', { issuer_url, client_id: 'us', client_secret: SECRET, ...settings }, more)
  }

  /** Clicks the button of the method and follows all redirects, to the provider and back. Returns the last page. */
  async signInThrough({ id }: Method, browser = new TestBrowser(), params: Record<string, string> = {}): Promise<Page> {
    const { page } = await this.realm.openSignInPage(this.client, params, browser)
    return browser.submit(page, { method: id })
  }

  /** Clicks the button of the method without following the redirect. Returns its target and the sign-in page. */
  async startUpstreamSignIn(
    { id }: Method,
    browser = new TestBrowser(),
  ): Promise<{ address: URL; page: Page; browser: TestBrowser }> {
    const { page } = await this.realm.openSignInPage(this.client, {}, browser)
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)![1]!
    const body = new URLSearchParams({ csrf, method: id })
    const response = await browser.request(page.url, { method: 'POST', body })
    const location = response.headers.get('location')
    if (response.status !== 303 || !location)
      throw new Error(`no redirect to the provider: ${response.status} ${await response.text()}`)
    return { address: new URL(location), page, browser }
  }

  /** Opens the authorization URL at the provider and returns the target of its redirect, which is the callback. */
  async redirectFromProvider(provider: URL): Promise<URL> {
    const response = await fetch(provider, { redirect: 'manual' })
    return new URL(response.headers.get('location')!)
  }

  listUsers(): Promise<AnyJson[]> {
    const { issuerId, app } = this.realm.tenant
    return app!.gatehouse.database.prisma.user.findMany({
      where: { issuerId },
      orderBy: { id: 'asc' },
      include: { verifiers: true },
    })
  }

  /** Returns the events of a type, newest first. */
  listEvents(type: string): Promise<{ userId: string | null; data: unknown }[]> {
    const { issuerId, app } = this.realm.tenant
    return app!.gatehouse.database.prisma.event.findMany({ where: { issuerId, type }, orderBy: { id: 'desc' } })
  }
}

export const FAILED_MESSAGE = /^Sign-in with Upstream failed/
export const DENIED_MESSAGE = /did not confirm your identity/
export const UNKNOWN_MESSAGE = /is not linked to an account here/
export const TAKEN_MESSAGE = /An account with your email address already exists/
export const UNVERIFIED_MESSAGE = /A verified email address is required/

/** Whether the browser was redirected to the application with a code. */
export const isSignedIn = (page: Page): boolean => page.html === '' && redirectParametersOf(page)['code'] !== undefined

/** Checks that the page is the sign-in page with this error message. */
export function expectRefusal(page: Page, problem: RegExp): void {
  expect({ status: page.status, heading: headingOf(page), problem: errorMessageOf(page) }).toEqual({
    status: 200,
    heading: 'Sign in',
    problem: expect.stringMatching(problem),
  })
}
