/** The API keys of an account: routes and list. */
import { Button } from '@mantine/core'
import { apiKeys } from 'documents/api-keys'
import { Route, Switch, useSearchParams } from 'wouter'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { RelativeTime, StatusBadge } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
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
  const { accountId, may } = useConsoleContext()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  return (
    <Page
      title="API keys"
      lead="Credentials for scripts and services that call the Core API."
      actions={
        may('createApiKey') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Create API key
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
            header: 'Name',
            cell: ({ name, id }) => <NameCell mark={<Icon name="key" />} name={name} text={id} />,
          },
          {
            header: 'Scopes',
            width: '190px',
            hideOnMobile: true,
            cell: ({ scopes }) =>
              scopes === null || scopes === undefined
                ? 'all'
                : `${scopes.length} ${scopes.length === 1 ? 'scope' : 'scopes'}`,
          },
          { header: 'Status', width: '120px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Expires',
            width: '130px',
            hideOnMobile: true,
            cell: ({ expiresAt }) => <RelativeTime at={expiresAt} />,
          },
          {
            header: 'Created',
            width: '130px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
        ]}
        empty={{
          icon: 'key',
          title: 'No API keys yet',
          text: 'An API key lets a script or service call the Core API. Grant it only the scopes that it needs.',
          ...(may('createApiKey') && { action: 'Create API key', onAction: open }),
        }}
      />
      {params.has('new') && may('createApiKey') && <CreateApiKey onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}
