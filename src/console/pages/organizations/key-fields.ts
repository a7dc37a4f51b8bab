/** What a key of an organization is cut down to, as fields: it reaches nothing but the organization anyway. */
import type { Field } from '../../form/fields'
import type { KeyForm } from '../api-keys/fields'

/** @param held scopes that the caller has in the organization, and so can give */
export const organizationReachFields = (held: readonly string[]): Field<KeyForm>[] => [
  {
    kind: 'choice',
    path: 'reach',
    label: 'What it may do',
    options: [
      { value: 'some', label: 'Only what is chosen here' },
      ...(held.includes('svc:all') ? [{ value: 'all', label: 'Everything in this organization' }] : []),
    ],
  },
  {
    kind: 'scopes',
    path: 'restrictions.scopes',
    label: 'Scopes',
    required: true,
    offered: held.filter((scope) => scope.startsWith('issuers.organizations')),
    when: ({ reach }) => reach !== 'all',
  },
  {
    kind: 'list',
    path: 'restrictions.ip_allowlist',
    label: 'Only from these addresses',
    hint: 'Empty: from anywhere.',
    placeholder: '203.0.113.0/24',
  },
  { kind: 'moment', path: 'expiresAt', label: 'Expires', hint: 'Empty: never.' },
]
