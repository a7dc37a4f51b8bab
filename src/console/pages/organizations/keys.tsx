/** The API keys by which a backend acts as the organization. */
import { Button, Group } from '@mantine/core'
import { createOrganizationApiKey, organizationApiKeys } from 'documents/organization-keys'
import type { CreateOrganizationApiKeyInput } from 'documents/types'
import { useMemo, useState } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import { useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { SecretDialog } from '../../parts/secret'
import { Moment, Status } from '../../parts/values'
import { generalFields, type KeyForm, organizationReachFields, restrictionsFor } from '../api-keys/fields'
import { KeyView } from './key'
import { Words } from './members'
import { useOrganization } from './place'

/** How long a key works unless something else is chosen (milliseconds). */
const DEFAULT_LIFE = 90 * 86_400_000

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

function KeyList() {
  const { ids, href, may, scopes } = useOrganization()
  const [, navigate] = useLocation()
  const [params, setParams] = useSearchParams()
  const [made, setMade] = useState<{ id: string; secret: string }>()
  const run = useRun()
  const open = () => setParams({ new: '1' }, { replace: true })
  const fields = useMemo(() => [...generalFields, ...organizationReachFields(scopes)], [scopes])
  const create = async ({ reach, restrictions, ...typed }: KeyForm) => {
    const input: CreateOrganizationApiKeyInput = {
      ...typed,
      type: 'api_key',
      restrictions: { ...restrictionsFor(reach ?? 'some', restrictions ?? {}) },
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
          initial={{ reach: 'some', expiresAt: Date.now() + DEFAULT_LIFE }}
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
