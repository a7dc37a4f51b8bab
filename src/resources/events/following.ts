/**
 * Following the trail: events in the order of their places, which is that of commits (docs/decisions/0025), from a moment or
 * an event on. The table is the truth; notices only say when to look. One look per process, however many follow.
 */
import { invalidField } from '../../kernel/errors.js'
import { isId, timeOf } from '../../kernel/ids.js'
import { SECOND } from '../../kernel/time.js'
import type { Context, Stream } from '../../platform/context.js'
import type { Event, Tools } from '../../platform/database.js'
import { listen } from '../../platform/notify.js'
import { type InAccount, requireAccount } from '../place.js'
import { Conditions, checkTypes, columns, type EventFilter, matching } from './listing.js'

/** How often is looked without a notice (milliseconds). */
const LOOK = SECOND
/** How soon again while a transaction that began before is under way, at first; each time twice as long. */
const LOOK_AGAIN = 10
/** How often a caller without news is asked for its right to listen (milliseconds). */
const CHECK = 5 * SECOND
/** Events read at once. */
const PAGE = 100

/** Where a follower stands: everything before has been given to it. */
interface Position {
  place: number
  id: string
  /** Who had committed before it began, as PostgreSQL writes a snapshot: nothing of theirs is news. */
  known?: string
}

/**
 * Gives each matching event of an account once, as soon as no transaction can commit one before it any more.
 * @param stream ends it, and is asked before it goes on
 * @param after the event after which to begin; without it, what commits from now on
 * @throws invalid_request for an unknown type or event, not_found for the account; later whatever `stillAllowed` throws
 */
export async function followEvents(
  context: Context,
  { accountId }: InAccount,
  filter: Omit<EventFilter, 'after' | 'before'>,
  stream: Stream,
  after: string | null | undefined,
): Promise<AsyncGenerator<Event>> {
  checkTypes(filter.eventTypes)
  await requireAccount(context, { accountId })
  const follower = join(context, accountId, stream.signal)
  return follow(context, filter, stream, follower, await beginning(context, accountId, after, follower))
}

async function* follow(
  context: Context,
  filter: EventFilter,
  { signal, stillAllowed }: Stream,
  follower: Follower,
  from: Position,
): AsyncGenerator<Event> {
  let position = from
  while (!signal.aborted) {
    const { horizon } = follower
    const rows = await read(context, follower.accountId, filter, position, horizon)
    if (rows.length > 0) await stillAllowed()
    for (const { place, ...event } of rows) {
      yield event as Event
      position = { ...position, place, id: event.id }
    }
    if (rows.length === PAGE) continue
    position = { ...position, place: Math.max(horizon, position.place), id: '' }
    if (!(await follower.news()) && !signal.aborted) await stillAllowed()
  }
}

async function beginning(
  context: Context,
  accountId: string,
  after: string | null | undefined,
  follower: Follower,
): Promise<Position> {
  const id = isId('evt', after) ? after : null
  const text = `SELECT event_horizon() AS horizon, pg_current_snapshot()::text AS known,
    (SELECT place FROM events WHERE account_id = $1 AND id = $2 AND created_at = $3::bigint) AS place`
  const values = [accountId, id, id ? timeOf(id) : null]
  const [found] = await context.tools.query<{ horizon: number; known: string; place: number | null }>(
    'event-position',
    text,
    values,
  )
  const { horizon, known, place } = found!
  follower.tell(horizon)
  if (after === undefined || after === null) return { place: horizon, id: '', known }
  if (place === null) throw invalidField('after', 'unknown_event', 'must be the id of an event that is still kept.')
  // A list shows events while others before them are still to commit: those would be missed, so some come again.
  return place < horizon ? { place, id: after } : { place: horizon, id: '' }
}

async function read(
  context: Context,
  accountId: string,
  filter: EventFilter,
  from: Position,
  horizon: number,
): Promise<(Event & { place: number })[]> {
  const conditions = new Conditions()
  const [place, id] = [conditions.value(from.place), conditions.value(from.id)]
  conditions
    .where('e.account_id = ?', accountId)
    .where(
      `(e.place > ${place}::bigint OR e.id > ${id}) AND e.place >= ${place}::bigint AND e.place < ?::bigint`,
      horizon,
    )
  // A place is a transaction's number below the number of its cluster (docs/decisions/0025).
  if (from.known !== undefined)
    conditions.where(
      'NOT pg_visible_in_snapshot((e.place & ((1::bigint << 44) - 1))::text::xid8, ?::pg_snapshot)',
      from.known,
    )
  const text = `SELECT ${columns}, e.place FROM events e WHERE ${matching(conditions, filter).text}
    ORDER BY e.place, e.id LIMIT ${PAGE}`
  return context.tools.query('', text, conditions.values)
}

interface Follower {
  readonly accountId: string
  /** All events below it can be read. */
  readonly horizon: number
  tell(horizon: number): void
  /** @returns whether there may be something to read; false after a while without, or when its signal aborts */
  news(): Promise<boolean>
}

/** Those who follow in this process, by the database that they read. */
const watches = new WeakMap<Tools, Watch>()

interface Watch {
  followers: Set<Follower>
  stop(): void
}

function join(context: Context, accountId: string, signal: AbortSignal): Follower {
  const watch = watches.get(context.tools) ?? startWatch(context)
  watches.set(context.tools, watch)
  const { followers } = watch
  let horizon = 0
  let told = false
  let wake: (() => void) | undefined
  const follower: Follower = {
    accountId,
    get horizon() {
      return horizon
    },
    tell(to) {
      horizon = Math.max(horizon, to)
      told = true
      wake?.()
    },
    async news() {
      if (!told && !signal.aborted) {
        await new Promise<void>((done) => {
          const timer = setTimeout(done, CHECK)
          wake = () => {
            clearTimeout(timer)
            done()
          }
          signal.addEventListener('abort', wake, { once: true })
        })
        if (wake) signal.removeEventListener('abort', wake)
        wake = undefined
      }
      const was = told
      told = false
      return was
    },
  }
  followers.add(follower)
  const leave = (): void => {
    followers.delete(follower)
    if (followers.size > 0) return
    watches.delete(context.tools)
    watch.stop()
  }
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  return follower
}

/** What is new since the last look: whose it is, how far it can be read, and whether something is there but not yet. */
const lookText = `
  SELECT event_horizon() AS horizon, coalesce(bool_or(place >= event_horizon()), false) AS pending,
    coalesce(array_agg(DISTINCT account_id), '{}') AS accounts
  FROM events WHERE place >= coalesce($1::bigint, event_horizon())`

/** Looks for news as long as somebody follows. */
function startWatch({ tools, log }: Context): Watch {
  const followers = new Set<Follower>()
  let from: number | null = null
  let stopped = false
  let looking = false
  let again = false
  let tries = 0
  let timer: NodeJS.Timeout | undefined

  async function look(): Promise<void> {
    again = looking
    if (looking || stopped) return
    looking = true
    let wait = LOOK
    try {
      const values = [from]
      const [row] = await tools.query<{ horizon: number; pending: boolean; accounts: string[] }>(
        'look',
        lookText,
        values,
      )
      const { horizon, pending, accounts } = row!
      from = horizon
      for (const follower of followers) if (accounts.includes(follower.accountId)) follower.tell(horizon)
      tries = pending ? tries + 1 : 0
      if (pending) wait = Math.min(LOOK, LOOK_AGAIN * 2 ** tries)
    } catch (error) {
      log.debug({ err: error }, 'looking for events failed; trying again')
    }
    looking = false
    if (!stopped) plan(again ? 0 : wait)
  }

  function plan(wait: number): void {
    clearTimeout(timer)
    timer = setTimeout(() => void look(), wait)
    timer.unref()
  }

  const subscription = listen(tools, log, {
    onNotice: (topic) => topic === 'event' && void look(),
    onReconnect: () => void look(),
  })
  void look()
  return {
    followers,
    stop() {
      stopped = true
      clearTimeout(timer)
      void subscription.close()
    },
  }
}
