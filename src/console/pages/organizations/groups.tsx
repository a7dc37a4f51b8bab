/** The groups of an organization: the list, and one of them with its members. */
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
import { CreateDialog } from '../../form/create-dialog'
import { EditForm, versionOf } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { tellFault, useAsk, useFresh, useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { useKnown, useSought } from '../../parts/choices'
import { DangerZone } from '../../parts/confirm'
import { Icon } from '../../parts/icon'
import { LinkButton } from '../../parts/link'
import { FaultState, PageLoading } from '../../parts/states'
import { Moment } from '../../parts/values'
import { usePlace } from '../../place'
import { MemberCell, memberName, memberSearch, Words } from './members'
import { useOrganization } from './place'

const typenames = ['OrganizationGroup', 'OrganizationMember']

export function Groups() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/issuers/:issuerId/organizations/:orgId/groups/:groupId">
        {({ groupId }) => <GroupView key={groupId} groupId={groupId!} />}
      </Route>
      <Route>{() => <GroupList />}</Route>
    </Switch>
  )
}

const newFields: Field<CreateOrganizationGroupInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, placeholder: 'Purchasing' },
  { kind: 'long', path: 'description', label: 'Description' },
  { kind: 'list', path: 'scopes', label: 'Scopes', hint: 'What all its members may do.', placeholder: 'orders:write' },
]

function GroupList() {
  const { ids, href, may } = useOrganization()
  const [, navigate] = useLocation()
  const [params, setParams] = useSearchParams()
  const run = useRun()
  const open = () => setParams({ new: '1' }, { replace: true })
  const create = async (input: CreateOrganizationGroupInput) => {
    const { createOrganizationGroup: made } = await run(
      createOrganizationGroup,
      { ...ids, input },
      { done: 'Group made' },
    )
    navigate(`${href}/groups/${made.id}`)
  }
  return (
    <>
      {may('createOrganizationGroup') && (
        <Group gap="xs" mb="md">
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            New group
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
            head: 'Name',
            cell: ({ name, description }) => (
              <Named mark={<Icon name="users" />} name={name} {...(description && { text: description })} />
            ),
          },
          { head: 'Scopes', wide: true, cell: ({ scopes }) => <Words words={scopes} none="none" /> },
          { head: 'Members', width: '100px', align: 'right', cell: ({ memberCount }) => memberCount },
          { head: 'Made', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
        empty={{
          icon: 'users',
          title: 'No group yet',
          text: 'A group gives its scopes to all its members: make one for each job, such as purchasing, and put people into it.',
          ...(may('createOrganizationGroup') && { action: 'New group', onAction: open }),
        }}
      />
      {params.has('new') && may('createOrganizationGroup') && (
        <CreateDialog
          title="New group"
          fields={newFields}
          submit="Make group"
          create={create}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
    </>
  )
}

const fields: Field<UpdateOrganizationGroupInput>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true },
  { kind: 'long', path: 'description', label: 'Description' },
  { kind: 'list', path: 'scopes', label: 'Scopes', hint: 'What all its members may do.' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object of your own.' },
]

function GroupView({ groupId }: { groupId: string }) {
  const { ids, href, may } = useOrganization()
  const { may: mayHere } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const fresh = useFresh()
  const [adding, setAdding] = useState(false)
  const at = { ...ids, groupId }
  const { data, fault, loading, again } = useAsk(organizationGroup, at)
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const group = data.organizationGroup
  const leave = (member: NamedMemberFieldsFragment) =>
    run(
      removeOrganizationGroupMember,
      { ...at, memberId: member.memberId },
      { done: `${memberName(member)} is no longer in ${group.name}`, typenames },
    ).catch(tellFault)
  const remove = async () => {
    await run(deleteOrganizationGroup, { ...at, ifMatch: versionOf(group) }, { done: 'Group deleted', typenames })
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
            Put somebody into it
          </Button>
        )}
      </Group>
      <EditForm
        title={group.name}
        fields={fields}
        thing={group}
        editable={may('updateOrganizationGroup')}
        save={(input, ifMatch) => run(updateOrganizationGroup, { ...at, input, ifMatch }, { done: 'Group saved' })}
        reload={async () => (await fresh(organizationGroup, at)).organizationGroup}
      />
      <List
        label={`Members of ${group.name}`}
        query={organizationGroupMembers}
        variables={{ ...at, named: mayHere('users') }}
        page={(found) => found.organizationGroupMembers}
        typename="OrganizationMember"
        {...(mayHere('users') && { search: memberSearch })}
        columns={[
          { head: 'Member', cell: (member) => <MemberCell member={member} /> },
          { head: 'Joined', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            head: '',
            width: '72px',
            align: 'right',
            cell: (member) =>
              may('removeOrganizationGroupMember') && (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={`Take ${memberName(member)} out`}
                  onClick={() => void leave(member)}
                >
                  <Icon name="close" />
                </ActionIcon>
              ),
          },
        ]}
        empty={{
          icon: 'users',
          title: 'Nobody is in this group',
          text: 'Members of the organization can be put into it; they get its scopes at once.',
        }}
      />
      {may('deleteOrganizationGroup') && (
        <DangerZone
          dangers={[
            {
              title: 'Delete this group',
              text: 'Its members lose the scopes that they have from it.',
              label: 'Delete group',
              warning: 'The members stay in the organization, without the scopes of this group.',
              name: group.name,
              run: remove,
            },
          ]}
        />
      )}
      {adding && <Join groupId={groupId} name={group.name} onClose={() => setAdding(false)} />}
    </>
  )
}

function Join({ groupId, name, onClose }: { groupId: string; name: string; onClose: () => void }) {
  const { ids } = useOrganization()
  const { may: mayHere } = usePlace()
  const run = useRun()
  const named = mayHere('users')
  const [search, onSearch] = useSought()
  const asked = { ...ids, limit: 100, named, search: named ? search : null }
  const { data } = useAsk(organizationMembers, asked, { typename: 'OrganizationMember' })
  const page = data?.organizationMembers
  const found = useMemo(
    () =>
      page?.data
        .filter(({ groups }) => !groups.includes(groupId))
        .map((member) => ({ value: member.memberId, label: memberName(member) })),
    [page, groupId],
  )
  const options = useKnown(found)
  const joinFields = useMemo((): Field<{ memberId: string }>[] => {
    const isNobodyLeft = page !== undefined && !page.hasMore && options.length === 0
    return [
      {
        kind: 'choice',
        path: 'memberId',
        label: 'Member',
        required: true,
        placeholder: 'Type a name, username or email',
        hint: isNobodyLeft ? 'Every member of the organization is in it already.' : undefined,
        options,
        ...(named && { onSearch }),
      },
    ]
  }, [page, options, named, onSearch])
  const join = async (input: { memberId: string }) => {
    await run(addOrganizationGroupMember, { ...ids, groupId, input }, { done: `Put into ${name}`, typenames })
    onClose()
  }
  return (
    <CreateDialog title={`Into ${name}`} fields={joinFields} submit="Put into it" create={join} onClose={onClose} />
  )
}
