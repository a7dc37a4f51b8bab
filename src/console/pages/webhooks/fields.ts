/** The fields of webhook forms. */
import type { WebhookStatus } from 'documents/types'
import type { Field } from '../../form/fields'
import { eventTypeOptions } from '../events/event-types'

export interface WebhookForm {
  name?: string | null
  description?: string | null
  url: string
  eventTypes?: string[] | null
  auth?: string
  status?: WebhookStatus
  metadata?: Record<string, unknown>
}

export const endpointFields: Field<WebhookForm>[] = [
  {
    kind: 'url',
    path: 'url',
    label: 'URL',
    required: true,
    placeholder: 'https://example.com/hooks/gatehouse',
    hint: 'A public https URL that responds with a 2xx status.',
  },
  { kind: 'text', path: 'name', label: 'Name', placeholder: 'Data warehouse' },
  {
    kind: 'multiselect',
    path: 'eventTypes',
    label: 'Events',
    hint: 'Leave empty for all events of the account.',
    placeholder: 'All events',
    options: eventTypeOptions,
  },
  {
    kind: 'select',
    path: 'auth',
    hint: 'How your service verifies that a delivery comes from this deployment.',
    label: 'Authentication',
    options: [
      { value: 'signature', label: 'Signature (Standard Webhooks)' },
      { value: 'bearer', label: 'Bearer token' },
      { value: 'bearer+signature', label: 'Bearer token and signature' },
      { value: 'none', label: 'None' },
    ],
  },
]

export const settingsFields: Field<WebhookForm>[] = [
  ...endpointFields,
  {
    kind: 'select',
    path: 'status',
    label: 'Status',
    hint: 'To clear the status “failing”, select Active and save.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'disabled', label: 'Disabled' },
    ],
  },
  { kind: 'textarea', path: 'description', label: 'Description', hint: 'Internal description.' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object with custom data.' },
]

/** Builds the input. An empty list of event types becomes null, which means all types. */
export const toWebhookInput = <Form extends Partial<WebhookForm>>({ eventTypes, ...form }: Form) => ({
  ...form,
  ...(eventTypes !== undefined && { eventTypes: eventTypes?.length ? eventTypes : null }),
})

/** Lists the secrets that a response contains. */
export function listSecrets(response: { bearerTokenPlain?: string | null; signatureSecretPlain?: string | null }) {
  const { bearerTokenPlain: bearer, signatureSecretPlain: signature } = response
  return [
    ...(signature ? [{ label: 'Signing secret', value: signature }] : []),
    ...(bearer ? [{ label: 'Bearer token', value: bearer }] : []),
  ]
}
