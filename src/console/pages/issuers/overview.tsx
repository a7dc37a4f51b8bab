/** An issuer at a glance: its addresses, and the newest of what it holds. */
import { SimpleGrid } from '@mantine/core'
import { issuerOverview } from 'documents/issuers'
import type { ReactNode } from 'react'
import { useAsk } from '../../graphql/hooks'
import { HealthCard } from '../../health/findings'
import { ListTable, Named } from '../../list/list-table'
import { Card, Facts } from '../../parts/card'
import { Icon } from '../../parts/icon'
import { LinkButton } from '../../parts/link'
import { Page } from '../../parts/page'
import { EmptyState, FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'
import { kindOf } from '../clients/kinds'
import { initialsOf, userName } from '../users/names'

export default function IssuerOverview() {
  const { accountId, issuerId, may } = usePlace()
  const { data, fault, loading, again } = useAsk(issuerOverview, { accountId, issuerId }, { typename: 'Client' })
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { issuer } = data
  const base = issuerHref(accountId, issuerId)
  const methods = issuer.authMethods.data
    .filter(({ enabledLogin, ready }) => enabledLogin && ready)
    .map(({ name }) => name)
  return (
    <Page
      title={issuer.name}
      badge={<Status value={issuer.status} />}
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
      <Card title="Addresses" text="What applications need to know of this issuer.">
        <Facts
          rows={[
            ['Issuer', <Copyable key="url" value={issuer.url} label="issuer address" />],
            [
              'Discovery',
              <Copyable
                key="discovery"
                value={`${issuer.url}/.well-known/openid-configuration`}
                label="discovery address"
              />,
            ],
            ['Issuer id', <Copyable key="id" value={issuer.id} label="issuer id" />],
            ['People sign in with', methods.length === 0 ? 'nothing yet' : methods.join(', ')],
          ]}
        />
      </Card>
      <HealthCard />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing={20} mt={20} className="gh-grid">
        <Newest title="Clients" href={`${base}/clients`} count={issuer.clients.data.length}>
          {issuer.clients.data.length === 0 ? (
            <EmptyState
              icon="app"
              title="Connect an application"
              {...(may('createClient') && { action: 'New client', href: `${base}/clients?new=1` })}
            >
              Register it as a client and copy the snippet into its code.
            </EmptyState>
          ) : (
            <ListTable
              label="Newest clients"
              rows={issuer.clients.data}
              href={({ id }) => `${base}/clients/${id}`}
              columns={[
                {
                  head: 'Name',
                  cell: (client) => (
                    <Named mark={<Icon name={kindOf(client).icon} />} name={client.name} text={kindOf(client).label} />
                  ),
                },
                { head: 'Made', width: '130px', align: 'right', cell: ({ createdAt }) => <Moment at={createdAt} /> },
              ]}
            />
          )}
        </Newest>
        <Newest title="Users" href={`${base}/users`} count={issuer.users.data.length}>
          {issuer.users.data.length === 0 ? (
            <EmptyState
              icon="users"
              title="Nobody is here yet"
              {...(may('createUser') && { action: 'New user', href: `${base}/users?new=1` })}
            >
              Make a user to try signing in, or let people sign up.
            </EmptyState>
          ) : (
            <ListTable
              label="Newest users"
              rows={issuer.users.data}
              href={({ id }) => `${base}/users/${id}`}
              columns={[
                {
                  head: 'Name',
                  cell: (user) => <Named mark={initialsOf(user)} name={userName(user)} text={user.id} />,
                },
                { head: 'Joined', width: '130px', align: 'right', cell: ({ createdAt }) => <Moment at={createdAt} /> },
              ]}
            />
          )}
        </Newest>
      </SimpleGrid>
    </Page>
  )
}

interface NewestProps {
  title: string
  href: string
  count: number
  children: ReactNode
}

const Newest = ({ title, href, count, children }: NewestProps) => (
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
