/** The organizations that a user is a member of. */
import { userOrganizations } from 'documents/user-tabs'
import { useLocation } from 'wouter'
import { issuerHref, useConsoleContext } from '../../console-context'
import { List } from '../../list/list-page'
import { organizationColumns } from '../organizations/columns'

export function UserOrganizations({ userId }: { userId: string }) {
  const { accountId, issuerId } = useConsoleContext()
  const [, navigate] = useLocation()
  const base = `${issuerHref(accountId, issuerId)}/organizations`
  return (
    <List
      label="Organizations"
      query={userOrganizations}
      variables={{ accountId, issuerId, userId }}
      page={({ user }) => user.organizations ?? { data: [], nextCursor: null, hasMore: false }}
      typename="OrganizationMember"
      href={({ id }) => `${base}/${id}/members`}
      columns={organizationColumns}
      empty={{
        icon: 'building',
        title: 'No organizations yet',
        text: 'Users join an organization by invitation, or when you add them on the page of the organization.',
        action: 'Open organizations',
        onAction: () => navigate(base),
      }}
    />
  )
}
