/** Every periodic job: its name, how often (milliseconds), and what it does. One process runs each at a time. */
import { purgeConsoleSessions } from './console-host/sessions.js'
import { HOUR, MINUTE } from './kernel/time.js'
import type { Context } from './platform/context.js'
import type { PeriodicJob } from './platform/jobs.js'
import { purgeFailedJobs } from './platform/queue.js'
import { sweep } from './platform/sweep.js'
import { purgeChallenges } from './resources/agents/challenges.js'
import { purgeClients } from './resources/clients/purge.js'
import { purgeEnrollments } from './resources/credentials/enrollments.js'
import { countEvents } from './resources/events/counting.js'
import { keepEventPartitions } from './resources/events/partitions.js'
import { removeOldKeys, rotateDueKeys } from './resources/issuers/key-rotation.js'
import { refillSpareKeys } from './resources/issuers/signing-keys.js'
import { purgeApiKeys, purgePersonalTokens } from './resources/keys/purge.js'
import { purgeDeletedUsers, purgeInvitations } from './resources/organizations/departures.js'
import { expireSessions } from './resources/sessions/expiry.js'
import { purgeExpired } from './resources/sessions/purge.js'
import { cancelDeliveries } from './resources/webhooks/cancelling.js'
import { purgeDeliveries, purgeWebhooks } from './resources/webhooks/purge.js'

export const schedule: readonly PeriodicJob[] = [
  { name: 'refill-spare-keys', every: MINUTE, run: (context) => refillSpareKeys(context) },
  { name: 'count-events', every: MINUTE, run: countEvents },
  { name: 'event-partitions', every: HOUR, run: keepEventPartitions },
  { name: 'rotate-keys', every: 5 * MINUTE, run: rotateDueKeys },
  { name: 'remove-old-keys', every: HOUR, run: removeOldKeys },
  { name: 'expire-sessions', every: MINUTE, run: expireSessions },
  { name: 'purge-expired', every: 5 * MINUTE, run: purgeExpired },
  { name: 'purge-console-sessions', every: 10 * MINUTE, run: purgeConsoleSessions },
  { name: 'purge-enrollments', every: 5 * MINUTE, run: purgeEnrollments },
  { name: 'purge-challenges', every: 5 * MINUTE, run: purgeChallenges },
  { name: 'purge-users', every: 10 * MINUTE, run: purgeDeletedUsers },
  { name: 'purge-personal-tokens', every: HOUR, run: purgePersonalTokens },
  { name: 'purge-api-keys', every: HOUR, run: purgeApiKeys },
  { name: 'purge-clients', every: HOUR, run: purgeClients },
  { name: 'purge-invitations', every: HOUR, run: purgeInvitations },
  { name: 'cancel-deliveries', every: MINUTE, run: cancelDeliveries },
  { name: 'purge-deliveries', every: 10 * MINUTE, run: purgeDeliveries },
  { name: 'purge-webhooks', every: HOUR, run: purgeWebhooks },
  { name: 'purge-failed-jobs', every: HOUR, run: purgeFailedJobs },
  { name: 'purge-idempotency', every: 10 * MINUTE, run: purgeIdempotency },
  { name: 'purge-rate-limits', every: 10 * MINUTE, run: purgeRateLimits },
]

/** Answers kept for repeated POSTs leave after their 24 hours. */
async function purgeIdempotency(context: Context): Promise<void> {
  await sweep(context, 'idempotent_requests', 'expires_at < $1::bigint', context.now())
}

/** A bucket that nobody has touched for two hours is full again, whatever its limit. */
async function purgeRateLimits(context: Context): Promise<void> {
  await sweep(context, 'rate_limits', 'updated_at < $1::bigint', context.now() - 2 * HOUR)
}
