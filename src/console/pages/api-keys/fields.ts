/** The fields of API key forms, and the conversion of keys to form values and back. */

import type { SearchableOptions } from '../../components/searchable-options'
import type { Field } from '../../form/fields'

/**
 * The values of the form. A key without `scopes` has full access. `accessMode` is a separate field, so that a user who
 * removes all scopes does not grant full access by accident.
 */
export interface KeyForm {
  name: string
  description?: string | null
  tags?: string[]
  expiresAt?: number | null
  accessMode?: 'all' | 'some'
  restrictions?: KeyRestrictions
  metadata?: Record<string, unknown>
}

export interface KeyRestrictions {
  scopes?: string[]
  issuer_ids?: string[]
  org_ids?: string[]
  ip_allowlist?: string[]
}

export const generalFields: Field<KeyForm>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Nightly import' },
  {
    kind: 'textarea',
    path: 'description',
    label: 'Description',
    hint: 'Only for administrators. For example, the program that uses this key.',
  },
]
export const detailFields: Field<KeyForm>[] = [
  ...generalFields,
  { kind: 'list', path: 'tags', label: 'Tags' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object with custom data.' },
]

/**
 * Returns the access fields of a key of an account.
 * @param grantableScopes the scopes that the caller has in the account and therefore can grant
 * @param issuers the account's issuers
 */
export const accessFields = (grantableScopes: readonly string[], issuers: SearchableOptions): Field<KeyForm>[] =>
  buildAccessFields('Full access to this account', grantableScopes, grantableScopes, [
    {
      kind: 'multiselect',
      path: 'restrictions.issuer_ids',
      label: 'Allowed issuers',
      hint: 'Leave empty to allow all issuers.',
      ...issuers,
    },
  ])

/** Returns the access fields of a key of an organization, which has access only to this organization. */
export const organizationAccessFields = (grantableScopes: readonly string[]): Field<KeyForm>[] =>
  buildAccessFields(
    'Full access to this organization',
    grantableScopes,
    grantableScopes.filter((scope) => scope.startsWith('issuers.organizations')),
  )

const buildAccessFields = (
  fullAccessLabel: string,
  grantableScopes: readonly string[],
  availableScopes: readonly string[],
  extraFields: Field<KeyForm>[] = [],
): Field<KeyForm>[] => [
  {
    kind: 'select',
    path: 'accessMode',
    label: 'Access',
    options: [
      { value: 'some', label: 'Selected scopes only' },
      ...(grantableScopes.includes('svc:all') ? [{ value: 'all', label: fullAccessLabel }] : []),
    ],
  },
  {
    kind: 'scopes',
    path: 'restrictions.scopes',
    label: 'Scopes',
    required: true,
    availableScopes,
    visibleWhen: ({ accessMode }) => accessMode !== 'all',
  },
  ...extraFields,
  {
    kind: 'list',
    path: 'restrictions.ip_allowlist',
    label: 'Allowed IP addresses',
    hint: 'IP addresses or CIDR ranges. Leave empty to allow all.',
    placeholder: '203.0.113.0/24',
  },
  { kind: 'datetime', path: 'expiresAt', label: 'Expires', hint: 'Leave empty for no expiration.' },
]

/**
 * Builds the restrictions to send. Empty lists are omitted, except `scopes` of a key without full access: a key without
 * `scopes` would have full access.
 */
export function buildRestrictions(accessMode: 'all' | 'some', requested: KeyRestrictions): KeyRestrictions {
  const { scopes = [], issuer_ids = [], org_ids = [], ip_allowlist = [] } = requested
  return {
    ...(accessMode === 'some' && { scopes }),
    ...(issuer_ids.length > 0 && { issuer_ids }),
    ...(org_ids.length > 0 && { org_ids }),
    ...(ip_allowlist.length > 0 && { ip_allowlist }),
  }
}

/** Converts a key to form values. */
export const toKeyForm = <Key extends { restrictions: Record<string, unknown> }>(key: Key) => ({
  ...key,
  restrictions: key.restrictions as KeyRestrictions,
  accessMode: (key.restrictions as KeyRestrictions).scopes ? ('some' as const) : ('all' as const),
})

/**
 * Builds the input that updates a key. The server replaces the restrictions of a key as a whole, so unchanged
 * restrictions are taken from the current version of the key.
 */
export function toKeyUpdate({ accessMode, restrictions, ...rest }: KeyForm, current: ReturnType<typeof toKeyForm>) {
  const hasRestrictionChange = accessMode !== undefined || restrictions !== undefined
  const requested = { ...current.restrictions, ...restrictions }
  return {
    ...rest,
    ...(hasRestrictionChange && {
      restrictions: { ...buildRestrictions(accessMode ?? current.accessMode, requested) },
    }),
  }
}
