/**
 * Signing in and out: the authorization code flow with PKCE at the console issuer (RFC 6749, RFC 7636), ended by
 * RP-Initiated Logout 1.0 and by Back-Channel Logout 1.0. What has to be remembered between leaving and coming back is
 * sealed into a cookie of its own, so that any process can finish what another began.
 */
import { createHash } from 'node:crypto'
import { createLocalJWKSet, type JWK, jwtVerify } from 'jose'
import type { Context as KoaContext } from 'koa'
import { ApiError, badRequest } from '../kernel/errors.js'
import { ALL } from '../kernel/scopes.js'
import { MINUTE, SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { mustBeForm, readBody } from '../platform/http.js'
import { randomSecret, sameText } from '../platform/secrets.js'
import { type ConsolePlace, consolePlace } from '../resources/console-place.js'
import { issuerUrl } from '../resources/issuer-url.js'
import { cookiesOf } from './cookies.js'
import { messagePage } from './pages.js'
import { closeSession, closeSessionsOf, findSession, openSession } from './sessions.js'
import { TokenRefusal, type TokenSet, type Tokens } from './tokens.js'

/** How long somebody may take on the issuer's pages (milliseconds). */
const PATIENCE = 15 * MINUTE
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'

interface Departure {
  state: string
  verifier: string
  nonce: string
  returnTo: string
  until: number
}

/** Several tabs may sign in at once: each has a cookie of its own. */
const departureCookie = (state: string): string => `way_${state.slice(0, 12)}`

/** `GET /console/sign-in?return_to=/console/…[&max_age=300]`: off to the issuer. */
export async function signIn(context: Context, ctx: KoaContext): Promise<void> {
  const { config } = context
  const place = await placeOf(context)
  const departure: Departure = {
    state: randomSecret(),
    verifier: randomSecret(),
    nonce: randomSecret(),
    returnTo: safeReturn(ctx.URL.searchParams.get('return_to')),
    until: context.now() + PATIENCE,
  }
  const url = new URL(`${issuerUrl(config, place.issuer_id)}/authorize`)
  const maxAge = ctx.URL.searchParams.get('max_age')
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: place.client_id,
    redirect_uri: callbackOf(context),
    scope: `openid ${ALL}`,
    resource: config.baseUrl,
    state: departure.state,
    nonce: departure.nonce,
    code_challenge: createHash('sha256').update(departure.verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(maxAge && /^\d{1,6}$/.test(maxAge) && { max_age: maxAge }),
  }).toString()
  const sealed = context.sealer.seal(JSON.stringify(departure))
  cookiesOf(ctx, config.baseUrl).write(departureCookie(departure.state), sealed, PATIENCE / SECOND)
  goTo(ctx, url.href)
}

/** `GET /console/callback`: back with a code, or with the issuer's reason for having none. */
export async function callback(context: Context, ctx: KoaContext, tokens: Tokens): Promise<void> {
  const { baseUrl } = context.config
  const cookies = cookiesOf(ctx, baseUrl)
  const asked = ctx.URL.searchParams
  const state = asked.get('state') ?? ''
  const departure = readDeparture(context, cookies.read(departureCookie(state)), state)
  cookies.write(departureCookie(state), '', 0)
  if (!departure) {
    return messagePage(ctx, 400, 'This sign-in is not yours or took too long', 'Begin again; it takes a moment.')
  }
  const place = await placeOf(context)
  // RFC 9207: the answer must come from the issuer that was asked.
  const from = asked.get('iss')
  const code = asked.get('code')
  if ((from !== null && from !== issuerUrl(context.config, place.issuer_id)) || code === null) {
    const reason =
      asked.get('error') === 'access_denied' ? 'You have not signed in.' : 'The issuer did not sign you in.'
    return messagePage(ctx, 400, reason, 'Nothing has changed. You can try again.')
  }
  let found: TokenSet
  try {
    found = await tokens.exchange(context, { code, verifier: departure.verifier, redirectUri: callbackOf(context) })
  } catch (error) {
    if (!(error instanceof TokenRefusal)) {
      context.log.error({ err: error }, 'the console could not reach its token endpoint')
      return messagePage(ctx, 503, 'The issuer does not answer', 'The console could not finish signing you in.')
    }
    return messagePage(ctx, 400, 'This sign-in has been used already', 'Begin again; it takes a moment.')
  }
  if (!(await idTokenFits(context, place, found.id, departure.nonce))) {
    return messagePage(ctx, 400, 'This sign-in is not yours', 'Begin again; it takes a moment.')
  }
  const before = await findSession(context, cookies.read('session'))
  if (before) await closeSession(context, before.id)
  cookies.write('session', await openSession(context, found))
  goTo(ctx, baseUrl + departure.returnTo)
}

/** `POST /console/sign-out`, by a form of the console: ends the session here and then at the issuer. */
export async function signOut(context: Context, ctx: KoaContext): Promise<void> {
  const { config } = context
  const cookies = cookiesOf(ctx, config.baseUrl)
  const session = await findSession(context, cookies.read('session'))
  const ended = session && (await closeSession(context, session.id))
  cookies.write('session', '', 0)
  const place = await placeOf(context)
  const params = {
    client_id: place.client_id,
    post_logout_redirect_uri: `${config.baseUrl}/console`,
    ...(ended && { id_token_hint: ended.id }),
  }
  goTo(ctx, `${issuerUrl(config, place.issuer_id)}/logout?${new URLSearchParams(params)}`)
}

/** `POST /console/backchannel-logout` by the issuer, section 2.5 and 2.6. */
export async function backchannelLogout(context: Context, ctx: KoaContext): Promise<void> {
  ctx.set('Cache-Control', 'no-store')
  mustBeForm(ctx.req)
  const token = new URLSearchParams(await readBody(ctx.req, 64 * 1024)).get('logout_token') ?? ''
  const place = await placeOf(context)
  const claims = await verified(context, place, token, 'logout+jwt')
  const events = claims?.['events'] as Record<string, unknown> | undefined
  if (!claims || !events?.[LOGOUT_EVENT] || claims['nonce'] !== undefined || typeof claims['sid'] !== 'string') {
    throw badRequest('logout_token is not a logout token of the console issuer.')
  }
  await closeSessionsOf(context, claims['sid'])
  ctx.status = 200
  ctx.body = ''
}

const callbackOf = ({ config }: Context): string => `${config.baseUrl}/console/callback`

/** A path of the console and nothing else: `//host`, `/\host` and other rooms lead elsewhere. */
export function safeReturn(path: string | null): string {
  return path !== null && /^\/console(\/[\w\-./~%]*)?(\?[\w\-./~%=&+,:@!*()]*)?$/.test(path) && !path.includes('//')
    ? path
    : '/console'
}

async function placeOf(context: Context): Promise<ConsolePlace> {
  const place = await consolePlace(context)
  if (!place) throw new ApiError('unavailable', 'This deployment has no console issuer yet; start Gatehouse once.')
  return place
}

function readDeparture(context: Context, sealed: string | undefined, state: string): Departure | undefined {
  if (!sealed) return undefined
  try {
    const departure = JSON.parse(context.sealer.open(sealed)) as Departure
    return sameText(departure.state, state) && departure.until > context.now() ? departure : undefined
  } catch {
    return undefined
  }
}

async function idTokenFits(context: Context, place: ConsolePlace, token: string, nonce: string): Promise<boolean> {
  const claims = await verified(context, place, token)
  return claims?.['nonce'] === nonce
}

/** The claims of a token that the console issuer has signed for the console, or nothing. */
async function verified(context: Context, place: ConsolePlace, token: string, typ?: string) {
  const rows = await context.db.signingKey.findMany({ where: { issuerId: place.issuer_id } })
  const keys = rows.map(({ kid, alg, publicJwk }) => ({ ...(publicJwk as JWK), kid, alg }))
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet({ keys }), {
      issuer: issuerUrl(context.config, place.issuer_id),
      audience: place.client_id,
      currentDate: new Date(context.now()),
      clockTolerance: 5,
      ...(typ && { typ }),
    })
    return payload
  } catch {
    return undefined
  }
}

function goTo(ctx: KoaContext, url: string): void {
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', Location: url })
  ctx.status = 303
  ctx.body = ''
}
