import type { AuditEventFieldsFragment } from 'documents/types'
import { type Column, Named } from '../../list/list-table'
import { Moment } from '../../parts/values'

type Actor = AuditEventFieldsFragment['actor']

export const actorText = ({ type, name, id, operator }: Actor): string =>
  `${name ?? (type === 'system' ? 'Gatehouse' : (id ?? type.replaceAll('_', ' ')))}${operator ? ' (operator)' : ''}`

/** What a list of events shows of each. */
export const eventColumns: Column<AuditEventFieldsFragment>[] = [
  { head: 'Event', cell: ({ type, id }) => <Named name={type} text={id} /> },
  {
    head: 'By',
    width: '220px',
    wide: true,
    cell: ({ actor }) => <Named name={actorText(actor)} text={actor.type.replaceAll('_', ' ')} />,
  },
  {
    head: 'About',
    width: '250px',
    wide: true,
    cell: ({ target }) => <Named name={target.type.replaceAll('_', ' ')} text={target.id} />,
  },
  { head: 'When', width: '120px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
]
