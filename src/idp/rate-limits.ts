/** Rate limits of the IdP (docs/contract.md#rate-limits). */

import type { Context as KoaContext } from 'koa'
import { LRUCache } from 'lru-cache'
import type { RateLimitName } from '../kernel/limits.js'
import { limits } from '../kernel/limits.js'
import { networkOf } from '../kernel/network.js'
import { SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { consumeRateLimit as consumeLimit, requireWithinRateLimit } from '../platform/http/consume-rate-limit.js'
import type { OpenIdContext } from './provider-types.js'
import type { RequestContext } from './request-context.js'

/**
 * Counts the request against a rate limit and sets the rate limit headers of the response.
 * @param key the caller or resource that is counted
 * @throws ApiError too_many_requests
 */
export async function consumeRateLimit(
  { context }: RequestContext,
  ctx: KoaContext | OpenIdContext,
  limit: RateLimitName,
  key: string,
): Promise<void> {
  ctx.set(await consumeLimit(context, limit, key))
}

/**
 * Counts the request against the rate limit of the token endpoint: by issuer and client id for confidential clients,
 * which have authenticated already, and by network for public clients.
 * @throws ApiError too_many_requests
 */
export async function consumeTokenRateLimit(request: RequestContext, ctx: OpenIdContext): Promise<void> {
  const { context, runtime } = request
  const client = ctx.oidc.client!
  if (client.tokenEndpointAuthMethod === 'none')
    await consumeRateLimit(request, ctx, 'token_ip', networkOf(context.request.ip))
  else await consumeRateLimit(request, ctx, 'token_client', `${runtime.issuer.id}:${client.clientId}`)
}

/**
 * Creates the rate limit `metadata`, for static documents and session checks. Each process counts separately, because
 * the documents are also served while the database is unavailable, and serving a document costs less than a query.
 */
export function createMetadataRateLimit(): (ctx: KoaContext, context: Context) => void {
  const buckets = new LRUCache<string, { tokens: number; refilledAt: number }>({ max: limits.maxLocalRateLimitBuckets })
  return (ctx, context) => {
    const { rateLimits } = context.config
    if (rateLimits === 'off') return
    const { quota, window } = rateLimits.metadata
    const now = context.now()
    const key = networkOf(context.request.ip)
    const bucket = buckets.get(key) ?? { tokens: quota, refilledAt: now }
    const perSecond = quota / window
    const tokens = Math.min(quota, bucket.tokens + (Math.max(0, now - bucket.refilledAt) / SECOND) * perSecond)
    const allowed = tokens >= 1
    const remaining = allowed ? tokens - 1 : tokens
    buckets.set(key, { tokens: remaining, refilledAt: now })
    const tokensNeeded = allowed ? quota - remaining : 1 - remaining
    const reset = Math.max(1, Math.ceil(tokensNeeded / perSecond))
    const decision = { allowed, limit: 'metadata', quota, window, remaining: Math.floor(remaining), reset } as const
    ctx.set(requireWithinRateLimit(context, decision))
  }
}
