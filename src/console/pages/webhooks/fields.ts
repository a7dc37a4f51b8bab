/** The settings of a webhook, as tables of fields. */
import type { Field } from '../../form/fields'
import { eventTypes } from '../events/types'

export interface WebhookForm {
  name?: string | null
  description?: string | null
  url: string
  eventTypes?: string[] | null
  auth?: string
  status?: string
  metadata?: Record<string, unknown>
}

export const addressFields: Field<WebhookForm>[] = [
  {
    kind: 'url',
    path: 'url',
    label: 'Address',
    required: true,
    placeholder: 'https://example.com/hooks/gatehouse',
    hint: 'A public https address that answers with 2xx.',
  },
  { kind: 'text', path: 'name', label: 'Name', placeholder: 'Data warehouse' },
  {
    kind: 'choices',
    path: 'eventTypes',
    label: 'Events',
    hint: 'Empty: every event of the account.',
    placeholder: 'All events',
    options: eventTypes,
  },
  {
    kind: 'choice',
    path: 'auth',
    label: 'How deliveries prove themselves',
    options: [
      { value: 'signature', label: 'Signature (Standard Webhooks)' },
      { value: 'bearer', label: 'Bearer token' },
      { value: 'bearer+signature', label: 'Bearer token and signature' },
      { value: 'none', label: 'Not at all' },
    ],
  },
]

export const settingsFields: Field<WebhookForm>[] = [
  ...addressFields,
  {
    kind: 'choice',
    path: 'status',
    label: 'Status',
    hint: 'Active also ends a failing state.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'disabled', label: 'Disabled' },
    ],
  },
  { kind: 'long', path: 'description', label: 'Description', hint: 'For your own people.' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object of your own.' },
]

/** What is sent: no types are all types. */
export const webhookInput = <Form extends Partial<WebhookForm>>({ eventTypes, ...form }: Form) => ({
  ...form,
  ...(eventTypes !== undefined && { eventTypes: eventTypes?.length ? eventTypes : null }),
})

/** The secrets of an answer that has some. */
export function secretsOf(answer: { bearerTokenPlain?: string | null; signatureSecretPlain?: string | null }) {
  const { bearerTokenPlain: bearer, signatureSecretPlain: signature } = answer
  return [
    ...(signature ? [{ label: 'Signing secret', value: signature }] : []),
    ...(bearer ? [{ label: 'Bearer token', value: bearer }] : []),
  ]
}
