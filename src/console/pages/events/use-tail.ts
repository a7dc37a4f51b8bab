import { eventAdded } from 'documents/events'
import type { AuditEventFieldsFragment, EventAddedSubscription } from 'documents/types'
import { useEffect, useState } from 'react'
import { useSubscription } from 'urql'
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
  const [after, setAfter] = useState<string>()
  const { issuerId, userId, clientId, eventTypes } = filter
  const [{ data: events = [], fetching }, begin] = useSubscription<EventAddedSubscription, Events>(
    {
      query: eventAdded,
      variables: { accountId, issuerId, userId, clientId, eventTypes, after },
      pause: paused,
    },
    add,
  )
  const last = events[0]?.id
  useEffect(() => {
    if (fetching && !paused) return
    // Going on after a pause begins where it stopped as well.
    if (paused) return setAfter(last)
    const timer = setTimeout(() => (last === after ? begin() : setAfter(last)), WAIT)
    return () => clearTimeout(timer)
  }, [fetching, paused, last, after, begin])
  return { events, isOpen: fetching && !paused }
}
