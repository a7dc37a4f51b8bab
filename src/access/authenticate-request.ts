import type { IncomingMessage } from 'node:http'
import { type Actor, unauthenticated } from '../kernel/context.js'
import { ApiError } from '../kernel/errors.js'
import type { RateLimitName } from '../kernel/limits.js'
import { networkOf } from '../kernel/network.js'
import { type Context, contextFor, type Gatehouse } from '../platform/context.js'
import { consumeRateLimit } from '../platform/http/consume-rate-limit.js'
import { requestInfo } from '../platform/http/request.js'
import { authenticate, credentialsOf } from './authenticate.js'

/** Creates the context of a request with the anonymous actor, before authentication. */
export const anonymousContext = (gatehouse: Gatehouse, request: IncomingMessage): Context =>
  contextFor(gatehouse, unauthenticated, requestInfo(gatehouse, request))

export interface AuthenticatedRequest {
  context: Context
  /** The RateLimit headers for the response; empty while rate limits are off. */
  headers: Record<string, string>
}

/**
 * Authenticates a request and applies the rate limits (docs/contract.md#rate-limits): `limit` per actor for
 * authenticated requests, `unauthenticated` per network for anonymous requests and failed authentications.
 * @throws unauthorized, too_many_requests; forbidden if the credential is not allowed from this IP address
 */
export async function authenticateAndRateLimit(
  anonymous: Context,
  request: IncomingMessage,
  limit: RateLimitName,
): Promise<AuthenticatedRequest> {
  let actor: Actor
  try {
    actor = await authenticate(anonymous, { ...credentialsOf(request), limit })
  } catch (error) {
    if (error instanceof ApiError && error.code === 'too_many_requests') throw error
    const headers = await consumeRateLimit(anonymous, 'unauthenticated', networkOf(anonymous.request.ip))
    throw error instanceof ApiError ? withHeaders(error, headers) : error
  }
  const isAuthenticated = actor.type !== 'unauthenticated'
  const headers = isAuthenticated
    ? await consumeRateLimit(anonymous, limit, actor.id ?? '')
    : await consumeRateLimit(anonymous, 'unauthenticated', networkOf(anonymous.request.ip))
  return { context: { ...anonymous, actor }, headers }
}

const withHeaders = (error: ApiError, headers: Record<string, string>): ApiError =>
  new ApiError(error.code, error.message, { ...error.options, headers: { ...headers, ...error.options.headers } })
