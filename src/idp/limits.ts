/** Rate limits of the IdP (decisions D19): who is counted where, and what a refusal says. */

import type { Context as KoaContext } from 'koa'
import { LRUCache } from 'lru-cache'
import type { LimitName } from '../config.js'
import { ApiError } from '../kernel/errors.js'
import { networkOf } from '../kernel/network.js'
import { SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { rateLimitHeaders, type Verdict } from '../platform/rate-limit.js'
import type { OpenIdContext } from './library.js'
import { scope } from './scope.js'

/**
 * Spends one request of a limit and says so in the answer's headers.
 * @throws ApiError too_many_requests
 */
export async function spend(
  ctx: KoaContext | OpenIdContext,
  context: Context,
  limit: LimitName,
  key: string,
): Promise<void> {
  const verdict = await context.rateLimiter.spend(limit, key)
  if (verdict) applyVerdict(ctx, context, verdict)
}

function applyVerdict(ctx: KoaContext | OpenIdContext, context: Context, verdict: Verdict): void {
  const headers = rateLimitHeaders(verdict)
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value)
  if (verdict.allowed) return
  context.metrics.refusals.inc({ limit: verdict.limit })
  throw new ApiError('too_many_requests', `Too many requests; try again in ${verdict.reset} seconds.`, {
    headers: { 'Retry-After': String(verdict.reset) },
  })
}

/** At the token endpoint: a confidential client by its id, once it has proved to be it; a public one by address. */
export async function spendTokenLimit(ctx: OpenIdContext): Promise<void> {
  const { context, runtime } = scope()
  const client = ctx.oidc.client!
  if (client.tokenEndpointAuthMethod === 'none') await spend(ctx, context, 'token_ip', networkOf(context.request.ip))
  else await spend(ctx, context, 'token_client', `${runtime.issuer.id}:${client.clientId}`)
}

/**
 * The limit of discovery and keys, counted by this process alone: these documents are served while the database is
 * away, and cost less than asking it.
 */
export function metadataLimit(): (ctx: KoaContext, context: Context) => void {
  const buckets = new LRUCache<string, { tokens: number; at: number }>({ max: 20_000 })
  return (ctx, context) => {
    const { rateLimits } = context.config
    if (rateLimits === 'off') return
    const { quota, window } = rateLimits.metadata
    const now = context.now()
    const key = networkOf(context.request.ip)
    const before = buckets.get(key) ?? { tokens: quota, at: now }
    const perSecond = quota / window
    const tokens = Math.min(quota, before.tokens + (Math.max(0, now - before.at) / SECOND) * perSecond)
    const allowed = tokens >= 1
    const left = allowed ? tokens - 1 : tokens
    buckets.set(key, { tokens: left, at: now })
    const missing = allowed ? quota - left : 1 - left
    const reset = Math.max(1, Math.ceil(missing / perSecond))
    applyVerdict(ctx, context, { allowed, limit: 'metadata', quota, window, remaining: Math.floor(left), reset })
  }
}
