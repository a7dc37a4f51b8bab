/** What an API key is cut down to, as fields, and back. */
import type { Field } from '../../form/fields'
import type { Choices } from '../../parts/choices'

/** A form's own shape: what the key may do is a choice, so that no scopes never means all of them. */
export interface KeyForm {
  name: string
  description?: string | null
  tags?: string[]
  expiresAt?: number | null
  reach?: 'all' | 'some'
  restrictions?: Restrictions
  metadata?: Record<string, unknown>
}

export interface Restrictions {
  scopes?: string[]
  issuer_ids?: string[]
  org_ids?: string[]
  ip_allowlist?: string[]
}

export const generalFields: Field<KeyForm>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Nightly import' },
  { kind: 'long', path: 'description', label: 'Description', hint: 'What uses it? For your own people.' },
]
export const moreFields: Field<KeyForm>[] = [
  ...generalFields,
  { kind: 'list', path: 'tags', label: 'Tags' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object of your own.' },
]

/**
 * What a key may do in the account.
 * @param held scopes that the caller has there, and so can give
 * @param issuers of the account
 */
export const reachFields = (held: readonly string[], issuers: Choices): Field<KeyForm>[] =>
  fieldsOfReach('Everything in this account', held, held, [
    {
      kind: 'choices',
      path: 'restrictions.issuer_ids',
      label: 'Only in these issuers',
      hint: 'Empty: in every issuer.',
      ...issuers,
    },
  ])

/** What a key of an organization may do: it reaches nothing else anyway. */
export const organizationReachFields = (held: readonly string[]): Field<KeyForm>[] =>
  fieldsOfReach(
    'Everything in this organization',
    held,
    held.filter((scope) => scope.startsWith('issuers.organizations')),
  )

const fieldsOfReach = (
  everything: string,
  held: readonly string[],
  offered: readonly string[],
  places: Field<KeyForm>[] = [],
): Field<KeyForm>[] => [
  {
    kind: 'choice',
    path: 'reach',
    label: 'What it may do',
    options: [
      { value: 'some', label: 'Only what is chosen here' },
      ...(held.includes('svc:all') ? [{ value: 'all', label: everything }] : []),
    ],
  },
  {
    kind: 'scopes',
    path: 'restrictions.scopes',
    label: 'Scopes',
    required: true,
    offered,
    when: ({ reach }) => reach !== 'all',
  },
  ...places,
  {
    kind: 'list',
    path: 'restrictions.ip_allowlist',
    label: 'Only from these addresses',
    hint: 'Empty: from anywhere.',
    placeholder: '203.0.113.0/24',
  },
  { kind: 'moment', path: 'expiresAt', label: 'Expires', hint: 'Empty: never.' },
]

/** The restrictions to be sent: lists that are empty restrict nothing, but scopes only where all are meant. */
export function restrictionsFor(reach: 'all' | 'some', wished: Restrictions): Restrictions {
  const { scopes = [], issuer_ids = [], org_ids = [], ip_allowlist = [] } = wished
  return {
    ...(reach === 'some' && { scopes }),
    ...(issuer_ids.length > 0 && { issuer_ids }),
    ...(org_ids.length > 0 && { org_ids }),
    ...(ip_allowlist.length > 0 && { ip_allowlist }),
  }
}

/** A key as the form shows it. */
export const formOf = <Key extends { restrictions: Record<string, unknown> }>(key: Key) => ({
  ...key,
  restrictions: key.restrictions as Restrictions,
  reach: (key.restrictions as Restrictions).scopes ? ('some' as const) : ('all' as const),
})

/**
 * What is sent when a key is changed. Restrictions are sent whole, so they are put together from the version that the
 * change is meant for.
 */
export function changeOf({ reach, restrictions, ...rest }: KeyForm, now: ReturnType<typeof formOf>) {
  const isCut = reach !== undefined || restrictions !== undefined
  const wished = { ...now.restrictions, ...restrictions }
  return { ...rest, ...(isCut && { restrictions: { ...restrictionsFor(reach ?? now.reach, wished) } }) }
}
