/** An issuer for tests of the IdP, with helpers that create clients and users and send the requests of an application. */
import { createHash, randomBytes } from 'node:crypto'
import { createTenant, createUser, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson } from '../setup/api.js'
import { type SendRequest, sendRequest } from '../setup/http-request.js'
import type { TestApp } from '../setup/start-app.js'
import { type Page, TestBrowser } from './browser.js'

export const PASSWORD = 'correct horse battery staple'
export const REDIRECT_URI = 'https://app.example.com/callback'
export const POST_LOGOUT_REDIRECT_URI = 'https://app.example.com/goodbye'

export interface TestClient {
  id: string
  secret: string | undefined
}

export interface IdpResponse {
  status: number
  headers: Headers
  body: AnyJson
}

/** The issuer of a tenant, with helpers that create clients and users and send the requests of an application. */
export class Realm {
  /**
   * @param url the issuer identifier and base URL of all requests; by default the one at `app`
   * @param send sends the requests; by default `sendRequest`
   */
  constructor(
    readonly app: TestApp,
    readonly tenant: Tenant,
    readonly url = `${app.idpUrl}/${tenant.issuerId}`,
    private readonly send: SendRequest = sendRequest,
  ) {}

  static async create(app: TestApp, name?: string): Promise<Realm> {
    return new Realm(app, await createTenant(app, name))
  }

  newBrowser(): TestBrowser {
    return new TestBrowser('https://', {}, this.send)
  }

  createUser(username: string, password = PASSWORD): Promise<string> {
    return createUser(this.tenant, username, password)
  }

  /** Creates a client; by default a public web application with one redirect URI. */
  async createClient(
    openid: object = {},
    options: { confidential?: boolean; settings?: object } = {},
  ): Promise<TestClient> {
    const { confidential = false, settings = {} } = options
    const redirectUris = { redirect_uris: [REDIRECT_URI], post_logout_redirect_uris: [POST_LOGOUT_REDIRECT_URI] }
    const body = {
      name: 'Notebook',
      type: 'external',
      confidential,
      settings: { openid: { ...redirectUris, ...openid }, ...settings },
    }
    const { data } = expectStatus(await this.tenant.owner.post(`${this.tenant.I}/clients`, body), 201)
    return { id: data.id, secret: data.secret }
  }

  authorizeUrl(client: TestClient, params: Record<string, string | undefined> = {}): string {
    const url = new URL(`${this.url}/authorize`)
    const all = {
      client_id: client.id,
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      scope: 'openid',
      state: 'st',
      ...params,
    }
    for (const [name, value] of Object.entries(all)) if (value !== undefined) url.searchParams.set(name, value)
    return url.href
  }

  /** Opens the sign-in page. Returns the page, the browser and the PKCE code_verifier of the request. */
  async openSignInPage(
    client: TestClient,
    params: Record<string, string | undefined> = {},
    browser = this.newBrowser(),
  ) {
    const verifier = randomBytes(32).toString('base64url')
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const url = this.authorizeUrl(client, { code_challenge: challenge, code_challenge_method: 'S256', ...params })
    return { browser, verifier, page: await browser.open(url) }
  }

  /** Signs in with a password, or by single sign-on, and returns the authorization response as `redirect`. */
  async signIn(
    client: TestClient,
    username: string,
    params: Record<string, string | undefined> = {},
    browser = this.newBrowser(),
  ) {
    const { page, verifier } = await this.openSignInPage(client, params, browser)
    const resultPage = page.html === '' ? page : await browser.submit(page, { username, password: PASSWORD })
    return { browser, verifier, page: resultPage, redirect: redirectParametersOf(resultPage) }
  }

  /** Signs in and exchanges the code. Returns the members of the token response, and the browser. */
  async signInForTokens(
    client: TestClient,
    username: string,
    params: Record<string, string | undefined> = {},
    browser = this.newBrowser(),
  ) {
    const { redirect, verifier } = await this.signIn(client, username, params, browser)
    const redirect_uri = params['redirect_uri'] ?? REDIRECT_URI
    const response = await this.exchangeCode(client, { code: redirect['code']!, code_verifier: verifier, redirect_uri })
    return { ...(expectStatus({ ...response, text: JSON.stringify(response.body) }, 200) as AnyJson), browser }
  }

  exchangeCode(client: TestClient, params: Record<string, string>): Promise<IdpResponse> {
    return this.postForm('/token', client, { grant_type: 'authorization_code', ...params })
  }

  refresh(client: TestClient, refresh_token: string, params: Record<string, string> = {}): Promise<IdpResponse> {
    return this.postForm('/token', client, { grant_type: 'refresh_token', refresh_token, ...params })
  }

  /** Posts a form. A confidential client authenticates with Basic; a public client sends `client_id` in the form. */
  async postForm(
    path: string,
    client: TestClient | undefined,
    params: Record<string, string> | [string, string][],
    moreHeaders: Record<string, string> = {},
  ): Promise<IdpResponse> {
    const body = new URLSearchParams(params)
    const headers: Record<string, string> = { ...moreHeaders }
    if (client?.secret) headers['authorization'] = `Basic ${btoa(`${client.id}:${encodeURIComponent(client.secret)}`)}`
    else if (client) body.set('client_id', client.id)
    return readResponse(await this.send(`${this.url}${path}`, { method: 'POST', body, headers, redirect: 'manual' }))
  }

  async userinfo(token: string): Promise<IdpResponse> {
    return readResponse(await this.send(`${this.url}/userinfo`, { headers: { authorization: `Bearer ${token}` } }))
  }
}

export async function readResponse(response: Response): Promise<IdpResponse> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') && text !== ''
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

/** Returns the parameters of the redirect to the application. Throws if `page` is a page of the IdP. */
export function redirectParametersOf(page: Page): Record<string, string | undefined> {
  // The test browser follows a redirect to the console, because the console is on this machine. In this case the page
  // has HTML and a `code` in its URL.
  if (page.html !== '' && !new URL(page.url).searchParams.has('code'))
    throw new Error(`expected a redirect, but got a page: ${page.status} at ${page.url}: ${page.html.slice(-1500)}`)
  return Object.fromEntries(new URL(page.url).searchParams)
}

/** Returns the claims of a JWT without verifying its signature. */
export const jwtClaims = (jwt: string): AnyJson => JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString())
/** Returns the header of a JWT without verifying its signature. */
export const jwtHeader = (jwt: string): AnyJson => JSON.parse(Buffer.from(jwt.split('.')[0]!, 'base64url').toString())
