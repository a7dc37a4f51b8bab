/** Upstream providers on this machine: small ones that answer whatever a test wants them to. */
import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, type JWTPayload, SignJWT } from 'jose'
import type { Loose } from '../../setup/api.js'

export const pairOf = (kind: 'rsa' | 'ec') =>
  kind === 'rsa'
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** What came in at an address. */
export interface Asked {
  method: string
  path: string
  headers: IncomingMessage['headers']
  params: URLSearchParams
}
export type Said =
  | { status?: number; json?: unknown; text?: string; headers?: Record<string, string>; location?: string }
  | 'hang'

/** A server whose paths answer as they are told. */
export class FakeServer {
  readonly asked: Asked[] = []
  readonly #server: Server
  url = ''

  constructor(readonly paths: Record<string, (asked: Asked) => Said | Promise<Said>>) {
    this.#server = createServer(async (req, res) => {
      const url = new URL(req.url!, 'http://x')
      let body = ''
      for await (const chunk of req) body += chunk
      const params = new URLSearchParams(body || url.search)
      const asked = { method: req.method!, path: url.pathname, headers: req.headers, params }
      this.asked.push(asked)
      const said = (await this.paths[url.pathname]?.(asked)) ?? { status: 404, json: { error: 'not_found' } }
      if (said === 'hang') return
      for (const [name, value] of Object.entries(said.headers ?? {})) res.setHeader(name, value)
      if (said.location) res.writeHead(said.status ?? 302, { location: said.location }).end()
      else if (said.text !== undefined) res.writeHead(said.status ?? 200).end(said.text)
      else res.writeHead(said.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(said.json))
    })
  }

  async open(host = '127.0.0.1'): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done))
    this.url = `http://${host}:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  last(path: string): Asked {
    return this.asked.filter((one) => one.path === path).at(-1)!
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }
}

/** Codes that were given out, with what they are bound to. */
export class Codes {
  readonly #open = new Map<string, { challenge: string | null; nonce: string | null; redirectUri: string | null }>()

  /** The way back to the application, with a new code. */
  issue({ params }: Asked, more: Record<string, string> = {}): Said {
    const code = randomUUID()
    this.#open.set(code, {
      challenge: params.get('code_challenge'),
      nonce: params.get('nonce'),
      redirectUri: params.get('redirect_uri'),
    })
    return back(params, { code, ...more })
  }

  /** Redeems one, if everything fits. */
  redeem(params: URLSearchParams): { nonce: string | null } | undefined {
    const code = params.get('code') ?? ''
    const known = this.#open.get(code)
    this.#open.delete(code)
    const verifier = params.get('code_verifier')
    const challenge = verifier && createHash('sha256').update(verifier).digest('base64url')
    const fits = known && known.challenge === challenge && known.redirectUri === params.get('redirect_uri')
    return fits ? known : undefined
  }
}

/** A redirect to the application with these parameters. */
export function back(params: URLSearchParams, answer: Record<string, string>): Said {
  const url = new URL(params.get('redirect_uri')!)
  url.searchParams.set('state', params.get('state')!)
  for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value)
  return { location: url.href }
}

/** What a hostile provider does otherwise than an honest one. */
export interface Mischief {
  authorize?: (asked: Asked, codes: Codes) => Said
  metadata?: (metadata: Loose) => Loose
  claims?: (claims: Loose) => Loose
  idToken?: (claims: Loose) => Promise<string> | string
  token?: (answer: Loose) => Said
  userinfo?: (claims: Loose) => Said
  keys?: () => Said
}

export const SECRET = 'a secret of our own at the upstream'

/** An OpenID provider: honest, but for its mischief. `person` is who signs in there. */
export class FakeOidc extends FakeServer {
  readonly codes = new Codes()
  person: Loose = { sub: 'up-1' }
  mischief: Mischief = {}
  readonly #pair = pairOf('rsa')

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
        return { json: this.mischief.metadata?.(metadata) ?? metadata }
      },
      '/authorize': (asked) => this.mischief.authorize?.(asked, this.codes) ?? this.codes.issue(asked),
      '/keys': async () =>
        this.mischief.keys?.() ?? {
          json: { keys: [{ ...(await exportJWK(this.#pair.publicKey)), kid: 'one', use: 'sig', alg: 'RS256' }] },
        },
      '/token': async ({ headers, params }) => {
        const basic = `Basic ${btoa(`us:${encodeURIComponent(SECRET).replaceAll('%20', '+')}`)}`
        const known = headers.authorization === basic || params.get('client_secret') === SECRET
        const code = this.codes.redeem(params)
        if (!known || !code) return { status: 400, json: { error: known ? 'invalid_grant' : 'invalid_client' } }
        const now = Math.floor(Date.now() / 1000)
        const honest = { iss: this.url, aud: 'us', iat: now, exp: now + 60, nonce: code.nonce, ...this.person }
        const claims = this.mischief.claims?.(honest) ?? honest
        const id_token = await (this.mischief.idToken?.(claims) ?? this.sign(claims))
        const answer = { access_token: 'at', token_type: 'Bearer', id_token }
        return this.mischief.token?.(answer) ?? { json: answer }
      },
      '/userinfo': () => this.mischief.userinfo?.(this.person) ?? { json: this.person },
    })
  }

  sign(claims: Loose, key = this.#pair.privateKey, header = { alg: 'RS256', kid: 'one' }): Promise<string> {
    return new SignJWT(claims as JWTPayload).setProtectedHeader(header).sign(key)
  }
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
export const unsigned = (claims: Loose, header: object = { alg: 'none' }): string => `${part(header)}.${part(claims)}.`
export const symmetric = (claims: Loose, secret: string): Promise<string> =>
  new SignJWT(claims as JWTPayload).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(Buffer.from(secret))
