/**
 * The endpoint `/session`: returns metadata of the session of an access token to the application
 * (docs/contract.md#session-fields), without ids and tokens.
 */
import type { Context as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import { type ActiveToken, verifyAccessToken } from '../../resources/sessions/access-token.js'
import {
  dpopChallenge,
  PossessionError,
  type PresentedToken,
  proofHeaderOf,
  requirePossession,
} from '../../resources/sessions/proof-of-possession.js'
import { readClient } from '../client/client.js'
import { isOriginAllowed } from '../client/cors.js'
import { consumeRateLimit } from '../rate-limits.js'
import type { RequestContext } from '../request-context.js'
import { type Form, formField } from '../request-input.js'

interface SessionRow {
  clientId: string
  authTime: number
  acr: string | null
  amr: string[] | null
  createdAt: number
  lastActivityAt: number
  expiresAt: number
  userAgent: string | null
}

const rowText = `
  SELECT client_id AS "clientId", auth_time AS "authTime", acr, amr, created_at AS "createdAt",
    last_activity_at AS "lastActivityAt", expires_at AS "expiresAt", device->>'user_agent' AS "userAgent"
  FROM sessions WHERE issuer_id = $1 AND id = $2`

/** GET, POST and CORS preflight of `/session`. */
export async function serveSession(request: RequestContext, ctx: KoaContext, form: Form): Promise<void> {
  ctx.vary('Origin')
  const origin = ctx.get('Origin')
  if (ctx.method === 'OPTIONS') return answerPreflight(ctx, origin)
  ctx.set('Cache-Control', 'no-store')

  // 1. Read the access token from the header or, with POST, from the form (RFC 6750 section 2), and find its session.
  const presented = readAccessToken(request, ctx, form)
  if (presented === undefined) return respondUnauthorized(request, ctx)
  const { context, runtime } = request
  const liveToken = await verifyAccessToken(context, presented.token)
  const sessionRow = liveToken?.issuerId === runtime.issuer.id ? await findSessionOf(request, liveToken) : undefined
  if (!liveToken || !sessionRow)
    return respondUnauthorized(request, ctx, {
      scheme: presented.scheme,
      code: 'invalid_token',
      description:
        'the access token is invalid or has expired, or it does not belong to a session of the client in its audience',
    })
  await consumeRateLimit(request, ctx, 'userinfo', liveToken.claims.jti)
  const possessionError = await possessionErrorOf(request, liveToken, presented)
  if (possessionError)
    return respondUnauthorized(request, ctx, {
      scheme: 'DPoP',
      code: possessionError.code,
      description: possessionError.message,
    })

  // 2. Scripts can read the response only from an allowed origin of the client.
  if (origin !== '') {
    const client = await readClient(request, sessionRow.clientId)
    if (!client || !isOriginAllowed(runtime.issuer.settings, client, origin)) {
      throw new ApiError(
        'invalid_request',
        `The origin ${origin} is not allowed for the client ${sessionRow.clientId}. Add the origin to security.cors_origins in the settings of the issuer.`,
      )
    }
    allowCrossOriginRead(ctx, origin)
  }

  ctx.body = {
    status: 'active',
    auth_time: sessionRow.authTime,
    acr: sessionRow.acr,
    amr: sessionRow.amr ?? [],
    created_at: sessionRow.createdAt,
    last_activity_at: sessionRow.lastActivityAt,
    expires_at: sessionRow.expiresAt,
    device: { user_agent: sessionRow.userAgent },
  }
}

/**
 * Returns the access token of the request; undefined if there is none.
 * @throws invalid_request for more than one token
 */
function readAccessToken({ runtime }: RequestContext, ctx: KoaContext, form: Form): PresentedToken | undefined {
  const [, scheme, header] = /^(Bearer|DPoP) +([\w~+/.=-]+) *$/i.exec(ctx.get('Authorization')) ?? []
  const body = formField(form, 'access_token')
  if (Array.isArray(form['access_token']) || (header !== undefined && body !== undefined)) {
    throw new ApiError(
      'invalid_request',
      'send the access token once, either in the Authorization header or in the form',
    )
  }
  const token = header ?? body
  if (token === undefined) return undefined
  return {
    token,
    scheme: scheme?.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer',
    proof: proofHeaderOf(ctx.req),
    method: ctx.method,
    url: `${runtime.url}/session`,
  }
}

/** Checks the key of a bound token. Returns undefined if the request may use the token. */
async function possessionErrorOf(
  { context }: RequestContext,
  liveToken: ActiveToken,
  presented: PresentedToken,
): Promise<PossessionError | undefined> {
  try {
    await requirePossession(context, liveToken, presented)
    return undefined
  } catch (error) {
    if (error instanceof PossessionError) return error
    throw error
  }
}

/** Finds the session of a token, if the token's audience is the client of the session. */
async function findSessionOf(
  { context, runtime }: RequestContext,
  { claims }: ActiveToken,
): Promise<SessionRow | undefined> {
  if (claims.sid === undefined) return undefined
  const values = [runtime.issuer.id, claims.sid]
  const [row] = await context.database.query<SessionRow & Record<string, unknown>>('idp-session', rowText, values)
  return row?.clientId === claims.aud ? row : undefined
}

/**
 * Responds with 401. `WWW-Authenticate` has no error code if the request has no token (RFC 6750 section 3.1).
 * @param error omitted if the request has no token
 */
function respondUnauthorized(
  { runtime }: RequestContext,
  ctx: KoaContext,
  error?: { scheme: PresentedToken['scheme']; code: string; description: string },
): void {
  const origin = ctx.get('Origin')
  if (origin !== '') allowCrossOriginRead(ctx, origin)
  const bearer = `Bearer realm="${runtime.url}"`
  ctx.status = 401
  if (error === undefined) ctx.set('WWW-Authenticate', `${bearer}, ${dpopChallenge(runtime.url)}`)
  else if (error.scheme === 'DPoP') ctx.set('WWW-Authenticate', dpopChallenge(runtime.url, error))
  else ctx.set('WWW-Authenticate', `${bearer}, error="${error.code}", error_description="${error.description}"`)
  ctx.body = {
    error: error?.code ?? 'invalid_token',
    error_description: error?.description ?? 'no access token provided',
  }
}

function allowCrossOriginRead(ctx: KoaContext, origin: string): void {
  ctx.set('Access-Control-Allow-Origin', origin)
  ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate')
}

function answerPreflight(ctx: KoaContext, origin: string): void {
  ctx.status = 204
  ctx.set('Access-Control-Allow-Origin', origin || '*')
  ctx.set('Access-Control-Allow-Methods', 'GET,POST')
  ctx.set('Access-Control-Allow-Headers', ctx.get('Access-Control-Request-Headers') || 'Authorization, DPoP')
  ctx.set('Access-Control-Max-Age', '3600')
}
