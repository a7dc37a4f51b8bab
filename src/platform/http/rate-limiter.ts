/** The interface of the rate limiter, which rate-limit.ts and failure-limiter.ts implement. */
import type { RateLimitName } from '../../kernel/limits.js'

/** Whether a request is allowed, with the values of its rate limit headers. */
export interface RateLimitDecision {
  allowed: boolean
  limit: RateLimitName
  quota: number
  /** The window of the rate limit in seconds. */
  window: number
  remaining: number
  /** Seconds until the bucket is full again; for a refusal, seconds until the next request is allowed. */
  reset: number
}

/** A bucket: the name of its rate limit, and its key among the buckets of that limit. */
export type BucketRef = readonly [limit: RateLimitName, key: string]

export type AttemptOutcome =
  | { readonly state: 'succeeded' }
  /** `decision` is that of the bucket with the fewest tokens left; undefined while rate limits are off. */
  | { readonly state: 'failed'; readonly decision: RateLimitDecision | undefined }
  /** A bucket is empty. The caller does not learn whether the credential is valid. */
  | { readonly state: 'refused'; readonly decision: RateLimitDecision }

/**
 * Verifies a credential, unless this process knows that a bucket is empty. Takes a token from each bucket if the
 * verification fails.
 * @param buckets the buckets, the one that counts the most callers or credentials first. If a bucket is empty, no token
 *   is taken from the buckets after it.
 * @param verify compares the secret and returns whether it is right. Must be synchronous, so that no other attempt runs
 *   between the check of the buckets and the comparison.
 */
export type TryCredential = (buckets: readonly BucketRef[], verify: () => boolean) => Promise<AttemptOutcome>

export interface RateLimiter {
  /**
   * Consumes one token of a bucket and returns the decision; undefined when rate limits are off. Handlers of requests
   * use `consumeRateLimit` in consume-rate-limit.ts instead, which throws an error for a refusal.
   */
  consume(limit: RateLimitName, key: string): Promise<RateLimitDecision | undefined>
  /**
   * Returns a refusal if this process knows that the bucket is empty, otherwise undefined. Consumes no token and sends
   * no query.
   */
  peek(limit: RateLimitName, key: string): RateLimitDecision | undefined
  /** Verifies a credential and counts a failure (failure-limiter.ts). */
  tryCredential: TryCredential
  close(): Promise<void>
}
