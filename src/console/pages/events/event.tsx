/** The page of an event: actor, target, request, data and changes. */
import { event as eventQuery } from 'documents/events'
import { eventCatalog } from 'documents/tables'
import { Card, DescriptionList } from '../../components/card'
import { CodeBlock } from '../../components/code-block'
import { Page } from '../../components/page'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { useQuery } from '../../graphql/hooks'
import { actorKind, actorName } from './columns'

export function EventPage({ eventId }: { eventId: string }) {
  const { accountId } = useConsoleContext()
  const { data, error, loading, refetch } = useQuery(eventQuery, { accountId, eventId })
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const { event } = data
  const listHref = `${accountHref(accountId)}/events`
  const idRow = (label: string, value: string | null | undefined) =>
    value
      ? ([
          label,
          <Copyable key={label} value={value} label={`${label.charAt(0).toLowerCase()}${label.slice(1)}`} />,
        ] as const)
      : undefined
  return (
    <Page
      title={event.type}
      lead={eventCatalog[event.type]}
      crumbs={[
        { label: 'Events', href: listHref },
        { label: event.type, href: `${listHref}/${eventId}` },
      ]}
    >
      <Card title="Event">
        <DescriptionList
          rows={[
            ['Time', <RelativeTime key="time" at={event.createdAt} />],
            ['Actor', `${actorName(event.actor)}, ${actorKind(event.actor)}`],
            idRow('Actor ID', event.actor.id),
            idRow(`Target (${event.target.type.replaceAll('_', ' ')})`, event.target.id),
            idRow('Issuer ID', event.issuerId),
            idRow('Organization ID', event.orgId),
            idRow('User ID', event.userId),
            idRow('Client ID', event.clientId),
            idRow('Agent ID', event.agentId),
            idRow('Session ID', event.sessionId),
            idRow('Event ID', event.id),
          ]}
        />
      </Card>
      <Card title="Request">
        <DescriptionList
          rows={[
            ['IP address', event.context.ipAddress ?? 'unknown'],
            ['Request', event.context.method ? `${event.context.method} ${event.context.path ?? ''}` : 'none'],
            idRow('Request ID', event.context.requestId),
            ['User agent', event.context.userAgent ?? 'unknown'],
          ]}
        />
      </Card>
      <Card title="Details">
        <CodeBlock title="data" code={JSON.stringify(event.data, null, 2)} />
        {Object.keys(event.changes).length > 0 && (
          <CodeBlock title="changes" code={JSON.stringify(event.changes, null, 2)} />
        )}
      </Card>
    </Page>
  )
}
