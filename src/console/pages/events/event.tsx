/** One event, wholly: who, what, where from, and what was different afterwards. */
import { event as eventQuery } from 'documents/events'
import { catalogue } from 'documents/tables'
import { useAsk } from '../../graphql/hooks'
import { Card, Facts } from '../../parts/card'
import { CodeBlock } from '../../parts/code-block'
import { Page } from '../../parts/page'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment } from '../../parts/values'
import { accountHref, usePlace } from '../../place'
import { actorKind, actorName } from './columns'

export function EventPage({ eventId }: { eventId: string }) {
  const { accountId } = usePlace()
  const { data, fault, loading, again } = useAsk(eventQuery, { accountId, eventId })
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { event } = data
  const list = `${accountHref(accountId)}/events`
  const id = (label: string, value: string | null | undefined) =>
    value ? ([label, <Copyable key={label} value={value} label={label.toLowerCase()} />] as const) : undefined
  return (
    <Page
      title={event.type}
      lead={catalogue[event.type]}
      crumbs={[
        { label: 'Events', href: list },
        { label: event.type, href: `${list}/${eventId}` },
      ]}
    >
      <Card title="What happened">
        <Facts
          rows={[
            ['When', <Moment key="when" at={event.createdAt} />],
            ['By', `${actorName(event.actor)}, ${actorKind(event.actor)}`],
            id('Actor id', event.actor.id),
            id(`About (${event.target.type.replaceAll('_', ' ')})`, event.target.id),
            id('Issuer id', event.issuerId),
            id('Organization id', event.orgId),
            id('User id', event.userId),
            id('Client id', event.clientId),
            id('Agent id', event.agentId),
            id('Session id', event.sessionId),
            id('Event id', event.id),
          ]}
        />
      </Card>
      <Card title="Where from">
        <Facts
          rows={[
            ['Address', event.context.ipAddress ?? 'unknown'],
            ['Request', event.context.method ? `${event.context.method} ${event.context.path ?? ''}` : 'none'],
            id('Request id', event.context.requestId),
            ['Program', event.context.userAgent ?? 'unknown'],
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
