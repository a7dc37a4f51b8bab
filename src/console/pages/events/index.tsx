/** The audit log of an account: a list, live events and charts. */
import { events } from 'documents/events'
import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { Card } from '../../components/card'
import { DetailPage } from '../../components/detail-page'
import { PageLoading } from '../../components/states'
import { accountHref, useConsoleContext } from '../../console-context'
import { List } from '../../list/list-page'
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
          eventId === 'live' || eventId === 'charts' ? <AuditLog /> : <EventPage key={eventId} eventId={eventId!} />
        }
      </Route>
      <Route>{() => <AuditLog />}</Route>
    </Switch>
  )
}

function AuditLog() {
  const { accountId, may } = useConsoleContext()
  const href = `${accountHref(accountId)}/events`
  return (
    <DetailPage
      title="Events"
      lead="The audit log of this account: sign-ins and changes, with their actors."
      href={href}
      crumbs={[{ label: 'Events', href }]}
      tabs={[
        { path: '', label: 'All', content: () => <AllEvents /> },
        { path: 'live', label: 'Live', content: () => <LiveEvents /> },
        {
          path: 'charts',
          label: 'Charts',
          isVisible: may('eventAggregate'),
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
  const { accountId } = useConsoleContext()
  const { filter, set, isFiltered } = useEventFilter()
  return (
    <>
      <Card flush>
        <EventFilterBar filter={filter} set={set} showTimeRange />
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
            ? { icon: 'search', title: 'No results', text: 'Try another type, a longer time range or fewer filters.' }
            : { icon: 'pulse', title: 'No events yet', text: 'Sign-ins and changes appear here.' }
        }
      />
    </>
  )
}
