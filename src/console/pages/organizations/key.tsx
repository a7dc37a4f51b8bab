/** The page of an organization's API key: access, settings, and actions that rotate, block, unblock
 * or revoke it. */
import { Button, Group } from '@mantine/core'
import {
  blockOrganizationApiKey,
  organizationApiKey,
  revokeOrganizationApiKey,
  rotateOrganizationApiKey,
  unblockOrganizationApiKey,
  updateOrganizationApiKey,
} from 'documents/organization-keys'
import { useMemo, useState } from 'react'
import { Card, DescriptionList } from '../../components/card'
import { ConfirmDialog, DangerZone } from '../../components/confirm-dialog'
import { Icon } from '../../components/icon'
import { LinkButton } from '../../components/link'
import { SecretDialog } from '../../components/secret'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { EditForm } from '../../form/edit-form'
import { showError, useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import { detailFields, type KeyForm, organizationAccessFields, toKeyForm, toKeyUpdate } from '../api-keys/fields'
import { useOrganization } from './organization-context'

export function OrganizationKeyPage({ keyId }: { keyId: string }) {
  const { ids, href, may, scopes } = useOrganization()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const [rotating, setRotating] = useState(false)
  const [secret, setSecret] = useState<string>()
  const keyIds = { ...ids, keyId }
  const { data, error, loading, refetch } = useQuery(organizationApiKey, keyIds)
  const accessFieldList = useMemo(() => organizationAccessFields(scopes), [scopes])
  const keyForm = useMemo(() => data && toKeyForm(data.organizationApiKey), [data])
  if (loading) return <PageLoading />
  if (error || !data || !keyForm) return <ErrorState error={error!} onRetry={refetch} />
  const key = data.organizationApiKey
  const isUsable = key.status !== 'revoked' && key.status !== 'expired'
  const reload = async () => toKeyForm((await fetchLatest(organizationApiKey, keyIds)).organizationApiKey)
  const save = async (typed: KeyForm, ifMatch: string) => {
    const input = toKeyUpdate(typed, await reload())
    await mutate(updateOrganizationApiKey, { ...keyIds, input, ifMatch }, { successMessage: 'Key saved' })
  }
  const formProps = { resource: keyForm, editable: isUsable && may('updateOrganizationApiKey'), save, reload }
  const rotate = async () => {
    const { rotateOrganizationApiKey: rotated } = await mutate(rotateOrganizationApiKey, keyIds)
    setSecret(rotated.secretPlain ?? undefined)
  }
  return (
    <>
      <Group gap="xs" mb="md" justify="space-between">
        <LinkButton
          href={`${href}/keys`}
          variant="subtle"
          color="gray"
          leftSection={<Icon name="chevronLeft" size={14} />}
        >
          All keys
        </LinkButton>
        <Group gap="xs">
          {key.status === 'active' && may('blockOrganizationApiKey') && (
            <Button
              variant="default"
              leftSection={<Icon name="pause" />}
              onClick={() =>
                void mutate(blockOrganizationApiKey, keyIds, { successMessage: 'Key blocked' }).catch(showError)
              }
            >
              Block
            </Button>
          )}
          {key.status === 'blocked' && may('unblockOrganizationApiKey') && (
            <Button
              variant="default"
              leftSection={<Icon name="play" />}
              onClick={() =>
                void mutate(unblockOrganizationApiKey, keyIds, { successMessage: 'Key unblocked' }).catch(showError)
              }
            >
              Unblock
            </Button>
          )}
          {key.status === 'active' && may('rotateOrganizationApiKey') && (
            <Button variant="default" leftSection={<Icon name="refresh" />} onClick={() => setRotating(true)}>
              Rotate secret
            </Button>
          )}
        </Group>
      </Group>
      <Card title={key.name}>
        <DescriptionList
          rows={[
            ['Key ID', <Copyable key="id" value={key.id} label="key ID" />],
            ['Status', <StatusBadge key="status" value={key.status} />],
            ['Secret', `stored as a hash; ends in ${key.secretHint}`],
            ['Expires', <RelativeTime key="expires" at={key.expiresAt} />],
            ['Created', <RelativeTime key="created" at={key.createdAt} />],
            key.statusReason ? ['Status reason', key.statusReason] : undefined,
          ]}
        />
      </Card>
      <EditForm key="access" title="Access" fields={accessFieldList} {...formProps} />
      <EditForm key="general" title="General" fields={detailFields} {...formProps} />
      {isUsable && may('revokeOrganizationApiKey') && (
        <DangerZone
          actions={[
            {
              title: 'Revoke this key',
              text: 'Permanently disables the key.',
              label: 'Revoke key',
              warning: 'This key stops working immediately. This cannot be undone.',
              name: key.name,
              onConfirm: () => mutate(revokeOrganizationApiKey, keyIds, { successMessage: 'Key revoked' }),
            },
          ]}
        />
      )}
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
          secrets={[{ label: 'Secret', value: secret }]}
          fileName={`${key.id}.txt`}
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}
