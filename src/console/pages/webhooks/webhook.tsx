/** One webhook: its deliveries, figures and settings. */
import { Button } from '@mantine/core'
import { deleteWebhook, testWebhook, updateWebhook, webhook as webhookQuery } from 'documents/webhooks'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { EditForm, versionOf } from '../../form/edit-form'
import { tellFault, useAsk, useFresh, useRun } from '../../graphql/hooks'
import { FindingsAt } from '../../health/findings'
import { Card, Facts } from '../../parts/card'
import { DangerZone } from '../../parts/confirm'
import { DetailPage } from '../../parts/detail-page'
import { Icon } from '../../parts/icon'
import { type Secret, SecretDialog } from '../../parts/secret'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment, Status } from '../../parts/values'
import { accountHref, usePlace } from '../../place'
import { Deliveries } from './deliveries'
import { secretsOf, settingsFields, type WebhookForm, webhookInput } from './fields'

/** @param rate 0 to 1 */
export const percent = (rate: number | null | undefined): string =>
  rate === null || rate === undefined ? '–' : `${(rate * 100).toFixed(rate === 1 ? 0 : 1)} %`

const proofs: Record<string, string> = {
  none: 'not at all',
  bearer: 'by a bearer token',
  signature: 'by a signature',
  'bearer+signature': 'by a bearer token and a signature',
}

export function WebhookPage({ webhookId }: { webhookId: string }) {
  const { accountId, may } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const fresh = useFresh()
  const [secrets, setSecrets] = useState<Secret[]>([])
  const [testing, setTesting] = useState(false)
  const ids = { accountId, webhookId }
  const { data, fault, loading, again } = useAsk(webhookQuery, ids)
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { webhook } = data
  const name = webhook.name ?? new URL(webhook.url).host
  const list = `${accountHref(accountId)}/webhooks`
  const href = `${list}/${webhookId}`
  const save = async (input: WebhookForm, ifMatch: string) => {
    const { updateWebhook: saved } = await run(
      updateWebhook,
      { ...ids, input: webhookInput(input), ifMatch },
      { done: 'Webhook saved' },
    )
    setSecrets(secretsOf(saved))
  }
  const test = async () => {
    setTesting(true)
    try {
      await run(testWebhook, ids, { done: 'Test event is on its way', typenames: ['WebhookDelivery'] })
    } catch (trouble) {
      tellFault(trouble)
    }
    setTesting(false)
  }
  const remove = async () => {
    await run(
      deleteWebhook,
      { ...ids, ifMatch: versionOf(webhook) },
      { done: 'Webhook deleted', typenames: ['Webhook'] },
    )
    navigate(list)
  }
  return (
    <>
      <DetailPage
        title={name}
        badge={<Status value={webhook.status} />}
        {...(name !== webhook.url && { lead: webhook.url })}
        href={href}
        above={<FindingsAt path={`webhooks/${webhookId}`} />}
        crumbs={[
          { label: 'Webhooks', href: list },
          { label: name, href },
        ]}
        actions={
          may('testWebhook') && (
            <Button variant="default" leftSection={<Icon name="play" />} loading={testing} onClick={() => void test()}>
              Send test event
            </Button>
          )
        }
        tabs={[
          {
            path: '',
            label: 'Deliveries',
            content: () => (
              <>
                <Card title="Figures">
                  <Facts
                    rows={[
                      ['Accepted attempts', percent(webhook.stats.successRate)],
                      ['Last accepted', <Moment key="last" at={webhook.stats.lastDeliveryAt} />],
                      ['Listens to', webhook.eventTypes?.length ? webhook.eventTypes.join(', ') : 'every event'],
                      ['Proves itself', proofs[webhook.auth] ?? webhook.auth],
                      ['Webhook id', <Copyable key="id" value={webhook.id} label="webhook id" />],
                    ]}
                  />
                </Card>
                {may('webhookDeliveries') && <Deliveries webhookId={webhookId} />}
              </>
            ),
          },
          {
            path: 'settings',
            label: 'Settings',
            content: () => (
              <>
                <EditForm
                  title="General"
                  text="Another way to prove itself brings new secrets; another host brings a new bearer token."
                  fields={settingsFields}
                  thing={webhook}
                  editable={may('updateWebhook')}
                  save={save}
                  reload={async () => (await fresh(webhookQuery, ids)).webhook}
                />
                {may('deleteWebhook') && (
                  <DangerZone
                    dangers={[
                      {
                        title: 'Delete this webhook',
                        text: 'What waits to be delivered is cancelled.',
                        label: 'Delete webhook',
                        warning: 'Nothing is sent there any more, and what waits is cancelled.',
                        name,
                        run: remove,
                      },
                    ]}
                  />
                )}
              </>
            ),
          },
        ]}
      />
      {secrets.length > 0 && (
        <SecretDialog
          title="New secrets"
          secrets={secrets}
          fileName={`${webhookId}.txt`}
          text="The signing secret before it signs too for 24 hours."
          onClose={() => setSecrets([])}
        />
      )}
    </>
  )
}
