/** What was sent to a webhook, how that went, and sending it again. */
import { ActionIcon, Anchor, Button, Group, Modal } from '@mantine/core'
import { catalogue } from 'documents/tables'
import type { DeliveryFieldsFragment, RedeliverInput } from 'documents/types'
import { redeliverWebhookDeliveries, redeliverWebhookDelivery, webhookDeliveries } from 'documents/webhooks'
import { useState } from 'react'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { tellDone, tellFault, useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Facts } from '../../parts/card'
import { Icon } from '../../parts/icon'
import { TextLink } from '../../parts/link'
import { Copyable, Moment, Status } from '../../parts/values'
import { accountHref, usePlace } from '../../place'

const rangeFields: Field<RedeliverInput>[] = [
  { kind: 'moment', path: 'after', label: 'From', required: true },
  { kind: 'moment', path: 'before', label: 'To', hint: 'Empty: until now.' },
  {
    kind: 'choice',
    path: 'status',
    label: 'Which',
    options: [
      { value: 'failed', label: 'What failed for good' },
      { value: 'success', label: 'What was accepted' },
    ],
  },
]

const typeOptions = ['webhook.test', ...Object.keys(catalogue)].map((value) => ({ value, label: value }))
const typenames = ['WebhookDelivery', 'Webhook']
const DAY = 86_400_000

export function Deliveries({ webhookId }: { webhookId: string }) {
  const { accountId, may } = usePlace()
  const run = useRun()
  const [shown, setShown] = useState<DeliveryFieldsFragment>()
  const [choosing, setChoosing] = useState(false)
  const ids = { accountId, webhookId }
  const redeliver = (deliveryId: string) =>
    run(redeliverWebhookDelivery, { ...ids, deliveryId }, { done: 'It is on its way again', typenames }).then(
      () => setShown(undefined),
      tellFault,
    )
  const redeliverRange = async (input: RedeliverInput) => {
    const { redeliverWebhookDeliveries: again } = await run(
      redeliverWebhookDeliveries,
      { ...ids, input },
      { typenames },
    )
    const message = again.count === 1 ? 'One event is on its way again' : `${again.count} events are on their way again`
    tellDone(message)
    setChoosing(false)
  }
  return (
    <>
      {may('redeliverWebhookDeliveries') && (
        <Group justify="flex-end" mt={20} mb={12}>
          <Button
            variant="default"
            size="xs"
            leftSection={<Icon name="refresh" size={14} />}
            onClick={() => setChoosing(true)}
          >
            Redeliver a span of time …
          </Button>
        </Group>
      )}
      <List
        label="Deliveries"
        query={webhookDeliveries}
        variables={ids}
        page={(data) => data.webhookDeliveries}
        typename="WebhookDelivery"
        moving={(rows) => rows.some(({ status }) => status === 'pending' || status === 'delivering')}
        filters={[
          { name: 'eventType', label: 'Any event', options: typeOptions },
          {
            name: 'status',
            label: 'Any outcome',
            options: [
              { value: 'success', label: 'Accepted' },
              { value: 'failed', label: 'Failed' },
            ],
          },
        ]}
        columns={[
          {
            head: 'Event',
            cell: (delivery) => (
              <Anchor
                component="button"
                type="button"
                c="inherit"
                fz="inherit"
                underline="never"
                ta="left"
                onClick={() => setShown(delivery)}
              >
                <Named name={delivery.eventType} text={delivery.id} />
              </Anchor>
            ),
          },
          { head: 'Status', width: '130px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Answer', width: '90px', wide: true, cell: ({ lastResponseStatus }) => lastResponseStatus ?? '–' },
          { head: 'Attempts', width: '90px', wide: true, cell: ({ attemptCount }) => attemptCount },
          { head: 'Made', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            head: '',
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
          title: 'Nothing was sent yet',
          text: 'Deliveries appear here when something happens that this webhook listens to. Send a test event to try it.',
        }}
      />
      {shown && (
        <Modal opened onClose={() => setShown(undefined)} title={shown.eventType} size="lg">
          <Facts
            rows={[
              ['Status', <Status key="status" value={shown.status} />],
              ['Attempts', shown.attemptCount],
              ['Last answer', shown.lastResponseStatus ?? 'none'],
              ['First attempt', <Moment key="first" at={shown.firstAttemptAt} />],
              ['Last attempt', <Moment key="last" at={shown.lastAttemptAt} />],
              ['Next attempt', <Moment key="next" at={shown.nextAttemptAt} />],
              shown.lastError ? ['What went wrong', shown.lastError] : undefined,
              ['Delivery id', <Copyable key="id" value={shown.id} label="delivery id" />],
              [
                'Event',
                may('event') ? (
                  <TextLink key="event" href={`${accountHref(accountId)}/events/${shown.eventId}`} size="sm">
                    {shown.eventId}
                  </TextLink>
                ) : (
                  shown.eventId
                ),
              ],
            ]}
          />
          {may('redeliverWebhookDelivery') && (
            <Group justify="flex-end" mt="lg">
              <Button leftSection={<Icon name="refresh" />} onClick={() => void redeliver(shown.id)}>
                Redeliver
              </Button>
            </Group>
          )}
        </Modal>
      )}
      {choosing && (
        <CreateDialog
          title="Redeliver a span of time"
          fields={rangeFields}
          initial={{ after: Date.now() - DAY, status: 'failed' }}
          submit="Redeliver"
          create={redeliverRange}
          onClose={() => setChoosing(false)}
        />
      )}
    </>
  )
}
