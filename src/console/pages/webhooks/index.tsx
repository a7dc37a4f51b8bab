/** The webhooks of an account: routes, list, and the dialog that creates a webhook. */
import { Button } from '@mantine/core'
import { createWebhook, webhooks } from 'documents/webhooks'
import { useState } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { type Secret, SecretDialog } from '../../components/secret'
import { RelativeTime, StatusBadge } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import { useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { endpointFields, listSecrets, toWebhookInput, type WebhookForm } from './fields'
import { formatPercent, WebhookPage } from './webhook'

export default function Webhooks() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/webhooks/:webhookId/*?">
        {({ webhookId }) => <WebhookPage key={webhookId} webhookId={webhookId!} />}
      </Route>
      <Route>{() => <WebhookList />}</Route>
    </Switch>
  )
}

function WebhookList() {
  const { accountId, may } = useConsoleContext()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  return (
    <Page
      title="Webhooks"
      lead="Send the events of this account to your services."
      actions={
        may('createWebhook') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Create webhook
          </Button>
        )
      }
    >
      <List
        label="Webhooks"
        query={webhooks}
        variables={{ accountId }}
        page={(data) => data.webhooks}
        typename="Webhook"
        href={({ id }) => `${accountHref(accountId)}/webhooks/${id}`}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: [
              { value: 'active', label: 'Active' },
              { value: 'disabled', label: 'Disabled' },
              { value: 'deleted', label: 'Deleted' },
            ],
          },
        ]}
        columns={[
          {
            header: 'Webhook',
            cell: ({ name, url }) => (
              <NameCell mark={<Icon name="webhook" />} name={name ?? new URL(url).host} text={url} />
            ),
          },
          {
            header: 'Events',
            width: '110px',
            hideOnMobile: true,
            cell: ({ eventTypes }) => (eventTypes?.length ? `${eventTypes.length} types` : 'all'),
          },
          {
            header: 'Success rate',
            width: '110px',
            hideOnMobile: true,
            cell: ({ stats }) => formatPercent(stats.successRate),
          },
          { header: 'Status', width: '120px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Last delivery',
            width: '140px',
            hideOnMobile: true,
            cell: ({ stats }) => <RelativeTime at={stats.lastDeliveryAt} />,
          },
        ]}
        empty={{
          icon: 'webhook',
          title: 'No webhooks yet',
          text: 'Enter a URL of your service. Gatehouse sends the events of this account to this URL and retries failed deliveries.',
          ...(may('createWebhook') && { action: 'Create webhook', onAction: open }),
        }}
      />
      {params.has('new') && may('createWebhook') && <CreateWebhook onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}

function CreateWebhook({ onClose }: { onClose: () => void }) {
  const { accountId } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const [created, setCreated] = useState<{ id: string; secrets: Secret[] }>()
  const goTo = (id: string) => navigate(`${accountHref(accountId)}/webhooks/${id}`)
  const create = async (typed: WebhookForm) => {
    const variables = { accountId, input: toWebhookInput(typed) }
    const { createWebhook: webhook } = await mutate(createWebhook, variables, {
      successMessage: 'Webhook created',
      typenames: ['Webhook'],
    })
    const secrets = listSecrets(webhook)
    if (secrets.length === 0) return goTo(webhook.id)
    setCreated({ id: webhook.id, secrets })
  }
  if (created) {
    return (
      <SecretDialog
        title="Webhook secrets"
        secrets={created.secrets}
        fileName={`${created.id}.txt`}
        text="Your service uses these secrets to verify that a delivery comes from this deployment. To get new secrets, change the authentication of the webhook."
        onClose={() => goTo(created.id)}
      />
    )
  }
  return (
    <CreateDialog
      title="Create webhook"
      fields={endpointFields}
      initial={{ auth: 'signature' }}
      submitLabel="Create webhook"
      create={create}
      onClose={onClose}
    />
  )
}
