/** The deliveries of a webhook, with redelivery. */
import { ActionIcon, Anchor, Button, Group, Modal } from '@mantine/core'
import { eventCatalog } from 'documents/tables'
import type { DeliveryFieldsFragment, RedeliverInput } from 'documents/types'
import { redeliverWebhookDeliveries, redeliverWebhookDelivery, webhookDeliveries } from 'documents/webhooks'
import { useState } from 'react'
import { DescriptionList } from '../../components/card'
import { Icon } from '../../components/icon'
import { TextLink } from '../../components/link'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { showError, showSuccess, useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'

const rangeFields: Field<RedeliverInput>[] = [
  { kind: 'datetime', path: 'after', label: 'From', required: true },
  { kind: 'datetime', path: 'before', label: 'To', hint: 'Leave empty for the current time.' },
  {
    kind: 'select',
    path: 'status',
    label: 'Status',
    options: [
      { value: 'failed', label: 'Failed' },
      { value: 'success', label: 'Accepted' },
    ],
  },
]

const typeOptions = ['webhook.test', ...Object.keys(eventCatalog)].map((value) => ({ value, label: value }))
const typenames = ['WebhookDelivery', 'Webhook']
const DAY = 86_400_000

export function Deliveries({ webhookId }: { webhookId: string }) {
  const { accountId, may } = useConsoleContext()
  const mutate = useMutation()
  const [selectedDelivery, setSelectedDelivery] = useState<DeliveryFieldsFragment>()
  const [isRedeliverOpen, setIsRedeliverOpen] = useState(false)
  const ids = { accountId, webhookId }
  const redeliver = (deliveryId: string) =>
    mutate(redeliverWebhookDelivery, { ...ids, deliveryId }, { successMessage: 'Redelivery queued', typenames }).then(
      () => setSelectedDelivery(undefined),
      showError,
    )
  const redeliverRange = async (input: RedeliverInput) => {
    const { redeliverWebhookDeliveries: again } = await mutate(
      redeliverWebhookDeliveries,
      { ...ids, input },
      { typenames },
    )
    const message = again.count === 1 ? '1 redelivery queued' : `${again.count} redeliveries queued`
    showSuccess(message)
    setIsRedeliverOpen(false)
  }
  return (
    <>
      {may('redeliverWebhookDeliveries') && (
        <Group justify="flex-end" mt={20} mb={12}>
          <Button
            variant="default"
            size="xs"
            leftSection={<Icon name="refresh" size={14} />}
            onClick={() => setIsRedeliverOpen(true)}
          >
            Redeliver time range …
          </Button>
        </Group>
      )}
      <List
        label="Deliveries"
        query={webhookDeliveries}
        variables={ids}
        page={(data) => data.webhookDeliveries}
        typename="WebhookDelivery"
        pollWhile={(rows) => rows.some(({ status }) => status === 'pending' || status === 'delivering')}
        filters={[
          { name: 'eventType', label: 'Any event', options: typeOptions },
          {
            name: 'status',
            label: 'Any status',
            options: [
              { value: 'success', label: 'Accepted' },
              { value: 'failed', label: 'Failed' },
            ],
          },
        ]}
        columns={[
          {
            header: 'Event',
            cell: (delivery) => (
              <Anchor
                component="button"
                type="button"
                c="inherit"
                fz="inherit"
                underline="never"
                ta="left"
                onClick={() => setSelectedDelivery(delivery)}
              >
                <NameCell name={delivery.eventType} text={delivery.id} />
              </Anchor>
            ),
          },
          { header: 'Status', width: '130px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Response',
            width: '90px',
            hideOnMobile: true,
            cell: ({ lastResponseStatus }) => lastResponseStatus ?? '–',
          },
          { header: 'Attempts', width: '90px', hideOnMobile: true, cell: ({ attemptCount }) => attemptCount },
          {
            header: 'Created',
            width: '130px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
          {
            header: '',
            width: '76px',
            align: 'right',
            cell: ({ id, eventType }) =>
              may('redeliverWebhookDelivery') && (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={`Redeliver ${eventType} ${id}`}
                  onClick={() => void redeliver(id)}
                >
                  <Icon name="refresh" />
                </ActionIcon>
              ),
          },
        ]}
        empty={{
          icon: 'inbox',
          title: 'No deliveries yet',
          text: 'Deliveries appear here when a subscribed event occurs. Send a test event to try the webhook.',
        }}
      />
      {selectedDelivery && (
        <Modal opened onClose={() => setSelectedDelivery(undefined)} title={selectedDelivery.eventType} size="lg">
          <DescriptionList
            rows={[
              ['Status', <StatusBadge key="status" value={selectedDelivery.status} />],
              ['Attempts', selectedDelivery.attemptCount],
              ['Last response', selectedDelivery.lastResponseStatus ?? 'none'],
              ['First attempt', <RelativeTime key="first" at={selectedDelivery.firstAttemptAt} />],
              ['Last attempt', <RelativeTime key="last" at={selectedDelivery.lastAttemptAt} />],
              ['Next attempt', <RelativeTime key="next" at={selectedDelivery.nextAttemptAt} />],
              selectedDelivery.lastError ? ['Last error', selectedDelivery.lastError] : undefined,
              ['Delivery ID', <Copyable key="id" value={selectedDelivery.id} label="delivery ID" />],
              [
                'Event',
                may('event') ? (
                  <TextLink key="event" href={`${accountHref(accountId)}/events/${selectedDelivery.eventId}`} size="sm">
                    {selectedDelivery.eventId}
                  </TextLink>
                ) : (
                  selectedDelivery.eventId
                ),
              ],
            ]}
          />
          {may('redeliverWebhookDelivery') && (
            <Group justify="flex-end" mt="lg">
              <Button leftSection={<Icon name="refresh" />} onClick={() => void redeliver(selectedDelivery.id)}>
                Redeliver
              </Button>
            </Group>
          )}
        </Modal>
      )}
      {isRedeliverOpen && (
        <CreateDialog
          title="Redeliver time range"
          fields={rangeFields}
          initial={{ after: Date.now() - DAY, status: 'failed' }}
          submitLabel="Redeliver"
          create={redeliverRange}
          onClose={() => setIsRedeliverOpen(false)}
        />
      )}
    </>
  )
}
