/**
 * SQL statements of webhook delivery. The deliveries of a webhook form a queue, which one worker leases at a time
 * (platform/jobs/lease.ts). `recordResults` renews the lease, and during the lease no other worker sends for the
 * webhook. Therefore a single process counts failures for the circuit breaker, and the number of concurrent requests to
 * a receiver is limited. If a worker crashes, its deliveries keep the status `delivering`. When the lease has expired,
 * the next worker recognizes them by this status. Deliveries are claimed and finished in batches.
 */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { leaseSql, logTakeover, newLeaseOwner } from '../../platform/jobs/lease.js'
import type { Event } from '../../platform/postgres/database.js'
import type { AttemptResult, DueDelivery } from './delivery-attempt.js'
import { toEventRecord } from './payload.js'
import { dayOf } from './webhooks.js'

/** A queue that this process has leased. */
export interface DeliveryQueue {
  webhookId: string
  accountId: string
  leaseOwner: string
}

/** The state of a leased queue. */
export interface DeliveryLease {
  url: string
  /** The encrypted secrets of the webhook (secrets.ts). */
  secrets: string
  status: string
  /** Number of failed attempts since the last success. */
  consecutiveFailures: number
  /** Until when the circuit breaker blocks attempts (Unix milliseconds); 0 while the breaker is closed. */
  breakerOpenUntil: number
  /** For how long the circuit breaker blocks attempts each time (milliseconds); 0 while the breaker is closed. */
  breakerOpenMs: number
}

const queueLease = leaseSql({ duration: limits.webhookLeaseDuration })
const activeWebhookSql = `w.status IN ('active', 'failing')`

const leaseQueuesText = `
  WITH free AS (
    SELECT q.webhook_id, q.lease_owner FROM webhook_delivery_queues q JOIN webhooks w ON w.id = q.webhook_id
    WHERE (q.account_id = ANY ($3::text[]) OR q.webhook_id = ANY ($4::text[])) AND ${activeWebhookSql}
      AND ${queueLease.isFree('$2')} AND q.breaker_open_until <= $2::bigint AND EXISTS (
        SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = q.webhook_id AND d.next_attempt_at <= $2::bigint)
    LIMIT ${limits.webhookQueuesPerLease} FOR UPDATE OF q SKIP LOCKED)
  UPDATE webhook_delivery_queues q SET ${queueLease.take('$1', '$2')} FROM free
  WHERE q.webhook_id = free.webhook_id
  RETURNING q.webhook_id AS "webhookId", q.account_id AS "accountId", q.lease_owner AS "leaseOwner",
    free.lease_owner AS "previousOwner"`

/**
 * Ends the attempts of a worker that crashed or lost its lease. Their requests may have reached the receiver, so they
 * count as failed attempts; the deliveries are retried.
 */
const failAbandonedText = `
  UPDATE webhook_deliveries SET status = 'failing', attempt_count = attempt_count + 1, updated_at = $2::bigint,
    first_attempt_at = coalesce(first_attempt_at, $2::bigint), last_attempt_at = $2::bigint,
    last_error = 'The process stopped or lost its database connection before it recorded the response.'
  WHERE webhook_id = ANY ($1::text[]) AND next_attempt_at <= $2::bigint AND status = 'delivering'`

/**
 * Leases free queues of these accounts and webhooks, and returns them: at most `webhookQueuesPerLease` queues that have
 * a due delivery, a webhook that is `active` or `failing`, and no open circuit breaker.
 */
export async function leaseQueues(
  context: Context,
  { accounts = [], webhooks = [] }: { accounts?: readonly string[]; webhooks?: readonly string[] },
): Promise<DeliveryQueue[]> {
  const { database, now, log } = context
  const values = [newLeaseOwner(), now(), accounts, webhooks]
  const rows = await database.query<DeliveryQueue & { previousOwner: string | null }>(
    'webhooks-lease',
    leaseQueuesText,
    values,
  )
  for (const { webhookId, previousOwner } of rows) logTakeover(log, previousOwner, { webhook: webhookId })
  const abandoned = rows.filter(({ previousOwner }) => previousOwner !== null).map(({ webhookId }) => webhookId)
  if (abandoned.length > 0) await database.query('webhooks-fail-abandoned', failAbandonedText, [abandoned, now()])
  return rows
}

/**
 * SQL: the common table expression `waiting`, which has the next delivery of each webhook. It needs one index lookup
 * per webhook, regardless of the number of deliveries.
 */
export const waitingWebhooksCte = `
  WITH RECURSIVE waiting AS (
    (SELECT webhook_id, next_attempt_at FROM webhook_deliveries WHERE next_attempt_at IS NOT NULL
      ORDER BY webhook_id, next_attempt_at LIMIT 1)
    UNION ALL
    SELECT following.* FROM waiting CROSS JOIN LATERAL (
      SELECT d.webhook_id, d.next_attempt_at FROM webhook_deliveries d
      WHERE d.next_attempt_at IS NOT NULL AND d.webhook_id > waiting.webhook_id
      ORDER BY d.webhook_id, d.next_attempt_at LIMIT 1) following)`
const waitingQueuesText = `${waitingWebhooksCte}
  SELECT w.id AS "webhookId", greatest(waiting.next_attempt_at, q.breaker_open_until, q.lease_expires_at) AS at
  FROM waiting JOIN webhooks w ON w.id = waiting.webhook_id AND ${activeWebhookSql} JOIN webhook_delivery_queues q ON q.webhook_id = w.id
  WHERE w.id <> ALL ($1::text[]) ORDER BY 2 LIMIT 1000`

/**
 * Returns the `active` and `failing` webhooks that have waiting deliveries, sorted by `at`, the earliest time of the
 * next attempt (Unix milliseconds). At most 1000.
 * @param excludedIds webhooks with a running delivery loop in this process. Other leased webhooks are included, because
 *   the loop that leased them may have failed.
 */
export const waitingQueues = (context: Context, excludedIds: readonly string[]) =>
  context.database.query<{ webhookId: string; at: number }>('webhooks-due', waitingQueuesText, [excludedIds])

/** @param leaseAssignments renews or releases the lease */
const recordResultsText = (leaseAssignments: string) => `
  WITH before AS (
    SELECT *, CASE WHEN $5::int > 0 THEN $4::int ELSE consecutive_failures + $4::int END AS count
    FROM webhook_delivery_queues WHERE webhook_id = $1 AND ${queueLease.isMine('$2')} FOR UPDATE
  ), judged AS (
    SELECT *, $4::int > 0 AND count >= ${limits.webhookBreakerThreshold} AND breaker_open_until <= $3::bigint AS opens,
      $5::int > 0 AND count < ${limits.webhookBreakerThreshold} AS closes,
      CASE WHEN breaker_open_ms = 0 OR $5::int > 0 THEN ${limits.webhookBreakerInitialWindow} ELSE least(breaker_open_ms * 2, ${limits.webhookBreakerMaxWindow}) END AS pause
    FROM before
  ), queue AS (
    UPDATE webhook_delivery_queues q SET consecutive_failures = j.count,
      ${leaseAssignments},
      breaker_open_ms = CASE WHEN j.opens THEN j.pause WHEN j.closes THEN 0 ELSE q.breaker_open_ms END,
      breaker_open_until = CASE WHEN j.opens THEN $3::bigint + j.pause WHEN j.closes THEN 0 ELSE q.breaker_open_until END,
      last_delivery_at = coalesce($7::bigint, q.last_delivery_at)
    FROM judged j WHERE q.webhook_id = j.webhook_id
    RETURNING q.webhook_id, q.consecutive_failures, q.breaker_open_until, q.breaker_open_ms
  ), done AS (
    UPDATE webhook_deliveries d SET status = r.status, attempt_count = d.attempt_count + 1,
      last_response_status = r.response, last_error = r.error, first_attempt_at = coalesce(d.first_attempt_at, r.at),
      last_attempt_at = r.at, next_attempt_at = r.next, updated_at = greatest($3::bigint, d.updated_at + 1)
    FROM queue, unnest($9::text[], $10::text[], $11::int[], $12::text[], $13::bigint[], $14::bigint[])
      AS r(id, status, response, error, at, next)
    WHERE d.id = r.id AND d.status = 'delivering'
  ), counted AS (
    INSERT INTO webhook_daily_counts AS counts (webhook_id, day, succeeded, failed)
    SELECT webhook_id, $8::int, $5::int, $6::int FROM queue WHERE $5::int + $6::int > 0
    ON CONFLICT (webhook_id, day) DO UPDATE
    SET succeeded = counts.succeeded + excluded.succeeded, failed = counts.failed + excluded.failed)
  SELECT w.url, w.secrets, w.status, queue.consecutive_failures AS "consecutiveFailures", queue.breaker_open_until AS "breakerOpenUntil", queue.breaker_open_ms AS "breakerOpenMs"
  FROM queue JOIN webhooks w ON w.id = queue.webhook_id`
const recordAndRenewText = recordResultsText(queueLease.renew('$3'))
const recordAndReleaseText = recordResultsText(queueLease.release())

/**
 * Writes the results of attempts and renews or releases the lease.
 * @param results in the order in which the responses arrived, which determines the number of consecutive failures
 * @returns the new state of the queue; undefined if another worker has leased it in the meantime, so that nothing was
 *   written
 */
export async function recordResults(
  context: Context,
  { webhookId, leaseOwner }: DeliveryQueue,
  results: readonly AttemptResult[],
  releaseLease: boolean,
): Promise<DeliveryLease | undefined> {
  const now = context.now()
  const last = results.findLastIndex(({ status }) => status === 'delivered')
  const accepted = results.filter(({ status }) => status === 'delivered').length
  const column = <K extends keyof AttemptResult>(key: K) => results.map((result) => result[key])
  const [lease] = await context.database.query<DeliveryLease & Record<string, unknown>>(
    releaseLease ? 'webhooks-record-and-release' : 'webhooks-record-and-renew',
    releaseLease ? recordAndReleaseText : recordAndRenewText,
    [
      webhookId,
      leaseOwner,
      now,
      results.length - 1 - last,
      accepted,
      results.length - accepted,
      results[last]?.at ?? null,
      dayOf(now),
      column('id'),
      column('status'),
      column('response'),
      column('error'),
      column('at'),
      column('next'),
    ],
  )
  return lease
}

const claimDueText = `
  WITH due AS (
    SELECT id FROM webhook_deliveries
    WHERE webhook_id = $1 AND next_attempt_at <= $2::bigint AND status IN ('pending', 'failing')
    ORDER BY next_attempt_at LIMIT $3
  ), taken AS (
    UPDATE webhook_deliveries d SET status = 'delivering', updated_at = greatest($2::bigint, d.updated_at + 1)
    FROM due WHERE d.id = due.id
    RETURNING d.id, d.account_id, d.event_id, d.event_at, d.attempt_count, d.test_event, d.next_attempt_at)
  SELECT t.id AS "deliveryId", t.event_id AS "eventId", t.attempt_count AS "attemptCount", t.test_event AS "testEvent",
    e.id, e.type, e.created_at AS "createdAt", e.account_id AS "accountId", e.issuer_id AS "issuerId",
    e.org_id AS "orgId", e.user_id AS "userId", e.client_id AS "clientId", e.agent_id AS "agentId",
    e.session_id AS "sessionId", e.auth_type AS "authType", e.actor, e.target, e.context, e.data, e.changes
  FROM taken t LEFT JOIN events e ON e.account_id = t.account_id AND e.id = t.event_id AND e.created_at = t.event_at
  ORDER BY t.next_attempt_at`

type ClaimedDelivery = Event & {
  deliveryId: string
  eventId: string
  attemptCount: number
  testEvent: Record<string, unknown> | null
} & Record<string, unknown>

/** Claims at most `count` due deliveries of a leased queue and returns them in the order of their due times. */
export async function claimDueDeliveries(
  context: Context,
  { webhookId }: DeliveryQueue,
  count: number,
): Promise<DueDelivery[]> {
  const rows = await context.database.query<ClaimedDelivery>('webhooks-claim', claimDueText, [
    webhookId,
    context.now(),
    count,
  ])
  return rows.map(({ deliveryId, eventId, attemptCount, testEvent, ...event }) => ({
    id: deliveryId,
    eventId,
    attemptCount,
    record: testEvent ?? (event.id === null ? null : toEventRecord(event)),
  }))
}

const releaseDeliveriesText = `
  UPDATE webhook_deliveries SET status = CASE WHEN attempt_count = 0 THEN 'pending' ELSE 'failing' END
  WHERE id = ANY ($1::text[]) AND status = 'delivering'`

/** Releases claimed deliveries for which no attempt was started. */
export async function releaseDeliveries(context: Context, deliveries: readonly DueDelivery[]): Promise<void> {
  if (deliveries.length > 0)
    await context.database.query('webhooks-release', releaseDeliveriesText, [deliveries.map(({ id }) => id)])
}
