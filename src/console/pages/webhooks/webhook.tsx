/** The page of a webhook: statistics, deliveries and settings. */
import { Button } from '@mantine/core'
import { deleteWebhook, testWebhook, updateWebhook, webhook as webhookQuery } from 'documents/webhooks'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { Card, DescriptionList } from '../../components/card'
import { DangerZone } from '../../components/confirm-dialog'
import { DetailPage } from '../../components/detail-page'
import { Icon } from '../../components/icon'
import { type Secret, SecretDialog } from '../../components/secret'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { EditForm, etagOf } from '../../form/edit-form'
import { showError, useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import { ResourceFindings } from '../../health/findings'
import { Deliveries } from './deliveries'
import { listSecrets, settingsFields, toWebhookInput, type WebhookForm } from './fields'

/** @param rate 0 to 1 */
export const formatPercent = (rate: number | null | undefined): string =>
  rate === null || rate === undefined ? '–' : `${(rate * 100).toFixed(rate === 1 ? 0 : 1)} %`

const authLabels: Record<string, string> = {
  none: 'none',
  bearer: 'bearer token',
  signature: 'signature',
  'bearer+signature': 'bearer token and signature',
}

export function WebhookPage({ webhookId }: { webhookId: string }) {
  const { accountId, may } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const [secrets, setSecrets] = useState<Secret[]>([])
  const [testing, setTesting] = useState(false)
  const ids = { accountId, webhookId }
  const { data, error, loading, refetch } = useQuery(webhookQuery, ids)
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const { webhook } = data
  const name = webhook.name ?? new URL(webhook.url).host
  const listHref = `${accountHref(accountId)}/webhooks`
  const href = `${listHref}/${webhookId}`
  const save = async (input: WebhookForm, ifMatch: string) => {
    const { updateWebhook: saved } = await mutate(
      updateWebhook,
      { ...ids, input: toWebhookInput(input), ifMatch },
      { successMessage: 'Webhook saved' },
    )
    setSecrets(listSecrets(saved))
  }
  const test = async () => {
    setTesting(true)
    try {
      await mutate(testWebhook, ids, { successMessage: 'Test event queued', typenames: ['WebhookDelivery'] })
    } catch (error) {
      showError(error)
    }
    setTesting(false)
  }
  const remove = async () => {
    await mutate(
      deleteWebhook,
      { ...ids, ifMatch: etagOf(webhook) },
      { successMessage: 'Webhook deleted', typenames: ['Webhook'] },
    )
    navigate(listHref)
  }
  return (
    <>
      <DetailPage
        title={name}
        badge={<StatusBadge value={webhook.status} />}
        {...(name !== webhook.url && { lead: webhook.url })}
        href={href}
        beforeTabs={<ResourceFindings path={`webhooks/${webhookId}`} />}
        crumbs={[
          { label: 'Webhooks', href: listHref },
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
                <Card title="Statistics">
                  <DescriptionList
                    rows={[
                      ['Success rate', formatPercent(webhook.stats.successRate)],
                      ['Last accepted delivery', <RelativeTime key="last" at={webhook.stats.lastDeliveryAt} />],
                      ['Events', webhook.eventTypes?.length ? webhook.eventTypes.join(', ') : 'all'],
                      ['Authentication', authLabels[webhook.auth] ?? webhook.auth],
                      ['Webhook ID', <Copyable key="id" value={webhook.id} label="webhook ID" />],
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
                  text="If you change the authentication, new secrets are created. If the webhook has a bearer token and you change the scheme, host or port of the URL, a new bearer token is created."
                  fields={settingsFields}
                  resource={webhook}
                  editable={may('updateWebhook')}
                  save={save}
                  reload={async () => (await fetchLatest(webhookQuery, ids)).webhook}
                />
                {may('deleteWebhook') && (
                  <DangerZone
                    actions={[
                      {
                        title: 'Delete this webhook',
                        text: 'Pending deliveries are canceled.',
                        label: 'Delete webhook',
                        warning: 'Deliveries stop immediately, and pending deliveries are canceled.',
                        name,
                        onConfirm: remove,
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
          text="If the signing secret was replaced, deliveries are also signed with the previous one for 24 hours."
          onClose={() => setSecrets([])}
        />
      )}
    </>
  )
}
