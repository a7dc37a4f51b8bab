/** The signing keys of an issuer: the URL that publishes the keys, the next rotation, and past rotations. */
import { Text } from '@mantine/core'
import { keyRotations } from 'documents/events'
import { issuer as issuerQuery } from 'documents/issuers'
import { Card, DescriptionList } from '../../components/card'
import { CodeBlock } from '../../components/code-block'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime } from '../../components/values'
import { accountHref, issuerHref, useConsoleContext } from '../../console-context'
import { useQuery } from '../../graphql/hooks'
import { ResourceFindings } from '../../health/findings'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'

/** The next monthly rotation: 01:00 UTC on the last day of this month or the next. */
function nextRotation(now: number): number {
  const date = new Date(now)
  const lastDayOfMonth = (monthOffset: number) =>
    Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1 + monthOffset, 0, 1)
  return lastDayOfMonth(0) > now ? lastDayOfMonth(0) : lastDayOfMonth(1)
}

/** The data of a rotation event. Events of earlier versions have the published keys by algorithm in `kids`. */
interface RotationData {
  reason?: string
  period?: string | null
  published?: { alg: string; kid: string }[]
  kids?: Record<string, string>
}

const publishedKeys = ({ published, kids = {} }: RotationData) =>
  published ?? Object.entries(kids).map(([alg, kid]) => ({ alg, kid }))

function rotationReason({ reason, period }: RotationData): string {
  if (reason === 'compromise') return 'Compromise'
  return period ? `Monthly, ${period}` : reason === 'monthly' ? 'Monthly' : 'On request'
}

export default function SigningKeys() {
  const { accountId, issuerId, may } = useConsoleContext()
  const { data, error, loading, refetch } = useQuery(issuerQuery, { accountId, issuerId })
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const { issuer } = data
  return (
    <Page
      title="Signing keys"
      lead="The keys that sign the tokens of this issuer."
      crumbs={[{ label: 'Signing keys', href: `${issuerHref(accountId, issuerId)}/signing-keys` }]}
    >
      <ResourceFindings path="signing_keys" />
      <Card title="Published keys">
        <DescriptionList
          rows={[
            ['JWKS URL', <Copyable key="jwks" value={`${issuer.url}/jwks.json`} label="JWKS URL" />],
            ['Algorithms', 'ES256, EdDSA, RS256; each client uses one of them'],
            ['Next rotation', <RelativeTime key="next" at={nextRotation(Date.now())} />],
          ]}
        />
        <Text size="sm" c="dimmed" mt="lg">
          The key set contains the current keys, the next keys and retired keys. At 01:00 UTC on the last day of each
          month, the next keys start to sign and new next keys are published. Applications that read the JWKS URL need
          no change. Retired keys stay published for 45 days.
        </Text>
      </Card>
      <Card
        title="Replace compromised keys"
        text="Run this on the server. New keys sign immediately, all old keys are removed, and the tokens that they signed become invalid, including personal tokens."
      >
        <CodeBlock title="Replace all keys of this issuer" code={`gatehouse keys rotate --now --issuer ${issuer.id}`} />
      </Card>
      {may('events') && (
        <List
          label="Rotations"
          query={keyRotations}
          variables={{ accountId, issuerId }}
          page={(page) => page.events}
          typename="Event"
          href={({ id }) => `${accountHref(accountId)}/events/${id}`}
          columns={[
            {
              header: 'Published keys',
              cell: ({ data }) => {
                const keys = publishedKeys(data)
                return (
                  <NameCell
                    mark={<Icon name="key" />}
                    name={keys.map(({ alg }) => alg).join(', ')}
                    text={keys.map(({ kid }) => kid).join(', ')}
                  />
                )
              },
            },
            { header: 'Reason', width: '180px', hideOnMobile: true, cell: ({ data }) => rotationReason(data) },
            { header: 'Time', width: '130px', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
          ]}
          empty={{
            icon: 'key',
            title: 'No rotations yet',
            text: 'The issuer still uses the keys that it was created with. Each rotation appears here.',
          }}
        />
      )}
    </Page>
  )
}
