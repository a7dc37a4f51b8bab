/**
 * Stores the token buckets of rate limits in Redis or Valkey (REDIS_URL). Each batch of tokens needs one script call.
 * While Redis does not respond or returns errors, the buckets in PostgreSQL are used, so that requests succeed during a
 * Redis outage.
 */
import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Config } from '../../config.js'
import { limits } from '../../kernel/limits.js'
import { sha256 } from '../crypto/secrets.js'
import { lazy } from '../lazy.js'
import type { Log } from '../log.js'
import { type BucketStore } from './rate-limit.js'

// ARGV: quota, maximum batch size, now (ms), tokens per millisecond. The script returns the remaining tokens as text,
// because Redis truncates returned numbers to integers.
const script = `
local quota, largest, now, rate = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = quota, now
if bucket[1] then
  at = tonumber(bucket[2])
  tokens = math.min(quota, tonumber(bucket[1]) + math.max(now - at, 0) * rate)
  at = math.max(now, at)
end
local taken = 0
if tokens >= 1 then taken = math.min(largest, math.max(1, math.floor(tokens / ${limits.rateLimitBatchesPerBucket}))) end
tokens = tokens - taken
redis.call('HSET', KEYS[1], 'tokens', string.format('%.17g', tokens), 'at', string.format('%.0f', at))
redis.call('PEXPIRE', KEYS[1], math.ceil(quota / rate) + 1000)
return {string.format('%.17g', tokens), taken}`
const digest = createHash('sha1').update(script).digest('hex')

/**
 * Creates the bucket store. It connects to Redis on first use. The Redis keys contain a hash of BASE_URL, because
 * several deployments may share one Redis.
 * @param fallback the bucket store that is used while Redis does not respond
 */
export function createRedisBuckets(url: string, { baseUrl }: Config, log: Log, fallback: BucketStore): BucketStore {
  const prefix = `gatehouse:${sha256(baseUrl).slice(0, 16)}:limit`
  let isUnavailable = false
  let pausedUntil = 0
  const onUnavailable = (error: unknown): void => {
    if (!isUnavailable) log.warn({ err: error }, 'Redis is unavailable; rate limits are counted in PostgreSQL')
    isUnavailable = true
    pausedUntil = performance.now() + limits.redisFailurePause
  }
  const redis = lazy(
    'connection to Redis',
    () => connect(url, onUnavailable),
    (open) => open.disconnect(),
  )
  return {
    async takeTokens(key, { quota, maxBatch, now, rate }) {
      if (performance.now() < pausedUntil) return fallback.takeTokens(key, { quota, maxBatch, now, rate })
      const values = [1, `${prefix}:${key}`, quota, maxBatch, now, rate] as const
      try {
        const client = await redis.get()
        const answer = await client.evalsha(digest, ...values).catch((error: Error) => {
          if (!error.message.startsWith('NOSCRIPT')) throw error
          return client.eval(script, ...values)
        })
        const [tokens, taken] = answer as [string, number]
        if (isUnavailable) log.info('Redis is available again; rate limits are counted in Redis')
        isUnavailable = false
        return { tokens: Number(tokens), taken }
      } catch (error) {
        onUnavailable(error)
        return fallback.takeTokens(key, { quota, maxBatch, now, rate })
      }
    },
    close: redis.close,
  }
}

/**
 * Sends PING to Redis, for `gatehouse doctor`.
 * @throws Error when Redis does not respond
 */
export async function pingRedis(url: string): Promise<void> {
  const redis = await connect(url, () => {})
  try {
    await redis.ping()
  } finally {
    redis.disconnect()
  }
}

/**
 * Opens the connection. Commands wait for the first connection; after that, commands fail immediately while Redis is
 * disconnected. Imports ioredis here, because most deployments do not use it.
 */
async function connect(url: string, onError: (error: unknown) => void): Promise<Redis> {
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, {
    connectTimeout: limits.redisConnectTimeout,
    commandTimeout: limits.redisCommandTimeout,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: (times) => Math.min(100 * 2 ** times, limits.maxRedisReconnectDelay),
  })
  redis.once('ready', () => {
    redis.options.enableOfflineQueue = false
  })
  return redis.on('error', onError)
}
