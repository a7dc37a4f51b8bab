/** An issuer with clients and users, and the requests of an application. */
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

/** The account whose issuer the users sign in at. */
export class Realm {
  /** @param url the issuer identifier, if it is not the one under IDP_URL; `send` must be able to reach it */
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

  /** Opens the sign-in page; `verifier` belongs to the code_challenge that was sent. */
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

  /** Signs in and returns the authorization response. */
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

  /** Signs in and exchanges the code. */
  async signInForTokens(
    client: TestClient,
    username: string,
    params: Record<string, string | undefined> = {},
    browser = this.newBrowser(),
  ) {
    const { redirect, verifier } = await this.signIn(client, username, params, browser)
    const redirect_uri = params['redirect_uri'] ?? REDIRECT_URI
    const answer = await this.exchangeCode(client, { code: redirect['code']!, code_verifier: verifier, redirect_uri })
    return { ...(expectStatus({ ...answer, text: JSON.stringify(answer.body) }, 200) as AnyJson), browser }
  }

  exchangeCode(client: TestClient, params: Record<string, string>): Promise<IdpResponse> {
    return this.postForm('/token', client, { grant_type: 'authorization_code', ...params })
  }

  refresh(client: TestClient, refresh_token: string, params: Record<string, string> = {}): Promise<IdpResponse> {
    return this.postForm('/token', client, { grant_type: 'refresh_token', refresh_token, ...params })
  }

  /** Posts a form with the client's credentials: Basic for a confidential client. */
  async postForm(
    path: string,
    client: TestClient | undefined,
    params: Record<string, string> | [string, string][],
  ): Promise<IdpResponse> {
    const body = new URLSearchParams(params)
    const headers: Record<string, string> = {}
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

/** The parameters of the authorization response in a redirect. */
export function redirectParametersOf(page: Page): Record<string, string | undefined> {
  // The console's redirect URI is on this machine, so the browser has followed it.
  if (page.html !== '' && !new URL(page.url).searchParams.has('code'))
    throw new Error(`a page instead of a redirect, ${page.status} at ${page.url}: ${page.html.slice(-1500)}`)
  return Object.fromEntries(new URL(page.url).searchParams)
}

/** The claims of a JWT, not verified. */
export const jwtClaims = (jwt: string): AnyJson => JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString())
export const jwtHeader = (jwt: string): AnyJson => JSON.parse(Buffer.from(jwt.split('.')[0]!, 'base64url').toString())
