/** The keys that an issuer signs with: where they are published, and when they change. */
import { Text } from '@mantine/core'
import { keyRotations } from 'documents/events'
import { issuer as issuerQuery } from 'documents/issuers'
import { useAsk } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Card, Facts } from '../../parts/card'
import { CodeBlock } from '../../parts/code-block'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment } from '../../parts/values'
import { accountHref, issuerHref, usePlace } from '../../place'

/** 01:00 UTC of the last day of the month that it is, or of the next. */
function nextRotation(now: number): number {
  const date = new Date(now)
  const ofMonth = (ahead: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1 + ahead, 0, 1)
  return ofMonth(0) > now ? ofMonth(0) : ofMonth(1)
}

export default function SigningKeys() {
  const { accountId, issuerId, may } = usePlace()
  const { data, fault, loading, again } = useAsk(issuerQuery, { accountId, issuerId })
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { issuer } = data
  return (
    <Page
      title="Signing keys"
      lead="What tokens of this issuer are signed with."
      crumbs={[{ label: 'Signing keys', href: `${issuerHref(accountId, issuerId)}/signing-keys` }]}
    >
      <Card title="Published keys">
        <Facts
          rows={[
            ['Public keys', <Copyable key="jwks" value={`${issuer.url}/jwks.json`} label="address of the keys" />],
            ['Algorithms', 'ES256, EdDSA, RS256; each client has one'],
            ['Next change', <Moment key="next" at={nextRotation(Date.now())} />],
          ]}
        />
        <Text size="sm" c="dimmed" mt="lg">
          New keys are made at 01:00 UTC on the last day of each month and sign from then on. Those before stay
          published for as long as tokens signed with them may live, so applications that read the address above notice
          nothing.
        </Text>
      </Card>
      <Card title="Change them now" text="After a suspicion, whoever runs this deployment does it on its command line.">
        <CodeBlock title="Rotate the keys of this issuer" code={`gatehouse keys rotate --issuer ${issuer.id}`} />
      </Card>
      {may('events') && (
        <List
          label="Changes of keys"
          query={keyRotations}
          variables={{ accountId, issuerId }}
          page={(page) => page.events}
          typename="Event"
          href={({ id }) => `${accountHref(accountId)}/events/${id}`}
          columns={[
            {
              head: 'New keys',
              cell: ({ data: { kids } }) => (
                <Named
                  mark={<Icon name="key" />}
                  name={Object.keys((kids ?? {}) as object).join(', ')}
                  text={Object.values((kids ?? {}) as Record<string, string>).join(', ')}
                />
              ),
            },
            {
              head: 'Why',
              width: '180px',
              wide: true,
              cell: ({ data: { period } }) => (period ? `monthly, ${period}` : 'by hand'),
            },
            { head: 'When', width: '130px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
          ]}
          empty={{
            icon: 'key',
            title: 'Still the first keys',
            text: 'They were made with the issuer. Each change of them appears here.',
          }}
        />
      )}
    </Page>
  )
}
