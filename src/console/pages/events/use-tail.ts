import { eventAdded, newestEvent } from 'documents/events'
import type { AuditEventFieldsFragment, EventAddedSubscription } from 'documents/types'
import { useEffect, useState } from 'react'
import { useSubscription } from 'urql'
import { tellFault, useFresh } from '../../graphql/hooks'
import type { EventFilter } from './use-event-filter'

type Events = readonly AuditEventFieldsFragment[]

/** So many are kept; older ones are in the list. */
const KEPT = 200
/** How soon a stream that ended is taken up again (milliseconds). */
const WAIT = 1500

/** Called with each event, also where several come at once. One that came already, before the stream broke, is left out. */
const add = (now: Events = [], { eventAdded: event }: EventAddedSubscription): Events =>
  now.some(({ id }) => id === event.id) ? now : [event, ...now].slice(0, KEPT)

interface Tail {
  events: Events
  /** Is the stream open? Else it is being taken up again, after the last event that came. */
  isOpen: boolean
}

/** What happens from now on, newest first, each event once however often the stream breaks. */
export function useTail(accountId: string, filter: EventFilter, paused: boolean): Tail {
  const fresh = useFresh()
  /** The event after which the stream begins; null: the first of all. Unknown until it is asked for. */
  const [after, setAfter] = useState<string | null>()
  useEffect(() => {
    fresh(newestEvent, { accountId }).then(({ events }) => setAfter(events.data[0]?.id ?? null), tellFault)
  }, [fresh, accountId])
  const waits = paused || after === undefined
  const { issuerId, userId, clientId, eventTypes } = filter
  const [{ data: events = [], fetching }, begin] = useSubscription<EventAddedSubscription, Events>(
    { query: eventAdded, variables: { accountId, issuerId, userId, clientId, eventTypes, after }, pause: waits },
    add,
  )
  const last = events[0]?.id
  useEffect(() => {
    if (after === undefined || (fetching && !paused)) return
    const from = last ?? after
    // Going on after a pause begins where it stopped as well.
    if (paused) return setAfter(from)
    const timer = setTimeout(() => (from === after ? begin() : setAfter(from)), WAIT)
    return () => clearTimeout(timer)
  }, [fetching, paused, last, after, begin])
  return { events, isOpen: fetching && !waits }
}
