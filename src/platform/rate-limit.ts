/**
 * Token buckets (decisions D19), shared by all processes through one row each in PostgreSQL, or in Redis where there is
 * one (redis-buckets.ts). A process takes tokens in small portions and spends them from memory: a full bucket costs one
 * question per portion, a nearly empty one is counted token by token, so that the limit holds exactly where it matters.
 */
import { LRUCache } from 'lru-cache'
import type { Limit, LimitName, RateLimits } from '../config.js'
import { type Clock, SECOND } from '../kernel/time.js'
import type { Tools } from './database.js'
import { type Attempt, failureLimit } from './failure-limit.js'

/** What a limited answer tells its caller. `reset` is in seconds; when refused it is the time to wait. */
export interface Verdict {
  allowed: boolean
  limit: LimitName
  quota: number
  window: number
  remaining: number
  reset: number
}

export interface RateLimiter {
  /** Spends one token of the bucket `key` under a named limit; undefined when limits are off. */
  spend(limit: LimitName, key: string): Promise<Verdict | undefined>
  /** A refusal, if this process knows the bucket to be empty; spends nothing and asks nobody. */
  peek(limit: LimitName, key: string): Verdict | undefined
  /** Decides whether a credential may be tried, and counts it if it fails (failure-limit.ts). */
  attempt: Attempt
  close(): Promise<void>
}

/** Where all processes take from. */
export interface Buckets {
  /**
   * Refills by the time passed, then takes a portion that shrinks with what is left.
   * @param asked `now` in Unix milliseconds, `rate` in tokens per millisecond
   */
  take(
    key: string,
    asked: { quota: number; largest: number; now: number; rate: number },
  ): Promise<{ tokens: number; taken: number }>
  close(): Promise<void>
}

interface Portion {
  local: number
  shared: number
  /** When it was taken, in Unix milliseconds. */
  at: number
}

/** A portion that nobody spends is given up after this time (milliseconds), so that idle processes hoard nothing. */
const PORTION_LIFE = 5 * SECOND
/** A full bucket is emptied in about this many portions. */
export const PORTIONS = 25

// $1 key, $2 quota, $3 largest portion, $4 now (ms), $5 tokens per millisecond
const refilled = 'least($2::float8, bucket.tokens + greatest($4::bigint - bucket.updated_at, 0) * $5::float8)'
const portion = `CASE WHEN ${refilled} >= 1 THEN least($3::float8, greatest(1, floor(${refilled} / ${PORTIONS}))) ELSE 0 END`
const takeText = `
  INSERT INTO rate_limits AS bucket (key, tokens, taken, updated_at) VALUES ($1, $2::float8 - $3::float8, $3::float8, $4::bigint)
  ON CONFLICT (key) DO UPDATE SET tokens = ${refilled} - (${portion}), taken = ${portion},
    updated_at = greatest($4::bigint, bucket.updated_at)
  RETURNING tokens, taken`

/** One row each, one statement for each portion. */
export const postgresBuckets = (tools: Tools): Buckets => ({
  async take(key, { quota, largest, now, rate }) {
    const values = [key, quota, largest, now, rate]
    const [row] = await tools.query<{ tokens: number; taken: number }>('rate-limit-take', takeText, values)
    return row!
  },
  close: async () => {},
})

/** Makes the limiter of one process. */
export function makeRateLimiter(limits: RateLimits, buckets: Buckets, now: Clock): RateLimiter {
  const portions = new LRUCache<string, Portion>({ max: 50_000 })
  const pending = new Map<string, Promise<void>>()

  async function take(key: string, { quota, window }: Limit): Promise<void> {
    const largest = Math.max(1, Math.floor(quota / PORTIONS))
    const rate = quota / (window * SECOND)
    const { tokens, taken } = await buckets.take(key, { quota, largest, now: now(), rate })
    portions.set(key, { local: taken, shared: tokens, at: now() })
  }

  const usable = (key: string): Portion | undefined => {
    const portion = portions.get(key)
    return portion && portion.local >= 1 && portion.at + PORTION_LIFE > now() ? portion : undefined
  }

  async function spend(name: LimitName, subject: string): Promise<Verdict | undefined> {
    if (limits === 'off') return undefined
    const limit = limits[name]
    const key = `${name}:${subject}`
    while (!usable(key)) {
      // Requests that find the portion spent at the same moment share one refill. Each is enough for one of them at least,
      // so this ends: all are served, or the bucket is empty.
      let refill = pending.get(key)
      if (!refill) {
        refill = take(key, limit).finally(() => pending.delete(key))
        pending.set(key, refill)
      }
      await refill
      if (!usable(key) && (portions.get(key)?.shared ?? 0) < 1) break
    }
    const portion = usable(key)
    if (!portion) return refusal(name, limit, portions.get(key)?.shared ?? 0)
    portion.local -= 1
    const left = Math.max(0, Math.floor(portion.local + portion.shared))
    const reset = Math.max(1, Math.ceil(((limit.quota - left) * limit.window) / limit.quota))
    return { allowed: true, limit: name, ...limit, remaining: left, reset }
  }

  function peek(name: LimitName, subject: string): Verdict | undefined {
    const key = `${name}:${subject}`
    const portion = limits === 'off' ? undefined : portions.get(key)
    if (limits === 'off' || !portion || usable(key)) return undefined
    const limit = limits[name]
    const refilled = (Math.max(0, now() - portion.at) * limit.quota) / (limit.window * SECOND)
    return portion.shared + refilled >= 1 ? undefined : refusal(name, limit, portion.shared + refilled)
  }

  return { close: buckets.close, spend, peek, attempt: failureLimit({ spend, peek }) }
}

/** @param tokens what the bucket has: less than one */
const refusal = (limit: LimitName, { quota, window }: Limit, tokens: number): Verdict => ({
  allowed: false,
  limit,
  quota,
  window,
  remaining: 0,
  reset: Math.max(1, Math.ceil(((1 - Math.max(0, tokens)) * window) / quota)),
})

/** The headers of a limited answer: the IETF draft's pair and the older trio; Retry-After on a refusal. */
export function rateLimitHeaders(verdict: Verdict): Record<string, string> {
  const { quota, window, remaining, reset } = verdict
  return {
    'RateLimit-Policy': `"default";q=${quota};w=${window}`,
    RateLimit: `"default";r=${remaining};t=${reset}`,
    'X-RateLimit-Limit': String(quota),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(reset),
    ...(verdict.allowed ? {} : { 'Retry-After': String(reset) }),
  }
}
