/** The administrators of an account: the list, and the dialog that adds an administrator. */
import { Button } from '@mantine/core'
import { addAdministrator, administrators } from 'documents/administrators'
import type { AddOrganizationMemberInput, AdministratorFieldsFragment } from 'documents/types'
import { useMemo } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { EmptyState, ErrorState, PageLoading } from '../../components/states'
import { RelativeTime, StatusBadge } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { useMutation } from '../../graphql/hooks'
import { ResourceFindings } from '../../health/findings'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { memberSearch } from '../organizations/members'
import { AdministratorPage } from './administrator'
import { type AdminOrganization, useAdminOrganization } from './use-admin-organization'

export const administratorName = ({ id, user }: AdministratorFieldsFragment): string =>
  typeof user?.profile['name'] === 'string' ? user.profile['name'] : id

export default function Administrators() {
  const { adminOrganization, error, loading } = useAdminOrganization()
  if (loading) return <PageLoading />
  if (!adminOrganization?.may('organizationMembers')) {
    return error && error.code !== 'NOT_FOUND' ? (
      <ErrorState error={error} />
    ) : (
      <EmptyState icon="lock" title="You do not have access">
        Only the owner of the account and the operators of this deployment can see the administrators of the account.
      </EmptyState>
    )
  }
  return (
    <Switch>
      <Route path="/accounts/:accountId/administrators/:memberId">
        {({ memberId }) => (
          <AdministratorPage key={memberId} memberId={memberId!} adminOrganization={adminOrganization} />
        )}
      </Route>
      <Route>{() => <AdministratorList adminOrganization={adminOrganization} />}</Route>
    </Switch>
  )
}

function AdministratorList({ adminOrganization }: { adminOrganization: AdminOrganization }) {
  const { accountId } = useConsoleContext()
  const { organizationIds, ownerUserId, may, scopes } = adminOrganization
  const [, navigate] = useLocation()
  const [params, setParams] = useSearchParams()
  const mutate = useMutation()
  const open = () => setParams({ new: '1' }, { replace: true })
  const base = `${accountHref(accountId)}/administrators`
  const fields = useMemo(
    (): Field<AddOrganizationMemberInput>[] => [
      {
        kind: 'text',
        path: 'memberId',
        label: 'User ID',
        required: true,
        placeholder: 'usr_…',
        hint: 'The ID of a user who can already sign in to this console.',
      },
      { kind: 'text', path: 'userTitle', label: 'Title', placeholder: 'On call' },
      { kind: 'scopes', path: 'scopes', label: 'Scopes', required: true, availableScopes: scopes },
    ],
    [scopes],
  )
  const add = async (input: AddOrganizationMemberInput) => {
    const { addOrganizationMember: created } = await mutate(
      addAdministrator,
      { ...organizationIds, input },
      { successMessage: 'Administrator added', typenames: ['OrganizationMember'] },
    )
    navigate(`${base}/${created.id}`)
  }
  return (
    <Page
      title="Administrators"
      lead={
        ownerUserId
          ? `The owner, ${ownerUserId}, has full access. Other administrators have the access that their scopes grant.`
          : 'Administrators have the access that their scopes grant.'
      }
      actions={
        may('addOrganizationMember') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Add administrator
          </Button>
        )
      }
    >
      <ResourceFindings path="owner_user_id" />
      <List
        label="Administrators"
        query={administrators}
        variables={organizationIds}
        page={(data) => data.organizationMembers}
        typename="OrganizationMember"
        {...(may('users') && { search: memberSearch })}
        href={({ id }) => `${base}/${id}`}
        columns={[
          {
            header: 'Name',
            cell: (member) => (
              <NameCell
                mark={<Icon name="user" />}
                name={administratorName(member)}
                text={member.userTitle ?? member.id}
              />
            ),
          },
          {
            header: 'Scopes',
            width: '150px',
            hideOnMobile: true,
            cell: ({ effectiveScopes }) =>
              effectiveScopes.includes('svc:all')
                ? 'all'
                : `${effectiveScopes.length} ${effectiveScopes.length === 1 ? 'scope' : 'scopes'}`,
          },
          { header: 'Status', width: '120px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Added',
            width: '130px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
        ]}
        empty={{
          icon: 'shield',
          title: 'No other administrators',
          text: 'Add people who help to manage this account, each with only the scopes that they need.',
          ...(may('addOrganizationMember') && { action: 'Add administrator', onAction: open }),
        }}
      />
      {params.has('new') && may('addOrganizationMember') && (
        <CreateDialog
          title="Add administrator"
          fields={fields}
          submitLabel="Add administrator"
          create={add}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
    </Page>
  )
}
