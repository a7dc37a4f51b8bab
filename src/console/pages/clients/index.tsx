/** The clients of an issuer: routes and list. */
import { Button } from '@mantine/core'
import { clients } from 'documents/clients'
import { Route, Switch, useSearchParams } from 'wouter'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { applicationTypeOf } from './application-types'
import { ClientPage } from './client'
import { CreateClient } from './create'

export default function Clients() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/issuers/:issuerId/clients/:clientId/*?">
        {({ clientId }) => <ClientPage key={clientId} clientId={clientId!} />}
      </Route>
      <Route>{() => <ClientList />}</Route>
    </Switch>
  )
}

function ClientList() {
  const { accountId, issuerId, may } = useConsoleContext()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  const base = `${issuerHref(accountId, issuerId)}/clients`
  return (
    <Page
      title="Clients"
      lead="Applications that sign users in through this issuer, and machine-to-machine clients."
      actions={
        may('createClient') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Create client
          </Button>
        )
      }
    >
      <List
        label="Clients"
        query={clients}
        variables={{ accountId, issuerId }}
        page={(data) => data.clients}
        typename="Client"
        href={({ id }) => `${base}/${id}`}
        search={{ name: 'search', placeholder: 'Search by name or ID' }}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: [
              { value: 'active', label: 'Active' },
              { value: 'disabled', label: 'Disabled' },
              { value: 'deleted', label: 'Deleted' },
            ],
          },
        ]}
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
            header: 'Client ID',
            width: '300px',
            hideOnMobile: true,
            cell: ({ id }) => <Copyable value={id} label="client ID" />,
          },
          { header: 'Status', width: '120px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Created',
            width: '130px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
        ]}
        empty={{
          icon: 'app',
          title: 'No clients yet',
          text: 'Register your application as a client to get a client ID and a code snippet.',
          ...(may('createClient') && { action: 'Create client', onAction: open }),
        }}
      />
      {params.has('new') && may('createClient') && <CreateClient onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}
