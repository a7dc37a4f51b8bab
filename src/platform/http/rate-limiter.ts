/** The interface of rate limits; rate-limit.ts and failure-limiter.ts implement it. */
import type { RateLimitName } from '../../kernel/limits.js'

/**
 * The content of the rate limit headers. `window` and `reset` are in seconds; on a refusal `reset` is the time to wait.
 */
export interface RateLimitDecision {
  allowed: boolean
  limit: RateLimitName
  quota: number
  window: number
  remaining: number
  reset: number
}

/** A limit and the key of a bucket under it. */
export type BucketRef = readonly [limit: RateLimitName, key: string]

export type AttemptOutcome =
  | { readonly state: 'succeeded' }
  /** The decision of the bucket with the fewest tokens left; undefined while limits are off. */
  | { readonly state: 'failed'; readonly decision: RateLimitDecision | undefined }
  /** A bucket is empty. The caller cannot learn whether the credential is valid. */
  | { readonly state: 'refused'; readonly decision: RateLimitDecision }

/**
 * Verifies a credential if all buckets have a token left, and takes one token from each on failure.
 * @param buckets the widest first: a narrower bucket keeps its token when a wider one is empty
 * @param verify compares the secret; must be synchronous, so that nothing runs between the decision and the comparison
 */
export type TryCredential = (buckets: readonly BucketRef[], verify: () => boolean) => Promise<AttemptOutcome>

export interface RateLimiter {
  /**
   * Consumes one token of the bucket `key` under a limit; undefined when limits are off. To refuse a request, use
   * `consumeRateLimit` in consume-rate-limit.ts.
   */
  consume(limit: RateLimitName, key: string): Promise<RateLimitDecision | undefined>
  /** Returns a refusal if this process knows that the bucket is empty. Consumes no token and sends no query. */
  peek(limit: RateLimitName, key: string): RateLimitDecision | undefined
  /** Verifies a credential and counts the failure (failure-limiter.ts). */
  tryCredential: TryCredential
  close(): Promise<void>
}
