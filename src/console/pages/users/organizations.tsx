/** The organizations that a user is a member of. */
import { userOrganizations } from 'documents/user-parts'
import { useLocation } from 'wouter'
import { List } from '../../list/list-page'
import { issuerHref, usePlace } from '../../place'
import { organizationColumns } from '../organizations/columns'

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
      columns={organizationColumns}
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
