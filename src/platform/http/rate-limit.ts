/**
 * Rate limits with token buckets that all processes share (docs/contract.md#rate-limits). Processes do not share the
 * buckets of the rate limit `metadata`. A shared bucket is a row in
 * PostgreSQL, or a key in Redis if REDIS_URL is set (redis-buckets.ts). A process takes tokens from a bucket in batches
 * and consumes the tokens of a batch from memory, so that not every request needs a query. The batches become smaller
 * as the bucket empties, down to single tokens, so that no process keeps tokens that others need.
 */
import { LRUCache } from 'lru-cache'
import type { RateLimits } from '../../config.js'
import type { RateLimit, RateLimitName } from '../../kernel/limits.js'
import { limits } from '../../kernel/limits.js'
import { type Clock, SECOND } from '../../kernel/time.js'
import type { DatabaseHandle } from '../postgres/database.js'
import { createFailureLimiter } from './failure-limiter.js'
import type { RateLimitDecision, RateLimiter } from './rate-limiter.js'

/** The storage of the buckets, shared by all processes. */
export interface BucketStore {
  /**
   * Refills the bucket for the elapsed time and then takes a batch of tokens. The batch is smaller when the bucket has
   * fewer tokens left.
   * @param options `quota` and `maxBatch` in tokens, `now` in Unix milliseconds, `rate` in tokens per millisecond
   * @returns `taken`, the size of the batch, and `tokens`, the tokens that are left in the bucket
   */
  takeTokens(
    key: string,
    options: { quota: number; maxBatch: number; now: number; rate: number },
  ): Promise<{ tokens: number; taken: number }>
  close(): Promise<void>
}

interface TokenBatch {
  /** The tokens of the batch that are left in the memory of this process. */
  localTokens: number
  /** The tokens that were left in the shared bucket after the batch was taken. */
  sharedTokens: number
  /** When the batch was taken, in Unix milliseconds. */
  takenAt: number
}

// $1 key, $2 quota, $3 maximum batch size, $4 now (ms), $5 tokens per millisecond
const refilledTokensSql = 'least($2::float8, bucket.tokens + greatest($4::bigint - bucket.updated_at, 0) * $5::float8)'
const batchSizeSql = `CASE WHEN ${refilledTokensSql} >= 1 THEN least($3::float8, greatest(1, floor(${refilledTokensSql} / ${limits.rateLimitBatchesPerBucket}))) ELSE 0 END`
const takeTokensSql = `
  INSERT INTO rate_limits AS bucket (key, tokens, batch_size, updated_at) VALUES ($1, $2::float8 - $3::float8, $3::float8, $4::bigint)
  ON CONFLICT (key) DO UPDATE SET tokens = ${refilledTokensSql} - (${batchSizeSql}), batch_size = ${batchSizeSql},
    updated_at = greatest($4::bigint, bucket.updated_at)
  RETURNING tokens, batch_size AS taken`

/** Creates the bucket store that keeps each bucket as one row in PostgreSQL and takes each batch with one statement. */
export const createPostgresBuckets = (tools: DatabaseHandle): BucketStore => ({
  async takeTokens(key, { quota, maxBatch, now, rate }) {
    const values = [key, quota, maxBatch, now, rate]
    const [row] = await tools.query<{ tokens: number; taken: number }>('rate-limit-consume', takeTokensSql, values)
    return row!
  },
  close: async () => {},
})

/**
 * Creates the rate limiter of one process.
 * @param now the clock of the buckets
 */
export function createRateLimiter(rateLimits: RateLimits, buckets: BucketStore, now: Clock): RateLimiter {
  const batches = new LRUCache<string, TokenBatch>({ max: limits.maxCachedRateLimitBuckets })
  const pending = new Map<string, Promise<void>>()

  async function refillBatch(key: string, { quota, window }: RateLimit): Promise<void> {
    const largest = Math.max(1, Math.floor(quota / limits.rateLimitBatchesPerBucket))
    const rate = quota / (window * SECOND)
    const { tokens, taken } = await buckets.takeTokens(key, { quota, maxBatch: largest, now: now(), rate })
    batches.set(key, { localTokens: taken, sharedTokens: tokens, takenAt: now() })
  }

  const usableBatch = (key: string): TokenBatch | undefined => {
    const batch = batches.get(key)
    return batch && batch.localTokens >= 1 && batch.takenAt + limits.rateLimitBatchLifetime > now() ? batch : undefined
  }

  async function consume(name: RateLimitName, subject: string): Promise<RateLimitDecision | undefined> {
    if (rateLimits === 'off') return undefined
    const limit = rateLimits[name]
    const key = `${name}:${subject}`
    while (!usableBatch(key)) {
      // Concurrent requests for the same bucket share one refill. Each refill serves at least one of them, so the loop
      // ends when all of them have a token or the bucket is empty.
      let refill = pending.get(key)
      if (!refill) {
        refill = refillBatch(key, limit).finally(() => pending.delete(key))
        pending.set(key, refill)
      }
      await refill
      if (!usableBatch(key) && (batches.get(key)?.sharedTokens ?? 0) < 1) break
    }
    const batch = usableBatch(key)
    if (!batch) return deniedDecision(name, limit, batches.get(key)?.sharedTokens ?? 0)
    batch.localTokens -= 1
    const left = Math.max(0, Math.floor(batch.localTokens + batch.sharedTokens))
    const reset = Math.max(1, Math.ceil(((limit.quota - left) * limit.window) / limit.quota))
    return { allowed: true, limit: name, ...limit, remaining: left, reset }
  }

  function peek(name: RateLimitName, subject: string): RateLimitDecision | undefined {
    const key = `${name}:${subject}`
    const batch = rateLimits === 'off' ? undefined : batches.get(key)
    if (rateLimits === 'off' || !batch || usableBatch(key)) return undefined
    const limit = rateLimits[name]
    const refilled = (Math.max(0, now() - batch.takenAt) * limit.quota) / (limit.window * SECOND)
    return batch.sharedTokens + refilled >= 1 ? undefined : deniedDecision(name, limit, batch.sharedTokens + refilled)
  }

  return { close: buckets.close, consume, peek, tryCredential: createFailureLimiter({ consume, peek }) }
}

/** @param tokens the tokens that are left in the bucket: a fraction, less than one */
const deniedDecision = (limit: RateLimitName, { quota, window }: RateLimit, tokens: number): RateLimitDecision => ({
  allowed: false,
  limit,
  quota,
  window,
  remaining: 0,
  reset: Math.max(1, Math.ceil(((1 - Math.max(0, tokens)) * window) / quota)),
})
