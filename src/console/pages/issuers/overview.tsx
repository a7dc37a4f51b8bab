/** The overview of an issuer: endpoints, health, newest clients and users. */
import { SimpleGrid } from '@mantine/core'
import { issuerOverview } from 'documents/issuers'
import type { ReactNode } from 'react'
import { Card, DescriptionList } from '../../components/card'
import { Icon } from '../../components/icon'
import { LinkButton } from '../../components/link'
import { Page } from '../../components/page'
import { EmptyState, ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { useQuery } from '../../graphql/hooks'
import { HealthCard } from '../../health/findings'
import { ListTable, NameCell } from '../../list/list-table'
import { applicationTypeOf } from '../clients/application-types'
import { initialsOf, userName } from '../users/names'

export default function IssuerOverview() {
  const { accountId, issuerId, may } = useConsoleContext()
  const { data, error, loading, refetch } = useQuery(issuerOverview, { accountId, issuerId }, { typename: 'Client' })
  if (loading) return <PageLoading />
  if (!data) return <ErrorState error={error!} onRetry={refetch} />
  const { issuer } = data
  const base = issuerHref(accountId, issuerId)
  // A relation is null if the caller may not read it.
  const { authMethods, clients, users } = issuer
  const methods = authMethods?.data.filter(({ enabledLogin, ready }) => enabledLogin && ready).map(({ name }) => name)
  return (
    <Page
      title={issuer.name}
      badge={<StatusBadge value={issuer.status} />}
      {...(issuer.description && { lead: issuer.description })}
      actions={
        may('createClient') &&
        may('createUser') && (
          <LinkButton href={`/try?account=${accountId}&issuer=${issuerId}`} variant="default">
            Try signing in
          </LinkButton>
        )
      }
    >
      <Card title="Endpoints" text="URLs that applications need to use this issuer.">
        <DescriptionList
          rows={[
            ['Issuer', <Copyable key="url" value={issuer.url} label="issuer URL" />],
            [
              'Discovery',
              <Copyable
                key="discovery"
                value={`${issuer.url}/.well-known/openid-configuration`}
                label="discovery URL"
              />,
            ],
            ['Issuer ID', <Copyable key="id" value={issuer.id} label="issuer ID" />],
            ...(methods ? [['Authentication methods', methods.join(', ') || 'none'] as const] : []),
          ]}
        />
      </Card>
      <HealthCard />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing={20} mt={20} className="gh-grid">
        {clients && (
          <LatestCard title="Clients" href={`${base}/clients`} count={clients.data.length}>
            {clients.data.length === 0 ? (
              <EmptyState
                icon="app"
                title="Connect an application"
                {...(may('createClient') && { action: 'Create client', href: `${base}/clients?new=1` })}
              >
                Register it as a client and copy the snippet into your code.
              </EmptyState>
            ) : (
              <ListTable
                label="Newest clients"
                rows={clients.data}
                href={({ id }) => `${base}/clients/${id}`}
                columns={[
                  {
                    header: 'Name',
                    cell: (client) => (
                      <NameCell
                        mark={<Icon name={applicationTypeOf(client).icon} />}
                        name={client.name}
                        text={applicationTypeOf(client).label}
                      />
                    ),
                  },
                  {
                    header: 'Created',
                    width: '130px',
                    align: 'right',
                    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
                  },
                ]}
              />
            )}
          </LatestCard>
        )}
        {users && (
          <LatestCard title="Users" href={`${base}/users`} count={users.data.length}>
            {users.data.length === 0 ? (
              <EmptyState
                icon="users"
                title="No users yet"
                {...(may('createUser') && { action: 'Create user', href: `${base}/users?new=1` })}
              >
                Create a user to try signing in, or let users sign up.
              </EmptyState>
            ) : (
              <ListTable
                label="Newest users"
                rows={users.data}
                href={({ id }) => `${base}/users/${id}`}
                columns={[
                  {
                    header: 'Name',
                    cell: (user) => <NameCell mark={initialsOf(user)} name={userName(user)} text={user.id} />,
                  },
                  {
                    header: 'Created',
                    width: '130px',
                    align: 'right',
                    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
                  },
                ]}
              />
            )}
          </LatestCard>
        )}
      </SimpleGrid>
    </Page>
  )
}

interface LatestCardProps {
  title: string
  href: string
  count: number
  children: ReactNode
}

const LatestCard = ({ title, href, count, children }: LatestCardProps) => (
  <Card
    flush
    title={title}
    actions={
      count > 0 && (
        <LinkButton href={href} variant="default" size="xs">
          {`All ${title.toLowerCase()}`}
        </LinkButton>
      )
    }
  >
    {children}
  </Card>
)
