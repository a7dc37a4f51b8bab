/** The API keys of an account: the list, and one of them. */
import { Button } from '@mantine/core'
import { apiKeys } from 'documents/api-keys'
import { Route, Switch, useSearchParams } from 'wouter'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { Moment, Status } from '../../parts/values'
import { accountHref, usePlace } from '../../place'
import { CreateApiKey } from './create'
import { ApiKeyPage } from './key'

export default function ApiKeys() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/api-keys/:keyId/*?">
        {({ keyId }) => <ApiKeyPage key={keyId} keyId={keyId!} />}
      </Route>
      <Route>{() => <ApiKeyList />}</Route>
    </Switch>
  )
}

function ApiKeyList() {
  const { accountId, may } = usePlace()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  return (
    <Page
      title="API keys"
      lead="For scripts and services of yours that call the Core API."
      actions={
        may('createApiKey') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New API key
          </Button>
        )
      }
    >
      <List
        label="API keys"
        query={apiKeys}
        variables={{ accountId }}
        page={(data) => data.apiKeys}
        typename="ApiKey"
        href={({ id }) => `${accountHref(accountId)}/api-keys/${id}`}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: ['active', 'blocked', 'expired', 'revoked'].map((value) => ({
              value,
              label: `${value.charAt(0).toUpperCase()}${value.slice(1)}`,
            })),
          },
        ]}
        columns={[
          {
            head: 'Name',
            cell: ({ name, id }) => <Named mark={<Icon name="key" />} name={name} text={id} />,
          },
          {
            head: 'May do',
            width: '190px',
            wide: true,
            cell: ({ scopes }) =>
              scopes === null || scopes === undefined
                ? 'everything'
                : `${scopes.length} ${scopes.length === 1 ? 'scope' : 'scopes'}`,
          },
          { head: 'Status', width: '120px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Expires', width: '130px', wide: true, cell: ({ expiresAt }) => <Moment at={expiresAt} /> },
          { head: 'Made', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
        empty={{
          icon: 'key',
          title: 'No API key yet',
          text: 'A key lets a script or a service call the Core API. Give it only the scopes that it needs.',
          ...(may('createApiKey') && { action: 'New API key', onAction: open }),
        }}
      />
      {params.has('new') && may('createApiKey') && <CreateApiKey onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}
