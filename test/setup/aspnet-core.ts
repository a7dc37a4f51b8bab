/**
 * A web application that sends what the OpenID Connect handler of ASP.NET Core sends with `ResponseType = "code"`,
 * `SaveTokens`, `GetClaimsFromUserInfoEndpoint`, the scopes `email` and `offline_access`, and defaults for the rest
 * (docs/connect/aspnet-core.md). .NET 9 and later push the authorization request if the metadata has
 * `pushed_authorization_request_endpoint` (RFC 9126), with the client secret in the form.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseCookie } from 'cookie'
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose'
import { type AnyJson } from './api.js'

interface Options {
  issuer: string
  clientId: string
  clientSecret: string
}

export interface AspnetCoreApplication {
  /** Address of the home page, without a slash at the end. */
  home: string
  /** Sets the client; before that, the application cannot sign users in. */
  configure(options: Options): void
  /** The methods and paths of the authorization responses, and of the requests for sign-in. */
  log: string[]
  close(): Promise<void>
}

/** The versions of the handler differ in the name of the library, and in how they send the authorization request. */
const versions = {
  8: { sku: 'ID_NET8_0', pushes: false },
  10: { sku: 'ID_NET10_0', pushes: true },
} as const
export type DotnetVersion = keyof typeof versions

/** The handler sets its cookies for responses that other sites post. */
const cookieAttributes = 'Path=/signin-oidc; Secure; HttpOnly; SameSite=None'
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const decode = (value: string): AnyJson => JSON.parse(Buffer.from(value, 'base64url').toString())

/** Starts the application on a free port of localhost. */
export async function startAspnetCoreApplication(version: DotnetVersion): Promise<AspnetCoreApplication> {
  const handler = new Handler(version)
  const server = createServer((request, response) => {
    handler.handle(request, response).catch((error: Error) => response.writeHead(500).end(error.message))
  })
  await new Promise<void>((done) => server.listen(0, 'localhost', done))
  handler.home = `http://localhost:${(server.address() as AddressInfo).port}`
  return {
    home: handler.home,
    configure: (options) => handler.configure(options),
    log: handler.log,
    close: () => new Promise((done) => server.close(() => done())),
  }
}

class Handler {
  home = ''
  readonly log: string[] = []
  #options!: Options
  /** The ticket of the signed-in user by the value of the cookie. */
  readonly #tickets = new Map<string, { email: string; idToken: string }>()

  constructor(private readonly version: DotnetVersion) {}

  configure(options: Options): void {
    this.#options = options
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, this.home)
    if (url.pathname === '/') this.#showHome(request, response)
    else if (url.pathname === '/login') await this.#challenge(response)
    else if (url.pathname === '/signin-oidc') await this.#signIn(request, response)
    else if (url.pathname === '/logout') await this.#signOut(request, response)
    else if (url.pathname === '/signout-callback-oidc') response.writeHead(302, { location: '/' }).end()
    else response.writeHead(404).end()
  }

  #showHome(request: IncomingMessage, response: ServerResponse): void {
    const email = this.#tickets.get(cookiesOf(request)['ticket'] ?? '')?.email
    response.setHeader('content-type', 'text/html')
    const links = email ? '<a href="/logout">Sign out</a>' : '<a href="/login">Sign in</a>'
    response.end(`<link rel="icon" href="data:,"><h1>${email ?? 'You are not signed in'}</h1>${links}`)
  }

  async #metadata(): Promise<AnyJson> {
    return (await fetch(`${this.#options.issuer}/.well-known/openid-configuration`)).json()
  }

  /** Redirects to the authorization endpoint. The secrets of the request are in `state` and in the cookies. */
  async #challenge(response: ServerResponse): Promise<void> {
    const metadata = await this.#metadata()
    const { sku, pushes } = versions[this.version]
    const library = { 'x-client-SKU': sku, 'x-client-ver': '8.0.1.0' }
    const codeVerifier = randomBytes(32).toString('base64url')
    const correlation = randomBytes(32).toString('base64url')
    // 100-nanosecond intervals since the year 1, a period, and base64 of two UUIDs.
    const ticks = (BigInt(Date.now()) + 62_135_596_800_000n) * 10_000n
    const nonce = `${ticks}.${Buffer.from(randomUUID() + randomUUID()).toString('base64')}`
    let parameters: Record<string, string> = {
      client_id: this.#options.clientId,
      redirect_uri: `${this.home}/signin-oidc`,
      response_type: 'code',
      scope: 'openid profile email offline_access',
      code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
      response_mode: 'form_post',
      nonce,
      // The handler encrypts its properties, which makes the value as long as this one.
      state: encode({ '.redirect': '/', '.xsrf': correlation, code_verifier: codeVerifier, padding: 'p'.repeat(300) }),
    }
    if (pushes && metadata.pushed_authorization_request_endpoint) {
      const form = { ...parameters, client_secret: this.#options.clientSecret }
      const pushed = await postForm(metadata.pushed_authorization_request_endpoint, form)
      parameters = { client_id: this.#options.clientId, request_uri: pushed.request_uri }
    }
    this.log.push(`authorize ${Object.keys(parameters).join(' ')}`)
    const query = new URLSearchParams({ ...parameters, ...library })
    response.setHeader('set-cookie', [
      `.AspNetCore.Correlation.${correlation}=N; ${cookieAttributes}`,
      `.AspNetCore.OpenIdConnect.Nonce=${encodeURIComponent(nonce)}; ${cookieAttributes}`,
    ])
    response.writeHead(302, { location: `${metadata.authorization_endpoint}?${query}` }).end()
  }

  /** Receives the authorization response and redeems the code, with the client secret in the form. */
  async #signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await request.toArray()).join('')
    this.log.push(`${request.method} /signin-oidc ${request.headers['content-type']}`)
    const answer = Object.fromEntries(new URLSearchParams(text))
    const state = decode(answer['state'] ?? '')
    const cookies = cookiesOf(request)
    if (cookies[`.AspNetCore.Correlation.${state['.xsrf']}`] !== 'N') throw new Error('Correlation failed.')
    if (answer['error']) throw new Error(`${answer['error']}: ${answer['error_description']}`)
    const metadata = await this.#metadata()
    const tokens = await postForm(metadata.token_endpoint, {
      client_id: this.#options.clientId,
      client_secret: this.#options.clientSecret,
      code: answer['code']!,
      grant_type: 'authorization_code',
      redirect_uri: `${this.home}/signin-oidc`,
      code_verifier: state.code_verifier,
    })
    const claims = await this.#verifyIdToken(tokens.id_token, metadata.jwks_uri)
    if (claims['nonce'] !== cookies['.AspNetCore.OpenIdConnect.Nonce']) throw new Error('The nonce differs.')
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    const user = (await (await fetch(metadata.userinfo_endpoint, { headers })).json()) as AnyJson
    if (user.sub !== claims.sub) throw new Error('The subject of userinfo differs.')
    if (!tokens.refresh_token) throw new Error('There is no refresh token.')
    const ticket = randomUUID()
    this.#tickets.set(ticket, { email: user.email, idToken: tokens.id_token })
    response.setHeader('set-cookie', `ticket=${ticket}; Path=/; HttpOnly; SameSite=Lax`)
    response.writeHead(302, { location: state['.redirect'] }).end()
  }

  async #verifyIdToken(idToken: string, jwksUri: string): Promise<JWTPayload> {
    const { issuer, clientId } = this.#options
    const { payload } = await jwtVerify(idToken, createRemoteJWKSet(new URL(jwksUri)), { issuer, audience: clientId })
    return payload
  }

  async #signOut(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const ticket = this.#tickets.get(cookiesOf(request)['ticket'] ?? '')!
    const query = new URLSearchParams({
      post_logout_redirect_uri: `${this.home}/signout-callback-oidc`,
      id_token_hint: ticket.idToken,
      state: encode({ '.redirect': '/', padding: 'p'.repeat(100) }),
      'x-client-SKU': versions[this.version].sku,
      'x-client-ver': '8.0.1.0',
    })
    const { end_session_endpoint } = await this.#metadata()
    response.setHeader('set-cookie', 'ticket=; Path=/; Max-Age=0')
    response.writeHead(302, { location: `${end_session_endpoint}?${query}` }).end()
  }
}

const cookiesOf = (request: IncomingMessage): Record<string, string | undefined> =>
  parseCookie(request.headers.cookie ?? '')

async function postForm(url: string, parameters: Record<string, string>): Promise<AnyJson> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(parameters) })
  const body = (await response.json()) as AnyJson
  if (!response.ok) throw new Error(`${url}: ${body.error}: ${body.error_description}`)
  return body
}
