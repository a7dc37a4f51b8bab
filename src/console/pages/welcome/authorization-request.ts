/**
 * Signs a user in like an application, with the authorization code flow and PKCE (RFC 7636). The browser exchanges the
 * code and verifies the tokens with the issuer's published keys. The pending request is in session storage; tokens are
 * never stored.
 */
import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose'

const STORAGE_KEY = 'gatehouse-try'

export interface AuthorizationRequest {
  accountId: string
  issuerId: string
  issuer: string
  clientId: string
  state: string
  nonce: string
  codeVerifier: string
}

export interface Token {
  raw: string
  header: Record<string, unknown>
  claims: JWTPayload
}

export interface TokenResult {
  id: Token
  access: Token
  /** The UserInfo response: the claims that the granted scopes allow. */
  userinfo: Record<string, unknown>
  /** Lifetime of the access token (seconds). */
  expiresIn: number
}

/** The metadata of the issuer that this module uses (OpenID Connect Discovery 1.0). */
interface Discovery {
  issuer: string
  token_endpoint: string
  jwks_uri: string
  userinfo_endpoint: string
}

/** An error with a message for the user. */
export class AuthorizationError extends Error {}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')

const randomString = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)))

/** Generates a random password that is easy to type. */
export function generatePassword(): string {
  const letters = 'abcdefghjkmnpqrstuvwxyz23456789'
  const word = () => Array.from(crypto.getRandomValues(new Uint8Array(5)), (n) => letters[n % letters.length]).join('')
  return `${word()}-${word()}-${word()}`
}

export const tryRedirectUri = (): string => `${location.origin}/console/try`

/** Redirects to the issuer's authorization endpoint. @param loginHint username to prefill */
export async function startAuthorization(
  target: Pick<AuthorizationRequest, 'accountId' | 'issuerId' | 'issuer' | 'clientId'>,
  loginHint?: string,
) {
  const request: AuthorizationRequest = {
    ...target,
    state: randomString(),
    nonce: randomString(),
    codeVerifier: randomString(),
  }
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify(request))
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(request.codeVerifier))
  const params = new URLSearchParams({
    response_type: 'code',
    client_id: target.clientId,
    redirect_uri: tryRedirectUri(),
    scope: 'openid profile email',
    // Without this prompt, the issuer would reuse an existing session, and the user would see no sign-in page.
    prompt: 'login',
    state: request.state,
    nonce: request.nonce,
    code_challenge: base64url(new Uint8Array(hash)),
    code_challenge_method: 'S256',
    ...(loginHint && { login_hint: loginHint }),
  })
  location.assign(`${target.issuer}/authorize?${params}`)
}

/** Returns the pending request with this state, and deletes it, because its code can be exchanged only once. */
export function consumeAuthorizationRequest(state: string | null): AuthorizationRequest | undefined {
  const stored = sessionStorage.getItem(STORAGE_KEY)
  if (!stored || !state) return undefined
  const request = JSON.parse(stored) as AuthorizationRequest
  if (request.state !== state) return undefined
  sessionStorage.removeItem(STORAGE_KEY)
  return request
}

/** Exchanges the code, reads UserInfo, and verifies the ID token and the access token. @throws AuthorizationError */
export async function exchangeCode(request: AuthorizationRequest, code: string): Promise<TokenResult> {
  const { issuer, clientId, codeVerifier, nonce } = request
  const discovery = await fetchJson<Discovery>(`${issuer}/.well-known/openid-configuration`)
  const form = {
    grant_type: 'authorization_code',
    code,
    code_verifier: codeVerifier,
    client_id: clientId,
    redirect_uri: tryRedirectUri(),
  }
  const body = new URLSearchParams(form)
  const tokenResponse = await fetchJson<{ id_token: string; access_token: string; expires_in: number }>(
    discovery.token_endpoint,
    {
      method: 'POST',
      body,
    },
  )
  const userinfo = await fetchJson<Record<string, unknown>>(discovery.userinfo_endpoint, {
    headers: { authorization: `Bearer ${tokenResponse.access_token}` },
  })
  const keys = createLocalJWKSet(await fetchJson<JSONWebKeySet>(discovery.jwks_uri))
  const expected = { issuer: discovery.issuer, audience: clientId, clockTolerance: 5 }
  try {
    const id = await jwtVerify(tokenResponse.id_token, keys, expected)
    const access = await jwtVerify(tokenResponse.access_token, keys, { ...expected, typ: 'at+jwt' })
    if (id.payload['nonce'] !== nonce)
      throw new AuthorizationError('The ID token belongs to another request: its nonce does not match.')
    return {
      id: toToken(tokenResponse.id_token, id),
      access: toToken(tokenResponse.access_token, access),
      userinfo,
      expiresIn: tokenResponse.expires_in,
    }
  } catch (error) {
    throw error instanceof AuthorizationError
      ? error
      : new AuthorizationError(`Token verification failed: ${(error as Error).message}.`)
  }
}

const toToken = (raw: string, { protectedHeader, payload }: JWTVerifyResult): Token => ({
  raw,
  header: { ...protectedHeader },
  claims: payload,
})

/** @throws AuthorizationError */
async function fetchJson<Body>(url: string, init?: RequestInit): Promise<Body> {
  let response: Response
  try {
    response = await fetch(url, init)
  } catch {
    throw new AuthorizationError(
      'The issuer is not responding, or it does not allow this page to read the response (CORS).',
    )
  }
  const body = (await response.json().catch(() => ({}))) as { error?: string; error_description?: string }
  if (response.ok) return body as Body
  throw new AuthorizationError(
    `The issuer returned an error: ${body.error_description ?? body.error ?? response.status}.`,
  )
}
