/**
 * The statements of sending. Each webhook is a lane of its own: one worker holds it, for the length of a lease that each
 * of its statements renews, and nobody else sends for it meanwhile. So the circuit breaker counts in one place, a
 * receiver is never called more often at once than one worker does, and what a dead worker had in hand is known: it is
 * `delivering` in a lane that somebody else takes over. Deliveries are taken and finished in portions.
 */
import { MINUTE, SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import type { Event } from '../../platform/database.js'
import type { Parcel, Result } from './attempt.js'
import { recordOf } from './payload.js'
import { dayOf } from './webhooks.js'

/** Renewed all the time, attempts under way or not; long enough for a database that is away for a while. */
export const LEASE = 20 * SECOND
/** After so many failed attempts in a row the breaker opens for a window, which doubles with each failed try after it. */
export const FAILURES_TO_OPEN = 5
const FIRST_WINDOW = MINUTE
const LONGEST_WINDOW = 15 * MINUTE
/** Lanes taken at once. */
const LANES = 64

export interface Lane {
  webhookId: string
  accountId: string
}

/** A lane in hand, as it is now. */
export interface Hold {
  url: string
  /** Sealed. */
  secrets: string
  status: string
  failures: number
  /** The breaker is open until then; `openFor` is 0 when it is closed. */
  openUntil: number
  openFor: number
}

const inForce = `w.status IN ('active', 'failing')`

const holdText = `
  WITH free AS (
    SELECT l.webhook_id, l.holder FROM webhook_lanes l JOIN webhooks w ON w.id = l.webhook_id
    WHERE (l.account_id = ANY ($3::text[]) OR l.webhook_id = ANY ($4::text[])) AND ${inForce}
      AND l.held_until <= $2::bigint AND l.open_until <= $2::bigint AND EXISTS (
        SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = l.webhook_id AND d.next_attempt_at <= $2::bigint)
    LIMIT ${LANES} FOR UPDATE OF l SKIP LOCKED)
  UPDATE webhook_lanes l SET holder = $1, held_until = $2::bigint + ${LEASE} FROM free
  WHERE l.webhook_id = free.webhook_id
  RETURNING l.webhook_id AS "webhookId", l.account_id AS "accountId", free.holder IS NOT NULL AS abandoned`

/** What a worker had in hand when it died may have arrived or not: it counts as an attempt, and is made again. */
const orphansText = `
  UPDATE webhook_deliveries SET status = 'failing', attempt_count = attempt_count + 1, updated_at = $2::bigint,
    first_attempt_at = coalesce(first_attempt_at, $2::bigint), last_attempt_at = $2::bigint,
    last_error = 'The sender ended before the answer came.'
  WHERE webhook_id = ANY ($1::text[]) AND next_attempt_at <= $2::bigint AND status = 'delivering'`

/** Takes lanes that nobody holds, where something is due, of these accounts and these webhooks. */
export async function holdLanes(
  context: Context,
  holder: string,
  { accounts = [], webhooks = [] }: { accounts?: readonly string[]; webhooks?: readonly string[] },
): Promise<Lane[]> {
  const { tools, now } = context
  const values = [holder, now(), accounts, webhooks]
  const rows = await tools.query<Lane & { abandoned: boolean }>('webhooks-hold', holdText, values)
  const abandoned = rows.filter((row) => row.abandoned).map(({ webhookId }) => webhookId)
  if (abandoned.length > 0) await tools.query('webhooks-orphans', orphansText, [abandoned, now()])
  return rows
}

/** One step of the index for each webhook that something waits for, however much that is. */
export const withWaiting = `
  WITH RECURSIVE waiting AS (
    (SELECT webhook_id, next_attempt_at FROM webhook_deliveries WHERE next_attempt_at IS NOT NULL
      ORDER BY webhook_id, next_attempt_at LIMIT 1)
    UNION ALL
    SELECT following.* FROM waiting CROSS JOIN LATERAL (
      SELECT d.webhook_id, d.next_attempt_at FROM webhook_deliveries d
      WHERE d.next_attempt_at IS NOT NULL AND d.webhook_id > waiting.webhook_id
      ORDER BY d.webhook_id, d.next_attempt_at LIMIT 1) following)`
const waitingText = `${withWaiting}
  SELECT w.id AS "webhookId", greatest(waiting.next_attempt_at, l.open_until, l.held_until) AS at
  FROM waiting JOIN webhooks w ON w.id = waiting.webhook_id AND ${inForce} JOIN webhook_lanes l ON l.webhook_id = w.id
  WHERE w.id <> ALL ($1::text[]) ORDER BY 2 LIMIT 1000`

/**
 * Webhooks that something waits for, and when each may be sent to.
 * @param but leaves out those that the caller is sending to; not all that it holds, for sending may have broken off
 */
export const waitingLanes = (context: Context, but: readonly string[]) =>
  context.tools.query<{ webhookId: string; at: number }>('webhooks-waiting', waitingText, [but])

const settleText = `
  WITH before AS (
    SELECT *, CASE WHEN $5::int > 0 THEN $4::int ELSE failures + $4::int END AS count
    FROM webhook_lanes WHERE webhook_id = $1 AND holder = $2 FOR UPDATE
  ), judged AS (
    SELECT *, $4::int > 0 AND count >= ${FAILURES_TO_OPEN} AND open_until <= $3::bigint AS opens,
      $5::int > 0 AND count < ${FAILURES_TO_OPEN} AS closes,
      CASE WHEN open_for = 0 OR $5::int > 0 THEN ${FIRST_WINDOW} ELSE least(open_for * 2, ${LONGEST_WINDOW}) END AS pause
    FROM before
  ), lane AS (
    UPDATE webhook_lanes l SET failures = j.count,
      holder = CASE WHEN $6::boolean THEN NULL ELSE l.holder END,
      held_until = CASE WHEN $6::boolean THEN 0 ELSE $3::bigint + ${LEASE} END,
      open_for = CASE WHEN j.opens THEN j.pause WHEN j.closes THEN 0 ELSE l.open_for END,
      open_until = CASE WHEN j.opens THEN $3::bigint + j.pause WHEN j.closes THEN 0 ELSE l.open_until END,
      last_delivery_at = coalesce($7::bigint, l.last_delivery_at)
    FROM judged j WHERE l.webhook_id = j.webhook_id
    RETURNING l.webhook_id, l.failures, l.open_until, l.open_for
  ), done AS (
    UPDATE webhook_deliveries d SET status = r.status, attempt_count = d.attempt_count + 1,
      last_response_status = r.response, last_error = r.error, first_attempt_at = coalesce(d.first_attempt_at, r.at),
      last_attempt_at = r.at, next_attempt_at = r.next, updated_at = greatest($3::bigint, d.updated_at + 1)
    FROM lane, unnest($9::text[], $10::text[], $11::int[], $12::text[], $13::bigint[], $14::bigint[])
      AS r(id, status, response, error, at, next)
    WHERE d.id = r.id AND d.status = 'delivering'
  ), counted AS (
    INSERT INTO webhook_days AS day (webhook_id, day, succeeded, failed)
    SELECT webhook_id, $8::int, $5::int, $15::int FROM lane WHERE $5::int + $15::int > 0
    ON CONFLICT (webhook_id, day) DO UPDATE
    SET succeeded = day.succeeded + excluded.succeeded, failed = day.failed + excluded.failed)
  SELECT w.url, w.secrets, w.status, lane.failures, lane.open_until AS "openUntil", lane.open_for AS "openFor"
  FROM lane JOIN webhooks w ON w.id = lane.webhook_id`

/**
 * Writes results, in the order in which they came, renews the lease or gives the lane back, and says how the lane is now.
 * @returns undefined when the lane is somebody else's by now; then nothing was written
 */
export async function settle(
  context: Context,
  holder: string,
  { webhookId }: Lane,
  results: readonly Result[],
  release: boolean,
): Promise<Hold | undefined> {
  const now = context.now()
  const last = results.findLastIndex(({ status }) => status === 'delivered')
  const accepted = results.filter(({ status }) => status === 'delivered').length
  const column = <K extends keyof Result>(key: K) => results.map((result) => result[key])
  const [hold] = await context.tools.query<Hold & Record<string, unknown>>('webhooks-settle', settleText, [
    webhookId,
    holder,
    now,
    results.length - 1 - last,
    accepted,
    release,
    results[last]?.at ?? null,
    dayOf(now),
    column('id'),
    column('status'),
    column('response'),
    column('error'),
    column('at'),
    column('next'),
    results.length - accepted,
  ])
  return hold
}

const takeText = `
  WITH due AS (
    SELECT id FROM webhook_deliveries
    WHERE webhook_id = $1 AND next_attempt_at <= $2::bigint AND status IN ('pending', 'failing')
    ORDER BY next_attempt_at LIMIT $3
  ), taken AS (
    UPDATE webhook_deliveries d SET status = 'delivering', updated_at = greatest($2::bigint, d.updated_at + 1)
    FROM due WHERE d.id = due.id
    RETURNING d.id, d.account_id, d.event_id, d.event_at, d.attempt_count, d.test_event, d.next_attempt_at)
  SELECT t.id AS parcel, t.event_id AS "eventId", t.attempt_count AS "attemptCount", t.test_event AS "testEvent",
    e.id, e.type, e.created_at AS "createdAt", e.account_id AS "accountId", e.issuer_id AS "issuerId",
    e.org_id AS "orgId", e.user_id AS "userId", e.client_id AS "clientId", e.agent_id AS "agentId",
    e.session_id AS "sessionId", e.auth_type AS "authType", e.actor, e.target, e.context, e.data, e.changes
  FROM taken t LEFT JOIN events e ON e.account_id = t.account_id AND e.id = t.event_id AND e.created_at = t.event_at
  ORDER BY t.next_attempt_at`

type Taken = Event & {
  parcel: string
  eventId: string
  attemptCount: number
  testEvent: Record<string, unknown> | null
} & Record<string, unknown>

/** Takes what is due in a lane that is held, the longest due first. */
export async function takeDue(context: Context, { webhookId }: Lane, count: number): Promise<Parcel[]> {
  const rows = await context.tools.query<Taken>('webhooks-take', takeText, [webhookId, context.now(), count])
  return rows.map(({ parcel, eventId, attemptCount, testEvent, ...event }) => ({
    id: parcel,
    eventId,
    attemptCount,
    record: testEvent ?? (event.id === null ? null : recordOf(event)),
  }))
}

const putBackText = `
  UPDATE webhook_deliveries SET status = CASE WHEN attempt_count = 0 THEN 'pending' ELSE 'failing' END
  WHERE id = ANY ($1::text[]) AND status = 'delivering'`

/** Gives back what was taken and not tried. */
export async function putBack(context: Context, parcels: readonly Parcel[]): Promise<void> {
  if (parcels.length > 0) await context.tools.query('webhooks-put-back', putBackText, [parcels.map(({ id }) => id)])
}
