/** Who belongs to an organization, and what each may do there. */
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
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { Fault } from '../../graphql/fault'
import { tellFault, useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import type { Choices } from '../../parts/choices'
import { Confirm } from '../../parts/confirm'
import { Icon } from '../../parts/icon'
import { TextLink } from '../../parts/link'
import { type Picked, UserPicker } from '../../parts/user-picker'
import { Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'
import { initialsOf, userName } from '../users/names'
import { useGroups, useOrganization } from './place'

export const memberSearch = { name: 'search', placeholder: 'Search by username, name or email' }

const unknown = { profile: {} }
export const memberName = ({ user, memberId }: NamedMemberFieldsFragment): string =>
  userName({ ...(user ?? unknown), id: memberId })
const initials = ({ user, memberId }: NamedMemberFieldsFragment) => initialsOf({ ...(user ?? unknown), id: memberId })

/** Who it is, with the way to the user's own page. */
export function MemberCell({ member }: { member: NamedMemberFieldsFragment }) {
  const { accountId, issuerId, may } = usePlace()
  const name = memberName(member)
  const href = `${issuerHref(accountId, issuerId)}/users/${member.memberId}`
  return (
    <Named
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

/** A few short words, one beside the other. */
export function Words({ words, none = '–' }: { words: readonly string[]; none?: string }) {
  if (words.length === 0) return none
  return (
    <Group gap={4}>
      {words.slice(0, 3).map((word) => (
        <Badge key={word} variant="default" size="sm" tt="none" fw={500}>
          {word}
        </Badge>
      ))}
      {words.length > 3 && `and ${words.length - 3} more`}
    </Group>
  )
}

export function Members() {
  const { ids, may } = useOrganization()
  const { may: mayHere } = usePlace()
  const run = useRun()
  const groups = useGroups()
  const [params, setParams] = useSearchParams()
  const [editing, setEditing] = useState<NamedMemberFieldsFragment>()
  const [removing, setRemoving] = useState<NamedMemberFieldsFragment>()
  const open = () => setParams({ new: '1' }, { replace: true })
  // Somebody is added by name, so names must be seen.
  const mayAdd = may('addOrganizationMember') && mayHere('users')
  const setStatus = ({ memberId }: NamedMemberFieldsFragment, status: 'active' | 'suspended') =>
    run(
      updateOrganizationMember,
      { ...ids, memberId, input: { status } },
      { done: status === 'active' ? 'Member is active again' : 'Member suspended' },
    ).catch(tellFault)
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
        variables={{ ...ids, named: mayHere('users') }}
        page={(data) => data.organizationMembers}
        typename="OrganizationMember"
        {...(mayHere('users') && { search: memberSearch })}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: ['active', 'suspended'].map((value) => ({ value, label: value })),
          },
        ]}
        columns={[
          { head: 'Member', cell: (member) => <MemberCell member={member} /> },
          {
            head: 'Scopes in force',
            wide: true,
            cell: ({ effectiveScopes }) => <Words words={effectiveScopes} none="none" />,
          },
          {
            head: 'Groups',
            width: '170px',
            wide: true,
            cell: ({ groups: own }) => <Words words={own.map(groups.nameOf)} />,
          },
          { head: 'Status', width: '125px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Joined', width: '120px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            head: '',
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
          title: 'Nobody is a member yet',
          text: 'Add users of this issuer, or invite people by email. What a member may do is in the tokens for this organization.',
          ...(mayAdd && { action: 'Add member', onAction: open }),
        }}
      />
      {params.has('new') && mayAdd && <AddMember groups={groups} onClose={() => setParams({}, { replace: true })} />}
      {editing && <EditMember member={editing} groups={groups} onClose={() => setEditing(undefined)} />}
      {removing && (
        <Confirm
          title={`Remove ${memberName(removing)}`}
          label="Remove"
          run={() =>
            run(
              removeOrganizationMember,
              { ...ids, memberId: removing.memberId },
              { done: 'Member removed', typenames: ['OrganizationMember', 'OrganizationGroup'] },
            )
          }
          onClose={() => setRemoving(undefined)}
        >
          The user leaves the organization and its groups, and stays a user of the issuer.
        </Confirm>
      )}
    </>
  )
}

interface MemberForm {
  userTitle?: string | null
  scopes?: string[] | null
  groups?: string[] | null
}

const memberFields = (groups: Choices): Field<MemberForm>[] => [
  { kind: 'text', path: 'userTitle', label: 'Title', placeholder: 'Head of Purchasing' },
  {
    kind: 'list',
    path: 'scopes',
    label: 'Scopes of its own',
    hint: 'Besides those of the organization and of its groups.',
    placeholder: 'orders:approve',
  },
  ...(groups.options.length > 0
    ? [
        {
          kind: 'choices' as const,
          path: 'groups' as const,
          label: 'Groups',
          options: groups.options,
          onSearch: groups.onSearch,
        },
      ]
    : []),
]

function AddMember({ groups, onClose }: { groups: Choices; onClose: () => void }) {
  const { ids } = useOrganization()
  const run = useRun()
  const [picked, setPicked] = useState<Picked>()
  const [missing, setMissing] = useState(false)
  const fields = useMemo(() => memberFields(groups), [groups])
  const create = async (typed: MemberForm) => {
    setMissing(!picked)
    if (!picked) throw new Fault('INVALID_REQUEST', 'Choose who is to join.')
    const input: AddOrganizationMemberInput = { ...typed, memberId: picked.id }
    await run(addOrganizationMember, { ...ids, input }, { done: 'Member added' })
    onClose()
  }
  return (
    <CreateDialog title="Add a member" fields={fields} submit="Add member" create={create} onClose={onClose}>
      <div className="gh-above">
        <UserPicker
          label="User"
          picked={picked}
          onPick={setPicked}
          error={missing && !picked ? 'Choose who is to join.' : undefined}
        />
      </div>
    </CreateDialog>
  )
}

interface EditProps {
  member: NamedMemberFieldsFragment
  groups: Choices
  onClose: () => void
}

function EditMember({ member, groups, onClose }: EditProps) {
  const { ids } = useOrganization()
  const run = useRun()
  const fields = useMemo(() => memberFields(groups), [groups])
  const save = async (_: MemberForm, values: Record<string, unknown>) => {
    const { userTitle, ...rest } = values
    const input: UpdateOrganizationMemberInput = { ...rest, userTitle: String(userTitle ?? '') || null }
    const at = { ...ids, memberId: member.memberId, input }
    await run(updateOrganizationMember, at, { done: 'Member saved', typenames: ['OrganizationGroup'] })
    onClose()
  }
  return (
    <CreateDialog
      title={`Role of ${memberName(member)}`}
      fields={fields}
      initial={member}
      submit="Save changes"
      create={save}
      onClose={onClose}
    />
  )
}
