/** The API keys by which a backend acts as the organization. */
import { Button, Group } from '@mantine/core'
import { createOrganizationApiKey, organizationApiKeys } from 'documents/organization-keys'
import type { CreateOrganizationApiKeyInput } from 'documents/types'
import { useState } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { SecretDialog } from '../../parts/secret'
import { Moment, Status } from '../../parts/values'
import { KeyView } from './key'
import { Words } from './members'
import { useOrganization } from './place'

const DAY = 86_400_000

export function OrganizationKeys() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/issuers/:issuerId/organizations/:orgId/keys/:keyId">
        {({ keyId }) => <KeyView key={keyId} keyId={keyId!} />}
      </Route>
      <Route>{() => <KeyList />}</Route>
    </Switch>
  )
}

type NewKey = CreateOrganizationApiKeyInput & { days: string }

const fields: Field<NewKey>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Order service' },
  { kind: 'text', path: 'description', label: 'Description' },
  {
    kind: 'list',
    path: 'restrictions.scopes',
    label: 'Scopes',
    hint: 'What it may do. Without any, all that the organization may.',
  },
  {
    kind: 'list',
    path: 'restrictions.ip_allowlist',
    label: 'Addresses',
    hint: 'Where it may be used from. Without any, from everywhere.',
    placeholder: '203.0.113.0/24',
  },
  {
    kind: 'choice',
    path: 'days',
    label: 'Works for',
    options: [
      { value: '30', label: '30 days' },
      { value: '90', label: '90 days' },
      { value: '365', label: 'A year' },
      { value: '0', label: 'Ever, until it is revoked' },
    ],
  },
]

function KeyList() {
  const { ids, href, may } = useOrganization()
  const [, navigate] = useLocation()
  const [params, setParams] = useSearchParams()
  const [made, setMade] = useState<{ id: string; secret: string }>()
  const run = useRun()
  const open = () => setParams({ new: '1' }, { replace: true })
  const create = async ({ days, restrictions, ...typed }: NewKey) => {
    const input: CreateOrganizationApiKeyInput = {
      ...typed,
      type: 'api_key',
      restrictions: restrictions ?? {},
      ...(days !== '0' && { expiresAt: Date.now() + Number(days) * DAY }),
    }
    const { createOrganizationApiKey: key } = await run(createOrganizationApiKey, { ...ids, input })
    setParams({}, { replace: true })
    if (key.secretPlain) setMade({ id: key.id, secret: key.secretPlain })
  }
  return (
    <>
      {may('createOrganizationApiKey') && (
        <Group gap="xs" mb="md">
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New key
          </Button>
        </Group>
      )}
      <List
        label="API keys"
        query={organizationApiKeys}
        variables={ids}
        page={(data) => data.organizationApiKeys}
        typename="ApiKey"
        href={({ id }) => `${href}/keys/${id}`}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: ['active', 'blocked', 'suspended', 'revoked', 'expired'].map((value) => ({ value, label: value })),
          },
        ]}
        columns={[
          {
            head: 'Name',
            cell: ({ name, secretHint }) => (
              <Named mark={<Icon name="key" />} name={name} text={`ends in ${secretHint}`} />
            ),
          },
          { head: 'Scopes', wide: true, cell: ({ scopes }) => <Words words={scopes ?? []} none="all" /> },
          { head: 'Status', width: '125px', cell: ({ status }) => <Status value={status} /> },
          {
            head: 'Ends',
            width: '120px',
            wide: true,
            cell: ({ expiresAt }) => <Moment at={expiresAt} />,
          },
        ]}
        empty={{
          icon: 'key',
          title: 'No key yet',
          text: 'With a key, a backend of this organization calls the Core API as the organization, not as one of its people.',
          ...(may('createOrganizationApiKey') && { action: 'New key', onAction: open }),
        }}
      />
      {params.has('new') && may('createOrganizationApiKey') && (
        <CreateDialog
          title="New API key"
          fields={fields}
          initial={{ days: '90' }}
          submit="Make key"
          create={create}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
      {made && (
        <SecretDialog
          title="Your organization’s key"
          secrets={[
            { label: 'Key id', value: made.id },
            { label: 'Secret', value: made.secret },
          ]}
          fileName={`${made.id}.txt`}
          onClose={() => {
            setMade(undefined)
            navigate(`${href}/keys/${made.id}`)
          }}
        />
      )}
    </>
  )
}
