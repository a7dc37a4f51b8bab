/** The organizations that a user is a member of. */
import { userOrganizations } from 'documents/user-parts'
import { useAsk } from '../../graphql/hooks'
import { ListTable, Named } from '../../list/list-table'
import { Card } from '../../parts/card'
import { Icon } from '../../parts/icon'
import { EmptyState, FaultState, RowsLoading } from '../../parts/states'
import { Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'

export function UserOrganizations({ userId }: { userId: string }) {
  const { accountId, issuerId } = usePlace()
  const base = `${issuerHref(accountId, issuerId)}/organizations`
  const { data, fault, loading, again } = useAsk(
    userOrganizations,
    { accountId, issuerId, userId },
    { typename: 'OrganizationMember' },
  )
  const found = data?.user.organizations
  return (
    <Card flush {...(found?.hasMore && { title: 'The latest 100' })}>
      {fault && !found ? (
        <FaultState fault={fault} again={again} />
      ) : loading || !found ? (
        <RowsLoading rows={3} />
      ) : found.data.length === 0 ? (
        <EmptyState icon="building" title="In no organization" href={base} action="To the organizations">
          A user joins an organization by an invitation, or when you add it on the organization’s own page.
        </EmptyState>
      ) : (
        <ListTable
          label="Organizations"
          rows={found.data}
          href={({ id }) => `${base}/${id}/members`}
          columns={[
            {
              head: 'Name',
              cell: ({ name, id }) => (
                <Named mark={<Icon name="building" />} name={name ?? 'Without a name'} text={id} />
              ),
            },
            { head: 'Kind', width: '130px', wide: true, cell: ({ orgType }) => orgType ?? '–' },
            { head: 'Status', width: '130px', cell: ({ status }) => <Status value={status} /> },
            { head: 'Made', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
          ]}
        />
      )}
    </Card>
  )
}
