/** The page of an API key: access, settings, and actions that rotate, block, unblock or revoke it. */
import { Button } from '@mantine/core'
import {
  apiKey as apiKeyQuery,
  blockApiKey,
  revokeApiKey,
  rotateApiKey,
  unblockApiKey,
  updateApiKey,
} from 'documents/api-keys'
import { useMemo, useState } from 'react'
import { Card, DescriptionList } from '../../components/card'
import { ConfirmDialog, type DangerousAction, DangerZone } from '../../components/confirm-dialog'
import { DetailPage } from '../../components/detail-page'
import { Icon } from '../../components/icon'
import { SecretDialog } from '../../components/secret'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { EditForm } from '../../form/edit-form'
import { showError, useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import { accessFields, detailFields, type KeyForm, toKeyForm, toKeyUpdate } from './fields'
import { useKeyOptions } from './use-key-options'

export function ApiKeyPage({ keyId }: { keyId: string }) {
  const { accountId, may } = useConsoleContext()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const keyOptions = useKeyOptions()
  const [rotating, setRotating] = useState(false)
  const [secret, setSecret] = useState<string>()
  const ids = { accountId, keyId }
  const { data, error, loading, refetch } = useQuery(apiKeyQuery, ids)
  const accessFieldList = useMemo(() => keyOptions && accessFields(keyOptions.scopes, keyOptions.issuers), [keyOptions])
  const keyForm = useMemo(() => data && toKeyForm(data.apiKey), [data])
  if (error && !data) return <ErrorState error={error} onRetry={refetch} />
  if (loading || !keyForm || !accessFieldList || !data) return <PageLoading />
  const key = data.apiKey
  const listHref = `${accountHref(accountId)}/api-keys`
  const href = `${listHref}/${keyId}`
  const isRevoked = key.status === 'revoked'
  const reload = async () => toKeyForm((await fetchLatest(apiKeyQuery, ids)).apiKey)

  const save = async (typed: KeyForm, ifMatch: string) => {
    const input = toKeyUpdate(typed, await reload())
    await mutate(updateApiKey, { ...ids, input, ifMatch }, { successMessage: 'Key saved' })
  }
  const rotate = async () => {
    const { rotateApiKey: rotated } = await mutate(rotateApiKey, ids)
    setSecret(rotated.secretPlain ?? undefined)
  }
  const dangers: DangerousAction[] = []
  if (may('blockApiKey') && key.status !== 'blocked') {
    dangers.push({
      title: 'Block this key',
      text: 'The key does not work until you unblock it.',
      label: 'Block key',
      warning: 'This key stops working immediately. You can unblock it later.',
      onConfirm: () =>
        mutate(blockApiKey, { ...ids, input: { reason: 'Blocked in the console' } }, { successMessage: 'Key blocked' }),
    })
  }
  if (may('revokeApiKey')) {
    dangers.push({
      title: 'Revoke this key',
      text: 'Permanently disables the key.',
      label: 'Revoke key',
      warning: 'This key stops working immediately. This cannot be undone.',
      name: key.name,
      onConfirm: () =>
        mutate(
          revokeApiKey,
          { ...ids, input: { reason: 'Revoked in the console' } },
          { successMessage: 'Key revoked' },
        ),
    })
  }
  const unblock = () => mutate(unblockApiKey, ids, { successMessage: 'Key unblocked' }).catch(showError)
  const formProps = { resource: keyForm, editable: may('updateApiKey') && !isRevoked, save, reload }
  return (
    <>
      <DetailPage
        title={key.name}
        badge={<StatusBadge value={key.status} />}
        href={href}
        crumbs={[
          { label: 'API keys', href: listHref },
          { label: key.name, href },
        ]}
        actions={
          !isRevoked && (
            <>
              {key.status === 'blocked' && may('unblockApiKey') && (
                <Button variant="default" leftSection={<Icon name="play" />} onClick={() => void unblock()}>
                  Unblock
                </Button>
              )}
              {may('rotateApiKey') && (
                <Button variant="default" leftSection={<Icon name="refresh" />} onClick={() => setRotating(true)}>
                  Rotate secret
                </Button>
              )}
            </>
          )
        }
        tabs={[
          {
            path: '',
            label: 'Access',
            content: () => (
              <>
                <Card title="Key">
                  <DescriptionList
                    rows={[
                      ['Key ID', <Copyable key="id" value={key.id} label="key ID" />],
                      ['Secret', `stored as a hash; ends in ${key.secretHint}`],
                      ['Expires', <RelativeTime key="expires" at={key.expiresAt} />],
                      ['Created', <RelativeTime key="created" at={key.createdAt} />],
                      key.statusReason ? ['Status reason', key.statusReason] : undefined,
                    ]}
                  />
                </Card>
                <EditForm
                  key="access"
                  title="Access"
                  text="Grant only what is needed. You can grant only scopes that you have."
                  fields={accessFieldList}
                  {...formProps}
                />
                {!isRevoked && <DangerZone actions={dangers} />}
              </>
            ),
          },
          {
            path: 'settings',
            label: 'Settings',
            content: () => <EditForm key="general" title="General" fields={detailFields} {...formProps} />,
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
          secrets={[{ label: 'Secret', value: secret }]}
          fileName={`${key.id}.txt`}
          text="The previous secret stays valid for 15 minutes."
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}
