/** Upstream providers on this machine, whose responses a test defines. */
import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, type JWTPayload, SignJWT } from 'jose'
import type { AnyJson } from '../../setup/api.js'

export const createKeyPair = (kind: 'rsa' | 'ec') =>
  kind === 'rsa'
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** A request that a fake server has received. `params` are those of the query and of the form. */
export interface ReceivedRequest {
  method: string
  path: string
  headers: IncomingMessage['headers']
  params: URLSearchParams
}
export type CannedResponse =
  | { status?: number; json?: unknown; text?: string; headers?: Record<string, string>; location?: string }
  | 'hang'

/** An HTTP server that responds with the function of the path. */
export class FakeServer {
  readonly requests: ReceivedRequest[] = []
  readonly #server: Server
  url = ''

  constructor(readonly paths: Record<string, (request: ReceivedRequest) => CannedResponse | Promise<CannedResponse>>) {
    this.#server = createServer(async (req, res) => {
      const url = new URL(req.url!, 'http://x')
      let body = ''
      for await (const chunk of req) body += chunk
      const params = new URLSearchParams(body || url.search)
      const request = { method: req.method!, path: url.pathname, headers: req.headers, params }
      this.requests.push(request)
      const response = (await this.paths[url.pathname]?.(request)) ?? { status: 404, json: { error: 'not_found' } }
      if (response === 'hang') return
      for (const [name, value] of Object.entries(response.headers ?? {})) res.setHeader(name, value)
      if (response.location) res.writeHead(response.status ?? 302, { location: response.location }).end()
      else if (response.text !== undefined) res.writeHead(response.status ?? 200).end(response.text)
      else
        res.writeHead(response.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(response.json))
    })
  }

  async pending(host = '127.0.0.1'): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done))
    this.url = `http://${host}:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  lastRequestTo(path: string): ReceivedRequest {
    return this.requests.filter((one) => one.path === path).at(-1)!
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }
}

/** The authorization codes that a provider has issued, with the values of the authorization request. */
export class AuthorizationCodes {
  readonly #open = new Map<string, { challenge: string | null; nonce: string | null; redirectUri: string | null }>()

  /** Issues a code and returns the redirect to the application with it. */
  issue({ params }: ReceivedRequest, extraParameters: Record<string, string> = {}): CannedResponse {
    const code = randomUUID()
    this.#open.set(code, {
      challenge: params.get('code_challenge'),
      nonce: params.get('nonce'),
      redirectUri: params.get('redirect_uri'),
    })
    return redirectToClient(params, { code, ...extraParameters })
  }

  /**
   * Consumes a code. Returns its data, or undefined if the code is unknown or if the code_verifier or the redirect_uri
   * does not match.
   */
  redeem(params: URLSearchParams): { nonce: string | null } | undefined {
    const code = params.get('code') ?? ''
    const known = this.#open.get(code)
    this.#open.delete(code)
    const verifier = params.get('code_verifier')
    const challenge = verifier && createHash('sha256').update(verifier).digest('base64url')
    const matches = known && known.challenge === challenge && known.redirectUri === params.get('redirect_uri')
    return matches ? known : undefined
  }
}

/**
 * Returns a redirect to the application.
 * @param params the parameters of the authorization request, which contain `redirect_uri` and `state`
 * @param parameters the parameters of the response, besides `state`
 */
export function redirectToClient(params: URLSearchParams, parameters: Record<string, string>): CannedResponse {
  const url = new URL(params.get('redirect_uri')!)
  url.searchParams.set('state', params.get('state')!)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return { location: url.href }
}

/** Functions that replace the valid responses of a provider. They get the valid response, or the values for it. */
export interface ProviderOverrides {
  authorize?: (request: ReceivedRequest, codes: AuthorizationCodes) => CannedResponse
  metadata?: (metadata: AnyJson) => AnyJson
  claims?: (claims: AnyJson) => AnyJson
  idToken?: (claims: AnyJson) => Promise<string> | string
  token?: (tokenResponse: AnyJson) => CannedResponse
  userinfo?: (claims: AnyJson) => CannedResponse
  keys?: () => CannedResponse
}

export const SECRET = 'a secret of our own at the upstream'

/** An OpenID provider. `userClaims` are the claims of the user who signs in; `overrides` replace valid responses. */
export class FakeOidc extends FakeServer {
  readonly codes = new AuthorizationCodes()
  userClaims: AnyJson = { sub: 'up-1' }
  overrides: ProviderOverrides = {}
  readonly #pair = createKeyPair('rsa')

  constructor() {
    super({
      '/.well-known/openid-configuration': () => {
        const metadata = {
          issuer: this.url,
          authorization_endpoint: `${this.url}/authorize`,
          token_endpoint: `${this.url}/token`,
          userinfo_endpoint: `${this.url}/userinfo`,
          jwks_uri: `${this.url}/keys`,
          response_types_supported: ['code'],
          id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
          code_challenge_methods_supported: ['S256'],
        }
        return { json: this.overrides.metadata?.(metadata) ?? metadata }
      },
      '/authorize': (request) => this.overrides.authorize?.(request, this.codes) ?? this.codes.issue(request),
      '/keys': async () =>
        this.overrides.keys?.() ?? {
          json: { keys: [{ ...(await exportJWK(this.#pair.publicKey)), kid: 'one', use: 'sig', alg: 'RS256' }] },
        },
      '/token': async ({ headers, params }) => {
        const basic = `Basic ${btoa(`us:${encodeURIComponent(SECRET).replaceAll('%20', '+')}`)}`
        const known = headers.authorization === basic || params.get('client_secret') === SECRET
        const code = this.codes.redeem(params)
        if (!known || !code) return { status: 400, json: { error: known ? 'invalid_grant' : 'invalid_client' } }
        const now = Math.floor(Date.now() / 1000)
        const honest = { iss: this.url, aud: 'us', iat: now, exp: now + 60, nonce: code.nonce, ...this.userClaims }
        const claims = this.overrides.claims?.(honest) ?? honest
        const id_token = await (this.overrides.idToken?.(claims) ?? this.sign(claims))
        const tokenResponse = { access_token: 'at', token_type: 'Bearer', id_token }
        return this.overrides.token?.(tokenResponse) ?? { json: tokenResponse }
      },
      '/userinfo': () => this.overrides.userinfo?.(this.userClaims) ?? { json: this.userClaims },
    })
  }

  sign(claims: AnyJson, key = this.#pair.privateKey, header = { alg: 'RS256', kid: 'one' }): Promise<string> {
    return new SignJWT(claims as JWTPayload).setProtectedHeader(header).sign(key)
  }
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
export const unsignedJwt = (claims: AnyJson, header: object = { alg: 'none' }): string =>
  `${part(header)}.${part(claims)}.`
export const hmacSignedJwt = (claims: AnyJson, secret: string): Promise<string> =>
  new SignJWT(claims as JWTPayload).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(Buffer.from(secret))
