/** One client: how to connect it, its settings, its credentials. */
import { Button } from '@mantine/core'
import { client as clientQuery, deleteClient, rotateClientSecret, updateClient } from 'documents/clients'
import type { UpdateClientInput } from 'documents/types'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { EditForm, versionOf } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useAsk, useFresh, useRun } from '../../graphql/hooks'
import { FindingsAt } from '../../health/findings'
import { Card, Facts } from '../../parts/card'
import { Confirm, DangerZone } from '../../parts/confirm'
import { DetailPage } from '../../parts/detail-page'
import { Icon } from '../../parts/icon'
import { SecretDialog } from '../../parts/secret'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'
import { Notes } from '../notes/notes'
import { kindOf } from './kinds'
import { Snippets } from './snippets'

const general: Field<UpdateClientInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true },
  { kind: 'long', path: 'description', label: 'Description', hint: 'Markdown. For your own people.' },
  {
    kind: 'choice',
    path: 'status',
    label: 'Status',
    hint: 'Nobody can sign in to a disabled client.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'disabled', label: 'Disabled' },
    ],
  },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object of your own.' },
]
const callbacks: Field<UpdateClientInput>[] = [
  {
    kind: 'list',
    path: 'settings.openid.redirect_uris',
    label: 'Callbacks',
    hint: 'Where people come back to after signing in. Compared exactly.',
  },
  {
    kind: 'list',
    path: 'settings.openid.post_logout_redirect_uris',
    label: 'After signing out',
    hint: 'Where people may be sent then.',
  },
  {
    kind: 'url',
    path: 'settings.openid.backchannel_logout_uri',
    label: 'Back-channel logout',
    hint: 'Told by this issuer when a session ends.',
  },
]
const tokens: Field<UpdateClientInput>[] = [
  {
    kind: 'choice',
    path: 'settings.openid.response_signature_alg',
    label: 'Tokens are signed with',
    otherwise: 'ES256',
    options: ['ES256', 'RS256', 'EdDSA'].map((value) => ({ value, label: value })),
  },
  {
    kind: 'number',
    path: 'settings.default_access_token_age',
    label: 'Access tokens last',
    unit: 's',
    placeholder: '1,800',
  },
  { kind: 'number', path: 'settings.default_id_token_age', label: 'ID tokens last', unit: 's', placeholder: '3,600' },
  {
    kind: 'number',
    path: 'settings.default_refresh_token_age',
    label: 'Refresh tokens last',
    unit: 's',
    placeholder: '604,800',
  },
  {
    kind: 'list',
    path: 'settings.openid.allowed_resources',
    label: 'Resources',
    hint: 'APIs that its tokens may be meant for (RFC 8707).',
    placeholder: 'https://api.example.com',
  },
  { kind: 'list', path: 'settings.scopes', label: 'Scopes', hint: 'What it may ask for besides OpenID Connect’s own.' },
]

export function ClientPage({ clientId }: { clientId: string }) {
  const { accountId, issuerId, may } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const fresh = useFresh()
  const [rotating, setRotating] = useState(false)
  const [secret, setSecret] = useState<string>()
  const ids = { accountId, issuerId, clientId }
  const { data, fault, loading, again } = useAsk(clientQuery, ids)
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { client, issuer } = data
  const kind = kindOf(client)
  const list = `${issuerHref(accountId, issuerId)}/clients`
  const href = `${list}/${clientId}`
  const form = {
    thing: client,
    editable: may('updateClient'),
    save: (input: UpdateClientInput, ifMatch: string) =>
      run(updateClient, { ...ids, input, ifMatch }, { done: 'Client saved' }),
    reload: async () => (await fresh(clientQuery, ids)).client,
  }
  const rotate = async () => {
    const { rotateClientSecret: rotated } = await run(rotateClientSecret, ids)
    setSecret(rotated.secret ?? undefined)
  }
  const remove = async () => {
    await run(deleteClient, { ...ids, ifMatch: versionOf(client) }, { done: 'Client deleted', typenames: ['Client'] })
    navigate(list)
  }
  return (
    <>
      <DetailPage
        title={client.name}
        badge={<Status value={client.status} />}
        lead={kind.label}
        href={href}
        above={<FindingsAt path={`clients/${clientId}`} />}
        crumbs={[
          { label: 'Clients', href: list },
          { label: client.name, href },
        ]}
        actions={
          client.confidential &&
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
                  <Facts
                    rows={[
                      ['Client id', <Copyable key="id" value={client.id} label="client id" />],
                      ['Issuer', <Copyable key="url" value={issuer.url} label="issuer address" />],
                      [
                        'Secret',
                        client.confidential ? 'kept as a hash; shown when it is made' : 'none: this client is public',
                      ],
                      ['Made', <Moment key="made" at={client.createdAt} />],
                    ]}
                  />
                </Card>
                <Snippets client={client} issuerUrl={issuer.url} />
              </>
            ),
          },
          {
            path: 'settings',
            label: 'Settings',
            content: () => (
              <>
                <EditForm key="general" title="General" fields={general} {...form} />
                {kind.name !== 'm2m' && <EditForm key="callbacks" title="Addresses" fields={callbacks} {...form} />}
                <EditForm key="tokens" title="Tokens" fields={tokens} {...form} />
                {may('deleteClient') && (
                  <DangerZone
                    dangers={[
                      {
                        title: 'Delete this client',
                        text: 'Nobody can sign in to it any more. Tokens that it has stay good until they expire.',
                        label: 'Delete client',
                        warning: 'The application stops working for whoever signs in next.',
                        name: client.name,
                        run: remove,
                      },
                    ]}
                  />
                )}
              </>
            ),
          },
          {
            path: 'notes',
            label: 'Notes',
            offered: may('notes'),
            content: () => <Notes type="client" id={clientId} name={client.name} />,
          },
        ]}
      />
      {rotating && (
        <Confirm title="Rotate the secret" label="Make a new secret" run={rotate} onClose={() => setRotating(false)}>
          You get a new secret. The present one stays good for 15 minutes, so that you can change it everywhere.
        </Confirm>
      )}
      {secret && (
        <SecretDialog
          title="The new secret"
          secrets={[{ label: 'Client secret', value: secret }]}
          fileName={`${client.id}.txt`}
          text="The old one stays good for 15 minutes."
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}
