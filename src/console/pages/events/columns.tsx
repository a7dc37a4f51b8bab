import type { AuditEventFieldsFragment } from 'documents/types'
import { type Column, Named } from '../../list/list-table'
import { Moment } from '../../parts/values'

type Actor = AuditEventFieldsFragment['actor']

const nameless: Record<string, string> = { system: 'Gatehouse', unauthenticated: 'Somebody' }
const kinds: Record<string, string> = { api_key: 'API key', unauthenticated: 'not signed in' }

export const actorName = ({ type, name, id }: Actor): string =>
  name ?? nameless[type] ?? id ?? type.replaceAll('_', ' ')

/** @returns `user`, `API key of an operator` */
export const actorKind = ({ type, operator }: Actor): string =>
  `${kinds[type] ?? type.replaceAll('_', ' ')}${operator ? ' of an operator' : ''}`

/** What a list of events shows of each. */
export const eventColumns: Column<AuditEventFieldsFragment>[] = [
  { head: 'Event', cell: ({ type, id }) => <Named name={type} text={id} /> },
  {
    head: 'By',
    width: '220px',
    wide: true,
    cell: ({ actor }) => <Named name={actorName(actor)} text={actorKind(actor)} />,
  },
  {
    head: 'About',
    width: '250px',
    wide: true,
    cell: ({ target }) => <Named name={target.type.replaceAll('_', ' ')} text={target.id} />,
  },
  { head: 'When', width: '140px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
]
