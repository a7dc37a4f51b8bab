/**
 * The endpoint `/session`: returns metadata of the session of an access token to the application
 * (docs/contract.md#session-fields), without ids and tokens.
 */
import type { Context as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import { type ActiveToken, verifyAccessToken } from '../../resources/sessions/access-token.js'
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
  const token = readBearerToken(ctx, form)
  if (token === undefined) return respondUnauthorized(request, ctx, undefined)
  const { context, runtime } = request
  const liveToken = await verifyAccessToken(context, token)
  const sessionRow = liveToken?.issuerId === runtime.issuer.id ? await findSessionOf(request, liveToken) : undefined
  if (!liveToken || !sessionRow)
    return respondUnauthorized(
      request,
      ctx,
      'the access token is invalid or has expired, or it does not belong to a session of the client in its audience',
    )
  await consumeRateLimit(request, ctx, 'userinfo', liveToken.claims.jti)

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
function readBearerToken(ctx: KoaContext, form: Form): string | undefined {
  const [, header] = /^Bearer +([\w~+/.=-]+) *$/i.exec(ctx.get('Authorization')) ?? []
  const body = formField(form, 'access_token')
  if (Array.isArray(form['access_token']) || (header !== undefined && body !== undefined)) {
    throw new ApiError(
      'invalid_request',
      'send the access token once, either in the Authorization header or in the form',
    )
  }
  return header ?? body
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
 * @param description undefined if the request has no token
 */
function respondUnauthorized({ runtime }: RequestContext, ctx: KoaContext, description: string | undefined): void {
  const origin = ctx.get('Origin')
  if (origin !== '') allowCrossOriginRead(ctx, origin)
  const error = description === undefined ? '' : `, error="invalid_token", error_description="${description}"`
  ctx.status = 401
  ctx.set('WWW-Authenticate', `Bearer realm="${runtime.url}"${error}`)
  ctx.body = { error: 'invalid_token', error_description: description ?? 'no access token provided' }
}

function allowCrossOriginRead(ctx: KoaContext, origin: string): void {
  ctx.set('Access-Control-Allow-Origin', origin)
  ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate')
}

function answerPreflight(ctx: KoaContext, origin: string): void {
  ctx.status = 204
  ctx.set('Access-Control-Allow-Origin', origin || '*')
  ctx.set('Access-Control-Allow-Methods', 'GET,POST')
  ctx.set('Access-Control-Allow-Headers', ctx.get('Access-Control-Request-Headers') || 'Authorization')
  ctx.set('Access-Control-Max-Age', '3600')
}
