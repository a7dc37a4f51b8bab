import { eventAdded, latestEvent } from 'documents/events'
import type { AuditEventFieldsFragment, EventAddedSubscription } from 'documents/types'
import { useEffect, useState } from 'react'
import { useSubscription } from 'urql'
import { showError, useRefetch } from '../../graphql/hooks'
import type { EventFilter } from './use-event-filter'

type Events = readonly AuditEventFieldsFragment[]

/** Maximum number of events in memory. The list of all events contains older ones. */
const MAX_EVENTS = 200
/** Delay before an interrupted stream is reopened (milliseconds). */
const RECONNECT_DELAY_MS = 1500

/** Adds a received event, unless it was already received before the stream was interrupted. */
const addEvent = (now: Events = [], { eventAdded: event }: EventAddedSubscription): Events =>
  now.some(({ id }) => id === event.id) ? now : [event, ...now].slice(0, MAX_EVENTS)

interface LiveEvents {
  events: Events
  /**
   * True while the stream is open or being opened. An interrupted stream is reopened and continues after the last
   * received event.
   */
  isConnected: boolean
}

/** Subscribes to new events, newest first. Each event appears once, even if the stream is interrupted. */
export function useLiveEvents(accountId: string, filter: EventFilter, paused: boolean): LiveEvents {
  const fetchLatest = useRefetch()
  /**
   * The id of the event after which the stream starts; null if there are no events yet; undefined while the latest
   * event is being read.
   */
  const [after, setAfter] = useState<string | null>()
  useEffect(() => {
    fetchLatest(latestEvent, { accountId }).then(({ events }) => setAfter(events.data[0]?.id ?? null), showError)
  }, [fetchLatest, accountId])
  const isPaused = paused || after === undefined
  const { issuerId, userId, clientId, eventTypes } = filter
  const [{ data: events = [], fetching }, resubscribe] = useSubscription<EventAddedSubscription, Events>(
    { query: eventAdded, variables: { accountId, issuerId, userId, clientId, eventTypes, after }, pause: isPaused },
    addEvent,
  )
  const last = events[0]?.id
  useEffect(() => {
    if (after === undefined || (fetching && !paused)) return
    const from = last ?? after
    // After a pause, the stream resumes after the last received event.
    if (paused) return setAfter(from)
    const timer = setTimeout(() => (from === after ? resubscribe() : setAfter(from)), RECONNECT_DELAY_MS)
    return () => clearTimeout(timer)
  }, [fetching, paused, last, after, resubscribe])
  return { events, isConnected: fetching && !isPaused }
}
