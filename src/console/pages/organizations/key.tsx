/** One API key of an organization: what it may do, and the means to change its secret or end it. */
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
import { EditForm } from '../../form/edit-form'
import { tellFault, useAsk, useFresh, useRun } from '../../graphql/hooks'
import { Card, Facts } from '../../parts/card'
import { Confirm, DangerZone } from '../../parts/confirm'
import { Icon } from '../../parts/icon'
import { LinkButton } from '../../parts/link'
import { SecretDialog } from '../../parts/secret'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment, Status } from '../../parts/values'
import { changeOf, formOf, type KeyForm, moreFields, organizationReachFields } from '../api-keys/fields'
import { useOrganization } from './place'

export function KeyView({ keyId }: { keyId: string }) {
  const { ids, href, may, scopes } = useOrganization()
  const run = useRun()
  const fresh = useFresh()
  const [rotating, setRotating] = useState(false)
  const [secret, setSecret] = useState<string>()
  const at = { ...ids, keyId }
  const { data, fault, loading, again } = useAsk(organizationApiKey, at)
  const reach = useMemo(() => organizationReachFields(scopes), [scopes])
  const thing = useMemo(() => data && formOf(data.organizationApiKey), [data])
  if (loading) return <PageLoading />
  if (fault || !data || !thing) return <FaultState fault={fault!} again={again} />
  const key = data.organizationApiKey
  const lives = key.status !== 'revoked' && key.status !== 'expired'
  const reload = async () => formOf((await fresh(organizationApiKey, at)).organizationApiKey)
  const save = async (typed: KeyForm, ifMatch: string) => {
    const input = changeOf(typed, await reload())
    await run(updateOrganizationApiKey, { ...at, input, ifMatch }, { done: 'Key saved' })
  }
  const form = { thing, editable: lives && may('updateOrganizationApiKey'), save, reload }
  const rotate = async () => {
    const { rotateOrganizationApiKey: rotated } = await run(rotateOrganizationApiKey, at)
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
              onClick={() => void run(blockOrganizationApiKey, at, { done: 'Key blocked' }).catch(tellFault)}
            >
              Block
            </Button>
          )}
          {key.status === 'blocked' && may('unblockOrganizationApiKey') && (
            <Button
              variant="default"
              leftSection={<Icon name="play" />}
              onClick={() => void run(unblockOrganizationApiKey, at, { done: 'Key works again' }).catch(tellFault)}
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
        <Facts
          rows={[
            ['Key id', <Copyable key="id" value={key.id} label="key id" />],
            ['Status', <Status key="status" value={key.status} />],
            ['Secret', `ends in ${key.secretHint}`],
            ['Ends', <Moment key="ends" at={key.expiresAt} />],
            ['Made', <Moment key="made" at={key.createdAt} />],
            key.statusReason ? ['Why it is so', key.statusReason] : undefined,
          ]}
        />
      </Card>
      <EditForm key="reach" title="What it may do" fields={reach} {...form} />
      <EditForm key="general" title="General" fields={moreFields} {...form} />
      {lives && may('revokeOrganizationApiKey') && (
        <DangerZone
          dangers={[
            {
              title: 'Revoke this key',
              text: 'It stops working at once, for ever.',
              label: 'Revoke key',
              warning: 'Whatever uses this key is refused from now on. A revoked key cannot come back.',
              name: key.name,
              run: () => run(revokeOrganizationApiKey, at, { done: 'Key revoked' }),
            },
          ]}
        />
      )}
      {rotating && (
        <Confirm title="Rotate the secret" label="Make a new secret" run={rotate} onClose={() => setRotating(false)}>
          The present secret works for 15 more minutes, so that you can put the new one in its place.
        </Confirm>
      )}
      {secret && (
        <SecretDialog
          title="The new secret"
          secrets={[{ label: 'Secret', value: secret }]}
          fileName={`${key.id}.txt`}
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}
