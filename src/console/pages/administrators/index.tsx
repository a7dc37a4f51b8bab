/** Who administers an account, and what each may do. */
import { Button } from '@mantine/core'
import { addAdministrator, administrators } from 'documents/administrators'
import type { AddOrganizationMemberInput, AdministratorFieldsFragment } from 'documents/types'
import { useMemo } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useRun } from '../../graphql/hooks'
import { FindingsAt } from '../../health/findings'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { EmptyState, FaultState, PageLoading } from '../../parts/states'
import { Moment, Status } from '../../parts/values'
import { accountHref, usePlace } from '../../place'
import { memberSearch } from '../organizations/members'
import { AdministratorPage } from './administrator'
import { type Administration, useAdministration } from './use-administration'

export const administratorName = ({ id, user }: AdministratorFieldsFragment): string =>
  typeof user?.profile['name'] === 'string' ? user.profile['name'] : id

export default function Administrators() {
  const { administration, fault, loading } = useAdministration()
  if (loading) return <PageLoading />
  if (!administration?.may('organizationMembers')) {
    return fault && fault.code !== 'NOT_FOUND' ? (
      <FaultState fault={fault} />
    ) : (
      <EmptyState icon="lock" title="You may not see who administers this account">
        The owner of the account can, and the operators of this deployment.
      </EmptyState>
    )
  }
  return (
    <Switch>
      <Route path="/accounts/:accountId/administrators/:memberId">
        {({ memberId }) => <AdministratorPage key={memberId} memberId={memberId!} administration={administration} />}
      </Route>
      <Route>{() => <AdministratorList administration={administration} />}</Route>
    </Switch>
  )
}

function AdministratorList({ administration }: { administration: Administration }) {
  const { accountId } = usePlace()
  const { org, ownerUserId, may, scopes } = administration
  const [, navigate] = useLocation()
  const [params, setParams] = useSearchParams()
  const run = useRun()
  const open = () => setParams({ new: '1' }, { replace: true })
  const base = `${accountHref(accountId)}/administrators`
  const fields = useMemo(
    (): Field<AddOrganizationMemberInput>[] => [
      {
        kind: 'text',
        path: 'memberId',
        label: 'User id',
        required: true,
        placeholder: 'usr_…',
        hint: 'Of somebody who can sign in to this console already.',
      },
      { kind: 'text', path: 'userTitle', label: 'Title', placeholder: 'On call' },
      { kind: 'scopes', path: 'scopes', label: 'Scopes', required: true, offered: scopes },
    ],
    [scopes],
  )
  const add = async (input: AddOrganizationMemberInput) => {
    const { addOrganizationMember: made } = await run(
      addAdministrator,
      { ...org, input },
      { done: 'Administrator added', typenames: ['OrganizationMember'] },
    )
    navigate(`${base}/${made.id}`)
  }
  return (
    <Page
      title="Administrators"
      lead={
        ownerUserId
          ? `The owner, ${ownerUserId}, may do everything; these people what their scopes say.`
          : 'Each may do what their scopes say.'
      }
      actions={
        may('addOrganizationMember') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Add administrator
          </Button>
        )
      }
    >
      <FindingsAt path="owner_user_id" />
      <List
        label="Administrators"
        query={administrators}
        variables={org}
        page={(data) => data.organizationMembers}
        typename="OrganizationMember"
        {...(may('users') && { search: memberSearch })}
        href={({ id }) => `${base}/${id}`}
        columns={[
          {
            head: 'Name',
            cell: (member) => (
              <Named
                mark={<Icon name="user" />}
                name={administratorName(member)}
                text={member.userTitle ?? member.id}
              />
            ),
          },
          {
            head: 'May do',
            width: '150px',
            wide: true,
            cell: ({ effectiveScopes }) =>
              effectiveScopes.includes('svc:all')
                ? 'everything'
                : `${effectiveScopes.length} ${effectiveScopes.length === 1 ? 'scope' : 'scopes'}`,
          },
          { head: 'Status', width: '120px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Since', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
        empty={{
          icon: 'shield',
          title: 'Nobody but the owner',
          text: 'Add people who help with this account, each with the scopes for what they do.',
          ...(may('addOrganizationMember') && { action: 'Add administrator', onAction: open }),
        }}
      />
      {params.has('new') && may('addOrganizationMember') && (
        <CreateDialog
          title="Add an administrator"
          fields={fields}
          submit="Add administrator"
          create={add}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
    </Page>
  )
}
