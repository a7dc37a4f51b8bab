/** Applies a rate limit to a request: the headers, the metric and the error (docs/contract.md#rate-limits). */
import { ApiError } from '../../kernel/errors.js'
import type { RateLimitName } from '../../kernel/limits.js'
import type { Context } from '../context.js'
import type { RateLimitDecision } from './rate-limiter.js'

/** Returns the message for a caller who must wait for this many seconds. */
type RefusalMessage = (seconds: number) => string

const tooManyRequests: RefusalMessage = (seconds) => `Too many requests; try again in ${seconds} seconds.`

/**
 * Consumes one token of a limit.
 * @param limit the name of a row in src/kernel/limits.ts
 * @param key the caller or resource that is counted
 * @returns the RateLimit headers for the response; none while limits are off
 * @throws too_many_requests with the RateLimit headers and Retry-After
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
 * Applies a decision that the rate limiter has made.
 * @param decision undefined while limits are off
 * @returns the RateLimit headers for the response
 * @throws too_many_requests with the RateLimit headers and Retry-After
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

/** The RateLimit headers of the IETF draft and the X-RateLimit headers; also Retry-After on a refusal. */
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
