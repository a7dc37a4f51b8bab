import type { AuditEventFieldsFragment } from 'documents/types'
import { RelativeTime } from '../../components/values'
import { type Column, NameCell } from '../../list/list-table'

type Actor = AuditEventFieldsFragment['actor']

const unnamedActors: Record<string, string> = { system: 'Gatehouse', unauthenticated: 'Anonymous' }
const actorTypeLabels: Record<string, string> = { api_key: 'API key', unauthenticated: 'not signed in' }

/** Returns the name of an actor, or a text that identifies an actor without a name. */
export const actorName = ({ type, name, id }: Pick<Actor, 'type' | 'name' | 'id'>): string =>
  name ?? unnamedActors[type] ?? id ?? type.replaceAll('_', ' ')

/** @returns for example `user` or `API key of an operator` */
export const actorKind = ({ type, operator }: Actor): string =>
  `${actorTypeLabels[type] ?? type.replaceAll('_', ' ')}${operator ? ' of an operator' : ''}`

/** Columns of event lists. */
export const eventColumns: Column<AuditEventFieldsFragment>[] = [
  { header: 'Event', cell: ({ type, id }) => <NameCell name={type} text={id} /> },
  {
    header: 'Actor',
    width: '220px',
    hideOnMobile: true,
    cell: ({ actor }) => <NameCell name={actorName(actor)} text={actorKind(actor)} />,
  },
  {
    header: 'Target',
    width: '250px',
    hideOnMobile: true,
    cell: ({ target }) => <NameCell name={target.type.replaceAll('_', ' ')} text={target.id} />,
  },
  { header: 'Time', width: '140px', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
]
