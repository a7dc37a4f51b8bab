/** The page of an authentication method: availability and provider settings. */

import { Alert } from '@mantine/core'
import { deleteAuthMethod, authMethod as methodQuery, updateAuthMethod } from 'documents/auth-methods'
import { useMemo } from 'react'
import { useLocation } from 'wouter'
import { Card, DescriptionList } from '../../components/card'
import { DangerZone } from '../../components/confirm-dialog'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { EditForm, etagOf } from '../../form/edit-form'
import { useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import { ResourceFindings } from '../../health/findings'
import { availabilityFields, type MethodForm, methodKinds, secretPaths } from './method-kinds'

export function AuthMethodPage({ methodId }: { methodId: string }) {
  const { accountId, issuerId, may } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const ids = { accountId, issuerId, methodId }
  const { data, error, loading, refetch } = useQuery(methodQuery, ids)
  const upstreamFields = data && methodKinds[data.authMethod.method].upstreamFields
  const providerFields = useMemo(
    () =>
      upstreamFields?.map((field) =>
        secretPaths.includes(field.path)
          ? { ...field, required: false, hint: 'Leave empty to keep the current value.' }
          : field,
      ),
    [upstreamFields],
  )
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const { authMethod: method } = data
  const kind = methodKinds[method.method]
  const listHref = `${issuerHref(accountId, issuerId)}/authentication`
  const formProps = {
    resource: method,
    editable: may('updateAuthMethod'),
    save: (input: MethodForm, ifMatch: string) =>
      mutate(updateAuthMethod, { ...ids, input, ifMatch }, { successMessage: 'Method saved' }),
    reload: async () => (await fetchLatest(methodQuery, ids)).authMethod,
  }
  const remove = async () => {
    await mutate(
      deleteAuthMethod,
      { ...ids, ifMatch: etagOf(method) },
      { successMessage: 'Method deleted', typenames: ['AuthMethod'] },
    )
    navigate(listHref)
  }
  return (
    <Page
      title={method.name}
      badge={<StatusBadge value={!method.enabledLogin ? 'disabled' : method.ready ? 'active' : 'not_ready'} />}
      lead={kind.label}
      crumbs={[
        { label: 'Authentication', href: listHref },
        { label: method.name, href: `${listHref}/${methodId}` },
      ]}
    >
      <ResourceFindings path={`auth_methods/${method.id}`} />
      {method.notReadyReason && !method.enabledLogin && !method.enabledSignup && (
        <Alert mb="md" color="orange" variant="light" icon={<Icon name="warning" />}>
          <strong>Not ready:</strong> {method.notReadyReason} The sign-in page does not offer this method until it is
          ready and enabled.
        </Alert>
      )}
      <Card title="Method">
        <DescriptionList
          rows={[
            ['Method ID', <Copyable key="id" value={method.id} label="method ID" />],
            method.callbackUrl
              ? [
                  'Redirect URI to register with the provider',
                  <Copyable key="url" value={method.callbackUrl} label="redirect URI" />,
                ]
              : undefined,
            ['Added', <RelativeTime key="added" at={method.createdAt} />],
          ]}
        />
      </Card>
      <EditForm
        key="offer"
        title="General"
        text="If you disable sign-in with this method, users keep their credentials, which work again when you enable it."
        fields={availabilityFields}
        {...formProps}
      />
      {providerFields && (
        <EditForm
          key="provider"
          title="Provider"
          text="Enter the secret again if you change the issuer, provider, token endpoint or base URL. For Apple and github.com, enter it again if you change the client ID."
          fields={providerFields}
          {...formProps}
        />
      )}
      {may('deleteAuthMethod') && (
        <DangerZone
          actions={[
            {
              title: 'Delete this method',
              text: 'Users can no longer sign in with this method.',
              label: 'Delete method',
              warning:
                'Users without another method are locked out. To pause the method, disable it for sign-in instead.',
              name: method.name,
              onConfirm: remove,
            },
          ]}
        />
      )}
    </Page>
  )
}
