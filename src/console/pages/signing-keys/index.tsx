/** The signing keys of an issuer: where they are published, and when they are rotated. */
import { Text } from '@mantine/core'
import { keyRotations } from 'documents/events'
import { issuer as issuerQuery } from 'documents/issuers'
import { useAsk } from '../../graphql/hooks'
import { FindingsAt } from '../../health/findings'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Card, Facts } from '../../parts/card'
import { CodeBlock } from '../../parts/code-block'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment } from '../../parts/values'
import { accountHref, issuerHref, usePlace } from '../../place'

/** The next monthly rotation: 01:00 UTC on the last day of this month or the next. */
function nextRotation(now: number): number {
  const date = new Date(now)
  const ofMonth = (ahead: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1 + ahead, 0, 1)
  return ofMonth(0) > now ? ofMonth(0) : ofMonth(1)
}

/** The data of an event; one of an earlier version has the published keys by algorithm in `kids`. */
interface Rotation {
  reason?: string
  period?: string | null
  published?: { alg: string; kid: string }[]
  kids?: Record<string, string>
}

const publishedIn = ({ published, kids = {} }: Rotation) =>
  published ?? Object.entries(kids).map(([alg, kid]) => ({ alg, kid }))

function reasonOf({ reason, period }: Rotation): string {
  if (reason === 'compromise') return 'Compromise'
  return period ? `Monthly, ${period}` : reason === 'monthly' ? 'Monthly' : 'On request'
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
      <FindingsAt path="signing_keys" />
      <Card title="Published keys">
        <Facts
          rows={[
            ['Public keys', <Copyable key="jwks" value={`${issuer.url}/jwks.json`} label="address of the keys" />],
            ['Algorithms', 'ES256, EdDSA, RS256; each client has one'],
            ['Next rotation', <Moment key="next" at={nextRotation(Date.now())} />],
          ]}
        />
        <Text size="sm" c="dimmed" mt="lg">
          The key set holds the current keys, the next ones, and those that signed before. The next keys start to sign
          at 01:00 UTC on the last day of each month, and new next keys are published then, so applications that read
          the address above need no change. Retired keys stay published for 45 days.
        </Text>
      </Card>
      <Card
        title="Replace compromised keys"
        text="On the command line of this deployment. New keys sign at once, all old keys are removed, and the tokens they signed are no longer valid, personal tokens included."
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
              head: 'Published keys',
              cell: ({ data }) => {
                const keys = publishedIn(data)
                return (
                  <Named
                    mark={<Icon name="key" />}
                    name={keys.map(({ alg }) => alg).join(', ')}
                    text={keys.map(({ kid }) => kid).join(', ')}
                  />
                )
              },
            },
            { head: 'Reason', width: '180px', wide: true, cell: ({ data }) => reasonOf(data) },
            { head: 'When', width: '130px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
          ]}
          empty={{
            icon: 'key',
            title: 'No rotation yet',
            text: 'The keys are those the issuer was created with. Each rotation appears here.',
          }}
        />
      )}
    </Page>
  )
}
