/** The page of an administrator of an account. */
import { administrator as administratorQuery, removeAdministrator, updateAdministrator } from 'documents/administrators'
import type { UpdateOrganizationMemberInput } from 'documents/types'
import { useMemo } from 'react'
import { useLocation } from 'wouter'
import { Card, DescriptionList } from '../../components/card'
import { DangerZone } from '../../components/confirm-dialog'
import { Page } from '../../components/page'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { EditForm } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import type { AdminOrganization } from './use-admin-organization'

export function AdministratorPage({
  memberId,
  adminOrganization,
}: {
  memberId: string
  adminOrganization: AdminOrganization
}) {
  const { accountId } = useConsoleContext()
  const { organizationIds, may, scopes } = adminOrganization
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const ids = { ...organizationIds, memberId }
  const { data, error, loading, refetch } = useQuery(administratorQuery, ids)
  const fields = useMemo(
    (): Field<UpdateOrganizationMemberInput>[] => [
      { kind: 'text', path: 'userTitle', label: 'Title', placeholder: 'On call' },
      {
        kind: 'select',
        path: 'status',
        label: 'Status',
        hint: 'A suspended administrator has no access to this account.',
        options: [
          { value: 'active', label: 'Active' },
          { value: 'suspended', label: 'Suspended' },
        ],
      },
      { kind: 'scopes', path: 'scopes', label: 'Scopes', availableScopes: scopes },
    ],
    [scopes],
  )
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const { organizationMember: member } = data
  const name = member.user?.profile['name'] ? String(member.user.profile['name']) : member.id
  const listHref = `${accountHref(accountId)}/administrators`
  const remove = async () => {
    await mutate(removeAdministrator, ids, {
      successMessage: 'Administrator removed',
      typenames: ['OrganizationMember'],
    })
    navigate(listHref)
  }
  return (
    <Page
      title={name}
      badge={<StatusBadge value={member.status} />}
      crumbs={[
        { label: 'Administrators', href: listHref },
        { label: name, href: `${listHref}/${memberId}` },
      ]}
    >
      <Card title="Administrator">
        <DescriptionList
          rows={[
            ['User ID', <Copyable key="id" value={member.id} label="user ID" />],
            ['Effective scopes', member.effectiveScopes.length > 0 ? member.effectiveScopes.join(', ') : 'none'],
            ['Added', <RelativeTime key="added" at={member.createdAt} />],
          ]}
        />
      </Card>
      <EditForm
        title="Role and scopes"
        text="You can grant only scopes that you have."
        fields={fields}
        resource={member}
        editable={may('updateOrganizationMember')}
        save={(input) => mutate(updateAdministrator, { ...ids, input }, { successMessage: 'Administrator saved' })}
        reload={async () => (await fetchLatest(administratorQuery, ids)).organizationMember}
      />
      {may('removeOrganizationMember') && (
        <DangerZone
          actions={[
            {
              title: 'Remove this administrator',
              text: 'The user is not deleted, but loses access to this account.',
              label: 'Remove administrator',
              warning: 'The administrator immediately loses all access to this account.',
              name,
              onConfirm: remove,
            },
          ]}
        />
      )}
    </Page>
  )
}
