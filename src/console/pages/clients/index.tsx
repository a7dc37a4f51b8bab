/** The clients of an issuer: the list, and one of them. */
import { Button } from '@mantine/core'
import { clients } from 'documents/clients'
import { Route, Switch, useSearchParams } from 'wouter'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { Copyable, Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'
import { ClientPage } from './client'
import { CreateClient } from './create'
import { kindOf } from './kinds'

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
  const { accountId, issuerId, may } = usePlace()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  const base = `${issuerHref(accountId, issuerId)}/clients`
  return (
    <Page
      title="Clients"
      lead="Applications that sign people in through this issuer, and machines that act for themselves."
      actions={
        may('createClient') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New client
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
        search={{ name: 'search', placeholder: 'Search by name or id' }}
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
            head: 'Name',
            cell: (client) => (
              <Named mark={<Icon name={kindOf(client).icon} />} name={client.name} text={kindOf(client).label} />
            ),
          },
          {
            head: 'Client id',
            width: '300px',
            wide: true,
            cell: ({ id }) => <Copyable value={id} label="client id" />,
          },
          { head: 'Status', width: '120px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Made', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
        empty={{
          icon: 'app',
          title: 'No application is connected yet',
          text: 'Register your application as a client; you get its id and a snippet that works.',
          ...(may('createClient') && { action: 'New client', onAction: open }),
        }}
      />
      {params.has('new') && may('createClient') && <CreateClient onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}
