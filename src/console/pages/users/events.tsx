/** What a user did and what was done to it, the newest first. */
import { userEvents } from 'documents/user-parts'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { Moment } from '../../parts/values'
import { usePlace } from '../../place'

interface Actor {
  type: string
  id?: string | null
  name?: string | null
}

const actorName = ({ type, id, name }: Actor): string =>
  name ?? `${type.replaceAll('_', ' ')}${id ? ` …${id.slice(-6)}` : ''}`

export function UserEvents({ userId }: { userId: string }) {
  const { accountId, issuerId } = usePlace()
  return (
    <List
      label="Events"
      query={userEvents}
      variables={{ accountId, issuerId, userId }}
      page={(data) => data.events}
      typename="Event"
      columns={[
        { head: 'Event', cell: ({ type, id }) => <Named mark={<Icon name="pulse" />} name={type} text={id} /> },
        {
          head: 'By',
          width: '200px',
          wide: true,
          cell: ({ actor }) => (actor.id === userId ? 'the user' : actorName(actor)),
        },
        { head: 'From', width: '150px', wide: true, cell: ({ context }) => context.ipAddress ?? '–' },
        { head: 'When', width: '130px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
      ]}
      empty={{ icon: 'pulse', title: 'Nothing has happened yet', text: 'Sign-ins and changes appear here.' }}
    />
  )
}
