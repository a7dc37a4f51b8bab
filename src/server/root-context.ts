/** This module is separate from app.ts, so that short commands do not load the servers. */
import './event-targets.js'
import type { Config } from '../config.js'
import { limits } from '../kernel/limits.js'
import { type Clock, systemClock } from '../kernel/time.js'
import type { Gatehouse } from '../platform/context.js'
import { createEncryptor, loadSecretKeys } from '../platform/crypto/secrets.js'
import { createPostgresBuckets, createRateLimiter } from '../platform/http/rate-limit.js'
import { createRedisBuckets } from '../platform/http/redis-buckets.js'
import { type Log, openLog } from '../platform/log.js'
import { createMailer } from '../platform/mail/transport.js'
import { createMetrics } from '../platform/metrics.js'
import { openOutbound } from '../platform/outbound/outbound.js'
import { openDatabase } from '../platform/postgres/database.js'
import { prices } from '../resources/payments/prices.js'

/**
 * Creates the services of the process, such as the database pool, log and mailer. The caller closes them.
 * @param databaseUrl the address of a database to which all migrations were applied
 */
export function createGatehouse(
  config: Config,
  databaseUrl: string,
  options: { now?: Clock; log?: Log; prices?: Gatehouse['prices'] } = {},
): Gatehouse {
  const now = options.now ?? systemClock
  const encryptor = createEncryptor(loadSecretKeys(config))
  // The application name of the connections contains the IDs of the first encryption keys of this process, so that
  // `gatehouse secrets reencrypt` can find processes that do not have a key yet (commands/secrets.ts).
  const name = `gatehouse keys ${encryptor.keyIds.slice(0, limits.maxEncryptionKeysInConnectionName).join(',')}`
  const tools = openDatabase(databaseUrl, { name })
  const log = options.log ?? openLog(config.logLevel)
  const own = createPostgresBuckets(tools)
  const buckets = config.redisUrl === undefined ? own : createRedisBuckets(config.redisUrl, config, log, own)
  return {
    config,
    now,
    database: tools,
    log,
    metrics: createMetrics(),
    encryptor,
    rateLimiter: createRateLimiter(config.rateLimits, buckets, now),
    outbound: openOutbound({ allowPrivate: config.allowPrivateNetworks }),
    mailer: createMailer(config, now),
    prices: options.prices ?? prices,
  }
}
