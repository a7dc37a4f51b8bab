/** One API key: what it may do, and the ways to end that. */
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
import { EditForm } from '../../form/edit-form'
import { tellFault, useAsk, useFresh, useRun } from '../../graphql/hooks'
import { Card, Facts } from '../../parts/card'
import { Confirm, type Danger, DangerZone } from '../../parts/confirm'
import { DetailPage } from '../../parts/detail-page'
import { Icon } from '../../parts/icon'
import { SecretDialog } from '../../parts/secret'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment, Status } from '../../parts/values'
import { accountHref, usePlace } from '../../place'
import { changeOf, formOf, type KeyForm, moreFields, reachFields } from './fields'
import { useKeyChoices } from './use-choices'

export function ApiKeyPage({ keyId }: { keyId: string }) {
  const { accountId, may } = usePlace()
  const run = useRun()
  const fresh = useFresh()
  const choices = useKeyChoices()
  const [rotating, setRotating] = useState(false)
  const [secret, setSecret] = useState<string>()
  const ids = { accountId, keyId }
  const { data, fault, loading, again } = useAsk(apiKeyQuery, ids)
  const reach = useMemo(() => choices && reachFields(choices.scopes, choices.issuers), [choices])
  const thing = useMemo(() => data && formOf(data.apiKey), [data])
  if (fault && !data) return <FaultState fault={fault} again={again} />
  if (loading || !thing || !reach || !data) return <PageLoading />
  const key = data.apiKey
  const list = `${accountHref(accountId)}/api-keys`
  const href = `${list}/${keyId}`
  const isOver = key.status === 'revoked'
  const reload = async () => formOf((await fresh(apiKeyQuery, ids)).apiKey)

  const save = async (typed: KeyForm, ifMatch: string) => {
    const input = changeOf(typed, await reload())
    await run(updateApiKey, { ...ids, input, ifMatch }, { done: 'Key saved' })
  }
  const rotate = async () => {
    const { rotateApiKey: rotated } = await run(rotateApiKey, ids)
    setSecret(rotated.secretPlain ?? undefined)
  }
  const dangers: Danger[] = []
  if (may('blockApiKey') && key.status !== 'blocked') {
    dangers.push({
      title: 'Block this key',
      text: 'It is refused until somebody unblocks it.',
      label: 'Block key',
      warning: 'Whatever uses this key is refused from now on. You can unblock it.',
      run: () => run(blockApiKey, { ...ids, input: { reason: 'Blocked in the console' } }, { done: 'Key blocked' }),
    })
  }
  if (may('revokeApiKey')) {
    dangers.push({
      title: 'Revoke this key',
      text: 'It ends for good.',
      label: 'Revoke key',
      warning: 'Whatever uses this key is refused from now on, and nobody can bring it back.',
      name: key.name,
      run: () => run(revokeApiKey, { ...ids, input: { reason: 'Revoked in the console' } }, { done: 'Key revoked' }),
    })
  }
  const unblock = () => run(unblockApiKey, ids, { done: 'Key is active again' }).catch(tellFault)
  const form = { thing, editable: may('updateApiKey') && !isOver, save, reload }
  return (
    <>
      <DetailPage
        title={key.name}
        badge={<Status value={key.status} />}
        href={href}
        crumbs={[
          { label: 'API keys', href: list },
          { label: key.name, href },
        ]}
        actions={
          !isOver && (
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
                  <Facts
                    rows={[
                      ['Key id', <Copyable key="id" value={key.id} label="key id" />],
                      ['Secret', `kept as a hash; ends in ${key.secretHint}`],
                      ['Expires', <Moment key="expires" at={key.expiresAt} />],
                      ['Made', <Moment key="made" at={key.createdAt} />],
                      key.statusReason ? [`Why ${key.status}`, key.statusReason] : undefined,
                    ]}
                  />
                </Card>
                <EditForm
                  key="reach"
                  title="What it may do"
                  text="The narrower a key, the less is lost with it. You can give what you have yourself."
                  fields={reach}
                  {...form}
                />
                {!isOver && <DangerZone dangers={dangers} />}
              </>
            ),
          },
          {
            path: 'settings',
            label: 'Settings',
            content: () => <EditForm key="general" title="General" fields={moreFields} {...form} />,
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
          secrets={[{ label: 'Secret', value: secret }]}
          fileName={`${key.id}.txt`}
          text="The old one stays good for 15 minutes."
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}
