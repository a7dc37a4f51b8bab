/** An account at a glance. */
import { accountOverview } from 'documents/accounts'
import { useAsk } from '../../graphql/hooks'
import { HealthCard } from '../../health/findings'
import { ListTable, Named } from '../../list/list-table'
import { Card, Facts } from '../../parts/card'
import { Icon } from '../../parts/icon'
import { LinkButton, TextLink } from '../../parts/link'
import { Page } from '../../parts/page'
import { EmptyState, FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment, Status } from '../../parts/values'
import { accountHref, issuerHref, usePlace } from '../../place'

export default function AccountOverview() {
  const { accountId, may } = usePlace()
  const { data, fault, loading, again } = useAsk(accountOverview, { accountId }, { typename: 'Issuer' })
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { account } = data
  const base = accountHref(accountId)
  const issuers = account.issuers.data
  return (
    <Page title={account.name ?? 'Account'} lead={account.description ?? 'Everything that belongs to one customer.'}>
      <Card title="Account">
        <Facts
          rows={[
            ['Account id', <Copyable key="id" value={account.id} label="account id" />],
            ['Billing', account.billingMode],
            ['Domains', account.domains.length === 0 ? 'none' : account.domains.map(({ host }) => host).join(', ')],
            ['Made', <Moment key="made" at={account.createdAt} />],
          ]}
        />
      </Card>
      <HealthCard />
      <Card
        flush
        title="Issuers"
        text="Each is an identity provider with its own people and applications."
        actions={
          issuers.length > 0 && (
            <LinkButton href={`${base}/issuers`} variant="default" size="xs">
              All issuers
            </LinkButton>
          )
        }
      >
        {issuers.length === 0 ? (
          <EmptyState
            icon="gate"
            title="Begin with an issuer"
            {...(may('createIssuer') && { action: 'New issuer', href: `${base}/issuers?new=1` })}
          >
            An issuer signs people in. Give it a name; everything else has good defaults.{' '}
            <TextLink href={`/welcome?account=${accountId}`} size="sm" underline="always">
              Take me through the first steps
            </TextLink>
          </EmptyState>
        ) : (
          <ListTable
            label="Newest issuers"
            rows={issuers}
            href={({ id }) => issuerHref(accountId, id)}
            columns={[
              { head: 'Name', cell: ({ id, name }) => <Named mark={<Icon name="gate" />} name={name} text={id} /> },
              { head: 'Status', width: '130px', cell: ({ status }) => <Status value={status} /> },
              { head: 'Made', width: '140px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
            ]}
          />
        )}
      </Card>
    </Page>
  )
}
