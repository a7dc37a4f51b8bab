/** Events by and about a user, newest first. */
import { userEvents } from 'documents/user-tabs'
import { Icon } from '../../components/icon'
import { RelativeTime } from '../../components/values'
import { useConsoleContext } from '../../console-context'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { actorName } from '../events/columns'

export function UserEvents({ userId }: { userId: string }) {
  const { accountId, issuerId } = useConsoleContext()
  return (
    <List
      label="Events"
      query={userEvents}
      variables={{ accountId, issuerId, userId }}
      page={(data) => data.events}
      typename="Event"
      columns={[
        { header: 'Event', cell: ({ type, id }) => <NameCell mark={<Icon name="pulse" />} name={type} text={id} /> },
        {
          header: 'Actor',
          width: '200px',
          hideOnMobile: true,
          cell: ({ actor }) => (actor.id === userId ? 'the user' : actorName(actor)),
        },
        { header: 'IP address', width: '150px', hideOnMobile: true, cell: ({ context }) => context.ipAddress ?? '–' },
        { header: 'Time', width: '130px', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
      ]}
      empty={{ icon: 'pulse', title: 'No events yet', text: 'Sign-ins and changes appear here.' }}
    />
  )
}
