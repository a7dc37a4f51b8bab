/**
 * Applies rate limits to requests: returns headers, counts refusals and throws errors (docs/contract.md#rate-limits).
 */
import { ApiError } from '../../kernel/errors.js'
import type { RateLimitName } from '../../kernel/limits.js'
import type { Context } from '../context.js'
import type { RateLimitDecision } from './rate-limiter.js'

/** Returns the error message for a caller who must wait for `seconds`. */
type RefusalMessage = (seconds: number) => string

const tooManyRequests: RefusalMessage = (seconds) => `Too many requests; try again in ${seconds} seconds.`

/**
 * Consumes one token of a limit.
 * @param limit the name of a row of `rateLimitTable` in src/kernel/limits.ts
 * @param key the caller or resource whose requests are counted
 * @returns the rate limit headers for the response; none while rate limits are off
 * @throws too_many_requests with the rate limit headers and Retry-After
 */
export async function consumeRateLimit(
  context: Context,
  limit: RateLimitName,
  key: string,
  refusalMessage?: RefusalMessage,
): Promise<Record<string, string>> {
  return requireWithinRateLimit(context, await context.rateLimiter.consume(limit, key), refusalMessage)
}

/**
 * Applies a decision of the rate limiter.
 * @param decision the decision; undefined while rate limits are off
 * @returns the rate limit headers for the response; none while rate limits are off
 * @throws too_many_requests with the rate limit headers and Retry-After
 */
export function requireWithinRateLimit(
  { metrics }: Pick<Context, 'metrics'>,
  decision: RateLimitDecision | undefined,
  refusalMessage = tooManyRequests,
): Record<string, string> {
  if (!decision) return {}
  const headers = rateLimitHeaders(decision)
  if (decision.allowed) return headers
  metrics.rateLimited.inc({ limit: decision.limit })
  throw new ApiError('too_many_requests', refusalMessage(decision.reset), { headers })
}

/**
 * Returns the headers RateLimit and RateLimit-Policy of the IETF draft and the X-RateLimit headers. A refusal has
 * Retry-After as well.
 */
function rateLimitHeaders({ allowed, quota, window, remaining, reset }: RateLimitDecision): Record<string, string> {
  return {
    'RateLimit-Policy': `"default";q=${quota};w=${window}`,
    RateLimit: `"default";r=${remaining};t=${reset}`,
    'X-RateLimit-Limit': String(quota),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(reset),
    ...(!allowed && { 'Retry-After': String(reset) }),
  }
}
