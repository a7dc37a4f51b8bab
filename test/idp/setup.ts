/** An issuer with clients and people, and the ways an application talks to it. */
import { createHash, randomBytes } from 'node:crypto'
import { makeTenant, makeUser, must, type Tenant } from '../setup/actors.js'
import { type Loose } from '../setup/api.js'
import { type Ask, ask } from '../setup/ask.js'
import type { TestApp } from '../setup/start-app.js'
import { type Page, TestBrowser } from './browser.js'

export const PASSWORD = 'correct horse battery staple'
export const CALLBACK = 'https://app.example.com/callback'
export const AFTER_LOGOUT = 'https://app.example.com/goodbye'

export interface TestClient {
  id: string
  secret: string | undefined
}

export interface Answer {
  status: number
  headers: Headers
  body: Loose
}

/** A tenant whose issuer one signs in at. */
export class Realm {
  /** @param url the issuer identifier, if not the one under IDP_URL; `send` knows the way there */
  constructor(
    readonly app: TestApp,
    readonly tenant: Tenant,
    readonly url = `${app.idpUrl}/${tenant.issuerId}`,
    private readonly send: Ask = ask,
  ) {}

  static async make(app: TestApp, name?: string): Promise<Realm> {
    return new Realm(app, await makeTenant(app, name))
  }

  browser(): TestBrowser {
    return new TestBrowser('https://', {}, this.send)
  }

  user(username: string, password = PASSWORD): Promise<string> {
    return makeUser(this.tenant, username, password)
  }

  /** A client; a public web application with one callback unless told otherwise. */
  async client(openid: object = {}, more: { confidential?: boolean; settings?: object } = {}): Promise<TestClient> {
    const { confidential = false, settings = {} } = more
    const callbacks = { redirect_uris: [CALLBACK], post_logout_redirect_uris: [AFTER_LOGOUT] }
    const body = {
      name: 'Notebook',
      type: 'external',
      confidential,
      settings: { openid: { ...callbacks, ...openid }, ...settings },
    }
    const { data } = must(await this.tenant.owner.post(`${this.tenant.I}/clients`, body), 201)
    return { id: data.id, secret: data.secret }
  }

  authorizeUrl(client: TestClient, params: Record<string, string | undefined> = {}): string {
    const url = new URL(`${this.url}/authorize`)
    const all = {
      client_id: client.id,
      response_type: 'code',
      redirect_uri: CALLBACK,
      scope: 'openid',
      state: 'st',
      ...params,
    }
    for (const [name, value] of Object.entries(all)) if (value !== undefined) url.searchParams.set(name, value)
    return url.href
  }

  /** Opens the sign-in page; `verifier` belongs to the challenge that was sent. */
  async begin(client: TestClient, params: Record<string, string | undefined> = {}, browser = this.browser()) {
    const verifier = randomBytes(32).toString('base64url')
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const url = this.authorizeUrl(client, { code_challenge: challenge, code_challenge_method: 'S256', ...params })
    return { browser, verifier, page: await browser.open(url) }
  }

  /** Signs in and answers what the application gets back. */
  async signIn(
    client: TestClient,
    username: string,
    params: Record<string, string | undefined> = {},
    browser = this.browser(),
  ) {
    const { page, verifier } = await this.begin(client, params, browser)
    const answered = page.html === '' ? page : await browser.submit(page, { username, password: PASSWORD })
    return { browser, verifier, page: answered, redirect: redirectOf(answered) }
  }

  /** Signs in and exchanges the code. */
  async tokens(
    client: TestClient,
    username: string,
    params: Record<string, string | undefined> = {},
    browser = this.browser(),
  ) {
    const { redirect, verifier } = await this.signIn(client, username, params, browser)
    const redirect_uri = params['redirect_uri'] ?? CALLBACK
    const answer = await this.exchange(client, { code: redirect['code']!, code_verifier: verifier, redirect_uri })
    return { ...(must({ ...answer, text: JSON.stringify(answer.body) }, 200) as Loose), browser }
  }

  exchange(client: TestClient, params: Record<string, string>): Promise<Answer> {
    return this.post('/token', client, { grant_type: 'authorization_code', ...params })
  }

  refresh(client: TestClient, refresh_token: string, params: Record<string, string> = {}): Promise<Answer> {
    return this.post('/token', client, { grant_type: 'refresh_token', refresh_token, ...params })
  }

  /** A form to an endpoint, with the client's credentials: Basic for a confidential one. */
  async post(
    path: string,
    client: TestClient | undefined,
    params: Record<string, string> | [string, string][],
  ): Promise<Answer> {
    const body = new URLSearchParams(params)
    const headers: Record<string, string> = {}
    if (client?.secret) headers['authorization'] = `Basic ${btoa(`${client.id}:${encodeURIComponent(client.secret)}`)}`
    else if (client) body.set('client_id', client.id)
    return answerOf(await this.send(`${this.url}${path}`, { method: 'POST', body, headers, redirect: 'manual' }))
  }

  async userinfo(token: string): Promise<Answer> {
    return answerOf(await this.send(`${this.url}/userinfo`, { headers: { authorization: `Bearer ${token}` } }))
  }
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') && text !== ''
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

/** The parameters with which a redirect came back to the application. */
export function redirectOf(page: Page): Record<string, string | undefined> {
  // The console's callback is on this machine, so the browser has gone there.
  if (page.html !== '' && !new URL(page.url).searchParams.has('code'))
    throw new Error(`no redirect but a page, ${page.status} at ${page.url}: ${page.html.slice(-1500)}`)
  return Object.fromEntries(new URL(page.url).searchParams)
}

/** The claims of a JWT, unverified. */
export const claimsOf = (jwt: string): Loose => JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString())
export const headerOf = (jwt: string): Loose => JSON.parse(Buffer.from(jwt.split('.')[0]!, 'base64url').toString())
