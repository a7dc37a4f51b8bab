/** Events as they happen. */
import { Button } from '@mantine/core'
import { useState } from 'react'
import { ListTable } from '../../list/list-table'
import { Card } from '../../parts/card'
import { Icon } from '../../parts/icon'
import { EmptyState } from '../../parts/states'
import { Status } from '../../parts/values'
import { accountHref, usePlace } from '../../place'
import { eventColumns } from './columns'
import classes from './events.module.css'
import { EventFilterBar } from './filter-bar'
import { useEventFilter } from './use-event-filter'
import { useTail } from './use-tail'

export function LiveEvents() {
  const { filter, set } = useEventFilter()
  return (
    <Card flush>
      <EventFilterBar filter={filter} set={set} span={false} />
      {/* Another filter is another stream. */}
      <Tail key={JSON.stringify(filter)} filter={filter} />
    </Card>
  )
}

function Tail({ filter }: { filter: ReturnType<typeof useEventFilter>['filter'] }) {
  const { accountId } = usePlace()
  const [paused, setPaused] = useState(false)
  const { events, isOpen } = useTail(accountId, filter, paused)
  return (
    <>
      <div className={classes.live}>
        <span role="status">
          <Status value={paused ? 'paused' : isOpen ? 'active' : 'pending'} />{' '}
          {paused
            ? 'Nothing is lost: what happens meanwhile comes when you go on.'
            : isOpen
              ? 'Listening'
              : 'Connecting. What happens meanwhile comes as well.'}
        </span>
        <Button
          size="xs"
          variant="default"
          leftSection={<Icon name={paused ? 'play' : 'pause'} size={14} />}
          onClick={() => setPaused(!paused)}
        >
          {paused ? 'Go on' : 'Pause'}
        </Button>
      </div>
      {events.length === 0 ? (
        <EmptyState icon="pulse" title="Waiting for something to happen">
          Sign in somewhere or change something: it appears here at once.
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
