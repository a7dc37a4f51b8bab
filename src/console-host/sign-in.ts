/**
 * Sign-in and sign-out: the authorization code flow with PKCE at the console issuer (RFC 6749, RFC 7636), RP-Initiated
 * Logout 1.0 and Back-Channel Logout 1.0. The state of a pending sign-in is encrypted in a cookie, so that any process
 * can complete the sign-in.
 */
import { createHash } from 'node:crypto'
import { createLocalJWKSet, type JWK, jwtVerify } from 'jose'
import type { Context as KoaContext } from 'koa'
import { ApiError, badRequest } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { ALL_SCOPES } from '../kernel/scopes.js'
import { SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { isSameText, randomSecret } from '../platform/crypto/secrets.js'
import { firstFormField, parseForm, readBody, requireContentType } from '../platform/http/body.js'
import { type ConsolePath, consolePath } from '../resources/console-path.js'
import { issuerUrl } from '../resources/issuer-url.js'
import { cookiesOf } from './cookies.js'
import { sendMessagePage } from './pages.js'
import { createConsoleSession, deleteConsoleSession, deleteConsoleSessionsBySid, findSession } from './sessions.js'
import { type TokenClient, TokenRequestRefusedError, type TokenSet } from './token-client.js'

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'

interface PendingSignIn {
  state: string
  /** The PKCE code verifier (RFC 7636). */
  verifier: string
  nonce: string
  /** The path of the console, or of /docs, that opens after the sign-in. */
  returnTo: string
  /** When the sign-in expires, in Unix milliseconds. */
  until: number
}

/**
 * Each pending sign-in has its own cookie, so that several tabs can sign in at the same time. A callback may have any
 * state, so characters that random secrets never contain are removed.
 */
const signInCookieName = (state: string): string => `way_${state.slice(0, 12).replace(/[^\w-]/g, '')}`

/** `GET /console/sign-in[?return_to=/console/…][&max_age=300]`: redirects to the issuer's authorization endpoint. */
export async function startSignIn(context: Context, ctx: KoaContext): Promise<void> {
  const { config } = context
  const path = await requireConsolePath(context)
  const pendingSignIn: PendingSignIn = {
    state: randomSecret(),
    verifier: randomSecret(),
    nonce: randomSecret(),
    returnTo: safeReturnPath(ctx.URL.searchParams.get('return_to')),
    until: context.now() + limits.consoleSignInTimeout,
  }
  const url = new URL(`${issuerUrl(config, path.issuer_id)}/authorize`)
  const maxAge = ctx.URL.searchParams.get('max_age')
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: path.client_id,
    redirect_uri: redirectUriOf(context),
    scope: `openid ${ALL_SCOPES}`,
    resource: config.baseUrl,
    state: pendingSignIn.state,
    nonce: pendingSignIn.nonce,
    code_challenge: createHash('sha256').update(pendingSignIn.verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(maxAge && /^\d{1,6}$/.test(maxAge) && { max_age: maxAge }),
  }).toString()
  const encrypted = context.encryptor.encrypt(JSON.stringify(pendingSignIn))
  cookiesOf(ctx, config.baseUrl).write(
    signInCookieName(pendingSignIn.state),
    encrypted,
    limits.consoleSignInTimeout / SECOND,
  )
  redirectTo(ctx, url.href)
}

/** `GET /console/callback`: handles the authorization response, a code or an error, and creates the session. */
export async function completeSignIn(context: Context, ctx: KoaContext, tokens: TokenClient): Promise<void> {
  const { baseUrl } = context.config
  const cookies = cookiesOf(ctx, baseUrl)
  const query = ctx.URL.searchParams
  const state = query.get('state') ?? ''
  const pendingSignIn = readPendingSignIn(context, cookies.read(signInCookieName(state)), state)
  cookies.write(signInCookieName(state), '', 0)
  if (!pendingSignIn) {
    return sendMessagePage(
      ctx,
      400,
      'This sign-in is no longer valid',
      'The sign-in took too long, was already completed, or was started in another browser. Sign in again.',
    )
  }
  const path = await requireConsolePath(context)
  // RFC 9207: if the response names its issuer, it must be the issuer of the request.
  const responseIssuer = query.get('iss')
  const code = query.get('code')
  if ((responseIssuer !== null && responseIssuer !== issuerUrl(context.config, path.issuer_id)) || code === null) {
    const reason = query.get('error') === 'access_denied' ? 'The sign-in was canceled or refused' : 'The sign-in failed'
    return sendMessagePage(ctx, 400, reason, 'This sign-in was not completed. You can try again.')
  }
  let tokenSet: TokenSet
  try {
    tokenSet = await tokens.exchange(context, {
      code,
      verifier: pendingSignIn.verifier,
      redirectUri: redirectUriOf(context),
    })
  } catch (error) {
    if (!(error instanceof TokenRequestRefusedError)) {
      context.log.error({ err: error }, 'console sign-in failed: the token request failed')
      return sendMessagePage(
        ctx,
        503,
        'The sign-in failed',
        'The console could not get tokens from the issuer. Try again in a few seconds.',
      )
    }
    return sendMessagePage(
      ctx,
      400,
      'The sign-in failed',
      'The issuer refused the sign-in. The authorization code may have expired or may have been used already. Sign in again.',
    )
  }
  if (!(await isIdTokenValid(context, path, tokenSet.id, pendingSignIn.nonce))) {
    return sendMessagePage(
      ctx,
      400,
      'The sign-in failed',
      'The ID token is invalid or does not belong to this sign-in. Sign in again.',
    )
  }
  const before = await findSession(context, cookies.read('session'))
  if (before) await deleteConsoleSession(context, before.id)
  cookies.write('session', await createConsoleSession(context, tokenSet))
  redirectTo(ctx, baseUrl + pendingSignIn.returnTo)
}

/**
 * `POST /console/sign-out`, which a form of the console sends: deletes the session and redirects to the logout endpoint
 * of the issuer.
 */
export async function signOut(context: Context, ctx: KoaContext): Promise<void> {
  const { config } = context
  const cookies = cookiesOf(ctx, config.baseUrl)
  const session = await findSession(context, cookies.read('session'))
  const ended = session && (await deleteConsoleSession(context, session.id))
  cookies.write('session', '', 0)
  const path = await requireConsolePath(context)
  const params = {
    client_id: path.client_id,
    post_logout_redirect_uri: `${config.baseUrl}/console`,
    ...(ended && { id_token_hint: ended.id }),
  }
  redirectTo(ctx, `${issuerUrl(config, path.issuer_id)}/logout?${new URLSearchParams(params)}`)
}

/**
 * `POST /console/backchannel-logout`, which the console issuer calls when a session ends: deletes the console sessions
 * of that session (Back-Channel Logout 1.0, sections 2.5 and 2.6).
 */
export async function backchannelLogout(context: Context, ctx: KoaContext): Promise<void> {
  ctx.set('Cache-Control', 'no-store')
  requireContentType(ctx.req, 'form')
  const form = parseForm(await readBody(ctx.req, limits.maxConsoleLogoutBodyBytes))
  const token = firstFormField(form, 'logout_token')
  const path = await requireConsolePath(context)
  const claims = await verifyToken(context, path, token, 'logout+jwt')
  const events = claims?.['events'] as Record<string, unknown> | undefined
  if (!claims || !events?.[LOGOUT_EVENT] || claims['nonce'] !== undefined || typeof claims['sid'] !== 'string') {
    throw badRequest('logout_token is not a valid logout token of the console issuer for one session.')
  }
  await deleteConsoleSessionsBySid(context, claims['sid'])
  ctx.status = 200
  ctx.body = ''
}

const redirectUriOf = ({ config }: Context): string => `${config.baseUrl}/console/callback`

/**
 * Returns the path if it is a path of the console, or of /docs, with only expected characters, otherwise `/console`. A
 * redirect to a path such as `//host` or `/\host` would lead to another site.
 */
export function safeReturnPath(path: string | null): string {
  const pattern = /^(\/console(\/[\w\-./~%]*)?|\/docs)(\?[\w\-./~%=&+,:@!*()]*)?(#\w*)?$/
  return path !== null && pattern.test(path) && !path.includes('//') ? path : '/console'
}

async function requireConsolePath(context: Context): Promise<ConsolePath> {
  const path = await consolePath(context)
  if (!path) throw new ApiError('unavailable', 'This deployment has no console issuer. Restart Gatehouse to create it.')
  return path
}

function readPendingSignIn(context: Context, encrypted: string | undefined, state: string): PendingSignIn | undefined {
  if (!encrypted) return undefined
  try {
    const pendingSignIn = JSON.parse(context.encryptor.decrypt(encrypted)) as PendingSignIn
    return isSameText(pendingSignIn.state, state) && pendingSignIn.until > context.now() ? pendingSignIn : undefined
  } catch {
    return undefined
  }
}

async function isIdTokenValid(context: Context, path: ConsolePath, token: string, nonce: string): Promise<boolean> {
  const claims = await verifyToken(context, path, token)
  return claims?.['nonce'] === nonce
}

/**
 * Verifies a token that the console issuer signed for the console.
 * @returns the claims; undefined if the token is invalid
 */
async function verifyToken(context: Context, path: ConsolePath, token: string, typ?: string) {
  const rows = await context.db.signingKey.findMany({ where: { issuerId: path.issuer_id } })
  const keys = rows.map(({ kid, alg, publicJwk }) => ({ ...(publicJwk as JWK), kid, alg }))
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet({ keys }), {
      issuer: issuerUrl(context.config, path.issuer_id),
      audience: path.client_id,
      currentDate: new Date(context.now()),
      clockTolerance: 5,
      ...(typ && { typ }),
    })
    return payload
  } catch {
    return undefined
  }
}

function redirectTo(ctx: KoaContext, url: string): void {
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', Location: url })
  ctx.status = 303
  ctx.body = ''
}
