/** How much happens, and of what: counted by the server, drawn here. */
import { Group, SegmentedControl } from '@mantine/core'
import { eventAggregate } from 'documents/events'
import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import { useAsk } from '../../graphql/hooks'
import { Card } from '../../parts/card'
import { EmptyState, FaultState, PageLoading } from '../../parts/states'
import { usePlace } from '../../place'
import { type Bar, BarChart, Ranking } from './chart'
import { EventFilterBar } from './filter-bar'
import { useEventFilter } from './use-event-filter'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const spans = {
  day: { label: '24 hours', bars: 24, size: HOUR, interval: 'hour' },
  week: { label: '7 days', bars: 7, size: DAY, interval: 'day' },
  month: { label: '30 days', bars: 30, size: DAY, interval: 'day' },
} as const
type Span = keyof typeof spans

export default function Charts() {
  const { accountId } = usePlace()
  const { filter, set } = useEventFilter()
  const [params, setParams] = useSearchParams()
  const asked = params.get('span') as Span
  const span: Span = asked in spans ? asked : 'week'
  const { bars, size, interval } = spans[span]
  const first = useMemo(() => (Math.floor(Date.now() / size) - bars + 1) * size, [bars, size])
  const { issuerId, userId, clientId, eventTypes } = filter
  const ask = { accountId, issuerId, userId, clientId, eventTypes, after: first }
  const byTime = useAsk(eventAggregate, { ...ask, interval }, { typename: 'Event' })
  const byType = useAsk(eventAggregate, { ...ask, groupBy: 'type' as const }, { typename: 'Event' })
  const counts = new Map(byTime.data?.eventAggregate.buckets.map(({ ts, rows }) => [ts ?? 0, rows[0]?.count ?? 0]))
  const series: Bar[] = Array.from({ length: bars }, (_, n) => first + n * size).map((at) => ({
    label: labelOf(at, size),
    value: counts.get(at) ?? 0,
  }))
  const ranks = (byType.data?.eventAggregate.buckets[0]?.rows ?? [])
    .map(({ key, count }) => ({ label: key ?? 'other', value: count }))
    .sort((a, b) => b.value - a.value)
  const total = series.reduce((sum, { value }) => sum + value, 0)
  const fault = byTime.fault ?? byType.fault
  return (
    <>
      <Card flush>
        <EventFilterBar filter={filter} set={set} span={false} />
        <Group p="sm" justify="space-between">
          <SegmentedControl
            aria-label="Span of time"
            size="xs"
            transitionDuration={0}
            value={span}
            data={Object.entries(spans).map(([value, { label }]) => ({ value, label }))}
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
      {fault ? (
        <FaultState fault={fault} again={byTime.again} />
      ) : byTime.loading || byType.loading ? (
        <PageLoading />
      ) : total === 0 ? (
        <Card>
          <EmptyState icon="pulse" title="Nothing in this time">
            Try a longer time or fewer filters.
          </EmptyState>
        </Card>
      ) : (
        <>
          <Card title={`${total.toLocaleString('en')} events`} text="In UTC.">
            <BarChart label={`Events in the last ${spans[span].label}`} bars={series} />
          </Card>
          <Card title="By type">
            <Ranking label="Events by type" rows={ranks.slice(0, 12)} />
          </Card>
        </>
      )}
    </>
  )
}

const hour = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: 'UTC' })
const day = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
const labelOf = (at: number, size: number): string => (size === HOUR ? hour : day).format(at)
