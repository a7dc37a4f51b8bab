/**
 * Streams events in commit order (column `commit_position`, docs/decisions/0025), starting now or after a given event.
 * Subscribers read all events from the table `events`; a notification only starts the next poll early. One poller per
 * process serves all subscribers.
 */
import { invalidField } from '../../kernel/errors.js'
import { idTimestamp, isId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import type { Context, ResponseStream } from '../../platform/context.js'
import type { DatabaseHandle, Event } from '../../platform/postgres/database.js'
import { listen } from '../../platform/postgres/notifications.js'
import { type InAccount, requireAccount } from '../resource-path.js'
import type { EventFilter } from './event.js'
import { addFilterConditions, checkEventTypes, eventColumns, SqlConditions } from './event-list.js'

/**
 * The place of a subscriber in the order of (commit position, id). The next event of the subscriber has a larger pair.
 */
interface StreamPosition {
  commitPosition: number
  /** Id of the last event received at `commitPosition`; empty if none was received. */
  id: string
  /**
   * The PostgreSQL snapshot (pg_snapshot) at the start of a stream without `after`. Events that are visible in the
   * snapshot are older than the stream and are skipped.
   */
  known?: string
}

/**
 * Yields each matching event of an account once, as soon as no running transaction can commit an event with a lower
 * commit position. If the event `after` is above the commit horizon, events up to it can be repeated.
 * @param stream `stream.signal` ends the stream; `stream.requireStillAuthorized` runs before events are delivered, and
 *   every few seconds while there are no events
 * @param after id of the event after which the stream starts; if it is absent, the stream starts with the next commit
 * @throws invalid_request for an unknown event type, an empty list of event types or an unknown event, not_found for
 *   the account; while streaming, the error of `requireStillAuthorized`
 */
export async function streamEvents(
  context: Context,
  { accountId }: InAccount,
  filter: EventFilter,
  stream: ResponseStream,
  after: string | null | undefined,
): Promise<AsyncGenerator<Event>> {
  checkEventTypes(filter.eventTypes)
  await requireAccount(context, { accountId })
  const subscriber = addSubscriber(context, accountId, stream.signal)
  return generateEvents(
    context,
    filter,
    stream,
    subscriber,
    await initialPosition(context, accountId, after, subscriber),
  )
}

async function* generateEvents(
  context: Context,
  filter: EventFilter,
  { signal, requireStillAuthorized }: ResponseStream,
  subscriber: EventSubscriber,
  from: StreamPosition,
): AsyncGenerator<Event> {
  let position = from
  while (!signal.aborted) {
    const { horizon } = subscriber
    const rows = await readEvents(context, subscriber.accountId, filter, position, horizon)
    if (rows.length > 0) await requireStillAuthorized()
    for (const { commitPosition, ...event } of rows) {
      yield event as Event
      position = { ...position, commitPosition, id: event.id }
    }
    if (rows.length === limits.eventStreamPageSize) continue
    position = { ...position, commitPosition: Math.max(horizon, position.commitPosition), id: '' }
    if (!(await subscriber.waitForEvents()) && !signal.aborted) await requireStillAuthorized()
  }
}

async function initialPosition(
  context: Context,
  accountId: string,
  after: string | null | undefined,
  subscriber: EventSubscriber,
): Promise<StreamPosition> {
  const id = isId('evt', after) ? after : null
  const text = `SELECT event_commit_horizon() AS horizon, pg_current_snapshot()::text AS known,
    (SELECT commit_position FROM events WHERE account_id = $1 AND id = $2 AND created_at = $3::bigint) AS "commitPosition"`
  const values = [accountId, id, id ? idTimestamp(id) : null]
  const [found] = await context.database.query<{ horizon: number; known: string; commitPosition: number | null }>(
    'event-position',
    text,
    values,
  )
  const { horizon, known, commitPosition } = found!
  subscriber.advance(horizon)
  if (after === undefined || after === null) return { commitPosition: horizon, id: '', known }
  if (commitPosition === null)
    throw invalidField('after', 'unknown_event', 'must be the id of an event within the retention period.')
  // A list shows an event as soon as it is committed, so `after` can be above the horizon. The stream then starts at
  // the horizon: it may repeat events up to `after`, but it does not miss events of transactions in progress.
  return commitPosition < horizon ? { commitPosition, id: after } : { commitPosition: horizon, id: '' }
}

async function readEvents(
  context: Context,
  accountId: string,
  filter: EventFilter,
  from: StreamPosition,
  horizon: number,
): Promise<(Event & { commitPosition: number })[]> {
  const conditions = new SqlConditions()
  const [position, id] = [conditions.value(from.commitPosition), conditions.value(from.id)]
  conditions
    .where('e.account_id = ?', accountId)
    .where(
      `(e.commit_position > ${position}::bigint OR e.id > ${id}) AND e.commit_position >= ${position}::bigint AND e.commit_position < ?::bigint`,
      horizon,
    )
  // The low 44 bits of a commit position are the transaction id; the higher bits are the generation
  // (docs/decisions/0025).
  if (from.known !== undefined)
    conditions.where(
      'NOT pg_visible_in_snapshot((e.commit_position & ((1::bigint << 44) - 1))::text::xid8, ?::pg_snapshot)',
      from.known,
    )
  const text = `SELECT ${eventColumns}, e.commit_position AS "commitPosition" FROM events e WHERE ${addFilterConditions(conditions, filter).text}
    ORDER BY e.commit_position, e.id LIMIT ${limits.eventStreamPageSize}`
  return context.database.query('', text, conditions.values)
}

interface EventSubscriber {
  readonly accountId: string
  /** All events with a lower commit position are committed and visible. */
  readonly horizon: number
  advance(horizon: number): void
  /** @returns true if there may be new events; false on timeout or abort */
  waitForEvents(): Promise<boolean>
}

/** The poller of this process for each database. */
const pollers = new WeakMap<DatabaseHandle, EventPoller>()

interface EventPoller {
  subscribers: Set<EventSubscriber>
  stop(): void
}

function addSubscriber(context: Context, accountId: string, signal: AbortSignal): EventSubscriber {
  const poller = pollers.get(context.database) ?? startPoller(context)
  pollers.set(context.database, poller)
  const { subscribers } = poller
  let horizon = 0
  let hasAdvanced = false
  let wake: (() => void) | undefined
  const subscriber: EventSubscriber = {
    accountId,
    get horizon() {
      return horizon
    },
    advance(to) {
      horizon = Math.max(horizon, to)
      hasAdvanced = true
      wake?.()
    },
    async waitForEvents() {
      if (!hasAdvanced && !signal.aborted) {
        await new Promise<void>((done) => {
          const timer = setTimeout(done, limits.eventStreamAuthorizationCheckInterval)
          wake = () => {
            clearTimeout(timer)
            done()
          }
          signal.addEventListener('abort', wake, { once: true })
        })
        if (wake) signal.removeEventListener('abort', wake)
        wake = undefined
      }
      const wasAdvanced = hasAdvanced
      hasAdvanced = false
      return wasAdvanced
    },
  }
  subscribers.add(subscriber)
  const removeSubscriber = (): void => {
    subscribers.delete(subscriber)
    if (subscribers.size > 0) return
    pollers.delete(context.database)
    poller.stop()
  }
  if (signal.aborted) removeSubscriber()
  else signal.addEventListener('abort', removeSubscriber, { once: true })
  return subscriber
}

/** Reads the horizon, the accounts with new events, and whether there are events at or above the horizon. */
const pollText = `
  SELECT event_commit_horizon() AS horizon, coalesce(bool_or(commit_position >= event_commit_horizon()), false) AS pending,
    coalesce(array_agg(DISTINCT account_id), '{}') AS accounts
  FROM events WHERE commit_position >= coalesce($1::bigint, event_commit_horizon())`

/** Polls for new events while there are subscribers. */
function startPoller({ database, log }: Context): EventPoller {
  const subscribers = new Set<EventSubscriber>()
  let from: number | null = null
  let isStopped = false
  let isPolling = false
  let pollAgain = false
  let retryCount = 0
  let timer: NodeJS.Timeout | undefined

  async function poll(): Promise<void> {
    pollAgain = isPolling
    if (isPolling || isStopped) return
    isPolling = true
    let delay = limits.eventStreamPollInterval
    try {
      const values = [from]
      const [row] = await database.query<{ horizon: number; pending: boolean; accounts: string[] }>(
        'poll-events',
        pollText,
        values,
      )
      const { horizon, pending, accounts } = row!
      from = horizon
      for (const subscriber of subscribers) if (accounts.includes(subscriber.accountId)) subscriber.advance(horizon)
      retryCount = pending ? retryCount + 1 : 0
      if (pending)
        delay = Math.min(limits.eventStreamPollInterval, limits.eventStreamPendingRetryDelay * 2 ** retryCount)
    } catch (error) {
      log.debug({ err: error }, 'polling for events failed; retrying')
    }
    isPolling = false
    if (!isStopped) schedulePoll(pollAgain ? 0 : delay)
  }

  function schedulePoll(delay: number): void {
    clearTimeout(timer)
    timer = setTimeout(() => void poll(), delay)
    timer.unref()
  }

  const subscription = listen(database, log, {
    onNotification: (channel) => channel === 'event' && void poll(),
    onReconnect: () => void poll(),
  })
  void poll()
  return {
    subscribers,
    stop() {
      isStopped = true
      clearTimeout(timer)
      void subscription.close()
    },
  }
}
