/** The process's own tools. They stand apart from the servers, so that short commands need not load those. */
import type { Config } from './config.js'
import { type Clock, systemClock } from './kernel/time.js'
import type { Gatehouse } from './platform/context.js'
import { openDatabase } from './platform/database.js'
import { type Log, openLog } from './platform/log.js'
import { openPostman } from './platform/mail-transport.js'
import { openMetrics } from './platform/metrics.js'
import { openOutbound } from './platform/outbound.js'
import { makeRateLimiter, postgresBuckets } from './platform/rate-limit.js'
import { redisBuckets } from './platform/redis-buckets.js'
import { makeSealer, secretKeysOf } from './platform/secrets.js'
import { prices } from './resources/payments/prices.js'

/** PostgreSQL keeps 63 characters of a name. */
const KEYS_NAMED = 4

/** The process's tools on a database that is migrated already. Closing them is the caller's. */
export function makeGatehouse(
  config: Config,
  databaseUrl: string,
  options: { now?: Clock; log?: Log; prices?: Gatehouse['prices'] } = {},
): Gatehouse {
  const now = options.now ?? systemClock
  const sealer = makeSealer(secretKeysOf(config))
  // Connections say which keys their process has, so that a change of keys can be seen through (commands/secrets.ts).
  const name = `gatehouse keys ${sealer.keyIds.slice(0, KEYS_NAMED).join(',')}`
  const tools = openDatabase(databaseUrl, { name })
  const log = options.log ?? openLog(config.logLevel)
  const own = postgresBuckets(tools)
  const buckets = config.redisUrl === undefined ? own : redisBuckets(config.redisUrl, config, log, own)
  return {
    config,
    now,
    tools,
    log,
    metrics: openMetrics(),
    sealer,
    rateLimiter: makeRateLimiter(config.rateLimits, buckets, now),
    outbound: openOutbound({ allowPrivate: config.allowPrivateNetworks }),
    postman: openPostman(config, now),
    prices: options.prices ?? prices,
  }
}
