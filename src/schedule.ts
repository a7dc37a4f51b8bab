/** The periodic jobs and the types of queued jobs. `every` is the interval of a periodic job in milliseconds. */
import { purgeConsoleSessions } from './console-host/sessions.js'
import { limits } from './kernel/limits.js'
import { HOUR, MINUTE, SECOND } from './kernel/time.js'
import type { Context } from './platform/context.js'
import { deleteInBatches } from './platform/jobs/batch-delete.js'
import type { PeriodicJob } from './platform/jobs/periodic-jobs.js'
import { purgeFailedJobs, type Task } from './platform/jobs/queue.js'
import { mailTask } from './platform/mail/mail.js'
import { purgeChallenges } from './resources/agents/challenges.js'
import { purgeClients } from './resources/clients/purge.js'
import { purgeEnrollments } from './resources/credentials/enrollments.js'
import { countEvents } from './resources/events/event-counts.js'
import { maintainEventPartitions } from './resources/events/event-partitions.js'
import { removeRetiredKeys, rotateDueKeys } from './resources/issuers/key-rotation.js'
import { refillSpareKeys } from './resources/issuers/signing-keys.js'
import { purgeApiKeys, purgePersonalTokens } from './resources/keys/purge.js'
import { purgeDeletedUsers, purgeExpiredInvitations } from './resources/organizations/purge.js'
import { reconcileTopup } from './resources/payments/reconcile-topup.js'
import { purgeInitialAccessTokens } from './resources/registration/initial-access-tokens.js'
import { purgeUnusedRegistrations } from './resources/registration/purge.js'
import { backchannelLogout } from './resources/sessions/backchannel-logout.js'
import { expireSessions } from './resources/sessions/expiry.js'
import { purgeExpiredIdpData } from './resources/sessions/purge.js'
import { cancelDeliveriesOfDeletedWebhooks } from './resources/webhooks/cancellation.js'
import { purgeDeliveries, purgeWebhooks } from './resources/webhooks/purge.js'

export const schedule: readonly PeriodicJob[] = [
  { name: 'refill-signing-key-pool', every: MINUTE, run: (context) => refillSpareKeys(context) },
  { name: 'count-events', every: MINUTE, run: countEvents },
  { name: 'maintain-event-partitions', every: HOUR, run: maintainEventPartitions },
  { name: 'rotate-keys', every: 5 * MINUTE, run: rotateDueKeys },
  { name: 'remove-old-keys', every: HOUR, run: removeRetiredKeys },
  { name: 'expire-sessions', every: MINUTE, run: expireSessions },
  // Deletes expired artifacts of oidc-provider, login transactions, token revocations, counts of failed sign-ins, and
  // ended sessions.
  { name: 'purge-expired', every: 5 * MINUTE, run: purgeExpiredIdpData },
  { name: 'purge-console-sessions', every: 10 * MINUTE, run: purgeConsoleSessions },
  { name: 'purge-enrollments', every: 5 * MINUTE, run: purgeEnrollments },
  { name: 'purge-challenges', every: 5 * MINUTE, run: purgeChallenges },
  { name: 'purge-users', every: 10 * MINUTE, run: purgeDeletedUsers },
  { name: 'purge-personal-tokens', every: HOUR, run: purgePersonalTokens },
  { name: 'purge-api-keys', every: HOUR, run: purgeApiKeys },
  { name: 'purge-clients', every: HOUR, run: purgeClients },
  { name: 'purge-unused-registrations', every: HOUR, run: purgeUnusedRegistrations },
  { name: 'purge-initial-access-tokens', every: HOUR, run: purgeInitialAccessTokens },
  { name: 'purge-invitations', every: HOUR, run: purgeExpiredInvitations },
  { name: 'cancel-deliveries', every: MINUTE, run: cancelDeliveriesOfDeletedWebhooks },
  { name: 'purge-deliveries', every: 10 * MINUTE, run: purgeDeliveries },
  { name: 'purge-webhooks', every: HOUR, run: purgeWebhooks },
  { name: 'purge-failed-jobs', every: HOUR, run: purgeFailedJobs },
  { name: 'purge-idempotency', every: 10 * MINUTE, run: purgeIdempotentRequests },
  { name: 'purge-rate-limits', every: 10 * MINUTE, run: purgeRateLimits },
]

/** Deletes idempotent requests with their stored responses after their expiry (`limits.idempotencyKeyLifetime`). */
async function purgeIdempotentRequests(context: Context): Promise<void> {
  await deleteInBatches(context, 'idempotent_requests', 'expires_at < $1::bigint', context.now())
}

/**
 * Deletes rate limit buckets that were not used for `limits.rateLimitBucketRetention`, or for the longest `window` of a
 * rate limit if that is longer. A bucket without use is full after the `window` of its rate limit, like a new bucket.
 */
async function purgeRateLimits(context: Context): Promise<void> {
  const { rateLimits } = context.config
  const windows = rateLimits === 'off' ? [] : Object.values(rateLimits).map(({ window }) => window * SECOND)
  const retention = Math.max(limits.rateLimitBucketRetention, ...windows)
  await deleteInBatches(context, 'rate_limits', 'updated_at < $1::bigint', context.now() - retention)
}

/** The types of queued jobs. */
export const tasks: readonly Task[] = [mailTask, backchannelLogout, reconcileTopup]
