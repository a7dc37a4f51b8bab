/** The audit trail of an account: a list, what happens now, and charts. */
import { events } from 'documents/events'
import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { List } from '../../list/list-page'
import { Card } from '../../parts/card'
import { DetailPage } from '../../parts/detail-page'
import { PageLoading } from '../../parts/states'
import { accountHref, usePlace } from '../../place'
import { eventColumns } from './columns'
import { EventPage } from './event'
import { EventFilterBar } from './filter-bar'
import { LiveEvents } from './live'
import { useEventFilter } from './use-event-filter'

const Charts = lazy(() => import('./charts'))

export default function Events() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/events/:eventId">
        {({ eventId }) =>
          eventId === 'live' || eventId === 'charts' ? <Trail /> : <EventPage key={eventId} eventId={eventId!} />
        }
      </Route>
      <Route>{() => <Trail />}</Route>
    </Switch>
  )
}

function Trail() {
  const { accountId, may } = usePlace()
  const href = `${accountHref(accountId)}/events`
  return (
    <DetailPage
      title="Events"
      lead="Everything that happened in this account, and who did it."
      href={href}
      crumbs={[{ label: 'Events', href }]}
      tabs={[
        { path: '', label: 'All', content: () => <AllEvents /> },
        { path: 'live', label: 'Live', content: () => <LiveEvents /> },
        {
          path: 'charts',
          label: 'Charts',
          offered: may('eventAggregate'),
          content: () => (
            <Suspense fallback={<PageLoading />}>
              <Charts />
            </Suspense>
          ),
        },
      ]}
    />
  )
}

function AllEvents() {
  const { accountId } = usePlace()
  const { filter, set, isFiltered } = useEventFilter()
  return (
    <>
      <Card flush>
        <EventFilterBar filter={filter} set={set} span />
      </Card>
      <List
        label="Events"
        query={events}
        variables={{ accountId, ...filter }}
        page={(data) => data.events}
        typename="Event"
        href={({ id }) => `${accountHref(accountId)}/events/${id}`}
        columns={eventColumns}
        empty={
          isFiltered
            ? { icon: 'search', title: 'Nothing matches', text: 'Try another type, a longer time or fewer filters.' }
            : { icon: 'pulse', title: 'Nothing has happened yet', text: 'Sign-ins and changes appear here.' }
        }
      />
    </>
  )
}
