/** API keys with which a backend acts as the organization. */
import { Button, Group } from '@mantine/core'
import { createOrganizationApiKey, organizationApiKeys } from 'documents/organization-keys'
import type { CreateOrganizationApiKeyInput } from 'documents/types'
import { useMemo, useState } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { Icon } from '../../components/icon'
import { SecretDialog } from '../../components/secret'
import { RelativeTime, StatusBadge } from '../../components/values'
import { CreateDialog } from '../../form/create-dialog'
import { useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { buildRestrictions, generalFields, type KeyForm, organizationAccessFields } from '../api-keys/fields'
import { OrganizationKeyPage } from './key'
import { TagList } from './members'
import { useOrganization } from './organization-context'

/** Default lifetime of a new key (milliseconds). */
const DEFAULT_LIFETIME_MS = 90 * 86_400_000

export function OrganizationKeys() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/issuers/:issuerId/organizations/:orgId/keys/:keyId">
        {({ keyId }) => <OrganizationKeyPage key={keyId} keyId={keyId!} />}
      </Route>
      <Route>{() => <OrganizationKeyList />}</Route>
    </Switch>
  )
}

function OrganizationKeyList() {
  const { ids, href, may, scopes } = useOrganization()
  const [, navigate] = useLocation()
  const [params, setParams] = useSearchParams()
  const [created, setCreated] = useState<{ id: string; secret: string }>()
  const mutate = useMutation()
  const open = () => setParams({ new: '1' }, { replace: true })
  const fields = useMemo(() => [...generalFields, ...organizationAccessFields(scopes)], [scopes])
  const create = async ({ accessMode, restrictions, ...typed }: KeyForm) => {
    const input: CreateOrganizationApiKeyInput = {
      ...typed,
      type: 'api_key',
      restrictions: { ...buildRestrictions(accessMode ?? 'some', restrictions ?? {}) },
    }
    const { createOrganizationApiKey: key } = await mutate(createOrganizationApiKey, { ...ids, input })
    setParams({}, { replace: true })
    if (key.secretPlain) setCreated({ id: key.id, secret: key.secretPlain })
  }
  return (
    <>
      {may('createOrganizationApiKey') && (
        <Group gap="xs" mb="md">
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Create key
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
            header: 'Name',
            cell: ({ name, secretHint }) => (
              <NameCell mark={<Icon name="key" />} name={name} text={`ends in ${secretHint}`} />
            ),
          },
          {
            header: 'Scopes',
            hideOnMobile: true,
            cell: ({ scopes }) => <TagList tags={scopes ?? []} emptyText="all" />,
          },
          { header: 'Status', width: '125px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Expires',
            width: '120px',
            hideOnMobile: true,
            cell: ({ expiresAt }) => <RelativeTime at={expiresAt} />,
          },
        ]}
        empty={{
          icon: 'key',
          title: 'No API keys yet',
          text: 'With an API key, a backend calls the Core API as this organization instead of as a user.',
          ...(may('createOrganizationApiKey') && { action: 'Create key', onAction: open }),
        }}
      />
      {params.has('new') && may('createOrganizationApiKey') && (
        <CreateDialog
          title="Create API key"
          fields={fields}
          initial={{ accessMode: 'some', expiresAt: Date.now() + DEFAULT_LIFETIME_MS }}
          submitLabel="Create key"
          create={create}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
      {created && (
        <SecretDialog
          title="Organization API key"
          secrets={[
            { label: 'Key ID', value: created.id },
            { label: 'Secret', value: created.secret },
          ]}
          fileName={`${created.id}.txt`}
          onClose={() => {
            setCreated(undefined)
            navigate(`${href}/keys/${created.id}`)
          }}
        />
      )}
    </>
  )
}
