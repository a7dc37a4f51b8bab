/** The members of an organization, their scopes and groups. */
import { ActionIcon, Badge, Button, Group, Menu } from '@mantine/core'
import {
  addOrganizationMember,
  organizationMembers,
  removeOrganizationMember,
  updateOrganizationMember,
} from 'documents/organizations'
import type {
  AddOrganizationMemberInput,
  NamedMemberFieldsFragment,
  UpdateOrganizationMemberInput,
} from 'documents/types'
import { useMemo, useState } from 'react'
import { useSearchParams } from 'wouter'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { Icon } from '../../components/icon'
import { TextLink } from '../../components/link'
import type { SearchableOptions } from '../../components/searchable-options'
import { type SelectedUser, UserPicker } from '../../components/user-picker'
import { RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { showError, useMutation } from '../../graphql/hooks'
import { RequestError } from '../../graphql/request-error'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { initialsOf, userName } from '../users/names'
import { useGroupOptions, useOrganization } from './organization-context'

export const memberSearch = { name: 'search', placeholder: 'Search by username, name or email' }

const unnamedUser = { profile: {} }
export const memberName = ({ user, memberId }: NamedMemberFieldsFragment): string =>
  userName({ ...(user ?? unnamedUser), id: memberId })
const initials = ({ user, memberId }: NamedMemberFieldsFragment) =>
  initialsOf({ ...(user ?? unnamedUser), id: memberId })

/** A member, with a link to the page of the user if the caller may open it. */
export function MemberCell({ member }: { member: NamedMemberFieldsFragment }) {
  const { accountId, issuerId, may } = useConsoleContext()
  const name = memberName(member)
  const href = `${issuerHref(accountId, issuerId)}/users/${member.memberId}`
  return (
    <NameCell
      mark={initials(member)}
      name={
        may('user') ? (
          <TextLink href={href} c="inherit" inherit>
            {name}
          </TextLink>
        ) : (
          name
        )
      }
      text={member.userTitle ?? member.memberId}
    />
  )
}

/** Shows up to three tags, and how many more there are. */
export function TagList({ tags, emptyText = '–' }: { tags: readonly string[]; emptyText?: string }) {
  if (tags.length === 0) return emptyText
  return (
    <Group gap={4}>
      {tags.slice(0, 3).map((tag) => (
        <Badge key={tag} variant="default" size="sm" tt="none" fw={500}>
          {tag}
        </Badge>
      ))}
      {tags.length > 3 && `and ${tags.length - 3} more`}
    </Group>
  )
}

export function Members() {
  const { ids, may } = useOrganization()
  const { may: mayInIssuer } = useConsoleContext()
  const mutate = useMutation()
  const groupOptions = useGroupOptions()
  const [params, setParams] = useSearchParams()
  const [editing, setEditing] = useState<NamedMemberFieldsFragment>()
  const [removing, setRemoving] = useState<NamedMemberFieldsFragment>()
  const open = () => setParams({ new: '1' }, { replace: true })
  // Members are selected by name, so the caller must be allowed to list users.
  const mayAdd = may('addOrganizationMember') && mayInIssuer('users')
  const setStatus = ({ memberId }: NamedMemberFieldsFragment, status: 'active' | 'suspended') =>
    mutate(
      updateOrganizationMember,
      { ...ids, memberId, input: { status } },
      { successMessage: status === 'active' ? 'Member reactivated' : 'Member suspended' },
    ).catch(showError)
  return (
    <>
      {mayAdd && (
        <Group gap="xs" mb="md">
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Add member
          </Button>
        </Group>
      )}
      <List
        label="Members"
        query={organizationMembers}
        variables={{ ...ids, named: mayInIssuer('users') }}
        page={(data) => data.organizationMembers}
        typename="OrganizationMember"
        {...(mayInIssuer('users') && { search: memberSearch })}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: ['active', 'suspended'].map((value) => ({ value, label: value })),
          },
        ]}
        columns={[
          { header: 'Member', cell: (member) => <MemberCell member={member} /> },
          {
            header: 'Effective scopes',
            hideOnMobile: true,
            cell: ({ effectiveScopes }) => <TagList tags={effectiveScopes} emptyText="none" />,
          },
          {
            header: 'Groups',
            width: '170px',
            hideOnMobile: true,
            cell: ({ groups: own }) => <TagList tags={own.map(groupOptions.nameOf)} />,
          },
          { header: 'Status', width: '125px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Joined',
            width: '120px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
          {
            header: '',
            width: '72px',
            align: 'right',
            cell: (member) =>
              (may('updateOrganizationMember') || may('removeOrganizationMember')) && (
                <Menu position="bottom-end">
                  <Menu.Target>
                    <ActionIcon variant="subtle" color="gray" aria-label={`Member ${memberName(member)}`}>
                      <Icon name="chevronDown" />
                    </ActionIcon>
                  </Menu.Target>
                  <Menu.Dropdown>
                    {may('updateOrganizationMember') && (
                      <>
                        <Menu.Item leftSection={<Icon name="settings" />} onClick={() => setEditing(member)}>
                          Change role …
                        </Menu.Item>
                        {member.status === 'active' ? (
                          <Menu.Item
                            leftSection={<Icon name="pause" />}
                            onClick={() => void setStatus(member, 'suspended')}
                          >
                            Suspend
                          </Menu.Item>
                        ) : (
                          <Menu.Item
                            leftSection={<Icon name="play" />}
                            onClick={() => void setStatus(member, 'active')}
                          >
                            Reactivate
                          </Menu.Item>
                        )}
                      </>
                    )}
                    {may('removeOrganizationMember') && (
                      <Menu.Item color="red" leftSection={<Icon name="trash" />} onClick={() => setRemoving(member)}>
                        Remove …
                      </Menu.Item>
                    )}
                  </Menu.Dropdown>
                </Menu>
              ),
          },
        ]}
        empty={{
          icon: 'users',
          title: 'No members yet',
          text: 'Add users of this issuer, or invite people by email. Tokens for this organization contain the scopes of the member.',
          ...(mayAdd && { action: 'Add member', onAction: open }),
        }}
      />
      {params.has('new') && mayAdd && (
        <AddMember groups={groupOptions} onClose={() => setParams({}, { replace: true })} />
      )}
      {editing && <EditMember member={editing} groups={groupOptions} onClose={() => setEditing(undefined)} />}
      {removing && (
        <ConfirmDialog
          title={`Remove ${memberName(removing)}`}
          label="Remove"
          onConfirm={() =>
            mutate(
              removeOrganizationMember,
              { ...ids, memberId: removing.memberId },
              { successMessage: 'Member removed', typenames: ['OrganizationMember', 'OrganizationGroup'] },
            )
          }
          onClose={() => setRemoving(undefined)}
        >
          The user is removed from the organization and its groups, but stays a user of the issuer.
        </ConfirmDialog>
      )}
    </>
  )
}

interface MemberForm {
  userTitle?: string | null
  scopes?: string[] | null
  groups?: string[] | null
}

const memberFields = (groups: SearchableOptions): Field<MemberForm>[] => [
  { kind: 'text', path: 'userTitle', label: 'Title', placeholder: 'Head of Purchasing' },
  {
    kind: 'list',
    path: 'scopes',
    label: 'Additional scopes',
    hint: 'In addition to the default member scopes and those of the groups.',
    placeholder: 'orders:approve',
  },
  ...(groups.options.length > 0
    ? [
        {
          kind: 'multiselect' as const,
          path: 'groups' as const,
          label: 'Groups',
          options: groups.options,
          onSearch: groups.onSearch,
        },
      ]
    : []),
]

function AddMember({ groups, onClose }: { groups: SearchableOptions; onClose: () => void }) {
  const { ids } = useOrganization()
  const mutate = useMutation()
  const [selectedUser, setSelectedUser] = useState<SelectedUser>()
  const [isUserMissing, setIsUserMissing] = useState(false)
  const fields = useMemo(() => memberFields(groups), [groups])
  const create = async (typed: MemberForm) => {
    setIsUserMissing(!selectedUser)
    if (!selectedUser) throw new RequestError('INVALID_REQUEST', 'Select a user.')
    const input: AddOrganizationMemberInput = { ...typed, memberId: selectedUser.id }
    await mutate(addOrganizationMember, { ...ids, input }, { successMessage: 'Member added' })
    onClose()
  }
  return (
    <CreateDialog title="Add member" fields={fields} submitLabel="Add member" create={create} onClose={onClose}>
      <div className="gh-above">
        <UserPicker
          label="User"
          selected={selectedUser}
          onSelect={setSelectedUser}
          error={isUserMissing && !selectedUser ? 'Select a user.' : undefined}
        />
      </div>
    </CreateDialog>
  )
}

interface EditProps {
  member: NamedMemberFieldsFragment
  groups: SearchableOptions
  onClose: () => void
}

function EditMember({ member, groups, onClose }: EditProps) {
  const { ids } = useOrganization()
  const mutate = useMutation()
  const fields = useMemo(() => memberFields(groups), [groups])
  const save = async (_: MemberForm, values: Record<string, unknown>) => {
    const { userTitle, ...rest } = values
    const input: UpdateOrganizationMemberInput = { ...rest, userTitle: String(userTitle ?? '') || null }
    const variables = { ...ids, memberId: member.memberId, input }
    await mutate(updateOrganizationMember, variables, {
      successMessage: 'Member saved',
      typenames: ['OrganizationGroup'],
    })
    onClose()
  }
  return (
    <CreateDialog
      title={`Role of ${memberName(member)}`}
      fields={fields}
      initial={member}
      submitLabel="Save changes"
      create={save}
      onClose={onClose}
    />
  )
}
