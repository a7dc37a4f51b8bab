/** A live stream of events. */
import { Button } from '@mantine/core'
import { useState } from 'react'
import { Card } from '../../components/card'
import { Icon } from '../../components/icon'
import { EmptyState } from '../../components/states'
import { StatusBadge } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { ListTable } from '../../list/list-table'
import { eventColumns } from './columns'
import classes from './events.module.css'
import { EventFilterBar } from './filter-bar'
import { useEventFilter } from './use-event-filter'
import { useLiveEvents } from './use-live-events'

export function LiveEvents() {
  const { filter, set } = useEventFilter()
  return (
    <Card flush>
      <EventFilterBar filter={filter} set={set} showTimeRange={false} />
      {/* A changed filter starts a new stream. */}
      <LiveEventList key={JSON.stringify(filter)} filter={filter} />
    </Card>
  )
}

function LiveEventList({ filter }: { filter: ReturnType<typeof useEventFilter>['filter'] }) {
  const { accountId } = useConsoleContext()
  const [paused, setPaused] = useState(false)
  const { events, isConnected } = useLiveEvents(accountId, filter, paused)
  return (
    <>
      <div className={classes.live}>
        <span role="status">
          <StatusBadge value={paused ? 'paused' : isConnected ? 'active' : 'pending'} />{' '}
          {paused
            ? 'Events that occur during the pause appear when you resume.'
            : isConnected
              ? 'Listening'
              : 'Connecting. Events that occur in the meantime appear as well.'}
        </span>
        <Button
          size="xs"
          variant="default"
          leftSection={<Icon name={paused ? 'play' : 'pause'} size={14} />}
          onClick={() => setPaused(!paused)}
        >
          {paused ? 'Resume' : 'Pause'}
        </Button>
      </div>
      {events.length === 0 ? (
        <EmptyState icon="pulse" title="Waiting for events">
          New events appear here immediately. To see one, sign in to an application or change a setting.
        </EmptyState>
      ) : (
        <ListTable
          label="Live events"
          rows={events}
          columns={eventColumns}
          href={({ id }) => `${accountHref(accountId)}/events/${id}`}
        />
      )}
    </>
  )
}
