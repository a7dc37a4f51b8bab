/** The page of a client: code snippets, settings and notes, and the rotation of its secret. */
import { Button } from '@mantine/core'
import { client as clientQuery, deleteClient, rotateClientSecret, updateClient } from 'documents/clients'
import type { UpdateClientInput } from 'documents/types'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { Card, DescriptionList } from '../../components/card'
import { ConfirmDialog, DangerZone } from '../../components/confirm-dialog'
import { DetailPage } from '../../components/detail-page'
import { Icon } from '../../components/icon'
import { SecretDialog } from '../../components/secret'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { EditForm, etagOf } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import { ResourceFindings } from '../../health/findings'
import { claimsTab } from '../claims/claims-tab'
import { NotesPanel } from '../notes/notes'
import { applicationTypeOf } from './application-types'
import { ProtocolSettings, usesAssertions } from './protocol-settings'
import { prefillFromHistory, RecentErrors } from './recent-errors'
import { Snippets } from './snippets'
import { algorithmHint } from './works-with'
import { WorksWithCard } from './works-with-card'

const generalFields: Field<UpdateClientInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true },
  { kind: 'textarea', path: 'description', label: 'Description', hint: 'Internal description, in Markdown.' },
  {
    kind: 'select',
    path: 'status',
    label: 'Status',
    hint: 'Users cannot sign in to a disabled client.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'disabled', label: 'Disabled' },
    ],
  },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object with custom data.' },
]
const redirectUriFields: Field<UpdateClientInput>[] = [
  {
    kind: 'list',
    path: 'settings.openid.redirect_uris',
    label: 'Redirect URIs',
    hint: 'Where users return after they sign in. The redirect URI of a request must equal one of these exactly. For native apps, the port of a loopback URI can differ.',
  },
  {
    kind: 'list',
    path: 'settings.openid.post_logout_redirect_uris',
    label: 'Post-logout redirect URIs',
    hint: 'Where users can be sent after they sign out.',
  },
  {
    kind: 'url',
    path: 'settings.openid.backchannel_logout_uri',
    label: 'Back-channel logout URI',
    hint: 'Receives a logout token when a session ends.',
  },
]
const tokenFields: Field<UpdateClientInput>[] = [
  {
    kind: 'select',
    path: 'settings.openid.response_signature_alg',
    label: 'Signing algorithm',
    hint: algorithmHint,
    defaultValue: 'ES256',
    options: ['ES256', 'RS256', 'EdDSA'].map((value) => ({ value, label: value })),
  },
  {
    kind: 'number',
    path: 'settings.default_access_token_age',
    label: 'Access token lifetime',
    unit: 's',
    placeholder: '1,800',
  },
  {
    kind: 'number',
    path: 'settings.default_id_token_age',
    label: 'ID token lifetime',
    unit: 's',
    placeholder: '3,600',
  },
  {
    kind: 'number',
    path: 'settings.default_refresh_token_age',
    label: 'Refresh token lifetime',
    unit: 's',
    placeholder: '604,800',
  },
  {
    kind: 'list',
    path: 'settings.openid.allowed_resources',
    label: 'Allowed resources',
    hint: 'APIs for which this client can request access tokens (RFC 8707).',
    placeholder: 'https://api.example.com',
  },
  {
    kind: 'list',
    path: 'settings.scopes',
    label: 'Scopes',
    hint: 'Scopes that this client can request in addition to the scopes of OpenID Connect.',
  },
]

export function ClientPage({ clientId }: { clientId: string }) {
  const { accountId, issuerId, may } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const [rotating, setRotating] = useState(false)
  const [secret, setSecret] = useState<string>()
  const ids = { accountId, issuerId, clientId }
  const { data, error, loading, refetch } = useQuery(clientQuery, ids)
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const { client, issuer } = data
  const applicationType = applicationTypeOf(client)
  const listHref = `${issuerHref(accountId, issuerId)}/clients`
  const href = `${listHref}/${clientId}`
  const formProps = {
    resource: client,
    editable: may('updateClient'),
    save: (input: UpdateClientInput, ifMatch: string) =>
      mutate(updateClient, { ...ids, input, ifMatch }, { successMessage: 'Client saved' }),
    reload: async () => (await fetchLatest(clientQuery, ids)).client,
  }
  const rotate = async () => {
    const { rotateClientSecret: rotated } = await mutate(rotateClientSecret, ids)
    setSecret(rotated.secret ?? undefined)
  }
  const remove = async () => {
    await mutate(
      deleteClient,
      { ...ids, ifMatch: etagOf(client) },
      { successMessage: 'Client deleted', typenames: ['Client'] },
    )
    navigate(listHref)
  }
  return (
    <>
      <DetailPage
        title={client.name}
        badge={<StatusBadge value={client.status} />}
        lead={applicationType.label}
        href={href}
        beforeTabs={<ResourceFindings path={`clients/${clientId}`} />}
        crumbs={[
          { label: 'Clients', href: listHref },
          { label: client.name, href },
        ]}
        actions={
          client.confidential &&
          !usesAssertions(client) &&
          may('rotateClientSecret') && (
            <Button variant="default" leftSection={<Icon name="refresh" />} onClick={() => setRotating(true)}>
              Rotate secret
            </Button>
          )
        }
        tabs={[
          {
            path: '',
            label: 'Connect',
            content: () => (
              <>
                <Card title="Identity">
                  <DescriptionList
                    rows={[
                      ['Client ID', <Copyable key="id" value={client.id} label="client ID" />],
                      ['Issuer', <Copyable key="url" value={issuer.url} label="issuer URL" />],
                      [
                        'Secret',
                        usesAssertions(client)
                          ? 'none: the client signs assertions with its own key'
                          : client.confidential
                            ? 'stored as a hash; shown once when created or rotated'
                            : 'none: this is a public client',
                      ],
                      ['Created', <RelativeTime key="created" at={client.createdAt} />],
                    ]}
                  />
                </Card>
                {may('events') && <RecentErrors client={client} href={href} />}
                {applicationType.name !== 'm2m' && (
                  <WorksWithCard
                    client={client}
                    editable={formProps.editable}
                    save={(input) => formProps.save(input, etagOf(client))}
                  />
                )}
                <Snippets client={client} issuerUrl={issuer.url} />
              </>
            ),
          },
          {
            path: 'settings',
            label: 'Settings',
            content: () => (
              <>
                <EditForm key="general" title="General" fields={generalFields} {...formProps} />
                {applicationType.name !== 'm2m' && (
                  <EditForm
                    key="redirect-uris"
                    title="Redirect URIs"
                    fields={redirectUriFields}
                    {...formProps}
                    prefill={prefillFromHistory(redirectUriFields, client)}
                  />
                )}
                <EditForm
                  key="tokens"
                  title="Tokens"
                  fields={tokenFields}
                  {...formProps}
                  prefill={prefillFromHistory(tokenFields, client)}
                />
                <ProtocolSettings client={client} issuerSettings={issuer.settings} formProps={formProps} />
                {may('deleteClient') && (
                  <DangerZone
                    actions={[
                      {
                        title: 'Delete this client',
                        text: 'Users can no longer sign in to this client. Their access tokens stay valid until they expire.',
                        label: 'Delete client',
                        warning: 'New sign-ins to the application fail immediately.',
                        name: client.name,
                        onConfirm: remove,
                      },
                    ]}
                  />
                )}
              </>
            ),
          },
          claimsTab(formProps, clientId),
          {
            path: 'notes',
            label: 'Notes',
            isVisible: may('notes'),
            content: () => <NotesPanel type="client" id={clientId} name={client.name} />,
          },
        ]}
      />
      {rotating && (
        <ConfirmDialog
          title="Rotate secret"
          label="Create new secret"
          onConfirm={rotate}
          onClose={() => setRotating(false)}
        >
          You get a new secret. The current secret stays valid for 15 minutes, so that you can replace it everywhere.
        </ConfirmDialog>
      )}
      {secret && (
        <SecretDialog
          title="New secret"
          secrets={[{ label: 'Client secret', value: secret }]}
          fileName={`${client.id}.txt`}
          text="The previous secret stays valid for 15 minutes."
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}
