/** The webhooks of an account: the list, and one of them. */
import { Button } from '@mantine/core'
import { createWebhook, webhooks } from 'documents/webhooks'
import { useState } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import { useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { type Secret, SecretDialog } from '../../parts/secret'
import { Moment, Status } from '../../parts/values'
import { accountHref, usePlace } from '../../place'
import { addressFields, secretsOf, type WebhookForm, webhookInput } from './fields'
import { percent, WebhookPage } from './webhook'

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
  const { accountId, may } = usePlace()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  return (
    <Page
      title="Webhooks"
      lead="Tell your own services what happens in this account."
      actions={
        may('createWebhook') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New webhook
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
            head: 'Webhook',
            cell: ({ name, url }) => (
              <Named mark={<Icon name="webhook" />} name={name ?? new URL(url).host} text={url} />
            ),
          },
          {
            head: 'Events',
            width: '110px',
            wide: true,
            cell: ({ eventTypes }) => (eventTypes?.length ? `${eventTypes.length} types` : 'all'),
          },
          { head: 'Accepted', width: '110px', wide: true, cell: ({ stats }) => percent(stats.successRate) },
          { head: 'Status', width: '120px', cell: ({ status }) => <Status value={status} /> },
          {
            head: 'Last delivery',
            width: '140px',
            wide: true,
            cell: ({ stats }) => <Moment at={stats.lastDeliveryAt} />,
          },
        ]}
        empty={{
          icon: 'webhook',
          title: 'No webhook yet',
          text: 'Give an address of yours; what happens in this account is sent there, signed, until it is accepted.',
          ...(may('createWebhook') && { action: 'New webhook', onAction: open }),
        }}
      />
      {params.has('new') && may('createWebhook') && <CreateWebhook onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}

function CreateWebhook({ onClose }: { onClose: () => void }) {
  const { accountId } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const [made, setMade] = useState<{ id: string; secrets: Secret[] }>()
  const goTo = (id: string) => navigate(`${accountHref(accountId)}/webhooks/${id}`)
  const create = async (typed: WebhookForm) => {
    const variables = { accountId, input: webhookInput(typed) }
    const { createWebhook: webhook } = await run(createWebhook, variables, {
      done: 'Webhook made',
      typenames: ['Webhook'],
    })
    const secrets = secretsOf(webhook)
    if (secrets.length === 0) return goTo(webhook.id)
    setMade({ id: webhook.id, secrets })
  }
  if (made) {
    return (
      <SecretDialog
        title="Your webhook’s secrets"
        secrets={made.secrets}
        fileName={`${made.id}.txt`}
        text="Your service checks with them that a delivery comes from here. To get new ones, change how deliveries prove themselves."
        onClose={() => goTo(made.id)}
      />
    )
  }
  return (
    <CreateDialog
      title="New webhook"
      fields={addressFields}
      initial={{ auth: 'signature' }}
      submit="Make webhook"
      create={create}
      onClose={onClose}
    />
  )
}
