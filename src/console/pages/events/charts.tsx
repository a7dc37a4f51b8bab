/** Charts of the number of events, by time and by type. The server counts the events. */
import { Group, SegmentedControl } from '@mantine/core'
import { eventAggregate } from 'documents/events'
import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import { Card } from '../../components/card'
import { EmptyState, ErrorState, PageLoading } from '../../components/states'
import { useConsoleContext } from '../../console-context'
import { useQuery } from '../../graphql/hooks'
import { type Bar, BarChart, RankedList } from './chart'
import { EventFilterBar } from './filter-bar'
import { useEventFilter } from './use-event-filter'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const timeRanges = {
  day: { label: '24 hours', bars: 24, size: HOUR, interval: 'hour' },
  week: { label: '7 days', bars: 7, size: DAY, interval: 'day' },
  month: { label: '30 days', bars: 30, size: DAY, interval: 'day' },
} as const
type TimeRange = keyof typeof timeRanges

export default function Charts() {
  const { accountId } = useConsoleContext()
  const { filter, set } = useEventFilter()
  const [params, setParams] = useSearchParams()
  const requestedRange = params.get('span') as TimeRange
  const timeRange: TimeRange = requestedRange in timeRanges ? requestedRange : 'week'
  const { bars, size, interval } = timeRanges[timeRange]
  const first = useMemo(() => (Math.floor(Date.now() / size) - bars + 1) * size, [bars, size])
  const { issuerId, userId, clientId, eventTypes } = filter
  const filterVariables = { accountId, issuerId, userId, clientId, eventTypes, after: first }
  const countsByTime = useQuery(eventAggregate, { ...filterVariables, interval }, { typename: 'Event' })
  const countsByType = useQuery(eventAggregate, { ...filterVariables, groupBy: 'type' as const }, { typename: 'Event' })
  const counts = new Map(
    countsByTime.data?.eventAggregate.buckets.map(({ ts, rows }) => [ts ?? 0, rows[0]?.count ?? 0]),
  )
  const series: Bar[] = Array.from({ length: bars }, (_, n) => first + n * size).map((at) => ({
    label: labelOf(at, size),
    value: counts.get(at) ?? 0,
  }))
  const ranks = (countsByType.data?.eventAggregate.buckets[0]?.rows ?? [])
    .map(({ key, count }) => ({ label: key ?? 'other', value: count }))
    .sort((a, b) => b.value - a.value)
  const total = series.reduce((sum, { value }) => sum + value, 0)
  const error = countsByTime.error ?? countsByType.error
  return (
    <>
      <Card flush>
        <EventFilterBar filter={filter} set={set} showTimeRange={false} />
        <Group p="sm" justify="space-between">
          <SegmentedControl
            aria-label="Time range"
            size="xs"
            transitionDuration={0}
            value={timeRange}
            data={Object.entries(timeRanges).map(([value, { label }]) => ({ value, label }))}
            onChange={(value) =>
              setParams(
                (now) => new URLSearchParams([...[...now].filter(([key]) => key !== 'span'), ['span', value]]),
                {
                  replace: true,
                },
              )
            }
          />
        </Group>
      </Card>
      {error ? (
        <ErrorState error={error} onRetry={countsByTime.refetch} />
      ) : countsByTime.loading || countsByType.loading ? (
        <PageLoading />
      ) : total === 0 ? (
        <Card>
          <EmptyState icon="pulse" title="No events in this time range">
            Try a longer time range or fewer filters.
          </EmptyState>
        </Card>
      ) : (
        <>
          <Card title={`${total.toLocaleString('en')} events`} text="Times are in UTC.">
            <BarChart label={`Events in the last ${timeRanges[timeRange].label}`} bars={series} />
          </Card>
          <Card title="By type">
            <RankedList label="Events by type" rows={ranks.slice(0, 12)} />
          </Card>
        </>
      )}
    </>
  )
}

const hourFormat = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZone: 'UTC',
})
const dayFormat = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
const labelOf = (at: number, size: number): string => (size === HOUR ? hourFormat : dayFormat).format(at)
