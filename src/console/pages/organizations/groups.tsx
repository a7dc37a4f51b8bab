/** The groups of an organization: routes, list, and the page of a group with its members. */
import { ActionIcon, Button, Group } from '@mantine/core'
import {
  addOrganizationGroupMember,
  createOrganizationGroup,
  deleteOrganizationGroup,
  organizationGroup,
  organizationGroupMembers,
  organizationGroups,
  organizationMembers,
  removeOrganizationGroupMember,
  updateOrganizationGroup,
} from 'documents/organizations'
import type {
  CreateOrganizationGroupInput,
  NamedMemberFieldsFragment,
  UpdateOrganizationGroupInput,
} from 'documents/types'
import { useMemo, useState } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { DangerZone } from '../../components/confirm-dialog'
import { Icon } from '../../components/icon'
import { LinkButton } from '../../components/link'
import { useAccumulatedOptions, useDebouncedSearch } from '../../components/searchable-options'
import { ErrorState, PageLoading } from '../../components/states'
import { RelativeTime } from '../../components/values'
import { useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import { EditForm, etagOf } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { showError, useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { MemberCell, memberName, memberSearch, TagList } from './members'
import { useOrganization } from './organization-context'

const typenames = ['OrganizationGroup', 'OrganizationMember']

export function Groups() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/issuers/:issuerId/organizations/:orgId/groups/:groupId">
        {({ groupId }) => <GroupPage key={groupId} groupId={groupId!} />}
      </Route>
      <Route>{() => <GroupList />}</Route>
    </Switch>
  )
}

const createGroupFields: Field<CreateOrganizationGroupInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Purchasing' },
  { kind: 'textarea', path: 'description', label: 'Description' },
  {
    kind: 'list',
    path: 'scopes',
    label: 'Scopes',
    hint: 'Scopes that all members of the group get.',
    placeholder: 'orders:write',
  },
]

function GroupList() {
  const { ids, href, may } = useOrganization()
  const [, navigate] = useLocation()
  const [params, setParams] = useSearchParams()
  const mutate = useMutation()
  const open = () => setParams({ new: '1' }, { replace: true })
  const create = async (input: CreateOrganizationGroupInput) => {
    const { createOrganizationGroup: created } = await mutate(
      createOrganizationGroup,
      { ...ids, input },
      { successMessage: 'Group created' },
    )
    navigate(`${href}/groups/${created.id}`)
  }
  return (
    <>
      {may('createOrganizationGroup') && (
        <Group gap="xs" mb="md">
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Create group
          </Button>
        </Group>
      )}
      <List
        label="Groups"
        query={organizationGroups}
        variables={ids}
        page={(data) => data.organizationGroups}
        typename="OrganizationGroup"
        search={{ name: 'search', placeholder: 'Search by name' }}
        href={({ id }) => `${href}/groups/${id}`}
        columns={[
          {
            header: 'Name',
            cell: ({ name, description }) => (
              <NameCell mark={<Icon name="users" />} name={name} {...(description && { text: description })} />
            ),
          },
          { header: 'Scopes', hideOnMobile: true, cell: ({ scopes }) => <TagList tags={scopes} emptyText="none" /> },
          { header: 'Members', width: '100px', align: 'right', cell: ({ memberCount }) => memberCount },
          {
            header: 'Created',
            width: '130px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
        ]}
        empty={{
          icon: 'users',
          title: 'No groups yet',
          text: 'A group grants its scopes to all its members. Create one for each role, such as purchasing, and add members to it.',
          ...(may('createOrganizationGroup') && { action: 'Create group', onAction: open }),
        }}
      />
      {params.has('new') && may('createOrganizationGroup') && (
        <CreateDialog
          title="Create group"
          fields={createGroupFields}
          submitLabel="Create group"
          create={create}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
    </>
  )
}

const groupFields: Field<UpdateOrganizationGroupInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true },
  { kind: 'textarea', path: 'description', label: 'Description' },
  { kind: 'list', path: 'scopes', label: 'Scopes', hint: 'Scopes that all members of the group get.' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object with custom data.' },
]

function GroupPage({ groupId }: { groupId: string }) {
  const { ids, href, may } = useOrganization()
  const { may: mayInIssuer } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const [adding, setAdding] = useState(false)
  const groupIds = { ...ids, groupId }
  const { data, error, loading, refetch } = useQuery(organizationGroup, groupIds)
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const group = data.organizationGroup
  const removeMember = (member: NamedMemberFieldsFragment) =>
    mutate(
      removeOrganizationGroupMember,
      { ...groupIds, memberId: member.memberId },
      { successMessage: `${memberName(member)} removed from ${group.name}`, typenames },
    ).catch(showError)
  const remove = async () => {
    await mutate(
      deleteOrganizationGroup,
      { ...groupIds, ifMatch: etagOf(group) },
      { successMessage: 'Group deleted', typenames },
    )
    navigate(`${href}/groups`)
  }
  return (
    <>
      <Group gap="xs" mb="md" justify="space-between">
        <LinkButton
          href={`${href}/groups`}
          variant="subtle"
          color="gray"
          leftSection={<Icon name="chevronLeft" size={14} />}
        >
          All groups
        </LinkButton>
        {may('addOrganizationGroupMember') && (
          <Button leftSection={<Icon name="plus" />} onClick={() => setAdding(true)}>
            Add member
          </Button>
        )}
      </Group>
      <EditForm
        title={group.name}
        fields={groupFields}
        resource={group}
        editable={may('updateOrganizationGroup')}
        save={(input, ifMatch) =>
          mutate(updateOrganizationGroup, { ...groupIds, input, ifMatch }, { successMessage: 'Group saved' })
        }
        reload={async () => (await fetchLatest(organizationGroup, groupIds)).organizationGroup}
      />
      <List
        label={`Members of ${group.name}`}
        query={organizationGroupMembers}
        variables={{ ...groupIds, named: mayInIssuer('users') }}
        page={(found) => found.organizationGroupMembers}
        typename="OrganizationMember"
        {...(mayInIssuer('users') && { search: memberSearch })}
        columns={[
          { header: 'Member', cell: (member) => <MemberCell member={member} /> },
          {
            header: 'Joined',
            width: '130px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
          {
            header: '',
            width: '72px',
            align: 'right',
            cell: (member) =>
              may('removeOrganizationGroupMember') && (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={`Remove ${memberName(member)} from the group`}
                  onClick={() => void removeMember(member)}
                >
                  <Icon name="close" />
                </ActionIcon>
              ),
          },
        ]}
        empty={{
          icon: 'users',
          title: 'No members yet',
          text: 'Add members of the organization. They get the scopes of the group immediately.',
        }}
      />
      {may('deleteOrganizationGroup') && (
        <DangerZone
          actions={[
            {
              title: 'Delete this group',
              text: 'Members lose the scopes of this group.',
              label: 'Delete group',
              warning: 'The members stay in the organization, but lose the scopes of this group.',
              name: group.name,
              onConfirm: remove,
            },
          ]}
        />
      )}
      {adding && <AddGroupMemberDialog groupId={groupId} name={group.name} onClose={() => setAdding(false)} />}
    </>
  )
}

function AddGroupMemberDialog({ groupId, name, onClose }: { groupId: string; name: string; onClose: () => void }) {
  const { ids } = useOrganization()
  const { may: mayInIssuer } = useConsoleContext()
  const mutate = useMutation()
  const canSeeUsers = mayInIssuer('users')
  const [search, onSearch] = useDebouncedSearch()
  const variables = { ...ids, limit: 100, named: canSeeUsers, search: canSeeUsers ? search : null }
  const { data } = useQuery(organizationMembers, variables, { typename: 'OrganizationMember' })
  const page = data?.organizationMembers
  const found = useMemo(
    () =>
      page?.data
        .filter(({ groups }) => !groups.includes(groupId))
        .map((member) => ({ value: member.memberId, label: memberName(member) })),
    [page, groupId],
  )
  const options = useAccumulatedOptions(found)
  const memberFields = useMemo((): Field<{ memberId: string }>[] => {
    const isComplete = page !== undefined && !page.hasMore && options.length === 0
    return [
      {
        kind: 'select',
        path: 'memberId',
        label: 'Member',
        required: true,
        placeholder: 'Type a name, username or email',
        hint: isComplete ? 'All members of the organization are already in this group.' : undefined,
        options,
        ...(canSeeUsers && { onSearch }),
      },
    ]
  }, [page, options, canSeeUsers, onSearch])
  const addMember = async (input: { memberId: string }) => {
    await mutate(
      addOrganizationGroupMember,
      { ...ids, groupId, input },
      { successMessage: `Added to ${name}`, typenames },
    )
    onClose()
  }
  return (
    <CreateDialog
      title={`Add a member to ${name}`}
      fields={memberFields}
      submitLabel="Add member"
      create={addMember}
      onClose={onClose}
    />
  )
}
