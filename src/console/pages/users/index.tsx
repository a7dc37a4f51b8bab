/** The users of an issuer: routes, list, and the dialog that creates a user. */
import { Button } from '@mantine/core'
import type { CreateUserInput } from 'documents/types'
import { createUser, createVerifier, users } from 'documents/users'
import { lazy } from 'react'
import { Redirect, Route, Switch, useLocation, useSearchParams } from 'wouter'
import { Icon } from '../../components/icon'
import { LinkButton } from '../../components/link'
import { Page } from '../../components/page'
import { RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { showError, useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { initialsOf, userName } from './names'
import { UserPage } from './user'

const ImportUsers = lazy(() => import('./import'))

export default function Users() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/issuers/:issuerId/users/import">{() => <ImportRoute />}</Route>
      <Route path="/accounts/:accountId/issuers/:issuerId/users/:userId/*?">
        {({ userId }) => <UserPage key={userId} userId={userId!} />}
      </Route>
      <Route>{() => <UserList />}</Route>
    </Switch>
  )
}

function ImportRoute() {
  const { accountId, issuerId, may } = useConsoleContext()
  if (!may('importUsers')) return <Redirect to={`${issuerHref(accountId, issuerId)}/users`} replace />
  return <ImportUsers />
}

const statuses = ['active', 'suspended', 'blocked', 'pending_approval', 'disabled'] as const

function UserList() {
  const { accountId, issuerId, may } = useConsoleContext()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  const base = `${issuerHref(accountId, issuerId)}/users`
  return (
    <Page
      title="Users"
      lead="Users of this issuer. Open a user to see the username."
      actions={
        <>
          {may('importUsers') && (
            <LinkButton href={`${base}/import`} variant="default" leftSection={<Icon name="upload" />}>
              Import
            </LinkButton>
          )}
          {may('createUser') && (
            <Button leftSection={<Icon name="plus" />} onClick={open}>
              Create user
            </Button>
          )}
        </>
      }
    >
      <List
        label="Users"
        query={users}
        variables={{ accountId, issuerId }}
        page={(data) => data.users}
        typename="User"
        href={({ id }) => `${base}/${id}`}
        search={{ name: 'search', placeholder: 'Search by username, name or email' }}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: statuses.map((value) => ({ value, label: value.replaceAll('_', ' ') })),
          },
        ]}
        columns={[
          {
            header: 'Name',
            cell: (user) => <NameCell mark={initialsOf(user)} name={userName(user)} text={user.id} />,
          },
          {
            header: 'Identifier type',
            width: '160px',
            hideOnMobile: true,
            cell: ({ usernameType }) => (usernameType === 'unique' ? 'username' : usernameType),
          },
          { header: 'Status', width: '175px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Created',
            width: '130px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
        ]}
        empty={{
          icon: 'users',
          title: 'No users yet',
          text: 'Create a user to try signing in, or let users sign up: go to Settings > Sign-up.',
          ...(may('createUser') && { action: 'Create user', onAction: open }),
        }}
      />
      {params.has('new') && may('createUser') && <CreateUser onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}

const createUserFields: Field<CreateUserInput & { password: string }>[] = [
  {
    kind: 'select',
    path: 'usernameType',
    label: 'Identifier type',
    options: [
      { value: 'email', label: 'Email address' },
      { value: 'phone', label: 'Phone number' },
      { value: 'unique', label: 'Username' },
    ],
  },
  { kind: 'text', path: 'username', label: 'Username', required: true, placeholder: 'ada@example.com' },
  { kind: 'text', path: 'profile.name', label: 'Full name', placeholder: 'Ada Lovelace' },
  {
    kind: 'password',
    path: 'password',
    label: 'Password',
    hint: 'Leave empty to add a credential later. Without a credential, the user can sign in only by email or through another provider.',
  },
]

function CreateUser({ onClose }: { onClose: () => void }) {
  const { accountId, issuerId } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const create = async ({ password, ...input }: CreateUserInput & { password?: string }) => {
    const { createUser: created } = await mutate(
      createUser,
      { accountId, issuerId, input },
      { successMessage: 'User created' },
    )
    if (password) {
      const verifier = { type: 'password' as const, name: 'Password', password }
      // The user exists even if the password is refused. The page of the user can set another password.
      await mutate(createVerifier, { accountId, issuerId, userId: created.id, input: verifier }).catch(showError)
    }
    navigate(`${issuerHref(accountId, issuerId)}/users/${created.id}`)
  }
  return (
    <CreateDialog
      title="Create user"
      fields={createUserFields}
      initial={{ usernameType: 'email' }}
      submitLabel="Create user"
      create={create}
      onClose={onClose}
    />
  )
}
