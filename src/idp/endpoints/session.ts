/**
 * What an application may know of the session that its token belongs to (spec 4.17, decisions D17): no ids, no tokens.
 */
import type { Context as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import { type LiveToken, verifyAccessToken } from '../../resources/sessions/access-token.js'
import { readClient } from '../client.js'
import { spend } from '../limits.js'
import { originAllowed } from '../origins.js'
import { type Form, field } from '../request.js'
import { scope } from '../scope.js'

interface Row {
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

/** GET and POST of `/session`, and the question of a browser whether a page may ask. */
export async function session(ctx: KoaContext, form: Form): Promise<void> {
  ctx.vary('Origin')
  const origin = ctx.get('Origin')
  if (ctx.method === 'OPTIONS') return allowAsking(ctx, origin)
  ctx.set('Cache-Control', 'no-store')

  // 1. One token, in the header or, with POST, in the form (RFC 6750 section 2).
  const token = tokenOf(ctx, form)
  if (token === undefined) return refuse(ctx, undefined)
  const { context, runtime } = scope()
  const live = await verifyAccessToken(context, token)
  const found = live?.issuerId === runtime.issuer.id ? await sessionOf(live) : undefined
  if (!live || !found) return refuse(ctx, 'the access token is not good for this session, or no longer')
  await spend(ctx, context, 'userinfo', live.claims.jti)

  // 2. Scripts read the answer only where the client lives.
  if (origin !== '') {
    const client = await readClient(found.clientId)
    if (!client || !originAllowed(runtime.issuer.settings, client, origin)) {
      throw new ApiError('invalid_request', `origin ${origin} not allowed for client: ${found.clientId}`)
    }
    allowReading(ctx, origin)
  }

  ctx.body = {
    status: 'active',
    auth_time: found.authTime,
    acr: found.acr,
    amr: found.amr ?? [],
    created_at: found.createdAt,
    last_activity_at: found.lastActivityAt,
    expires_at: found.expiresAt,
    device: { user_agent: found.userAgent },
  }
}

/** @throws invalid_request for more than one token */
function tokenOf(ctx: KoaContext, form: Form): string | undefined {
  const [, header] = /^Bearer +([\w~+/.=-]+) *$/i.exec(ctx.get('Authorization')) ?? []
  const body = field(form, 'access_token')
  if (Array.isArray(form['access_token']) || (header !== undefined && body !== undefined)) {
    throw new ApiError('invalid_request', 'access tokens must be given once, in one way')
  }
  return header ?? body
}

/** The session of a token that is meant for the session's own client and nobody else. */
async function sessionOf({ claims }: LiveToken): Promise<Row | undefined> {
  if (claims.sid === undefined) return undefined
  const { context, runtime } = scope()
  const values = [runtime.issuer.id, claims.sid]
  const [row] = await context.tools.query<Row & Record<string, unknown>>('idp-session', rowText, values)
  return row?.clientId === claims.aud ? row : undefined
}

/** RFC 6750 section 3.1: without a token no error is named. */
function refuse(ctx: KoaContext, description: string | undefined): void {
  const { runtime } = scope()
  const origin = ctx.get('Origin')
  if (origin !== '') allowReading(ctx, origin)
  const error = description === undefined ? '' : `, error="invalid_token", error_description="${description}"`
  ctx.status = 401
  ctx.set('WWW-Authenticate', `Bearer realm="${runtime.url}"${error}`)
  ctx.body = { error: 'invalid_token', error_description: description ?? 'no access token provided' }
}

function allowReading(ctx: KoaContext, origin: string): void {
  ctx.set('Access-Control-Allow-Origin', origin)
  ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate')
}

function allowAsking(ctx: KoaContext, origin: string): void {
  ctx.status = 204
  ctx.set('Access-Control-Allow-Origin', origin || '*')
  ctx.set('Access-Control-Allow-Methods', 'GET,POST')
  ctx.set('Access-Control-Allow-Headers', ctx.get('Access-Control-Request-Headers') || 'Authorization')
  ctx.set('Access-Control-Max-Age', '3600')
}
