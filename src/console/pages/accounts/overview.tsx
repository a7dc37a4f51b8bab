/** The overview of an account. */
import { accountOverview } from 'documents/accounts'
import { Card, DescriptionList } from '../../components/card'
import { Icon } from '../../components/icon'
import { LinkButton, TextLink } from '../../components/link'
import { Page } from '../../components/page'
import { EmptyState, ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { accountHref, issuerHref, useConsoleContext } from '../../console-context'
import { useQuery } from '../../graphql/hooks'
import { HealthCard } from '../../health/findings'
import { ListTable, NameCell } from '../../list/list-table'

export default function AccountOverview() {
  const { accountId, may } = useConsoleContext()
  const { data, error, loading, refetch } = useQuery(accountOverview, { accountId }, { typename: 'Issuer' })
  if (loading) return <PageLoading />
  if (!data) return <ErrorState error={error!} onRetry={refetch} />
  const { account } = data
  const base = accountHref(accountId)
  // Null if the caller may not read the issuers.
  const issuers = account.issuers?.data
  return (
    <Page
      title={account.name ?? 'Account'}
      lead={account.description ?? 'Issuers, API keys, webhooks and settings of one customer.'}
    >
      <Card title="Account">
        <DescriptionList
          rows={[
            ['Account ID', <Copyable key="id" value={account.id} label="account ID" />],
            ['Billing', account.billingMode],
            ['Domains', account.domains.length === 0 ? 'none' : account.domains.map(({ host }) => host).join(', ')],
            ['Created', <RelativeTime key="created" at={account.createdAt} />],
          ]}
        />
      </Card>
      <HealthCard />
      {issuers && (
        <Card
          flush
          title="Issuers"
          text="Each issuer is an identity provider with its own users and clients."
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
              title="Create your first issuer"
              {...(may('createIssuer') && { action: 'Create issuer', href: `${base}/issuers?new=1` })}
            >
              An issuer signs users in to your applications. It only needs a name; all settings have defaults.{' '}
              <TextLink href={`/welcome?account=${accountId}`} size="sm" underline="always">
                Open the setup guide
              </TextLink>
            </EmptyState>
          ) : (
            <ListTable
              label="Newest issuers"
              rows={issuers}
              href={({ id }) => issuerHref(accountId, id)}
              columns={[
                {
                  header: 'Name',
                  cell: ({ id, name }) => <NameCell mark={<Icon name="gate" />} name={name} text={id} />,
                },
                { header: 'Status', width: '130px', cell: ({ status }) => <StatusBadge value={status} /> },
                {
                  header: 'Created',
                  width: '140px',
                  hideOnMobile: true,
                  cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
                },
              ]}
            />
          )}
        </Card>
      )}
    </Page>
  )
}
