/**
 * The client registration endpoint (RFC 7591) and the client configuration endpoint (RFC 7592), see
 * docs/contract.md#dynamic-client-registration.
 */
import type { Context as KoaContext } from 'koa'
import { ApiError, type ErrorCode } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import { networkOf } from '../../kernel/network.js'
import { repeatedMember } from '../../kernel/repeated-members.js'
import { parseJsonBody, readBody } from '../../platform/http/body.js'
import { grantTypesOf } from '../../resources/clients/settings.js'
import { dynamicRegistrationPolicyOf } from '../../resources/issuers/settings.js'
import { clientInformation } from '../../resources/registration/client-information.js'
import { ClientMetadataError } from '../../resources/registration/client-metadata.js'
import { findActiveInitialAccessToken } from '../../resources/registration/initial-access-tokens.js'
import {
  deleteRegisteredClient,
  findRegisteredClient,
  type RegisteredClientRow,
  registerClient,
  updateRegisteredClient,
} from '../../resources/registration/registrations.js'
import { requireActiveIssuer } from '../client/client.js'
import { consumeRateLimit } from '../rate-limits.js'
import type { RequestContext } from '../request-context.js'
import { OFFLINE_ACCESS, openidScopes } from '../token/tokens.js'

/**
 * POST and CORS preflight of `/register`. Scripts of every origin can register a client if no initial access token is
 * required; an initial access token does not belong into a browser.
 */
export async function serveRegistration(request: RequestContext, ctx: KoaContext): Promise<void> {
  const { context, runtime } = request
  const policy = dynamicRegistrationPolicyOf(runtime.issuer.settings)
  if (answerCors(ctx, !policy.isTokenRequired, 'POST')) return
  await withRegistrationErrors(async () => {
    // 1. Authenticate the registration before its metadata is read (RFC 7591 section 3).
    await consumeRateLimit(request, ctx, 'registration', networkOf(context.request.ip))
    await requireActiveIssuer(request)
    const text = readBearerToken(ctx)
    if (text === undefined && policy.isTokenRequired)
      throw unauthorized(request, 'this issuer requires an initial access token to register a client')
    const issuer = registrationIssuerOf(request)
    const token = text === undefined ? undefined : await findActiveInitialAccessToken(context, issuer, text)
    if (text !== undefined && !token) throw invalidToken(request, 'initial access token')
    if (token) await consumeRateLimit(request, ctx, 'registration_token', token.id)

    // 2. Register the client.
    const registered = await registerClient(context, issuer, await readMetadata(ctx), token)
    if (!registered) throw invalidToken(request, 'initial access token')
    const { client, registrationAccessToken } = registered
    respond(request, ctx, 201, client, client.secret, registrationAccessToken)
  })
}

/** GET, PUT, DELETE and CORS preflight of `/register/{client_id}`. */
export async function serveClientConfiguration(
  request: RequestContext,
  ctx: KoaContext,
  clientId: string,
): Promise<void> {
  const { context, runtime } = request
  const { isTokenRequired } = dynamicRegistrationPolicyOf(runtime.issuer.settings)
  if (answerCors(ctx, !isTokenRequired, 'GET,PUT,DELETE')) return
  await withRegistrationErrors(async () => {
    await consumeRateLimit(request, ctx, 'registration', networkOf(context.request.ip))
    await requireActiveIssuer(request)
    const issuer = registrationIssuerOf(request)
    const token = readBearerToken(ctx)
    if (token === undefined) throw unauthorized(request, 'no registration access token provided')
    const client = await findRegisteredClient(context, issuer, clientId, token)
    if (!client) throw invalidToken(request, 'registration access token')
    if (client.status !== 'active')
      throw new ApiError('access_denied' as ErrorCode, 'This client is disabled.', { status: 403 })

    if (ctx.method === 'DELETE') {
      await deleteRegisteredClient(context, issuer, client)
      ctx.status = 204
      ctx.set('Cache-Control', 'no-store')
      return
    }
    if (ctx.method === 'GET') return respond(request, ctx, 200, client, null, token)
    await consumeRateLimit(request, ctx, 'registration_update', client.id)
    const metadata = await readMetadata(ctx)
    const updated = await updateRegisteredClient(context, issuer, client, metadata)
    // The registration access token stays valid: if it changed, a client that lost the response could not recover.
    respond(request, ctx, 200, updated, presentedSecret(metadata, client), token)
  })
}

const registrationIssuerOf = ({ runtime }: RequestContext) => ({
  accountId: runtime.issuer.accountId,
  issuerId: runtime.issuer.id,
  settings: runtime.issuer.settings,
})

/** Returns the secret of an update, which was compared with that of the client; null without one. */
const presentedSecret = (metadata: unknown, { confidential }: RegisteredClientRow): string | null => {
  const { client_secret: secret } = metadata as { client_secret?: unknown }
  return confidential && typeof secret === 'string' ? secret : null
}

function respond(
  { runtime }: RequestContext,
  ctx: KoaContext,
  status: number,
  client: Parameters<typeof clientInformation>[0],
  secret: string | null,
  registrationAccessToken: string,
): void {
  const registrationClientUri = `${runtime.url}/register/${client.id}`
  ctx.status = status
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Pragma', 'no-cache')
  const scopes = grantTypesOf(client).includes('refresh_token') ? [...openidScopes, OFFLINE_ACCESS] : openidScopes
  ctx.body = clientInformation(client, {
    secret,
    registrationAccessToken,
    registrationClientUri,
    openidScopes: scopes,
    allowedScopes: dynamicRegistrationPolicyOf(runtime.issuer.settings).allowedScopes,
  })
}

/** Returns the token of the Authorization header (RFC 6750 section 2.1); undefined if there is none. */
const readBearerToken = (ctx: KoaContext): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(ctx.get('Authorization'))?.[1]

/** @throws payload_too_large, invalid_client_metadata */
async function readMetadata(ctx: KoaContext): Promise<unknown> {
  const invalid = (message: string) => new ClientMetadataError('invalid_client_metadata', message)
  if (!ctx.is('application/json')) throw invalid('The body must be JSON; send Content-Type: application/json.')
  const text = await readBody(ctx.req, limits.maxRegistrationBodyBytes)
  const metadata = parseJsonBody(text)
  const repeated = repeatedMember(text)
  if (repeated !== undefined) throw invalid(`${repeated}: must occur only once.`)
  return metadata
}

/**
 * Sets the CORS headers, if scripts of every origin may read the response, and answers a preflight.
 * @returns whether the request is answered
 */
function answerCors(ctx: KoaContext, isAllowed: boolean, methods: string): boolean {
  if (isAllowed) {
    ctx.set('Access-Control-Allow-Origin', '*')
    ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After')
  }
  if (ctx.method !== 'OPTIONS') return false
  ctx.status = 204
  if (isAllowed) {
    ctx.set('Access-Control-Allow-Methods', methods)
    ctx.set('Access-Control-Allow-Headers', 'Authorization, Content-Type, MCP-Protocol-Version')
    ctx.set('Access-Control-Max-Age', '3600')
  }
  return true
}

/** Creates the error 401 for a request without a token, whose challenge has no error code (RFC 6750 section 3.1). */
const unauthorized = ({ runtime }: RequestContext, description: string): ApiError =>
  new ApiError('invalid_token' as ErrorCode, description, {
    status: 401,
    headers: { 'WWW-Authenticate': `Bearer realm="${runtime.url}"` },
  })

function invalidToken({ runtime }: RequestContext, kind: string): ApiError {
  const description = `the ${kind} is invalid, expired, used up or revoked`
  const challenge = `Bearer realm="${runtime.url}", error="invalid_token", error_description="${description}"`
  const headers = { 'WWW-Authenticate': challenge }
  return new ApiError('invalid_token' as ErrorCode, description, { status: 401, headers })
}

/** Runs `work` and converts its errors about metadata to errors of RFC 7591 section 3.2.2. */
async function withRegistrationErrors(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof ClientMetadataError)) {
      const isMalformedBody = error instanceof ApiError && error.code === 'invalid_request'
      throw isMalformedBody ? metadataError('invalid_client_metadata', error.message) : error
    }
    throw metadataError(error.code, error.message)
  }
}

const metadataError = (code: ClientMetadataError['code'], message: string): ApiError =>
  new ApiError(code as unknown as ErrorCode, message, { status: 400 })
