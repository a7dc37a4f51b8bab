/**
 * The token buckets of rate limits in Redis or Valkey (REDIS_URL): the same as in PostgreSQL, one script for each portion.
 * While it does not answer, the buckets of PostgreSQL count instead, so that its end is nobody's outage.
 */
import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Config } from '../config.js'
import { SECOND } from '../kernel/time.js'
import { onFirstUse } from './first-use.js'
import type { Log } from './log.js'
import { type Buckets, PORTIONS } from './rate-limit.js'
import { sha256 } from './secrets.js'

/** A request waits for it: then PostgreSQL is asked (milliseconds). */
const ANSWER_TIMEOUT = SECOND / 2
const CONNECT_TIMEOUT = 2 * SECOND
const LONGEST_PAUSE = 5 * SECOND
/** Who did not answer is left alone for as long: else each request would wait for it anew. */
const REST = 2 * SECOND

// ARGV: quota, largest portion, now (ms), tokens per millisecond. Numbers go back as text, which keeps their fractions.
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
if tokens >= 1 then taken = math.min(largest, math.max(1, math.floor(tokens / ${PORTIONS}))) end
tokens = tokens - taken
redis.call('HSET', KEYS[1], 'tokens', string.format('%.17g', tokens), 'at', string.format('%.0f', at))
redis.call('PEXPIRE', KEYS[1], math.ceil(quota / rate) + 1000)
return {string.format('%.17g', tokens), taken}`
const digest = createHash('sha1').update(script).digest('hex')

/**
 * Connects when the first portion is taken. Other deployments may use the same Redis: the keys of each carry its address.
 * @param otherwise counts while there is no answer
 */
export function redisBuckets(url: string, { baseUrl }: Config, log: Log, otherwise: Buckets): Buckets {
  const prefix = `gatehouse:${sha256(baseUrl).slice(0, 16)}:limit`
  let isAway = false
  let restsUntil = 0
  const away = (error: unknown): void => {
    if (!isAway) log.warn({ err: error }, 'Redis does not answer: rate limits are counted in PostgreSQL meanwhile')
    isAway = true
    restsUntil = performance.now() + REST
  }
  const redis = onFirstUse(
    () => connect(url, away),
    (open) => open.disconnect(),
  )
  return {
    async take(key, { quota, largest, now, rate }) {
      if (performance.now() < restsUntil) return otherwise.take(key, { quota, largest, now, rate })
      const values = [1, `${prefix}:${key}`, quota, largest, now, rate] as const
      try {
        const client = await redis.get()
        const answer = await client.evalsha(digest, ...values).catch((error: Error) => {
          if (!error.message.startsWith('NOSCRIPT')) throw error
          return client.eval(script, ...values)
        })
        const [tokens, taken] = answer as [string, number]
        if (isAway) log.info('Redis answers again and counts rate limits')
        isAway = false
        return { tokens: Number(tokens), taken }
      } catch (error) {
        away(error)
        return otherwise.take(key, { quota, largest, now, rate })
      }
    },
    close: redis.close,
  }
}

/** Does it answer? For the doctor. @throws Error */
export async function pingRedis(url: string): Promise<void> {
  const redis = await connect(url, () => {})
  try {
    await redis.ping()
  } finally {
    redis.disconnect()
  }
}

/**
 * What is asked before the first connection stands waits for it; later, nothing waits for one. Its library is loaded
 * here, for most deployments never need it.
 */
async function connect(url: string, failed: (error: unknown) => void): Promise<Redis> {
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, {
    connectTimeout: CONNECT_TIMEOUT,
    commandTimeout: ANSWER_TIMEOUT,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: (times) => Math.min(100 * 2 ** times, LONGEST_PAUSE),
  })
  redis.once('ready', () => {
    redis.options.enableOfflineQueue = false
  })
  return redis.on('error', failed)
}
