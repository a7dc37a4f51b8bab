/** The organizations that a user is a member of. */
import { userOrganizations } from 'documents/user-parts'
import { useLocation } from 'wouter'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'

export function UserOrganizations({ userId }: { userId: string }) {
  const { accountId, issuerId } = usePlace()
  const [, navigate] = useLocation()
  const base = `${issuerHref(accountId, issuerId)}/organizations`
  return (
    <List
      label="Organizations"
      query={userOrganizations}
      variables={{ accountId, issuerId, userId }}
      page={(data) => data.user.organizations}
      typename="OrganizationMember"
      href={({ id }) => `${base}/${id}/members`}
      columns={[
        {
          head: 'Name',
          cell: ({ name, id }) => <Named mark={<Icon name="building" />} name={name ?? 'Without a name'} text={id} />,
        },
        { head: 'Kind', width: '130px', wide: true, cell: ({ orgType }) => orgType ?? '–' },
        { head: 'Status', width: '130px', cell: ({ status }) => <Status value={status} /> },
        { head: 'Made', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
      ]}
      empty={{
        icon: 'building',
        title: 'In no organization',
        text: 'A user joins an organization by an invitation, or when you add it on the organization’s own page.',
        action: 'To the organizations',
        onAction: () => navigate(base),
      }}
    />
  )
}
