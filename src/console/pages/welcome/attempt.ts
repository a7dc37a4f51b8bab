/**
 * A sign-in as an application does it: authorization code with PKCE (RFC 7636), redeemed here in the browser, tokens
 * verified with the issuer's published keys. What has to be remembered on the way is in the tab's own storage; tokens
 * are in no storage.
 */
import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose'

const KEPT = 'gatehouse-try'

export interface Departure {
  accountId: string
  issuerId: string
  issuer: string
  clientId: string
  state: string
  nonce: string
  verifier: string
}

export interface Token {
  raw: string
  header: Record<string, unknown>
  claims: JWTPayload
}

export interface Tokens {
  id: Token
  access: Token
  /** What the access token opens at the issuer itself: the person, as far as the scopes go. */
  person: Record<string, unknown>
  /** Seconds. */
  expiresIn: number
}

/** What is used of the issuer's own description (OpenID Connect Discovery 1.0). */
interface Discovery {
  issuer: string
  token_endpoint: string
  jwks_uri: string
  userinfo_endpoint: string
}

/** What went wrong, as a sentence. */
export class Failure extends Error {}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')

const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)))

/** A password that can be typed, and that nobody guesses. */
export function demoPassword(): string {
  const letters = 'abcdefghjkmnpqrstuvwxyz23456789'
  const word = () => Array.from(crypto.getRandomValues(new Uint8Array(5)), (n) => letters[n % letters.length]).join('')
  return `${word()}-${word()}-${word()}`
}

export const callbackHere = (): string => `${location.origin}/console/try`

/** Off to the issuer's sign-in page. @param hint the username to begin with */
export async function depart(to: Pick<Departure, 'accountId' | 'issuerId' | 'issuer' | 'clientId'>, hint?: string) {
  const departure: Departure = { ...to, state: random(), nonce: random(), verifier: random() }
  sessionStorage.setItem(KEPT, JSON.stringify(departure))
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(departure.verifier))
  const params = new URLSearchParams({
    response_type: 'code',
    client_id: to.clientId,
    redirect_uri: callbackHere(),
    scope: 'openid profile email',
    // Whoever was signed in there before is not meant.
    prompt: 'login',
    state: departure.state,
    nonce: departure.nonce,
    code_challenge: base64url(new Uint8Array(hash)),
    code_challenge_method: 'S256',
    ...(hint && { login_hint: hint }),
  })
  location.assign(`${to.issuer}/authorize?${params}`)
}

/** What was remembered for this answer; it can be used once. */
export function takeDeparture(state: string | null): Departure | undefined {
  const kept = sessionStorage.getItem(KEPT)
  if (!kept || !state) return undefined
  const departure = JSON.parse(kept) as Departure
  if (departure.state !== state) return undefined
  sessionStorage.removeItem(KEPT)
  return departure
}

/** @throws Failure */
export async function redeem(departure: Departure, code: string): Promise<Tokens> {
  const { issuer, clientId, verifier, nonce } = departure
  const place = await asked<Discovery>(`${issuer}/.well-known/openid-configuration`)
  const form = {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    client_id: clientId,
    redirect_uri: callbackHere(),
  }
  const body = new URLSearchParams(form)
  const answer = await asked<{ id_token: string; access_token: string; expires_in: number }>(place.token_endpoint, {
    method: 'POST',
    body,
  })
  const person = await asked<Record<string, unknown>>(place.userinfo_endpoint, {
    headers: { authorization: `Bearer ${answer.access_token}` },
  })
  const keys = createLocalJWKSet(await asked<JSONWebKeySet>(place.jwks_uri))
  const expected = { issuer: place.issuer, audience: clientId, clockTolerance: 5 }
  try {
    const id = await jwtVerify(answer.id_token, keys, expected)
    const access = await jwtVerify(answer.access_token, keys, { ...expected, typ: 'at+jwt' })
    if (id.payload['nonce'] !== nonce) throw new Failure('The ID token answers another request: its nonce differs.')
    return {
      id: tokenOf(answer.id_token, id),
      access: tokenOf(answer.access_token, access),
      person,
      expiresIn: answer.expires_in,
    }
  } catch (error) {
    throw error instanceof Failure ? error : new Failure(`A token did not verify: ${(error as Error).message}.`)
  }
}

const tokenOf = (raw: string, { protectedHeader, payload }: JWTVerifyResult): Token => ({
  raw,
  header: { ...protectedHeader },
  claims: payload,
})

/** @throws Failure */
async function asked<Body>(url: string, init?: RequestInit): Promise<Body> {
  let response: Response
  try {
    response = await fetch(url, init)
  } catch {
    throw new Failure('The issuer does not answer, or does not let this page read its answer.')
  }
  const body = (await response.json().catch(() => ({}))) as { error?: string; error_description?: string }
  if (response.ok) return body as Body
  throw new Failure(`The issuer refused: ${body.error_description ?? body.error ?? response.status}.`)
}
